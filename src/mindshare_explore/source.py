"""What the page can ask about, and how: bodies of requests, and the sources that answer them.

An `ExplorerSource` is a measured prompt (`live`) or a part of a folder of results (`results`).
Arrays are [layer, head, …]; where only the mean over the heads is known there is one head, and
`heads_known` says so. Bodies are what the OpenAPI document describes; every size is bounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from mindshare.errors import SelectionError
from mindshare.figures.colours import PALETTES, class_colours
from mindshare.measures import MEASURES
from mindshare.naming import UNNAMED
from mindshare.prompts import Message, Prompt

if TYPE_CHECKING:
    from mindshare.figures import Figure

PALETTE = PALETTES["seed"]
MOST_CHARACTERS = 400_000  # of one prompt
MOST_MESSAGES = 200
MOST_CLASSES = 7  # that the palette tells apart
MOST_RANGES = 1_000  # of one painted class

Name = Annotated[str, Field(max_length=40)]
Text = Annotated[str, Field(max_length=MOST_CHARACTERS)]
Position = Annotated[int, Field(ge=0, le=10_000_000)]
Range = Annotated[list[Position], Field(min_length=2, max_length=2)]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class MessageBody(Body):
    role: Name
    content: Text


class PromptBody(Body):
    """A text or a chat, as a model reads it."""

    model: Annotated[str, Field(max_length=500)]
    text: Text | None = None
    messages: Annotated[list[MessageBody], Field(max_length=MOST_MESSAGES)] | None = None

    def prompt(self) -> Prompt:
        if self.messages is None:
            return Prompt(text=self.text)
        turns = tuple(Message(one.role, one.content) for one in self.messages)
        return Prompt(text=self.text, messages=turns)


class ClassBody(Body):
    name: Name
    rule: Annotated[str, Field(max_length=500)]


class ClassesBody(Body):
    """Rules in order, the first that matches wins; `spans` are painted, in characters."""

    classes: Annotated[list[ClassBody], Field(max_length=MOST_CLASSES)] = []
    spans: Annotated[
        dict[Name, Annotated[list[Range], Field(max_length=MOST_RANGES)]], Field(max_length=50)
    ] = {}
    policy: Literal["priority", "pure", "proportional"] = "priority"


class TokensBody(PromptBody, ClassesBody):
    """A prompt before it is measured."""


class QueriesBody(ClassesBody):
    """Classes of a measured prompt, seen by all of its tokens or by one."""

    token: Position | None = None


class InsertBody(Body):
    at: Position  # a character of the text that the model reads
    text: Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)]


class InModelBody(Body):
    model: Annotated[str, Field(max_length=500)]


class CompareBody(Body):
    a: Name
    b: Name


class ChartBody(QueriesBody):
    """The chart of a report: classes by layer."""

    measure: Name = "mass"
    against: Name | None = None  # another prompt or model, drawn beside it


class EffectBody(ClassesBody):
    """Hide one of the classes from the last token: what does the answer lose?"""

    cls: Name
    each: bool = True  # each head by itself, or all heads of a layer together
    answer: Annotated[str, Field(min_length=1, max_length=1_000)] | None = None  # None: its own
    also: Annotated[list[Name], Field(max_length=200)] = []  # further prompts, for an interval


class BundleBody(Body):
    """What a bundle keeps beside the aggregates: pinned rows and columns, as [layer, token]."""

    pins: Annotated[list[Range], Field(max_length=50)] = []
    view: Annotated[str, Field(max_length=20_000)] = ""  # the page's state
    classes: ClassesBody = ClassesBody()
    against: Name | None = None


def numbers(values: np.ndarray, digits: int = 7) -> Any:
    """An array as nested lists with so many significant digits; null where there is none."""
    if values.ndim > 1:
        return [numbers(one, digits) for one in values]
    return [
        float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in values.tolist()
    ]


def tokens_json(
    text: str,
    pieces: Sequence[str],
    offsets: Sequence[tuple[int, int]],
    special: Sequence[bool],
) -> dict[str, Any]:
    """A prompt's tokens, with their places in the text that the model reads."""
    return {
        "text": text,
        "pieces": list(pieces),
        "starts": [start for start, _ in offsets],
        "stops": [stop for _, stop in offsets],
        "special": [at for at, one in enumerate(special) if one],
    }


@dataclass(frozen=True)
class ClassView:
    """Classes of a prompt: which token belongs where, and every measure by layer and head."""

    names: Sequence[str] = ()
    counts: Sequence[float] = ()  # tokens of each class
    labels: Sequence[int] | None = None  # by token, the place of its class in `names`
    measures: Mapping[str, np.ndarray] = field(default_factory=dict)  # [layer, head, class]

    def to_json(self) -> dict[str, Any]:
        names = [name for name in self.names if name not in UNNAMED]
        colours = class_colours([*names, *UNNAMED], PALETTE)
        return {
            "names": list(self.names),
            "colours": [colours[name] for name in self.names],
            "counts": [float(f"{count:.7g}") for count in self.counts],
            "labels": None if self.labels is None else list(self.labels),
            "measures": {name: numbers(x) for name, x in self.measures.items()},
        }


