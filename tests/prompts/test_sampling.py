"""A sample follows from seed and row numbers alone, and holds no more than itself."""

from __future__ import annotations

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from mindshare.prompts.sampling import rank, sampled

rows = st.lists(st.integers(1, 10**9), unique=True, max_size=60)


def drawn(numbers, size, seed=0):
    return list(sampled(((number, number) for number in numbers), size, seed=seed))


@given(rows, st.integers(1, 70), st.integers(0, 99), st.randoms())
def test_the_rule_whatever_the_order(numbers, size, seed, random):
    wanted = sorted(sorted(numbers, key=lambda number: rank(seed, number))[:size])
    assert drawn(numbers, size, seed) == wanted
    random.shuffle(numbers)
    assert drawn(numbers, size, seed) == wanted


@given(rows, st.integers(1, 30), st.integers(0, 30))
def test_pieces_drawn_on_their_own_hold_the_whole_sample(numbers, size, cut):
    """Two readers of two halves find together what one finds."""
    parts = [*drawn(numbers[:cut], size), *drawn(numbers[cut:], size)]
    assert drawn(parts, size) == drawn(numbers, size)


@given(rows, st.integers(1, 30), st.integers(0, 30))
def test_a_larger_sample_contains_the_smaller(numbers, size, more):
    assert set(drawn(numbers, size)) <= set(drawn(numbers, size + more))


def test_the_rule_is_the_one_that_is_written_down():
    """A sample stays the same in years to come."""
    assert rank(0, 1) == 0xEF134F2A180BA05D
    assert drawn(range(1, 101), 5) == [15, 44, 46, 87, 99]
    assert drawn(range(1, 101), 5, seed=1) == [30, 71, 72, 90, 100]


def test_every_row_is_drawn_about_as_often():
    count = Counter(number for seed in range(400) for number in drawn(range(1, 21), 5, seed))
    assert all(
        60 <= count[number] <= 145 for number in range(1, 21)
    )  # 100, five standard deviations


def test_items_are_not_compared():
    items = [(number, object()) for number in range(50)]
    Random(1).shuffle(items)
    assert len(list(sampled(items, 7, seed=0))) == 7
