"""A saved figure → the same figure in another style, from the tables and words it was drawn of.

    manifest.json  figures ─► NAME ─► drawn ─► {"chart": "class_bars", "arguments": …}

The arguments of the call are kept as JSON, tables by their names in the folder. Needs no model, and
measures nothing. What a folder says is not trusted: it may come from anyone.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from mindshare.errors import OutputError, SelectionError, nearest
from mindshare.figures.bars import ClassBarsOptions, class_bars
from mindshare.figures.figure import FILES, Figure, Source, check_formats, labels_of
from mindshare.figures.heat_map import HeadMapOptions, head_map, response_map
from mindshare.figures.lines import LineOptions, layer_lines, sweep_curves
from mindshare.figures.parts import PartBarsOptions, part_bars
from mindshare.figures.profiles import ProfileOptions, family_panel, profile_grid
from mindshare.figures.selection import metadata
from mindshare.figures.theme import Style
from mindshare.figures.token_strip import TokenStripOptions, received_strip, text_strip
from mindshare.figures.uses import DotOptions, use_dots, use_lines
from mindshare.folders import (
    FIGURE_TABLES,
    MANIFEST,
    flush,
    inside,
    read_folder,
    read_text,
    reading,
    write_manifest,
    write_parquet,
)

CHARTS: dict[str, tuple[Callable[..., Figure], type[Style]]] = {
    "class_bars": (class_bars, ClassBarsOptions),
    "head_map": (head_map, HeadMapOptions),
    "response_map": (response_map, HeadMapOptions),
    "layer_lines": (layer_lines, LineOptions),
    "sweep_curves": (sweep_curves, LineOptions),
    "profile_grid": (profile_grid, ProfileOptions),
    "family_panel": (family_panel, ProfileOptions),
    "text_strip": (text_strip, TokenStripOptions),
    "received_strip": (received_strip, TokenStripOptions),
    "part_bars": (part_bars, PartBarsOptions),
    "use_lines": (use_lines, LineOptions),
    "use_dots": (use_dots, DotOptions),
}
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
    path = Path(folder)
    check_formats(formats)
    tables, manifest = read_folder(path, of_figures=True)
    entries: dict[str, Any] = manifest.get("figures") or {}
    for name in figures:
        if name not in entries:
            raise SelectionError(
                f"there is no figure {name!r} in {path}{nearest(name, entries)}",
                allowed=", ".join(entries),
            )
    if "labels" in style and figures and len(figures) < len(entries):
        raise SelectionError(
            "layers and heads are counted in one way in a folder",
            next_step="give labels for all figures at once",
        )
    with reading(path):
        drawn = {n: saved_figure(path, n, entries[n], tables, style) for n in figures or entries}
        endings = {n: _endings(entries[n], formats) for n in drawn}
        for name, figure in drawn.items():
            entries[name] |= figure.entry(endings[name])
            entries[name]["drawn"] = _changed(entries[name]["drawn"], figure)
        files = (file for name in drawn for file in entries[name]["files"])
        if "files" in manifest:  # a run knows its files by name
            manifest["files"] = sorted({*manifest["files"], *files})
    _check_names(style, drawn.values())
    if not figures:
        manifest["labels"] = labels_of(list(drawn.values()))
    with _writing(path), tempfile.TemporaryDirectory(prefix=".redraw-", dir=path) as building:
        for name, figure in drawn.items():
            figure.write(Path(building), endings[name])
        _move(Path(building), path, manifest)
    return list(drawn.values())


def _endings(entry: Mapping[str, Any], formats: Sequence[str]) -> list[str]:
    """Of the files that a figure has, and of those that are asked for."""
    there = {file.rpartition(".")[2] for file in entry["files"]}
    return [ending for ending in FILES if ending in there or ending in formats]


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
        arguments["options"] = options(**{**saved, **_merged(saved, style or {})})
        return function(**arguments)


def _as_it_was(path: Path, name: str, entry: Mapping[str, Any]) -> Figure:
    """Of a folder that an earlier version wrote, which kept spec and table of each figure."""
    import pyarrow.parquet as pq

    with reading(path):
        spec = json.loads(read_text(path, f"{name}.json"))
        table = pq.read_table(inside(path, f"{name}.parquet"))
        title, definition = str(entry["title"]), str(entry["definition"])
        return Figure(name, spec, table, title, definition, str(entry["description"]))


def _merged(saved: Mapping[str, Any], style: Mapping[str, Any]) -> dict[str, Any]:
    """Labels and colours are added; all else is replaced."""
    added = ("label", "colour")
    return {n: {**saved.get(n, {}), **v} if n in added else v for n, v in style.items()}


def _check_names(style: Mapping[str, Any], figures: Any) -> None:
    """Refuse a label or a colour for what no figure shows."""
    tables = [figure.table for figure in figures]
    columns = [t[name] for t in tables for name in _NAMED if name in t.column_names]
    known = dict.fromkeys(str(x) for column in columns for x in column.unique().to_pylist() if x)
    known["without"] = None
    check_names(style, list(known))


def check_names(style: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuse a label or a colour of a name that is not known."""
    for field in ("label", "colour"):
        for name in style.get(field) or ():
            if name not in known:
                raise SelectionError(
                    f"a {field} is given for {name!r}, which is not there{nearest(name, known)}",
                    allowed=", ".join(known),
                )


