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

from mindshare.errors import ModelError
from mindshare.workers.ray_workers import RayWorkers
from mindshare.workers.transport import WorkerError
from tests.workers.asking import ASKED, all_end, as_bytes, jobs, kill, spec
from tests.workers.virtual import (
    LOOPBACK,
    descendants,
    listening,
    parent_of,
    raylet_of,
    virtual_cluster,
)


@pytest.fixture(scope="module")
def cluster(cache: Path) -> Iterator[Any]:
    del cache  # in place before Ray's processes inherit the environment
    before = descendants(os.getpid())
    with virtual_cluster(nodes=2) as cluster:
        started = descendants(os.getpid()) - before
        assert listening(descendants(os.getpid())) <= LOOPBACK
        yield cluster
    all_end(started, seconds=15)


def test_a_worker_and_then_a_node_are_killed(
    cluster: Any,
    folder: Path,
    expected: dict[str, dict[int, bytes]],
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The same bytes from an undisturbed round, with a process killed, and with a node killed."""
    caplog.set_level(logging.INFO, "mindshare.workers")
    with RayWorkers(spec(folder), address=cluster.address, workers=2) as workers:
        whole = as_bytes(one for some in workers.answers(jobs(), ASKED) for one in some)
        assert whole == expected
        assert not [line for line in caplog.messages if "lost" in line]

        coming = workers.answers(jobs(), ASKED)
        found = next(coming)
        killed = workers.credentials[0].pid
        kill(killed)
        found += [one for some in coming for one in some]
        assert as_bytes(found) == expected
        _tells_of_a_retry(caplog)
        _ask_until(workers, caplog, "worker ready", expected)
        caplog.clear()

        coming = workers.answers(jobs(), ASKED)
        found = next(coming)
        raylet = parent_of(workers.credentials[0].pid)
        (node,) = [one for one in cluster.worker_nodes if raylet_of(one) == raylet]
        cluster.remove_node(node, allow_graceful=False)
        found += [one for some in coming for one in some]
        assert as_bytes(found) == expected
        _ask_until(workers, caplog, "worker lost", expected)
        _tells_of_a_retry(caplog)
    assert capfd.readouterr().out == ""  # where results go


def _ask_until(
    workers: RayWorkers,
    caplog: pytest.LogCaptureFixture,
    word: str,
    expected: dict[str, dict[int, bytes]],
) -> None:
    """On a quick machine a round may be over before a worker has come, or was missed."""
    until = time.monotonic() + 90
    while not any(line.startswith(word) for line in caplog.messages):
        assert time.monotonic() < until, f"{word!r} was never told"
        found = as_bytes(one for some in workers.answers(jobs(), ASKED) for one in some)
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
    with RayWorkers(spec(folder), workers=2) as workers:
        temporary = workers.cluster.folder
        found = as_bytes(one for some in workers.answers(jobs(), ASKED) for one in some)
        started = descendants(os.getpid()) - before
        assert listening(started) <= LOOPBACK
        assert {one.pid for one in workers.credentials} <= started
    assert found == expected
    assert temporary is not None
    assert not Path(temporary).exists()
    all_end(started, seconds=15)


@pytest.mark.slow
def test_a_cluster_of_our_own_ends_when_the_model_is_refused(tmp_path: Path) -> None:
    before = descendants(os.getpid())
    nowhere = spec(tmp_path / "nowhere/at all")
    with pytest.raises(ModelError, match="no model at"):
        RayWorkers(nowhere).__enter__()
    all_end(descendants(os.getpid()) - before, seconds=15)


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(WorkerError, match="Ray is not installed") as caught:
        RayWorkers(spec(folder)).__enter__()
    assert "mindshare[ray]" in str(caught.value)
