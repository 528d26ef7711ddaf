"""Attention calls of a forward pass → what was seen in each layer.

A `Watcher` is handed every attention call while it is active. It runs a kernel on the layers that
were asked for, lets the others take the plain path, counts the calls, and keeps each layer's
statistics. Later chunks of one prompt add to what earlier ones left: sums add, queries line up.
Knows nothing about models, tokens or tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch.nn.functional import scaled_dot_product_attention

from mindshare.attention import blockwise
from mindshare.attention.call import AttentionCall, Scratch, Wanted
from mindshare.attention.choose import KERNELS, choose
from mindshare.attention.expected import uniform_share
from mindshare.attention.masks import Visibility
from mindshare.errors import ExactnessError, UnsupportedModelError


@dataclass(frozen=True)
class Request:
    """What to find out in one pass over a batch, in absolute token positions."""

    columns: torch.Tensor  # [batch, token, column]
    valid: torch.Tensor  # bool [batch, token]; padding is False
    query_weights: torch.Tensor | None = None  # [batch, set, token]; None: every valid token
    received: bool = True
    near: int = 0
    entropy: bool = False
    distance: bool = False
    expected: bool = False
    layers: frozenset[int] | None = None  # None: all
    kernel: str = "auto"

    def weights(self) -> torch.Tensor:
        """[batch, set, token]; padded queries weigh nothing."""
        valid = self.valid[:, None].to(torch.float32)
        return valid if self.query_weights is None else self.query_weights * valid

    def call_weights(self, first: int, count: int) -> torch.Tensor | None:
        """The weights of some queries, or None where all that are no padding count once."""
        if self.query_weights is None and self.right_padded:
            return None
        return self.weights()[:, :, first : first + count]

    def real(self, first: int, count: int) -> tuple[int, ...] | None:
        """How many of some queries are no padding, by row; None where all of them are."""
        valid = self.valid[:, first : first + count]
        if self.query_weights is not None or not self.right_padded or bool(valid.all()):
            return None
        return tuple(valid.sum(1).tolist())

    @cached_property
    def right_padded(self) -> bool:
        """Every row is real tokens first, padding (if any) last."""
        return bool((self.valid[:, 1:] <= self.valid[:, :-1]).all())


@dataclass
class LayerSeen:
    """One layer's statistics, grown chunk by chunk."""

    kernel: str
    received: torch.Tensor | None = None  # [batch, set, head, token] float64 sums
    given: list[torch.Tensor] = field(default_factory=list)  # [batch, head, query, column]
    entropy: list[torch.Tensor] = field(default_factory=list)  # [batch, head, query]
    distance: list[torch.Tensor] = field(default_factory=list)
    expected: list[torch.Tensor] = field(default_factory=list)  # [batch, head or 1, query, column]

    def add_received(self, sums: torch.Tensor, *, first_key: int, tokens: int) -> None:
        if self.received is None:
            self.received = sums.new_zeros((*sums.shape[:3], tokens))
        self.received[..., first_key : first_key + sums.shape[-1]] += sums


# Is shown every measured call of a layer; the statistics it makes are its own.
Onlooker = Callable[[int, AttentionCall], None]


