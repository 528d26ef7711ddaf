"""May prompts share a pass? Asked of the model itself, once per kind of model.

Only if company changes no bit of anyone's numbers: the same short prompts alone and together, in
another order and with other neighbours. Experts are a no without asking: which prompts share an
expert's product depends on what they say.

This answer and that of the self-check are kept as small files in the user's cache, by kind of
model: its class, config, dtype and device, with this processor and these versions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mindshare.attention.forward import run_batch
from mindshare.attention.jobs import Job, PromptResult, Request
from mindshare.attention.recorder import inputs_device
from mindshare.disk import write_whole
from mindshare.errors import MindshareError
from mindshare.models.facts import context_length_of

PROBE = Request(statistics=frozenset({"mass", "received", "entropy", "distance"}))
_LENGTHS = ((17, 25, 32), (193, 200, 208))  # of probes; each group has one padded length
_PADDING = 2e-4  # padding may change the last digits, and nothing else


def may_share(model: torch.nn.Module) -> bool:
    """Whether prompts may be padded and share passes; remembered, or found out now."""
    subject = f"sharing/{torch.get_num_threads()}"  # how work is split may decide it
    known = remembered(model, subject)
    if known is not None:
        return bool(known.get("may_share"))
    answer = invariant(model)
    remember(model, subject, {"may_share": answer})
    return answer


def invariant(model: torch.nn.Module) -> bool:
    """The same, found out now."""
    config = getattr(model, "config", None)
    # Half precision is rounded at every step; a law for it has not been shown.
    half = next(model.parameters()).dtype not in (torch.float32, torch.float64)
    if half or _has_experts(config):
        return False
    room = context_length_of(config) or max(max(_LENGTHS))
    fitting = [lengths for lengths in _LENGTHS if max(lengths) <= room]
    try:
        return bool(fitting) and all(_same(model, probe_jobs(model, x)) for x in fitting)
    except (MindshareError, RuntimeError, IndexError, ValueError):
        return False  # a model that can't be fed a padded batch has passes of its own


def _same(model: torch.nn.Module, jobs: list[Job]) -> bool:
    together = run_batch(model, [*jobs[::-1], jobs[0]], PROBE, padded=True)
    mirrored = together[-2::-1]  # in the order of `jobs`
    alone = [run_batch(model, [job], PROBE, padded=True)[0] for job in jobs]
    bare = run_batch(model, jobs[:1], PROBE, padded=False)[0]
    return (
        all(_difference(a, b) == 0 for a, b in zip(alone, mirrored, strict=True))
        and _difference(alone[0], together[-1]) == 0
        and _difference(alone[0], bare) < _PADDING
    )


def _difference(a: PromptResult, b: PromptResult) -> float:
    """The largest over all layers and numbers; NaN stands in the same places."""
    largest = 0.0
    for layer, numbers in a.layers.items():
        for name, values in numbers.items():
            other = b.layers[layer][name]
            if not np.array_equal(np.isnan(values), np.isnan(other)):
                return float("inf")
            largest = max(largest, float(np.nanmax(np.abs(values - other), initial=0.0)))
    return largest


def probe_jobs(model: torch.nn.Module, lengths: Sequence[int], *, seed: int = 0) -> list[Job]:
    """Made-up jobs of so many random tokens, the same ones each time."""
    vocabulary = model.get_input_embeddings().num_embeddings  # type: ignore[operator]
    random = np.random.default_rng(seed)
    return [
        Job(
            item=f"{number:02x}",
            ids=random.integers(0, vocabulary, length),
            columns=random.random((length, 3), np.float32),
        )
        for number, length in enumerate(lengths)
    ]


def _has_experts(config: Any) -> bool:
    """Whether any part of the config counts experts."""
    found = config.to_dict() if hasattr(config, "to_dict") else {}
    parts = [found, *(value for value in found.values() if isinstance(value, dict))]
    return any(
        "expert" in str(name) and isinstance(value, int) and value > 1
        for part in parts
        for name, value in part.items()
    )


def remembered(model: torch.nn.Module, subject: str) -> dict[str, Any] | None:
    try:
        found = json.loads(_path(model, subject).read_text())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def remember(model: torch.nn.Module, subject: str, found: Mapping[str, Any]) -> None:
    """Best effort: a cache that can't be written costs a check next time, nothing else."""
    with suppress(OSError):
        write_whole(_path(model, subject), json.dumps(dict(found)).encode())


def versions() -> str:
    return ", ".join(f"{name} {version(name)}" for name in ("mindshare", "transformers", "torch"))


def _path(model: torch.nn.Module, subject: str) -> Path:
    from mindshare.models.files import cache_directory
    from mindshare.models.processor import processor

    config: Any = getattr(model, "config", None)
    first = next(model.parameters())
    description = config.to_dict() if config is not None else {}
    for changing in ("_name_or_path", "dtype", "transformers_version"):
        description.pop(changing, None)
    where = [inputs_device(model).type, processor(model)]
    key = json.dumps(
        [type(model).__name__, description, str(first.dtype), *where, versions()],
        sort_keys=True,
        default=str,
    )
    return cache_directory() / subject / f"{digest(key)}.json"


def digest(text: str) -> str:
    """Hash a text to the name of a file."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
