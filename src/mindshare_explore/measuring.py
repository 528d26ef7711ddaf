"""A model and an encoded prompt → what the explorer keeps of it, in one forward pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from mindshare.attention.call import AttentionCall, LayerStats, TokenBatch
from mindshare.attention.forward import run_pass
from mindshare.attention.jobs import Request
from mindshare.models import LoadedModel
from mindshare.tokens import Encoded
from mindshare_explore.rows import QueriesAndKeys, expected_by_key, log_sums
from mindshare_explore.sums import KeySums

_OF_HEADS = ("entropy", "distance", "peak", "previous", "induction")
# near −1: what a token gives itself is part of a class's mass.
_REQUEST = Request(statistics=frozenset({"received", "peak_at", *_OF_HEADS}), near=-1)

Watch = Callable[[int], None]  # told how many layers are done; may raise to leave the pass


def measure(
    loaded: LoadedModel, encoded: Encoded, *, watch: Watch | None = None
) -> tuple[KeySums, QueriesAndKeys]:
    calls: dict[int, AttentionCall] = {}

    def keep(layer: int, call: AttentionCall) -> None:
        if watch is not None:
            watch(len(calls))
        calls[layer] = replace(call, value=call.value[..., :0])

    tokens = len(encoded)
    batch = TokenBatch(
        ids=torch.tensor([encoded.ids]),
        columns=torch.zeros(1, tokens, 0),
        valid=torch.ones(1, tokens, dtype=torch.bool),
    )
    recorder = run_pass(loaded.model, batch, _REQUEST, observer=keep)
    layers = dict(sorted(recorder.layers.items()))
    with torch.inference_mode():
        sums = {n: _log_sums(calls[n], stats) for n, stats in layers.items()}
        return _key_sums(calls, layers, tokens), QueriesAndKeys(calls, sums)


def _log_sums(call: AttentionCall, stats: LayerStats) -> torch.Tensor:
    return log_sums(call, stats.per_query["peak"][0], stats.per_query["peak_at"][0])


def _key_sums(
    calls: dict[int, AttentionCall], layers: dict[int, LayerStats], tokens: int
) -> KeySums:
    received, expected = [], []
    heads: dict[str, list[np.ndarray]] = {name: [] for name in _OF_HEADS}
    by_mask: dict[int, np.ndarray] = {}  # layers share their masks
    for layer, stats in layers.items():
        assert stats.received is not None
        received.append((stats.received[0, 0] / tokens).float().cpu().numpy())
        visible = calls[layer].visible
        if id(visible) not in by_mask:
            by_mask[id(visible)] = expected_by_key(visible, calls[layer]).astype(np.float32)
        expected.append(by_mask[id(visible)])
        for name in _OF_HEADS:
            heads[name].append(stats.per_query[name][0].double().mean(-1).cpu().numpy())
    found = {name: np.stack(rows) for name, rows in heads.items()}
    most = max(len(one) for one in expected)
    return KeySums(
        layers=tuple(layers),
        received=np.stack(received),
        expected=np.stack([np.broadcast_to(x, (most, tokens)) for x in expected]),
        heads={
            "entropy": found["entropy"],
            "perplexity": np.exp(found["entropy"]),
            "distance": found["distance"],
            "peak": found["peak"],
            "previous": found["previous"],
            "induction": found["induction"],
            "first_token": np.stack(received)[..., 0].astype(np.float64),
        },
        has_sinks=any(call.sinks is not None for call in calls.values()),
    )
