"""A folder of results → sources: every model with the mean over the prompts, and single prompts.

Tables only: no model, no torch. Classes are those that were measured; where the folder has what
every token received (`mindshare measure`), those of single tokens can be shown too. A folder of
knock-outs has their effects, one of insertions a source per condition with what it does to heads.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mindshare.errors import OutputError, SelectionError
from mindshare.folders import read_folder, reading
from mindshare.measures import MEASURES, at_level
from mindshare.naming import file_word
from mindshare_explore.source import (
    ClassesBody,
    ClassView,
    ExplorerSource,
    QueriesBody,
    tokens_json,
)

P = ParamSpec("P")
S = TypeVar("S", bound="SavedPrompt")
T = TypeVar("T")
MOST_LISTED = 50  # single prompts of a folder; the mean is over all of them


def sources_of(path: Path, number: int) -> Iterator[ExplorerSource]:
    """Everything that can be looked at in a folder; `number` tells folders apart."""
    with reading(path):
        yield from _sources(_Folder(path, *read_folder(path)), number)


def _sources(folder: _Folder, number: int) -> Iterator[ExplorerSource]:
    if any(name.startswith(("response_summary", "conditions")) for name in folder.tables):
        yield from _conditions(folder, number)
        return
    if not folder.models:
        raise OutputError(
            f"{folder.path} has no table of masses, heads or effects",
            allowed="what measure, shares, head-map, knockout and insert write with --out",
        )
    for place, (label, about) in enumerate(folder.models.items()):
        prompts = [str(one["id"]) for one in about.get("prompts", ())]
        count = int(about.get("all_prompts", {}).get("count", len(prompts)))
        if count > 1:
            yield SavedPrompt(f"r{number}.{place}.all", label, folder, None, count)
        for at, prompt in enumerate(prompts[:MOST_LISTED]):
            yield SavedPrompt(f"r{number}.{place}.{at}", label, folder, prompt)


@dataclass(frozen=True)
class _Folder:
    path: Path
    tables: Mapping[str, pa.Table]
    manifest: Mapping[str, Any]

    @cached_property
    def models(self) -> dict[str, Mapping[str, Any]]:
        """Label → what the manifest says of its measurement."""
        if "models" in self.manifest:
            return dict(self.manifest["models"])
        one = self.manifest.get("model")
        return {} if one is None else {str(one["name"]): self.manifest}

    def table(self, name: str, label: str) -> pa.Table | None:
        own = f"{name}_{file_word(label)}"
        return self.tables[own] if own in self.tables else self.tables.get(name)

    @property
    def command(self) -> str:
        study = self.manifest.get("study")
        said = study.get("command") if isinstance(study, Mapping) else None
        return str(said or shlex.join(["mindshare", "run", str(self.path / "study.toml")]))

    def files(self) -> dict[str, str]:
        found = {}
        for name in ("study.toml", "prompts.jsonl"):
            file = self.path / name
            if file.is_file() and file.resolve().parent == self.path.resolve():
                found[name] = file.read_text(encoding="utf-8", errors="replace")
        return found


def told(
    method: Callable[Concatenate[S, P], T],
) -> Callable[Concatenate[S, P], T]:
    """What is wrong with a table is seen where it is asked, and said with the folder's name."""

    @wraps(method)
    def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with reading(self.folder.path):
            return method(self, *args, **kwargs)

    return call


