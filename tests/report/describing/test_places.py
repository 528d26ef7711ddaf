from __future__ import annotations

from mindshare.report.describing.places import (
    CLOSELY,
    closely,
    group_word,
    groups,
    in_order,
    leading,
    where,
    wheres,
)

LAYERS = [(n, None) for n in range(40)]


def test_up_to_twelve_are_described_one_by_one() -> None:
    assert closely(LAYERS[:CLOSELY], []) == LAYERS[:CLOSELY]
    assert groups(LAYERS[:CLOSELY], LAYERS[:CLOSELY]) == []


def test_of_more_the_ends_and_what_stands_out_and_nothing_is_dropped() -> None:
    close = closely(LAYERS, [(33, None), (17, None)])
    assert close == [(0, None), (17, None), (33, None), (39, None)]
    assert len(closely(LAYERS, LAYERS)) == CLOSELY
    rest = groups(LAYERS, close)
    assert len(rest) == 3
    assert in_order([*close, *(place for group in rest for place in group)]) == LAYERS


def test_heads_of_a_layer_stay_in_one_group() -> None:
    heads = [(layer, head) for layer in range(6) for head in range(8)]
    close = closely(heads, [])
    rest = groups(heads, close)
    assert in_order([*close, *(place for group in rest for place in group)]) == heads
    seen = [{layer for layer, _ in group} for group in rest]
    assert not set.intersection(*seen)


def test_words() -> None:
    assert where((3, 5)) == "layer 3, head 5"
    assert leading((None, None)) == "All layers"
    assert wheres([(0, None), (1, None), (2, None), (None, None)]) == "layers 0 to 2 and all layers"
    assert wheres([(0, 1), (2, 3)]) == "layer 0, head 1; layer 2, head 3"
    assert wheres([(0, n) for n in range(9)]).startswith("many heads, among them layer 0, head 0;")
    assert group_word([(4, None), (5, None)]) == "Layers 4 and 5"
    assert group_word([(4, 1)]) == "Further heads of layer 4"
