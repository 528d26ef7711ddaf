"""Weights become a short string that says whether two runs used the same ones.

Files: SHA-256 of their content, remembered by size and time. A model in memory: a sample, because
hashing every byte of a large one takes longer than measuring it. Does not know how files are found.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from mindshare.models.cache import file_sha256


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
    alike.
    Tensors without data here (offloaded ones) count by name, shape and dtype alone.
    """
    digest = sha256()
    config = {k: v for k, v in model.config.to_dict().items() if not _about_the_copy(k)}
    digest.update(json.dumps(config, sort_keys=True, default=str).encode())
    for name, tensor in model.state_dict().items():
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype} {_sample(tensor)}".encode())
    return f"sampled:{digest.hexdigest()}"


def _about_the_copy(key: str) -> bool:
    """Config entries that say where a model came from or who wrote it, not what it is."""
    return key.startswith("_") or key in {"transformers_version", "dtype", "torch_dtype"}


def _sample(tensor: Any) -> tuple[int, float, float] | None:
    """Integer sums come out the same in any order of addition, on any number of threads."""
    import torch

    if tensor.is_meta or tensor.numel() == 0:
        return None
    flat = tensor.detach().reshape(-1)
    whole = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[flat.element_size()]
    bits = flat if flat.dtype == torch.bool else flat.view(whole)
    return int(bits.sum(dtype=torch.int64).item()), flat[0].item(), flat[-1].item()
