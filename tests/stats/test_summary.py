from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mindshare.errors import SelectionError
from mindshare.stats import Resampling, summarise
from mindshare.table import SCHEMAS

from .masses import mass_table, random_table, shuffled

QUICK = Resampling(resamples=500)


def parquet(content: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(content, buffer)
    return buffer.getvalue()


def test_one_row_per_model_and_cell() -> None:
    masses = {"base": random_table(6, 3, seed=0), "sft": random_table(4, 3, seed=1)}
    found = summarise(masses, options=QUICK)
    assert found.schema.equals(SCHEMAS["summary"])
    assert found.num_rows == 2 * 3 * 2
    assert found["model"].unique().to_pylist() == ["base", "sft"]
    assert found["n_prompts"].to_pylist() == [6] * 6 + [4] * 6
    assert found["class"].to_pylist()[:2] == ["hash", "star"]


def test_the_numbers_are_those_of_the_prompts() -> None:
    values = np.random.default_rng(0).random((10, 2, 1, 2))
    found = summarise({"m": mass_table(values)}, options=QUICK)
    assert found["mean"].to_pylist() == pytest.approx(values.mean(0).reshape(-1).tolist())
    low, mean, high = (found[name].to_numpy() for name in ("low", "mean", "high"))
    assert (low < mean).all()
    assert (mean < high).all()


def test_the_table_says_how_it_was_made() -> None:
    found = summarise({"m": random_table(3, 1, seed=0)}, measure="lift", options=QUICK)
    about = {k.decode(): v.decode() for k, v in found.schema.metadata.items()}
    assert about == {
        "mindshare.study": "abc",
        "mindshare.measure": "lift",
        "mindshare.interval": "t-widened percentile bootstrap",
        "mindshare.unit": "prompt",
        "mindshare.confidence": "0.95",
        "mindshare.resamples": "500",
        "mindshare.seed": "0",
    }


def test_one_prompt_has_no_interval() -> None:
    found = summarise({"m": random_table(1, 2, seed=0)})
    assert found["mean"].null_count == 0
    assert found["low"].null_count == found["high"].null_count == found["sd"].null_count == 4


def test_prompts_without_the_class_are_left_out() -> None:
    values = np.ones((3, 1, 1, 2))
    values[0, 0, 0, 0] = np.nan
    found = summarise({"m": mass_table(values)}, measure="share", options=QUICK)
    assert found["n_prompts"].to_pylist() == [2, 3]


def test_the_same_prompts_in_another_order_give_the_same_bytes() -> None:
    content = random_table(40, 5, seed=3)
    one, other = (summarise({"m": t}, options=QUICK) for t in (content, shuffled(content)))
    assert parquet(one) == parquet(other)


def test_groups_are_counted_and_named() -> None:
    content = random_table(24, 2, seed=0)
    groups = {f"p{i:04}": i // 3 for i in range(24)}
    alone, together = (summarise({"m": content}, options=QUICK, groups=g) for g in (None, groups))
    assert together["n_prompts"].to_pylist() == [24] * 4
    assert together["n_groups"].to_pylist() == [8] * 4
    assert alone["n_groups"].to_pylist() == [24] * 4
    assert together["mean"].to_pylist() == alone["mean"].to_pylist()
    assert together["low"].to_pylist() != alone["low"].to_pylist()
    assert together.schema.metadata[b"mindshare.unit"] == b"group"
    with pytest.raises(SelectionError, match="24 of 24 prompts have no group"):
        summarise({"m": content}, groups={})


def test_the_kind_of_interval_is_chosen_and_said() -> None:
    content = random_table(24, 2, seed=0)
    found = summarise({"m": content}, options=Resampling(resamples=500, interval="bca"))
    assert found.schema.metadata[b"mindshare.interval"] == b"BCa bootstrap"
    usual = summarise({"m": content}, options=QUICK)
    assert found["low"].to_pylist() != usual["low"].to_pylist()


def test_no_table_and_no_such_measure_are_refused() -> None:
    with pytest.raises(SelectionError, match="no mass table"):
        summarise({})
    with pytest.raises(SelectionError, match="unknown measure 'entropy'"):
        summarise({"m": random_table(2, 1, seed=0)}, measure="entropy")
