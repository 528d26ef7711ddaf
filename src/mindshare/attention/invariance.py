"""May prompts of this model share a pass? Only if company changes no bit of anyone's numbers.

Asked of the model itself, on this machine: the same short prompts alone and together, in another
order and with other neighbours. Experts are a no without asking: which prompts share an expert's
product depends on what they say.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from mindshare.attention.batches import Answer, Asked, Job, run_batch
from mindshare.attention.remembering import remember, remembered
from mindshare.errors import MindshareError
from mindshare.models.facts import context_length_of

_LENGTHS = ((17, 25, 32), (193, 200, 208))  # each group has one padded length
_TOLERANCE = 2e-4  # padding may change the last digits, and nothing else


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
    if _has_experts(config) or _is_half(model):
        return False
    room = context_length_of(config) or max(max(_LENGTHS))
    fitting = [lengths for lengths in _LENGTHS if max(lengths) <= room]
    try:
        return bool(fitting) and all(_same(model, list(_probes(model, x))) for x in fitting)
    except (MindshareError, RuntimeError, IndexError, ValueError):
        return False  # a model that can't be fed a padded batch has passes of its own


def _same(model: torch.nn.Module, jobs: list[Job]) -> bool:
    asked = Asked(entropy=True, distance=True)
    together = run_batch(model, [*jobs[::-1], jobs[0]], asked, padded=True)
    mirrored = together[-2::-1]  # in the order of `jobs`
    alone = [run_batch(model, [job], asked, padded=True)[0] for job in jobs]
    bare = run_batch(model, jobs[:1], asked, padded=False)[0]
    return (
        all(_difference(a, b) == 0 for a, b in zip(alone, mirrored, strict=True))
        and _difference(alone[0], together[-1]) == 0
        and _difference(alone[0], bare) < _TOLERANCE
    )


def _difference(a: Answer, b: Answer) -> float:
    """The largest over all layers and numbers; NaN stands in the same places."""
    largest = 0.0
    for layer, numbers in a.layers.items():
        for name, values in vars(numbers).items():
            other = getattr(b.layers[layer], name)
            if not np.array_equal(np.isnan(values), np.isnan(other)):
                return float("inf")
            largest = max(largest, float(np.nanmax(np.abs(values - other), initial=0.0)))
    return largest


def _probes(model: torch.nn.Module, lengths: tuple[int, ...]) -> Iterator[Job]:
    vocabulary = model.get_input_embeddings().num_embeddings  # type: ignore[operator]
    random = np.random.default_rng(0)
    for length in lengths:
        yield Job(
            item=str(length),
            ids=random.integers(0, vocabulary, length),
            columns=random.random((length, 3), np.float32),
            queries=np.ones((1, length), bool),
        )


def _has_experts(config: Any) -> bool:
    """Whether any part of the config counts experts."""
    found = config.to_dict() if hasattr(config, "to_dict") else {}
    parts = [found, *(value for value in found.values() if isinstance(value, dict))]
    return any(
        "expert" in str(name) and isinstance(value, int) and value > 1
        for part in parts
        for name, value in part.items()
    )


def _is_half(model: torch.nn.Module) -> bool:
    """Half precision is rounded at every step; a law for it has not been shown."""
    return next(model.parameters()).dtype not in (torch.float32, torch.float64)
