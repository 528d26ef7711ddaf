"""Tables of a prompt without and with an insertion → a grid of profiles, one column a head.

In the upper row of a pair the original tokens, without and with the insertion; in the lower row the
whole sequence with it, the inserted run shaded. Draws what is in the tables and computes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from mindshare.errors import SelectionError
from mindshare.figures.figure import Figure
from mindshare.figures.insertion import profile_words
from mindshare.figures.insertion.grid import Grid, row, whole_spec
from mindshare.figures.insertion.legend import Entry, legend_view
from mindshare.figures.insertion.panel import SHADE, Frame, Panel, Run, panel_view
from mindshare.figures.insertion.panel_hover import Series
from mindshare.figures.insertion.panel_words import column_titles
from mindshare.figures.insertion.profile_table import profile_rows
from mindshare.figures.insertion.strokes import without_and_with
from mindshare.figures.insertion.version_words import called, where
from mindshare.figures.insertion.versions import (
    WITHOUT,
    Head,
    Profile,
    both,
    extent,
    metadata,
    pick,
    unmatched,
    whole,
)
from mindshare.figures.theme import Style

Spec = dict[str, Any]
_HEIGHT = {"page": 116, "column": 112}
_MOST = 24  # heads


@dataclass(frozen=True)
class ProfileGridOptions(Style):
    """What to draw and how."""

    width: str = "page"
    few: int = 5  # keys with fewer queries are drawn pale
    drop_first: bool = False  # leaves the first token out of the picture
    condition_labels: Mapping[str, str] = field(default_factory=dict)  # name → words
    columns: int | None = None  # heads in a row; None: as many as fit


@dataclass(frozen=True)
class HeadProfiles:
    """What one column shows."""

    head: Head
    without: Profile  # original tokens
    with_: Profile
    whole: Profile  # every token of the version with the insertion

    def after_first(self) -> HeadProfiles:
        parts = (self.without, self.with_, self.whole)
        return HeadProfiles(self.head, *(part.after_first() for part in parts))


@dataclass(frozen=True)
class Profiles:
    """Everything that decides the grid."""

    heads: tuple[HeadProfiles, ...]
    options: ProfileGridOptions
    model: str
    prompt: str
    condition: str
    run: tuple[int, int] | None
    unmatched: int
    n_tokens: int  # of the prompt without
    about: Mapping[str, str]
    metadata: Mapping[str, str]

    @property
    def words(self) -> str:
        """What the insertion is called, in a sentence."""
        return called(self.condition, self.options.condition_labels)


def profile_grid(
    aligned: pa.Table,
    sequence: pa.Table,
    places: pa.Table,
    options: ProfileGridOptions | None = None,
    *,
    model: str,
    prompt: str,
    condition: str,
    heads: Sequence[Head],
    about: Mapping[str, str] | None = None,
) -> Figure:
    """What each token receives in some heads of one model, without and with the insertion."""
    options = options or ProfileGridOptions()
    _check(condition, heads)
    aligned = pick(aligned, "aligned", prompt=prompt, condition=condition)
    sequence = pick(sequence, "sequence", prompt=prompt, condition=condition)
    places = pick(places, "places", prompt=prompt)
    found = [
        HeadProfiles(
            head,
            *both(aligned, condition=condition, head=head),
            whole(sequence, places, condition=condition, head=head),
        )
        for head in heads
    ]
    profiles = Profiles(
        heads=tuple(one.after_first() if options.drop_first else one for one in found),
        options=options,
        model=model,
        prompt=prompt,
        condition=condition,
        run=extent(places, condition),
        unmatched=len(unmatched(places, condition)),
        n_tokens=pick(places, "places", condition=WITHOUT).num_rows,
        about=about or {},
        metadata=metadata(sequence),
    )
    return _figure(profiles, places)


def _check(condition: str, heads: Sequence[Head]) -> None:
    if condition == WITHOUT:
        raise SelectionError(
            "the grid compares a condition with 'without', so it can't be 'without' itself",
            next_step="name the insertion",
        )
    if not 1 <= len(heads) <= _MOST:
        raise SelectionError(f"{len(heads)} heads in one grid", allowed=f"1 to {_MOST}")


def _figure(profiles: Profiles, places: pa.Table) -> Figure:
    options = profiles.options
    title = options.title or profile_words.title(profiles)
    description = profile_words.description(profiles)
    words = (profile_words.caption(profiles), description)
    return Figure(
        name=options.name or profile_words.name(profiles),
        spec=whole_spec(list(_views(profiles)), options, title=title, words=words),
        table=_table(profiles, places),
        title=title,
        definition=profile_words.definition(profiles),
        description=description,
    )


def _table(profiles: Profiles, places: pa.Table) -> pa.Table:
    drawn = [(one.head, part) for one in profiles.heads for part in (one.without, one.whole)]
    rows = profile_rows(drawn, places, model=profiles.model, prompt=profiles.prompt)
    return rows.replace_schema_metadata(dict(profiles.metadata))


def _views(profiles: Profiles) -> Iterator[Spec]:
    """Pairs of rows, each row under its legend."""
    grid = Grid.of(len(profiles.heads), profiles.options, most=profiles.options.columns)
    names = [(profiles.model, where(one.head, profiles.options)) for one in profiles.heads]
    titles = column_titles(names, grid.panel_width + 16)
    for heads, above in zip(grid.rows(profiles.heads), grid.rows(titles), strict=True):
        uppers = [_upper(profiles, *pair) for pair in zip(heads, above, strict=True)]
        yield legend_view(_upper_legend(profiles), grid.inner)
        yield row([panel_view(one, _frame(profiles, grid, i)) for i, one in enumerate(uppers)])
        lowers = [_lower(profiles, one) for one in heads]
        yield legend_view(_lower_legend(profiles), grid.inner)
        yield row([panel_view(one, _frame(profiles, grid, i)) for i, one in enumerate(lowers)])


def _upper_legend(profiles: Profiles) -> list[Entry]:
    blue, red = without_and_with(profiles.options.colours)
    return [
        Entry("Original tokens:"),
        Entry("without", "line", blue),
        Entry(f"with {profiles.words}", "line", red),
    ]


def _lower_legend(profiles: Profiles) -> list[Entry]:
    blue, _ = without_and_with(profiles.options.colours)
    shade = [Entry("inserted tokens", "area", SHADE)] if profiles.run else []
    return [Entry("All tokens:"), Entry(f"with {profiles.words}", "line", blue), *shade]


def _upper(profiles: Profiles, one: HeadProfiles, title: tuple[str, ...]) -> Panel:
    blue, red = without_and_with(profiles.options.colours)
    return Panel(
        series=(
            Series("without", blue, one.without),
            Series(f"with {profiles.words}", red, one.with_),
        ),
        x_title="Token position (without)",
        title=title,
    )


def _lower(profiles: Profiles, one: HeadProfiles) -> Panel:
    blue, _ = without_and_with(profiles.options.colours)
    return Panel(
        series=(Series(f"with {profiles.words}", blue, one.whole),),
        x_title="Token position (with)",
        runs=(Run(*profiles.run, _bare(profiles)),) if profiles.run else (),
    )


def _bare(profiles: Profiles) -> str:
    return profiles.options.condition_labels.get(profiles.condition, profiles.condition)


def _frame(profiles: Profiles, grid: Grid, column: int) -> Frame:
    return Frame(
        width=grid.panel_width,
        height=_HEIGHT[profiles.options.width],
        few=profiles.options.few,
        y_title=None if column else "Average attention weight",
    )
