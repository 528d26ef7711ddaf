"""What was found out about a kind of model on this machine ⇄ a small file in the user's cache.

A kind is the model's class, config, dtype and device, with this processor and these versions.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch


def remembered(model: torch.nn.Module, subject: str) -> dict[str, Any] | None:
    try:
        found = json.loads(_path(model, subject).read_text())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def remember(model: torch.nn.Module, subject: str, found: Mapping[str, Any]) -> None:
    """Best effort: a cache that can't be written costs a check next time, nothing else."""
    path = _path(model, subject)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps(dict(found)))
        temporary.replace(path)
    except OSError:
        return


def versions() -> str:
    return ", ".join(f"{name} {version(name)}" for name in ("mindshare", "transformers", "torch"))


def _path(model: torch.nn.Module, subject: str) -> Path:
    from mindshare.models.cache import cache_directory

    config: Any = getattr(model, "config", None)
    first = next(model.parameters())
    description = config.to_dict() if config is not None else {}
    for changing in ("_name_or_path", "dtype", "transformers_version"):
        description.pop(changing, None)
    where = [first.device.type, torch.backends.cpu.get_cpu_capability()]
    key = json.dumps(
        [type(model).__name__, description, str(first.dtype), *where, versions()],
        sort_keys=True,
        default=str,
    )
    name = hashlib.sha256(key.encode()).hexdigest()[:32]
    return cache_directory() / subject / f"{name}.json"
