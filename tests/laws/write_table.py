"""Every type of the zoo → how far mindshare is from its own eager attention → docs/models.md.

Run `python -m tests.laws.write_table docs/models.md`. The expected numbers come from the matrices
the model itself returns when it is asked for them (`output_attentions`), on a copy set to eager;
nothing of mindshare's self-check is used. Where a model returns none, forward hooks catch them.
"""

from __future__ import annotations

import copy
import logging
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers

from mindshare.attention.call import AttentionCall, TokenBatch
from mindshare.attention.capture import Capture, CaptureOptions, capture
from mindshare.attention.jobs import Request
from mindshare.attention.recorder import Recorder, recording
from mindshare.errors import MindshareError
from tests.laws.zoo import (
    ATTENTION_LAYERS,
    CHANGED_BY_CHUNKS,
    EXACT,
    LAYERS,
    REFUSED,
    UNBUILDABLE,
    VOCABULARY,
    build,
)

TOKENS = 45
CLASSES = 5
EVERYTHING = CaptureOptions(entropy=True, distance=True)


@dataclass(frozen=True)
class Expected:
    """The statistics of one layer, from a matrix A [head, query, key]."""

    mass: torch.Tensor  # [head, query, class]
    received: torch.Tensor  # [head, key]
    entropy: torch.Tensor  # [head, query]
    distance: torch.Tensor  # [head, query]


@dataclass(frozen=True)
class Comparison:
    """One type, measured and expected. Errors are the largest over layers, heads and tokens."""

    layers: tuple[int, ...]
    features: tuple[str, ...]
    caught_by_hooks: bool
    mass: float
    received: float
    entropy: float
    distance: float
    row_sums: tuple[float, float]  # smallest and largest total mass of a partition
    output: float  # largest difference of the logits, relative to the largest logit
    restored: bool  # attention implementations are the same as before
    peaked: float  # mean entropy over the entropy of uniform attention; 1 is uniform


def prompt(tokens: int = TOKENS, *, seed: int = 1) -> torch.Tensor:
    """[token]; no special tokens."""
    return torch.randint(3, VOCABULARY, (tokens,), generator=torch.Generator().manual_seed(seed))


def key_weights(tokens: int = TOKENS) -> torch.Tensor:
    """[token, 2·CLASSES]: random columns, then a partition of the tokens into classes."""
    generator = torch.Generator().manual_seed(2)
    classes = torch.randint(0, CLASSES, (tokens,), generator=generator)
    partition = torch.nn.functional.one_hot(classes, CLASSES).float()
    return torch.cat([torch.rand(tokens, CLASSES, generator=generator), partition], 1)


def attention_layers(model_type: str) -> tuple[int, ...]:
    return ATTENTION_LAYERS.get(model_type, tuple(range(LAYERS)))


@cache
def compare(model_type: str) -> Comparison:
    model, ids, columns = build(model_type), prompt(), key_weights()
    before = implementations(model)
    seen = capture(model, ids, columns, options=EVERYTHING)
    restored = implementations(model) == before
    matrices, hooks = eager_attention(model, ids[None])
    wanted = {
        layer: expected(a[0], columns)
        for layer, a in zip(attention_layers(model_type), matrices, strict=True)
    }
    totals = torch.cat([mass[..., CLASSES:].sum(-1).flatten() for mass in seen.mass.values()])
    features, output = watched(model, ids[None])
    return Comparison(
        layers=seen.layers,
        features=features,
        caught_by_hooks=hooks,
        mass=largest_error(seen, wanted, "mass"),
        received=largest_error(seen, wanted, "received"),
        entropy=largest_error(seen, wanted, "entropy"),
        distance=largest_error(seen, wanted, "distance"),
        row_sums=(float(totals.min()), float(totals.max())),
        output=output,
        restored=restored,
        peaked=_peakedness(matrices),
    )


def expected(
    attention: torch.Tensor, columns: torch.Tensor, *, valid: torch.Tensor | None = None
) -> Expected:
    """By the definitions, in float64. `valid` [token] says which queries count for `received`."""
    a = attention.double()
    tokens = a.shape[-1]
    positions = torch.arange(tokens)
    apart = positions[:, None] - positions
    counts = (torch.ones(tokens) if valid is None else valid).double()[:, None] * (apart > 0)
    return Expected(
        mass=a @ columns.double(),
        received=(a * counts).sum(1) / counts.sum(0).clamp(min=1),
        entropy=torch.special.entr(a).sum(-1),
        distance=(a * apart).sum(-1),
    )


