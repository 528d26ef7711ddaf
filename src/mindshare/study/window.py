"""A model, a prompt and a range of its tokens → that window of the exact attention, as an array.

For those who want to look at single weights in a viewer of their own (BertViz, CircuitsVis). Only
the window is built, and only so large a one as a viewer can show.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from mindshare.errors import SelectionError
from mindshare.models import attention_facts
from mindshare.study.encoding import as_loaded, as_prompts, check_selection, encode_for

if TYPE_CHECKING:
    import torch

    from mindshare.attention.call import AttentionCall

MOST = 2**26  # numbers: 256 MB


@dataclass(frozen=True, repr=False)
class AttentionWindow:
    """A[query, key] for queries and keys in the same range of tokens."""

    tokens: tuple[str, ...]
    first: int  # position of the first of them in the prompt
    layers: tuple[int, ...]
    attention: np.ndarray  # [layer, head, query, key] float32; rows sum to 1 over the whole prompt

    def __repr__(self) -> str:
        end = self.first + len(self.tokens)
        return f"AttentionWindow(tokens {self.first} to {end - 1}, layers {list(self.layers)})"

    def bertviz(self) -> tuple[tuple[torch.Tensor, ...], list[str]]:
        """What `bertviz.head_view` and `model_view` take: [1, head, query, key] a layer, tokens."""
        import torch

        return tuple(torch.from_numpy(one[None]) for one in self.attention), list(self.tokens)

    def circuitsvis(self, layer: int) -> dict[str, Any]:
        """What `circuitsvis.attention.attention_heads` takes, for one layer."""
        if layer not in self.layers:
            raise SelectionError(
                f"layer {layer} is not in the window", allowed=", ".join(map(str, self.layers))
            )
        return {
            "tokens": list(self.tokens),
            "attention": self.attention[self.layers.index(layer)],
        }


def attention_window(
    model: Any,
    prompt: Any,
    *,
    tokens: tuple[int, int] | None = None,
    layers: Iterable[int] | None = None,
) -> AttentionWindow:
    """The exact attention among the tokens `first` to one before `stop`; all of them by default.

    One forward pass; rows of the matrices outside the window are never built.
    """
    import torch

    from mindshare.attention.forward import run_pass
    from mindshare.attention.selfcheck import verify
    from mindshare.attention.watcher import Request

    loaded = as_loaded(model)
    facts = attention_facts(loaded.model)
    chosen = None if layers is None else tuple(dict.fromkeys(int(x) for x in layers))
    check_selection(facts, name=loaded.name, layers=chosen, heads=None)
    (one,) = as_prompts(prompt)
    encoded = encode_for(loaded, one)
    start, stop = _range(tokens, len(encoded))
    _require_small(stop - start, heads=facts.heads, layers=len(chosen or range(facts.layers)))
    verify(loaded.model)
    looking = _Looking(start, stop)
    request = Request(
        columns=torch.zeros(1, len(encoded), 0),
        valid=torch.ones(1, len(encoded), dtype=torch.bool),
        received=False,
        layers=None if chosen is None else frozenset(chosen),
    )
    run_pass(loaded.model, torch.tensor([encoded.ids]), request, onlooker=looking)
    seen = dict(sorted(looking.layers.items()))
    return AttentionWindow(
        tokens=encoded.pieces[start:stop],
        first=start,
        layers=tuple(seen),
        attention=np.stack(list(seen.values())),
    )


class _Looking:
    """An onlooker that keeps a square of every layer's attention."""

    def __init__(self, start: int, stop: int) -> None:
        self.start, self.stop = start, stop
        self.layers: dict[int, np.ndarray] = {}

    def __call__(self, layer: int, call: AttentionCall) -> None:
        from mindshare.attention.reference import probabilities

        rows = probabilities(call, slice(self.start, self.stop))[0]
        self.layers[layer] = rows[..., self.start : self.stop].float().cpu().numpy()


def _range(tokens: tuple[int, int] | None, count: int) -> tuple[int, int]:
    start, stop = (0, count) if tokens is None else _two_numbers(tokens, count)
    if not 0 <= start < stop <= count:
        raise SelectionError(
            f"tokens {start} to {stop} are no part of the prompt",
            allowed=f"(first, one past the last) within 0 to {count}",
        )
    return start, stop


def _two_numbers(tokens: object, count: int) -> tuple[int, int]:
    """Anyone may pass anything: two whole numbers, or a refusal."""
    found = list(tokens) if isinstance(tokens, Sequence) and not isinstance(tokens, str) else []
    try:
        start, stop = (index(one) for one in found)
    except (TypeError, ValueError):
        raise SelectionError(
            f"tokens={tokens!r} is no range of tokens",
            allowed=f"(first, one past the last), whole numbers within 0 to {count}",
            next_step="choose a range, e.g. tokens=(0, 200)",
        ) from None
    return start, stop


def _require_small(tokens: int, *, heads: int, layers: int) -> None:
    size = tokens * tokens * heads * layers
    if size > MOST:
        fits = int((MOST / (heads * layers)) ** 0.5)
        raise SelectionError(
            f"a window of {tokens:,} tokens in {layers} layers of {heads} heads has {size:,} "
            "numbers",
            allowed=f"up to {MOST:,}: {fits:,} tokens, or fewer layers",
            next_step="choose a range, e.g. tokens=(0, 200)",
        )