@dataclass
class SavedPrompt(ExplorerSource):
    """A source without rows: one prompt of a folder, or the mean over all (`prompt` None)."""

    id: str
    model: str
    folder: _Folder = field(repr=False)
    prompt: str | None
    prompts: int = 1

    @property
    def title(self) -> str:
        mean, one = f"mean over {self.prompts:,} prompts", f"prompt {self.prompt}"
        return f"{self.folder.path.name}: {mean if self.prompt is None else one}"

    def _mine(self, name: str) -> pa.Table | None:
        """The rows of this prompt and of the first query set; None where there are none."""
        table = self.folder.table(name, self.model)
        if table is not None and self.prompt is not None:
            table = table.filter(pc.equal(table["prompt"], self.prompt))
        if table is None or not table.num_rows:
            return None
        if "queries" in table.column_names:
            table = table.filter(pc.equal(table["queries"], table["queries"][0]))
        return table

    @cached_property
    def _by_class(self) -> pa.Table | None:
        """What has masses by class; a table of effects has those of its queries.

        A mean over prompts leaves out those that have no token of the class, as in every table.
        """
        mass = self._mine("mass")
        table = self._mine("effects") if mass is None else mass
        if table is None or self.prompt is not None or "n_tokens" not in table.column_names:
            return table
        return table.filter(pc.not_equal(table["n_tokens"], 0))

    @told
    def prompts_with(self, name: str) -> int:
        table = self._by_class
        if table is None or self.prompt is not None:
            return self.prompts
        return len(table.filter(pc.equal(table["class"], name))["prompt"].unique())

    @cached_property
    @told
    def _grid(self) -> LayerHeadGrid:
        table = self._mine("heads") if self._by_class is None else self._by_class
        if table is None or not table.num_rows:
            raise OutputError(f"{self.folder.path} has no numbers of prompt {self.prompt}")
        return LayerHeadGrid.of(table)

    @property
    @told
    def layers(self) -> tuple[int, ...]:
        return tuple(-1 if one is None else one for one in self._grid.layers)

    @property
    @told
    def heads_known(self) -> int:
        return 0 if self._grid.heads == (None,) else len(self._grid.heads)

    @cached_property
    @told
    def effects(self) -> Sequence[dict[str, Any]]:  # type: ignore[override]
        from mindshare_explore.effects import effects_in

        table = self._mine("effects")
        return [] if table is None else list(effects_in(table, self.model))

    @told
    def tokens(self) -> dict[str, Any] | None:
        table = None if self.prompt is None else self._mine("tokens")
        if table is None:
            return None
        rows = table.to_pydict()
        offsets = list(zip(rows["start"], rows["stop"], strict=True))
        text = [" "] * max(rows["stop"])
        for piece, (start, stop) in zip(rows["token"], offsets, strict=True):
            text[start:stop] = list(piece.ljust(stop - start)[: stop - start])
        return tokens_json("".join(text), rows["token"], offsets, rows["special"])

    @told
    def capabilities(self) -> dict[str, bool]:
        received = self.prompt is not None and self._mine("received") is not None
        return super().capabilities() | {"received": received}

    @told
    def given_classes(self) -> list[dict[str, str]]:
        study = self.folder.models[self.model].get("study", {})
        return [{"name": str(name), "rule": str(rule)} for name, rule in study.get("classes", ())]

    @told
    def classes(self, body: QueriesBody) -> ClassView:
        if body.token is not None:
            self.line(0, body.token, column=False)  # which is refused, in words
        table = self._by_class
        if table is None:
            return ClassView()
        there = table["class"].unique().to_pylist()
        ordered = [one["name"] for one in self.given_classes() if one["name"] in there]
        names = list(dict.fromkeys([*ordered, *there]))
        if not all(isinstance(name, str) for name in names):
            raise ValueError("a class has no name")
        measures = {
            measure: self._grid.array(table, measure, names)
            for measure in at_level("class")
            if measure in table.column_names
        }
        tokens = None if self.prompt is None else self._mine("tokens")
        labels = None
        if tokens is not None and "class" in tokens.column_names:
            labels = [names.index(name) for name in tokens["class"].to_pylist()]
        return ClassView(names, self._counts(names), labels, measures)

    def _counts(self, names: Sequence[str]) -> list[float]:
        table = self._mine("classes")
        table = self._by_class if table is None else table
        assert table is not None
        found = table.group_by("class").aggregate([("n_tokens", "mean")]).to_pydict()
        by_name = dict(zip(found["class"], found["n_tokens_mean"], strict=True))
        return [float(by_name.get(name) or 0.0) for name in names]

    @told
    def head_measures(self) -> Mapping[str, np.ndarray]:
        table = self._mine("heads")
        if table is None:
            return {}
        known = [name for name in at_level("head") if name in table.column_names]
        return {name: self._grid.array(table, name) for name in known}

    @told
    def profile(self, layer: int, head: int | None) -> np.ndarray:
        self.check(layer, head)
        table = self._mine("received") if self.prompt is not None else None
        if table is None:
            raise SelectionError(
                "these results do not have what each token received",
                next_step="mindshare measure … --measure mass,received --out FOLDER",
            )
        of_layer = pc.is_null(table["layer"]) if layer < 0 else pc.equal(table["layer"], layer)
        rows = table.filter(of_layer)
        if head is not None:
            rows = rows.filter(pc.equal(rows["head"], head))
        found = rows.group_by("position").aggregate([("received", "mean")]).sort_by("position")
        return np.asarray(found["received_mean"].to_numpy(zero_copy_only=False), float)

    @told
    def recipe(self, body: ClassesBody) -> tuple[str, dict[str, str]]:
        del body  # as it was measured
        return self.folder.command, self.folder.files()


