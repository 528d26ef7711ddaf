from __future__ import annotations

import math

import pytest

from mindshare.errors import SelectionError
from mindshare.figures.insertion.strip import Strip, StripToken, TextStripOptions, choose_strip

from .insertions import Inserted, Made, changed, made

CELLS = [(None, None)]


def strip(content: Made, *, places: bool = True, **options: object) -> Strip:
    return choose_strip(
        content.aligned,
        content.places if places else None,
        TextStripOptions(**options),
        names=("m", "p1", "/ ×55"),
        head=(None, None),
        about={},
    )


def test_every_original_token_is_there_matched_or_not() -> None:
    found = strip(made(20, conditions=[Inserted(n=3, at=8, merged=2)], cells=CELLS))
    assert [token.position for token in found.tokens] == list(range(20))
    assert [t.position for t in found.tokens if not t.matched] == [6, 7]
    assert found.tokens[7].text == "\n"
    blind = strip(made(20, conditions=[Inserted(n=3, at=8, merged=2)], cells=CELLS), places=False)
    assert [t.text for t in blind.tokens if not t.matched] == ["…", "…"]


def test_changes_are_ratios_or_differences() -> None:
    token = StripToken(0, "a", matched=True, without=0.2, with_=0.1)
    assert token.change("ratio") == 0.5
    assert token.change("difference") == -0.1
    assert StripToken(0, "a", matched=True, without=0.0, with_=0.1).change("ratio") == math.inf
    assert StripToken(0, "a", matched=True, without=0.0, with_=0.0).change("ratio") is None
    assert StripToken(0, "a", matched=True).change("difference") is None


def test_an_outlier_does_not_fade_all_the_others() -> None:
    content = made(60, cells=CELLS)
    values = content.aligned["received_with"].to_pylist()
    values[5] = 100.0
    table = changed(content.aligned, "received_with", values)
    found = strip(Made(content.sequence, content.places, table))
    assert found.shade.high < 20
    assert found.shade.outside(found.changes) >= 1


def test_the_first_token_can_stay_without_a_colour() -> None:
    found = strip(made(20, cells=CELLS), drop_first=True)
    assert found.change(found.tokens[0]) is None
    assert found.change(found.tokens[1]) is not None


def test_a_part_of_the_prompt_can_be_chosen() -> None:
    found = strip(made(20, cells=CELLS), positions=(5, 8))
    assert [token.position for token in found.tokens] == [5, 6, 7]
    with pytest.raises(SelectionError, match="no tokens from 30 to 40"):
        strip(made(20, cells=CELLS), positions=(30, 40))


def test_tokens_that_share_a_character_are_known() -> None:
    content = made(["a", "🤯", "🤯", "b"], conditions=[Inserted(n=1, at=1)], cells=CELLS)
    rows = content.places.to_pylist()
    starts = [1 if r["token"] == "🤯" else r["start"] for r in rows]
    stops = [2 if r["token"] == "🤯" else r["stop"] for r in rows]
    places = changed(changed(content.places, "start", starts), "stop", stops)
    found = strip(Made(content.sequence, places, content.aligned))
    assert [token.continues for token in found.tokens] == [False, False, True, False]


def test_unknown_words_and_ends_are_refused() -> None:
    with pytest.raises(SelectionError, match="did you mean 'ratio'"):
        TextStripOptions(change="ration")
    with pytest.raises(SelectionError, match="can't reach"):
        strip(made(20, cells=CELLS), ends=(-1, 2))