class ExplorerSource:
    """Whatever can be looked at; here as one that has neither text nor rows."""

    id: str
    model: str  # its label
    prompts: int = 1  # over how many its numbers are means
    effects: Sequence[dict[str, Any]] = ()  # of knock-outs: see effects.py

    @property
    def title(self) -> str:
        raise NotImplementedError

    @property
    def layers(self) -> tuple[int, ...]:
        """Their numbers; -1 where only their mean is known."""
        raise NotImplementedError

    @property
    def heads_known(self) -> int:
        """How many heads; 0 where only their mean is known."""
        raise NotImplementedError

    def tokens(self) -> dict[str, Any] | None:
        """See `tokens_json`."""
        return None

    def capabilities(self) -> dict[str, bool]:
        """`rows`: one row or column at a time; `classes`: any class; `received`: of a key."""
        return dict.fromkeys(("rows", "classes", "received", "kept"), False)

    def classes(self, body: QueriesBody) -> ClassView:
        raise NotImplementedError

    def prompts_with(self, name: str) -> int:
        """Over how many prompts the numbers of a class are means: those with a token of it."""
        del name  # a single prompt is its own mean
        return self.prompts

    def written(self) -> dict[str, Any] | None:
        """The prompt as it was typed, where that is known: `text` or `messages`."""
        return None

    def given_classes(self) -> list[dict[str, str]]:
        """Classes it was measured with, as rules."""
        return []

    def head_measures(self) -> Mapping[str, np.ndarray]:
        raise NotImplementedError

    def profile(self, layer: int, head: int | None) -> np.ndarray:
        """[key]: what each token receives."""
        raise NotImplementedError

    def line(self, layer: int, token: int, *, column: bool, lift: bool = False) -> np.ndarray:
        """[head, token]: a row or a column; with `lift` as a ratio to uniform attention."""
        del layer, token, column, lift
        raise SelectionError(
            "results hold sums, no queries and keys",
            next_step="open the model beside them: mindshare explore MODEL RESULTS",
        )

    def recipe(self, body: ClassesBody) -> tuple[str, dict[str, str]]:
        """The command that makes the same, and the files of its study."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """All that the page needs to know first, numbers by class aside."""
        heads = self.head_measures()
        return {
            "id": self.id,
            "model": self.model,
            "title": self.title,
            "layers": list(self.layers),
            "heads": self.heads_known,
            "tokens": self.tokens(),
            "can": self.capabilities(),
            "classes": self.given_classes(),
            "prompt": self.written(),
            "measures": {name: numbers(x) for name, x in heads.items()},
            "known": [
                {"layer": self.layers[layer], "head": head, "name": name}
                for layer, head, name in (known_heads(heads) if self.heads_known else [])
            ],
            "effects": list(self.effects),
        }

    def check(self, layer: int, head: int | None = None) -> None:
        """Refuse a layer or head that is not there."""
        if layer not in self.layers:
            first, last = min(self.layers), max(self.layers)
            allowed = f"{first} to {last}" if last >= 0 else "-1: only their mean is known"
            raise SelectionError(f"there is no layer {layer} here", allowed=allowed)
        if head is not None:
            require_below("head", head, self.heads_known)


def require_below(what: str, at: int, count: int) -> None:
    if not 0 <= at < count:
        allowed = f"0 to {count - 1}" if count else "none: only their mean is known"
        raise SelectionError(f"there is no {what} {at} here", allowed=allowed)


def known_heads(heads: Mapping[str, np.ndarray]) -> list[tuple[int, int, str]]:
    """(place of the layer, head, name) of heads that the field has a name for."""
    return [
        (int(layer), int(head), known[0])
        for name, values in heads.items()
        if (known := MEASURES[name].known_as) is not None
        for layer, head in np.argwhere(values >= known[1])
    ]


def class_chart(sources: Sequence[ExplorerSource], body: ChartBody, head: int | None) -> Figure:
    """Classes by layer as a report draws them, of one head or of the mean; sources side by side."""
    from mindshare.figures import ClassBarsOptions, class_bars
    from mindshare.tables import SCHEMAS, table

    labels = [one.model for one in sources]
    if len(set(labels)) < len(labels):
        labels = [f"{label} {letter}" for label, letter in zip(labels, "AB", strict=False)]
    queries = "all" if body.token is None else f"token {body.token}"
    # No spread, no interval, nothing that a test could say: those are in reports.
    empty = dict.fromkeys(SCHEMAS["summary"].names) | {"queries": queries, "reliable": False}
    rows: list[dict[str, Any]] = []
    for source, label in zip(sources, labels, strict=True):
        view = source.classes(body)
        if body.measure not in view.measures:
            raise SelectionError(
                f"{body.measure!r} is not known here", allowed=", ".join(view.measures)
            )
        whole = np.ma.masked_invalid(view.measures[body.measure])  # [layer, head, class]
        values = whole.mean(1) if head is None else whole[:, head]
        layers = [None if layer < 0 else layer for layer in source.layers]  # None: their mean
        for column, name in enumerate(view.names):
            n = source.prompts_with(name)
            about = empty | {"model": label, "head": head, "class": name}
            about |= {"n_prompts": n, "n_groups": n, "n_absent": source.prompts - n}
            rows += [
                about | {"layer": layer, "mean": float(values[place, column])}
                for place, layer in enumerate(layers)
                if values[place, column] is not np.ma.masked
            ]
    if all(row["class"] == "other" for row in rows):
        raise SelectionError("there is no class to draw", next_step="paint one, or write a rule")
    metadata = {"mindshare.measure": body.measure, "mindshare.queries": queries}
    summary = table("summary", {name: [row[name] for row in rows] for name in empty}, metadata)
    where = "mean over the heads" if head is None else f"head {head}"
    return class_bars(summary, ClassBarsOptions(width="page"), about={"heads": where})
