"""The tensor-level door: a model, token ids and key weights → masses and received attention.

For people with their own tokenisation. Everything is exact; nothing here knows words, classes by
name, or tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from mindshare.attention.call import LayerStats, TokenBatch, query_counts, received_means
from mindshare.attention.forward import run_pass
from mindshare.attention.jobs import Request, check_chunk, check_near
from mindshare.attention.recorder import Recorder
from mindshare.attention.selfcheck import Verdict, verify
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
        check_near(self.near)
        check_chunk(self.chunk_tokens)


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
    ids = _batched_ids(_tensor(input_ids, "input_ids"))
    _require_known(hf_model, ids)
    batch = TokenBatch(
        ids=ids,
        columns=_columns(_tensor(key_weights, "key_weights"), ids),
        valid=_valid(attention_mask, ids),
        queries=_query_weights(query_weights, ids),
    )
    asked = {"given": True, "received": received}
    asked |= {"entropy": options.entropy, "distance": options.distance}
    request = Request(
        statistics=frozenset(name for name, wanted in asked.items() if wanted),
        near=options.near,
        layers=None if layers is None else frozenset(int(x) for x in layers),
        kernel=options.kernel,
        chunk_tokens=options.chunk_tokens,
    )
    verdict = verify(hf_model) if options.self_check else None
    return _collect(run_pass(hf_model, batch, request), verdict)


def _collect(recorder: Recorder, verdict: Verdict | None) -> Capture:
    batch, layers = recorder.batch, dict(sorted(recorder.layers.items()))
    counts = query_counts(batch.query_weights(), recorder.request.near)  # [batch, 1, key]

    def one(x: torch.Tensor) -> torch.Tensor:
        return x[0] if len(x) == 1 else x

    def real(x: torch.Tensor) -> torch.Tensor:
        """[batch, head, query, …] with nothing in the rows of padding."""
        padding = ~batch.valid.to(x.device)
        if not bool(padding.any()):
            return x
        return x.masked_fill(padding.view(len(x), 1, -1, *[1] * (x.dim() - 3)), 0.0)

    def by_layer(take: Callable[[LayerStats], torch.Tensor | None]) -> dict[int, torch.Tensor]:
        found = {layer: take(stats) for layer, stats in layers.items()}
        return {layer: one(real(x)).float() for layer, x in found.items() if x is not None}

    received = {
        layer: one(received_means(stats.received, counts)[:, 0]).nan_to_num(nan=0.0).float()
        for layer, stats in layers.items()
        if stats.received is not None
    }
    return Capture(
        mass=by_layer(lambda stats: stats.given),
        received=received,
        n_queries=one(counts[:, 0]),
        entropy=by_layer(lambda stats: stats.per_query.get("entropy")),
        distance=by_layer(lambda stats: stats.per_query.get("distance")),
        kernels={layer: stats.kernel for layer, stats in layers.items()},
        verdict=verdict,
    )


def _tensor(values: Any, name: str) -> torch.Tensor:
    """What people pass instead of a tensor: numbers in a list or an array, or a refusal."""
    whole = name == "input_ids"
    numbers = "token ids" if whole else "numbers"
    try:
        # Of a dict and of a table torch would take the keys, of bytes each byte.
        tensor = None if isinstance(values, (str, bytes, Mapping)) else torch.as_tensor(values)
    except (TypeError, ValueError, RuntimeError):
        tensor = None
    if tensor is None or (whole and (tensor.is_floating_point() or tensor.is_complex())):
        raise PromptError(
            f"{name} is {type(values).__name__}, no tensor of {numbers}",
            allowed=f"a tensor, array or list of {numbers}",
            next_step="a text is measured by mindshare.measure(model, text)" if whole else None,
        )
    return tensor


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


def _valid(attention_mask: Any, ids: torch.Tensor) -> torch.Tensor:
    if attention_mask is None:
        return torch.ones(ids.shape, dtype=torch.bool)
    given = _tensor(attention_mask, "attention_mask")
    mask = given[None] if given.dim() == 1 else given
    if mask.shape != ids.shape or not bool(((mask == 0) | (mask == 1)).all()):
        raise SelectionError(
            f"attention_mask has shape {tuple(given.shape)} or values other than 0 and 1; "
            "packed sequences and ready-made 4D masks can't be measured token by token",
            allowed=f"0 or 1 for each of the {tuple(ids.shape)} tokens",
            next_step="give each sequence a row of its own, padded on the right",
        )
    if not bool(mask.any(1).all()):
        raise PromptError("a row of the batch is all padding", next_step="drop the empty row")
    return mask.bool().cpu()


def _query_weights(weights: Any, ids: torch.Tensor) -> torch.Tensor | None:
    if weights is None:
        return None
    given = _tensor(weights, "query_weights").cpu()  # beside `valid`
    rows = given[None] if given.dim() == 1 else given
    if rows.dim() != 2 or rows.shape[1] != ids.shape[1] or len(rows) not in (1, len(ids)):
        raise SelectionError(
            f"query_weights has shape {tuple(given.shape)} for input_ids {tuple(ids.shape)}",
            allowed="[token] or [batch, token]",
        )
    if not bool((rows >= 0).all()):
        raise SelectionError("query_weights holds negative values or NaN", allowed="0 or more")
    return rows.float().expand(len(ids), -1)[:, None]
