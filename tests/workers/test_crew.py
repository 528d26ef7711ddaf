from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from mindshare.attention.batches import Answer, Job
from mindshare.errors import ExactnessError, MindshareError
from mindshare.workers.crew import Crew, Limits
from mindshare.workers.transport import Finished, Gone, Report, Work, WorkerError
from mindshare.workers.worker import Outcome, Setup
from tests.workers.asking import ASKED, as_bytes, jobs, spec
from tests.workers.inside import Inside, live


@pytest.fixture
def inside(folder: Path) -> Inside:
    return Inside(Setup(spec(folder)))


@pytest.fixture(autouse=True)
def _heard(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mindshare.workers")


def asked(crew: Crew, some: list[Job] | None = None) -> dict[str, dict[int, bytes]]:
    return as_bytes(one for answers in crew.answers(some or jobs(), ASKED) for one in answers)


def test_every_job_is_answered_once(inside: Inside, expected: dict[str, dict[int, bytes]]) -> None:
    with Crew(inside, Limits(3)) as crew:
        assert asked(crew) == expected
        assert len(crew.credentials) == 3
        assert list(crew.answers([], ASKED)) == []


def test_what_is_answered_twice_counts_once(
    inside: Inside, expected: dict[str, dict[int, bytes]], caplog: pytest.LogCaptureFixture
) -> None:
    inside.fate = lambda *said: live(*said) * 2
    with Crew(inside, Limits(2)) as crew:
        assert asked(crew) == expected
    assert any("answered again" in line for line in caplog.messages)


def test_a_lost_batch_goes_to_another_worker(
    inside: Inside, expected: dict[str, dict[int, bytes]], caplog: pytest.LogCaptureFixture
) -> None:
    def one_dies(worker: int, work: Work, outcome: Outcome) -> list[Report]:
        return [Gone(worker, "the node is gone")] if worker == 0 else live(worker, work, outcome)

    inside.fate = one_dies
    with Crew(inside, Limits(2)) as crew:
        assert asked(crew) == expected
    assert inside.started == [0, 1, 2]
    assert inside.ended == [0]
    again = [line for line in caplog.messages if "is tried again" in line]
    assert len(again) == 1
    assert "the node is gone (retry 1 of 3)" in again[0]
    # The one behind it had not been begun, which is no attempt.
    assert any("had not been begun" in line for line in caplog.messages)


def test_a_batch_that_ends_every_worker_ends_the_run_by_name(inside: Inside) -> None:
    inside.fate = lambda worker, *_: [Gone(worker, "ended by SIGKILL")]
    with pytest.raises(WorkerError) as caught, Crew(inside, Limits(1, retries=2)) as crew:
        asked(crew)
    said = str(caught.value)
    assert "(3 prompts of up to 299 tokens) was lost 3 times" in said
    assert "ended by SIGKILL" in said
    assert max(jobs(), key=len).item in said
    assert len(inside.started) == 4


def test_a_worker_that_fails_is_replaced(
    inside: Inside, expected: dict[str, dict[int, bytes]], caplog: pytest.LogCaptureFixture
) -> None:
    def fails_once(worker: int, work: Work, outcome: Outcome) -> list[Report]:
        if worker == 1:
            outcome = Outcome([], failed="Traceback\nRuntimeError: CUDA error: bad address")
        return [Finished(worker, work.serial, outcome)]

    inside.fate = fails_once
    with Crew(inside, Limits(2)) as crew:
        assert asked(crew) == expected
    assert inside.ended == [1]
    assert any("it failed: RuntimeError: CUDA error" in line for line in caplog.messages)


def test_a_refused_prompt_is_told_after_the_answers_that_there_are(inside: Inside) -> None:
    good = [job for job in jobs() if 33 <= len(job) <= 48]
    bad = Job("ffff", np.full(40, 10**6), good[0].columns[:1].repeat(40, 0), np.ones((1, 40), bool))

    def refuse(worker: int, work: Work, outcome: Outcome) -> list[Report]:
        if outcome.failed is not None:  # an id that no model knows
            outcome = Outcome(outcome.found, refused=ExactnessError("its numbers are NaN"))
        return live(worker, work, outcome)

    inside.fate = refuse
    found: list[Answer] = []
    with Crew(inside, Limits(1)) as crew, pytest.raises(ExactnessError, match="NaN"):
        found.extend(one for answers in crew.answers([*good, bad], ASKED) for one in answers)
    assert "ffff" not in as_bytes(found)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"capability": "AVX512"}, "instruction set is AVX512 here"),
        ({"versions": "torch 1"}, "the versions is torch 1 here"),
        ({"probe": "0"}, "come out with other numbers"),
    ],
)
def test_workers_that_may_differ_are_refused(
    inside: Inside, change: dict[str, str], reason: str
) -> None:
    inside.changes[1] = change
    with pytest.raises(ExactnessError, match=reason), Crew(inside, Limits(2)) as crew:
        asked(crew)


def test_a_replacement_that_differs_is_left_out(
    inside: Inside, expected: dict[str, dict[int, bytes]], caplog: pytest.LogCaptureFixture
) -> None:
    inside.changes[2] = {"capability": "AVX512"}
    inside.fate = lambda worker, work, outcome: (
        [Gone(worker, "killed")] if worker == 0 else live(worker, work, outcome)
    )
    with Crew(inside, Limits(2)) as crew:
        assert asked(crew) == expected
        assert [one.pid for one in crew.credentials] == [1]
    assert any("is not used, the others go on" in line for line in caplog.messages)


def test_workers_that_never_begin_end_the_run(inside: Inside) -> None:
    inside.stillborn = set(range(10))
    with pytest.raises(WorkerError, match=r"6 workers in a row.*out of memory"):
        Crew(inside, Limits(2)).__enter__()


def test_replacements_that_never_begin_are_given_up(
    inside: Inside, expected: dict[str, dict[int, bytes]], caplog: pytest.LogCaptureFixture
) -> None:
    inside.stillborn = set(range(2, 20))
    inside.fate = lambda worker, work, outcome: (
        [Gone(worker, "killed")] if worker == 0 else live(worker, work, outcome)
    )
    with Crew(inside, Limits(2)) as crew:
        assert asked(crew) == expected
    assert len(inside.started) == 2 + 5
    assert any("out of memory; the others go on" in line for line in caplog.messages)


def test_a_model_that_cannot_be_loaded_is_said_as_it_is(inside: Inside) -> None:
    class Refusing(Inside):
        def start(self, worker: int) -> None:
            self._said.append(Gone(worker, "", refused=MindshareError("no such model")))

    inside.__class__ = Refusing
    with pytest.raises(MindshareError, match="no such model"):
        Crew(inside, Limits(2)).__enter__()


def test_silence_does_not_last_for_ever(inside: Inside) -> None:
    class Silent(Inside):
        def start(self, worker: int) -> None:
            self.started.append(worker)

    inside.__class__ = Silent
    with pytest.raises(WorkerError, match="within 0 s"):
        Crew(inside, Limits(1, patience=0.0)).__enter__()
