"""The law of descriptions: every number is found and holds, and an altered one is caught."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from mindshare.errors import SelectionError
from mindshare.report.describing import Checked, Description, check_description, describe
from mindshare.report.describing.tokens import COMPARED, ORDERS

from .made import CONDITIONS, Made, awkward, class_tables, insertion_tables

MEASURES = ("mass", "share", "density", "lift", "expected")
NUMBER = re.compile(r"(?<![\w.])[+−-]?\d[\d,]*(?:\.\d+)?(?!\w)")
LISTED = re.compile(r"\b(?:layer|head)s?\s+\(?\d+(?:(?:, | and | to )\d+(?!\.?\d))*", re.I)
TENS = [
    pytest.param(first, marks=pytest.mark.slow if first >= 50 else ())
    for first in range(0, 200, 10)
]


class Case:
    """The tables of one seed, described; every fourth is an insertion."""

    def __init__(self, seed: int) -> None:
        made, self.seed = awkward(seed), seed
        self.kind = "insertion" if seed % 4 == 3 else "classes"
        if self.kind == "insertion":
            rng = np.random.default_rng(seed)
            names = rng.permutation(CONDITIONS)[: 1 + seed % 3].tolist()
            heads = made.heads if made.heads != (None,) else (0, 1)
            made = replace(made, heads=heads, layers=made.layers[:14])
            self.tables = insertion_tables(made, names)
        else:
            names = [*made.classes, "last"]
            self.tables = class_tables(made, MEASURES[seed % len(MEASURES)])
        self.names = [*made.models, *names]
        self.description = describe(self.tables, kind=self.kind)

    def numbers(self) -> list[str]:
        """Those of the text, found without the reader: not in names, not of layers or heads."""
        text = self.description.text.replace("affine r2", "")
        for name in sorted(self.names, key=len, reverse=True):
            text = text.replace(f"“{name}”", "“”")
            if re.fullmatch(r"[A-Za-z][\w.+-]*", name):
                text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "“”", text)
        return NUMBER.findall(LISTED.sub("", text))

    def altered(self) -> tuple[str, str]:
        """(a line, the same line with the last digit of one of its numbers moved by five)"""
        text = self.description.text
        stated = [m for m in NUMBER.finditer(text) if "." in m[0] and text[m.start() - 1] in " [("]
        last = stated[np.random.default_rng(self.seed).integers(len(stated))].end() - 1
        changed = text[:last] + str((int(text[last]) + 5) % 10) + text[last + 1 :]
        line = text.count("\n", 0, last)
        return text.splitlines()[line], changed.splitlines()[line]


def ordered(one: Checked) -> bool:
    """Says where something is highest, or what is larger: the number stands elsewhere."""
    return one.statement.what in (*ORDERS, *COMPARED)


def cases(first: int) -> Iterator[Case]:
    return (Case(seed) for seed in range(first, first + 10))


@pytest.mark.parametrize("first", TENS)
def test_every_number_is_found_and_holds_and_an_altered_one_is_caught(first: int) -> None:
    for case in cases(first):
        checked = check_description(case.description.text, case.tables)
        wrong = [str(one) for one in checked if one.holds is not True]
        assert not wrong, (case.seed, wrong[:5])
        read = sum(2 if one.statement.upto else 1 for one in checked if not ordered(one))
        assert read == len(case.numbers()), case.seed
        line, altered = case.altered()
        assert all(one.holds for one in check_description(line, case.tables)), line
        assert any(one.holds is not True for one in check_description(altered, case.tables)), (
            altered
        )


@pytest.mark.parametrize("seed", range(0, 16))
def test_markdown_and_the_short_text_hold_too(seed: int) -> None:
    case = Case(seed)
    for text in (case.description.markdown, case.description.short):
        checked = check_description(text, case.tables)
        assert checked
        assert all(one.holds for one in checked), [str(one) for one in checked if not one.holds]
    assert len(case.description.short) <= 300


def test_only_some_classes_can_be_described() -> None:
    tables = class_tables(Made())
    description = describe(tables, kind="classes", only=("star",))
    assert "star" in description.text
    assert not re.search("hash|space|“other”", description.text)
    assert "together" not in description.text
    assert all(one.holds for one in check_description(description.details.sentences[0], tables))


def test_the_same_tables_give_the_same_description() -> None:
    tables = class_tables(Made(trend={"hash": 0.05}))
    assert describe(tables, kind="classes") == describe(
        dict(reversed(tables.items())), kind="classes"
    )


def test_a_summary_alone_is_enough() -> None:
    description = describe({"summary": class_tables(Made())["summary"]}, kind="classes")
    assert isinstance(description, Description)
    assert "minus" not in description.text  # differences are not made up


def test_what_is_not_there_is_refused() -> None:
    tables = class_tables(Made())
    with pytest.raises(SelectionError, match="did you mean 'classes'"):
        describe(tables, kind="class")  # type: ignore[arg-type]
    with pytest.raises(SelectionError, match="'stars' is not in the tables; did you mean 'star'"):
        describe(tables, kind="classes", only=("stars",))
    with pytest.raises(SelectionError, match="no table of means"):
        describe({"x": pa.table({"y": [1]})}, kind="classes")
    with pytest.raises(SelectionError, match="no conditions"):
        describe(tables, kind="insertion")
