from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from scipy import stats

from mindshare.errors import SelectionError
from mindshare.stats import (
    LABELS,
    RESPONSE,
    Resampling,
    Thresholds,
    contrast_conditions,
    label_counts,
    respond,
    summarise_response,
)
from mindshare.table import SCHEMAS

from .insertions import ABOUT, RUN, random_prompts, response_table, tables

QUICK = Resampling(resamples=500)


def drawn(prompts: int = 6, *, seed: int = 0, size: tuple[int, int] = (2, 3)) -> np.ndarray:
    return np.random.default_rng(seed).gamma(4, 0.2, (prompts, 2, *size))


def prompts_turned(content: pa.Table) -> pa.Table:
    ids = content["prompt"].unique().to_pylist()
    return pa.concat_tables([content.filter(pc.equal(content["prompt"], i)) for i in ids[::-1]])


def compare(values: np.ndarray, **options: Any) -> pa.Table:
    content = response_table(values)
    options = {"measures": ["shape"], "options": QUICK} | options
    return contrast_conditions(content, model="m", a="run", b="sentence", **options)


def column(found: pa.Table, name: str) -> np.ndarray:
    return found[name].to_numpy(zero_copy_only=False)


def test_one_row_per_model_condition_head_and_measure() -> None:
    tables_ = {"base": response_table(drawn(6)), "sft": response_table(drawn(4, size=(1, 2)))}
    found = summarise_response(tables_, measures=["shape", "retained"], options=QUICK)
    assert found.schema.equals(SCHEMAS["response_summary"])
    assert found.num_rows == 2 * 6 * 2 + 2 * 2 * 2
    first = found.slice(0, 3).to_pylist()
    keys = ("model", "condition", "layer", "head", "measure", "n_prompts")
    assert [[row[key] for key in keys] for row in first] == [
        ["base", "run", 0, 0, "shape", 6],
        ["base", "run", 0, 0, "retained", 6],
        ["base", "run", 0, 1, "shape", 6],
    ]
    assert found["condition"].to_pylist() == ["run"] * 12 + ["sentence"] * 12 + (
        ["run"] * 4 + ["sentence"] * 4
    )
    assert found["n_prompts"].to_pylist() == [6] * 24 + [4] * 8


def test_the_numbers_are_those_of_the_prompts() -> None:
    values = drawn(10)
    found = summarise_response({"m": response_table(values)}, measures=["shape"], options=QUICK)
    assert column(found, "mean") == pytest.approx(values.mean(0).reshape(-1), rel=1e-6)
    assert column(found, "sd") == pytest.approx(values.std(0, ddof=1).reshape(-1), rel=1e-6)
    assert (column(found, "low") < column(found, "mean")).all()
    assert (column(found, "mean") < column(found, "high")).all()


def test_without_a_choice_every_measure_is_there() -> None:
    found = summarise_response({"m": response_table(drawn(3))}, options=QUICK)
    assert found["measure"].to_pylist()[: len(RESPONSE)] == list(RESPONSE)
    assert found.num_rows == 2 * 6 * len(RESPONSE)


def test_means_over_heads_are_taken_within_each_prompt() -> None:
    values = drawn(8)
    content = {"m": response_table(values)}
    found = summarise_response(content, measures=["shape"], over_heads=True, options=QUICK)
    per_prompt = values.mean(3)
    assert found["layer"].to_pylist() == [0, 1, 0, 1]
    assert found["head"].to_pylist() == [None] * 4
    assert found["label"].to_pylist() == [None] * 4
    assert column(found, "mean") == pytest.approx(per_prompt.mean(0).reshape(-1), rel=1e-6)
    assert column(found, "sd") == pytest.approx(per_prompt.std(0, ddof=1).reshape(-1), rel=1e-6)
    both = summarise_response(
        content, measures=["shape"], over_heads=True, over_layers=True, options=QUICK
    )
    assert both["layer"].to_pylist() == [None, None]
    spread_ = values.mean((2, 3)).std(0, ddof=1)
    assert column(both, "sd") == pytest.approx(spread_, rel=1e-6)


