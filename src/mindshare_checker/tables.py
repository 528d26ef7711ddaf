"""The tables of a chart or a folder, as numbers that a statement can be looked up in."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pyarrow as pa

from mindshare.errors import OutputError
from mindshare.facts.cells import ADDITIVE, Key, Number, Numbers, charts_of
from mindshare.facts.words import UNITS, inserted, name, phrase, word
from mindshare.folders import MANIFEST, read_folder
from mindshare.measures import at_level
from mindshare.tables import metadata
from mindshare_checker.statements import Statement
from mindshare_checker.text import Given, Name, Vocabulary, aliases

PARTS = ("model", "layer", "head", "token_class", "condition", "measure")  # of a key
NO_NUMBER = "the table has no such number"
NO_MEASURE = "it is not said which measure"
NO_CLASS = "it is not said which token class"
_MEASURE_WORDS = {  # of sentences and alt texts → the measure that numbers near them are of
    "share of attention": "share",
    "the average token": "lift",
    "looked at": "mass",
    "carried": "contribution",
}
_LOOKED_AT = ("mass", "contribution")  # in a table of uses, beside the effects
_ALLOWED = "a .parquet or .csv file of a chart, or a folder of results"


class UnreadError(Exception):
    """A statement that can't be looked up in the table; the message is the reason."""


def read_tables(path: str | Path) -> dict[str, pa.Table]:
    """The tables of saved results, or the one table of a file, for `check_description`."""
    path = Path(path)
    if not os.path.isdir(path):
        table = _with_measure(_read_file(path), path.stem)
        charts_of({"summary": table})  # refuses a table without means
        return {"summary": table}
    if not os.path.isfile(path / MANIFEST):
        raise OutputError(
            f"{path} is not a folder of mindshare results: it has no {MANIFEST}",
            allowed=_ALLOWED,
            next_step="name a folder that `mindshare shares`, `head-map` or `insert` wrote",
        )
    return dict(read_folder(path, as_labelled=True)[0])