def largest_error(seen: Capture, wanted: dict[int, Expected], name: str) -> float:
    measured = getattr(seen, name)
    return max(float((measured[k] - getattr(e, name)).abs().max()) for k, e in wanted.items())


def eager_attention(
    model: torch.nn.Module, ids: torch.Tensor, mask: torch.Tensor | None = None
) -> tuple[list[torch.Tensor], bool]:
    """A [batch, head, query, key] of each attention layer in order; whether hooks were needed."""
    twin: Any = copy.deepcopy(model)
    twin.set_attn_implementation("eager")
    options = {} if mask is None else {"attention_mask": mask}
    square = (len(ids), ids.shape[1], ids.shape[1])
    with torch.inference_mode(), _catching(twin, square) as caught:
        output = twin(input_ids=ids, output_attentions=True, use_cache=False, **options)
    returned = [a for a in getattr(output, "attentions", None) or () if _is_attention(a, square)]
    return (returned, False) if returned else (caught, True)


def _is_attention(x: Any, square: tuple[int, ...]) -> bool:
    return isinstance(x, torch.Tensor) and x.dim() == 4 and (len(x), *x.shape[2:]) == square


@contextmanager
def _catching(model: torch.nn.Module, square: tuple[int, ...]) -> Iterator[list[torch.Tensor]]:
    """Square matrices that modules hand back beside their output, each once, in order."""
    caught: list[torch.Tensor] = []

    def hook(_module: torch.nn.Module, _inputs: Any, outputs: Any) -> None:
        for part in outputs[1:] if isinstance(outputs, tuple) else ():
            if _is_attention(part, square) and all(part is not other for other in caught):
                caught.append(part)

    handles = [module.register_forward_hook(hook) for module in model.modules()]
    try:
        yield caught
    finally:
        for handle in handles:
            handle.remove()


class _Noting(Recorder):
    """Notes what kinds of attention calls a model makes."""

    def __init__(self, batch: TokenBatch) -> None:
        super().__init__(batch, Request(frozenset({"received"})))
        self.features: set[str] = set()

    def see(self, module: torch.nn.Module, call: AttentionCall) -> torch.Tensor:
        last = call.visible.queries - 1
        noted = {
            "grouped queries": call.group > 1,
            "window": call.visible.bounds(last, last + 1)[0] > 0,
            "softcap": call.softcap is not None,
            "learned sinks": call.sinks is not None,
            "score bias": call.bias is not None,
        }
        self.features |= {name for name, present in noted.items() if present}
        return super().see(module, call)


def watched(model: Any, ids: torch.Tensor) -> tuple[tuple[str, ...], float]:
    """What its attention is like, and how far the logits are from those of an unwatched run."""
    columns = key_weights(ids.shape[1])[None]
    noting = _Noting(TokenBatch(ids, columns, torch.ones_like(ids, dtype=torch.bool)))
    with torch.inference_mode():
        alone = model(input_ids=ids, use_cache=False).logits
        with recording(model, noting):
            with_us = model(input_ids=ids, use_cache=False).logits
    features = _structure(model) | noting.features
    config = model.config.get_text_config()
    if getattr(config, "attention_chunk_size", None):
        features = features - {"window"} | {"chunks"}
    if len(configured_layers(config)) < config.num_hidden_layers:
        features.add("hybrid")
    return tuple(sorted(features)), float((alone - with_us).abs().max() / alone.abs().max())


def configured_layers(config: Any) -> tuple[int, ...]:
    """The layers that the config itself says attend."""
    kinds = getattr(config, "layers_block_type", None) or getattr(config, "layer_types", None)
    if kinds is None:
        return tuple(range(config.num_hidden_layers))
    recurrent = {"linear_attention", "conv", "moe", "mlp", "mamba", "recurrent"}
    return tuple(layer for layer, kind in enumerate(kinds) if kind not in recurrent)


