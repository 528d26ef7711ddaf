"""A folder of results → sources: every model with the mean over the prompts, and single prompts.

Tables only: no model, no torch. Classes are those that were measured; where the folder has what
every token received (`mindshare measure`), those of single tokens can be shown too. A folder of
insertions has a source per condition, with the measures of its heads.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mindshare.errors import OutputError, SelectionError
from mindshare.folders import read_folder
from mindshare.measures import MEASURES, at_level
from mindshare.naming import file_word
from mindshare_explore.shapes import ClassesBody, QueriesBody
from mindshare_explore.source import ClassView, TokenView, check_head, place_of

MOST_LISTED = 50  # single prompts of a folder; the mean is over all of them
_NO_ROWS = "results hold sums, no queries and keys"
_NEXT = "open the model beside them: mindshare explore MODEL RESULTS"


def sources_of(path: Path, number: int) -> Iterator[Any]:
    """Everything that can be looked at in a folder; `number` tells folders apart."""
    tables, manifest = read_folder(path)
    folder = _Folder(path, tables, manifest)
    if "response_summary" in tables or "conditions" in _stems(tables):
        yield from _conditions(folder, number)
        return
    if not folder.models:
        raise OutputError(
            f"{path} has no table of masses or heads",
            allowed="what measure, shares, head-map and insert write with --out",
        )
    for place, (label, about) in enumerate(folder.models.items()):
        prompts = [str(one["id"]) for one in about.get("prompts", ())]
        count = int(about.get("all_prompts", {}).get("count", len(prompts)))
        if count > 1:
            yield SavedPrompt(f"r{number}.{place}.all", label, folder, None, count)
        for at, prompt in enumerate(prompts[:MOST_LISTED]):
            yield SavedPrompt(f"r{number}.{place}.{at}", label, folder, prompt, 1)


def _stems(tables: Mapping[str, Any]) -> set[str]:
    return {name.partition("_")[0] for name in tables}


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
        for candidate in (f"{name}_{file_word(label)}", name):
            if candidate in self.tables:
                return self.tables[candidate]
        return None

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


@dataclass
class SavedPrompt:
    """A source without rows: one prompt of a folder, or the mean over all (`prompt` None)."""

    id: str
    model: str
    folder: _Folder = field(repr=False)
    prompt: str | None
    prompts: int

    @property
    def title(self) -> str:
        if self.prompt is None:
            return f"{self.folder.path.name}: mean over {self.prompts:,} prompts"
        return f"{self.folder.path.name}: prompt {self.prompt}"

    @cached_property
    def _mass(self) -> pa.Table | None:
        return self._mine("mass")

    def _mine(self, name: str) -> pa.Table | None:
        """The rows of this prompt and of the first query set."""
        table = self.folder.table(name, self.model)
        if table is None:
            return None
        if self.prompt is not None:
            table = table.filter(pc.equal(table["prompt"], self.prompt))
        if "queries" in table.column_names and table.num_rows:
            table = table.filter(pc.equal(table["queries"], table["queries"][0]))
        return table

    @cached_property
    def _grid(self) -> _Grid:
        for table in (self._mass, self._mine("heads")):
            if table is not None and table.num_rows:
                return _Grid.of(table)
        raise OutputError(f"{self.folder.path} has no numbers of prompt {self.prompt}")

    @property
    def layers(self) -> tuple[int, ...]:
        return tuple(-1 if one is None else one for one in self._grid.layers)

    @property
    def heads_known(self) -> int:
        heads = self._grid.heads
        return 0 if heads == (None,) else len(heads)

    def tokens(self) -> TokenView | None:
        table = None if self.prompt is None else self._mine("tokens")
        if table is None or not table.num_rows:
            return None
        rows = table.to_pydict()
        text = [" "] * max(rows["stop"])
        for piece, start, stop in zip(rows["token"], rows["start"], rows["stop"], strict=True):
            text[start:stop] = list(piece.ljust(stop - start)[: stop - start])
        return TokenView("".join(text), rows["token"], rows["start"], rows["stop"], rows["special"])

    def capabilities(self) -> dict[str, bool]:
        single = self.prompt is not None
        received = single and self.folder.table("received", self.model) is not None
        return {"rows": False, "classes": False, "received": received, "kept": False}

    def written(self) -> None:
        return None

    def given_classes(self) -> list[dict[str, str]]:
        study = self.folder.models[self.model].get("study", {})
        return [{"name": str(name), "rule": str(rule)} for name, rule in study.get("classes", ())]

    def classes(self, body: QueriesBody) -> ClassView:
        if body.token is not None:
            raise SelectionError(_NO_ROWS, next_step=_NEXT)
        table = self._mass
        if table is None or not table.num_rows:
            return ClassView([], [], None, {})
        names = table["class"].unique().to_pylist()
        ordered = [one["name"] for one in self.given_classes() if one["name"] in names]
        names = [*ordered, *(name for name in names if name not in ordered)]
        measures = {
            measure: self._grid.array(table, measure, names)
            for measure in at_level("class")
            if measure in table.column_names
        }
        counts = self._counts(names)
        labels, tokens = None, None if self.prompt is None else self._mine("tokens")
        if tokens is not None and "class" in tokens.column_names:
            labels = [names.index(name) for name in tokens["class"].to_pylist()]
        return ClassView(names, counts, labels, measures)

    def _counts(self, names: Sequence[str]) -> list[float]:
        table = self._mine("classes")
        if table is None:
            return [0.0] * len(names)
        found = table.group_by("class").aggregate([("n_tokens", "mean")]).to_pydict()
        by_name = dict(zip(found["class"], found["n_tokens_mean"], strict=True))
        return [float(by_name.get(name) or 0.0) for name in names]

    def head_measures(self) -> Mapping[str, np.ndarray]:
        table = self._mine("heads")
        if table is None or not table.num_rows:
            return {}
        known = [name for name in at_level("head") if name in table.column_names]
        return {name: self._grid.array(table, name) for name in known}

    def profile(self, layer: int, head: int | None) -> np.ndarray:
        place_of(layer, self.layers)
        check_head(head, self.heads_known)
        table = self._mine("received") if self.prompt is not None else None
        if table is None:
            raise SelectionError(
                "these results do not have what each token received",
                next_step="mindshare measure … --measure mass,received --out FOLDER",
            )
        rows = table.filter(pc.equal(table["layer"], layer))
        if head is not None:
            rows = rows.filter(pc.equal(rows["head"], head))
        found = rows.group_by("position").aggregate([("received", "mean")]).sort_by("position")
        return np.asarray(found["received_mean"].to_numpy(zero_copy_only=False), float)

    def line(self, layer: int, token: int, *, column: bool) -> np.ndarray:
        del layer, token, column
        raise SelectionError(_NO_ROWS, next_step=_NEXT)

    lifted = line

    def recipe(self, body: ClassesBody) -> tuple[str, dict[str, str]]:
        del body  # as it was measured
        return self.folder.command, self.folder.files()


@dataclass(frozen=True)
class _Grid:
    """Rows by layer and head → arrays [layer, head(, class)], means over prompts."""

    layers: tuple[Any, ...]
    heads: tuple[Any, ...]

    @classmethod
    def of(cls, table: pa.Table) -> _Grid:
        def values(name: str) -> tuple[Any, ...]:
            found = table[name].unique().to_pylist()
            return tuple(sorted(found, key=lambda one: (one is None, one)))

        return cls(values("layer"), values("head"))

    def array(
        self, table: pa.Table, measure: str, names: Sequence[str] | None = None
    ) -> np.ndarray:
        keys = ["layer", "head", *(["class"] if names is not None else [])]
        found = table.group_by(keys).aggregate([(measure, "mean")])
        axes: list[Sequence[Any]] = [self.layers, self.heads]
        axes += [] if names is None else [names]
        places = [{value: at for at, value in enumerate(axis)} for axis in axes]
        whole = np.full([len(axis) for axis in axes], np.nan)
        columns = [found[key].to_pylist() for key in keys]
        for *cell, value in zip(*columns, found[f"{measure}_mean"].to_pylist(), strict=True):
            if value is not None:
                whole[tuple(p[c] for p, c in zip(places, cell, strict=True))] = value
        return whole


# ── insertions ────────────────────────────────────────────────────────────────────────────────────


def _conditions(folder: _Folder, number: int) -> Iterator[SavedCondition]:
    summary = next(
        (folder.tables[n] for n in ("response_summary", "summary") if n in folder.tables), None
    )
    if summary is None or "condition" not in summary.column_names:
        raise OutputError(
            f"{folder.path} has no summary of its insertions",
            next_step="mindshare insert … --out FOLDER",
        )
    pairs = dict.fromkeys(
        zip(summary["model"].to_pylist(), summary["condition"].to_pylist(), strict=True)
    )
    for place, (model, condition) in enumerate(pairs):
        mine = summary.filter(
            pc.and_(pc.equal(summary["model"], model), pc.equal(summary["condition"], condition))
        )
        mine = mine.filter(pc.and_(pc.is_valid(mine["layer"]), pc.is_valid(mine["head"])))
        if mine.num_rows:
            yield SavedCondition(f"r{number}.{place}.all", model, folder, mine, condition)


class SavedCondition(SavedPrompt):
    """What an insertion does to every head, mean over the prompts."""

    def __init__(self, id_: str, model: str, folder: _Folder, table: pa.Table, name: str) -> None:
        super().__init__(id_, model, folder, None, 1)
        self._table, self._name = table, name

    @property
    def title(self) -> str:
        return f"{self.folder.path.name}: {self._name}"

    @cached_property
    def _grid(self) -> _Grid:
        return _Grid.of(self._table)

    def given_classes(self) -> list[dict[str, str]]:
        return []

    def classes(self, body: QueriesBody) -> ClassView:
        del body
        return ClassView([], [], None, {})

    def head_measures(self) -> Mapping[str, np.ndarray]:
        found = {}
        for name in self._table["measure"].unique().to_pylist():
            if name in MEASURES:
                rows = self._table.filter(pc.equal(self._table["measure"], name))
                found[name] = self._grid.array(rows, "mean")
        return found
