"""Kept queries and keys of a prompt → one row or one column of A, exactly, never the matrix.

A row is the reference's own arithmetic for one query. A column A[·, j] = exp(s[·, j] − lse) needs
the log-sum-exp of every query. That costs no second look at the scores: where the pass says which
key has the largest weight and how large it is, lse = s[i, j*] − log A[i, j*], and no weight is
larger, so none is further from where floating point numbers end. Learned sinks are in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from mindshare.attention.call import AttentionCall
from mindshare.attention.masks import Visibility
from mindshare.attention.reference import hidden_keys, probabilities

_ROWS = 256  # of a mask that are looked at together


@dataclass(frozen=True)
class QueriesAndKeys:
    """What one pass leaves of a prompt, by layer."""

    calls: Mapping[int, AttentionCall]  # without values
    log_sums: Mapping[int, torch.Tensor]  # [head, query] float64

    @property
    def nbytes(self) -> int:
        tensors = [x for call in self.calls.values() for x in (call.query, call.key)]
        return sum(x.numel() * x.element_size() for x in (*tensors, *self.log_sums.values()))

    @torch.inference_mode()
    def row(self, layer: int, query: int) -> np.ndarray:
        """[head, key]: what one token looks at."""
        one = probabilities(self.calls[layer], slice(query, query + 1))
        found: np.ndarray = one[0, :, 0].cpu().numpy()
        return found

    @torch.inference_mode()
    def seen(self, layer: int, query: int) -> np.ndarray:
        """Bool [head or 1, key]: what the query may look at."""
        found: np.ndarray = ~hidden_keys(self.calls[layer], query, query + 1)[0, :, 0].cpu().numpy()
        return found

    @torch.inference_mode()
    def visible_counts(self, layer: int) -> np.ndarray:
        """[head or 1, query]: how many keys each query may look at."""
        call = self.calls[layer]
        queries = call.query.shape[2]
        if call.visible.causal:
            return np.arange(1.0, queries + 1)[None]
        blocks = (
            (~hidden_keys(call, start, min(start + _ROWS, queries))[0]).sum(-1)
            for start in range(0, queries, _ROWS)
        )
        found: np.ndarray = torch.cat(list(blocks), 1).double().cpu().numpy()
        return found

    @torch.inference_mode()
    def column(self, layer: int, key: int) -> np.ndarray:
        """[head, query]: who looks at one token, and how much."""
        call = self.calls[layer]
        one = call.key[0, :, key].repeat_interleave(call.group, 0)[:, None]  # [head, 1, dim]
        where = torch.full((1, 1), key, device=one.device)
        weights = (_scores(call, one, where) - self.log_sums[layer]).exp()
        found: np.ndarray = weights.masked_fill(_hidden_from(call, key), 0.0).cpu().numpy()
        return found


def log_sums(call: AttentionCall, peak: torch.Tensor, peak_at: torch.Tensor) -> torch.Tensor:
    """[head, query] largest weights and where they are → the log of the sum over all keys."""
    heads = torch.arange(call.query.shape[1], device=call.key.device)[:, None] // call.group
    where = peak_at.long()
    return _scores(call, call.key[0][heads, where], where) - peak.double().log()


def _scores(call: AttentionCall, key: torch.Tensor, where: torch.Tensor) -> torch.Tensor:
    """[head, query] of every query with one key each: [head, query or 1, dim], at [.., ..]."""
    scores = (call.query[0].double() * key.double()).sum(-1) * call.scale
    if call.softcap is not None:
        scores = torch.tanh(scores / call.softcap) * call.softcap
    if call.bias is not None:
        bias = call.bias.expand(*call.query.shape[:3], call.key.shape[2])[0]
        scores = scores + bias.gather(2, where.expand(scores.shape)[..., None])[..., 0].double()
    return scores


def _hidden_from(call: AttentionCall, key: int) -> torch.Tensor:
    """Bool [head or 1, query]: the queries that may not look at this key."""
    queries = call.query.shape[2]
    if call.visible.causal:
        return torch.arange(queries, device=call.query.device)[None] < key
    blocks = (
        hidden_keys(call, start, min(start + _ROWS, queries))[0, ..., key]
        for start in range(0, queries, _ROWS)
    )
    return torch.cat(list(blocks), 1)


def expected_by_key(visible: Visibility, call: AttentionCall) -> np.ndarray:
    """[head or 1, key]: what uniform attention gives each key, mean over all queries."""
    queries = call.query.shape[2]
    if visible.causal:  # Σ over i ≥ j of 1 / (i + 1)
        shares = 1.0 / np.arange(1, queries + 1)
        return np.asarray(shares[::-1].cumsum()[::-1] / queries)[None]
    total: torch.Tensor | None = None
    for start in range(0, queries, _ROWS):
        seen = (~hidden_keys(call, start, min(start + _ROWS, queries))[0]).double()
        part = (seen / seen.sum(-1, keepdim=True).clamp(min=1.0)).sum(1)
        total = part if total is None else total + part
    assert total is not None
    return np.asarray((total / queries).cpu().numpy())
