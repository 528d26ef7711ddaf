"""Is a model measured exactly? Asked of the model itself, once per kind, and remembered on disk.

Two things are judged, for one layer of each kind, on that layer's own inputs, so that no rounding
adds up over the depth of the model:

- What the layer attends to: mask, window, scale, soft-cap, sinks, grouping, biases. A copy of its
  attention module computes in float32, by transformers' eager attention and by ours; the float64
  softmax of the queries and keys that reach us must equal the eager weights, entry by entry.
- The kernel: masses and received attention of queries and keys of the model's own dtype, against
  the float64 softmax of the same.

A difference that rounding explains never refuses a model: eager attention in half precision rounds
scores, and weights that it returns can be off by 0.5 where scores reach 1,500; it is not asked.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from mindshare.attention import reference
from mindshare.attention.call import AttentionCall, LayerStats, Scratch, TokenBatch
from mindshare.attention.checks import digest, remember, remembered, versions
from mindshare.attention.forward import (
    forward,
    may_end_early,
    require_decoder,
    require_seen,
    without_head,
)
from mindshare.attention.jobs import Layers, Request
from mindshare.attention.masks import LazyMask, Visibility
from mindshare.attention.recorder import (
    KERNELS,
    LastLayerSeen,
    attended_twice,
    choose_kernel,
    implementation,
    inputs_device,
    layer_of,
    not_a_number,
    plain,
    probe_ids,
    recording,
    require_token_keys,
    temporary_hooks,
)
from mindshare.errors import ExactnessError
from mindshare.models.facts import context_length_of

_TOKENS = 40  # of the probe; more where that crosses a window
_LONGEST = 1024  # windows up to this are crossed
_NOT_OF_A_KIND = ("layer_idx", "layer_id", "layer_index", "layer_number", "training")
_AMPLIFIED = 8.0  # scores of at least this size show a wrong scale or soft-cap


@dataclass(frozen=True)
class LayerCheck:
    """Figures of one layer, which stands for all of its kind.

    `eager_error` is the largest difference of a weight to the eager one, relative to the weight (to
    1e-6 where it is smaller); `kernel_error` the largest of a mass or a mean of received attention.
    A float32 score s is rounded by about 1e-7·s, and its weight by as much of itself.
    """

    layer: int
    module: str  # the class of its attention
    eager_error: float
    eager_tolerance: float
    kernel_error: float
    kernel_tolerance: float
    largest_score: float  # in the model's dtype, on the layer's own inputs

    @property
    def exact(self) -> bool:
        return (
            self.eager_error <= self.eager_tolerance and self.kernel_error <= self.kernel_tolerance
        )


@dataclass(frozen=True)
class Verdict:
    """Figures of one layer of each kind, on a prompt of so many tokens."""

    exact: bool
    checks: tuple[LayerCheck, ...]
    tokens: int
    versions: str

    @classmethod
    def remembered(cls, model: torch.nn.Module, subject: str) -> Verdict | None:
        """Return what an earlier check left in the user's cache."""
        values = remembered(model, subject) or {}
        try:
            checks = tuple(LayerCheck(**layer) for layer in values["checks"])
            return cls(**{**values, "checks": checks})
        except (KeyError, TypeError):  # nothing, or the fields of another version
            return None


def verify(model: torch.nn.Module, layers: Layers = None) -> Verdict:
    """Return the verdict on these layers, remembered or made now; raise where one is not exact."""
    subject = f"checks/{digest(repr(sorted(_wanted(model, _kinds(model), layers))))}"
    saved = Verdict.remembered(model, subject)
    verdict = check(model, layers) if saved is None else saved
    for layer in verdict.checks:
        _require_exact(layer)
    if saved is None:
        remember(model, subject, asdict(verdict))
    may_end_early(model)
    return verdict


def _require_exact(check: LayerCheck) -> None:
    if not check.eager_error <= check.eager_tolerance:  # NaN is not
        raise ExactnessError(
            f"what layer {check.layer} ({check.module}) is seen to attend to differs from this "
            f"model's own eager attention: a weight by {check.eager_error:.2g} of itself "
            f"(allowed {check.eager_tolerance:.0e}), so its numbers would be wrong",
            next_step="measure another model, and please report this one's type and config",
        )
    if not check.exact:
        raise ExactnessError(
            f"the kernel's masses in layer {check.layer} ({check.module}) differ from the float64 "
            f"softmax of the same queries and keys by {check.kernel_error:.2g} (allowed "
            f"{check.kernel_tolerance:.0e}), so they would be wrong",
            next_step="measure in another dtype or on another device, and please report this "
            "model's type, dtype and device",
        )