# ── arguments ⇄ JSON ──────────────────────────────────────────────────────────────────────────────


def encoded(
    source: Source, figure: str, tables: Mapping[str, pa.Table]
) -> tuple[dict[str, Any], dict[str, pa.Table]]:
    """The call as JSON, and the tables it needs that are not among those that are saved."""
    names = {id(content): name for name, content in tables.items()}
    more: dict[str, pa.Table] = {}

    def plain(value: Any, argument: str) -> Any:
        if isinstance(value, pa.Table):
            name = names.setdefault(id(value), f"{figure}_{argument}")
            if name not in tables:
                more[name] = value
            return {"table": name}
        if is_dataclass(value):
            return {"map": [[k, plain(v, k)] for k, v in _chosen(value).items()]}
        if isinstance(value, Mapping):
            pairs = enumerate(value.items())
            return {"map": [[k, plain(v, f"{argument}_{i}")] for i, (k, v) in pairs]}
        if isinstance(value, list | tuple | set | frozenset):
            parts = sorted(value) if isinstance(value, set | frozenset) else value
            return [plain(part, f"{argument}_{i}") for i, part in enumerate(parts)]
        return value

    arguments = {n: plain(v, n) for n, v in source.arguments.items() if v is not None}
    return {"chart": source.chart, "arguments": arguments}, more


def _chosen(options: Any) -> dict[str, Any]:
    """The fields that are not what they are by themselves."""
    usual = type(options)()
    values = {field.name: getattr(options, field.name) for field in fields(options)}
    return {name: value for name, value in values.items() if value != getattr(usual, name)}


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


# ── figures of earlier commands ───────────────────────────────────────────────────────────────────


def keep_figures(
    folder: Path, building: Path, manifest: Mapping[str, Any], tables: Mapping[str, pa.Table]
) -> dict[str, Any]:
    """Put the figures that are in the folder beside new ones, with the tables they came with.

    A table whose name a new one has taken gets its measure behind its name. Returns the manifest
    of both.
    """
    whole = dict(manifest)
    try:
        there, old = read_folder(folder, of_figures=True)
    except OutputError:
        return whole  # no results yet, or not whole
    with reading(folder):
        return _with_kept(folder, building, whole, (there, old), tables)


def _with_kept(
    folder: Path,
    building: Path,
    manifest: dict[str, Any],
    earlier: tuple[Mapping[str, pa.Table], Mapping[str, Any]],
    tables: Mapping[str, pa.Table],
) -> dict[str, Any]:
    there, old = earlier
    kept = {n: e for n, e in (old.get("figures") or {}).items() if n not in manifest["figures"]}
    named = [n for e in kept.values() for n in (*e.get("tables", ()), *_tables_in(e.get("drawn")))]
    names = _names_beside(dict.fromkeys(named), there, tables)
    write_parquet(building, {new: there[n] for n, new in names.items() if new not in tables})
    beside = {}
    for key in ("tables", FIGURE_TABLES):
        more = (new for n, new in names.items() if n in old.get(key, ()) and new not in tables)
        beside[key] = sorted([*manifest[key], *more])
    for entry in kept.values():
        entry["tables"] = sorted(names[n] for n in entry.get("tables", ()))
        entry |= {"drawn": _renamed(entry["drawn"], names)} if "drawn" in entry else {}
        for file in entry["files"]:
            shutil.copyfile(inside(folder, file), building / file)
    order = [*manifest["figure_order"], *(n for n in old.get("figure_order", ()) if n in kept)]
    return manifest | beside | {"figures": manifest["figures"] | kept, "figure_order": order}


def _names_beside(
    names: Iterable[str], there: Mapping[str, pa.Table], tables: Mapping[str, pa.Table]
) -> dict[str, str]:
    """Earlier table → its name beside the new tables: its own, if it is free or means the same."""
    chosen: dict[str, str] = {}
    for name in names:
        taken = name in tables and not there[name].equals(tables[name], check_metadata=True)
        measure = metadata(there[name]).get("mindshare.measure", "")
        new = f"{name}_{measure if measure.isidentifier() else 'earlier'}" if taken else name
        ways = itertools.chain([new], (f"{new}_{n}" for n in itertools.count(2)))
        used = {*tables, *there, *chosen.values()}
        chosen[name] = next(way for way in ways if way not in used) if taken else name
    return chosen


def _tables_in(value: Any) -> Iterator[str]:
    """The names of tables in encoded arguments."""
    for part in value if isinstance(value, list) else ():
        yield from _tables_in(part)
    if isinstance(value, dict):
        if isinstance(value.get("table"), str):
            yield value["table"]
        for part in value.values():
            yield from _tables_in(part)


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Encoded arguments with other names of tables."""
    if isinstance(value, list):
        return [_renamed(part, names) for part in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("table"), str):
        return {"table": names[value["table"]]}
    return {key: _renamed(part, names) for key, part in value.items()}


# ── files ─────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Nobody else writes to the folder meanwhile, if it is a run."""
    from mindshare.store import is_run, run_lock

    if not is_run(folder):
        yield
        return
    with run_lock(folder):
        yield


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
