from __future__ import annotations

import pytest

from mindshare.errors import SelectionError
from mindshare.figures.insertion.response_measures import (
    MIDDLE,
    SHORT,
    asked,
    check_measure,
    needed,
    shade_of,
)
from mindshare.table import SCHEMAS


def test_every_response_number_has_words() -> None:
    numbers = [f.name for f in SCHEMAS["response"] if str(f.type) == "float"]
    assert sorted(numbers) == sorted(SHORT)
    assert set(MIDDLE) <= set(SHORT)


def test_ratios_are_around_1_changes_around_0_and_the_rest_is_not() -> None:
    ratio = shade_of("amplitude", [0.25, 1.5])
    assert (ratio.low, ratio.middle, ratio.high) == (0.25, 1.0, 4.0)
    change = shade_of("entropy_change", [-0.2, 0.1])
    assert (change.low, change.middle, change.high) == (-0.2, 0.0, 0.2)
    assert shade_of("divergence", [0.1, 0.3]).stops == (0.0, 0.3)
    assert shade_of("retained", [0.56, 0.93]).stops == (0.5, 1.0)
    assert shade_of("shape", [-0.31, 0.93]).stops == (-0.4, 1.0)
    assert shade_of("shape", [0.5]).falling  # 1 is light: nothing is lost
    assert not shade_of("divergence", [0.5]).falling


def test_ends_can_be_chosen() -> None:
    assert shade_of("amplitude", [9.0], (0.5, 2.0)).outside([9.0, 1.0]) == 1
    with pytest.raises(SelectionError, match="around 1"):
        shade_of("amplitude", [9.0], (2.0, 3.0))


def test_a_definition_rests_on_received_where_the_measure_does() -> None:
    assert needed(["shape", "retained"]) == ["shape", "retained", "received"]
    assert needed(["retained"]) == ["retained"]
    assert asked("shape", {"queries": "all"}, {}) == ["queries: all"]
    assert asked("retained", {"queries": "all"}, {}) == [
        "queries: original tokens after the insertion"
    ]
    assert asked("value_evenness", {"queries": "all"}, {}) == []


def test_an_unknown_measure_is_named_with_its_neighbour() -> None:
    with pytest.raises(SelectionError, match="did you mean 'amplitude'"):
        check_measure("amplitud")
