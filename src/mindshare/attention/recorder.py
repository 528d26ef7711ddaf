"""transformers' attention interface → a Recorder, which runs a kernel and keeps its statistics.

`recording(model, recorder)` makes every attention call of the model go through the recorder, and
puts the model back as it was afterwards, whatever happens. The recorder runs a kernel on the layers
that were asked for, lets the others take the same path without statistics, and counts the calls.
A recorder that `ends` its pass raises `LastLayerSeen` once there is nothing left to see.
"""

from __future__ import annotations

import inspect
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from math import isfinite
from typing import Any, Protocol
from weakref import finalize

import torch
from torch.nn.functional import pad, scaled_dot_product_attention
from torch.utils.hooks import RemovableHandle

from mindshare.attention import blockwise, fused, reference
from mindshare.attention.call import (
    AttentionCall,
    Kernel,
    LayerStats,
    Observer,
    Scratch,
    TokenBatch,
    Weights,
    per_query,
)
from mindshare.attention.jobs import Request
from mindshare.attention.masks import (
    LazyMask,
    Visibility,
    additive_part,
    lazy_mask,
    uniform_share,
    visibility_of,
)
from mindshare.errors import ExactnessError, UnsupportedModelError, require_known

# Both interfaces of transformers are registered under this name: a name without a mask function
# would get no mask at all, and windows, padding and packing would vanish silently. It holds none of
# the words that transformers treats specially (flash, flex, sdpa, …).
NAME = "mindshare"
KERNELS: dict[str, Kernel] = {
    "reference": reference.run,
    "fused": fused.run,
    "blockwise": blockwise.run,
}
NO_STATISTICS = Request(statistics=frozenset())


class Watcher(Protocol):
    """Whoever is shown the attention calls of a pass, and answers them: a `Recorder`, mostly."""

    masks: list[Visibility]  # made in this pass

    def see(self, module: torch.nn.Module, call: AttentionCall) -> torch.Tensor:
        """The output of one call: [batch, query, head, value dim]."""


_active: ContextVar[Watcher | None] = ContextVar("mindshare_recorder", default=None)


class LastLayerSeen(Exception):  # noqa: N818, as StopIteration: no error
    """Every layer that was asked for has been seen: the rest of the pass decides nothing."""


@contextmanager
def recording(model: torch.nn.Module, recorder: Watcher) -> Iterator[None]:
    """Every attention call of `model` inside this block is seen by `recorder`."""
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(NAME, attend)
    AttentionMaskInterface.register(NAME, make_mask)
    token = _active.set(recorder)
    try:
        with implementation(model, NAME):
            yield
    finally:
        _active.reset(token)


@contextmanager
def implementation(model: torch.nn.Module, name: str) -> Iterator[None]:
    """The model in evaluation mode with this attention implementation; restored afterwards.

    Threads that share the model, or a part of it, wait for each other: else one would save what
    another has put there, and restore that for good. A thread that uses the model by itself is
    refused, since its layers would get this implementation, and ours its hooks.
    """
    readers: list[Any] = [
        module
        for module in model.modules()
        if hasattr(vars(module).get("config"), "_attn_implementation_internal")
    ]  # modules that read their attention implementation from a config
    configs = {id(module.config): module.config for module in readers}
    with _one_thread(configs.values()), _refusing_other_threads(readers):
        before = {key: config._attn_implementation_internal for key, config in configs.items()}
        training = [module for module in model.modules() if module.training]
        try:
            for config in configs.values():
                config._attn_implementation_internal = name
            for module in training:
                module.training = False
            yield
        finally:
            for key, config in configs.items():
                config._attn_implementation_internal = before[key]
            for module in training:
                module.training = True


_locks: dict[int, threading.RLock] = {}  # by id of a config, as long as the config lives
_locks_lock = threading.Lock()


@contextmanager
def _one_thread(configs: Iterable[Any]) -> Iterator[None]:
    """Whoever uses one of these configs; locked in one order, so that no two wait for ever."""
    with ExitStack() as held:
        for config in sorted(configs, key=id):
            with _locks_lock:
                if id(config) not in _locks:
                    _locks[id(config)] = threading.RLock()
                    finalize(config, _locks.pop, id(config), None)
                lock = _locks[id(config)]
            held.enter_context(lock)
        yield


@contextmanager
def _refusing_other_threads(modules: Iterable[torch.nn.Module]) -> Iterator[None]:
    here = threading.get_ident()

    def refuse(*_call: Any) -> None:
        if threading.get_ident() != here:
            raise _busy()

    with temporary_hooks(module.register_forward_pre_hook(refuse) for module in modules):
        yield


