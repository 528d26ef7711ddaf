"""The definition of correctness: float64, builds the attention matrix, no cleverness at all."""

from __future__ import annotations

import torch

from mindshare.attention.call import (
    PER_QUERY,
    AttentionCall,
    AttentionRows,
    LayerStats,
    Scratch,
    Weights,
    per_query,
)
from mindshare.attention.jobs import Request


def probabilities(
    call: AttentionCall,
    rows: slice | None = None,
    *,
    kind: torch.dtype = torch.float64,
    hidden: torch.Tensor | None = None,
) -> torch.Tensor:
    """A[batch, head, query, key] exactly as the model uses it, or some consecutive rows of it.

    `hidden` is what `hidden_keys` says of these rows, for whoever knows it already.
    """
    start, stop, _ = (rows or slice(None)).indices(call.query.shape[2])
    query = call.query[:, :, start:stop].to(kind).unflatten(1, (-1, call.group))
    key = call.key.to(kind)[:, :, None]  # one for each group of heads
    scores: torch.Tensor = (query @ key.transpose(3, 4)).flatten(1, 2) * call.scale
    if call.softcap is not None:
        scores = torch.tanh(scores / call.softcap) * call.softcap
    if call.bias is not None:
        whole = call.bias.expand(*call.query.shape[:3], call.key.shape[2])
        scores = scores + whole[:, :, start:stop].to(kind)
    hidden = hidden_keys(call, start, stop) if hidden is None else hidden
    scores = scores.masked_fill(hidden, torch.finfo(kind).min)
    if call.sinks is None:
        return scores.softmax(-1)
    sinks = call.sinks.to(kind).view(1, -1, 1, 1).expand(*scores.shape[:3], 1)
    return torch.cat([scores, sinks], -1).softmax(-1)[..., :-1]


def run(
    call: AttentionCall, request: Request, weights: Weights, scratch: Scratch | None = None
) -> tuple[torch.Tensor, LayerStats]:
    attention = probabilities(call)
    value = call.value.double().repeat_interleave(call.group, 1)
    visible = call.visible
    queries = torch.arange(visible.queries, device=attention.device) + visible.first_query
    keys = torch.arange(visible.keys, device=attention.device) + visible.first_key
    given = received = carried = None
    output = attention @ value
    if weights.columns is not None:
        given = attention @ weights.columns.double()[:, None]
    if "received" in request.statistics:
        counted = attention * (queries[:, None] - keys > request.near)
        of_queries = weights.of_queries(visible.queries).to(attention)
        of_queries = of_queries.expand(len(attention), -1, -1)
        received = torch.einsum("bsi,bhij->bshj", of_queries, counted)
    if weights.columns is not None and "contribution" in request.statistics:
        along = attention * (output @ value.transpose(2, 3))  # A[i,j]·<v_j, o_i>
        size = (output * output).sum(-1, keepdim=True)
        carried = along @ weights.columns.double()[:, None] / size
    rows = AttentionRows(attention.contiguous(), queries, keys, scratch or Scratch(), weights.ids)
    stats = LayerStats(
        given=given,
        received=received,
        carried=carried,
        per_query={name: PER_QUERY[name](rows) for name in per_query(request.statistics)},
        kernel="reference",
    )
    return output.transpose(1, 2).to(call.value.dtype), stats


def hidden_keys(call: AttentionCall, start: int, stop: int) -> torch.Tensor:
    """Bool [batch or 1, head or 1, row, key]: True where the query may not look."""
    visible, rows = call.visible, stop - start
    everything = torch.ones(1, 1, rows, visible.keys, dtype=torch.bool, device=call.query.device)
    low, high = visible.bounds(start, stop)
    tile = visible.hidden(start, stop)
    first = high if tile is None else tile[0]
    everything[..., low:first] = False
    if tile is None:
        return everything
    shape = (*tile[1].shape[:2], rows, visible.keys)
    hidden = everything.expand(shape).clone()
    hidden[..., first:high] = tile[1].to(hidden.device)
    return hidden
