"""One estimate and one contrast for tables of every level: classes, heads, responses."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from scipy import stats

from mindshare.errors import SelectionError
from mindshare.measures import MEASURES
from mindshare.stats import (
    LABELS,
    RESPONSE,
    Resampling,
    Thresholds,
    contrast,
    estimate,
    label_counts,
    ranked,
    respond,
)
from mindshare.stats.matrices import LAYOUTS, Layout
from mindshare.tables import SCHEMAS

from .insertions import ABOUT, RUN, random_prompts, response_table, tables
from .masses import heads_table, mass_table, random_table, shuffled

QUICK = Resampling(resamples=500)
CELLS = 6  # of a table made by MADE

# measure → values[prompt, cell] as a table of its level; of a response, twice the same condition
MADE: dict[str, Callable[[np.ndarray], pa.Table]] = {
    "lift": lambda v: mass_table(v.reshape(len(v), 3, 1, 2)),
    "entropy": lambda v: heads_table(v.reshape(len(v), 2, 3)),
    "shape": lambda v: response_table(v.reshape(len(v), 1, 2, 3), conditions=["run"]),
}
levels = pytest.mark.parametrize("name", MADE)


def drawn(prompts: int, *, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).gamma(4, 0.2, (prompts, CELLS))


def two(name: str, a: np.ndarray, b: np.ndarray) -> dict[str, pa.Table]:
    """The tables of two models, or one of two conditions, to contrast as a and b."""
    if name != "shape":
        return {"a": MADE[name](a), "b": MADE[name](b)}
    values = np.stack([a, b], 1).reshape(len(a), 2, 2, 3)
    return {"m": response_table(values, conditions=["a", "b"])}


def compare(name: str, a: np.ndarray, b: np.ndarray, **given: Any) -> pa.Table:
    return contrast(two(name, a, b), a="a", b="b", measure=name, **{"options": QUICK} | given)


def column(found: pa.Table, name: str) -> np.ndarray:
    return found[name].to_numpy(zero_copy_only=False)


def parquet(*contents: pa.Table) -> bytes:
    buffer = io.BytesIO()
    for content in contents:
        pq.write_table(content, buffer)
    return buffer.getvalue()


# Estimates.


@levels
def test_the_numbers_are_those_of_the_prompts(name: str) -> None:
    values = drawn(10)
    found = estimate({"m": MADE[name](values)}, name, options=QUICK)
    assert found.schema.equals(SCHEMAS["response_summary" if name == "shape" else "summary"])
    assert column(found, "mean") == pytest.approx(values.mean(0), rel=1e-6)
    assert column(found, "sd") == pytest.approx(values.std(0, ddof=1), rel=1e-6)
    assert (column(found, "low") < column(found, "mean")).all()
    assert (column(found, "mean") < column(found, "high")).all()


@levels
def test_models_stand_one_after_another(name: str) -> None:
    tables_ = {"base": MADE[name](drawn(6)), "sft": MADE[name](drawn(4, seed=1))}
    found = estimate(tables_, name, options=QUICK)
    assert found["model"].to_pylist() == ["base"] * CELLS + ["sft"] * CELLS
    assert found["n_prompts"].to_pylist() == [6] * CELLS + [4] * CELLS


@levels
def test_the_table_says_how_it_was_made(name: str) -> None:
    found = estimate({"m": MADE[name](drawn(3))}, name, options=QUICK)
    assert {k.decode(): v.decode() for k, v in found.schema.metadata.items()} == {
        "mindshare.study": "abc",
        "mindshare.measure": name,
        "mindshare.interval": "skewness-widened t interval",
        "mindshare.unit": "prompt",
        "mindshare.confidence": "0.95",
        "mindshare.resamples": "500",
        "mindshare.seed": "0",
        "mindshare.absent": "left_out",
    }


@levels
def test_one_prompt_has_no_interval(name: str) -> None:
    found = estimate({"m": MADE[name](drawn(1))}, name)
    assert found["mean"].null_count == 0
    assert all(found[n].null_count == CELLS for n in ("low", "high", "sd"))


@levels
def test_prompts_without_the_number_are_left_out(name: str) -> None:
    values = drawn(4)
    values[0, 0] = values[:, 5] = np.nan
    found = estimate({"m": MADE[name](values)}, name, options=QUICK)
    assert found["n_prompts"].to_pylist() == [3, 4, 4, 4, 4, 0]
    assert found["mean"].to_pylist()[5] is None


@levels
def test_groups_are_counted_and_named(name: str) -> None:
    content = {"m": MADE[name](drawn(24))}
    groups = {f"p{i:04}": i // 3 for i in range(24)}
    alone, together = (estimate(content, name, options=QUICK, groups=g) for g in (None, groups))
    assert set(together["n_prompts"].to_pylist()) == {24}
    assert set(together["n_groups"].to_pylist()) == {8}
    assert set(alone["n_groups"].to_pylist()) == {24}
    assert together["mean"].to_pylist() == alone["mean"].to_pylist()
    assert together["low"].to_pylist() != alone["low"].to_pylist()
    assert together.schema.metadata[b"mindshare.unit"] == b"group"
    with pytest.raises(SelectionError, match="24 of 24 prompts have no group"):
        estimate(content, name, groups={})


@levels
def test_the_same_prompts_in_another_order_give_the_same_bytes(name: str) -> None:
    both = two(name, drawn(30), drawn(30, seed=1))
    turned = {model: shuffled(one, seed=i) for i, (model, one) in enumerate(both.items())}
    one, other = (
        parquet(
            estimate(given, name, options=QUICK),
            contrast(given, a="a", b="b", measure=name, options=QUICK),
        )
        for given in (both, turned)
    )
    assert one == other


def test_a_class_that_is_absent_from_a_prompt_is_left_out_unless_it_is_to_be_0() -> None:
    mass = random_table(24, 1, seed=0)
    tokens = [0.0 if i % 4 == 0 else 1.0 for i in range(mass.num_rows)]  # hash, in every other
    numbers = [0.0 if n == 0 else x for n, x in zip(tokens, mass["mass"].to_pylist(), strict=True)]
    for name, column in {"n_tokens": tokens, "mass": numbers}.items():
        place = mass.column_names.index(name)
        mass = mass.set_column(place, mass.schema.field(name), [np.array(column, np.float32)])
    hash_, star = estimate({"m": mass}).to_pylist()
    zero, _ = estimate({"m": mass}, options=Resampling(absent="zero")).to_pylist()
    assert (hash_["n_prompts"], hash_["n_absent"]) == (12, 12)
    assert (star["n_prompts"], star["n_absent"]) == (24, 0)
    assert (zero["n_prompts"], zero["n_absent"]) == (24, 0)
    assert hash_["mean"] == pytest.approx(2 * zero["mean"])
    assert not hash_["reliable"]


def test_no_table_and_nothing_to_measure_are_refused() -> None:
    with pytest.raises(SelectionError, match="no mass table"):
        estimate({})
    with pytest.raises(SelectionError, match="no response table"):
        estimate({}, RESPONSE)
    content = {"m": response_table(drawn(3).reshape(3, 1, 2, 3), conditions=["run"])}
    with pytest.raises(SelectionError, match="did you mean 'amplitude'"):
        estimate(content, ["amplitud"])
    with pytest.raises(SelectionError, match="no measure was named"):
        estimate(content, [])


def test_what_can_not_be_averaged_is_refused() -> None:
    content = {"m": random_table(3, 2, seed=0)}
    with pytest.raises(SelectionError, match="ratios of masses can't be averaged"):
        estimate(content, "lift", over=["heads"])
    with pytest.raises(SelectionError, match="mass, lift are too many"):
        estimate(content, ["mass", "lift"])
    with pytest.raises(SelectionError, match="can't average over 'head'"):
        estimate(content, "entropy", over=["head"])


# Contrasts.


@levels
def test_the_difference_is_b_minus_a_by_prompt(name: str) -> None:
    a, b = drawn(8), drawn(8, seed=1)
    found = compare(name, a, b)
    what, kind = ("condition", "condition_contrast") if name == "shape" else ("model", "contrast")
    assert found.schema.equals(SCHEMAS[kind])
    assert set(found[f"{what}_a"].to_pylist()) == {"a"}
    assert set(found[f"{what}_b"].to_pylist()) == {"b"}
    assert column(found, "difference") == pytest.approx((b - a).mean(0), rel=1e-5, abs=1e-7)
    assert column(found, "sd") == pytest.approx((b - a).std(0, ddof=1), rel=1e-5)
    means = column(found, "mean_b") - column(found, "mean_a")
    assert means == pytest.approx(column(found, "difference"))
    assert found.schema.metadata[b"mindshare.measure"] == name.encode()


@levels
def test_what_is_compared_with_itself_is_exactly_null(name: str) -> None:
    found = compare(name, drawn(20), drawn(20))
    for one in ("difference", "sd"):
        assert found[one].to_pylist() == [0] * CELLS, one
    for one in ("low", "high", "p_value", "p_adjusted", "p_family", "effect", "detectable"):
        assert found[one].to_pylist() == [None] * CELLS, one


@levels
def test_a_planted_effect_is_found_and_only_that(name: str) -> None:
    a = drawn(40)
    b = a + np.random.default_rng(2).normal(0, 0.01, a.shape)
    b[:, 4] += 0.02
    found = compare(name, a, b)
    for p in ("p_adjusted", "p_family"):
        assert np.flatnonzero(column(found, p) < 0.05).tolist() == [4], p


@levels
def test_scipy_finds_the_same_p_values(name: str) -> None:
    a, b = drawn(7), drawn(7, seed=1)
    found = compare(name, a, b)
    assert (column(found, "p_value") >= stats.ttest_1samp(b - a, 0).pvalue - 1e-6).all()
    adjusted = stats.false_discovery_control(column(found, "p_value"))
    assert column(found, "p_adjusted") == pytest.approx(adjusted)


def test_pairing_sees_what_the_means_alone_would_not() -> None:
    rng = np.random.default_rng(2)
    base = rng.normal(1, 1, (30, CELLS))  # prompts differ a lot
    found = compare("lift", base, base + 0.05 + rng.normal(0, 0.01, base.shape))
    assert max(found["p_value"].to_pylist()) < 0.01


@levels
def test_groups_are_resampled_and_flipped_as_one(name: str) -> None:
    a, b = (np.repeat(drawn(30, seed=i), 2, axis=0) for i in (0, 1))  # every prompt twice
    groups = {f"p{i:04}": i // 2 for i in range(60)}
    together, single = compare(name, a, b, groups=groups), compare(name, a[::2], b[::2])
    for one in ("difference", "low", "high", "p_value", "p_family", "detectable"):
        assert column(together, one) == pytest.approx(column(single, one), rel=1e-5), one
    assert set(together["n_prompts"].to_pylist()) == {60}
    assert set(together["n_groups"].to_pylist()) == {30}
    assert together.schema.metadata[b"mindshare.unit"] == b"group"


@levels
def test_a_pair_says_how_many_prompts_were_left_out(name: str) -> None:
    a, b = drawn(24), drawn(24, seed=1)
    a[:4, 0] = b[3:7, 0] = np.nan
    found = compare(name, a, b)
    assert found["n_prompts"].to_pylist() == [17] + [24] * 5
    assert found["n_absent"].to_pylist() == [7] + [0] * 5


def test_prompts_that_lack_a_class_do_not_halve_its_change() -> None:
    """Half of the prompts have no token of it, and a mass of 0 in both models."""
    rng = np.random.default_rng(0)
    values = {"a": rng.beta(4, 16, (60, 1, 1, 1))}
    values["b"] = values["a"] + rng.normal(0.32, 0.06, (60, 1, 1, 1))
    masses = {}
    for name, of_all in values.items():
        of_all[::2] = 0.0
        content = mass_table(of_all, classes=["map"])
        place = content.column_names.index("n_tokens")
        tokens = [np.tile([0.0, 3.0], 30).astype(np.float32)]
        masses[name] = content.set_column(place, content.schema.field("n_tokens"), tokens)
    there = float((values["b"] - values["a"])[1::2].mean())
    (row,) = contrast(masses, a="a", b="b", options=QUICK).to_pylist()
    assert (row["n_prompts"], row["n_absent"]) == (30, 30)
    assert row["difference"] == pytest.approx(there, rel=1e-5)
    assert row["effect"] > 4
    (zero,) = contrast(masses, a="a", b="b", options=replace(QUICK, absent="zero")).to_pylist()
    assert (zero["n_prompts"], zero["n_absent"]) == (60, 0)
    assert zero["difference"] == pytest.approx(there / 2, rel=1e-5)
    assert zero["effect"] < 1.1


@levels
def test_a_pair_needs_both_numbers(name: str) -> None:
    a, b = drawn(4), drawn(4, seed=1)
    a[0, 0] = b[1, 0] = np.nan
    a[:, 1] = np.nan
    found = compare(name, a, b)
    assert found["n_prompts"].to_pylist() == [2, 0, 4, 4, 4, 4]
    assert found["difference"].to_pylist()[1] is None
    assert found["p_value"].to_pylist()[1] is None
    assert column(found, "mean_a")[0] == pytest.approx(a[2:, 0].mean(), rel=1e-6)


def test_unmatched_prompts_are_named() -> None:
    content = random_table(5, 1, seed=0)
    fewer = content.filter(pc.not_equal(content["prompt"], "p0003"))
    with pytest.raises(SelectionError, match="1 of 5 prompts of 'a' have no partner in 'b': p0003"):
        contrast({"a": content, "b": fewer}, a="a", b="b")
    with pytest.raises(SelectionError, match="1 of 5 prompts of 'b' have no partner"):
        contrast({"a": fewer, "b": content}, a="a", b="b")
    response = response_table(np.ones((5, 2, 1, 1)))
    lacking = pc.and_(
        pc.equal(response["prompt"], "p0003"), pc.equal(response["condition"], "sentence")
    )
    fewer = response.filter(pc.invert(lacking))
    for a, b in (("run", "sentence"), ("sentence", "run")):
        with pytest.raises(SelectionError, match="1 prompts have 'run' but not 'sentence': p0003"):
            contrast({"m": fewer}, a=a, b=b, measure=RESPONSE, options=QUICK)


def test_a_layer_that_only_one_model_has_is_named() -> None:
    both = {"a": random_table(3, 1, seed=0), "b": random_table(3, 2, seed=0)}
    with pytest.raises(
        SelectionError, match="2 cells of 'b' are not in 'a': class 'hash', head mean, layer 1"
    ):
        contrast(both, a="a", b="b")


def test_what_is_not_there_is_named_with_its_neighbour() -> None:
    with pytest.raises(SelectionError, match="did you mean 'base'"):
        contrast({"base": random_table(2, 1, seed=0)}, a="bsae", b="base")
    content = response_table(np.ones((3, 2, 1, 1)))
    with pytest.raises(SelectionError, match="did you mean 'sentence'"):
        contrast({"m": content}, a="run", b="sentense", measure="shape")
    with pytest.raises(SelectionError, match="'without' has no response"):
        contrast({"m": content}, a="without", b="run", measure="shape")
    with pytest.raises(SelectionError, match="within one model, not in m, n"):
        contrast({"m": content, "n": content}, a="run", b="sentence", measure="shape")


def test_classes_named_in_another_order_are_matched() -> None:
    values = np.random.default_rng(3).random((4, 2, 1, 2))
    turned = mass_table(values[..., ::-1], classes=("star", "hash"))
    found = contrast({"a": mass_table(values), "b": turned}, a="a", b="b", options=QUICK)
    assert set(found["difference"].to_pylist()) == {0.0}


# Responses: several measures at once, means over heads, labels.


def responses(prompts: int, **given: Any) -> pa.Table:
    values = np.random.default_rng(0).gamma(4, 0.2, (prompts, 2, 2, 3))
    return response_table(values, **given)


def test_one_row_per_condition_head_and_measure() -> None:
    found = estimate({"m": responses(6)}, ["shape", "retained"], options=QUICK).to_pylist()
    keys = ("condition", "layer", "head", "measure", "n_prompts")
    assert [[row[key] for key in keys] for row in found[:3]] == [
        ["run", 0, 0, "shape", 6],
        ["run", 0, 0, "retained", 6],
        ["run", 0, 1, "shape", 6],
    ]
    assert [row["condition"] for row in found] == ["run"] * 12 + ["sentence"] * 12
    every = estimate({"m": responses(3)}, RESPONSE, options=QUICK)
    assert every["measure"].to_pylist() == list(RESPONSE) * 12
    between = contrast({"m": responses(9)}, a="run", b="sentence", measure=RESPONSE, options=QUICK)
    assert between["measure"].to_pylist() == list(RESPONSE) * 6
    assert set(between["model"].to_pylist()) == {"m"}


def test_means_over_heads_are_taken_within_each_prompt() -> None:
    values = np.random.default_rng(0).gamma(4, 0.2, (8, 2, 2, 3))
    content = {"m": response_table(values)}
    found = estimate(content, "shape", over=["heads"], options=QUICK)
    per_prompt = values.mean(3)
    assert found["layer"].to_pylist() == [0, 1, 0, 1]
    assert found["head"].to_pylist() == found["label"].to_pylist() == [None] * 4
    assert column(found, "mean") == pytest.approx(per_prompt.mean(0).reshape(-1), rel=1e-6)
    assert column(found, "sd") == pytest.approx(per_prompt.std(0, ddof=1).reshape(-1), rel=1e-6)
    both: dict[str, Any] = {"over": ["heads", "layers"], "options": QUICK}
    whole = estimate(content, "shape", **both)
    assert whole["layer"].to_pylist() == [None, None]
    assert column(whole, "sd") == pytest.approx(values.mean((2, 3)).std(0, ddof=1), rel=1e-6)
    gap = (values[:, 1] - values[:, 0]).mean((1, 2))
    between = contrast(content, a="run", b="sentence", measure="shape", **both)
    assert (between["layer"].to_pylist(), between["head"].to_pylist()) == ([None], [None])
    assert column(between, "difference") == pytest.approx([gap.mean()], rel=1e-5)
    assert column(between, "sd") == pytest.approx([gap.std(ddof=1)], rel=1e-5)


def test_heads_are_averaged_as_responses_are() -> None:
    values = drawn(8).reshape(8, 2, 3)
    found = estimate({"m": heads_table(values)}, "entropy", over=["heads"], options=QUICK)
    assert (found["layer"].to_pylist(), found["head"].to_pylist()) == ([0, 1], [None, None])
    assert column(found, "sd") == pytest.approx(values.mean(2).std(0, ddof=1), rel=1e-6)


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
    found = estimate(content, ["retained", "shape"], options=QUICK)
    assert found["label"].to_pylist()[::2] == ["amplified", "unchanged", "damped"]
    assert found["label"].to_pylist()[1::2] == ["amplified", "unchanged", "damped"]
    assert label_counts(found) == {
        "run": dict.fromkeys(LABELS, 0) | {"amplified": 1, "unchanged": 1, "damped": 1}
    }


@pytest.mark.parametrize(
    ("prompts", "have", "word"), [(12, 5, None), (12, 6, "damped"), (5, 5, "damped")]
)
def test_a_few_of_many_prompts_give_a_head_no_label(
    prompts: int, have: int, word: str | None
) -> None:
    ones = np.ones((prompts, 1, 1, 1))
    shape = ones * 0.9
    shape[have:] = np.nan
    content = response_table(
        ones, conditions=["run"], shape=shape, entropy_change=ones * 0, amplitude=ones * 0.5
    )
    assert estimate({"m": content}, "shape", options=QUICK)["label"].to_pylist() == [word]


def test_resting_heads_are_in_no_mean_of_ratios() -> None:
    """A ratio of two crumbs, 40, would be the mean of its layer."""
    left = np.array([[0.5, 1e-6], [0.5, 0.03]]).reshape(2, 1, 1, 2)
    amplitude = np.array([[0.9, np.nan], [0.9, 40]]).reshape(2, 1, 1, 2)
    flat = {"shape": np.ones_like(left), "entropy_change": left * 0, "peak_ratio": amplitude}
    content = response_table(
        left, conditions=["run"], amplitude=amplitude, attention_left=left, **flat
    )
    found = estimate({"m": content}, ["amplitude", "attention_left"])
    assert found["label"].to_pylist() == ["unchanged"] * 2 + ["resting"] * 2
    expected = [0.9, 0.5, np.nan, 0.0150005]
    assert column(found, "mean") == pytest.approx(expected, rel=1e-6, nan_ok=True)
    assert label_counts(found)["run"]["resting"] == 1
    over = estimate({"m": content.slice(0, 2)}, "amplitude", over=["heads"], options=QUICK)
    assert over["mean"].to_pylist() == pytest.approx([0.9])


def test_a_summary_says_whether_the_first_token_counts() -> None:
    content = responses(3, about=ABOUT | {"mindshare.drop_first": "true"})
    found = estimate({"m": content}, "shape", options=QUICK)
    told = found.schema.field("measure").metadata[b"definition"].decode()
    assert "without the prompt's first token" in told
    between = contrast({"m": content}, a="run", b="sentence", measure=RESPONSE, options=QUICK)
    assert between.schema.field("measure").metadata[b"definition"].decode() == told


def test_the_thresholds_of_the_table_decide() -> None:
    values = np.ones((2, 1, 1, 1)) * 1.5
    same = {"shape": values / 1.5, "entropy_change": values * 0}
    strict = Thresholds(amplitude=2).metadata()
    content = response_table(values, conditions=["run"], about=ABOUT | strict, **same)
    found = estimate({"m": content}, "shape", options=QUICK)
    assert found["label"].to_pylist() == ["unchanged"]
    assert found.schema.metadata[b"mindshare.thresholds"] == strict["mindshare.thresholds"].encode()
    usual = response_table(values, conditions=["run"], **same)
    with pytest.raises(SelectionError, match="labelled by different thresholds"):
        estimate({"a": content, "b": usual}, RESPONSE, options=QUICK)


def test_labels_are_counted_by_condition_and_model() -> None:
    response = respond(*tables(random_prompts(4)))
    found = estimate({"a": response, "b": response}, RESPONSE, options=QUICK)
    counts = label_counts(found)
    assert list(counts) == [RUN, "sentence"]
    assert counts["sentence"] == dict.fromkeys(LABELS, 0) | {"damped": 12}
    assert sum(counts[RUN].values()) == 12
    assert label_counts(found.filter(pc.equal(found["model"], "a")))["sentence"]["damped"] == 6
    assert label_counts(found.slice(0, 0)) == {}
    flat = estimate({"a": response}, RESPONSE, over=["heads"], options=QUICK)
    assert label_counts(flat)["sentence"] == dict.fromkeys(LABELS, 0)


def test_a_row_per_prompt_and_intervention_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table without layers and heads goes the same way."""
    change = replace(MEASURES["amplitude"], name="logit_change", level="intervention")
    monkeypatch.setitem(MEASURES, change.name, change)
    monkeypatch.setitem(LAYOUTS, "intervention", Layout("interventions", (), "condition"))
    values = drawn(9)[:, :2]
    content = pa.table(
        {
            "prompt": np.repeat([f"p{i}" for i in range(9)], 2),
            "condition": ["without", "knocked out"] * 9,
            "logit_change": values.reshape(-1),
        }
    )
    found = estimate({"m": content}, "logit_change", options=QUICK)
    assert found["condition"].to_pylist() == ["without", "knocked out"]
    assert column(found, "mean") == pytest.approx(values.mean(0))
    between = contrast({"m": content}, a="without", b="knocked out", measure="logit_change")
    gap = values[:, 1] - values[:, 0]
    assert column(between, "difference") == pytest.approx([gap.mean()])
    assert between["layer"].to_pylist() == [None]


