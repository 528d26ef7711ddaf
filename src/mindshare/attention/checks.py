"""What is asked of the model itself, once per kind of model, and remembered on disk.

`verify`: is it measured exactly? On a short prompt the masses and the received attention of every
layer are computed twice, by mindshare and from the matrices that the model's eager attention
returns; a mismatch refuses the model.

`may_share`: may prompts share a pass? Only if company changes no bit of anyone's numbers: the same
short prompts alone and together, in another order and with other neighbours. Experts are a no
without asking: which prompts share an expert's product depends on what they say.

Answers are kept as small files in the user's cache, by kind of model: its class, config, dtype and
device, with this processor and these versions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mindshare.attention.call import TokenBatch
from mindshare.attention.forward import (
    forward,
    may_end_early,
    run_batch,
    run_pass,
    without_head,
)
from mindshare.attention.jobs import Job, PromptResult, Request
from mindshare.attention.recorder import (
    Recorder,
    implementation,
    inputs_device,
    probe_ids,
    temporary_hooks,
)
from mindshare.disk import write_whole
from mindshare.errors import ExactnessError, MindshareError
from mindshare.models.facts import context_length_of

_TOKENS = 40
PROBE = Request(statistics=frozenset({"mass", "received", "entropy", "distance"}))
_LENGTHS = ((17, 25, 32), (193, 200, 208))  # of probes; each group has one padded length
_PADDING = 2e-4  # padding may change the last digits, and nothing else
_TOLERANCE = {torch.float64: 2e-4, torch.float32: 2e-4, torch.float16: 1e-2, torch.bfloat16: 6e-2}


@dataclass(frozen=True)
class Verdict:
    """What the self-check found. `error` is the largest absolute difference over all layers."""

    exact: bool
    error: float
    tolerance: float
    layers: int
    tokens: int
    versions: str


def verify(model: torch.nn.Module) -> Verdict:
    """The verdict for this kind of model, remembered or made now; raises where it is not exact."""
    known = remembered(model, "verdicts")
    verdict = Verdict(**known) if known is not None else check(model)
    if known is None and verdict.exact:
        remember(model, "verdicts", asdict(verdict))
    if not verdict.exact:
        raise ExactnessError(
            f"mindshare's statistics differ from this model's own eager attention by "
            f"{verdict.error:.2g} (tolerance {verdict.tolerance:.0e}), so they would be wrong",
            next_step="measure another model, and please report this one's type and config",
        )
    may_end_early(model)
    return verdict


def check(model: torch.nn.Module) -> Verdict:
    """Compare with eager attention now."""
    config: Any = getattr(model, "config", None)
    limit = getattr(config, "max_position_embeddings", None) or _TOKENS
    tokens = max(2, min(_TOKENS, limit))
    generator = torch.Generator().manual_seed(0)
    ids = probe_ids(model, tokens, generator)[None]
    columns = torch.rand(1, tokens, 5, generator=generator)
    batch = TokenBatch(ids, columns, torch.ones(1, tokens, dtype=torch.bool))
    recorder = run_pass(model, batch, Request())
    matrices = eager_matrices(model, ids, recorder)
    # Python's `max` would pass over a NaN that is not the first.
    error = float(np.max([_apart_from_eager(recorder, n, a) for n, a in matrices.items()]))
    dtype = next(model.parameters()).dtype
    tolerance = _TOLERANCE.get(dtype, 2e-4)
    return Verdict(
        exact=error <= tolerance,
        error=error,
        tolerance=tolerance,
        layers=len(matrices),
        tokens=tokens,
        versions=versions(),
    )


def eager_matrices(
    model: torch.nn.Module, ids: torch.Tensor, recorder: Recorder
) -> dict[int, torch.Tensor]:
    """A[batch, head, query, key] of each recorded layer from the model's own eager attention."""
    matrices: dict[int, torch.Tensor] = {}
    with (
        torch.inference_mode(),
        implementation(model, "eager"),
        _listening({k: recorder.modules[k] for k in recorder.layers}, matrices),
    ):
        forward(without_head(model), ids.to(inputs_device(model)), None, use_cache=False)
    missing = sorted(set(recorder.layers) - set(matrices))
    if missing:
        raise ExactnessError(
            f"the eager attention of layer {missing[0]} can't be read, so nothing shows that its "
            "statistics are exact",
            next_step="measure another model",
        )
    return matrices


@contextmanager
def _listening(
    modules: dict[int, torch.nn.Module], matrices: dict[int, torch.Tensor]
) -> Iterator[None]:
    """Attention modules return (output, weights): keep the weights."""

    def keep(layer: int) -> Any:
        def hook(_module: torch.nn.Module, _inputs: Any, outputs: Any) -> None:
            if isinstance(outputs, tuple):
                for part in outputs[1:]:
                    if isinstance(part, torch.Tensor) and part.dim() == 4:
                        matrices[layer] = part.detach()
                        return

        return hook

    with temporary_hooks(x.register_forward_hook(keep(layer)) for layer, x in modules.items()):
        yield


def _apart_from_eager(recorder: Recorder, layer: int, attention: torch.Tensor) -> float:
    """The largest difference of masses and received means to A [batch, head, query, key]."""
    attention = attention.double().cpu()
    stats = recorder.layers[layer]
    assert stats.received is not None
    assert stats.given is not None
    given = stats.given.double().cpu()
    if attention.shape[:3] != given.shape[:3]:
        return float("inf")
    apart = (given - attention @ recorder.batch.columns.double()[:, None]).abs().max()
    below = attention.tril(-1).sum(2)
    apart_received = (stats.received[:, 0].cpu() - below).abs().max() / attention.shape[2]
    return float(torch.maximum(apart, apart_received))


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
    name = hashlib.sha256(key.encode()).hexdigest()[:32]
    return cache_directory() / subject / f"{name}.json"
