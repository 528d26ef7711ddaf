"""The tensor-level door: a model, token ids and key weights → masses and received attention.

For people with their own tokenisation. Everything is exact; nothing here knows words, classes by
name, or tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch

from mindshare.attention.forward import run_pass
from mindshare.attention.selfcheck import Verdict, verify
from mindshare.attention.watcher import LayerSeen, Request
from mindshare.errors import PromptError, SelectionError
from mindshare.models.facts import context_length_of


@dataclass(frozen=True)
class CaptureOptions:
    """What is rarely changed."""

    near: int = 0  # `received` counts queries with i > j + near; -1 includes the diagonal
    entropy: bool = False
    distance: bool = False
    chunk_tokens: int | None = None  # feed the prompt in pieces of this many tokens
    kernel: str = "auto"
    self_check: bool = True  # compare this model type with its eager attention once

    def __post_init__(self) -> None:
        if self.near < -1:
            raise SelectionError(f"near={self.near}", allowed="-1 (include the diagonal), 0, 1, …")
        if self.chunk_tokens is not None and self.chunk_tokens < 1:
            raise SelectionError(f"chunk_tokens={self.chunk_tokens}", allowed="1, 2, 3, …")


@dataclass(frozen=True, repr=False)
class Capture:
    """Statistics by layer. With a batch of more than one, each tensor gets a leading batch axis.

    Where there is no number there is 0: the rows of padded queries, and `received` of keys that no
    counted query comes after (`n_queries` is 0 there). Learned sinks take what is left of 1.
    """

    mass: Mapping[int, torch.Tensor]  # [head, query, class]
    received: Mapping[int, torch.Tensor]  # [head, key]; 0 where no query counts
    n_queries: torch.Tensor  # [key]: the total weight of the queries that count for each key
    entropy: Mapping[int, torch.Tensor]  # [head, query], nats
    distance: Mapping[int, torch.Tensor]  # [head, query], tokens
    kernels: Mapping[int, str]
    verdict: Verdict | None

    def __repr__(self) -> str:
        shape = next((tuple(x.shape) for x in self.mass.values()), ())
        return f"Capture({len(self.layers)} layers, mass {shape} each)"

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers that were seen."""
        return tuple(sorted(self.kernels))


def capture(
    hf_model: torch.nn.Module,
    input_ids: torch.Tensor,
    key_weights: torch.Tensor,
    *,
    received: bool = True,
    layers: Iterable[int] | None = None,
    query_weights: torch.Tensor | None = None,
    attention_mask: torch.Tensor | None = None,
    options: CaptureOptions | None = None,
) -> Capture:
    """Exact attention statistics of one forward pass.

    `input_ids` is [token] or [batch, token]; `key_weights` is float [token, class] or
    [batch, token, class]; `query_weights` [token] or [batch, token] weighs the queries of
    `received` (all alike by default); `attention_mask` [batch, token] is 1 for real tokens. Pad on
    the right: with padding on the left some models shift their positions and some do not.
    """
    options = options or CaptureOptions()
    if not isinstance(hf_model, torch.nn.Module):  # a LoadedModel
        hf_model = getattr(hf_model, "model", hf_model)
    ids = _batched_ids(torch.as_tensor(input_ids))
    _require_known(hf_model, ids)
    request = Request(
        columns=_columns(torch.as_tensor(key_weights), ids),
        valid=_valid(attention_mask, ids),
        query_weights=_query_weights(query_weights, ids),
        received=received,
        near=options.near,
        entropy=options.entropy,
        distance=options.distance,
        layers=None if layers is None else frozenset(int(x) for x in layers),
        kernel=options.kernel,
    )
    verdict = verify(hf_model) if options.self_check else None
    watcher = run_pass(hf_model, ids, request, chunk_tokens=options.chunk_tokens)
    return _collect(watcher.layers, request, verdict)


def query_counts(weights: torch.Tensor, near: int) -> torch.Tensor:
    """[batch, set, token] query weights → for each key j the sum of those with i > j + near."""
    from_here = weights.double().flip(-1).cumsum(-1).flip(-1)  # Σ over i ≥ j
    skip = near + 1
    if skip <= 0:
        return from_here
    counts = torch.zeros_like(from_here)
    if skip < from_here.shape[-1]:
        counts[..., :-skip] = from_here[..., skip:]
    return counts


