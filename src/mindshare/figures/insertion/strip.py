"""An `aligned` table and the places of its tokens → what a strip of text is going to draw, checked.

Every original token has its two numbers, or none: the insertion cut it differently, or no query
counts. Draws nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from mindshare.errors import SelectionError
from mindshare.figures.insertion.shades import Shade
from mindshare.figures.insertion.text_flow import Piece
from mindshare.figures.insertion.version_words import called
from mindshare.figures.insertion.versions import WITHOUT, Head, metadata, pick
from mindshare.figures.selection import Row
from mindshare.figures.theme import Style, check_word

CHANGES = ("ratio", "difference")
_SHARE = 0.95  # of the tokens: as far as they go, colours reach; a single outlier fades no others


@dataclass(frozen=True)
class TextStripOptions(Style):
    """What to draw and how."""

    width: str = "page"
    change: str = "ratio"  # with / without; or difference: with minus without
    ends: tuple[float, float] | None = None  # of the colours; None: as far as the numbers go
    few: int = 5  # keys with fewer queries are drawn pale
    drop_first: bool = False  # the first token gets no colour
    positions: tuple[int, int] | None = None  # first and one past the last; None: all
    condition_labels: Mapping[str, str] = field(default_factory=dict)  # name → words

    def __post_init__(self) -> None:
        super().__post_init__()
        check_word(self.change, CHANGES, "change")


@dataclass(frozen=True)
class StripToken:
    """One original token; None: no such number."""

    position: int
    text: str
    matched: bool
    without: float | None = None
    with_: float | None = None
    n_queries: int = 0  # the fewer of both versions
    continues: bool = False  # more bytes of the character before

    @property
    def piece(self) -> Piece:
        return Piece(self.text, self.continues)

    def change(self, kind: str) -> float | None:
        """inf: from nothing to something."""
        if self.without is None or self.with_ is None:
            return None
        if kind == "difference":
            return self.with_ - self.without
        if self.without == 0:
            return None if self.with_ == 0 else math.inf
        return self.with_ / self.without


@dataclass(frozen=True)
class Strip:
    """Everything that decides the picture."""

    tokens: tuple[StripToken, ...]
    table: pa.Table
    shade: Shade
    options: TextStripOptions
    model: str
    prompt: str
    condition: str
    head: Head
    about: Mapping[str, str]
    metadata: Mapping[str, str]

    @property
    def words(self) -> str:
        return called(self.condition, self.options.condition_labels)

    def change(self, token: StripToken) -> float | None:
        """What its colour says."""
        if self.options.drop_first and token.position == 0:
            return None
        return token.change(self.options.change)

    def is_pale(self, token: StripToken) -> bool:
        return self.change(token) is not None and token.n_queries < self.options.few

    @property
    def changes(self) -> list[float]:
        return [x for x in map(self.change, self.tokens) if x is not None]


def choose_strip(
    aligned: pa.Table,
    places: pa.Table | None,
    options: TextStripOptions,
    *,
    names: tuple[str, str, str],
    head: Head,
    about: Mapping[str, str],
) -> Strip:
    """The tokens of one prompt in one head; `names` are those of model, prompt and condition."""
    model, prompt, condition = names
    which = {"prompt": prompt, "condition": condition, "layer": head[0], "head": head[1]}
    rows = pick(aligned, "aligned", **which)
    tokens = _tokens(rows, None if places is None else _original(places, prompt))
    tokens = _between(tokens, options.positions)
    return Strip(
        tokens=tuple(tokens),
        table=rows,
        shade=_shade(tokens, options),
        options=options,
        model=model,
        prompt=prompt,
        condition=condition,
        head=head,
        about=about,
        metadata=metadata(aligned),
    )


def _original(places: pa.Table, prompt: str) -> list[Row]:
    rows: list[Row] = pick(places, "places", prompt=prompt, condition=WITHOUT).to_pylist()
    return sorted(rows, key=lambda row: int(row["position"]))


def _tokens(rows: pa.Table, places: list[Row] | None) -> list[StripToken]:
    """Every original token; without places, a gap stands for those that have no partner."""
    known = {row["position_without"]: row for row in rows.to_pylist()}
    if places is None:
        last = max(known)
        return [_token(i, known.get(i), None, None) for i in range(last + 1)]
    before: list[Row | None] = [None, *places[:-1]]
    return [
        _token(place["position"], known.get(place["position"]), place, previous)
        for previous, place in zip(before, places, strict=True)
    ]


def _token(position: int, row: Row | None, place: Row | None, previous: Row | None) -> StripToken:
    same = place is not None and previous is not None and place["start"] < place["stop"]
    continues = bool(
        same
        and place is not None
        and previous is not None
        and (place["start"], place["stop"]) == (previous["start"], previous["stop"])
    )
    text = place["token"] if place is not None else row["token"] if row is not None else "…"
    if row is None:
        return StripToken(position, text, matched=False, continues=continues)
    return StripToken(
        position,
        text,
        matched=True,
        without=row["received_without"],
        with_=row["received_with"],
        n_queries=min(row["n_queries_without"] or 0, row["n_queries_with"] or 0),
        continues=continues,
    )


def _between(tokens: list[StripToken], positions: tuple[int, int] | None) -> list[StripToken]:
    if positions is None:
        return tokens
    first, stop = positions
    found = [token for token in tokens if first <= token.position < stop]
    if not found:
        raise SelectionError(
            f"there are no tokens from {first} to {stop}",
            allowed=f"0 to {tokens[-1].position + 1}",
        )
    return found


def _shade(tokens: list[StripToken], options: TextStripOptions) -> Shade:
    """Tokens that are pale or not coloured do not decide it."""
    ratio = options.change == "ratio"
    middle = 1.0 if ratio else 0.0
    if options.ends is not None:
        shade = Shade(*options.ends, middle, doublings=ratio)
        shade.check(options.change)
        return shade
    solid = [token for token in tokens if token.n_queries >= options.few]
    solid = solid[1:] if options.drop_first and solid and solid[0].position == 0 else solid
    changes = [token.change(options.change) for token in solid]
    numbers = [x for x in changes if x is not None and math.isfinite(x)]
    return Shade.around(numbers, middle, doublings=ratio, share=_SHARE)
