"""What is planted is found, where and how large it is; noise, few prompts and equals are not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mindshare.facts import Fact, Key, Number, find, sentence
from mindshare.facts.cells import charts_of
from mindshare.facts.find import claims, contrasted, extremes, level, levels, results
from mindshare.stats import RESPONSE, Resampling, contrast, estimate
from mindshare.tables import joined
from tests.stats.insertions import response_table
from tests.stats.masses import mass_table
from tests.stats.test_uses import effects

from .made import Made, class_tables, insertion_tables

RUN, OTHER = "/ ×3", "random sentence"
RESAMPLED = Resampling(resamples=200)


def of(facts: list[Fact], sort: str, /, **subject: Any) -> list[Fact]:
    """Those of a kind whose subject has these parts."""
    return [
        one
        for one in facts
        if one.kind == sort and all(getattr(one.subject, k) == v for k, v in subject.items())
    ]


def found(made: Made, measure: str = "mass") -> list[Fact]:
    return find(class_tables(made, measure))


# Token classes.


@pytest.mark.parametrize("prompts", [1, 2, 5])
def test_a_few_prompts_support_nothing(prompts: int) -> None:
    assert found(Made(prompts=prompts, effect={"star": 0.5}, trend={"hash": 0.5})) == []


@pytest.mark.parametrize(("have", "told"), [(5, False), (12, True)])
def test_a_class_that_few_of_many_prompts_have_supports_nothing(have: int, told: bool) -> None:
    values = np.random.default_rng(0).gamma(40, 0.005, (2, 30, 3, 1, 2))
    values[1, ..., 0] += 0.4
    values[:, have:, ..., 0] = np.nan
    masses = {name: mass_table(v) for name, v in zip("ab", values, strict=True)}
    facts = find({"summary": estimate(masses), "b_minus_a": contrast(masses, a="a", b="b")})
    assert bool(of(facts, "change", token_class="hash")) == told
    assert any(one.subject.token_class == "hash" for one in claims(facts)) == told


@pytest.mark.parametrize("layers", [4, 30])
def test_noise_supports_hardly_anything(layers: int) -> None:
    """But that classes of many tokens get less than their size, which was made so."""
    made = Made(layers=range(layers), noise=0.3, layered=False)
    noisy = [
        [f for f in claims(found(replace(made, seed=seed))) if f.kind != "ignored"]
        for seed in range(20)
    ]
    assert sum(bool(one) for one in noisy) <= 3
    assert not any(of(one, kind) for one in noisy for kind in ("trend", "lead"))


def test_flat_numbers_support_only_that_nothing_differs() -> None:
    flat = found(Made(noise=0.0, layered=False, prompts=20))
    assert {one.kind for one in flat} == {"equivalent"}


def test_a_planted_difference_is_found_where_it_is_with_its_number() -> None:
    tables = class_tables(Made(effect={"star": 0.1}))
    facts = find(tables)
    (one,) = of(facts, "change")
    assert one.subject == Key("mass", "Tuned", token_class="star", against="Base")
    assert (one.side, one.of, len(one.places)) == (1, 4, 4)
    rows = {r["layer"]: r for r in tables["Tuned_minus_Base"].to_pylist() if r["class"] == "star"}
    assert [n.value for n in one.numbers] == [rows[p[0]]["difference"] for p in one.places]
    assert one.farthest[1].value == max(row["difference"] for row in rows.values())
    assert one.tested
    assert all(number.p_family is not None and number.p_family < 0.05 for number in one.numbers)
    assert facts[0] == one  # the most important comes first


def test_each_difference_is_of_one_sort() -> None:
    facts = found(Made(effect={"star": 0.1}, layers=range(8), noise=0.05))
    for kind in ("hash", "star", "space"):
        places = [
            place
            for sort in ("change", "equivalent", "not_significant")
            for one in of(facts, sort, token_class=kind)
            for place in one.places
        ]
        assert sorted(places) == [(layer, None) for layer in range(8)]


def test_a_model_and_itself_differ_by_less_than_a_tenth() -> None:
    facts = found(Made(noise=0.0, prompts=20))
    assert [len(one.places) for one in of(facts, "equivalent")] == [4] * 3
    assert not of(found(Made(noise=0.0)), "equivalent")  # of 12 prompts, one more might differ
    assert not of(facts, "change")


def test_what_is_significant_differs_however_small_it_is() -> None:
    """Under a tenth of the mean: titles of maps and findings count the same cells."""
    tables = class_tables(Made(prompts=24, layered=False, noise=0.001, effect={"star": 0.001}))
    facts = find(tables)
    (one,) = of(facts, "change", token_class="star")
    assert all(number.p_family is not None and number.p_family < 0.05 for number in one.numbers)
    assert all(abs(number.value) < 0.1 * 0.05 for number in one.numbers)
    assert not of(facts, "equivalent", token_class="star")


def test_a_planted_trend_is_found() -> None:
    facts = of(found(Made(layers=range(12), trend={"hash": 0.5})), "trend", token_class="hash")
    assert {one.subject.model for one in facts} == {"Base", "Tuned"}
    assert all(one.side == 1 and one.numbers[0].value > 0.7 for one in facts)
    assert not of(found(Made(layers=range(4), trend={"hash": 0.5})), "trend")  # too few layers


def test_the_highest_and_the_lowest_layer() -> None:
    made = Made(models=("Base",), layers=range(4), noise=0.02, trend={"hash": 0.5})
    (one,) = of(found(made), "extremes", token_class="hash")
    assert one.places[0] == (3, None)
    assert one.rivals[0] == ()
    assert one.numbers[0].value > one.numbers[1].value


def test_the_highest_is_tested_against_the_runner_up() -> None:
    """Two layers that are alike are both higher than the third; neither is the highest."""
    series = {
        (layer, None): Number(x, x - 0.02, x + 0.02, 12, margin_family=0.04)
        for layer, x in enumerate((0.1, 0.505, 0.5))
    }
    (one,) = extremes(Key("mass", "m"), series)
    assert (one.places, one.rivals) == (((1, None), (0, None)), (((2, None),), ()))
    alike = {p: series[p] for p in ((1, None), (2, None))}
    assert list(extremes(Key("mass", "m"), alike)) == []


def test_a_class_of_many_tokens_can_lead_by_their_number() -> None:
    """The third class is expected to get 0.22; it leads with 0.15 here."""
    made = Made(models=("Base",), layered=False, noise=0.02, effect={"space": 0.1})
    facts = found(made)
    (lead,) = of(facts, "lead")
    (one,) = of(facts, "ignored", token_class="space")
    assert one.subject == Key("lift", "Base", token_class="space")
    assert (lead.subject.token_class, len(lead.places), len(one.places)) == ("space", 4, 4)
    assert all(lift.value < 1 for lift in one.numbers)
    assert not of(found(made, "share"), "ignored")  # there is no lift beside a share


def test_heads_are_ranked_by_the_same_rule_as_layers() -> None:
    facts = found(Made(heads=(0, 1, 2), effect={"star": 0.2}, noise=0.02))
    (one,) = of(facts, "change", token_class="star")
    place, number = one.farthest
    assert place[1] is not None
    assert abs(number.value) == max(abs(n.value) for n in one.numbers)
    assert not of(facts, "lead")


# Insertions.


def inserted(made: Made, *conditions: str) -> list[Fact]:
    return find(insertion_tables(made, conditions or ("a1", "b1")))


def test_what_an_insertion_does_is_found() -> None:
    made = Made(models=("m",), layers=range(8), heads=(0, 1), noise=0.01, trend={"x": 0.1})
    facts = inserted(made, "a1")
    (amplitude,) = of(facts, "level", measure="amplitude")
    assert (amplitude.side, amplitude.places) == (1, ((None, None),))
    assert amplitude.numbers[0].value == pytest.approx(1.35, abs=0.02)
    (highest,) = of(facts, "extremes", measure="retained")
    assert highest.places == ((7, None), (0, None))
    (rising,) = of(facts, "trend", measure="retained")
    assert rising.numbers[0].value == pytest.approx(1.0)
    (heads,) = of(facts, "responding")
    assert {layer for layer, _ in heads.places[:2]} == {7}
    (labels,) = of(facts, "labels")
    assert sum(number.value for number in labels.numbers) == labels.of == 16


def test_what_is_inserted_can_matter() -> None:
    (one,) = of(
        inserted(Made(models=("m",), heads=(0, 1), noise=0.01, effect={"x": 1.0})),
        "change",
        measure="weight_evenness",
    )
    assert one.subject == Key("weight_evenness", "m", condition="a1", against="b1")
    assert one.side == -1
    assert one.numbers[0].value == pytest.approx(-0.12, abs=0.02)


def test_models_can_be_told_apart() -> None:
    same = Made(heads=(0, 1), noise=0.01)
    assert not of(inserted(same, "a1"), "models")
    facts = of(inserted(replace(same, effect={"model": 0.2}), "a1"), "models", measure="retained")
    assert [(one.subject.model, one.subject.against) for one in facts] == [("Tuned", "Base")]


@pytest.mark.parametrize("made", [Made(prompts=1, heads=(0, 1)), Made(noise=0.4, heads=(0, 1))])
def test_where_nothing_can_be_told_nothing_is_claimed(made: Made) -> None:
    facts = inserted(made)
    assert claims(facts) == []
    assert {one.kind for one in facts} <= {"labels", "not_significant"}


def noisy(*means: float) -> np.ndarray:
    """[prompt, mean]: numbers of 24 prompts that differ a little and have just these means."""
    off = np.random.default_rng(0).normal(0, 0.01, (24, len(means)))
    centred: np.ndarray = np.asarray(means) + off - off.mean(0)
    return centred


def responses(prompts: int = 6, conditions: tuple[str, ...] = (RUN, OTHER), **numbers: Any) -> Any:
    """The tables of an insertion: so many prompts, 2 layers of 4 heads; numbers broadcast."""
    size = (prompts, len(conditions), 2, 4)
    planted = {name: np.broadcast_to(np.asarray(x, float), size) for name, x in numbers.items()}
    return _tables(response_table(np.ones(size), conditions=conditions, **planted))


def _tables(response: pa.Table) -> dict[str, pa.Table]:
    how = [(), ("heads",), ("heads", "layers")]
    return {"response": response} | {
        name: estimate({"m": response}, RESPONSE, over=over, options=RESAMPLED)
        for name, over in zip(("summary", "by_layer", "overall"), how, strict=True)
    }


def result(tables: dict[str, pa.Table], **asked: Any) -> list[Fact]:
    return results(charts_of(tables)[0], **asked)


def test_each_insertion_has_its_results() -> None:
    facts = result(responses(amplitude=0.5, retained=0.7, affine_r2=0.8))
    kinds = ["level", "retained", "rescaling", "labels"]
    assert [one.kind for one in facts] == kinds * 2
    assert [one.subject.condition for one in facts] == [RUN] * 4 + [OTHER] * 4
    means = [one.numbers[0].value for one in facts[:3]]
    assert means == pytest.approx([0.5, 0.7, 0.8])
    assert facts[2].places == ((None, None), (0, None))


@pytest.mark.parametrize(
    ("ours", "theirs", "kind", "side"),
    [(0.9, 0.6, "change", 1), (0.6, 0.9, "change", -1), (0.7, 0.7, "not_significant", 0)],
)
def test_which_weights_are_more_even(ours: float, theirs: float, kind: str, side: int) -> None:
    evenness = noisy(ours, theirs).reshape(24, 2, 1, 1)
    last = result(responses(24, weight_evenness=evenness), against=OTHER)[-1]
    assert (last.kind, last.side) == (kind, side)
    assert last.numbers[0].value == pytest.approx(ours - theirs, abs=1e-6)


@pytest.mark.parametrize(("prompts", "tested"), [(11, False), (12, True)])
def test_no_difference_is_said_only_where_there_was_a_test(prompts: int, tested: bool) -> None:
    """Means have no margin below 12 prompts: that 1.0 is not left there says nothing."""
    noise = np.random.default_rng(0).normal(1, 0.05, (prompts, 1, 1, 1))
    fact = result(responses(prompts, amplitude=noise))[0]
    assert (fact.kind, fact.side, fact.tested) == ("level", 0, tested)


@pytest.mark.parametrize(("have", "tested"), [(4, False), (11, False), (12, True)])
def test_a_class_too_few_prompts_have_is_not_said_to_have_no_effect(
    have: int, tested: bool
) -> None:
    content = effects([0.1], [0.0], prompts=24)
    tokens = np.arange(24) < have
    place = content.column_names.index("n_tokens")
    rare = content.set_column(place, content.schema.field("n_tokens"), [tokens.astype(np.float32)])
    rare = rare.set_column(rare.column_names.index("class"), "class", [["rare"] * 24])
    both = joined([content, rare])
    facts = find({"summary": estimate({"m": both}, "delta_logprob", options=RESAMPLED)})
    told = {fact.subject.token_class for fact in of(facts, "no_effect")}
    assert told == ({"star", "rare"} if tested else {"star"})


def test_an_accuracy_is_compared_between_models_and_not_told_as_attention() -> None:
    """Where it is high or low says little: that of the whole prompt is not in the table."""
    accuracy = {
        name: effects([0.1, 0.2], [high, 0.1], prompts=30, measure="correct")
        for name, high in (("a", 0.9), ("b", 0.5))
    }
    assert find({"summary": estimate(accuracy, "correct", options=RESAMPLED)}) == []
    content = accuracy["b"].column("correct").to_numpy()[::-1].reshape(-1, 2)[:, ::-1].reshape(-1)
    place = accuracy["b"].column_names.index("correct")
    accuracy["b"] = accuracy["b"].set_column(place, "correct", pa.array(content))
    (one,) = of(find({"b_minus_a": contrast(accuracy, a="a", b="b", measure="correct")}), "change")
    assert (one.side, one.places) == (-1, ((0, 0),))
    assert sentence(one).startswith("The accuracy with star tokens hidden is lower in b than in")


@pytest.mark.parametrize("prompts", [1, 3])
def test_of_few_prompts_nothing_is_claimed_however_far_apart(prompts: int) -> None:
    evenness = np.array([0.9, 0.6]).reshape(1, 2, 1, 1)
    facts = result(responses(prompts, weight_evenness=evenness, amplitude=0.1), against=OTHER)
    assert claims(facts) == []
    level = [fact.side for fact in facts if fact.kind == "level"]
    assert level == ([] if prompts == 1 else [0, 0])  # of one, what is retained says it
    assert facts[-1].kind == "untested"


def test_what_could_have_been_found_is_kept() -> None:
    values = np.random.default_rng(1).normal(0.5, 0.1, (30, 2, 1, 1))
    last = result(responses(30, weight_evenness=values), against=OTHER)[-1]
    assert last.kind == "not_significant"
    assert last.numbers[0].detectable_family is not None


def test_where_there_are_no_numbers_that_is_the_fact() -> None:
    nothing = dict.fromkeys(("retained", "factor", "affine_r2", "weight_evenness"), np.nan)
    facts = result(responses(amplitude=np.nan, shape=np.nan, **nothing), against=OTHER)
    missing = [one.subject.measure for one in facts if one.kind == "missing"]
    assert missing == ["amplitude", "affine_r2"] * 2 + ["weight_evenness"]


def test_heads_are_counted_by_their_label() -> None:
    amplitude = np.full((1, 1, 2, 4), 0.5)
    amplitude[..., 1, 3] = 1.0
    planted: dict[str, Any] = {"shape": 0.99, "entropy_change": 0.0, "peak_ratio": 0.5}
    (labels,) = of(result(responses(conditions=(RUN,), amplitude=amplitude, **planted)), "labels")
    assert {n.label: n.value for n in labels.numbers} == {"damped": 7, "unchanged": 1}


def test_layers_on_both_sides_of_no_change() -> None:
    numbers = charts_of(responses(24, amplitude=noisy(0.5, 1.5).reshape(24, 1, 2, 1)))[0]
    key = Key("amplitude", "m", condition=RUN)
    assert [(one.side, one.places) for one in levels(numbers, key, 1.0)] == [
        *((-1, ((0, None),)), (1, ((1, None),)))
    ]
    overall = level(numbers, key)
    assert overall is not None
    assert overall.side == 0
    assert level(numbers, replace(key, model="nobody")) is None


def test_named_heads_come_with_their_numbers() -> None:
    divergence = np.arange(8).reshape(1, 1, 2, 4) / 10
    top = {"m": [(1, 3), (0, 2)]}
    last = result(responses(divergence=divergence), top=top, by="divergence")[-1]
    assert (last.kind, last.places) == ("top_heads", ((1, 3), (0, 2)))
    assert [n.value for n in last.numbers] == pytest.approx([0.7, 0.2])


def test_one_difference_needs_its_test_and_its_interval() -> None:
    key = Key("mass", "b", token_class="x", against="a")
    known = {"low": 0.1, "high": 0.3, "n_prompts": 12}
    assert contrasted(key, Number(0.2, **known, p_family=0.01)).side == 1
    assert contrasted(key, Number(0.2, **known, p_family=0.2)).kind == "not_significant"
    assert contrasted(key, Number(0.2)).kind == "untested"
