"""Compare the logits with and without a knock-out: what the answer lost.

Log-probabilities are made in float64 from each row's own maximum. An intervention may move all
logits together, by 10 and more with trained models, which says nothing and must cancel; the
change of the logits itself does not keep the digits for that in float32.

Also here: what the classes' queries look at in the clean pass, and what that gives a head's output.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from mindshare.attention.interventions import Edges
from mindshare.attention.reference import probabilities

_BLOCK = 2**19  # numbers of logits that are compared together: 4 MB in float64

Numbers = dict[str, np.ndarray]


@dataclass(frozen=True)
class Effects:
    """What the clean pass says of one answer, to be compared with."""

    clean: torch.Tensor  # [position, vocabulary]
    answer: torch.Tensor  # [position]
    rivals: torch.Tensor | None = None  # [rival, 2]: position, token of another choice

    @cached_property
    def logprobs(self) -> torch.Tensor:
        """Return the log-probabilities of the clean pass, float64 [position, vocabulary]."""
        return self.clean.double().log_softmax(-1)

    @cached_property
    def probabilities(self) -> torch.Tensor:
        return self.logprobs.exp()

    @cached_property
    def rival(self) -> int:
        """Return the likeliest first token of the clean pass that is not the answer's."""
        others = self.clean[0].clone()
        others[self.answer[0]] = -torch.inf
        return int(others.argmax())

    def of(self, logits: torch.Tensor) -> Numbers:
        """Return each effect of `logits` [row, position, vocabulary] as float32 [row]."""
        step = max(1, _BLOCK // self.clean.numel())
        blocks = [self._of_block(rows) for rows in logits.split(step)]
        return {
            name: torch.cat([block[name] for block in blocks]).float().cpu().numpy()
            for name in blocks[0]
        }

    def _of_block(self, logits: torch.Tensor) -> dict[str, torch.Tensor]:
        positions = torch.arange(len(self.answer), device=logits.device)
        pair = [int(self.answer[0]), self.rival]
        margins = logits[:, 0, pair].double() - self.clean[0, pair].double()  # [row, 2]
        change = logits.double().log_softmax(-1).sub_(self.logprobs)  # [row, position, vocabulary]
        effects = {
            "delta_logprob": change[:, positions, self.answer].sum(-1),
            "delta_logit": margins[:, 0] - margins[:, 1],
            "flip": (logits.argmax(-1) != self.clean.argmax(-1)).any(-1).double(),
        }
        # KL = -Σ p·change, which rounding may leave below 0.
        effects["kl"] = change.mul_(self.probabilities).sum((1, 2)).clamp(max=0.0).abs()
        if self.rivals is not None:
            effects["correct"] = self._wins(logits)
        return effects

    def _wins(self, logits: torch.Tensor) -> torch.Tensor:
        """[row, position, …] → 1 where the answer is said, were only the choices allowed."""
        assert self.rivals is not None
        where, rival = self.rivals.unbind(-1)
        right = logits[:, where, self.answer[where]]
        return (right > logits[:, where, rival]).all(-1).double()

    def baseline(self) -> Numbers:
        """Return the answer's log-probability in the clean pass, and whether it is the model's."""
        numbers = {
            "logprob": self.logprobs.gather(-1, self.answer[:, None]).sum(),
            "greedy": (self.clean.argmax(-1) == self.answer).all().double(),
        }
        if self.rivals is not None:
            numbers["correct_clean"] = self._wins(self.clean[None])[0]
        return {name: x.float().cpu().numpy().reshape(1) for name, x in numbers.items()}


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
