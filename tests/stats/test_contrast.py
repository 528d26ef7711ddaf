from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from mindshare.errors import SelectionError
from mindshare.stats import Resampling, contrast
from mindshare.table import SCHEMAS

from .masses import mass_table, random_table, shuffled

QUICK = Resampling(resamples=1_000)


def compare(a: pa.Table, b: pa.Table, **options: str) -> pa.Table:
    return contrast({"a": a, "b": b}, a="a", b="b", options=QUICK, **options)


def test_the_difference_is_b_minus_a_by_prompt() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.random((8, 2, 1, 2)), rng.random((8, 2, 1, 2))
    found = compare(mass_table(one), mass_table(other))
    gap = (other - one).mean(0).reshape(-1)
    assert found.schema.equals(SCHEMAS["contrast"])
    assert found["difference"].to_pylist() == pytest.approx(gap.tolist(), abs=1e-7)
    means = found["mean_b"].to_numpy() - found["mean_a"].to_numpy()
    assert means == pytest.approx(found["difference"].to_numpy())
    assert found.schema.metadata[b"mindshare.measure"] == b"mass"


def test_a_model_compared_with_itself_is_exactly_null() -> None:
    content = random_table(20, 3, seed=0)
    found = compare(content, shuffled(content))
    for name, value in {"difference": 0, "sd": 0, "low": 0, "high": 0, "p_value": 1}.items():
        assert found[name].to_pylist() == [value] * 6, name
    assert found["p_adjusted"].to_pylist() == found["p_family"].to_pylist() == [1.0] * 6
    assert found["effect"].to_pylist() == [None] * 6
    assert found["detectable"].to_pylist() == [0.0] * 6


def test_a_planted_effect_is_found_and_only_that() -> None:
    rng = np.random.default_rng(1)
    base = rng.gamma(4, 0.01, (50, 20, 1, 2))
    other = base + rng.normal(0, 0.004, base.shape)
    other[:, 7, 0, 1] += 0.004
    found = compare(mass_table(base), mass_table(other)).to_pylist()
    for p in ("p_adjusted", "p_family"):
        strong = [(row["layer"], row["class"]) for row in found if row[p] < 0.05]
        assert strong == [(7, "star")], p


def test_pairing_sees_what_the_means_alone_would_not() -> None:
    rng = np.random.default_rng(2)
    base = rng.normal(1, 1, (30, 1, 1, 2))  # prompts differ a lot
    found = compare(mass_table(base), mass_table(base + 0.05 + rng.normal(0, 0.01, base.shape)))
    assert max(found["p_value"].to_pylist()) < 0.01


def test_groups_are_resampled_and_flipped_as_one() -> None:
    a, b = random_table(20, 2, seed=0), random_table(20, 2, seed=1)
    groups = {f"p{i:04}": f"g{i % 10}" for i in range(20)}
    found = contrast({"a": a, "b": b}, a="a", b="b", options=QUICK, groups=groups)
    alone = compare(a, b)
    assert found["n_groups"].to_pylist() == [10] * 4
    assert found["difference"].to_pylist() == alone["difference"].to_pylist()
    assert found["p_value"].to_pylist() != alone["p_value"].to_pylist()
    assert found.schema.metadata[b"mindshare.unit"] == b"group"


def test_unmatched_prompts_are_named() -> None:
    content = random_table(5, 1, seed=0)
    fewer = content.filter(pc.not_equal(content["prompt"], "p0003"))
    with pytest.raises(SelectionError, match="1 of 5 prompts of 'a' have no partner in 'b': p0003"):
        compare(content, fewer)
    with pytest.raises(SelectionError, match="1 of 5 prompts of 'b' have no partner"):
        compare(fewer, content)


def test_a_layer_that_only_one_model_has_is_named() -> None:
    with pytest.raises(
        SelectionError, match="2 cells of 'b' are not in 'a': class 'hash', layer 1"
    ):
        compare(random_table(3, 1, seed=0), random_table(3, 2, seed=0))


def test_an_unknown_model_is_named_with_its_neighbour() -> None:
    with pytest.raises(SelectionError, match="did you mean 'base'"):
        contrast({"base": random_table(2, 1, seed=0)}, a="bsae", b="base")


def test_a_pair_needs_both_numbers() -> None:
    one, other = np.ones((4, 1, 1, 2)), np.ones((4, 1, 1, 2))
    one[0, 0, 0, 0] = other[1, 0, 0, 0] = np.nan
    one[:, 0, 0, 1] = np.nan
    found = compare(mass_table(one), mass_table(other))
    assert found["n_prompts"].to_pylist() == [2, 0]
    assert found["p_value"].to_pylist() == [1.0, None]
    assert found["difference"].to_pylist() == [0.0, None]


def test_classes_named_in_another_order_are_matched() -> None:
    values = np.random.default_rng(3).random((4, 2, 1, 2))
    turned = mass_table(values[..., ::-1], classes=("star", "hash"))
    assert set(compare(mass_table(values), turned)["difference"].to_pylist()) == {0.0}


def test_the_same_prompts_in_another_order_give_the_same_bytes() -> None:
    a, b = random_table(30, 4, seed=4), random_table(30, 4, seed=5)
    written = []
    for pair in ((a, b), (shuffled(a), shuffled(b, seed=9))):
        buffer = io.BytesIO()
        pq.write_table(compare(*pair), buffer)
        written.append(buffer.getvalue())
    assert written[0] == written[1]
