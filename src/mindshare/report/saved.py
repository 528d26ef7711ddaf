"""A folder of results → what a report is made from: manifest, tables, figures, study file.

Reads what `Chart.save` wrote and refuses anything else, with the reason. Knows two kinds: charts of
token classes, and insertions. Needs no model, and draws nothing.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mindshare.errors import OutputError
from mindshare.naming import file_word

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["classes", "insertion"]
STUDY, PROMPTS = "study.toml", "prompts.jsonl"
_DRAWN_AT = 3  # pixels of a PNG for one unit of the spec
_NEXT = "name a folder that `mindshare shares`, `head-map` or `insert` wrote with --out"


@dataclass(frozen=True)
class SavedFigure:
    """One figure with the files it was drawn to."""

    name: str
    title: str
    definition: str
    description: str
    spec: dict[str, Any]
    folder: Path

    def file(self, ending: str) -> Path:
        return self.folder / f"{self.name}.{ending}"

    @property
    def size(self) -> tuple[int, int]:
        """Width and height on a screen, as the PNG's header tells."""
        with self.file("png").open("rb") as file:
            head = file.read(24)
        if len(head) < 24 or head[:8] != b"\x89PNG\r\n\x1a\n":
            raise _broken(self.folder, f"{self.name}.png is not a PNG")
        width, height = struct.unpack(">II", head[16:24])
        return round(width / _DRAWN_AT), round(height / _DRAWN_AT)

    def table(self) -> pa.Table:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return pq.read_table(self.file("parquet"))
        except (OSError, pa.ArrowInvalid) as error:
            raise _broken(self.folder, f"{self.name}.parquet: {error}") from error


@dataclass(frozen=True)
class Saved:
    """A whole folder."""

    path: Path
    kind: Kind
    manifest: Mapping[str, Any]
    tables: Mapping[str, pa.Table]
    figures: tuple[SavedFigure, ...]
    study: str | None  # the study file's text
    prompts: str | None  # the prompts' file, as JSON Lines

    @property
    def models(self) -> dict[str, dict[str, Any]]:
        """label → how it was measured, in the order of the tables"""
        known: dict[str, dict[str, Any]] = self.manifest["models"]
        order = dict.fromkeys(self.tables["summary"]["model"].to_pylist())
        return {label: known[label] for label in [*order, *known] if label in known}

    @property
    def summary(self) -> pa.Table:
        return self.tables["summary"]

    def own(self, name: str, label: str) -> pa.Table | None:
        """A table of one model: `tokens_LABEL`, or `places` if there is one model only."""
        for candidate in (f"{name}_{file_word(label)}", name):
            if candidate in self.tables:
                return self.tables[candidate]
        return None

    @property
    def metadata(self) -> dict[str, str]:
        """Everything that the summary says about itself."""
        found: dict[bytes, bytes] = self.summary.schema.metadata or {}
        return {key.decode(): value.decode() for key, value in found.items()}

    def about(self, key: str, default: str = "") -> str:
        """What the summary says about itself: measure, confidence, seed, …"""
        return self.metadata.get(f"mindshare.{key}", default)


def read_saved(path: Path) -> Saved:
    from mindshare.folders import read_folder

    _check_written(path)
    tables, manifest = read_folder(path)
    kind = _kind(path, tables, manifest)
    try:
        figures = tuple(
            SavedFigure(
                name=name,
                title=words["title"],
                definition=words["definition"],
                description=words["description"],
                spec=json.loads((path / f"{name}.json").read_text(encoding="utf-8")),
                folder=path,
            )
            for name, words in manifest["figures"].items()
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _broken(path, f"{type(error).__name__}: {error}") from error
    _check_files(path, figures)
    return Saved(
        path=path,
        kind=kind,
        manifest=manifest,
        tables=tables,
        figures=_ordered(figures, kind),
        study=_text(path / STUDY),
        prompts=_text(path / PROMPTS),
    )


def _check_written(path: Path) -> None:
    from mindshare.folders import MANIFEST

    if not path.is_dir():
        what = "is not a folder" if path.exists() else "does not exist"
        raise OutputError(f"{path} {what}", next_step=_NEXT)
    if not (path / MANIFEST).is_file():
        raise OutputError(f"{path} holds no results: there is no {MANIFEST}", next_step=_NEXT)


def _kind(path: Path, tables: Mapping[str, pa.Table], manifest: Mapping[str, Any]) -> Kind:
    if "report" in manifest:
        raise OutputError(f"{path} is a report, not results", next_step=_NEXT)
    columns = set(tables["summary"].column_names) if "summary" in tables else set()
    complete = manifest.get("models") and manifest.get("figures")
    if complete and {"model", "class", "mean"} <= columns:
        return "classes"
    if complete and {"model", "condition", "measure", "mean"} <= columns:
        return "insertion"
    if "summary" not in tables and "mass" in tables:
        raise OutputError(
            f"{path} holds the tables of `mindshare measure`, and a report is made of charts",
            next_step="draw them: mindshare shares MODEL … --out FOLDER, with the same options",
        )
    raise OutputError(
        f"{path} holds results that no report can be made of: a report needs figures, models and a "
        "table `summary`",
        allowed="charts of token classes, maps of heads, and insertions",
        next_step=_NEXT,
    )


def _check_files(path: Path, figures: tuple[SavedFigure, ...]) -> None:
    for figure in figures:
        for ending in ("png", "svg", "csv", "parquet"):
            if not figure.file(ending).is_file():
                raise _broken(path, f"{figure.name}.{ending} is missing")


def _ordered(figures: tuple[SavedFigure, ...], kind: Kind) -> tuple[SavedFigure, ...]:
    """As they are to be read: a manifest sorts them by name."""
    if kind == "classes":
        return tuple(sorted(figures, key=lambda f: ("_minus_" not in f.name, f.name)))
    order = ("text", "profiles", "panel", "map", "retained_by_layer", "sweep")
    return tuple(
        sorted(
            figures,
            key=lambda f: next((i for i, w in enumerate(order) if f.name.startswith(w)), 9),
        )
    )


def _broken(path: Path, why: str) -> OutputError:
    return OutputError(
        f"the results in {path} are not complete: {why}",
        next_step="make them again: mindshare run STUDY.toml --out FOLDER",
    )


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None