def check(model: torch.nn.Module, layers: Layers = None) -> Verdict:
    """Judge one layer of each kind among these now."""
    require_decoder(model)
    tokens = _probe_tokens(getattr(model, "config", None))
    ids = probe_ids(model, tokens)[None]
    probe = _Probe(model, ids, layers)
    _run(model, ids, recording(model, probe), probe.hooks())
    require_seen(model, probe.calls)
    eager = _EagerPass(model, probe)
    _run(model, ids, implementation(model, "eager"), eager.hooks())
    unread = sorted(set(probe.samples) - set(eager.checks))
    if unread:
        raise _unreadable(unread[0])
    checks = tuple(eager.checks[layer] for layer in sorted(eager.checks))
    return Verdict(all(layer.exact for layer in checks), checks, tokens, versions())


def _probe_tokens(config: Any) -> int:
    """Return the length of a prompt that is longer than the model's windows, if they are short."""
    text = config.get_text_config(decoder=True)
    windows = (getattr(text, "sliding_window", None), getattr(text, "attention_chunk_size", None))
    crossed = [x + _TOKENS // 4 for x in windows if isinstance(x, int) and x <= _LONGEST]
    return max(2, min(max([_TOKENS, *crossed]), context_length_of(config) or _TOKENS))


def _run(model: torch.nn.Module, ids: torch.Tensor, *contexts: Any) -> None:
    """Run the model without its head inside these contexts, until everything was seen."""
    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode())
        for context in contexts:
            stack.enter_context(context)
        with suppress(LastLayerSeen):
            forward(without_head(model), ids.to(inputs_device(model)), None, use_cache=False)


_Arguments = dict[str, Any]  # of a module's forward, by name


@dataclass(frozen=True)
class _Sample:
    """A layer that stands for its kind: its module with its arguments, and its kernel's error."""

    module: torch.nn.Module
    arguments: _Arguments
    masks: list[Visibility]  # made in the pass
    kernel_error: float
    largest_score: float


class _Probe:
    """Watches a pass until it has seen one layer of each kind."""

    def __init__(self, model: torch.nn.Module, ids: torch.Tensor, layers: Layers) -> None:
        self.masks: list[Visibility] = []
        self.calls: Counter[int] = Counter()
        self.samples: dict[int, _Sample] = {}
        generator = torch.Generator().manual_seed(0)
        columns = torch.rand(*ids.shape, 5, generator=generator)
        self._batch = TokenBatch(ids, columns, torch.ones_like(ids, dtype=torch.bool))
        self._kinds = _kinds(model)
        self._wanted = _wanted(model, self._kinds, layers)
        self._all = layers is None
        # A layer of a foreign class may attend again later; of transformers' own the laws know.
        self._ends = type(model).__module__.startswith("transformers.models.")
        self._entered: dict[torch.nn.Module, _Arguments] = {}
        self._left: set[str] = set()  # kinds
        self._modules: dict[int, torch.nn.Module] = {}

    @contextmanager
    def hooks(self) -> Iterator[None]:
        enter = (x.register_forward_pre_hook(self._enter, with_kwargs=True) for x in self._kinds)
        leave = (x.register_forward_hook(self._leave) for x in self._kinds)
        with temporary_hooks(enter), temporary_hooks(leave):
            yield

    def _enter(self, module: torch.nn.Module, args: Any, kwargs: Any) -> None:
        self._entered[module] = _by_name(module, args, kwargs)

    def _leave(self, module: torch.nn.Module, *_call: Any) -> None:
        self._left.add(self._kinds[module])
        if self._ends and self._wanted <= self._left:
            raise LastLayerSeen

    def see(self, module: torch.nn.Module, call: AttentionCall) -> torch.Tensor:
        layer = layer_of(module)
        self.calls[layer] += 1
        first = self._modules.setdefault(layer, module)
        if self.calls[layer] > 1:
            raise attended_twice(layer, first, module)
        kind = self._kinds.get(module)
        sampled = {self._kinds[sample.module] for sample in self.samples.values()}
        if kind is None or kind in sampled or not (self._all or kind in self._wanted):
            return plain(call)
        require_token_keys(layer, call, self._batch.tokens)
        self._require_finite(layer, call)
        exact = _on_cpu(call)
        _, truth = reference.run(exact, Request(), self._batch.weights_of(exact))
        errors = []
        for statistics in ({"mass"}, {"mass", "received"}):  # may have different kernels
            request = Request(statistics=frozenset(statistics))
            kernel = KERNELS[choose_kernel(call, request)]
            output, stats = kernel(call, request, self._batch.weights_of(call), Scratch())
            errors.append(_error(stats, truth, call.query.shape[2]))
        self.samples[layer] = _Sample(
            module=module,
            arguments=self._entered[module],
            masks=self.masks,
            kernel_error=float(torch.tensor(errors).max()),  # NaN if one is
            largest_score=_largest_score(exact),
        )
        return output

    def _require_finite(self, layer: int, call: AttentionCall) -> None:
        for tensor in (call.query, call.key):
            bad = ~torch.isfinite(tensor).all(-1).all(-1).all(0)
            if bool(bad.any()):
                raise not_a_number(layer, int(bad.nonzero()[0]))


