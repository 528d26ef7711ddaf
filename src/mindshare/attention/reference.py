"""The definition of correctness: float64, builds the attention matrix, no cleverness at all."""

from __future__ import annotations

import torch

from mindshare.attention.call import AttentionCall, Found, Scratch, Wanted


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


def run(call: AttentionCall, wanted: Wanted, _scratch: Scratch | None = None) -> Found:
    attention = probabilities(call)
    value = call.value.double().repeat_interleave(call.group, 1)
    visible = call.visible
    queries = torch.arange(visible.queries, device=attention.device) + visible.first_query
    keys = torch.arange(visible.keys, device=attention.device) + visible.first_key
    apart = queries[:, None] - keys
    given = received = None
    if wanted.columns is not None:
        given = attention @ wanted.columns.double()[:, None]
    if wanted.received:
        counted = attention * (apart > wanted.near)
        weights = wanted.weights(visible.queries).to(attention)
        weights = weights.expand(len(attention), -1, -1)
        received = torch.einsum("bsi,bhij->bshj", weights, counted)
    return Found(
        output=(attention @ value).transpose(1, 2).to(call.value.dtype),
        given=given,
        received=received,
        entropy=torch.special.entr(attention).sum(-1) if wanted.entropy else None,
        distance=(attention * apart).sum(-1) if wanted.distance else None,
    )


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
