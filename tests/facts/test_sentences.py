"""Sentences are short, state little, and carry every number they state."""

from __future__ import annotations

import json
import pickle
import random

import numpy as np
import pyarrow as pa
import pytest

from mindshare.facts import Fact, Key, Number, Sentence, find, sentence
from mindshare.facts.cells import charts_of
from mindshare.facts.find import largest_effects, results
from mindshare.facts.sentences import FORMS
from mindshare.facts.words import decimals, name, value, where, wheres, written
from mindshare.stats import contrast, estimate
from tests.stats.test_uses import effects

from .made import Made, awkward, class_tables, insertion_tables
from .reading import is_carried, looked_up, stated, told

OVERALL = (None, None)


def together(*, lost: list[float]) -> dict[str, pa.Table]:
    """Knock-outs of two heads together, in as many models as losses."""
    about = {"mindshare.definition": json.dumps({"places": [[17, 4], [18, 6]], "each": False})}
    models = {}
    for i, loss in enumerate(lost):
        content = effects([0.1], [loss], prompts=30).replace_schema_metadata(about)
        for axis in ("layer", "head"):
            place, field = content.column_names.index(axis), content.schema.field(axis)
            content = content.set_column(place, field, pa.nulls(content.num_rows, field.type))
        # the same noise, of other prompts: models do not move alike
        noisy = np.roll(content["delta_logprob"].to_numpy(), i).astype(np.float32)
        place = content.column_names.index("delta_logprob")
        models[f"m{i}"] = content.set_column(place, content.schema.field(place), pa.array(noisy))
    first, *others = models
    pairs = {
        f"{other}_minus_{first}": contrast(models, a=first, b=other, measure="delta_logprob")
        for other in others
    }
    return {"summary": estimate(models, "delta_logprob"), **pairs}


def every_fact() -> list[Fact]:
    classes = [
        class_tables(Made(layers=range(12), effect={"star": 0.1}, trend={"hash": 0.5})),
        class_tables(Made(layers=range(30), noise=0.3, seed=4, effect={"space": 0.2})),
        class_tables(Made(heads=range(6), effect={"star": 0.1}), "share"),
        class_tables(Made(prompts=24, layered=False, noise=0.02, effect={"space": 0.1})),
    ]
    runs = [
        Made(layers=range(8), heads=(0, 1), noise=0.01, trend={"x": 0.1}),
        Made(heads=(0, 1), noise=0.01, effect={"model": 0.2}),
        Made(models=("m",), prompts=3, heads=(0, 1)),
        Made(models=("m",), heads=(0, 1), noise=0.3),
    ]
    insertions = [insertion_tables(made, ("/ ×55", "random sentence")) for made in runs]
    knocked_out = [
        {"summary": estimate({"m": effects(mass, lost, prompts=30)}, "delta_logprob")}
        for mass, lost in (([0.1, 0.2], [-1.0, -0.5]), ([0.1], [0.0]))
    ]
    every = (*classes, *insertions, *knocked_out)
    found = [fact for tables in every for fact in find(tables)]
    for n, lost in ((1, [-1.0, -0.5]), (2, [0.3, 0.2])):
        few = estimate({"m": effects([0.1, 0.2], lost, prompts=n)}, "delta_logprob")
        found += largest_effects(charts_of({"summary": few})[0])
    for tables in insertions:
        numbers = charts_of(tables)[0]
        top = {numbers.models[0]: [(0, 0), (1, 1)]}
        found += results(numbers, against="random sentence", top=top)
    return found


@pytest.fixture(scope="module")
def facts() -> list[Fact]:
    return every_fact()


def test_every_form_is_said(facts: list[Fact]) -> None:
    assert {one.kind for one in facts} >= set(FORMS) - {"levels", "missing"}


def test_sentences_are_short_and_state_at_most_two_numbers_and_an_interval(
    facts: list[Fact],
) -> None:
    for fact in facts:
        said = sentence(fact, several=True)
        words, numbers = told(said)
        assert words <= 30, said
        assert numbers <= 3, said
        assert said.count("[") <= 1, said
        assert "_" not in said, said  # no names of columns
        assert said.endswith(".")


def test_every_number_that_is_stated_is_carried(facts: list[Fact]) -> None:
    for fact in facts:
        said = sentence(fact)
        assert [word for word in stated(said) if not is_carried(word, said)] == [], said
        if fact.kind != "labels":
            assert all(number in fact.numbers for number in said.numbers)
        assert all(number.cell is not None for number in said.numbers)


def test_a_claim_is_worded_by_its_side(facts: list[Fact]) -> None:
    for fact in facts:
        said = sentence(fact)
        if fact.kind == "change":
            words = (
                ("more ", "higher ", "larger ") if fact.side > 0 else ("less ", "low", "smaller ")
            )
            assert any(word in said for word in words), said
        if fact.kind == "not_significant":
            assert "not differ significantly" in said


def test_the_model_is_named_where_there_are_several() -> None:
    number = Number(0.5, 0.4, 0.6, 12)
    fact = Fact("retained", Key("retained", "tiny", condition="x"), 0, (OVERALL,), (number,), 1)
    assert sentence(fact, several=True).startswith("tiny: ")
    assert "tiny" not in sentence(fact)


