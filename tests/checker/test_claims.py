"""Sentences of ours whose claim was turned around are caught; what can't be read is told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pyarrow as pa
import pytest

from mindshare.facts import Key, describe, largest, sentence
from mindshare.facts.cells import charts_of
from mindshare.facts.find import facts_of, levels, results
from mindshare.facts.sentences import FORMS, for_a_paper
from mindshare.stats import contrast, estimate
from mindshare_checker import Checked, check_description
from tests.facts.made import CONDITIONS, Made, class_tables, insertion_tables
from tests.stats.test_uses import effects

SWAPS = [
    ("more", "less"),
    ("higher", "lower"),
    ("highest", "lowest"),
    ("largest", "smallest"),
    ("most", "least"),
    ("rises", "falls"),
    ("raises", "lowers"),
    ("up to", "down to"),
    ("does not differ significantly", "differs"),
    ("does not differ significantly", "is undecided"),
    ("differs", "does not differ"),
    ("does not significantly change", "raises"),
    ("has no significant effect on", "lowers"),
    ("changes", "does not change"),
]
# Kinds that claim nothing that could be turned around: numbers, tested or not; lists of heads.
PLAIN = {"retained", "rescaling", "missing", "untested", "largest_effect", "top_heads"}


@cache
def cases() -> tuple[dict[str, pa.Table], ...]:
    effect = {"star": 0.2}
    knocked_out = ([0.1, 0.2], [-1.0, -0.5]), ([0.1], [0.0]), ([0.1], [0.3])
    return (
        class_tables(Made(effect=effect, layers=range(12))),
        class_tables(Made(effect=effect, trend={"hash": 0.02}, layers=range(12)), "share"),
        insertion_tables(
            Made(models=("Base", "b"), layers=range(12), heads=(0, 1)), CONDITIONS[:2]
        ),
        class_tables(Made(heads=range(6), layers=range(4), effect=effect)),
        class_tables(Made(prompts=24, layered=False, noise=0.02, effect={"space": 0.1})),
        class_tables(
            Made(models=("Base",), layers=range(12), trend={"space": 0.15, "hash": 0.5}, noise=0.05)
        ),
        insertion_tables(
            Made(layers=range(8), heads=range(6), noise=0.01, trend={"x": 0.1}), CONDITIONS[:2]
        ),
        insertion_tables(Made(heads=(0, 1), noise=0.01, effect={"model": 0.2}), CONDITIONS[:2]),
        *(
            {"summary": estimate({"m": effects(mass, lost, prompts=30)}, "delta_logprob")}
            for mass, lost in knocked_out
        ),
    )


CASES = range(11)


@cache
def said(case: int) -> dict[str, str]:
    """Everything that is said of a case → the kind of fact behind it."""
    tables = cases()[case]
    kinds: dict[str, str] = {}
    for numbers in charts_of(tables):
        facts = facts_of(numbers)
        for condition in numbers.conditions:
            key = Key("amplitude", numbers.models[0], condition=condition)
            facts += levels(numbers, key, 1.0)
        if numbers.conditions:
            facts += results(numbers, against=numbers.conditions[1])
        several = len(numbers.models) > 1
        kinds |= {str(sentence(fact, several=several)): fact.kind for fact in facts}
        kinds |= {str(for_a_paper(fact)): "for_a_paper" for fact in largest(facts)}
    return kinds


def turned(said: str) -> list[str]:
    """The sentence with one claim turned around, in every way there is."""
    found = []
    for pair in SWAPS:
        for one, other in (pair, pair[::-1]):
            text = re.sub(rf"\b{one}\b", other, said, count=1)
            found += [text] if text != said else []
    return found


@pytest.mark.parametrize("case", CASES)
def test_a_claim_that_was_turned_around_is_caught(case: int) -> None:
    """A sample of each kind, of which every swap."""
    tables = cases()[case]
    samples: dict[str, list[str]] = {}
    for text, kind in said(case).items():
        samples.setdefault(kind, []).append(text)
    texts = [new for some in samples.values() for text in some[:4] for new in turned(text)]
    assert texts
    for checked, text in _checked_lines(texts, tables):
        assert any(one.holds is False for one in checked), text


def _checked_lines(
    texts: list[str], tables: dict[str, pa.Table]
) -> Iterator[tuple[list[Checked], str]]:
    """What is found in each line, of one text that has them all."""
    found = check_description("\n".join(f"- {text}" for text in texts), tables)
    for number, text in enumerate(texts, 1):
        yield [one for one in found if one.statement.line == number], text


def test_every_kind_of_claim_was_turned_around() -> None:
    kinds = {kind for case in CASES for text, kind in said(case).items() if turned(text)}
    assert kinds >= {*FORMS, "for_a_paper"} - PLAIN


@pytest.mark.parametrize("case", CASES)
def test_our_own_description_holds(case: int) -> None:
    tables = cases()[case]
    checked = check_description(describe(tables).markdown, tables)
    assert [str(one) for one in checked if one.holds is False] == []
    assert any(one.statement.what == "claim" and one.holds for one in checked)


def test_the_most_is_meant_among_the_places_that_are_counted() -> None:
    """One that gains in some layers and loses in others, more there; and charts of two measures."""
    tables = class_tables(Made(layers=range(8), noise=0.01))
    masses = {name: tables[f"mass_{name}"] for name in ("Base", "Tuned")}
    shifts = [0.02, 0.02, 0.02, 0.02, -0.005, -0.005, -0.005, -0.005]
    star = [row["class"] == "star" for row in masses["Tuned"].to_pylist()]
    added = [shifts[x] * s for x, s in zip(masses["Tuned"]["layer"].to_pylist(), star, strict=True)]
    column = masses["Tuned"].schema.get_field_index("mass")
    mass = [x + y for x, y in zip(masses["Tuned"]["mass"].to_pylist(), added, strict=True)]
    masses["Tuned"] = masses["Tuned"].set_column(column, "mass", [mass])
    found = {
        "summary": estimate(masses),
        "change": contrast(masses, a="Base", b="Tuned"),
        "by_part": estimate(masses, "share"),
    }
    text = describe(found).markdown
    assert "looks significantly less at star tokens than Base" in text
    assert "relative share: " in text
    checked = check_description(text, found)
    assert [str(one) for one in checked if one.holds is False] == []


def test_a_claim_that_cannot_be_read_is_told() -> None:
    (found,) = check_description("Tuned is undecided about stars.", cases()[0])
    assert found.holds is None
    assert "claim in words" in str(found)