def test_the_label_is_that_of_the_mean_numbers() -> None:
    ones = np.ones((2, 1, 1, 3))
    numbers = {
        "shape": ones * 0.9,
        "peak_ratio": ones,
        "entropy_change": ones * 0,
        # One prompt alone would say amplified or damped; their mean decides.
        "amplitude": np.array([[1.5, 1.1, 0.5], [1.5, 1.2, 0.9]]).reshape(2, 1, 1, 3),
    }
    content = {"m": response_table(ones, conditions=["run"], **numbers)}
    found = summarise_response(content, measures=["retained", "shape"], options=QUICK)
    assert found["label"].to_pylist()[::2] == ["amplified", "unchanged", "damped"]
    assert found["label"].to_pylist()[1::2] == ["amplified", "unchanged", "damped"]
    assert label_counts(found) == {
        "run": dict.fromkeys(LABELS, 0) | {"amplified": 1, "unchanged": 1, "damped": 1}
    }


def test_heads_that_rest_are_in_no_mean_of_ratios() -> None:
    """A ratio of two crumbs, 40, would be the mean of its layer."""
    left = np.array([[0.5, 1e-6], [0.5, 0.03]]).reshape(2, 1, 1, 2)
    amplitude = np.array([[0.9, np.nan], [0.9, 40]]).reshape(2, 1, 1, 2)
    flat = {"shape": np.ones_like(left), "entropy_change": left * 0, "peak_ratio": amplitude}
    content = response_table(
        left, conditions=["run"], amplitude=amplitude, attention_left=left, **flat
    )
    found = summarise_response({"m": content}, measures=["amplitude", "attention_left"])
    assert found["label"].to_pylist() == ["unchanged"] * 2 + ["resting"] * 2
    expected = [0.9, 0.5, np.nan, 0.0150005]
    assert column(found, "mean") == pytest.approx(expected, rel=1e-6, nan_ok=True)
    assert label_counts(found)["run"]["resting"] == 1
    over = summarise_response(
        {"m": content.slice(0, 2)}, measures=["amplitude"], over_heads=True, options=QUICK
    )
    assert over["mean"].to_pylist() == pytest.approx([0.9])


def test_a_summary_says_whether_the_first_token_counts() -> None:
    content = response_table(drawn(3), about=ABOUT | {"mindshare.drop_first": "true"})
    found = summarise_response({"m": content}, measures=["shape"], options=QUICK)
    told = found.schema.field("measure").metadata[b"definition"].decode()
    assert "without the prompt's first token" in told
    between = contrast_conditions(content, model="m", a="run", b="sentence", options=QUICK)
    assert between.schema.field("measure").metadata[b"definition"].decode() == told


def test_the_thresholds_of_the_table_decide() -> None:
    values = np.ones((2, 1, 1, 1)) * 1.5
    same = {"shape": values / 1.5, "entropy_change": values * 0}
    strict = Thresholds(amplitude=2).metadata()
    content = response_table(values, conditions=["run"], about=ABOUT | strict, **same)
    found = summarise_response({"m": content}, measures=["shape"], options=QUICK)
    assert found["label"].to_pylist() == ["unchanged"]
    assert found.schema.metadata[b"mindshare.thresholds"] == strict["mindshare.thresholds"].encode()
    usual = response_table(values, conditions=["run"], **same)
    with pytest.raises(SelectionError, match="labelled by different thresholds"):
        summarise_response({"a": content, "b": usual}, options=QUICK)


def test_labels_are_counted_by_condition_and_model() -> None:
    sequence, places, rescaling = tables(random_prompts(4))
    response = respond(sequence, places, rescaling)
    found = summarise_response({"a": response, "b": response}, options=QUICK)
    counts = label_counts(found)
    assert list(counts) == [RUN, "sentence"]
    assert counts["sentence"] == dict.fromkeys(LABELS, 0) | {"damped": 12}
    assert sum(counts[RUN].values()) == 12
    assert label_counts(found.filter(pc.equal(found["model"], "a")))["sentence"]["damped"] == 6
    assert label_counts(found.slice(0, 0)) == {}
    flat = summarise_response({"a": response}, over_heads=True, options=QUICK)
    assert label_counts(flat)["sentence"] == dict.fromkeys(LABELS, 0)