@contextmanager
def temporary_hooks(hooks: Iterable[RemovableHandle]) -> Iterator[None]:
    """Hooks of modules that are there inside the block only."""
    with ExitStack() as left:
        for hook in hooks:
            left.callback(hook.remove)
        yield


def _busy() -> ExactnessError:
    return ExactnessError(
        "the attention implementation 'mindshare' works only while mindshare measures, and only "
        "in the thread that does",
        next_step="use the model before or after another thread measures with it",
    )


def inputs_device(model: torch.nn.Module) -> torch.device:
    """Where its token ids go. Weights that accelerate brings from elsewhere have no device."""
    embeddings = getattr(model, "get_input_embeddings", lambda: None)()
    hook = getattr(embeddings, "_hf_hook", None)
    of_hook = getattr(hook, "execution_device", None)
    return next(model.parameters()).device if of_hook is None else torch.device(of_hook)


def accepted(model: torch.nn.Module, options: Mapping[str, Any]) -> dict[str, Any]:
    """Those options that its forward pass takes."""
    known = inspect.signature(model.forward).parameters
    any_name = any(p.kind is p.VAR_KEYWORD for p in known.values())
    return {name: value for name, value in options.items() if any_name or name in known}


def probe_ids(
    model: torch.nn.Module, tokens: int, generator: torch.Generator | None = None
) -> torch.Tensor:
    """[token]: a prompt of random tokens, the same each time, to find out what a model does."""
    vocabulary = model.get_input_embeddings().num_embeddings  # type: ignore[operator]
    generator = generator or torch.Generator().manual_seed(0)
    return torch.randint(0, vocabulary, (tokens,), generator=generator)


def make_mask(**settings: Any) -> LazyMask:
    """The mask function that is registered with transformers."""
    mask = lazy_mask(**settings)
    _recorder().masks.append(mask.visible)
    return mask


def _recorder() -> Watcher:
    recorder = _active.get()
    if recorder is None:
        raise _busy()
    return recorder


def attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: Any,
    *_args: Any,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """The attention function that is registered with transformers."""
    recorder = _recorder()
    scaling, bias = kwargs.get("scaling"), kwargs.get("position_bias")
    added = additive_part(attention_mask)
    if added is not None:
        bias = added if bias is None else bias + added
    call = AttentionCall(
        query=query,
        key=key,
        value=value,
        scale=query.shape[-1] ** -0.5 if scaling is None else float(scaling),
        visible=_visible(module, query, key, attention_mask, kwargs, recorder.masks),
        softcap=kwargs.get("softcap"),
        sinks=kwargs.get("s_aux"),
        bias=bias,
    )
    return recorder.see(module, call), None


def _visible(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    mask: Any,
    kwargs: dict[str, Any],
    masks: list[Visibility],
) -> Visibility:
    """Which keys each query sees, or a refusal where that can't be known."""
    who, queries, keys = type(module).__name__, query.shape[2], key.shape[2]
    for sparse in ("indices", "block_indices"):
        if kwargs.get(sparse) is not None:
            raise UnsupportedModelError(
                f"{who} chooses keys by an index ({sparse}) that only its own kernels apply, so "
                "its attention can't be measured exactly",
            )
    causal = kwargs.get("is_causal")
    causal = getattr(module, "is_causal", True) if causal is None else causal
    window = kwargs.get("sliding_window")
    # Without a mask only whole causal attention and single steps have one meaning.
    odd_shape = causal and queries > 1 and queries != keys
    if mask is None and (odd_shape or (window is not None and window < keys)):
        raise UnsupportedModelError(
            f"{who} attends from {queries} queries to {keys} keys"
            f"{f' with a window of {window}' if window else ''} and passes no mask, "
            "so what it can see is not known",
        )
    visible = visibility_of(mask, queries, keys, causal=causal, made=masks)
    if visible is None:
        raise UnsupportedModelError(
            f"{who} makes a mask of its own for {queries} queries and {keys} keys, so which tokens "
            "its cached keys are is not known",
            next_step="measure the prompt whole, without a chunk size",
        )
    return visible


