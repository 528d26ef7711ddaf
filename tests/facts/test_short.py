"""The answer: the largest significant difference of each class comes first."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from mindshare.facts.cells import Key, Number
from mindshare.facts.find import Fact
from mindshare.facts.find import Test as ATest
from mindshare.facts.short import for_a_paper, in_short, largest
from mindshare.stats import contrast, estimate
from mindshare.tables import table

TEST = ATest("max-T", 12)


def change(token_class: str, *values: float, kind: str = "change") -> Fact:
    places = tuple((layer, None) for layer in range(len(values)))
    numbers = tuple(Number(v, v - 0.01, v + 0.01, n_prompts=12) for v in values)
    key = Key("mass", "tuned", token_class=token_class, against="base")
    return Fact(kind, key, 1, places, numbers, len(values), test=TEST)


def test_of_each_class_the_largest_difference_by_size() -> None:
    small, large = change("star", 0.1, 0.2), change("star", -0.1, -0.4)
    other, none = change("hash", 0.3), change("space", 0.9, kind="not_significant")
    assert largest([small, other, none, large]) == [large, other]
    head = replace(change("hash", 0.8), places=((0, 3),))
    assert largest([head, other]) == [other]


def test_a_sentence_for_a_paper_has_n_interval_and_test() -> None:
    said = for_a_paper(change("star", 0.1, 0.25))
    assert said.numbers[0].value == 0.25
    for words in ("layer 1", "+0.250 [", "n = 12", "max-T"):
        assert words in said
    fewer = for_a_paper(replace(change("star", -0.2), side=-1))
    assert "less attention to star" in fewer


def masses(shift: float, prompts: int = 12) -> dict[str, pa.Table]:
    """Two models: `b` gives star more in layer 1, and hash half of its due in both layers."""
    found = {}
    for model, more in (("a", 0.0), ("b", shift)):
        rows = [
            (p, layer, name, mass + 0.001 * ((p * 7 + layer) % 5))
            for p in range(prompts)
            for layer in (0, 1)
            for name, mass in (("star", 0.3 + more * layer), ("hash", 0.05), ("other", 0.5))
        ]
        n = len(rows)
        columns = {
            "prompt": [f"p{row[0]}" for row in rows],
            "queries": ["all"] * n,
            "layer": [row[1] for row in rows],
            "head": pa.nulls(n, pa.int32()),
            "class": [row[2] for row in rows],
            "mass": [row[3] for row in rows],
            "lift": [row[3] / (0.2 if row[2] == "hash" else 0.3) for row in rows],
        }
        columns |= dict.fromkeys(("share", "density", "expected"), [0.1] * n)
        columns |= {"n_tokens": [2.0] * n, "n_queries": [4] * n}
        about = {"mindshare.measure": "mass"}
        found[model] = table("mass", columns, about)
    return found


def tables(shift: float, prompts: int = 12) -> dict[str, pa.Table]:
    found = masses(shift, prompts)
    return {
        "summary": estimate(found),
        "b_minus_a": contrast(found, a="a", b="b"),
        **{f"mass_{name}": one for name, one in found.items()},
    }


def test_the_answer_comes_first_and_each_number_has_its_cell() -> None:
    said = in_short(tables(0.2))
    assert said[0].startswith("b gives star more attention than a")
    assert said[1].startswith("For a paper: in layer 1, b gives more attention to star")
    assert [s for s in said if "hash gets less than its size explains in all 2 layers" in s]
    assert all(number.cell is not None for sentence in said for number in sentence.numbers)


def test_nothing_is_said_once() -> None:
    assert len(in_short(tables(0.2, prompts=1))) == 1
    assert "1 prompt" in in_short(tables(0.2, prompts=1))[0]
