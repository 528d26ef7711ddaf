"""The two identities: the vendor's fused kernel does the work, A never exists, not even as a tile.

Given: attention output is A·V, so columns appended to V come back as Σ_j A[i,j]·column[j]: class
masses, key positions for `distance`, and K itself for `entropy`, since Σ_j A·s = scale·q·(A·K) and
entropy = log-sum-exp − that. Q and K are padded with zeros: the kernel wants equal head sizes.

Received: Σ_i w_i·exp(s_ij − lse_i) is attention with queries and keys swapped, −lse_i folded in as
one more feature, both sequences reversed so that the causal mask still applies. Its log-sum-exp is
the log of the column sum, and its output times that sum is the sum under any query weights put in
V.

Only for `call.plain`. On CPUs it needs the flash kernel that returns its log-sum-exp.
"""

from __future__ import annotations

import torch
from torch.nn.functional import pad

from mindshare.attention.call import AttentionCall, LayerStats, Scratch, Weights, per_query
from mindshare.attention.jobs import Request

KNOWN = frozenset({"entropy", "distance"})  # statistics that there is an identity for


def supports(call: AttentionCall, request: Request) -> bool:
    known = KNOWN.issuperset(per_query(request.statistics))
    known = known and "contribution" not in request.statistics
    return known and call.plain and call.query.device.type == "cpu"


def run(
    call: AttentionCall, request: Request, weights: Weights, scratch: Scratch | None = None
) -> tuple[torch.Tensor, LayerStats]:
    statistics = request.statistics
    columns = _appended(call, statistics, weights)
    output, lse = _with_columns(call, columns, scratch or Scratch())
    value_dim = call.value.shape[-1]
    extra = output[..., value_dim:]
    given, found = None, {}
    if weights.columns is not None:
        given, extra = extra.tensor_split([weights.columns.shape[-1]], -1)
        given = given.contiguous()  # a view would keep the whole output alive
    if "distance" in statistics:
        mean_key, extra = extra[..., 0], extra[..., 1:]
        found["distance"] = torch.arange(call.query.shape[2]) - mean_key
    if "entropy" in statistics:
        mean_score = (call.query.to(extra.dtype) * extra).sum(-1) * call.scale
        found["entropy"] = lse - mean_score
    stats = LayerStats(
        given=given,
        received=_received(call, request, weights, lse) if "received" in statistics else None,
        per_query=found,
        kernel="fused",
    )
    return output[..., :value_dim].transpose(1, 2).to(call.value.dtype).contiguous(), stats


def _flash(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Causal attention and its log-sum-exp; grouped keys are understood as they are."""
    output, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        query, key, value, 0.0, True, scale=scale
    )
    return output, lse


def _appended(
    call: AttentionCall, statistics: frozenset[str], weights: Weights
) -> list[torch.Tensor]:
    batch, kv_heads, keys, _ = call.key.shape
    columns = []
    if weights.columns is not None:
        columns.append(weights.columns[:, None].expand(batch, kv_heads, -1, -1))
    if "distance" in statistics:
        position = torch.arange(keys, dtype=torch.float32)
        columns.append(position[:, None].expand(batch, kv_heads, -1, -1))
    if "entropy" in statistics:
        columns.append(call.key)
    return columns


def _with_columns(
    call: AttentionCall, columns: list[torch.Tensor], scratch: Scratch
) -> tuple[torch.Tensor, torch.Tensor]:
    kind = torch.promote_types(call.query.dtype, torch.float32)
    width = max(call.value.shape[-1] + sum(x.shape[-1] for x in columns), call.query.shape[-1])
    like = call.query.new_empty(0, dtype=kind)
    sides = {"query": [call.query], "key": [call.key], "value": [call.value, *columns]}
    query, key, value = (
        _side_by_side(parts, scratch.take(name, (*parts[0].shape[:-1], width), like))
        for name, parts in sides.items()
    )
    return _flash(query, key, value, call.scale)


def _side_by_side(parts: list[torch.Tensor], whole: torch.Tensor) -> torch.Tensor:
    """The parts along the last axis, then zeros: every number is written once."""
    first = 0
    for part in parts:
        whole[..., first : first + part.shape[-1]] = part
        first += part.shape[-1]
    whole[..., first:] = 0
    return whole


def _received(
    call: AttentionCall, request: Request, weights: Weights, lse: torch.Tensor
) -> torch.Tensor:
    """[batch, set, head, key] float64"""
    key = call.key.to(lse.dtype).repeat_interleave(call.group, 1)
    query = call.query.to(lse.dtype)
    swapped_query = torch.cat([key, torch.ones_like(key[..., :1])], -1).flip(2)
    swapped_key = torch.cat([query, -lse[..., None] / call.scale], -1).flip(2)
    width = swapped_key.shape[-1]
    of_queries = weights.of_queries(query.shape[2]).to(lse.dtype).expand(len(query), -1, -1)
    parts = []
    for some in of_queries.split(width, 1):  # as many query sets a call as the head size allows
        value = pad(some.transpose(1, 2).flip(1), (0, width - some.shape[1]))
        value = value[:, None].expand(-1, query.shape[1], -1, -1).contiguous()
        mean, log_sum = _flash(swapped_query, swapped_key, value, call.scale)
        sums = mean.double() * log_sum.double().exp()[..., None]
        parts.append(sums[..., : some.shape[1]].permute(0, 3, 1, 2).flip(3))
    return torch.cat(parts, 1) - _near(call, request.near, lse, of_queries)


def _near(call: AttentionCall, near: int, lse: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """What the queries j..j+near give to each key j, from their own dot products."""
    query = call.query.to(lse.dtype)
    key = call.key.to(lse.dtype).repeat_interleave(call.group, 1)
    total = query.new_zeros((len(query), weights.shape[1], *query.shape[1:3]), dtype=torch.float64)
    tokens = query.shape[2]
    for back in range(min(near, tokens - 1) + 1):
        scores = (query[:, :, back:] * key[:, :, : tokens - back]).sum(-1) * call.scale
        attention = (scores - lse[:, :, back:]).double().exp()
        total[..., : tokens - back] += attention[:, None] * weights[:, :, None, back:]
    return total
