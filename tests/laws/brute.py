"""Knock-outs written out: a whole pass for each, its attention matrix in float64 and edited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from mindshare.attention.call import AttentionCall
from mindshare.attention.jobs import Knockout
from mindshare.attention.masks import Visibility
from mindshare.attention.recorder import recording
from mindshare.attention.reference import hidden_keys, probabilities


@dataclass
class Edited:
    """Edits A in the layers and heads that are named, and passes everything on."""

    removed: torch.Tensor  # bool [query, key]
    heads: Mapping[int, Sequence[int] | None]
    how: str
    means: Mapping[int, torch.Tensor] = field(default_factory=dict)  # layer → [head, value dim]
    masks: list[Visibility] = field(default_factory=list)

    def see(self, module: Any, call: AttentionCall) -> torch.Tensor:
        layer, removed = int(module.layer_idx), self.removed
        hidden = hidden_keys(call, 0, call.query.shape[2])
        attention = probabilities(call, hidden=hidden)
        value = call.value.double().repeat_interleave(call.group, 1)
        output = attention @ value
        if layer in self.heads:
            heads = self.heads[layer]
            which = list(range(attention.shape[1]) if heads is None else heads)
            if self.how == "mask":
                changed = probabilities(call, hidden=hidden | removed)
            else:
                changed = attention.masked_fill(removed, 0.0)
            if self.how == "sink":
                changed[..., 0] += (attention - changed).sum(-1)
            made = changed @ value
            if self.how == "mean":
                asked = (removed & ~hidden).any(-1, keepdim=True).double()
                made = made + self.means[layer].double()[:, None] * asked
            output[:, which] = made[:, which]
        return output.transpose(1, 2).to(call.value.dtype).contiguous()


def logits(model: Any, ids: torch.Tensor, positions: int, edited: Edited) -> torch.Tensor:
    """[position, vocabulary] of a whole pass."""
    with torch.inference_mode(), recording(model, edited):
        found: torch.Tensor = model(input_ids=ids[None], use_cache=False).logits
    return found[0, -positions:].double()


def effects(clean: torch.Tensor, changed: torch.Tensor, answer: torch.Tensor) -> dict[str, float]:
    a, b = clean.log_softmax(-1), changed.log_softmax(-1)
    places = torch.arange(len(answer))
    rivals = clean[0].clone()
    rivals[answer[0]] = -torch.inf
    rival = int(rivals.argmax())
    gap = changed[0, answer[0]] - changed[0, rival] - clean[0, answer[0]] + clean[0, rival]
    return {
        "delta_logprob": float((b - a)[places, answer].sum()),
        "delta_logit": float(gap),
        "kl": float((a.exp() * (a - b)).sum()),
        "flip": float((a.argmax(-1) != b.argmax(-1)).any()),
    }


def around(knockout: Knockout, layer: int, attending: Sequence[int]) -> list[int]:
    """The layers of the window around one."""
    k = knockout.window
    low, high = layer - k // 2, layer + int(np.ceil(k / 2)) - 1
    return [n for n in attending if low <= n <= high]
