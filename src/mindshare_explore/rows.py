"""One forward pass → sums, and queries and keys that give one row or column of A, exactly.

A row is the reference's own arithmetic for one query. A column A[·, j] = exp(s[·, j] − lse) needs
the log-sum-exp of every query. That costs no second look at the scores: where the pass says which
key has the largest weight and how large it is, lse = s[i, j*] − log A[i, j*], and no weight is
larger, so none is further from where floating point numbers end. Learned sinks are in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch

from mindshare.attention.call import AttentionCall, LayerStats, TokenBatch, per_query
from mindshare.attention.forward import run_pass
from mindshare.attention.jobs import Request
from mindshare.attention.reference import hidden_keys, probabilities
from mindshare.measures import MEASURES, at_level
from mindshare.models import LoadedModel
from mindshare.tokens import Encoded
from mindshare_explore.live import KeySums

_ROWS = 256  # of a mask that are looked at together
_OF_HEADS = per_query(MEASURES[name].statistic for name in at_level("head"))
# near −1: what a token gives itself is part of a class's mass.
_REQUEST = Request(statistics=frozenset({"received", "peak", "peak_at", *_OF_HEADS}), near=-1)

Watch = Callable[[int], None]  # told how many layers are done; may raise to leave the pass


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
        if call.visible.causal:
            return np.arange(1.0, call.query.shape[2] + 1)[None]
        counts = torch.cat([seen.sum(-1) for seen in _visible(call)], 1)
        return np.asarray(counts.double().cpu().numpy())

    @torch.inference_mode()
    def column(self, layer: int, key: int) -> np.ndarray:
        """[head, query]: who looks at one token, and how much."""
        call = self.calls[layer]
        one = call.key[0, :, key].repeat_interleave(call.group, 0)[:, None]  # [head, 1, dim]
        where = torch.full((1, 1), key, device=one.device)
        weights = (_scores(call, one, where) - self.log_sums[layer]).exp()
        if call.visible.causal:
            seen = torch.arange(call.query.shape[2], device=one.device)[None] >= key
        else:
            seen = torch.cat([rows[..., key] for rows in _visible(call)], 1)
        return np.asarray(weights.masked_fill(~seen, 0.0).cpu().numpy())


def measure(
    loaded: LoadedModel, encoded: Encoded, *, watch: Watch | None = None
) -> tuple[KeySums, QueriesAndKeys]:
    """What the explorer keeps of a prompt."""
    calls: dict[int, AttentionCall] = {}

    def keep(layer: int, call: AttentionCall) -> None:
        if watch is not None:
            watch(len(calls))
        calls[layer] = replace(
            call, query=_alone(call.query), key=_alone(call.key), value=call.value[..., :0].clone()
        )

    recorder = run_pass(loaded.model, TokenBatch.of(encoded.ids), _REQUEST, observer=keep)
    layers = dict(sorted(recorder.layers.items()))
    with torch.inference_mode():
        sums = {layer: log_sums(calls[layer], stats) for layer, stats in layers.items()}
        return _key_sums(calls, layers, len(encoded)), QueriesAndKeys(calls, sums)


def _alone(one: torch.Tensor) -> torch.Tensor:
    """Without what shares its memory: GPT-2 makes queries, keys and values as one tensor."""
    return one.clone() if one.untyped_storage().nbytes() > one.nbytes else one


def _key_sums(
    calls: Mapping[int, AttentionCall], layers: Mapping[int, LayerStats], tokens: int
) -> KeySums:
    received = [stats.received for stats in layers.values() if stats.received is not None]
    by_key = np.stack([(one[0, 0] / tokens).float().cpu().numpy() for one in received])
    heads = {
        name: np.stack(
            [s.per_query[name][0].double().mean(-1).cpu().numpy() for s in layers.values()]
        )
        for name in _OF_HEADS
    }
    # What the registry makes of others: no statistic of a row.
    heads |= {"perplexity": np.exp(heads["entropy"]), "first_token": by_key[..., 0].astype(float)}
    expected: dict[int, np.ndarray] = {}  # layers share their masks
    for layer in layers:
        mask = id(calls[layer].visible)
        if mask not in expected:
            expected[mask] = expected_by_key(calls[layer]).astype(np.float32)
    most = max(len(one) for one in expected.values())
    wide = {mask: np.broadcast_to(one, (most, tokens)) for mask, one in expected.items()}
    return KeySums(
        layers=tuple(layers),
        received=by_key,
        expected=np.stack([wide[id(calls[layer].visible)] for layer in layers]),
        heads={name: heads[name] for name in at_level("head") if name in heads},
        has_sinks=any(call.sinks is not None for call in calls.values()),
    )


def log_sums(call: AttentionCall, stats: LayerStats) -> torch.Tensor:
    """[head, query]: the log of the sum over all keys, from the largest weight and its place."""
    peak, where = stats.per_query["peak"][0], stats.per_query["peak_at"][0].long()
    heads = torch.arange(call.query.shape[1], device=call.key.device)[:, None] // call.group
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


def _visible(call: AttentionCall) -> Iterator[torch.Tensor]:
    """Bool [head or 1, some queries, key]: what these may look at, a block of rows at a time."""
    queries = call.query.shape[2]
    for start in range(0, queries, _ROWS):
        yield ~hidden_keys(call, start, min(start + _ROWS, queries))[0]


def expected_by_key(call: AttentionCall) -> np.ndarray:
    """[head or 1, key]: what uniform attention gives each key, mean over all queries."""
    queries = call.query.shape[2]
    if call.visible.causal:  # Σ over i ≥ j of 1 / (i + 1)
        shares = 1.0 / np.arange(1, queries + 1)
        return np.asarray(shares[::-1].cumsum()[::-1] / queries)[None]
    parts = (
        (seen / seen.sum(-1, keepdim=True).clamp(min=1)).sum(1)
        for seen in (rows.double() for rows in _visible(call))
    )
    return np.asarray((sum(parts, torch.zeros(())) / queries).cpu().numpy())