class Watcher:
    def __init__(self, request: Request, onlooker: Onlooker | None = None) -> None:
        self.request, self.onlooker = request, onlooker
        self.layers: dict[int, LayerSeen] = {}
        self.calls: Counter[int] = Counter()
        self.modules: dict[int, torch.nn.Module] = {}
        self.masks: list[Visibility] = []  # made in this pass or chunk
        self._expected: dict[int, tuple[Visibility, torch.Tensor]] = {}
        self._scratch = Scratch()

    def see(self, module: torch.nn.Module, call: AttentionCall) -> torch.Tensor:
        """Run one call; the output is the model's, the statistics stay here."""
        layer = getattr(module, "layer_idx", None)
        if layer is None or layer < 0:
            raise UnsupportedModelError(
                f"{type(module).__name__} does not say which layer it is, so its attention can't "
                "be told from that of other layers",
                next_step="choose a model whose attention modules carry their layer's number",
            )
        self._count(int(layer), module)
        wanted_layers = self.request.layers
        if wanted_layers is not None and layer not in wanted_layers:
            return self._unasked(call)
        return self._measure(int(layer), call)

    def begin_chunk(self) -> None:
        self.calls.clear()
        self.masks.clear()
        self._expected.clear()

    def _count(self, layer: int, module: torch.nn.Module) -> None:
        self.calls[layer] += 1
        known = self.modules.setdefault(layer, module)
        if self.calls[layer] > 1:
            same = "the same module twice" if known is module else "two modules"
            raise UnsupportedModelError(
                f"layer {layer} attended more than once in one pass ({same}: "
                f"{type(module).__name__}), so its attention is not one matrix per head",
                next_step="choose a model whose layers attend once",
            )

    def _unasked(self, call: AttentionCall) -> torch.Tensor:
        """A layer nobody asked about, by the same arithmetic as if they had.

        So the choice of layers changes no bit of those that were chosen.
        """
        if not self._fits(call):
            return plain(call)
        wanted = self._wanted(call)
        name = choose(call, wanted, kernel=self.request.kernel)
        # Only the fused kernel's output knows what else it was asked for.
        wanted = wanted if name == "fused" else Wanted()
        return KERNELS[name](call, wanted, self._scratch).output

    def _wanted(self, call: AttentionCall) -> Wanted:
        request, visible, queries = self.request, call.visible, call.query.shape[2]
        columns = self._columns(call)
        weights = request.call_weights(visible.first_query, queries)
        device = call.query.device  # layers of one model may live on several
        return Wanted(
            columns=columns.to(device) if columns.shape[-1] else None,
            received=request.received,
            query_weights=None if weights is None else weights.to(device),
            real=request.real(visible.first_query, queries),
            near=request.near,
            entropy=request.entropy,
            distance=request.distance,
        )

    def _columns(self, call: AttentionCall) -> torch.Tensor:
        """Those of the keys of one call."""
        first = call.visible.first_key
        return self.request.columns[:, first : first + call.key.shape[2]]

    def _measure(self, layer: int, call: AttentionCall) -> torch.Tensor:
        request, visible = self.request, call.visible
        self._check_positions(layer, call)
        wanted = self._wanted(call)
        if self.onlooker is not None:
            self.onlooker(layer, call)
        name = choose(call, wanted, kernel=request.kernel)
        found = KERNELS[name](call, wanted, self._scratch)
        seen = self.layers.setdefault(layer, LayerSeen(kernel=name))
        if name not in seen.kernel.split("+"):  # a later chunk may need another one
            seen.kernel += f"+{name}"
        if found.given is not None:
            seen.given.append(found.given)
        if found.received is not None:
            tokens = request.columns.shape[1]
            seen.add_received(found.received, first_key=visible.first_key, tokens=tokens)
        if found.entropy is not None:
            seen.entropy.append(found.entropy)
        if found.distance is not None:
            seen.distance.append(found.distance)
        if request.expected:
            seen.expected.append(self._expected_of(visible, self._columns(call)))
        return found.output

    def _fits(self, call: AttentionCall) -> bool:
        """Its keys are tokens of the prompt."""
        first, tokens = call.visible.first_key, self.request.columns.shape[1]
        return first >= 0 and first + call.key.shape[2] <= tokens

    def _check_positions(self, layer: int, call: AttentionCall) -> None:
        if not self._fits(call):
            raise UnsupportedModelError(
                f"layer {layer} attends to {call.key.shape[2]} key slots from position "
                f"{call.visible.first_key}, but the input has {self.request.columns.shape[1]} "
                "tokens: its keys are not the prompt's tokens",
                next_step="choose a model that keeps one key per token",
            )

    def _expected_of(self, visible: Visibility, columns: torch.Tensor) -> torch.Tensor:
        """Layers share their masks, so each mask is evaluated once a chunk."""
        if id(visible) not in self._expected:
            self._expected[id(visible)] = (visible, uniform_share(visible, columns))
        return self._expected[id(visible)][1]


def plain(call: AttentionCall) -> torch.Tensor:
    """Attention among keys that are no tokens: the vendor's kernel where it applies."""
    if not call.plain:
        return blockwise.run(call, Wanted()).output
    output = scaled_dot_product_attention(
        call.query,
        call.key,
        call.value,
        is_causal=True,
        scale=call.scale,
        enable_gqa=call.group > 1,
    )
    return output.transpose(1, 2).contiguous()


def require_finite(layers: dict[int, LayerSeen], valid: torch.Tensor) -> None:
    """Refuse NaN and infinity, naming the first layer and head that has one."""
    for layer, seen in sorted(layers.items()):
        per_query = [*seen.given, *(x[..., None] for x in (*seen.entropy, *seen.distance))]
        bad: list[torch.Tensor] = []
        start = 0
        for part in per_query:
            real = valid[:, None, start % valid.shape[1] :][:, :, : part.shape[2], None]
            broken = ~torch.isfinite(part) & real.to(part.device)
            bad.append(broken.flatten(2).any(2).any(0))
            start += part.shape[2]
        if seen.received is not None:
            bad.append((~torch.isfinite(seen.received)).any(3).any(1).any(0))
        heads = torch.stack(bad).any(0).nonzero() if bad else torch.empty(0)
        if len(heads):
            raise ExactnessError(
                f"attention of layer {layer}, head {int(heads[0])} is not a number",
                next_step="look for NaN or overflow in the weights or activations; "
                "float16 overflows where bfloat16 or float32 does not",
            )