def choose_kernel(call: AttentionCall, request: Request) -> str:
    """The name of the kernel for this call. Decided by measurement, and recorded.

    A fixed table rather than a race at run time: two runs of one study must take the same path, or
    their last digits differ. It was made from timings of single attention calls (9 heads of 64 over
    3 KV heads, 2 cores); `make bench` times whole passes with the kernels it chooses.
    """
    kernel = request.kernel
    require_known(kernel, ("auto", *KERNELS), f"unknown kernel {kernel!r}")
    if kernel == "auto":
        # Masses alone, a call against the vendor's at 256 / 1,024 / 4,096 tokens: with AVX2 the
        # fused kernel adds 0.4 to 0.7 times as much as row blocks; with AVX-512, whose products are
        # quicker, it takes 1.31 / 1.24 / 1.22, row blocks 1.13 / 0.99 / 1.07 (two threads).
        more = {"received", "contribution", *per_query(request.statistics)}
        only_masses = not more & request.statistics
        kernel = "fused" if only_masses and not _wide_vectors() else "blockwise"
    # The fused kernel knows only plain causal attention.
    return "blockwise" if kernel == "fused" and not fused.supports(call, request) else kernel


@cache
def _wide_vectors() -> bool:
    """The processor's kind is part of a model's identity, so that this never mixes results."""
    return torch.backends.cpu.get_cpu_capability() == "AVX512"


def layer_of(module: torch.nn.Module) -> int:
    layer = getattr(module, "layer_idx", None)
    if layer is None or layer < 0:
        raise UnsupportedModelError(
            f"{type(module).__name__} does not say which layer it is, so its attention can't be "
            "told from that of other layers",
            next_step="choose a model whose attention modules carry their layer's number",
        )
    return int(layer)


def attended_twice(
    layer: int, known: torch.nn.Module, module: torch.nn.Module
) -> UnsupportedModelError:
    """The error for a layer that attends again in the same pass."""
    same = "the same module twice" if known is module else "two modules"
    return UnsupportedModelError(
        f"layer {layer} attended more than once in one pass ({same}: {type(module).__name__}), so "
        "its attention is not one matrix per head",
        next_step="choose a model whose layers attend once",
    )


def _keys_are_tokens(call: AttentionCall, tokens: int) -> bool:
    first = call.visible.first_key
    return first >= 0 and first + call.key.shape[2] <= tokens


def require_token_keys(layer: int, call: AttentionCall, tokens: int) -> None:
    """Refuse a call whose keys are not the prompt's tokens."""
    if not _keys_are_tokens(call, tokens):
        raise UnsupportedModelError(
            f"layer {layer} attends to {call.key.shape[2]} key slots from position "
            f"{call.visible.first_key}, but the input has {tokens} tokens: its keys are not the "
            "prompt's tokens",
            next_step="choose a model that keeps one key per token",
        )


def not_a_number(layer: int, head: int) -> ExactnessError:
    """The error for NaN and infinity."""
    return ExactnessError(
        f"attention of layer {layer}, head {head} is not a number",
        next_step="look for NaN or overflow in the weights or activations; "
        "float16 overflows where bfloat16 or float32 does not",
    )


