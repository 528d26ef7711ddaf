from __future__ import annotations

import numpy as np
import pytest

from mindshare.errors import SelectionError
from mindshare.figures.insertion.versions import both, extent, pick, unmatched, visible, whole

from .insertions import Inserted, made

MADE = made(20, conditions=[Inserted(n=5, at=8, merged=1)], cells=[(0, 1), (2, None)])


def test_a_version_is_read_in_the_order_of_its_tokens() -> None:
    shuffled = MADE.sequence.take(np.random.default_rng(0).permutation(MADE.sequence.num_rows))
    for sequence in (MADE.sequence, shuffled):
        found = whole(sequence, MADE.places, condition="/ ×55", head=(0, 1))
        assert found.position.tolist() == list(range(25))
        assert found.tokens[8:13] == (" /",) * 5
        assert np.isnan(found.received[-1])
        assert found.n_queries[-1] == 0


def test_both_versions_stand_at_the_positions_without() -> None:
    without, with_ = both(MADE.aligned, condition="/ ×55", head=(2, None))
    assert without.position.tolist() == with_.position.tolist() == [*range(7), *range(8, 20)]
    assert without.n_queries[0] == 19
    assert with_.n_queries[0] == 24
    assert without.after_first().position.tolist()[0] == 1
    assert without.after_first().tokens == without.tokens[1:]


def test_where_the_run_is_and_who_has_no_partner() -> None:
    assert extent(MADE.places, "/ ×55") == (8, 12)
    assert extent(MADE.places, "without") is None
    assert unmatched(MADE.places, "/ ×55") == [7]


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [
        ({"condition": "/ ×5"}, "did you mean '/ ×55'"),
        ({"prompt": "p2"}, "there is no prompt 'p2'"),
        ({"layer": 9}, "there is no layer 9"),
        ({"layer": 0, "head": None}, "there is no head mean"),
    ],
)
def test_what_is_not_there_is_named(wanted: dict, hint: str) -> None:
    with pytest.raises(SelectionError, match=hint) as caught:
        pick(MADE.sequence, "sequence", **wanted)
    assert caught.value.allowed


def test_a_table_of_another_kind_is_refused() -> None:
    with pytest.raises(SelectionError, match="no column 'layer'"):
        pick(MADE.places, "sequence")
    with pytest.raises(SelectionError, match="no rows"):
        pick(MADE.places.slice(0, 0), "places")


def test_no_token_is_invisible() -> None:
    assert visible(" a\n\t\x00日") == "·a↵⇥\\x00日"