def test_prompts_without_the_number_are_left_out() -> None:
    values = drawn(4, size=(1, 2))
    values[0, 0, 0, 0] = np.nan
    values[:, 1, 0, 1] = np.nan
    found = summarise_response({"m": response_table(values)}, measures=["shape"], options=QUICK)
    assert found["n_prompts"].to_pylist() == [3, 4, 4, 0]
    assert found["mean"].to_pylist()[3] is None
    assert found["label"].to_pylist()[3] is None


def test_the_table_says_how_it_was_made() -> None:
    content = {"m": response_table(drawn(3))}
    found = summarise_response(content, measures=["shape", "factor"], options=QUICK)
    assert {k.decode(): v.decode() for k, v in found.schema.metadata.items()} == {
        "mindshare.study": "abc",
        "mindshare.measure": "shape, factor",
        "mindshare.interval": "t-widened percentile bootstrap",
        "mindshare.unit": "prompt",
        "mindshare.confidence": "0.95",
        "mindshare.resamples": "500",
        "mindshare.seed": "0",
    }


def test_the_difference_is_b_minus_a_by_prompt() -> None:
    values = drawn(8)
    found = compare(values, measures=["shape", "factor"])
    assert found.schema.equals(SCHEMAS["condition_contrast"])
    assert found["measure"].to_pylist() == ["shape", "factor"] * 6
    assert set(found["condition_a"].to_pylist()) == {"run"}
    assert set(found["condition_b"].to_pylist()) == {"sentence"}
    assert set(found["model"].to_pylist()) == {"m"}
    gap = values[:, 1] - values[:, 0]
    expected = np.repeat(gap.mean(0).reshape(-1), 2)
    assert column(found, "difference") == pytest.approx(expected, rel=1e-5, abs=1e-7)
    means = column(found, "mean_b") - column(found, "mean_a")
    assert means == pytest.approx(column(found, "difference"))
    widths = np.repeat(gap.std(0, ddof=1).reshape(-1), 2)
    assert column(found, "sd") == pytest.approx(widths, rel=1e-5)


def test_a_condition_compared_with_itself_is_exactly_null() -> None:
    content = response_table(drawn(15))
    found = contrast_conditions(content, model="m", a="run", b="run", options=QUICK)
    for name, value in {"difference": 0, "sd": 0, "low": 0, "high": 0, "p_value": 1}.items():
        assert set(found[name].to_pylist()) == {value}, name


def test_conditions_that_do_not_differ_are_null_at_the_stated_rate() -> None:
    values = drawn(20, seed=1, size=(20, 20))
    found = compare(values)
    assert 0.02 < (column(found, "p_value") < 0.05).mean() < 0.09
    assert (column(found, "p_adjusted") < 0.05).sum() <= 2


def test_a_planted_effect_is_found_and_only_that() -> None:
    rng = np.random.default_rng(2)
    values = np.repeat(drawn(40, size=(5, 4))[:, :1], 2, axis=1)
    values[:, 1] += rng.normal(0, 0.01, values[:, 1].shape)
    values[:, 1, 3, 2] += 0.02
    rows = compare(values).to_pylist()
    assert [(r["layer"], r["head"]) for r in rows if r["p_adjusted"] < 0.05] == [(3, 2)]


def test_scipy_finds_the_same_p_value() -> None:
    values = drawn(7, size=(1, 2))
    found = compare(values)
    for i, p in enumerate(found["p_value"].to_pylist()):
        gap = values[:, 1, 0, i] - values[:, 0, 0, i]
        theirs = stats.permutation_test(
            (gap,), np.mean, permutation_type="samples", n_resamples=np.inf
        ).pvalue
        assert p == pytest.approx(theirs)


