"""The files of a model: which hold its weights, whether they are whole, and their hashes.

The SHA-256 of a file is remembered in the cache directory by path, size and modification time, so
that a 500 MB file is read once. Of a model in memory a sample is hashed, because hashing every byte
of a large one takes longer than measuring it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from mindshare.disk import write_whole
from mindshare.errors import ModelFileError
from mindshare.limits import read_whole

_WHOLE = ("model.safetensors", "pytorch_model.bin")  # in transformers' own order


def weight_files(folder: Path) -> tuple[Path, ...]:
    """The files transformers will read, or a `ModelFileError` that names the first missing one."""
    for name in _WHOLE:
        index = folder / f"{name}.index.json"
        if os.path.isfile(folder / name):
            return (folder / name,)
        if os.path.isfile(index):
            file_of = read_json(index).get("weight_map")  # weight → file
            if not isinstance(file_of, dict) or not file_of:
                raise _broken(index, "has no weight_map")
            for shard in file_of.values():
                if not isinstance(shard, str) or Path(shard).name != shard:
                    raise _broken(index, f"names {shard!r:.80}, which is no file of its folder")
            shards = tuple(folder / shard for shard in sorted(set(file_of.values())))
            for shard in shards:
                if not os.path.isfile(shard):
                    raise _broken(index, f"names the shard {shard.name}, which is missing")
            return shards
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
        raise _broken(file, f"is corrupt or truncated: {error}") from error


def read_json(file: Path) -> dict[str, Any]:
    """The file's JSON object, or a `ModelFileError` that names the file."""
    try:
        content = json.loads(read_whole(file).decode())
    except (OSError, ValueError, RecursionError) as error:
        raise _broken(file, f"cannot be read as JSON: {error}") from error
    if not isinstance(content, dict):
        raise _broken(file, "is not a JSON object")
    return content


def _broken(file: Path, problem: str) -> ModelFileError:
    return ModelFileError(
        f"{file.name} {problem}",
        where=str(file),
        next_step="copy or download the file again; nothing was loaded from it",
    )


def cache_directory() -> Path:
    """`MINDSHARE_CACHE`, or the platform's cache directory of this user; may be deleted anytime."""
    chosen = os.environ.get("MINDSHARE_CACHE")
    if chosen:
        return Path(os.path.expanduser(chosen))
    from platformdirs import user_cache_path

    return user_cache_path("mindshare")


def file_sha256(path: Path) -> str:
    """SHA-256 of the file's content, from the cache if the file has not changed since."""
    path = path.resolve()
    stat = path.stat()
    key = {"path": str(path), "size": stat.st_size, "mtime_ns": stat.st_mtime_ns}
    note = cache_directory() / "hashes" / f"{sha256(str(path).encode()).hexdigest()[:32]}.json"
    try:
        content = json.loads(note.read_text(encoding="utf-8"))
        if all(content[name] == value for name, value in key.items()):
            return str(content["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        pass  # no note, or a damaged one
    with path.open("rb") as stream:
        digest = file_digest(stream, "sha256").hexdigest()
    # A cache that cannot be written costs time at the next load, never this load.
    with suppress(OSError):
        write_whole(note, json.dumps({**key, "sha256": digest}).encode())
    return digest


def files_fingerprint(files: Iterable[Path]) -> str:
    """One file: the SHA-256 of its content. Several: SHA-256 over their sorted names and hashes."""
    hashed = sorted((file.name, content_sha256(file)) for file in files)
    if len(hashed) == 1:
        return f"sha256:{hashed[0][1]}"
    listing = "\n".join(f"{digest}  {name}" for name, digest in hashed)
    return f"sha256:{sha256(listing.encode()).hexdigest()}"


def content_sha256(file: Path) -> str:
    """The hub's cache already names large files by their SHA-256; others are read."""
    blob = file.resolve()
    if blob.parent.name == "blobs" and re.fullmatch(r"[0-9a-f]{64}", blob.name):
        return blob.name
    return file_sha256(blob)


def sampled_fingerprint(model: Any) -> str:
    """`sampled:` + SHA-256 over the config and, for each tensor, its name, shape, dtype, the sum of
    its bits read as integers, and its first and last value.

    A sample, not a proof: two models whose tensors hold the same values in another order look
    alike. Tensors without data here (offloaded ones) count by name, shape and dtype alone.
    """
    digest = sha256()
    of_the_copy = {"transformers_version", "dtype", "torch_dtype"}  # not of the weights
    items = model.config.to_dict().items()
    config = {k: v for k, v in items if not k.startswith("_") and k not in of_the_copy}
    digest.update(json.dumps(config, sort_keys=True, default=str).encode())
    for name, tensor in model.state_dict().items():
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype} {_sample(tensor)}".encode())
    return f"sampled:{digest.hexdigest()}"


def _sample(tensor: Any) -> tuple[int, float, float] | None:
    """Integer sums come out the same in any order of addition, on any number of threads."""
    import torch

    if tensor.is_meta or tensor.numel() == 0:
        return None
    flat = tensor.detach().reshape(-1)
    whole = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[flat.element_size()]
    bits = flat if flat.dtype == torch.bool else flat.view(whole)
    return int(bits.sum(dtype=torch.int64).item()), flat[0].item(), flat[-1].item()
