"""Two virtual nodes of a Ray cluster; starting one takes seconds, so the tests share it."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mindshare.backends.pool import WorkerError
from mindshare.backends.ray_backend import RayBackend, WorkerShare, share_out
from mindshare.errors import ModelError
from tests.backends.ray_cluster import (
    LOOPBACK,
    descendants,
    listening,
    parent_of,
    raylet_of,
    virtual_cluster,
)
from tests.backends.tiny_jobs import REQUEST, all_end, as_bytes, everything, hold, kill, spec


@pytest.fixture(scope="module")
def cluster(cache: Path) -> Iterator[Any]:
    del cache  # in place before Ray's processes inherit the environment
    before = descendants(os.getpid())
    with virtual_cluster(nodes=2) as cluster:
        started = descendants(os.getpid()) - before
        assert listening(descendants(os.getpid())) <= LOOPBACK
        yield cluster
    all_end(started, seconds=150)


def test_a_worker_and_then_a_node_are_killed(
    cluster: Any,
    folder: Path,
    expected: dict[str, dict[int, bytes]],
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The same bytes from an undisturbed round, with a process killed, and with a node killed."""
    caplog.set_level(logging.INFO, "mindshare.backends")
    with RayBackend(spec(folder), address=cluster.address, workers=2) as backend:
        whole = as_bytes(backend.results(everything(), REQUEST))
        assert whole == expected
        assert not [line for line in caplog.messages if "lost" in line]

        killed = backend.fingerprints[0].pid
        hold(killed)
        coming = backend.results(everything(), REQUEST)
        first = next(coming)  # of the other one
        kill(killed)
        assert as_bytes([first, *coming]) == expected
        _tells_of_a_retry(caplog)
        _ask_until(backend, caplog, "worker ready", expected)
        caplog.clear()

        killed = backend.fingerprints[0].pid
        raylet = parent_of(killed)
        (node,) = [one for one in cluster.worker_nodes if raylet_of(one) == raylet]
        hold(killed)
        coming = backend.results(everything(), REQUEST)
        first = next(coming)
        cluster.remove_node(node, allow_graceful=False)
        kill(killed)
        assert as_bytes([first, *coming]) == expected
        _ask_until(backend, caplog, "worker lost", expected)
        _tells_of_a_retry(caplog)
    assert capfd.readouterr().out == ""  # where results go


def _ask_until(
    backend: RayBackend,
    caplog: pytest.LogCaptureFixture,
    word: str,
    expected: dict[str, dict[int, bytes]],
) -> None:
    """On a quick machine a round may be over before a worker has come, or was missed."""
    until = time.monotonic() + 600
    while not any(line.startswith(word) for line in caplog.messages):
        assert time.monotonic() < until, f"{word!r} was never told"
        found = as_bytes(backend.results(everything(), REQUEST))
        assert found == expected


def _tells_of_a_retry(caplog: pytest.LogCaptureFixture) -> None:
    lost = [line for line in caplog.messages if line.startswith("worker lost")]
    again = [line for line in caplog.messages if "is tried again" in line]
    assert lost
    assert again
    assert all("retry 1 of 3" in line for line in again)
    caplog.clear()


@pytest.mark.slow
def test_a_cluster_of_our_own_listens_here_only_and_leaves_nothing(
    folder: Path, expected: dict[str, dict[int, bytes]]
) -> None:
    before = descendants(os.getpid())
    with RayBackend(spec(folder), workers=2) as backend:
        temporary = backend.cluster.folder
        found = as_bytes(backend.results(everything(), REQUEST))
        started = descendants(os.getpid()) - before
        assert listening(started) <= LOOPBACK
        assert {one.pid for one in backend.fingerprints} <= started
    assert found == expected
    assert temporary is not None
    assert not Path(temporary).exists()
    all_end(started, seconds=150)


@pytest.mark.slow
def test_a_cluster_of_our_own_ends_when_the_model_is_refused(tmp_path: Path) -> None:
    before = descendants(os.getpid())
    nowhere = spec(tmp_path / "nowhere/at all")
    with pytest.raises(ModelError, match="no model at"):
        RayBackend(nowhere).__enter__()
    all_end(descendants(os.getpid()) - before, seconds=150)


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(WorkerError, match="Ray is not installed") as caught:
        RayBackend(spec(folder)).__enter__()
    assert "mindshare[ray]" in str(caught.value)


EIGHT = {"CPU": 8.0}
FOUR_GPUS = {"CPU": 32.0, "GPU": 4.0}


@pytest.mark.parametrize(
    ("nodes", "asked", "found"),
    [
        ([EIGHT, EIGHT], (None, 0), (2, WorkerShare(8, 0))),
        ([EIGHT, EIGHT], (3, 0), (3, WorkerShare(4, 0))),
        ([EIGHT, {"CPU": 3.0}], (None, 0), (5, WorkerShare(2, 0))),
        ([{"CPU": 64.0}], (None, 0), (4, WorkerShare(16, 0))),
        ([{"CPU": 0.0}, EIGHT], (None, 0), (1, WorkerShare(8, 0))),
        ([FOUR_GPUS, FOUR_GPUS], (None, 1), (8, WorkerShare(8, 1))),
        ([FOUR_GPUS, FOUR_GPUS], (None, 2), (4, WorkerShare(16, 2))),
        ([FOUR_GPUS], (None, 4), (1, WorkerShare(32, 4))),
        ([EIGHT], (20, 0), (20, WorkerShare(1, 0))),  # those without room wait for it
    ],
)
def test_what_each_worker_gets(
    nodes: list[dict[str, float]],
    asked: tuple[int | None, float],
    found: tuple[int, WorkerShare],
) -> None:
    workers, gpus = asked
    assert share_out(nodes, workers=workers, gpus=gpus) == found


def test_a_worker_that_fits_nowhere_is_refused_with_what_there_is() -> None:
    with pytest.raises(WorkerError, match="8 GPUs") as caught:
        share_out([FOUR_GPUS, EIGHT], workers=1, gpus=8)
    assert "32 CPU, 4 GPU; 8 CPU, 0 GPU" in str(caught.value)