def _read_file(path: Path) -> pa.Table:
    import pyarrow.parquet as pq
    from pyarrow import csv

    readers = {".parquet": pq.read_table, ".csv": csv.read_csv}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise OutputError(f"{path} is no table", allowed=_ALLOWED)
    try:
        return reader(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise OutputError(
            f"{path} can't be read as a table ({type(error).__name__}: {error})", allowed=_ALLOWED
        ) from error


def _with_measure(table: pa.Table, stem: str) -> pa.Table:
    """A CSV file does not say its measure; the name of a chart's does: `class_bars_lift`."""
    recorded = metadata(table)
    measures = [part for part in stem.split("_") if part in at_level("class")]
    if "mindshare.measure" in recorded or not measures:
        return table
    return table.replace_schema_metadata(recorded | {"mindshare.measure": measures[0]})


@dataclass(frozen=True)
class TableNumbers(Numbers):
    """The numbers of all charts of a folder; where two hold the same cell, the first one's.

    Classes of several charts may overlap, so each chart keeps how much of everything it shows.
    """

    charts: tuple[Numbers, ...] = ()

    @classmethod
    def of(cls, tables: pa.Table | Mapping[str, pa.Table]) -> TableNumbers:
        """One table, or all tables of saved results by name."""
        charts = charts_of({"summary": tables} if isinstance(tables, pa.Table) else tables)
        cells: dict[Key, Number] = {}
        for chart in charts:
            cells = chart.cells | cells
        uses = None if isinstance(tables, pa.Table) else tables.get("uses")
        for row, measure in product([] if uses is None else uses.to_pylist(), _LOOKED_AT):
            if row[measure] is not None:
                place = (measure, row["model"], row["layer"], row["head"])
                cells[Key(*place, token_class=row["class"])] = Number(row[measure])
        return cls(cells, charts[0].measure, charts[0].about, charts[0].queries, tuple(charts))

    @property
    def vocabulary(self) -> Vocabulary:
        """The names that the tables know, and what else people call them."""
        named = {"token_class": self.classes, "condition": self.conditions, "model": self.models}
        names = {name: Name(part, name) for part, words in named.items() for name in words}
        for alias, token_class in aliases(self.classes).items():
            names.setdefault(alias, Name("token_class", token_class))
        says = (word, phrase) if self.conditions else (word,)
        phrases = {say(m): Name("measure", m) for say in says for m in self.measures}
        phrases |= {m.replace("_", " "): Name("measure", m) for m in self.measures}
        phrases |= {w: Name("measure", m) for w, m in _MEASURE_WORDS.items() if m in self.measures}
        for condition in self.conditions:
            if inserted(condition) != name(condition):
                phrases[inserted(condition)] = Name("condition", condition)
        return Vocabulary(names, {words.casefold(): one for words, one in phrases.items()})

    def counts(self, what: str) -> list[int]:
        """How many layers, heads, prompts, … each chart shows; none if they are not counted."""
        if what in ("insertions", "conditions"):
            return [len(self.conditions)]
        if what == "heads":  # of a layer, or of all layers
            heads = [
                {(key.layer, key.head) for key in chart.cells if key.head is not None}
                for chart in self.charts
            ]
            return [len(chart.heads) for chart in self.charts] + [len(each) for each in heads]
        of_chart: dict[str, Callable[[Numbers], int]] = {
            "prompts": lambda chart: chart.n_prompts,
            "layers": lambda chart: len(chart.layers),
            "models": lambda chart: len(chart.models),
            "classes": lambda chart: len(chart.named),
        }
        return [of_chart[what](chart) for chart in self.charts] if what in of_chart else []

    def whole(self, token_class: str | None) -> tuple[str, ...]:
        """The set of classes that this one is of, if there is but one such."""
        sets = dict.fromkeys(tuple(chart.named) for chart in self.charts)
        fitting = [each for each in sets if token_class is None or token_class in each]
        return fitting[0] if len(fitting) == 1 and self.measure in ADDITIVE else ()

    def lookup(self, statement: Statement) -> dict[Key, Number]:
        """The cells that a statement is about, several only if it speaks about several.

        A part that it leaves open is filled in only if the table leaves no choice.
        """
        given = statement.given
        several = statement.number.relation != "=" or statement.upto is not None
        if not given:
            raise UnreadError("it is not said what this number is about")
        if not self.classes and "measure" not in given:
            raise UnreadError(NO_MEASURE)
        if several and self.classes and "token_class" not in given:
            raise UnreadError(NO_CLASS)
        if statement.times and UNITS.get(given.get("measure", self.measure)) != " times":
            raise UnreadError("a ratio, and not clearly said of what")
        key = None if several else self._exact(given)
        if key is not None:
            return {key: self.cells[key]}
        cells = {key: n for key, n in self.cells.items() if self.matches(key, given)}
        for part in ("layer", "head"):  # not named: the mean over them, if the table has it
            means = {key: n for key, n in cells.items() if getattr(key, part) is None}
            if part not in given and means:
                cells = means
        if not cells:
            raise UnreadError(NO_NUMBER)
        if len(cells) > 1 and not several:
            raise UnreadError(left_open(list(cells)))
        return cells

    def _exact(self, given: Given) -> Key | None:
        """The one cell, without a search: most statements name everything."""
        known = {
            "measure": [self.measure] if self.classes else self.measures,
            "model": self.models,
            "token_class": self.classes,
            "condition": self.conditions,
        }
        filled = {part: names[0] for part, names in known.items() if len(names) == 1}
        wanted: Given = {"measure": "", "model": ""} | filled | given
        if any(isinstance(value, tuple) for value in wanted.values()):
            return None
        key = Key(**wanted)
        return key if key in self.cells else None

    def matches(self, key: Key, given: Given) -> bool:
        """Whether a key has every part that is given; of the main measure, if none is named."""
        if "measure" not in given and self.classes and key.measure != self.measure:
            return False
        if key.against != given.get("against"):
            return False
        for part in given.keys() & set(PARTS):
            wanted, value = given[part], getattr(key, part)
            if value not in wanted if isinstance(wanted, tuple) else value != wanted:
                return False
        return True


def left_open(keys: list[Key]) -> str:
    """What the statement should have said."""
    parts = [part for part in PARTS if len({getattr(key, part) for key in keys}) > 1]
    return "it is not said " + " and ".join(f"which {part.replace('_', ' ')}" for part in parts)
