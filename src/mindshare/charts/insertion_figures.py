"""Which figures an insertion is drawn as: close looks at some heads, and maps of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from mindshare.charts.heads import Head
from mindshare.figures import (
    FamilyPanelOptions,
    Figure,
    LayerLinesOptions,
    ProfileGridOptions,
    ResponseMapOptions,
    Style,
    SweepOptions,
    TextStripOptions,
    family_panel,
    layer_lines,
    profile_grid,
    response_map,
    sweep_curves,
    text_strip,
)
from mindshare.figures.insertion.version_words import called
from mindshare.naming import file_word
from mindshare.stats import aligned
from mindshare.study import InsertionStudy, Measurement

if TYPE_CHECKING:
    import pyarrow as pa

_STRIP = 800  # tokens of a prompt whose text is drawn
_LINES = 8  # conditions that lines can tell apart
MAPS = ("amplitude", "shape", "entropy_change", "divergence", "retained", "affine_r2")


@dataclass(frozen=True)
class Looked:
    """Everything that is drawn or told of."""

    measured: Mapping[str, Measurement]
    study: InsertionStudy
    prompt: str  # whose tokens are drawn
    heads: dict[str, list[Head]]  # by model: those that were named
    top: dict[str, list[Head]]  # by model: those that change most
    summary: pa.Table
    by_layer: pa.Table
    overall: pa.Table
    style: Style
    drop_first: bool
    maps: tuple[str, ...] = MAPS

    @property
    def condition(self) -> str:
        """The first insertion: the one that is looked at closely."""
        return self.study.insertions[0].name

    @property
    def against(self) -> str | None:
        return self.study.against[0].name if self.study.against else None

    @property
    def several(self) -> bool:
        return len(self.measured) > 1

    @property
    def sweep_lines(self) -> int:
        """At most so many lines a sweep needs: models × texts × places."""
        texts = {(one.name.partition(" ×")[0], one.place) for one in self.study.insertions}
        return len(texts) * len(self.measured) * (2 if self.study.against else 1)

    def not_drawn(self) -> list[str]:
        """What is left out of the pictures, though not of the tables."""
        notes = []
        if len(self.study.conditions) > _LINES:
            notes.append(
                f"retained_by_layer draws the first {_LINES} of {len(self.study.conditions)} "
                "conditions; the table by_layer has all"
            )
        if len(self.study.insertions) > 1 and self.sweep_lines > _LINES:
            notes.append(
                f"the sweep is not drawn, it would need {self.sweep_lines} lines and {_LINES} can "
                "be told apart; the table overall has its numbers"
            )
        return notes

    def options(self, *words: str, label: str | None = None, columns: int = 1) -> dict[str, Any]:
        """The style, as wide as so many columns need, and the name of the files.

        The model's name stands in it if there are several models.
        """
        parts = [*words, *([label] if label and self.several else [])]
        name = "_".join(file_word(word) for word in parts)
        return asdict(self.style) | {"name": name, "width": "page" if columns > 1 else "column"}

    def about(self) -> dict[str, str]:
        near = self.study.near
        counted = "i > j" if near == 0 else "i ≥ j" if near == -1 else f"i > j + {near}"
        asked = {"all": "every token", "original": "tokens that were not inserted"}
        models = (
            f"{label} = {found.provenance['model']['name']} "
            f"{found.provenance['model']['fingerprint']}"
            for label, found in self.measured.items()
        )
        return {
            "queries": f"{asked[self.study.queries]}, {counted}",
            "models": "; ".join(models),
            "study": self.study.hash,
        }


def draw(looked: Looked) -> tuple[Figure, ...]:
    return tuple(_figures(looked))


def _figures(looked: Looked) -> Iterator[Figure]:
    for label in looked.measured:
        for name, chosen in (("profiles", looked.heads), ("profiles_top", looked.top)):
            if label in chosen:
                yield _grid(looked, label, name, chosen[label])
    if looked.against is not None:
        yield _panel(looked)
    for label, found in looked.measured.items():
        for measure in looked.maps:
            options = ResponseMapOptions(**looked.options("map", measure, label=label))
            yield response_map(
                looked.summary,
                measure,
                options,
                model=label,
                condition=looked.condition,
                about=looked.about(),
            )
        yield _strip(looked, label, found)
    lines = LayerLinesOptions(
        **looked.options("retained_by_layer"), conditions=looked.study.conditions[:_LINES]
    )
    yield layer_lines(looked.by_layer, "retained", lines, about=looked.about())
    if len(looked.study.insertions) > 1 and looked.sweep_lines <= _LINES:
        yield sweep_curves(
            looked.overall,
            {label: found.table("conditions") for label, found in looked.measured.items()},
            SweepOptions(**looked.options("sweep", columns=2)),
            about=looked.about(),
        )


def _grid(looked: Looked, label: str, name: str, heads: list[Head]) -> Figure:
    found = looked.measured[label]
    sequence, places = found.table("sequence"), found.table("places")
    return profile_grid(
        aligned(sequence, places, cells=heads),
        sequence,
        places,
        ProfileGridOptions(
            **looked.options(name, label=label, columns=len(heads)) | _title(looked, label, name),
            drop_first=looked.drop_first,
        ),
        model=label,
        prompt=looked.prompt,
        condition=looked.condition,
        heads=heads,
        about=looked.about(),
    )


def _title(looked: Looked, label: str, name: str) -> dict[str, str]:
    """Where heads were named too, those that change most say so."""
    if name != "profiles_top" or label not in looked.heads:
        return {}
    return {"title": f"Heads that change most with {called(looked.condition, {})}: {label}"}


def _panel(looked: Looked) -> Figure:
    assert looked.against is not None
    return family_panel(
        {
            label: (found.table("sequence"), found.table("places"))
            for label, found in looked.measured.items()
        },
        FamilyPanelOptions(
            **looked.options("panel", columns=len(looked.measured)), drop_first=looked.drop_first
        ),
        prompt=looked.prompt,
        conditions=(looked.condition, looked.against),
        heads={label: heads[0] for label, heads in (looked.top | looked.heads).items()},
        about=looked.about(),
    )


def _strip(looked: Looked, label: str, found: Measurement) -> Figure:
    everywhere = aligned(found.table("sequence"), found.table("places"), cells=[(None, None)])
    return text_strip(
        everywhere,
        TextStripOptions(
            **looked.options("text", label=label, columns=2),
            drop_first=looked.drop_first,
            positions=_around(found, looked),
        ),
        model=label,
        prompt=looked.prompt,
        condition=looked.condition,
        places=found.table("places"),
        about=looked.about(),
    )


def _around(found: Measurement, looked: Looked) -> tuple[int, int] | None:
    """Of a long prompt, the positions around the insertion; None: all of them."""
    rows = [
        (row["part"], row["position_without"])
        for row in found.table("places").to_pylist()
        if (row["prompt"], row["condition"]) == (looked.prompt, looked.condition)
    ]
    matched = [place for _, place in rows if place is not None]
    if len(matched) <= _STRIP:
        return None
    before = [place for _, place in rows[: _inserted(rows)] if place is not None]
    first = max(0, min(len(before) - _STRIP // 2, matched[-1] + 1 - _STRIP))
    return first, first + _STRIP


def _inserted(rows: Sequence[tuple[str, int | None]]) -> int:
    """Where the insertion begins; the end if nothing was inserted."""
    return next((i for i, (part, _) in enumerate(rows) if part == "inserted"), len(rows))
