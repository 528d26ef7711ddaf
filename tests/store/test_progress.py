"""Counts that come in → pace and time left."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindshare.store import Progress, ProgressNumbers
from mindshare.store.progress import Pace, Sample, pace


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_nothing_is_told_before_anything_came_in() -> None:
    assert pace([]) == pace([(0.0, 0, 0)]) == Pace(None, None)
    assert pace([(5.0, 0, 0), (5.0, 1, 9)]) == Pace(None, None)


def test_the_pace_is_that_of_the_last_minute() -> None:
    slow_then_fast: list[Sample] = [
        *((float(t), 1, 10) for t in range(0, 100, 10)),
        *((100.0 + t, 1, 100) for t in range(0, 61)),
    ]
    assert pace(slow_then_fast) == Pace(1.0, 100.0)


def test_a_batch_longer_than_the_window_still_has_a_pace() -> None:
    assert pace([(0.0, 0, 0), (200.0, 2, 400)]) == Pace(0.01, 2.0)
    assert pace([(0.0, 0, 0), (200.0, 2, 400), (600.0, 4, 400)]) == Pace(0.01, 1.0)


@given(st.floats(0.1, 50), st.integers(1, 9), st.integers(1, 900), st.integers(2, 200))
def test_an_even_pace_is_found(gap: float, prompts: int, tokens: int, number: int) -> None:
    samples: list[Sample] = [(n * gap, prompts, tokens) for n in range(number)]
    assert pace(samples).tokens == pytest.approx(tokens / gap)
    assert pace(samples).prompts == pytest.approx(prompts / gap)


def test_time_left_is_told_by_tokens_where_they_are_known() -> None:
    found = Pace(prompts=2.0, tokens=100.0)
    assert found.seconds_left(10, 5000) == 50.0
    assert found.seconds_left(10, None) == 5.0
    assert found.seconds_left(0, 0) == 0.0
    assert Pace().seconds_left(10, 5000) is None


def test_a_resumed_run_counts_its_pace_from_where_it_began() -> None:
    shown: list[ProgressNumbers] = []
    clock = Clock()
    progress = Progress(shown.append, clock=clock)
    progress.update(500, 1000, tokens=50_000)
    assert (shown[-1].tokens_per_second, shown[-1].seconds_left) == (None, None)
    clock.now += 10
    progress.update(518, 1000, tokens=52_000, failed=2)
    assert shown[-1] == ProgressNumbers(518, 1000, 2, 52_000, 200.0, 240.0)
    assert shown[-1].waiting == 480


def test_it_shows_now_and_then_and_at_the_end() -> None:
    shown: list[ProgressNumbers] = []
    clock = Clock()
    progress = Progress(shown.append, every=5, clock=clock)
    for number in range(12):
        progress.update(number, 12, tokens=number)
        clock.now += 1
    assert [one.done for one in shown] == [0, 5, 10]
    progress.update(12, 12, tokens=12)
    progress.finish()
    assert shown[-1].to_dict() == {
        "done": 12,
        "total": 12,
        "failed": 0,
        "tokens": 12,
        "tokens_per_second": 1.0,
        "seconds_left": 0.0,
        "finished": True,
    }


def test_what_was_stopped_is_not_finished() -> None:
    shown: list[ProgressNumbers] = []
    progress = Progress(shown.append, clock=Clock())
    progress.update(3, 12, tokens=3)
    progress.finish()
    assert (shown[-1].finished, shown[-1].seconds_left) == (False, None)


def test_samples_do_not_pile_up() -> None:
    clock = Clock()
    progress = Progress(lambda _: None, clock=clock)
    for number in range(2000):
        progress.update(number, 2000, tokens=number)
        clock.now += 1
    assert len(progress._samples) < 70