class Recorder:
    """Watches the attention calls of one pass; `layers` holds what was found in each layer."""

    def __init__(
        self, batch: TokenBatch, request: Request, observer: Observer | None = None
    ) -> None:
        self.batch, self.request, self.observer = batch, request, observer
        self.ends = False  # the pass, or each chunk, after the last layer that was asked for
        self.layers: dict[int, LayerStats] = {}
        self.chunk: dict[int, LayerStats] = {}  # the same of this chunk alone; keys up to its end
        self.shared = 0  # tokens at the start whose chunks were kept from an earlier prompt
        self.calls: Counter[int] = Counter()  # of each layer in this pass or chunk
        self.modules: dict[int, torch.nn.Module] = {}
        self.masks: list[Visibility] = []  # made in this pass or chunk
        # By id of the mask, which is kept, or its id might be given again; and by device.
        self._weights: dict[tuple[int, torch.device], tuple[Visibility, Weights]] = {}
        self._expected: dict[int, tuple[Visibility, torch.Tensor]] = {}
        self._scratch = Scratch()

    def begin_chunk(self) -> None:
        self.chunk.clear()
        self.calls.clear()
        self.masks.clear()
        self._weights.clear()
        self._expected.clear()

    def see(self, module: torch.nn.Module, call: AttentionCall) -> torch.Tensor:
        """Run one call; the output is the model's, the statistics stay here."""
        layer = layer_of(module)
        self.calls[layer] += 1
        known = self.modules.setdefault(layer, module)
        if self.calls[layer] > 1:
            raise attended_twice(layer, known, module)
        if self.request.layers is not None and layer not in self.request.layers:
            tokens = _keys_are_tokens(call, self.batch.tokens)
            return self._unmeasured(call) if tokens else plain(call)
        require_token_keys(layer, call, self.batch.tokens)
        output = self._measure(layer, call)
        if self.ends and self.request.layers is not None and self.request.layers <= {*self.calls}:
            raise LastLayerSeen
        return output

    def _unmeasured(self, call: AttentionCall) -> torch.Tensor:
        """A layer that was not asked for, by the same arithmetic as if it had been.

        So the choice of layers changes no bit of those that were chosen.
        """
        name = choose_kernel(call, self.request)
        if name == "fused":  # the only one whose output depends on the statistics beside it
            return KERNELS[name](call, self.request, self._weights_of(call), self._scratch)[0]
        return KERNELS[name](call, NO_STATISTICS, Weights(), self._scratch)[0]

    def _measure(self, layer: int, call: AttentionCall) -> torch.Tensor:
        if self.observer is not None:
            self.observer(layer, call)
        kernel = KERNELS[choose_kernel(call, self.request)]
        output, stats = kernel(call, self.request, self._weights_of(call), self._scratch)
        before = call.visible.first_key
        if stats.received is not None and before:
            stats = replace(stats, received=pad(stats.received, (before, 0)))
        self.chunk[layer] = replace(stats, expected=self._expected_of(call))
        self.join(layer, self.chunk[layer])
        return output

    def join(self, layer: int, stats: LayerStats) -> None:
        """Add what the next chunk of the prompt has, seen now or kept from an earlier prompt."""
        after = 0 if stats.received is None else self.batch.tokens - stats.received.shape[-1]
        if stats.received is not None and after:
            # Sums over the keys so far → over all tokens of the prompt.
            stats = replace(stats, received=pad(stats.received, (0, after)))
        known = self.layers.get(layer)
        self.layers[layer] = stats if known is None else known.joined(stats)

    def _weights_of(self, call: AttentionCall) -> Weights:
        """Layers share their masks, and so what their keys and queries count for."""
        which = (id(call.visible), call.query.device)
        if which not in self._weights:
            self._weights[which] = (call.visible, self.batch.weights_of(call))
        return self._weights[which][1]

    def _expected_of(self, call: AttentionCall) -> torch.Tensor | None:
        """Each mask is evaluated once a chunk."""
        if "mass" not in self.request.statistics:
            return None
        visible = call.visible
        if id(visible) not in self._expected:
            columns = self.batch.columns_of(call)
            self._expected[id(visible)] = (visible, uniform_share(visible, columns))
        return self._expected[id(visible)][1]

    def require_finite(self) -> None:
        """Refuse NaN and infinity, naming the first layer and head that has one."""
        for layer, stats in sorted(self.layers.items()):
            if _finite(stats):
                continue
            heads = _broken_heads(stats, self.batch.valid)
            if len(heads):
                raise not_a_number(layer, int(heads[0]))


def _finite(stats: LayerStats) -> bool:
    """Whether nothing in it is NaN or infinite, padding included: a sum of them shows."""
    parts = (stats.given, stats.carried, stats.received, *stats.per_query.values())
    return all(isfinite(float(x.sum())) for x in parts if x is not None)


def _broken_heads(stats: LayerStats, valid: torch.Tensor) -> torch.Tensor:
    """The heads that hold a NaN or infinity in the row of a real token."""
    bad: list[torch.Tensor] = []
    rows = [x[..., None] for x in stats.per_query.values()]  # [batch, head, query, 1]
    classes = [x for x in (stats.given, stats.carried) if x is not None]
    for part in (*classes, *rows):
        real = valid[:, None, : part.shape[2], None].to(part.device)
        bad.append((~torch.isfinite(part) & real).flatten(2).any(2).any(0))
    if stats.received is not None:  # [batch, set, head, key]
        bad.append((~torch.isfinite(stats.received)).any(3).any(1).any(0))
    return torch.stack(bad).any(0).nonzero() if bad else torch.empty(0)


def plain(call: AttentionCall) -> torch.Tensor:
    """Attention among keys that are no tokens: the vendor's kernel where it applies."""
    if not call.plain:
        return blockwise.run(call, NO_STATISTICS, Weights())[0]
    output = scaled_dot_product_attention(
        call.query,
        call.key,
        call.value,
        is_causal=True,
        scale=call.scale,
        enable_gqa=call.group > 1,
    )
    return output.transpose(1, 2).contiguous()