def received_means(sums: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """[batch, set, head, key] sums over [batch, set, key] counts; NaN where no query counts."""
    counts = counts[:, :, None].to(sums.device)
    return torch.where(counts > 0, sums / counts, torch.nan)


def _collect(layers: Mapping[int, LayerSeen], request: Request, verdict: Verdict | None) -> Capture:
    counts = query_counts(request.weights(), request.near)  # [batch, 1, key]

    def one(x: torch.Tensor) -> torch.Tensor:
        return x[0] if len(x) == 1 else x

    def joined(name: str) -> dict[int, torch.Tensor]:
        parts = {layer: getattr(seen, name) for layer, seen in sorted(layers.items())}
        return {k: one(real(torch.cat(v, 2))).float() for k, v in parts.items() if v}

    def real(x: torch.Tensor) -> torch.Tensor:
        """[batch, head, query, …] with nothing in the rows of padding."""
        padding = ~request.valid.to(x.device)
        if not bool(padding.any()):
            return x
        return x.masked_fill(padding.view(len(x), 1, -1, *[1] * (x.dim() - 3)), 0.0)

    received = {
        layer: one(received_means(seen.received, counts)[:, 0]).nan_to_num(nan=0.0).float()
        for layer, seen in sorted(layers.items())
        if seen.received is not None
    }
    return Capture(
        mass=joined("given"),
        received=received,
        n_queries=one(counts[:, 0]),
        entropy=joined("entropy"),
        distance=joined("distance"),
        kernels={layer: seen.kernel for layer, seen in sorted(layers.items())},
        verdict=verdict,
    )


def _batched_ids(input_ids: torch.Tensor) -> torch.Tensor:
    ids = input_ids[None] if input_ids.dim() == 1 else input_ids
    if ids.dim() != 2 or ids.numel() == 0:
        raise PromptError(
            f"input_ids has shape {tuple(input_ids.shape)}: nothing to measure",
            allowed="[token] or [batch, token] with at least one token",
        )
    return ids


def _columns(key_weights: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    columns = key_weights[None] if key_weights.dim() == 2 else key_weights
    if columns.dim() != 3 or columns.shape[1] != ids.shape[1] or len(columns) not in (1, len(ids)):
        raise SelectionError(
            f"key_weights has shape {tuple(key_weights.shape)} for input_ids {tuple(ids.shape)}",
            allowed="[token, class] or [batch, token, class] with the same token count",
        )
    if not bool(torch.isfinite(columns).all()):
        raise SelectionError(
            "key_weights holds values that are not numbers", allowed="finite floats"
        )
    return columns.float().expand(len(ids), -1, -1)


def _require_known(model: torch.nn.Module, ids: torch.Tensor) -> None:
    """Every id is one of the model's, and the model can hold them all."""
    config = getattr(model, "config", None)
    limit = None if config is None else context_length_of(config)
    if limit is not None and ids.shape[1] > limit:
        raise SelectionError(
            f"{ids.shape[1]} tokens are more than the model's context of {limit}",
            next_step="shorten the prompt or choose a model with a longer context",
        )
    if not hasattr(model, "get_input_embeddings"):
        return  # not a transformers model: refused with its own reason
    vocabulary = model.get_input_embeddings().num_embeddings  # type: ignore[operator]
    if int(ids.min()) < 0 or int(ids.max()) >= vocabulary:
        raise PromptError(
            f"input_ids holds {int(ids.max())} or {int(ids.min())}, which is no token of the model",
            allowed=f"0 to {vocabulary - 1}",
        )


def _valid(attention_mask: torch.Tensor | None, ids: torch.Tensor) -> torch.Tensor:
    if attention_mask is None:
        return torch.ones(ids.shape, dtype=torch.bool)
    mask = attention_mask[None] if attention_mask.dim() == 1 else attention_mask
    if mask.shape != ids.shape or not bool(((mask == 0) | (mask == 1)).all()):
        raise SelectionError(
            f"attention_mask has shape {tuple(attention_mask.shape)} or values other than 0 and 1; "
            "packed sequences and ready-made 4D masks can't be measured token by token",
            allowed=f"0 or 1 for each of the {tuple(ids.shape)} tokens",
            next_step="give each sequence a row of its own, padded on the right",
        )
    if not bool(mask.any(1).all()):
        raise PromptError("a row of the batch is all padding", next_step="drop the empty row")
    return mask.bool().cpu()


def _query_weights(weights: torch.Tensor | None, ids: torch.Tensor) -> torch.Tensor | None:
    if weights is None:
        return None
    rows = weights[None] if weights.dim() == 1 else weights
    if rows.dim() != 2 or rows.shape[1] != ids.shape[1] or len(rows) not in (1, len(ids)):
        raise SelectionError(
            f"query_weights has shape {tuple(weights.shape)} for input_ids {tuple(ids.shape)}",
            allowed="[token] or [batch, token]",
        )
    if not bool((rows >= 0).all()):
        raise SelectionError("query_weights holds negative values or NaN", allowed="0 or more")
    return rows.float().expand(len(ids), -1)[:, None]
