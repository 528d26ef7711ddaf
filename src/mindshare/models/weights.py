"""A model folder becomes the list of its weight files, each checked to be whole.

Checks headers and names only, so that a truncated file is named before transformers trips over it.
Knows nothing about what the weights mean.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mindshare.errors import ModelFileError

_AGAIN = "copy or download the file again; nothing was loaded from it"
# In the order in which transformers looks for them.
_WHOLE = ("model.safetensors", "pytorch_model.bin")


def weight_files(folder: Path) -> tuple[Path, ...]:
    """The files transformers will read, or a `ModelFileError` that names the first missing one."""
    for name in _WHOLE:
        if (folder / name).is_file():
            return (folder / name,)
        index = folder / f"{name}.index.json"
        if index.is_file():
            return _shards(index)
    raise ModelFileError(
        f"the folder {str(folder)!r} has no weights",
        allowed="model.safetensors, pytorch_model.bin, or their .index.json with all shards",
        next_step="download the weights into it, or point to the folder that has them",
    )


def has_whole_weights(folder: Path) -> bool:
    """Whether every weight file the folder promises is there."""
    try:
        return bool(weight_files(folder))
    except ModelFileError:
        return False


def check_safetensors(file: Path) -> None:
    """A safetensors file states its own length: a truncated or foreign one is refused here."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="np"):
            return
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelFileError(
            f"{file.name} is corrupt or truncated: {error}", where=str(file), next_step=_AGAIN
        ) from error


def read_json(file: Path) -> dict[str, Any]:
    """The file's JSON object, or a `ModelFileError` that names the file."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelFileError(
            f"{file.name} cannot be read as JSON: {error}", where=str(file), next_step=_AGAIN
        ) from error
    if not isinstance(content, dict):
        raise ModelFileError(f"{file.name} is not a JSON object", where=str(file), next_step=_AGAIN)
    return content


def _shards(index: Path) -> tuple[Path, ...]:
    placed = read_json(index).get("weight_map")
    if not isinstance(placed, dict) or not placed:
        raise ModelFileError(f"{index.name} has no weight_map", where=str(index), next_step=_AGAIN)
    files = tuple(index.parent / name for name in sorted(set(placed.values())))
    for file in files:
        if not file.is_file():
            raise ModelFileError(
                f"the shard {file.name} is missing", where=str(index), next_step=_AGAIN
            )
    return files