@dataclass(frozen=True)
class LayerHeadGrid:
    """Rows by layer and head → arrays [layer, head(, class)]."""

    layers: tuple[Any, ...]
    heads: tuple[Any, ...]

    @classmethod
    def of(cls, table: pa.Table) -> LayerHeadGrid:
        def values(name: str) -> tuple[Any, ...]:
            found = table[name].unique().to_pylist()
            if not all(one is None or isinstance(one, int) for one in found):
                raise TypeError(f"a {name} that is no number")
            return tuple(sorted(found, key=lambda one: (one is None, one)))

        return cls(values("layer"), values("head"))

    def array(self, table: pa.Table, column: str, names: Sequence[str] | None = None) -> np.ndarray:
        """The means of a column; NaN where there is no number."""
        axes: dict[str, Sequence[Any]] = {"layer": self.layers, "head": self.heads}
        axes |= {} if names is None else {"class": names}
        found = table.group_by(list(axes)).aggregate([(column, "mean")])
        places = tuple(
            [axis.index(value) for value in found[key].to_pylist()] for key, axis in axes.items()
        )
        whole = np.full([len(axis) for axis in axes.values()], np.nan)
        whole[places] = found[f"{column}_mean"].to_numpy(zero_copy_only=False)
        return whole


# ── insertions ────────────────────────────────────────────────────────────────────────────────────


def _conditions(folder: _Folder, number: int) -> Iterator[SavedCondition]:
    summary = folder.tables.get("response_summary", folder.tables.get("summary"))
    if summary is None or "condition" not in summary.column_names:
        raise OutputError(
            f"{folder.path} has no summary of its insertions",
            next_step="mindshare insert … --out FOLDER",
        )
    by_head = summary.filter(pc.and_(pc.is_valid(summary["layer"]), pc.is_valid(summary["head"])))
    models, conditions = by_head["model"], by_head["condition"]
    pairs = dict.fromkeys(zip(models.to_pylist(), conditions.to_pylist(), strict=True))
    for place, (model, condition) in enumerate(pairs):
        mine = by_head.filter(pc.and_(pc.equal(models, model), pc.equal(conditions, condition)))
        yield SavedCondition(f"r{number}.{place}.all", model, folder, mine, condition)


class SavedCondition(SavedPrompt):
    """What an insertion does to every head, mean over the prompts."""

    def __init__(self, id_: str, model: str, folder: _Folder, table: pa.Table, name: str) -> None:
        super().__init__(id_, model, folder, None)
        self._table, self._name = table, name

    @property
    def title(self) -> str:
        return f"{self.folder.path.name}: {self._name}"

    @cached_property
    @told
    def _grid(self) -> LayerHeadGrid:
        return LayerHeadGrid.of(self._table)

    def given_classes(self) -> list[dict[str, str]]:
        return []

    def classes(self, body: QueriesBody) -> ClassView:
        del body
        return ClassView()

    @told
    def head_measures(self) -> Mapping[str, np.ndarray]:
        return {
            name: self._grid.array(
                self._table.filter(pc.equal(self._table["measure"], name)), "mean"
            )
            for name in self._table["measure"].unique().to_pylist()
            if name in MEASURES
        }