class _EagerPass:
    """Watches an eager pass, whose masks are the model's own, and compares each sample with it."""

    def __init__(self, model: torch.nn.Module, probe: _Probe) -> None:
        self.model, self.probe = model, probe
        self.checks: dict[int, LayerCheck] = {}
        self._layer_of = {sample.module: layer for layer, sample in probe.samples.items()}

    @contextmanager
    def hooks(self) -> Iterator[None]:
        enter = (x.register_forward_pre_hook(self._enter, with_kwargs=True) for x in self._layer_of)
        with temporary_hooks(enter):
            yield

    def _enter(self, module: torch.nn.Module, args: Any, kwargs: Any) -> None:
        layer = self._layer_of[module]
        own = _by_name(module, args, kwargs)
        self.checks[layer] = self._compare(layer, self.probe.samples[layer], own)
        if len(self.checks) == len(self._layer_of):
            raise LastLayerSeen

    def _compare(self, layer: int, sample: _Sample, own: _Arguments) -> LayerCheck:
        copy = _widened(sample.module)
        dtype = next(copy.parameters()).dtype

        def arguments(*, eager: bool, by: float = 1.0) -> _Arguments:
            values = sample.arguments
            if eager:
                values = values | {k: v for k, v in own.items() if _is_mask(k, values.get(k))}
            return _scaled({name: _cast(value, dtype) for name, value in values.items()}, by)

        ours = self._ours(copy, sample, arguments(eager=False))
        size = _largest_score(ours)
        by = (_AMPLIFIED / max(size, 1e-6)) ** 0.5
        if by > 1:  # nearly uniform attention would hide a wrong scale
            ours = self._ours(copy, sample, arguments(eager=False, by=by))
            size = _largest_score(ours)
        weights = _weights(copy(**arguments(eager=True, by=max(by, 1.0))))
        truth = reference.probabilities(ours)
        if weights is None or weights.shape != truth.shape:
            raise _unreadable(layer)
        apart = (weights.double().cpu() - truth).abs() / truth.clamp(min=1e-6)
        return LayerCheck(
            layer=layer,
            module=type(sample.module).__name__,
            eager_error=float(apart.max()),
            eager_tolerance=1e-4 + 4e-6 * size,
            kernel_error=sample.kernel_error,
            kernel_tolerance=2e-4 + 1e-6 * sample.largest_score,
            largest_score=sample.largest_score,
        )

    def _ours(self, copy: torch.nn.Module, sample: _Sample, arguments: _Arguments) -> AttentionCall:
        """Return the attention call that reaches us from the copy."""
        watcher = _Catcher(list(sample.masks))
        with recording(self.model, watcher):
            copy(**arguments)
        assert watcher.call is not None
        return _on_cpu(watcher.call)


class _Catcher:
    """Keeps an attention call."""

    def __init__(self, masks: list[Visibility]) -> None:
        self.masks = masks
        self.call: AttentionCall | None = None

    def see(self, _module: torch.nn.Module, call: AttentionCall) -> torch.Tensor:
        self.call = call
        return plain(call)


def _kinds(model: torch.nn.Module) -> dict[torch.nn.Module, str]:
    """Return the kind of each module that carries a layer's number.

    Layers of one kind have modules of the same classes, settings and shapes, and the same word for
    the layer in the config, so that they attend alike.
    """
    config: Any = getattr(model, "config", None)
    text = config.get_text_config(decoder=True)
    words = getattr(text, "layer_types", None) or getattr(text, "layers_block_type", None) or ()
    parents = {child: module for module in model.modules() for child in module.children()}
    kinds = {}
    for module in model.modules():
        layer = getattr(module, "layer_idx", None)
        if not isinstance(layer, int) or layer < 0:
            continue
        word = words[layer] if layer < len(words) else None
        shapes = [(name, tuple(x.shape)) for name, x in module.named_parameters()]
        parent = parents.get(module)
        described = (_settings(module), _settings(parent), word, shapes)
        kinds[module] = digest(repr(described))
    return kinds


