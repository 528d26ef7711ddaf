"""The definition of correctness: float64, builds the attention matrix, no cleverness at all."""

from __future__ import annotations

import torch

from mindshare.attention.call import AttentionCall, Found, Wanted


def probabilities(call: AttentionCall) -> torch.Tensor:
    """A[batch, head, query, key] in float64, exactly as the model uses it."""
    query = call.query.double()
    key = call.key.double().repeat_interleave(call.group, 1)
    scores = query @ key.transpose(2, 3) * call.scale
    if call.softcap is not None:
        scores = torch.tanh(scores / call.softcap) * call.softcap
    if call.bias is not None:
        scores = scores + call.bias.double()
    scores = scores.masked_fill(_hidden(call), torch.finfo(torch.float64).min)
    if call.sinks is None:
        return scores.softmax(-1)
    sinks = call.sinks.double().view(1, -1, 1, 1).expand(*scores.shape[:3], 1)
    return torch.cat([scores, sinks], -1).softmax(-1)[..., :-1]


def run(call: AttentionCall, wanted: Wanted) -> Found:
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
        weights = wanted.query_weights
        if weights is None:
            weights = torch.ones(1, 1, visible.queries, device=attention.device)
        weights = weights.double().expand(len(attention), -1, -1)
        received = torch.einsum("bsi,bhij->bshj", weights, counted)
    return Found(
        output=(attention @ value).transpose(1, 2).to(call.value.dtype),
        given=given,
        received=received,
        entropy=torch.special.entr(attention).sum(-1) if wanted.entropy else None,
        distance=(attention * apart).sum(-1) if wanted.distance else None,
    )


def _hidden(call: AttentionCall) -> torch.Tensor:
    visible = call.visible
    everything = torch.ones(
        1, 1, visible.queries, visible.keys, dtype=torch.bool, device=call.query.device
    )
    low, high = visible.bounds(0, visible.queries)
    tile = visible.hidden(0, visible.queries)
    first = high if tile is None else tile[0]
    everything[..., low:first] = False
    if tile is None:
        return everything
    shape = (*tile[1].shape[:2], visible.queries, visible.keys)
    hidden = everything.expand(shape).clone()
    hidden[..., first:high] = tile[1].to(hidden.device)
    return hidden
