"""A model, a prompt and a range of its tokens → that window of the exact attention, as an array.

For those who want to look at single weights in a viewer of their own (BertViz, CircuitsVis). Only
the window is built, and only so large a one as a viewer can show.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from mindshare.errors import SelectionError
from mindshare.models import attention_facts
from mindshare.prompts.given import as_prompts
from mindshare.study.encoding import as_loaded, check_selection, encode_for, of_alike_layers

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

    from mindshare.attention.call import TokenBatch
    from mindshare.attention.forward import run_pass
    from mindshare.attention.jobs import Request
    from mindshare.attention.reference import probabilities
    from mindshare.attention.selfcheck import verify

    loaded = as_loaded(model)
    chosen = None if layers is None else tuple(dict.fromkeys(int(x) for x in layers))
    facts = of_alike_layers(attention_facts(loaded.model), chosen, loaded.name)
    check_selection(facts, name=loaded.name, layers=chosen, heads=None)
    single, *others = as_prompts(prompt)
    if others:
        raise SelectionError(f"{1 + len(others)} prompts are given", allowed="one prompt")
    encoded = encode_for(loaded, single)
    start, stop = _range(tokens, len(encoded))
    _require_small(stop - start, heads=facts.heads, layers=len(chosen or range(facts.layers)))
    verify(loaded.model)

    squares: dict[int, np.ndarray] = {}  # layer → [head, query, key]

    def keep(layer: int, call: AttentionCall) -> None:
        rows = probabilities(call, slice(start, stop))[0]
        squares[layer] = rows[..., start:stop].float().cpu().numpy()

    request = Request(statistics=frozenset(), layers=None if chosen is None else frozenset(chosen))
    run_pass(loaded.model, TokenBatch.of(encoded.ids), request, observer=keep)
    return AttentionWindow(
        tokens=encoded.pieces[start:stop],
        first=start,
        layers=tuple(sorted(squares)),
        attention=np.stack([squares[layer] for layer in sorted(squares)]),
    )


def _range(tokens: Any, count: int) -> tuple[int, int]:
    """(start, stop) from what people pass: None, or two whole numbers."""
    try:
        start, stop = (0, count) if tokens is None else map(index, tokens)
    except (TypeError, ValueError):
        raise SelectionError(
            f"tokens={tokens!r} is no range of tokens",
            allowed=f"(first, one past the last), whole numbers within 0 to {count}",
            next_step="choose a range, e.g. tokens=(0, 200)",
        ) from None
    if not 0 <= start < stop <= count:
        raise SelectionError(
            f"tokens {start} to {stop} are no part of the prompt",
            allowed=f"(first, one past the last) within 0 to {count}",
        )
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
