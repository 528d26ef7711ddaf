"""A prompt that was measured here: its sums, on disk too, and its queries and keys while kept.

The mass of a class is linear in the keys: mass(C) = Σ_j weight[j, C] · received[j], where
received[j] is the mean over all queries of A[i, j]. `expected` is linear in the same way. So any
classes of the measured tokens need no new pass. Needs numpy, not torch.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mindshare.disk import write_whole
from mindshare.errors import MindshareError, SelectionError
from mindshare.prompts import Prompt
from mindshare.tables import class_measures
from mindshare.tokens import ClassedTokens, Encoded, classify, parse_classes
from mindshare_explore.source import (
    ClassesBody,
    ClassView,
    ExplorerSource,
    QueriesBody,
    require_below,
    tokens_json,
)

if TYPE_CHECKING:
    from mindshare_explore.rows import QueriesAndKeys

_VERSION = 1  # of what is written


class NotKept(MindshareError):  # noqa: N818, a state, not a mistake
    """Queries and keys were given up for others; one pass brings them back."""


@dataclass(frozen=True)
class KeySums:
    """What one pass found, by layer and head; the query set is every token."""

    layers: tuple[int, ...]
    received: np.ndarray  # [layer, head, key] float32: mean over all queries of A[i, j]
    expected: np.ndarray  # [layer, head or 1, key] float32: the same, were A uniform
    heads: Mapping[str, np.ndarray]  # measure → [layer, head]
    has_sinks: bool = False  # learned ones, which take what the classes lack of 1

    @property
    def tokens(self) -> int:
        return int(self.received.shape[2])

    def by_class(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """[key, class] weights, `other` last → measure → [layer, head, class]."""
        return _class_measures(
            self.received.astype(np.float64) @ weights,
            np.broadcast_to(
                self.expected.astype(np.float64) @ weights,
                (*self.received.shape[:2], weights.shape[1]),
            ),
            weights.sum(0),
        )

    def profile(self, layer: int, head: int | None) -> np.ndarray:
        """[key]: `received` with the diagonal, the mean over the queries from the key on."""
        place = self.layers.index(layer)
        sums = self.received[place].astype(np.float64)
        one = sums.mean(0) if head is None else sums[head]
        return np.asarray(one * self.tokens / (self.tokens - np.arange(self.tokens)))


def _class_measures(
    mass: np.ndarray, expected: np.ndarray, tokens: np.ndarray
) -> dict[str, np.ndarray]:
    """From masses [..., class], `other` last, and the classes' sizes [class]."""
    measures = class_measures(mass, expected, tokens, mass[..., :-1].sum(-1, keepdims=True))
    measures["share"][..., -1] = np.nan  # `other` is no class that was named
    return measures


@dataclass
class MeasuredPrompt(ExplorerSource):
    """A source with rows and columns."""

    id: str
    model: str  # label
    prompt: Prompt
    encoded: Encoded
    sums: KeySums
    kept: QueriesAndKeys | None = field(default=None, repr=False)
    effects: list[dict[str, Any]] = field(default_factory=list, repr=False)  # the newest last

    @property
    def title(self) -> str:
        line = " ".join(self.encoded.text.split())
        return line if len(line) <= 60 else f"{line[:59]}…"

    @property
    def layers(self) -> tuple[int, ...]:
        return self.sums.layers

    @property
    def heads_known(self) -> int:
        return int(self.sums.received.shape[1])

    def tokens(self) -> dict[str, Any]:
        return encoded_json(self.encoded)

    def capabilities(self) -> dict[str, bool]:
        return {"rows": True, "classes": True, "received": True, "kept": self.kept is not None}

    def written(self) -> dict[str, Any]:
        messages = self.prompt.messages
        if messages is None:
            return {"text": self.prompt.text}
        return {"messages": [vars(message) for message in messages]}

    def classes(self, body: QueriesBody) -> ClassView:
        classed = classed_by(self.encoded, body)
        weights = classed.weights
        if body.token is None:
            measures = self.sums.by_class(weights)
        else:
            measures = self._of_one_query(body.token, weights)
        view = class_view(classed)
        if not self.sums.has_sinks:
            return replace(view, measures=measures)
        rest = 1.0 - measures["mass"].sum(-1, keepdims=True)  # what is left of 1 went to the sink
        nothing = np.full_like(rest, np.nan)
        return ClassView(
            [*view.names, "sink_slot"],
            [*view.counts, 0.0],
            view.labels,
            {
                name: np.concatenate([x, rest if name == "mass" else nothing], -1)
                for name, x in measures.items()
            },
        )

    def _of_one_query(self, token: int, weights: np.ndarray) -> dict[str, np.ndarray]:
        require_below("token", token, self.sums.tokens)
        kept = self._kept()  # once: another thread may give it up meanwhile
        rows = np.stack([kept.row(layer, token) for layer in self.layers])
        seen = [kept.seen(layer, token).astype(float) for layer in self.layers]
        shares = [one @ weights / one.sum(-1, keepdims=True) for one in seen]  # [head or 1, class]
        expected = np.stack(
            [np.broadcast_to(one, rows.shape[1:2] + one.shape[1:]) for one in shares]
        )
        return _class_measures(rows @ weights, expected, weights.sum(0))

    def head_measures(self) -> Mapping[str, np.ndarray]:
        return self.sums.heads

    def profile(self, layer: int, head: int | None) -> np.ndarray:
        self.check(layer, head)
        return self.sums.profile(layer, head)

    def _kept(self) -> QueriesAndKeys:
        kept = self.kept
        if kept is None:
            raise NotKept(
                "the queries and keys of this prompt are not in memory any more",
                next_step="measure it again: the same numbers come back",
            )
        return kept

    def line(self, layer: int, token: int, *, column: bool, lift: bool = False) -> np.ndarray:
        self.check(layer)
        require_below("token", token, self.sums.tokens)
        kept = self._kept()
        line = kept.column(layer, token) if column else kept.row(layer, token)
        if not lift:
            return line
        # Times the number of keys that the query can see: 1 = no preference.
        counts = kept.visible_counts(layer) if column else kept.seen(layer, token).sum(-1)[:, None]
        return np.asarray(line * counts)

    def recipe(self, body: ClassesBody) -> tuple[str, dict[str, str]]:
        """A `shares` study of the prompt, painted classes as spans of its text."""
        from mindshare.cli.groups import PROMPTS, study_files
        from mindshare.cli.measure import shares

        rules = {one.rule for one in body.classes}
        painted = {name: r for name, r in body.spans.items() if f"span:{name}" in rules}
        prompt = self.prompt
        if painted:  # in the text that the model reads
            prompt = Prompt.from_text(self.encoded.text, painted, id=prompt.id)
        classes = tuple(f"{one.name}={one.rule}" for one in body.classes)
        options = shares.kind(
            models=(self.model,), data=PROMPTS, class_=classes, policy=body.policy
        )
        files = study_files(options, [prompt])
        return options.line(), {name: "".join(text) for name, text in files.items()}