def _structure(model: torch.nn.Module) -> set[str]:
    """What the names of its modules say."""
    names = " ".join(name for name, _ in model.named_modules())
    signs = {
        "experts": r"\.experts?\b|\bmoe\b",
        "QK norm": r"\b(q|k|qk|query|key)_?(layer)?_?norm\b",
        "latent keys": r"\bkv_a_|\bkv_b_proj\b",
        "hybrid": r"\bmamba\b",
        "image layers left out": r"\bcross_attn\b",
    }
    return {feature for feature, sign in signs.items() if re.search(sign, names)}


def implementations(model: torch.nn.Module) -> list[str]:
    """What each module's config says its attention implementation is."""
    configs = (getattr(module, "config", None) for module in model.modules())
    return [str(getattr(config, "_attn_implementation", None)) for config in configs]


def _peakedness(matrices: list[torch.Tensor]) -> float:
    """The layer that is nearest to uniform decides."""
    shares = []
    for a in (m.double()[..., TOKENS // 2 :, :] for m in matrices):
        uniform = (a > 0).sum(-1).clamp(min=2).double().log()
        shares.append(float((torch.special.entr(a).sum(-1) / uniform).mean()))
    return max(shares)


def reason(model_type: str) -> tuple[str, str]:
    """The error a refused type gets, and what is behind it."""
    try:
        capture(build(model_type), prompt(), key_weights())
    except MindshareError as error:
        return type(error).__name__, REFUSED[model_type].because or error.what
    raise AssertionError(f"{model_type} was measured, but the zoo says it is refused")


_INTRODUCTION = """# Which models are measured exactly

Each model type below is built tiny, with random weights whose attention is made peaked on purpose
(nearly uniform attention would hide errors), and read over a prompt of {tokens} tokens with windows
and chunks shorter than that. mindshare's masses, received attention, entropy and distance of every
layer, head and token are compared with the same numbers computed in float64 from the attention
matrices that the model's own eager code returns. The largest difference allowed is 2e-4 for masses
and received attention, 1e-3 nats for entropy and 1e-2 tokens for distance. The tests also check
that the masses of all classes sum to 1 (less where a learned sink takes its part), that the model's
logits are the same whether or not mindshare watches, and that the model is left as it was found.

**{exact} types are exact**, {refused} are refused with the reason, and {unbuilt} can't be built
here: together every causal-LM type of transformers {version}.
{hooked}

A long prompt can be fed in pieces through the model's own cache. Some types are not the same models
then, with or without mindshare, because recurrent states start anew with each piece, or the cache
drops keys that the mask shows; chunks are refused for {changed}.

The tables are written by `python -m tests.laws.write_table docs/models.md`.
"""


def table() -> str:
    rows = {model_type: compare(model_type) for model_type in EXACT}
    hooked = sorted(model_type for model_type, row in rows.items() if row.caught_by_hooks)
    parts = [
        _INTRODUCTION.format(
            tokens=TOKENS, exact=len(EXACT), refused=len(REFUSED), unbuilt=len(UNBUILDABLE),
            version=transformers.__version__, hooked=_hook_sentence(hooked),
            changed=", ".join(CHANGED_BY_CHUNKS),
        ),
        "## Exact\n",
        "| type | attention | layers seen | max error, masses | max error, received |",
        "| --- | --- | --- | --- | --- |",
        *(
            f"| {name} | {', '.join(row.features) or 'plain'} | {', '.join(map(str, row.layers))} "
            f"| {row.mass:.0e} | {row.received:.0e} |"
            for name, row in sorted(rows.items())
        ),
        "\n## Refused\n",
        "| type | error | reason |",
        "| --- | --- | --- |",
        *(f"| {name} | {' | '.join(reason(name))} |" for name in sorted(REFUSED)),
        "\n## Not built\n",
        "| type | reason |",
        "| --- | --- |",
        *(f"| {name} | {why} |" for name, why in sorted(UNBUILDABLE.items())),
    ]  # fmt: skip
    return "\n".join(parts) + "\n"


def _hook_sentence(hooked: list[str]) -> str:
    if not hooked:
        return "All of the exact ones return their matrices when asked."
    return (
        f"{len(EXACT) - len(hooked)} of the exact ones return their matrices when asked; for "
        f"{len(hooked)} ({', '.join(hooked)}) forward hooks catch them."
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)  # the matrices are too small to share
    Path(sys.argv[1]).write_text(table(), encoding="utf-8")
