from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mindshare.errors import SelectionError
from mindshare.stats import aligned
from mindshare.table import SCHEMAS

from .insertions import RUN, as_it_is, one_prompt, random_prompts, tables, with_run

Key = tuple[Any, ...]


def by_hand(sequence: list[dict[str, Any]], places: list[dict[str, Any]]) -> dict[Key, Key]:
    """Row by row with dictionaries, nothing shared with the code."""
    seen = {
        (r["prompt"], r["condition"], r["layer"], r["head"], r["position"]): r for r in sequence
    }
    found = {}
    for place in places:
        if place["condition"] == "without" or place["position_without"] is None:
            continue
        for layer, head in {(r["layer"], r["head"]) for r in sequence}:
            with_ = seen[place["prompt"], place["condition"], layer, head, place["position"]]
            without = seen[place["prompt"], "without", layer, head, place["position_without"]]
            key = (place["prompt"], place["condition"], layer, head, place["position_without"])
            found[key] = (
                place["position"],
                place["token"],
                without["received"],
                with_["received"],
                without["n_queries"],
                with_["n_queries"],
            )
    return found


def test_every_matched_token_has_both_its_numbers() -> None:
    sequence, places, _ = tables(random_prompts(2))
    found = aligned(sequence, places)
    assert found.schema.equals(SCHEMAS["aligned"])
    rows = found.to_pylist()
    names = ("prompt", "condition", "layer", "head", "position_without")
    ours = {tuple(row[name] for name in names): tuple(row.values())[5:] for row in rows}
    assert ours == by_hand(sequence.to_pylist(), places.to_pylist())
    assert len(rows) == len(ours) == 2 * 2 * 6 * 12


def test_rows_are_in_the_order_of_the_measurement() -> None:
    rows = aligned(*tables(random_prompts(2))[:2]).to_pylist()
    names = ("prompt", "condition", "layer", "head", "position")
    keys = [tuple(row[name] for name in names) for row in rows]
    assert keys == sorted(keys, key=lambda key: (key[0], key[1] != RUN, *key[2:]))
    assert keys[0] == ("p0", RUN, 0, 0, 0)


def test_tokens_without_a_partner_are_left_out() -> None:
    cut = replace(
        as_it_is([0.5, 0.6, 0.7, 0.8]),
        parts=["original", "seam", "inserted", "original"],
        partners=[0, None, None, 2],
    )
    prompts = {"p": {"without": as_it_is([0.1, 0.2, 0.3]), "x": cut}}
    found = aligned(*tables(prompts)[:2])
    assert found["position_without"].to_pylist() == [0, 2]
    assert found["position"].to_pylist() == [0, 3]
    assert found["token"].to_pylist() == ["t0", "t2"]
    assert found["received_with"].to_pylist() == pytest.approx([0.5, 0.8])


def test_a_key_without_queries_stays_null() -> None:
    prompts = one_prompt([0.1, np.nan], [0.3, np.nan])
    found = aligned(*tables(prompts)[:2])
    assert found["received_without"].to_pylist() == [pytest.approx(0.1), None]
    assert found["received_with"].to_pylist() == [pytest.approx(0.3), None]
    assert found["n_queries_without"].to_pylist() == [1, 0]
    assert found["n_queries_with"].to_pylist() == [4, 0]


def test_the_cells_asked_for_come_in_this_order() -> None:
    a = np.arange(12.0).reshape(2, 2, 3)  # [layer, head, token]
    sequence, places, _ = tables(one_prompt(a, a * 10))
    found = aligned(sequence, places, cells=[(1, 1), (0, None), (None, None), (None, 0)])
    cells = list(zip(found["layer"].to_pylist(), found["head"].to_pylist(), strict=True))
    assert cells[::3] == [(1, 1), (0, None), (None, None), (None, 0)]
    numbers = found["received_without"].to_numpy().reshape(4, 3)
    assert numbers.tolist() == [[9, 10, 11], [1.5, 2.5, 3.5], [4.5, 5.5, 6.5], [3, 4, 5]]
    assert (found["received_with"].to_numpy() == found["received_without"].to_numpy() * 10).all()


def test_a_mean_over_heads_has_no_number_where_no_head_has_one() -> None:
    prompts = one_prompt([[0.1, np.nan], [0.3, np.nan]], [[0.2, np.nan], [0.4, np.nan]])
    found = aligned(*tables(prompts)[:2], cells=[(0, None)])
    assert found["received_without"].to_pylist() == [pytest.approx(0.2), None]


def test_cells_that_are_not_there_are_refused() -> None:
    sequence, places, _ = tables(random_prompts(1))
    with pytest.raises(SelectionError, match="no layer 0, head 5") as caught:
        aligned(sequence, places, cells=[(0, 5)])
    assert caught.value.allowed == "layers 0 to 1, heads 0 to 2"
    with pytest.raises(SelectionError, match="no layer 7, head None"):
        aligned(sequence, places, cells=[(7, None)])
    with pytest.raises(SelectionError, match="no layer and head was named"):
        aligned(sequence, places, cells=[])


def test_no_matched_token_is_no_row() -> None:
    lost = replace(with_run([0.1, 0.2], [0.3], 1), partners=[None] * 3)
    prompts = {"p": {"without": as_it_is([0.1, 0.2]), "x": lost}}
    found = aligned(*tables(prompts)[:2])
    assert found.num_rows == 0
    assert found.schema.equals(SCHEMAS["aligned"])


def test_the_definition_travels_along() -> None:
    found = aligned(*tables(random_prompts(1))[:2])
    assert found.schema.metadata == {b"mindshare.study": b"abc"}