# Ranks.


def compared() -> pa.Table:
    """Layer 2 has the largest effect, layer 0 the largest difference, layer 3 none at all."""
    rng = np.random.default_rng(0)
    base = rng.normal(0, 1, (40, 4, 1, 1))
    size = np.array([1.0, 0.1, 0.1, 0.0]).reshape(4, 1, 1)
    shift = np.array([0.6, 0.0, -0.3, 0.0]).reshape(4, 1, 1)
    other = base + rng.normal(0, 1, base.shape) * size + shift
    masses = {name: mass_table(v, classes=["hash"]) for name, v in (("a", base), ("b", other))}
    return contrast(masses, a="a", b="b", options=QUICK)


def test_the_largest_come_first_whichever_their_sign() -> None:
    """A large effect of a small difference does not lead, unless that is asked for."""
    found = ranked(compared())
    assert found["layer"].to_pylist() == [0, 2, 1, 3]
    assert found["rank"].to_pylist() == [1, 2, 3, 4]
    found = ranked(compared(), by="effect")
    assert found["layer"].to_pylist() == [2, 0, 1, 3]
    assert found["rank"].to_pylist() == [1, 2, 3, None]
    assert found["effect"].to_pylist()[0] < 0
    sizes = np.abs(column(ranked(compare("shape", drawn(9), drawn(9, seed=1))), "difference"))
    assert (np.diff(sizes) <= 0).all()


