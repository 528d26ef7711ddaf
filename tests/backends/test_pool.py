"""Every job's result once, whatever happens to workers: made ones first, then processes."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mindshare.attention.jobs import Job, PromptResult
from mindshare.backends import ModelSpec
from mindshare.backends.pool import (
    JobBatch,
    ProcessBackend,
    ProcessLayout,
    ProcessLink,
    WorkerError,
    WorkerPool,
    WorkerReport,
    power_of_two,
)
from mindshare.backends.worker import Outcome, WorkerSetup
from mindshare.errors import ExactnessError, MindshareError, ModelError
from tests.backends.fake_link import FakeLink, live
from tests.backends.tiny_jobs import (
    REQUEST,
    as_bytes,
    everything,
    gone,
    hold,
    insertions,
    jobs,
    kill,
    spec,
)

Bytes = dict[str, dict[int, bytes]]


@pytest.fixture
def link(folder: Path) -> FakeLink:
    return FakeLink(WorkerSetup(spec(folder)))


@pytest.fixture(autouse=True)
def _log_everything(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mindshare.backends")


def found(pool: WorkerPool) -> Bytes:
    return as_bytes(pool.results(everything(), REQUEST))


def dies(number: int, why: str = "killed") -> Any:
    """The fate of the worker of that number, in its first life."""
    dead = set()

    def fate(worker: int, batch: JobBatch, outcome: Outcome) -> list[WorkerReport]:
        if worker == number and worker not in dead:
            dead.add(worker)
            return [WorkerReport(worker, why)]
        return live(worker, batch, outcome)

    return fate


def test_every_job_has_one_result(link: FakeLink, expected: Bytes) -> None:
    with WorkerPool(link, 3) as pool:
        assert found(pool) == expected
        assert len(pool.fingerprints) == 3
        assert list(pool.results([], REQUEST)) == []


def test_batches_are_of_one_length_and_keep_what_shares_a_pass(link: FakeLink) -> None:
    with WorkerPool(link, 2) as pool:
        batches = list(pool._batches(everything(), REQUEST))
    items = [one.item for batch in batches for one in batch]
    assert sorted(items) == sorted(one.item for one in everything())
    of_item = {one.item: number for number, batch in enumerate(batches) for one in batch}
    for one in insertions():
        if one.reference is not None:
            assert of_item[one.item] == of_item[one.reference.item]
            assert items.index(one.reference.item) < items.index(one.item)
    alone = [batch for batch in batches if not any(one.reference for one in batch)]
    assert all(len({one.padded for one in batch}) == 1 for batch in alone)


def test_prompts_in_chunks_go_together_if_they_begin_alike(link: FakeLink) -> None:
    def job(number: int) -> Job:
        ids = np.array([number % 2] * 4 + [number] * 3)
        return Job(f"{number:02x}", ids, np.zeros((7, 1), np.float32))

    request = replace(REQUEST, chunk_tokens=4)
    with WorkerPool(link, 2) as pool:
        batches = list(pool._batches([job(number) for number in range(24)], request))
    assert sorted(one.item for batch in batches for one in batch) == [f"{n:02x}" for n in range(24)]
    assert all(len({one.ids[0] for one in batch}) == 1 for batch in batches)
    assert all(len(batch) > 1 for batch in batches)


def test_what_comes_twice_counts_once(
    link: FakeLink, expected: Bytes, caplog: pytest.LogCaptureFixture
) -> None:
    link.fate = lambda *said: live(*said) * 2
    with WorkerPool(link, 2) as pool:
        assert found(pool) == expected
    assert any("answered again" in line for line in caplog.messages)


def test_a_lost_batch_goes_to_another_worker(
    link: FakeLink, expected: Bytes, caplog: pytest.LogCaptureFixture
) -> None:
    link.fate = dies(0, "the node is gone")
    with WorkerPool(link, 2) as pool:
        assert found(pool) == expected
        assert [one.pid for one in pool.fingerprints] == [1, 2] or len(pool.fingerprints) == 2
    assert link.started == [0, 1, 0]
    (again,) = [line for line in caplog.messages if "is tried again" in line]
    assert "the node is gone (retry 1 of 3)" in again
    # The one behind it had not been begun, which is no attempt.
    assert any("had not been begun" in line for line in caplog.messages)


def test_a_batch_that_ends_every_worker_ends_the_run_by_name(link: FakeLink) -> None:
    link.fate = lambda worker, *_: [WorkerReport(worker, "ended by SIGKILL")]
    with pytest.raises(WorkerError) as caught, WorkerPool(link, 1, retries=2) as pool:
        list(pool.results(jobs(), REQUEST))
    said = str(caught.value)
    assert "(3 prompts of up to 299 tokens) was lost 3 times" in said
    assert "ended by SIGKILL" in said
    assert max(jobs(), key=len).item in said
    assert len(link.started) == 4


def test_a_worker_that_fails_is_started_again(
    link: FakeLink, expected: Bytes, caplog: pytest.LogCaptureFixture
) -> None:
    failed: list[int] = []

    def fails_once(worker: int, batch: JobBatch, outcome: Outcome) -> list[WorkerReport]:
        if worker == 1 and not failed:
            failed.append(worker)
            outcome = Outcome([], failed="Traceback\nRuntimeError: CUDA error: bad address")
        return live(worker, batch, outcome)

    link.fate = fails_once
    with WorkerPool(link, 2) as pool:
        assert found(pool) == expected
    assert link.started == [0, 1, 1]
    assert any("it failed: RuntimeError: CUDA error" in line for line in caplog.messages)


def test_a_refused_prompt_is_told_after_the_results_that_there_are(link: FakeLink) -> None:
    good = [job for job in jobs() if 33 <= len(job) <= 48]
    bad = Job("ffff", np.full(40, 10**6), good[0].columns[:1].repeat(40, 0))

    def refuse(worker: int, batch: JobBatch, outcome: Outcome) -> list[WorkerReport]:
        if outcome.failed is not None:  # an id that no model knows
            outcome = Outcome(outcome.results, refused=ExactnessError("its numbers are NaN"))
        return live(worker, batch, outcome)

    link.fate = refuse
    results: list[PromptResult] = []
    with WorkerPool(link, 1) as pool, pytest.raises(ExactnessError, match="NaN"):
        results.extend(x for some in pool.results([*good, bad], REQUEST) for x in some)
    assert "ffff" not in [one.item for one in results]


DIFFERENT: list[tuple[dict[str, Any], str]] = [
    ({"versions": {"torch": "1"}}, "the set of versions is torch 1 here"),
    ({"may_share": False}, "share a pass is False here"),
    ({"probe": "0"}, "come out with other numbers"),
]


@pytest.mark.parametrize(("change", "reason"), DIFFERENT)
def test_workers_that_may_differ_are_refused(
    link: FakeLink, change: dict[str, Any], reason: str
) -> None:
    link.changes[1] = change
    with pytest.raises(ExactnessError, match=reason), WorkerPool(link, 2) as pool:
        found(pool)


def test_a_worker_that_differs_after_a_restart_is_left_out(
    link: FakeLink, expected: Bytes, caplog: pytest.LogCaptureFixture
) -> None:
    link.changes[2] = {"probe": "0"}
    link.fate = dies(0)
    with WorkerPool(link, 2) as pool:
        assert found(pool) == expected
        assert [one.pid for one in pool.fingerprints] == [1]
    assert any("is not used, the others go on" in line for line in caplog.messages)


def test_workers_that_never_begin_end_the_run(link: FakeLink) -> None:
    link.stillborn = set(range(10))
    with pytest.raises(WorkerError, match=r"6 workers in a row.*out of memory"):
        WorkerPool(link, 2).__enter__()


def test_restarts_that_never_begin_are_given_up(
    link: FakeLink, expected: Bytes, caplog: pytest.LogCaptureFixture
) -> None:
    link.stillborn = set(range(2, 20))
    link.fate = dies(0)
    with WorkerPool(link, 2) as pool:
        assert found(pool) == expected
    assert len(link.started) == 2 + 5
    assert link.ended == [0]
    assert any("out of memory; the others go on" in line for line in caplog.messages)


def test_a_model_that_cannot_be_loaded_is_said_as_it_is(link: FakeLink) -> None:
    class Refusing(FakeLink):
        def start(self, worker: int) -> None:
            self._said.append(WorkerReport(worker, MindshareError("no such model")))

    link.__class__ = Refusing
    with pytest.raises(MindshareError, match="no such model"):
        WorkerPool(link, 2).__enter__()


def test_silence_does_not_last_for_ever(link: FakeLink) -> None:
    class Silent(FakeLink):
        def start(self, worker: int) -> None:
            self.started.append(worker)

    link.__class__ = Silent
    with pytest.raises(WorkerError, match="within 0 s"):
        WorkerPool(link, 1, patience=0.0).__enter__()


@pytest.fixture(scope="module")
def processes(folder: Path, cache: Path) -> Iterator[ProcessBackend]:
    """Processes take seconds to start: the tests share them.

    The one that kills a worker comes before the one that leaves work behind: a worker that is still
    busy with what nobody waits for has no batch to lose.
    """
    del cache
    with ProcessBackend(spec(folder), ProcessLayout(processes=2, threads=1)) as backend:
        yield backend
        pids = [one.pid for one in backend.fingerprints]
    assert all(gone(pid) for pid in pids)


def test_results_are_the_bytes_of_one_process(processes: ProcessBackend, expected: Bytes) -> None:
    assert processes.identity.name == "tiny-llama"
    assert found(processes) == expected
    assert os.getpid() not in [one.pid for one in processes.fingerprints]


def test_a_killed_process_is_replaced_and_its_batch_retried(
    processes: ProcessBackend, expected: Bytes, caplog: pytest.LogCaptureFixture
) -> None:
    killed = processes.fingerprints[-1].pid
    hold(killed)
    coming = processes.results(everything(), REQUEST)
    first = next(coming)  # of the other one
    kill(killed)
    assert as_bytes([first, *coming]) == expected
    assert killed not in [one.pid for one in processes.fingerprints]
    assert gone(killed)
    (lost,) = [line for line in caplog.messages if line.startswith("worker lost")]
    (again,) = [line for line in caplog.messages if "is tried again" in line]
    assert f"process {killed} was ended by SIGKILL" in lost
    assert "(retry 1 of 3)" in again


def test_what_was_asked_before_and_not_waited_for_is_dropped(
    processes: ProcessBackend, expected: Bytes
) -> None:
    next(processes.results(everything(), REQUEST))
    assert found(processes) == expected


@pytest.mark.slow
def test_processes_end_when_the_caller_is_interrupted(folder: Path) -> None:
    pids: list[int] = []

    def interrupted() -> None:
        with ProcessBackend(spec(folder), ProcessLayout(processes=1, threads=1)) as backend:
            next(backend.results(jobs(), REQUEST))
            pids.extend(one.pid for one in backend.fingerprints)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert pids
    assert all(gone(pid) for pid in pids)


@pytest.mark.slow
def test_a_model_that_is_not_there_is_said_once(tmp_path: Path) -> None:
    nowhere = spec(tmp_path / "nowhere/at all")
    with pytest.raises(ModelError, match="no model at"):
        ProcessBackend(nowhere, ProcessLayout(processes=2, threads=1)).__enter__()


@pytest.mark.parametrize(
    ("cores", "workers", "division"),
    [
        (1, None, ProcessLayout(1, 1)),
        (2, None, ProcessLayout(1, 2)),
        (6, None, ProcessLayout(1, 4)),
        (64, None, ProcessLayout(4, 16)),
        (8, 3, ProcessLayout(3, 2)),
        (2, 5, ProcessLayout(5, 1)),
    ],
)
def test_a_sensible_division(cores: int, workers: int | None, division: ProcessLayout) -> None:
    assert ProcessLayout.sensible(ModelSpec("m"), workers, cores=cores) == division


def test_more_workers_than_devices_share_them(folder: Path) -> None:
    setup = WorkerSetup(spec(folder))
    link = ProcessLink(setup, ("0", "2"))
    seen = [link.setup_of(worker).environment["CUDA_VISIBLE_DEVICES"] for worker in range(5)]
    assert seen == ["0", "2", "0", "2", "0"]
    assert ProcessLink(setup).setup_of(3) == setup


def test_threads_are_powers_of_two() -> None:
    assert [power_of_two(n) for n in (0, 1, 2, 3, 4, 7, 8, 63, 64)] == [
        1, 1, 2, 2, 4, 4, 8, 32, 64,
    ]  # fmt: skip
