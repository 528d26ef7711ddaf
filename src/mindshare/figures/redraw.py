"""A saved figure → the same figure in another style, from the tables and words it was drawn of.

    manifest.json  figures ─► NAME ─► drawn ─► {"chart": "class_bars", "arguments": …}

The arguments of the call are kept as JSON, tables by their names in the folder. Needs no model, and
measures nothing. What a folder says is not trusted: it may come from anyone.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa

from mindshare.errors import OutputError, SelectionError, require_known
from mindshare.figures.figure import CHARTS, FILES, Figure, Source, check_formats, labels_of
from mindshare.figures.saving import encoded
from mindshare.folders import (
    MANIFEST,
    flush,
    inside,
    parsed,
    read_folder,
    read_text,
    reading,
    write_manifest,
)
from mindshare.naming import WITHOUT

_NAMED = ("class", "model", "condition")  # columns whose values can have labels and colours


def redraw(
    folder: str | Path,
    style: Mapping[str, Any],
    *,
    figures: Sequence[str] = (),
    formats: Sequence[str] = (),
) -> list[Figure]:
    """Draw saved figures (all, or those named) again in a folder of results.

    `style` are fields of `Style` to change; labels and colours are added to those that are there.
    `formats` are written in addition to those that are there.
    """
    from mindshare.store import is_run, run_lock

    path = Path(folder)
    check_formats(formats)
    tables, manifest = read_folder(path, of_figures=True)
    entries: dict[str, Any] = manifest.get("figures") or {}
    for name in figures:
        require_known(name, entries, f"there is no figure {name!r} in {path}")
    if "labels" in style and figures and len(figures) < len(entries):
        raise SelectionError(
            "layers and heads are counted in one way in a folder",
            next_step="leave out the figures: zero-based or one-based is for all of them at once",
        )
    with reading(path):
        drawn = {n: saved_figure(path, n, entries[n], tables, style) for n in figures or entries}
        there = {n: {file.rpartition(".")[2] for file in entries[n]["files"]} for n in drawn}
        endings = {n: [e for e in FILES if e in there[n] or e in formats] for n in drawn}
        for name, figure in drawn.items():
            entries[name] |= figure.entry(endings[name])
            entries[name]["drawn"] = _changed(entries[name]["drawn"], figure)
        files = (file for name in drawn for file in entries[name]["files"])
        if "files" in manifest:  # a run knows its files by name
            manifest["files"] = sorted({*manifest["files"], *files})
    _check_names(style, drawn.values())
    if not figures:
        manifest["labels"] = labels_of(list(drawn.values()))
    # Nobody else writes to a run meanwhile.
    writing = run_lock(path) if is_run(path) else nullcontext()
    with writing, tempfile.TemporaryDirectory(prefix=".redraw-", dir=path) as building:
        for name, figure in drawn.items():
            figure.write(Path(building), endings[name])
        _move(Path(building), path, manifest)
    return list(drawn.values())


def saved_figure(
    path: Path,
    name: str,
    entry: Mapping[str, Any],
    tables: Mapping[str, pa.Table],
    style: Mapping[str, Any] | None = None,
) -> Figure:
    """The figure of an entry of a manifest, in its own style or with another."""
    drawn = entry.get("drawn")
    if drawn is None and style is None:
        return _as_it_was(path, name, entry)
    if not isinstance(drawn, Mapping) or drawn.get("chart") not in CHARTS:
        raise OutputError(
            f"the figures in {path} were saved without what they were drawn of",
            next_step="make them again: mindshare run STUDY.toml --out FOLDER",
        )
    function, options = CHARTS[drawn["chart"]]
    with reading(path):
        arguments = {n: _decoded(v, tables) for n, v in drawn["arguments"].items()}
        saved = dict(arguments.pop("options", None) or {})
        for field, value in (style or {}).items():  # labels and colours are added to those there
            added = field in ("label", "colour")
            saved[field] = {**saved.get(field, {}), **value} if added else value
        if style and (style.get("title") or style.get("subtitle")):
            saved["bare"] = bool(style.get("bare"))  # words that were asked for are shown
        return function(**arguments, options=options(**saved))


def _as_it_was(path: Path, name: str, entry: Mapping[str, Any]) -> Figure:
    """Of a folder that an earlier version wrote, which kept spec and table of each figure."""
    import pyarrow.parquet as pq

    with reading(path):
        spec = parsed(read_text(path, f"{name}.json"))
        table = pq.read_table(inside(path, f"{name}.parquet"))
        title, definition = str(entry["title"]), str(entry["definition"])
        return Figure(name, spec, table, title, definition, str(entry["description"]))


def _check_names(style: Mapping[str, Any], figures: Iterable[Figure]) -> None:
    """Refuse a label or a colour for what no figure shows."""
    tables = [figure.table for figure in figures]
    columns = [t[name] for t in tables for name in _NAMED if name in t.column_names]
    known = dict.fromkeys(str(x) for column in columns for x in column.unique().to_pylist() if x)
    known[WITHOUT] = None
    check_names(style, list(known))


def check_names(style: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuse a label or a colour of a name that is not known."""
    for field in ("label", "colour"):
        for name in style.get(field) or ():
            require_known(name, known, f"a {field} is given for {name!r}, which is not there")


# ── arguments ──────────────────────────────────────────────────────────────────────────────


def _decoded(value: Any, tables: Mapping[str, pa.Table]) -> Any:
    if isinstance(value, list):
        return tuple(_decoded(part, tables) for part in value)
    if isinstance(value, dict):
        if "table" in value:
            return tables[value["table"]]
        return {name: _decoded(part, tables) for name, part in value["map"]}
    return value


def _changed(drawn: Mapping[str, Any], figure: Figure) -> dict[str, Any]:
    """What was saved, with the options that the figure has now."""
    assert figure.source is not None
    options = Source(figure.source.chart, {"options": figure.source.arguments["options"]})
    now, _ = encoded(options, figure.name, {})
    return {**drawn, "arguments": {**drawn["arguments"], **now["arguments"]}}


# ── files ─────────────────────────────────────────────────────────────────────────────────────────


def _move(building: Path, folder: Path, manifest: Mapping[str, Any]) -> None:
    """Every file is replaced at once; the manifest comes last."""
    try:
        write_manifest(building, manifest)
        files = sorted(building.iterdir(), key=lambda file: file.name == MANIFEST)
        for file in files:
            flush(file)
        for file in files:
            os.replace(file, folder / file.name)
    except OSError as error:
        raise OutputError(f"can't write {folder}: {error.strerror}") from error