def test_what_too_few_prompts_have_comes_behind_what_was_tested() -> None:
    values = np.random.default_rng(4).normal(0, 0.01, (12, 2, 1, 1))
    values[4:, 0] = np.nan  # four prompts have the first cell
    values[:, 0] += 0.5
    masses = {"a": mass_table(np.zeros_like(values), classes=["hash"]),
              "b": mass_table(values, classes=["hash"])}  # fmt: skip
    found = ranked(contrast(masses, a="a", b="b", options=QUICK))
    assert found["layer"].to_pylist() == [1, 0]
    assert found["p_family"].to_pylist()[1] is None


def test_every_row_keeps_its_numbers_and_the_correction_is_stated() -> None:
    content = compared()
    found = ranked(content)
    assert found.drop_columns(["rank"]).sort_by("layer").equals(content.sort_by("layer"))
    about = content.schema.metadata | {
        b"mindshare.ranked_by": b"difference",
        b"mindshare.correction": b"p_family over 4 cells",
    }
    assert found.schema.metadata == about
    first = ranked(compared(), most=1)
    assert first["layer"].to_pylist() == [0]
    assert first.schema.metadata == about


def test_what_cannot_be_ranked_is_refused() -> None:
    with pytest.raises(SelectionError, match="did you mean 'effect'"):
        ranked(compared(), by="effects")
    with pytest.raises(SelectionError, match="no column 'difference'"):
        ranked(random_table(2, 1, seed=0))
