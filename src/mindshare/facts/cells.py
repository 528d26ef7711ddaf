"""Tables of saved results → numbers, each with the cell it comes from.

A number belongs to a measure of a model in a layer and head, of a token class or under a condition;
a difference has in addition what it is taken from. Some numbers are not saved but follow from the
saved tables (the lift behind a mass, the difference of two conditions): they are derived here, by
the statistics that made the saved ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from mindshare.errors import SelectionError
from mindshare.measures import MEASURES
from mindshare.naming import UNNAMED, WITHOUT, file_word
from mindshare.stats import Resampling, contrast, estimate
from mindshare.tables import LABELS, ONE_BASED, metadata

Row = dict[str, Any]
Place = tuple[int | None, int | None]  # layer, head; None: the mean over them
Tables = Mapping[str, pa.Table]
Groups = Mapping[str, str]  # prompt → group
OVERALL: Place = (None, None)
ADDITIVE = tuple(name for name, measure in MEASURES.items() if measure.additive)  # over classes
# What two insertions are compared in: one family, so that every text has the same correction.
EVENNESS = ("weight_evenness", "value_evenness", "retained", "divergence", "amplitude")
_SOURCES = {  # the tables over prompts, by the columns that tell them; the first that fits
    "contrast": ("model_a", "model_b", "class", "difference"),
    "condition_contrast": ("condition_a", "condition_b", "measure", "difference"),
    "response_summary": ("condition", "model", "measure", "mean"),
    "summary": ("model", "class", "mean", "sd"),
}
_ROW_KEYS = (
    *("queries", "model", "model_a", "model_b", "condition", "condition_a", "condition_b"),
    *("measure", "layer", "head", "class"),
)


@dataclass(frozen=True)
class Key:
    """What a number is about; None for a layer or head: the mean over them."""

    measure: str
    model: str
    layer: int | None = None
    head: int | None = None
    token_class: str | None = None
    condition: str | None = None
    against: str | None = None  # the model or condition that a difference is taken from

    @property
    def place(self) -> Place:
        return self.layer, self.head

    def at(self, place: Place) -> Key:
        return replace(self, layer=place[0], head=place[1])


@dataclass(frozen=True)
class Cell:
    """Where a number stands: the table, the keys of its row, the column."""

    table: str
    keys: tuple[tuple[str, Any], ...]
    column: str

    @classmethod
    def of(cls, table: str, row: Row, column: str) -> Cell:
        return cls(table, tuple((name, row[name]) for name in _ROW_KEYS if name in row), column)


@dataclass(frozen=True)
class Number:
    """A mean or a difference, with its interval and test as its row has them."""

    value: float
    low: float | None = None
    high: float | None = None
    n_prompts: int = 1
    sd: float | None = None
    label: str | None = None
    n_groups: int | None = None
    p_family: float | None = None
    effect: float | None = None
    detectable_family: float | None = None
    p_equivalent: float | None = None
    n_same_sign: int | None = None
    n_absent: int = 0
    reliable: bool = True
    margin_family: float | None = None
    cell: Cell | None = field(default=None, compare=False)

    @classmethod
    def from_row(
        cls, row: Row, column: str, *, cell: Cell | None = None, fewest: int = 0
    ) -> Number:
        """The number of a column; of fewer than `fewest` prompts or groups without an interval."""
        known = {name: row[name] for name in _KNOWN if row.get(name) is not None}
        if (known.get("n_groups") or known.get("n_prompts", 1)) < fewest:
            known |= {"low": None, "high": None}
        return cls(row[column], **known, cell=cell)

    @property
    def n_units(self) -> int:
        """What was resampled: the prompts, or groups of them."""
        return self.n_groups or self.n_prompts

    @property
    def has_interval(self) -> bool:
        return self.low is not None and self.high is not None


_KNOWN = tuple(f.name for f in fields(Number) if f.name not in ("value", "cell"))


@dataclass(frozen=True)
class Numbers:
    """Every number of a chart or an insertion, and what its tables say about themselves."""

    cells: dict[Key, Number]
    measure: str  # the main one, meant where none is named
    about: dict[str, str] = field(default_factory=dict)
    queries: tuple[str, ...] = ()  # query sets: the first is described

    def get(self, key: Key) -> Number | None:
        return self.cells.get(key)

    def among(self, keys: Mapping[Any, Key]) -> dict[Any, Number]:
        """The numbers that are there, by the names of their keys."""
        return {name: self.cells[key] for name, key in keys.items() if key in self.cells}

    @cached_property
    def _series(self) -> dict[tuple[Any, ...], dict[Place, Number]]:
        series: dict[tuple[Any, ...], dict[Place, Number]] = {}
        for key, number in self.cells.items():
            subject = (key.measure, key.model, key.token_class, key.condition, key.against)
            series.setdefault(subject, {})[key.place] = number
        return {subject: dict(sorted(at.items(), key=_depth)) for subject, at in series.items()}

    def series(self, of: Key, *, heads: bool | None = None) -> dict[Place, Number]:
        """The numbers of a subject by place, in order; only single heads, or only single layers."""
        series = self._series.get(
            (of.measure, of.model, of.token_class, of.condition, of.against), {}
        )
        if heads is None:
            return series
        return {p: n for p, n in series.items() if p[0] is not None and (p[1] is not None) == heads}

    @cached_property
    def places(self) -> list[Place]:
        """Where the main measure has numbers."""
        main = (key for key in self.cells if key.measure == self.measure and key.against is None)
        return [place for place, _ in sorted({key.place: None for key in main}.items(), key=_depth)]

    @property
    def by_head(self) -> bool:
        return any(head is not None for _, head in self.places)

    @cached_property
    def models(self) -> list[str]:
        measured = _distinct(key.model for key in self.cells if key.against is None)
        return measured or _distinct(key.model for key in self.cells)

    @cached_property
    def classes(self) -> list[str]:
        return _distinct(key.token_class for key in self.cells)

    @cached_property
    def named(self) -> list[str]:
        """The classes that a rule names, or all of them."""
        return [name for name in self.classes if name not in UNNAMED] or self.classes

    @cached_property
    def conditions(self) -> list[str]:
        return _distinct(key.condition for key in self.cells)

    @cached_property
    def measures(self) -> list[str]:
        return _distinct(key.measure for key in self.cells)

    @cached_property
    def layers(self) -> list[int]:
        return sorted(_distinct(key.layer for key in self.cells))

    @cached_property
    def heads(self) -> list[int]:
        return sorted(_distinct(key.head for key in self.cells))

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """(a, b) of the differences between models, b − a."""
        differences = (key for key in self.cells if key.against and key.condition is None)
        return _distinct((key.against, key.model) for key in differences)

    @cached_property
    def together(self) -> tuple[Place, ...]:
        """Heads that a knock-out hid from at once, and from no others, as layers are counted."""
        first = int(self.about.get(LABELS) == ONE_BASED)
        return tuple((layer + first, head + first) for layer, head in hidden_together(self.about))

    @property
    def n_prompts(self) -> int:
        return max((n.n_prompts for n in self.cells.values()), default=0)

    @property
    def has_intervals(self) -> bool:
        """Whether there are prompts enough to tell anything from chance."""
        return any(n.has_interval or n.p_equivalent is not None for n in self.cells.values())


def _depth(item: tuple[Place, Any]) -> list[tuple[bool, int]]:
    """By layer, then head; a mean comes last."""
    return [(n is None, n or 0) for n in item[0]]


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(value for value in values if value is not None))


def charts_of(tables: Tables, *, groups: Groups | None = None) -> list[Numbers]:
    """The numbers of each chart of token classes, the main one first; or those of an insertion.

    `groups` (prompt → group) are those that the tables were made with: they are not saved.
    """
    charts = group_tables(tables)
    if not any(source_of(table) for chart in charts for table in chart.values()):
        raise SelectionError(
            "there is no table of means or differences to describe",
            allowed="a `summary`, a contrast, or the table of a chart",
            next_step="give the tables of a folder that `mindshare shares` or `insert` wrote",
        )
    return [_numbers(chart, groups) for chart in charts]


def source_of(table: pa.Table) -> str | None:
    """Which of the tables over prompts this is."""
    return next((name for name, columns in _SOURCES.items() if _has(table, *columns)), None)


def _has(table: pa.Table, *columns: str) -> bool:
    return all(name in table.column_names for name in columns)


def study_of(about: Mapping[str, str]) -> dict[str, Any]:
    """The definition of the study that a table with this metadata is of, as it was hashed."""
    study: dict[str, Any] = json.loads(about.get("mindshare.definition", "{}"))
    return study


def hidden_together(about: Mapping[str, str]) -> list[tuple[int, int]]:
    """The heads (0-based) that a knock-out hid from at once, and from no others; else none."""
    study = study_of(about)
    places = [] if study.get("each") else study.get("places") or []
    return [(layer, head) for layer, head in places]


def measure_of(table: pa.Table) -> str:
    """The measure of a table; of the many that one of an insertion has, the first."""
    return metadata(table).get("mindshare.measure", "mass").split(", ")[0]


def _numbers(tables: Tables, groups: Groups | None) -> Numbers:
    """Of the tables of one chart, or of an insertion; where two hold a number, the first does."""
    known = {name: t for name, t in tables.items() if source_of(t) is not None}
    main = "summary" if "summary" in known else next(iter(known))
    first, about = known[main], metadata(known[main])
    queries = tuple(first["queries"].unique().to_pylist()) if _has(first, "queries") else ()
    tables = {main: first} | known | dict(derived_tables(tables, about, groups))
    cells: dict[Key, Number] = {}
    # The means behind differences come last: they have no intervals.
    for read in (_read, _read_means):
        for name, table in tables.items():
            for key, number in read(name, table, queries):
                cells.setdefault(key, number)
    return Numbers(cells, measure_of(first), about, queries)


def _read(name: str, table: pa.Table, queries: tuple[str, ...]) -> Iterator[tuple[Key, Number]]:
    """The number of each row."""
    measure, fewest = measure_of(table), Resampling.of(metadata(table)).fewest
    column = "difference" if _has(table, "difference") else "mean"
    for row in _rows(table, queries):
        if row[column] is None:
            continue
        key = Key(
            row.get("measure", measure),
            row["model"] if "model" in row else row["model_b"],
            row.get("layer"),
            row.get("head"),
            token_class=row.get("class"),
            condition=row.get("condition", row.get("condition_b")),
            against=row.get("model_a", row.get("condition_a")),
        )
        yield key, Number.from_row(row, column, cell=Cell.of(name, row, column), fewest=fewest)


def _read_means(
    name: str, table: pa.Table, queries: tuple[str, ...]
) -> Iterator[tuple[Key, Number]]:
    """The two means that each difference between models is between, without intervals."""
    if source_of(table) != "contrast":
        return
    for row in _rows(table, queries):
        counts = {n: row[n] for n in ("n_prompts", "n_groups") if row.get(n) is not None}
        for end in ("a", "b"):
            column, model = f"mean_{end}", row[f"model_{end}"]
            if row.get(column) is not None:
                key = Key(
                    measure_of(table), model, row["layer"], row["head"], token_class=row["class"]
                )
                yield key, Number(row[column], **counts, cell=Cell.of(name, row, column))


def _rows(table: pa.Table, queries: tuple[str, ...]) -> list[Row]:
    """Those of the first query set."""
    rows: list[Row] = table.to_pylist()
    return [row for row in rows if not queries or row.get("queries", queries[0]) == queries[0]]


# One folder can hold several charts: by kind of character and by part of the prompt, by layer and
# by head. Their classes overlap, so that nothing may be added up over them.


@dataclass(frozen=True)
class _Contents:
    """What a table over prompts is about."""

    name: str
    source: str
    classes: frozenset[str]
    measure: str
    by_head: bool
    by_layer: bool  # has single layers

    @classmethod
    def of(cls, name: str, table: pa.Table) -> _Contents:
        every = set(table["class"].unique().to_pylist()) - {None} if _has(table, "class") else set()
        single = [_has(table, c) and table[c].null_count < len(table) for c in ("head", "layer")]
        classes = frozenset(every.difference(UNNAMED) or every)
        return cls(name, source_of(table) or "", classes, measure_of(table), *single)

    def belongs_to(self, first: _Contents) -> bool:
        same = (self.measure, self.by_head) == (first.measure, first.by_head)
        return same and (self.classes <= first.classes or first.classes <= self.classes)

    def is_mean_of(self, other: _Contents) -> bool:
        """Whether the other has the single layers; a mean does not say over which it is."""
        layers = other.by_layer and not other.by_head and not self.by_layer
        return layers and bool(self.classes & other.classes)


def group_tables(tables: Tables) -> list[dict[str, pa.Table]]:
    """The tables of each chart, the main one first; that one has the single prompts too."""
    contents = [_Contents.of(name, t) for name, t in tables.items() if source_of(t) and t.num_rows]
    if any(_has(tables[one.name], "measure") for one in contents):  # of an insertion
        return [dict(tables)]
    # `summary`, then what is like it, then the others: means before differences, by name.
    contents.sort(key=lambda c: (c.name != "summary", c.by_head, c.source != "summary", c.name))
    charts: list[list[_Contents]] = []
    for one in contents:
        if any(one.is_mean_of(other) for other in contents):
            continue
        chart = next((chart for chart in charts if one.belongs_to(chart[0])), None)
        charts.append([one]) if chart is None else chart.append(one)
    grouped = [{one.name: tables[one.name] for one in chart} for chart in charts]
    rest = {name: t for name, t in tables.items() if not source_of(t)}
    return [grouped[0] | rest, *grouped[1:]] if grouped else []


def derived_tables(
    tables: Tables, about: Mapping[str, str], groups: Groups | None = None
) -> Iterator[tuple[str, pa.Table]]:
    """Further tables, by name, where the single prompts they are made from are there."""
    if about.get("mindshare.unit") == "group" and groups is None:
        return  # which prompts belong together is not known
    options = Resampling.of(about)
    masses = _by_model(tables, "mass")
    if masses and about.get("mindshare.measure") == "mass":
        yield "lift", estimate(masses, "lift", options=options, groups=groups)
    for model, response in _by_model(tables, "response").items():
        first, *others = [c for c in response["condition"].unique().to_pylist() if c != WITHOUT]
        for other in others:
            difference = contrast(
                {model: response},
                a=other,
                b=first,
                measure=EVENNESS,
                over=("heads", "layers"),
                options=options,
                groups=groups,
            )
            yield f"{model}, {first} minus {other}", difference


def _by_model(tables: Tables, name: str) -> dict[str, pa.Table]:
    """Model → its table: `NAME_LABEL`, or `NAME` where there is one model."""
    summary = tables.get("summary")
    if summary is None or not _has(summary, "model"):  # a single table of differences
        return {}
    models = summary["model"].unique().to_pylist()
    alone = {models[0]: tables[name]} if len(models) == 1 and name in tables else {}
    labelled = {model: f"{name}_{file_word(model)}" for model in models}
    return alone | {model: tables[n] for model, n in labelled.items() if n in tables}
