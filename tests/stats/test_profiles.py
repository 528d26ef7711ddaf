from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from mindshare.errors import SelectionError
from mindshare.stats import aligned, phases
from mindshare.stats.profiles import pairs
from mindshare.tables import SCHEMAS, joined

from .insertions import RUN, as_it_is, one_prompt, random_prompts, shuffled, tables, with_run

Key = tuple[Any, ...]


def without_rows(content: pa.Table, column: str, value: str) -> pa.Table:
    return content.filter(pc.not_equal(content[column], value))


def nothing_in(content: pa.Table, column: str) -> pa.Table:
    empty = pa.nulls(content.num_rows, content.schema.field(column).type)
    return content.set_column(content.column_names.index(column), column, empty)


def test_tokens_are_paired_by_the_places_table() -> None:
    prompts = one_prompt([[0.1, 0.2, 0.3]], [[0.4, 0.5, 0.6]], run=[0.7, 0.8], at=2)
    sequence, places, _ = tables(prompts)
    (found,) = pairs(sequence, places)
    a, b = found.received()
    assert (found.prompt, found.condition) == ("p", RUN)
    assert found.places.tolist() == [[0, 0], [1, 1], [2, 4]]
    assert a.tolist() == [pytest.approx([0.1, 0.2, 0.3])]
    assert b.tolist() == [pytest.approx([0.4, 0.5, 0.6])]
    assert np.flatnonzero(found.with_.inserted).tolist() == [2, 3]
    assert found.with_.n_queries.tolist() == [[4, 3, 2, 1, 0]]


def test_a_seam_is_not_inserted_and_has_no_partner() -> None:
    version = replace(
        as_it_is([0.1, 0.2, 0.3]), parts=["original", "seam", "unmatched"], partners=[0, None, None]
    )
    prompts = {"p": {"without": as_it_is([0.1, 0.2, 0.3, 0.4]), "x": version}}
    (found,) = pairs(*tables(prompts)[:2])
    assert found.places.tolist() == [[0, 0]]
    assert found.with_.inserted.tolist() == [False, False, False]


def test_conditions_come_as_they_were_measured() -> None:
    found = list(pairs(*tables(random_prompts(2))[:2]))
    assert [(one.prompt, one.condition) for one in found] == [
        ("p0", RUN),
        ("p0", "sentence"),
        ("p1", RUN),
        ("p1", "sentence"),
    ]
    assert found[0].with_.layers.tolist() == [0, 0, 0, 1, 1, 1]
    assert found[0].with_.heads.tolist() == [0, 1, 2, 0, 1, 2]


def test_the_order_of_the_rows_decides_no_number() -> None:
    sequence, places, _ = tables(random_prompts(3))
    ours = {(x.prompt, x.condition): x for x in pairs(sequence, places)}
    theirs = {(x.prompt, x.condition): x for x in pairs(shuffled(sequence), shuffled(places))}
    assert ours.keys() == theirs.keys()
    for name, one in ours.items():
        for left, right in zip(one.received(), theirs[name].received(), strict=True):
            assert np.array_equal(left, right, equal_nan=True)
        assert np.array_equal(one.places, theirs[name].places)


def test_rows_in_several_chunks_are_read_alike() -> None:
    sequence, places, _ = tables(random_prompts(2))
    pieces = pa.concat_tables([sequence.slice(0, 50), sequence.slice(50)])
    whole, cut = (list(pairs(content, places)) for content in (sequence, pieces))
    for left, right in zip(whole, cut, strict=True):
        assert np.array_equal(left.with_.received, right.with_.received, equal_nan=True)


def test_a_mean_over_heads_is_a_cell_like_others() -> None:
    sequence, places, _ = tables(one_prompt([0.1, 0.2], [0.3, 0.4]))
    (found,) = pairs(nothing_in(sequence, "head"), places)
    assert (found.with_.layers.tolist(), found.with_.heads.tolist()) == ([0], [-1])


def test_single_heads_and_their_mean_are_not_mixed() -> None:
    sequence, places, _ = tables(one_prompt([0.1, 0.2], [0.3, 0.4]))
    with pytest.raises(SelectionError, match="single heads and their mean"):
        list(pairs(joined([sequence, nothing_in(sequence, "head")]), places))


def test_a_prompt_needs_its_version_without() -> None:
    sequence, places, _ = tables(random_prompts(2))
    with pytest.raises(SelectionError, match="prompt 'p0' has no condition 'without'"):
        list(pairs(without_rows(sequence, "condition", "without"), places))


def test_without_alone_is_nothing_to_compare() -> None:
    sequence, places, _ = tables({"p": {"without": as_it_is([0.1, 0.2])}})
    with pytest.raises(SelectionError, match="no condition but 'without'"):
        list(pairs(sequence, places))


def test_places_of_another_measurement_are_refused() -> None:
    sequence, places, _ = tables(one_prompt([0.1, 0.2, 0.3], [0.4, 0.5, 0.6]))
    with pytest.raises(SelectionError, match=f"no condition '{RUN}' in the places table"):
        list(pairs(sequence, without_rows(places, "condition", RUN)))
    other = tables(one_prompt([0.1, 0.2], [0.4, 0.5]))[1]
    with pytest.raises(SelectionError, match="a token 2 that the places table does not know"):
        list(pairs(sequence, other))
    gap = places.filter(pc.not_equal(places["position"], 1))
    with pytest.raises(SelectionError, match="does not have every position once"):
        list(pairs(sequence, gap))


