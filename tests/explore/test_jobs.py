"""One job at a time, in order; cancelled ones end; a failure does not end the queue."""

from __future__ import annotations

import threading

import pytest

from mindshare.errors import PromptError
from mindshare_explore.jobs import MOST_WAITING, JobQueue, QueuedJob, QueueFull


def test_jobs_run_one_after_the_other() -> None:
    queue, running, most = JobQueue(), [0], [0]

    def work(job: QueuedJob) -> str:
        running[0] += 1
        most[0] = max(most[0], running[0])
        job.step("counting", 1, 2)
        running[0] -= 1
        return job.title

    jobs = [queue.submit(f"job {n}", work) for n in range(5)]
    for job in jobs:
        queue.wait(job, 10)
    queue.close()
    assert [job.result for job in jobs] == [f"job {n}" for n in range(5)]
    assert most == [1]
    assert jobs[0].to_json()["done"] == 1


def test_cancelling_ends_what_runs_and_what_waits() -> None:
    queue, begun, go = JobQueue(), threading.Event(), threading.Event()

    def long(job: QueuedJob) -> str:
        begun.set()
        for n in range(10_000):
            job.step("working", n, 10_000)
            go.wait(0.001)
        return "never"

    first, second = queue.submit("first", long), queue.submit("second", long)
    third = queue.submit("third", lambda _: "done")
    assert begun.wait(10)
    second.cancel()
    first.cancel()
    queue.wait(third, 10)
    queue.close()
    assert (first.state, second.state, third.state) == ("cancelled", "cancelled", "done")
    assert first.done < 9_999


def test_a_failure_is_told_and_the_next_job_runs() -> None:
    queue = JobQueue()

    def wrong(_job: QueuedJob) -> str:
        raise PromptError("no such prompt", next_step="write one")

    def bug(_job: QueuedJob) -> str:
        return str(1 // 0)

    jobs = [queue.submit("a", wrong), queue.submit("b", bug), queue.submit("c", lambda _: "c")]
    queue.wait(jobs[-1], 10)
    queue.close()
    assert [job.state for job in jobs] == ["failed", "failed", "done"]
    assert jobs[0].problem == {
        "what": "no such prompt",
        "where": None,
        "allowed": None,
        "next_step": "write one",
    }
    assert jobs[1].problem is not None
    assert "ZeroDivisionError" in str(jobs[1].problem["what"])


def test_the_queue_is_short() -> None:
    queue, go = JobQueue(), threading.Event()
    begun = threading.Event()

    def waits(_job: QueuedJob) -> None:
        begun.set()
        go.wait(10)

    queue.submit("running", waits)
    assert begun.wait(10)
    for n in range(MOST_WAITING):
        queue.submit(f"waiting {n}", waits)
    with pytest.raises(QueueFull, match="8 jobs are waiting"):
        queue.submit("one too many", waits)
    go.set()
    queue.close()
