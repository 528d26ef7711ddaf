"""`like="seed-000"`: one word for all options that make a published chart's own picture.

    seed-000   bars of three token classes in four layers       `shares`
    seed-003   three heads of a layer, without and with a run    `insertion`
    seed-004   a run and a random sentence, one head a model     `insertion`

A preset says what to measure and how to draw it, where nothing else is said: any option that is
given wins. It draws the one picture it is called after; the tables are those of the command.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mindshare.errors import SelectionError, nearest
from mindshare.naming import WITHOUT

_FIRST, _AGAINST = "insertion", "against"  # conditions, whatever they are called


@dataclass(frozen=True)
class Preset:
    """What a published chart shows, and how it looks."""

    draws: str  # the function it belongs to
    figure: str  # the one that is drawn
    study: Mapping[str, Any]  # keywords of that function
    look: Mapping[str, Any]  # fields of `Style`
    label: Mapping[str, str]  # class or condition → what it is called
    colour: Mapping[str, str] = field(default_factory=dict)  # the same → #rrggbb
    options: Mapping[str, Any] = field(default_factory=dict)  # of the chart kind
    depths: tuple[float, ...] = ()  # layers that are drawn, 0 is the first and 1 the last

    def layers(self, count: int) -> tuple[int, ...]:
        """The layers at these depths of a model with so many."""
        return tuple(dict.fromkeys(round(depth * (count - 1)) for depth in self.depths))

    def styled(self, drawing: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
        """The look, below what was chosen; `names` says what its labels are of."""
        own = {
            word: {names[n]: said for n, said in mapping.items() if n in names}
            for word, mapping in (("label", self.label), ("colour", self.colour))
        }
        merged = {word: {**mapping, **drawing.get(word, {})} for word, mapping in own.items()}
        return {**self.look, **drawing, **merged}


_PANELS = {"few": 0, "legends": "inside", "panel_title": "{model} Layer {layer} Head {head}"}
_LINES = {"bare": True, "labels": "one-based", "font_size": 7}

LIKES = {
    "seed-000": Preset(
        "shares",
        "class_bars_mass",
        {"classes": {"hash": "#", "star": "*", "space": "whitespace"}},
        {"y_title": "Total Attention (Sum)", "bare": True, "width": "page", "font_size": 8},
        {"hash": "# (Hash)", "star": "* (Star)", "space": "Whitespace"},
        options={"whiskers": False},
        depths=(0, 16 / 27, 20 / 27, 1),  # layers 0, 16, 20 and 27 of 28
    ),
    "seed-003": Preset(
        "insertion",
        "profiles",
        {"insert": "/ *55", "heads": "0.0,0.1,0.7", "maps": ()},
        {"y_title": "Average Attention Weight", **_LINES},
        {WITHOUT: "w/o Meaningless tokens", _FIRST: "w/ Meaningless tokens"},
        {_FIRST: "#d63333"},
        {**_PANELS, "run_label": "Meaningless tokens", "whole_first": True},
    ),
    "seed-004": Preset(
        "insertion",
        "panel",
        {"insert": "/ *55", "heads": "0.0", "against": "random-sentence", "maps": ()},
        {"y_title": "Attention Weights", **_LINES},
        {_FIRST: "Meaningless tokens", _AGAINST: "Random sentence"},
        options={**_PANELS, "shade": False},
    ),
}


def liked(parts: Mapping[str, Any], draws: str) -> tuple[dict[str, Any], Preset | None]:
    """The keywords of a chart, with those of its preset where they say nothing; and the preset.

    Refused where another function draws it.
    """
    word = parts.get("like")
    if word is None:
        return dict(parts), None
    mine = [name for name, one in LIKES.items() if one.draws == draws]
    if word not in mine:
        command = {"insertion": "insert"}.get(LIKES[word].draws, "shares") if word in LIKES else ""
        raise SelectionError(
            f"there is no chart like {word!r} here{nearest(word, mine)}",
            allowed=", ".join(mine) or "none",
            next_step=f"draw it with mindshare {command} --like {word}" if command else None,
        )
    study = LIKES[word].study
    said = {name: value for name, value in parts.items() if value is not None or name not in study}
    return {**study, **said}, LIKES[word]


def condition_names(insertions: Sequence[str], against: Sequence[str]) -> dict[str, str]:
    """What the labels of a preset are of, in a study with these conditions."""
    names = {WITHOUT: WITHOUT, _FIRST: insertions[0]}
    return names | ({_AGAINST: against[0]} if against else {})
