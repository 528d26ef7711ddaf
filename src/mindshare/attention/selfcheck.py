"""Is this model measured exactly? Ask the model's own eager attention, once per kind of model.

On a short prompt the masses and the received attention of every layer are computed twice: by
mindshare, and from the matrices that the model's eager attention returns. The verdict is remembered
on disk by model class, config, dtype, device and versions; a mismatch refuses the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import torch

from mindshare.attention.forward import forward, run_pass, without_head
from mindshare.attention.interface import implementation
from mindshare.attention.remembering import remember, remembered, versions
from mindshare.attention.watcher import Request, Watcher
from mindshare.errors import ExactnessError

_TOKENS = 40
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
    return verdict


def check(model: torch.nn.Module) -> Verdict:
    """Compare with eager attention now."""
    config: Any = getattr(model, "config", None)
    vocabulary = model.get_input_embeddings().num_embeddings  # type: ignore[operator]
    limit = getattr(config, "max_position_embeddings", None) or _TOKENS
    tokens = max(2, min(_TOKENS, limit))
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, vocabulary, (1, tokens), generator=generator)
    columns = torch.rand(1, tokens, 5, generator=generator)
    request = Request(columns=columns, valid=torch.ones(1, tokens, dtype=torch.bool), expected=True)
    watcher = run_pass(model, ids, request)
    matrices = eager_matrices(model, ids, watcher)
    error = max(_difference(watcher, layer, a, columns) for layer, a in matrices.items())
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
    model: torch.nn.Module, ids: torch.Tensor, watcher: Watcher
) -> dict[int, torch.Tensor]:
    """A[batch, head, query, key] of each watched layer from the model's own eager attention."""
    found: dict[int, torch.Tensor] = {}
    with (
        torch.inference_mode(),
        implementation(model, "eager"),
        _listening({k: watcher.modules[k] for k in watcher.layers}, found),
    ):
        forward(without_head(model), ids.to(next(model.parameters()).device), None, use_cache=False)
    missing = sorted(set(watcher.layers) - set(found))
    if missing:
        raise ExactnessError(
            f"the eager attention of layer {missing[0]} can't be read, so nothing shows that its "
            "statistics are exact",
            next_step="measure another model",
        )
    return found


@contextmanager
def _listening(
    modules: dict[int, torch.nn.Module], found: dict[int, torch.Tensor]
) -> Iterator[None]:
    """Attention modules return (output, weights): keep the weights."""

    def keep(layer: int) -> Any:
        def hook(_module: torch.nn.Module, _inputs: Any, outputs: Any) -> None:
            if isinstance(outputs, tuple):
                for part in outputs[1:]:
                    if isinstance(part, torch.Tensor) and part.dim() == 4:
                        found[layer] = part.detach()
                        return

        return hook

    handles = [module.register_forward_hook(keep(layer)) for layer, module in modules.items()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _difference(
    watcher: Watcher, layer: int, attention: torch.Tensor, columns: torch.Tensor
) -> float:
    attention = attention.double().cpu()
    seen = watcher.layers[layer]
    assert seen.received is not None
    given = torch.cat(seen.given, 2).double().cpu()
    if attention.shape[:3] != given.shape[:3]:
        return float("inf")
    apart = (given - attention @ columns.double()[:, None]).abs().max()
    below = attention.tril(-1).sum(2)
    apart_received = (seen.received[:, 0].cpu() - below).abs().max() / attention.shape[2]
    return float(torch.maximum(apart, apart_received))