def test_a_mean_that_is_not_significant_after_correction_says_so() -> None:
    key = Key("amplitude", "m", condition="x")
    near = Fact("level", key, 0, (OVERALL,), (Number(0.98, 0.96, 0.99, 12),), 1, tested=True)
    assert "after correction; uncorrected: 0.98" in sentence(near)
    over = Fact("level", key, 0, (OVERALL,), (Number(0.98, 0.96, 1.01, 12),), 1, tested=True)
    assert "correction" not in sentence(over)


def test_heads_that_were_hidden_together_are_named() -> None:
    facts = find(together(lost=[-1.0, -0.5, -1.00003])) + find(together(lost=[0.0, 1e-5]))
    assert {fact.kind for fact in facts} >= {"effect", "no_effect", "change", "not_significant"}
    for fact in facts:
        said = sentence(fact, several=True)
        words, numbers = told(said)
        assert words <= 30, said
        assert numbers <= 3, said
        assert all(is_carried(word, said) for word in stated(said)), said
        assert "heads L17H4 and L18H6 together" in said
        assert "all layers" not in said


@pytest.mark.parametrize("measure", ["mass", "share", "density", "lift", "expected"])
def test_a_class_leads_by_what_was_measured(measure: str) -> None:
    key = Key(measure, "m", token_class="star")
    numbers = (Number(0.5, 0.4, 0.6, 12), Number(0.4, 0.3, 0.5, 12))
    at = ((0, None), (1, None))
    said = sentence(Fact("lead", key, 1, at, numbers, 4, tested=True, among=("star", "hash")))
    assert ("per token" in said) == (measure in ("density", "lift"))
    assert ("the most attention" in said) == (measure in ("mass", "density", "lift"))
    assert "of star and hash" in said or measure == "share"


def test_nothing_that_differs_is_written_as_zero() -> None:
    tiny = Number(1.4e-8, 1.1e-8, 1.8e-8, 12)
    assert value(tiny, "mass", sign=True) == "+1.4e−08 [+1.1e−08, +1.8e−08]"
    assert value(Number(0.0, 0.0, 0.0, 12), "mass") == "0 [0, 0]"


@pytest.mark.parametrize(
    ("number", "measure", "text"),
    [
        (Number(0.026), "mass", "0.0260"),
        (Number(0.1090, 0.0984, 0.1200, 12), "mass", "0.109 [0.098, 0.120]"),
        (Number(0.2578, 0.1864, 0.3341, 12), "mass", "0.26 [0.19, 0.33]"),
        (Number(0.614, 0.614, 0.614, 12), "retained", "0.614 [0.614, 0.614]"),
        (Number(-0.5), "entropy_change", "−0.500 nats"),
        (Number(12.34), "lift", "12.3 times"),
        (Number(0.0004, -0.008, 0.0095, 12), "mass", "0.000 [−0.008, 0.009]"),
    ],
)
def test_numbers_are_written_as_exactly_as_they_are_known(
    number: Number, measure: str, text: str
) -> None:
    assert value(number, measure) == text


def test_digits() -> None:
    assert [decimals(x) for x in (0.0, 0.026, 5.0, 1234.0)] == [2, 4, 2, 0]
    assert [written(x, 2, sign=True) for x in (0.0, 0.001, -0.5)] == ["0", "0.00", "−0.50"]


def test_names_and_places() -> None:
    assert [name(x) for x in ("star", "model 3", "#")] == ["star", "“model 3”", "“#”"]
    assert [where(p) for p in ((3, 5), (3, None), OVERALL)] == [
        *("layer 3, head 5", "layer 3", "all layers")
    ]
    layers = [(n, None) for n in (0, 1, 2, 5)]
    assert wheres(layers, 9) == "layers 0–2 and 5"
    assert wheres(layers, 4) == "all 4 layers"
    assert wheres([(n, None) for n in (0, 2, 4, 6)], 9) == "4 of 9 layers"
    assert wheres([(0, 1), (1, 1)], 9) == "2 of 9 heads"


def test_a_sentence_is_a_text_that_travels() -> None:
    said = Sentence("One.", (Number(1.0),))
    again = pickle.loads(pickle.dumps(said))
    assert (again, again.numbers) == ("One.", (Number(1.0),))


def test_models_that_are_one_are_said_not_to_differ() -> None:
    facts = [
        one for one in find(class_tables(Made(noise=0.0, prompts=20))) if one.kind == "equivalent"
    ]
    assert facts
    for said in map(sentence, facts):
        assert said.endswith("is exactly the same in Tuned and Base in all 4 layers.")
        assert said.numbers == ()


def test_forty_sentences_drawn_at_random_are_short_and_from_their_cells() -> None:
    """Of made-up results with awkward names; what is derived has no table of its own to look in."""
    said = []
    for seed in range(120):
        tables = class_tables(awkward(seed))
        said += [(sentence(fact, several=True), tables) for fact in find(tables)]
    for text, tables in random.Random(0).sample(said, 40):
        words, numbers = told(text)
        assert words <= 30, text
        assert numbers <= 3, text
        assert all(is_carried(word, text) for word in stated(text)), text
        for number in text.numbers:
            if number.cell is not None and number.cell.table in tables and number.sd is not None:
                assert looked_up(number, tables) == pytest.approx(number.value), text