def test_the_correction_is_over_all_cells_and_measures() -> None:
    found = compare(drawn(9), measures=None)
    assert found.num_rows == 6 * len(RESPONSE)
    theirs = stats.false_discovery_control(column(found, "p_value"))
    assert column(found, "p_adjusted") == pytest.approx(theirs)


def test_groups_are_resampled_and_flipped_as_one() -> None:
    values = np.repeat(drawn(9, size=(1, 2)), 2, axis=0)  # every prompt twice
    groups = {f"p{i:04}": i // 2 for i in range(18)}
    together, single = compare(values, groups=groups), compare(values[::2])
    for name in ("difference", "low", "high", "p_value", "p_family", "detectable"):
        assert column(together, name) == pytest.approx(column(single, name), rel=1e-5), name
    assert together["n_prompts"].to_pylist() == [18, 18]
    assert together["n_groups"].to_pylist() == [9, 9]
    content = {"m": response_table(values)}
    found = summarise_response(content, measures=["shape"], options=QUICK, groups=groups)
    assert set(found["n_groups"].to_pylist()) == {9}
    assert found.schema.metadata[b"mindshare.unit"] == b"group"


def test_a_contrast_of_means_over_heads_and_layers() -> None:
    values = drawn(8)
    found = compare(values, over_heads=True, over_layers=True)
    gap = (values[:, 1] - values[:, 0]).mean((1, 2))
    assert (found["layer"].to_pylist(), found["head"].to_pylist()) == ([None], [None])
    assert column(found, "difference") == pytest.approx([gap.mean()], rel=1e-5)
    assert column(found, "sd") == pytest.approx([gap.std(ddof=1)], rel=1e-5)


def test_a_pair_needs_both_numbers() -> None:
    values = drawn(4, size=(1, 2))
    values[0, 0, 0, 0] = values[1, 1, 0, 0] = np.nan
    values[:, 0, 0, 1] = np.nan
    found = compare(values)
    assert found["n_prompts"].to_pylist() == [2, 0]
    assert found["difference"].to_pylist()[1] is None
    assert found["p_value"].to_pylist()[1] is None
    assert column(found, "mean_a")[0] == pytest.approx(values[2:, 0, 0, 0].mean(), rel=1e-6)


def test_prompts_that_lack_a_condition_are_named() -> None:
    content = response_table(drawn(5))
    lacking = pc.and_(
        pc.equal(content["prompt"], "p0003"), pc.equal(content["condition"], "sentence")
    )
    fewer = content.filter(pc.invert(lacking))
    for a, b in (("run", "sentence"), ("sentence", "run")):
        with pytest.raises(SelectionError, match="1 prompts have 'run' but not 'sentence': p0003"):
            contrast_conditions(fewer, model="m", a=a, b=b, options=QUICK)


def test_what_is_not_there_is_named_with_its_neighbour() -> None:
    content = response_table(drawn(3))
    with pytest.raises(SelectionError, match="did you mean 'sentence'"):
        contrast_conditions(content, model="m", a="run", b="sentense")
    with pytest.raises(SelectionError, match="'without' has no response"):
        contrast_conditions(content, model="m", a="without", b="run")
    with pytest.raises(SelectionError, match="did you mean 'amplitude'"):
        summarise_response({"m": content}, measures=["amplitud"])
    with pytest.raises(SelectionError, match="no measure was named"):
        summarise_response({"m": content}, measures=[])
    with pytest.raises(SelectionError, match="no response table"):
        summarise_response({})


def test_the_same_prompts_in_another_order_give_the_same_bytes() -> None:
    content = response_table(drawn(9))
    written = []
    for one in (content, prompts_turned(content)):
        buffer = io.BytesIO()
        pq.write_table(summarise_response({"m": one}, options=QUICK), buffer)
        pq.write_table(
            contrast_conditions(one, model="m", a="run", b="sentence", options=QUICK), buffer
        )
        written.append(buffer.getvalue())
    assert written[0] == written[1]
