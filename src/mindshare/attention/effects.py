"""Logits without and with knock-outs → what the answer lost, and what was looked at and carried.

Everything is made from the change d of the logits: log Σ p·e^d = log1p(Σ p·expm1(d)), p being the
clean probabilities. So small effects keep their digits, and where nothing changes the effect is
exactly 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from mindshare.attention.interventions import Edges
from mindshare.attention.reference import probabilities
from mindshare.attention.threads import ROWS, pieces

_BLOCK = 2**19  # numbers of logits that are looked at together: they stay in the cache
_LARGE = 60.0  # changes of logits beyond which e^d is left to log-sum-exp

Numbers = dict[str, np.ndarray]


@dataclass(frozen=True)
class Effects:
    """What the clean pass says of one answer, to be compared with."""

    clean: torch.Tensor  # [position, vocabulary]
    answer: torch.Tensor  # [position]
    rivals: torch.Tensor | None = None  # [rival, 2]: position, token of another choice

    def of(self, logits: torch.Tensor) -> Numbers:
        """`logits` [row, position, vocabulary] → name → [row] float32."""
        kind = torch.promote_types(self.clean.dtype, torch.float32)
        clean = self.clean.to(kind)
        weights = clean.softmax(-1)[..., None]  # [position, vocabulary, 1]
        best = clean.argmax(-1)
        others = clean[0].clone()
        others[self.answer[0]] = -torch.inf
        rival = int(others.argmax())
        parts: dict[str, list[torch.Tensor]] = {}
        step = ROWS * max(1, _BLOCK // (clean.numel() * ROWS))
        for some in logits.split(step):
            for name, x in self._block(some.to(kind), clean, weights, best, rival).items():
                parts.setdefault(name, []).append(x)
        return {name: torch.cat(x).float().cpu().numpy() for name, x in parts.items()}

    def _block(
        self,
        logits: torch.Tensor,
        clean: torch.Tensor,
        weights: torch.Tensor,
        best: torch.Tensor,
        rival: int,
    ) -> dict[str, torch.Tensor]:
        change = (logits - clean).transpose(0, 1).contiguous()  # [position, row, vocabulary]
        mean = torch.bmm(change, weights)[..., 0].double()
        grown = torch.empty_like(change)
        for part in pieces(change.numel()):
            torch.expm1(change.view(-1)[part], out=grown.view(-1)[part])
        normaliser = torch.log1p(torch.bmm(grown, weights)[..., 0].double())  # [position, row]
        # Row by row: what one row does must not change the bits of another.
        large = (change.amax((0, 2)) > _LARGE) | ~torch.isfinite(normaliser).all(0)  # [row]
        if bool(large.any()):
            wide = logits.double().logsumexp(-1) - clean.double().logsumexp(-1)
            normaliser = torch.where(large, wide.transpose(0, 1), normaliser)
        places = torch.arange(len(self.answer), device=change.device)
        of_answer = change[places, :, self.answer].double()  # [position, row]
        found = {
            "delta_logprob": (of_answer - normaliser).sum(0),
            "delta_logit": (change[0, :, self.answer[0]] - change[0, :, rival]).double(),
            "kl": (normaliser - mean).clamp(min=0.0).sum(0),
            "flip": (logits.argmax(-1) != best).any(-1).double(),
        }
        if self.rivals is not None:
            found["correct"] = self._wins(logits)
        return found

    def _wins(self, logits: torch.Tensor) -> torch.Tensor:
        """[row, position, …] → 1 where the answer is said, were only the choices allowed."""
        assert self.rivals is not None
        where, rival = self.rivals.unbind(-1)
        right = logits[:, where, self.answer[where]]
        return (right > logits[:, where, rival]).all(-1).double()

    def baseline(self) -> Numbers:
        """Of the clean pass: the answer's log-probability, whether it is what the model says."""
        clean = self.clean.double()
        logprob = clean.log_softmax(-1).gather(-1, self.answer[:, None]).sum()
        found = {
            "logprob": logprob,
            "greedy": (clean.argmax(-1) == self.answer).all().double(),
        }
        if self.rivals is not None:
            found["correct_clean"] = self._wins(clean[None])[0]
        return {name: x.float().cpu().numpy().reshape(1) for name, x in found.items()}


def _attention_and_values(edges: Edges, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Of the clean pass: [head, query, key], and the values repeated, [head, key, value dim]."""
    call = edges.calls[layer]
    attention = probabilities(call, slice(edges.first, None), kind=torch.float32)[0]
    return attention, call.value[0].float().repeat_interleave(call.group, 0)


@torch.inference_mode()
def class_attention(edges: Edges, layer: int) -> Numbers:
    """What the classes' queries look at in the clean pass, and what that gives: [head, class].

    `mass` and `contribution` are means over the queries of the class.
    """
    attention, value = _attention_and_values(edges, layer)
    whole = attention @ value
    size = (whole * whole).sum(-1)
    masses, shares = [], []
    for keys, queries in zip(edges.keys, edges.queries[:, edges.first :], strict=True):
        keys, queries = keys.to(value.device), queries.to(value.device)
        some = attention[..., keys]
        part = some @ value[:, keys]
        masses.append(some.sum(-1)[:, queries].double().mean(-1))
        share = (part * whole).sum(-1) / size
        shares.append(share[:, queries].double().mean(-1))
    return {
        "mass": torch.stack(masses, -1).float().cpu().numpy(),
        "contribution": torch.stack(shares, -1).float().cpu().numpy(),
    }


@torch.inference_mode()
def class_outputs(edges: Edges, layer: int) -> np.ndarray:
    """[head, class, value dim]: what a class gives each head's output, mean over its queries."""
    attention, value = _attention_and_values(edges, layer)
    parts = [
        (attention[:, asked][..., keys] @ value[:, keys]).double().mean(1)
        for keys, asked in zip(edges.keys, edges.queries[:, edges.first :], strict=True)
    ]
    given: np.ndarray = torch.stack(parts, 1).float().cpu().numpy()
    return given
