from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from mindshare.errors import SelectionError
from mindshare.stats.response_cells import mean, read

from .insertions import response_table, shuffled

VALUES = np.arange(3 * 2 * 2 * 4, dtype=float).reshape(3, 2, 2, 4)  # prompt, condition, layer, head


def test_every_number_finds_its_place() -> None:
    other = -VALUES
    found = read(response_table(VALUES, shape=other), ["amplitude", "shape"], model="m")
    assert found.prompts == ("p0000", "p0001", "p0002")
    assert found.conditions == ("run", "sentence")
    assert found.values[..., 0].tolist() == VALUES.reshape(3, 2, 8).tolist()
    assert found.values[..., 1].tolist() == other.reshape(3, 2, 8).tolist()
    assert found.layers.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert found.heads.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    assert found.measured.all()


def test_the_order_of_the_prompts_decides_nothing() -> None:
    content = response_table(VALUES)
    order = [content.filter(pc.equal(content["prompt"], f"p000{i}")) for i in (2, 0, 1)]
    ours, theirs = (read(t, ["shape"], model="m") for t in (content, pa.concat_tables(order)))
    assert ours.conditions == theirs.conditions
    assert np.array_equal(ours.values, theirs.values)


def test_means_over_heads_layers_and_both() -> None:
    found = read(response_table(VALUES), ["shape"], model="m")
    heads = found.merged(over_heads=True, over_layers=False)
    assert (heads.layers.tolist(), heads.heads.tolist()) == ([0, 1], [-1, -1])
    assert heads.values[..., 0].tolist() == VALUES.mean(3).tolist()
    layers = found.merged(over_heads=False, over_layers=True)
    assert (layers.layers.tolist(), layers.heads.tolist()) == ([-1] * 4, [0, 1, 2, 3])
    assert layers.values[..., 0].tolist() == VALUES.mean(2).tolist()
    both = found.merged(over_heads=True, over_layers=True)
    assert both.values[..., 0, 0].tolist() == VALUES.mean((2, 3)).tolist()
    assert both.columns(1)["layer"].to_pylist() == [None]
    assert found.merged(over_heads=False, over_layers=False) is found


def test_layers_count_alike_whatever_their_heads_have() -> None:
    values = np.ones((1, 1, 2, 4))
    values[0, 0, 1] = [3, np.nan, np.nan, np.nan]
    found = read(response_table(values, conditions=["run"]), ["shape"], model="m")
    both = found.merged(over_heads=True, over_layers=True)
    assert both.values.tolist() == [[[[2.0]]]]


def test_a_mean_is_of_what_is_there() -> None:
    values = np.array([[1, np.nan], [3, np.nan]])
    assert mean(values, 0).tolist() == pytest.approx([2, np.nan], nan_ok=True)


def test_a_condition_that_a_prompt_lacks_is_known() -> None:
    content = response_table(VALUES)
    lacking = pc.and_(
        pc.equal(content["prompt"], "p0001"), pc.equal(content["condition"], "sentence")
    )
    found = read(content.filter(pc.invert(lacking)), ["shape"], model="m")
    assert found.measured.tolist() == [[True, True], [True, False], [True, True]]
    assert np.isnan(found.values[1, 1]).all()


def test_a_prompt_that_is_there_twice_is_refused() -> None:
    content = response_table(VALUES)
    with pytest.raises(SelectionError, match="of 'm' has a head twice for the same prompt"):
        read(pa.concat_tables([content, shuffled(content)]), ["shape"], model="m")


def test_what_is_no_response_table_is_refused() -> None:
    content = response_table(VALUES)
    with pytest.raises(SelectionError, match="no column 'shape'"):
        read(content.drop_columns(["shape"]), ["shape"], model="m")
    with pytest.raises(SelectionError, match="the response table has no rows"):
        read(content.slice(0, 0), ["shape"], model="m")