def test_a_partner_that_is_not_there_is_refused() -> None:
    version = replace(with_run([0.1, 0.2], [0.3], 1), partners=[0, None, 7])
    prompts = {"p": {"without": as_it_is([0.1, 0.2]), "x": version}}
    with pytest.raises(SelectionError, match="with token 7 of the version without, which has 2"):
        list(pairs(*tables(prompts)[:2]))


def test_a_prompt_that_is_there_twice_is_refused() -> None:
    sequence, places, _ = tables(one_prompt([0.1, 0.2], [0.3, 0.4]))
    with pytest.raises(SelectionError, match="a token twice for the same layer and head"):
        list(pairs(joined([sequence, sequence]), places))


def test_versions_with_other_heads_are_refused() -> None:
    prompts = {"p": {"without": as_it_is([[0.1, 0.2]] * 2), "x": as_it_is([[0.1, 0.2]] * 3)}}
    with pytest.raises(SelectionError, match="other layers or heads here"):
        list(pairs(*tables(prompts)[:2]))


def test_what_is_no_such_table_is_refused() -> None:
    sequence, places, _ = tables(one_prompt([0.1, 0.2], [0.3, 0.4]))
    with pytest.raises(SelectionError, match="no column 'received'"):
        list(pairs(sequence.drop_columns(["received"]), places))
    with pytest.raises(SelectionError, match="the places table has no rows"):
        list(pairs(sequence, places.slice(0, 0)))


# Aligned.


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


# Phases.


def test_a_run_has_a_before_an_inside_and_an_after() -> None:
    prompts = one_prompt([0.0] * 4, [0.1, 0.2, 0.3, 0.4], run=[0.5, 0.7], at=1)
    found = phases(*tables(prompts)[:2])
    assert found.schema.equals(SCHEMAS["phases"])
    assert found["phase"].to_pylist() == ["before", "inside", "after"]
    assert found["condition"].to_pylist() == [RUN] * 3
    assert found["n_tokens"].to_pylist() == [1, 2, 3]
    assert found["received_sum"].to_pylist() == pytest.approx([0.1, 1.2, 0.9])
    assert found["received"].to_pylist() == pytest.approx([0.1, 0.6, 0.3])


def test_a_seam_and_what_was_cut_differently_have_a_phase_too() -> None:
    cut = replace(
        as_it_is([0.1, 0.2, 0.3, 0.4, 0.5]),
        parts=["original", "seam", "inserted", "unmatched", "original"],
        partners=[0, None, None, None, 2],
    )
    prompts = {"p": {"without": as_it_is([0.1, 0.2, 0.3]), "x": cut}}
    found = phases(*tables(prompts)[:2])
    assert found["n_tokens"].to_pylist() == [2, 1, 2]
    assert found["received_sum"].to_pylist() == pytest.approx([0.3, 0.3, 0.9])


def test_keys_without_queries_are_not_counted() -> None:
    prompts = one_prompt([0.0] * 3, [0.1, 0.2, np.nan], run=[0.3], at=1)
    found = phases(*tables(prompts)[:2])
    assert found["n_tokens"].to_pylist() == [1, 1, 1]
    assert found["received_sum"].to_pylist() == pytest.approx([0.1, 0.3, 0.2])


@pytest.mark.parametrize(("at", "empty"), [(0, "before"), (2, "after")])
def test_a_phase_without_tokens_has_no_mean(at: int, empty: str) -> None:
    found = phases(*tables(one_prompt([0.1, 0.2], [0.1, 0.2], at=at))[:2])
    rows = {row["phase"]: row for row in found.to_pylist()}
    assert (rows[empty]["n_tokens"], rows[empty]["received_sum"]) == (0, 0)
    assert rows[empty]["received"] is None
    assert rows["inside"]["received"] == pytest.approx(0.1)


def test_nothing_inserted_is_no_phase() -> None:
    same = as_it_is([0.1, 0.2])
    assert phases(*tables({"p": {"without": same, "/ ×0": same}})[:2]).num_rows == 0
    both = {"p": {"without": same, "/ ×0": same, "/ ×1": with_run([0.1, 0.2], [0.3], 1)}}
    found = phases(*tables(both)[:2])
    assert found["condition"].to_pylist() == ["/ ×1"] * 3


def test_one_row_per_condition_head_and_phase() -> None:
    prompts = random_prompts(2)
    found = phases(*tables(prompts)[:2])
    assert found.num_rows == 2 * 2 * 6 * 3
    assert found.schema.metadata == {b"mindshare.study": b"abc"}
    row = found.to_pylist()[2 * 6 * 3 + 6 * 3 + 3 * 4 + 2]
    assert [row[n] for n in ("prompt", "condition", "layer", "head", "phase")] == [
        "p1", "sentence", 1, 1, "after",
    ]  # fmt: skip
    profile = prompts["p1"]["sentence"].received[1, 1]
    assert row["received_sum"] == pytest.approx(np.nansum(profile[6:]))
    assert row["n_tokens"] == 7
