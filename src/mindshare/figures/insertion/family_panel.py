"""Several models' tables of one prompt → a panel for each model: two conditions in one head.

Every model has its own head, scale and tokenizer, so panels are compared by shape, never token by
token. Draws what is in the tables and computes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from mindshare.errors import SelectionError
from mindshare.figures.figure import Figure
from mindshare.figures.insertion import family_words
from mindshare.figures.insertion.grid import Grid, row, whole_spec
from mindshare.figures.insertion.legend import Entry, legend_view
from mindshare.figures.insertion.panel import SHADE, Frame, Panel, Run, panel_view
from mindshare.figures.insertion.panel_hover import Series
from mindshare.figures.insertion.panel_words import column_titles
from mindshare.figures.insertion.profile_table import profile_rows
from mindshare.figures.insertion.strokes import series_colours
from mindshare.figures.insertion.version_words import called, where
from mindshare.figures.insertion.versions import Head, Profile, extent, metadata, pick, whole
from mindshare.figures.theme import Style

Spec = dict[str, Any]
Tables = tuple[pa.Table, pa.Table]  # sequence, places
_HEIGHT = {"page": 132, "column": 112}
_MOST = 12  # models


@dataclass(frozen=True)
class FamilyPanelOptions(Style):
    """What to draw and how."""

    width: str = "page"
    few: int = 5  # keys with fewer queries are drawn pale
    drop_first: bool | Collection[str] = False  # the first token: of every model, or of these
    condition_labels: Mapping[str, str] = field(default_factory=dict)  # name → words
    columns: int | None = None  # models in a row; None: as many as fit


@dataclass(frozen=True)
class Member:
    """What one panel shows."""

    model: str
    head: Head
    profiles: tuple[Profile, ...]  # one a condition
    runs: tuple[tuple[int, int] | None, ...]  # where the inserted tokens are in each
    dropped: bool  # whether the first token is left out
    table: pa.Table  # the numbers


@dataclass(frozen=True)
class Family:
    """Everything that decides the panels."""

    members: tuple[Member, ...]
    options: FamilyPanelOptions
    prompt: str
    conditions: tuple[str, ...]
    about: Mapping[str, str]
    metadata: Mapping[str, str]

    def words(self, condition: str) -> str:
        return called(condition, self.options.condition_labels)


def family_panel(
    sequences: Mapping[str, Tables],
    options: FamilyPanelOptions | None = None,
    *,
    prompt: str,
    conditions: tuple[str, str],
    heads: Mapping[str, Head],
    about: Mapping[str, str] | None = None,
) -> Figure:
    """One prompt under two conditions, in one head of every model."""
    options = options or FamilyPanelOptions()
    _check(sequences, options, heads)
    members = [
        _member(model, tables, options, heads[model], (prompt, conditions))
        for model, tables in sequences.items()
    ]
    first, _ = next(iter(sequences.values()))
    family = Family(
        tuple(members), options, prompt, tuple(conditions), about or {}, metadata(first)
    )
    title = options.title or family_words.title(family)
    description = family_words.description(family)
    words = (family_words.caption(family), description)
    return Figure(
        name=options.name or family_words.name(family),
        spec=whole_spec(list(_views(family)), options, title=title, words=words),
        table=pa.concat_tables([one.table for one in members]),
        title=title,
        definition=family_words.definition(family),
        description=description,
    )


def _check(
    sequences: Mapping[str, Tables], options: FamilyPanelOptions, heads: Mapping[str, Head]
) -> None:
    models = list(sequences)
    if not 1 <= len(models) <= _MOST:
        raise SelectionError(f"{len(models)} models in one panel", allowed=f"1 to {_MOST}")
    for model in models:
        if model not in heads:
            raise SelectionError(
                f"no head is chosen for {model}", next_step=f"heads={{{model!r}: (layer, head), …}}"
            )
    dropped = [] if isinstance(options.drop_first, bool) else options.drop_first
    for model in dropped:
        if model not in models:
            raise SelectionError(
                f"drop_first names {model!r}, which is not drawn", allowed=", ".join(models)
            )


def _member(
    model: str,
    tables: Tables,
    options: FamilyPanelOptions,
    head: Head,
    which: tuple[str, tuple[str, str]],
) -> Member:
    prompt, conditions = which
    dropped = options.drop_first
    dropped = dropped if isinstance(dropped, bool) else model in dropped
    try:
        sequence = pick(tables[0], "sequence", prompt=prompt)
        places = pick(tables[1], "places", prompt=prompt)
        found = [whole(sequence, places, condition=one, head=head) for one in conditions]
        runs = [extent(places, one) for one in conditions]
    except SelectionError as error:
        raise SelectionError(
            error.what, where=model, allowed=error.allowed, next_step=error.next_step
        ) from error
    drawn = [one.after_first() if dropped else one for one in found]
    rows = profile_rows([(head, one) for one in drawn], places, model=model, prompt=prompt)
    rows = rows.replace_schema_metadata(metadata(tables[0]))
    return Member(model, head, tuple(drawn), tuple(runs), dropped, rows)


def _views(family: Family) -> Iterator[Spec]:
    grid = Grid.of(len(family.members), family.options, most=family.options.columns)
    colours = series_colours(family.options.colours)
    entries = [
        Entry(family.words(one), "line", colour)
        for one, colour in zip(family.conditions, colours, strict=False)
    ]
    if any(run for one in family.members for run in one.runs):
        entries.append(Entry("inserted tokens", "area", SHADE))
    yield legend_view(entries, grid.inner)
    names = [(one.model, where(one.head, family.options)) for one in family.members]
    titles = column_titles(names, grid.panel_width + 16)
    panels = [_panel(family, *pair) for pair in zip(family.members, titles, strict=True)]
    for some in grid.rows(panels):
        yield row([panel_view(one, _frame(family, grid, i)) for i, one in enumerate(some)])


def _panel(family: Family, one: Member, title: tuple[str, ...]) -> Panel:
    colours = series_colours(family.options.colours)
    series = [
        Series(family.words(profile.condition), colour, profile)
        for profile, colour in zip(one.profiles, colours, strict=False)
    ]
    return Panel(
        series=tuple(series),
        x_title="Token position",
        title=title,
        runs=tuple(dict.fromkeys(Run(*run) for run in one.runs if run)),
        shared=False,
    )


def _frame(family: Family, grid: Grid, column: int) -> Frame:
    return Frame(
        width=grid.panel_width,
        height=_HEIGHT[family.options.width],
        few=family.options.few,
        y_title=None if column else "Average attention weight",
    )