def encoded_json(encoded: Encoded) -> dict[str, Any]:
    return tokens_json(encoded.text, encoded.pieces, encoded.offsets, encoded.special)


def class_view(classed: ClassedTokens) -> ClassView:
    weights = classed.weights
    return ClassView(classed.names, list(weights.sum(0)), weights.argmax(1).tolist())


def classed_by(encoded: Encoded, body: ClassesBody) -> ClassedTokens:
    """The tokens by these rules; painted spans join those of the prompt."""
    length = len(encoded.text)
    painted: dict[str, tuple[tuple[int, int], ...]] = {}
    for name, ranges in body.spans.items():
        for start, stop in ranges:
            if not start < stop <= length:
                raise SelectionError(
                    f"the painted range {start} to {stop} of {name!r} is no part of the text",
                    allowed=f"start before stop, within 0 to {length}",
                )
        painted[name] = tuple(sorted((start, stop) for start, stop in ranges))
    spans = {**encoded.spans, **painted}
    classes = parse_classes([f"{one.name}={one.rule}" for one in body.classes], policy=body.policy)
    for rule in classes.rules:
        for name in rule.spans:
            if name not in spans:
                raise SelectionError(
                    f"class {rule.name!r} speaks of the span {name!r}, which is not there",
                    allowed=", ".join(spans) or "this prompt has no spans; paint one",
                )
    return classify(replace(encoded, spans=spans), classes)


def prompt_id(fingerprint: str, label: str, encoded: Encoded) -> str:
    """Twelve hex digits of what decides the numbers, and of the text that the tokens stand for."""
    parts = [_VERSION, fingerprint, label, encoded.text, list(encoded.ids)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]


# ── what a killed server does not lose ────────────────────────────────────────────────────────────


def write(folder: Path, one: MeasuredPrompt) -> None:
    """Prompt and sums in one file, whole or not at all."""
    from safetensors.numpy import save

    prompt = one.prompt
    about = {
        "version": _VERSION,
        "model": one.model,
        "text": prompt.text,
        "messages": prompt.messages and [vars(message) for message in prompt.messages],
        "spans": {name: list(map(list, ranges)) for name, ranges in prompt.spans.items()},
        "layers": list(one.sums.layers),
        "has_sinks": one.sums.has_sinks,
    }
    arrays = {"received": one.sums.received, "expected": one.sums.expected}
    arrays |= {f"head.{name}": x for name, x in one.sums.heads.items()}
    data = save(
        {name: np.ascontiguousarray(x) for name, x in arrays.items()},
        metadata={"about": json.dumps(about)},
    )
    write_whole(folder / f"{one.id}.safetensors", data)


def read(folder: Path, id_: str) -> tuple[str, Prompt, KeySums] | None:
    """(model label, prompt, sums) of what was written; None where there is nothing that fits."""
    from safetensors import SafetensorError, safe_open

    path = folder / f"{id_}.safetensors"
    if not os.path.isfile(path):
        return None
    try:
        with safe_open(path, "np") as file:
            about = json.loads((file.metadata() or {})["about"])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if about["version"] != _VERSION:
            return None
        spans = {name: [tuple(one) for one in ranges] for name, ranges in about["spans"].items()}
        if about["messages"] is None:
            prompt = Prompt.from_text(about["text"], spans)
        else:
            prompt = Prompt.from_chat(about["messages"], spans)
        sums = KeySums(
            layers=tuple(about["layers"]),
            received=arrays["received"],
            expected=arrays["expected"],
            heads={n[5:]: x for n, x in arrays.items() if n.startswith("head.")},
            has_sinks=about["has_sinks"],
        )
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, MindshareError):
        return None  # of another version, or damaged: it is measured again
    return about["model"], prompt, sums


def write_effects(folder: Path, one: MeasuredPrompt) -> None:
    write_whole(folder / f"{one.id}.effects.json", json.dumps(one.effects).encode())


def read_effects(folder: Path, id_: str) -> list[dict[str, Any]]:
    try:
        found = json.loads((folder / f"{id_}.effects.json").read_bytes())
    except (OSError, ValueError):
        return []
    return found if isinstance(found, list) else []