def _wanted(
    model: torch.nn.Module, kinds: Mapping[torch.nn.Module, str], layers: Layers
) -> set[str]:
    """Return the kinds of these layers of the decoder; towers for images do not run."""
    decoder: Any = getattr(model, "get_decoder", lambda: None)() or model
    inside = kinds.keys() & set(decoder.modules()) or kinds.keys()
    return {kinds[x] for x in inside if layers is None or layer_of(x) in layers}


def _settings(module: torch.nn.Module | None) -> Any:
    """Return the class of a module and its plain attributes but those that number its layer."""
    if module is None:
        return None
    settings = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, int | float | str | tuple | None) and name not in _NOT_OF_A_KIND
    }
    return type(module).__qualname__, sorted(settings.items())


def _widened(module: torch.nn.Module) -> torch.nn.Module:
    """Return a copy that computes in float32 (or more), without hooks.

    It shares the configs, which say what attention is used. Weights that accelerate keeps elsewhere
    are brought for the copy.
    """
    hooked: list[Any] = [part for part in module.modules() if hasattr(part, "_hf_hook")]
    for part in hooked:
        part._hf_hook.pre_forward(part)
    configs = [vars(part).get("config") for part in module.modules()]
    copy = deepcopy(module, {id(config): config for config in configs if config is not None})
    for part in hooked:
        part._hf_hook.post_forward(part, None)
    for part in copy.modules():
        part._forward_pre_hooks.clear()
        part._forward_hooks.clear()
        vars(part).pop("forward", None)  # accelerate's, bound to the original
    return copy.to(torch.promote_types(next(copy.parameters()).dtype, torch.float32))


def _by_name(module: torch.nn.Module, args: Any, kwargs: Any) -> _Arguments:
    """Return all arguments of a call as keywords."""
    signature = inspect.signature(module.forward)
    named = dict(signature.bind(*args, **kwargs).arguments)
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            named |= named.pop(name, {})
    return named


def _is_mask(name: str, ours: Any) -> bool:
    """Whether an argument says what is seen or adds to scores: eager has a form of its own."""
    return isinstance(ours, LazyMask) or any(x in name for x in ("mask", "bias", "alibi"))


def _cast(value: Any, dtype: torch.dtype) -> Any:
    """Convert floating-point tensors, also inside lists and tuples."""
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.to(dtype)
    if isinstance(value, list | tuple):
        return type(value)(_cast(part, dtype) for part in value)
    return value


def _scaled(arguments: _Arguments, by: float) -> _Arguments:
    """Multiply the hidden states: [batch, token, dim], the first such argument of all."""
    for name, value in arguments.items():
        if isinstance(value, torch.Tensor) and value.is_floating_point() and value.dim() == 3:
            return arguments | {name: value * by}
    return arguments


def _on_cpu(call: AttentionCall) -> AttentionCall:
    """Move a call to where there is float64 (MPS has none)."""
    moved: dict[str, Any] = {
        name: value.cpu()
        for name, value in vars(call).items()
        if isinstance(value, torch.Tensor) and value.device.type != "cpu"
    }
    return replace(call, **moved)


def _largest_score(call: AttentionCall) -> float:
    """Return the largest |q·k|·scale, before mask and soft-cap."""
    query = call.query.double().unflatten(1, (-1, call.group))
    scores = query @ call.key.double()[:, :, None].transpose(3, 4)
    return float(scores.abs().max()) * abs(call.scale)


def _error(stats: LayerStats, truth: LayerStats, queries: int) -> float:
    """Return the largest error of masses and received means; NaN where a number is none."""
    assert stats.given is not None
    assert truth.given is not None
    error = (stats.given.double().cpu() - truth.given).abs().max()
    if stats.received is not None and truth.received is not None:
        received = (stats.received.cpu() - truth.received).abs().max() / queries
        error = torch.maximum(error, received)
    return float(error)


def _weights(outputs: Any) -> torch.Tensor | None:
    """Return the weights of an attention module's (output, weights)."""
    parts = outputs[1:] if isinstance(outputs, tuple) else ()
    return next((x for x in parts if isinstance(x, torch.Tensor) and x.dim() == 4), None)


def _unreadable(layer: int) -> ExactnessError:
    return ExactnessError(
        f"the eager attention of layer {layer} can't be read, so nothing shows that its "
        "statistics are exact",
        next_step="measure another model",
    )
