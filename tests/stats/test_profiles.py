from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from mindshare.errors import SelectionError
from mindshare.stats.profiles import pairs
from mindshare.table import joined

from .insertions import RUN, as_it_is, one_prompt, random_prompts, shuffled, tables, with_run


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
    assert np.flatnonzero(found.with_.tokens.inserted).tolist() == [2, 3]
    assert found.with_.n_queries.tolist() == [[4, 3, 2, 1, 0]]


def test_a_seam_is_not_inserted_and_has_no_partner() -> None:
    version = replace(
        as_it_is([0.1, 0.2, 0.3]), parts=["original", "seam", "unmatched"], partners=[0, None, None]
    )
    prompts = {"p": {"without": as_it_is([0.1, 0.2, 0.3, 0.4]), "x": version}}
    (found,) = pairs(*tables(prompts)[:2])
    assert found.places.tolist() == [[0, 0]]
    assert found.with_.tokens.inserted.tolist() == [False, False, False]


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
