from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from mindshare.errors import MindshareError
from mindshare.study.respondent import Respondent
from mindshare.workers.credentials import Credentials
from mindshare.workers.spec import ModelSpec
from mindshare.workers.worker import PackedAnswer, Served, Setup, Worker
from tests.workers.asking import ASKED, as_bytes, jobs, spec


@pytest.fixture(scope="module")
def worker(folder: Path) -> Worker:
    return Worker(Setup(spec(folder)))


def test_a_worker_says_who_it_is(worker: Worker, folder: Path) -> None:
    there = pickle.loads(pickle.dumps(worker.credentials))
    assert there == worker.credentials
    assert there.respondent == Respondent.of(spec(folder).load())
    assert there.pid == os.getpid()
    assert there.shares


def test_answers_travel_without_loss(worker: Worker, expected: dict[str, dict[int, bytes]]) -> None:
    answers = worker.answer(jobs(), ASKED)
    assert as_bytes(answers) == expected
    packed = [PackedAnswer.of(answer) for answer in answers]
    there = pickle.loads(pickle.dumps(packed))
    assert as_bytes(one.unpacked() for one in there) == expected


def test_they_are_little_more_than_their_numbers(worker: Worker) -> None:
    packed = [PackedAnswer.of(answer) for answer in worker.answer(jobs(), ASKED)]
    tokens, layers, heads = sum(map(len, jobs())), 4, 4
    assert len(pickle.dumps(packed)) < 1.2 * tokens * layers * heads * 4 + 60 * layers * 500


def test_a_served_worker_never_raises(tmp_path: Path, folder: Path) -> None:
    served = Served()
    refused = served.begin(Setup(ModelSpec(str(tmp_path / "nowhere/at all"))))
    assert isinstance(refused, MindshareError)
    assert str(pickle.loads(pickle.dumps(refused))) == str(refused)
    assert isinstance(served.begin(Setup(spec(folder))), Credentials)
    job = jobs()[0]
    job.ids[-1] = 10**6  # no model knows this one
    outcome = served.outcome([job], ASKED)
    assert outcome.failed is not None
    assert "IndexError" in outcome.failed


def test_relative_paths_start_where_the_driver_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    Setup(spec(tmp_path), folder=str(tmp_path), environment={"HF_HUB_OFFLINE": "1"}).enter()
    assert Path.cwd() == tmp_path
    assert os.environ["HF_HUB_OFFLINE"] == "1"
