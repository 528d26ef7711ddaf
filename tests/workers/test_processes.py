from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mindshare.errors import ModelError
from mindshare.workers.processes import Plan, Processes, power_of_two, sensible
from tests.workers.asking import ASKED, as_bytes, gone, jobs, kill, spec


@pytest.fixture(scope="module")
def workers(folder: Path, cache: Path) -> Iterator[Processes]:
    """Processes take seconds to start: the tests share them, and the last of these kills one."""
    del cache
    with Processes(spec(folder), plan=Plan(processes=2, threads=1)) as workers:
        yield workers
        pids = [one.pid for one in workers.credentials]
    assert all(gone(pid) for pid in pids)


def test_answers_are_the_bytes_of_one_process(
    workers: Processes, expected: dict[str, dict[int, bytes]]
) -> None:
    assert workers.respondent.name == "tiny-llama"
    found = as_bytes(one for some in workers.answers(jobs(), ASKED) for one in some)
    assert found == expected
    assert os.getpid() not in [one.pid for one in workers.credentials]


def test_what_was_asked_before_and_not_waited_for_is_dropped(
    workers: Processes, expected: dict[str, dict[int, bytes]]
) -> None:
    next(workers.answers(jobs(), ASKED))
    found = as_bytes(one for some in workers.answers(jobs(), ASKED) for one in some)
    assert found == expected


def test_a_killed_process_is_replaced_and_its_batch_retried(
    workers: Processes, expected: dict[str, dict[int, bytes]], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "mindshare.workers")
    coming = workers.answers(jobs(), ASKED)
    found = next(coming)
    killed = workers.credentials[-1].pid
    kill(killed)
    found += [one for some in coming for one in some]
    assert as_bytes(found) == expected
    assert killed not in [one.pid for one in workers.credentials]
    assert gone(killed)
    (lost,) = [line for line in caplog.messages if line.startswith("worker lost")]
    (again,) = [line for line in caplog.messages if "is tried again" in line]
    assert f"process {killed} was ended by SIGKILL" in lost
    assert "(retry 1 of 3)" in again


@pytest.mark.slow
def test_processes_end_when_the_caller_is_interrupted(folder: Path) -> None:
    pids: list[int] = []

    def interrupted() -> None:
        with Processes(spec(folder), plan=Plan(processes=1, threads=1)) as workers:
            next(workers.answers(jobs(), ASKED))
            pids.extend(one.pid for one in workers.credentials)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert pids
    assert all(gone(pid) for pid in pids)


@pytest.mark.slow
def test_a_model_that_is_not_there_is_said_once(tmp_path: Path) -> None:
    nowhere = spec(tmp_path / "nowhere/at all")
    with pytest.raises(ModelError, match="no model at"):
        Processes(nowhere, plan=Plan(processes=2, threads=1)).__enter__()


@pytest.mark.parametrize(
    ("cores", "workers", "plan"),
    [
        (1, None, Plan(1, 1)),
        (2, None, Plan(1, 2)),
        (6, None, Plan(1, 4)),
        (64, None, Plan(4, 16)),
        (8, 3, Plan(3, 2)),
        (2, 5, Plan(5, 1)),
    ],
)
def test_a_sensible_division(cores: int, workers: int | None, plan: Plan) -> None:
    assert sensible(workers, cores=cores) == plan


def test_threads_are_powers_of_two() -> None:
    assert [power_of_two(n) for n in (0, 1, 2, 3, 4, 7, 8, 63, 64)] == [
        1, 1, 2, 2, 4, 4, 8, 32, 64,
    ]  # fmt: skip
