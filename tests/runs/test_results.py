from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mindshare.runs.results import Count, covers, layers_read, layers_text, merged


@given(st.frozensets(st.integers(-3, 200)))
def test_layers_come_back(layers: frozenset[int]) -> None:
    assert layers_read(layers_text(layers)) == layers


def test_every_layer_is_only_what_was_said_to_be_whole() -> None:
    some = frozenset({0, 1})
    assert covers(some, whole=False, wanted=frozenset({1}))
    assert not covers(some, whole=True, wanted=frozenset({2}))
    assert covers(frozenset(), whole=True, wanted=None)
    assert not covers(some, whole=False, wanted=None)


def test_what_was_there_first_stays() -> None:
    old, new = {"a": 1, "b": {"x": 1}}, {"a": 2, "b": {"x": 2, "y": 3}, "c": 4}
    assert merged(old, new) == {"a": 1, "b": {"x": 1, "y": 3}, "c": 4}


def test_a_count_adds_up() -> None:
    assert Count("m", done=1, failed=2, waiting=3).total == 6
