"""What half precision does to attention, as docs/half-precision.md: `make half-precision`.

Two models: the embedded one, and a random one of two layers whose biases of queries and keys make
scores of 1,500, as in the first layer of Qwen2.5-0.5B. Two ways: mindshare, and the usual script
around `output_attentions=True`. Takes about a minute.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

import mindshare
from mindshare.attention.call import AttentionCall, TokenBatch
from mindshare.attention.forward import run_pass
from mindshare.attention.jobs import Request
from mindshare.attention.reference import probabilities
from mindshare.attention.selfcheck import check

PAGE = Path(__file__).parent / "half-precision.md"
TEXT = Path(__file__).parents[1] / "LICENSE"
PROMPTS, TOKENS = 8, 300
BIAS = 23.0  # of each of a head's 8 queries and keys: a score of 8 · 23² / √8 = 1,496
HALF = ("bfloat16", "float16")

Prompts = Sequence[tuple[torch.Tensor, torch.Tensor]]  # ids [token], key weights [token, class]
Shares = Callable[[Any, torch.Tensor, torch.Tensor], torch.Tensor]  # → [layer, head, class]

INTRODUCTION = """# Half precision

A model in bfloat16 or float16 can be measured as it is. This page shows how exact that is, and how
exact a script around `output_attentions=True` is.

Eager attention, which returns the weights, computes scores in the model's dtype. bfloat16 has 8
significant bits: a score near 1,500 is rounded to a multiple of 8, and where two scores differ by
8, their weights differ by a factor of 3,000. The kernels that models normally run with (SDPA, flash
attention) sum in float32. So does mindshare: it takes queries and keys in the model's dtype, and
computes scores, weights and shares in float32.

So the self-check does not compare mindshare with eager attention in half precision. What a layer
attends to (mask, window, scale, soft-cap, sinks, grouping, biases) is proven on a float32 copy of
one attention module at a time; the kernel is compared with the float64 softmax of the same queries
and keys.

The tables are written by `make half-precision`: {prompts} prompts of {tokens} tokens from the
project's licence, with three classes of tokens: the first token, punctuation, everything else. The
random model has two layers; its biases of queries and keys are scaled until scores are as large as
in the first layer of Qwen2.5-0.5B (1,456).
"""
FIRST_LAYER = """Most charts show the first layer, and there both ways have the same queries and
keys. The largest error of any weight, and of the share that one query gives to a class, against the
float64 softmax of these queries and keys (weights and shares are between 0 and 1):
"""
ALL_LAYERS = """Shares of the classes by layer, and by layer and head, as means over the queries of
a prompt, against mindshare in float32. This includes what half precision does to the hidden states
on the way, which is the model's own and the same for both ways. Errors of single weights have
either sign, so that most of them vanish in a mean over all queries and a large class; they stay in
maps of single prompts, in small classes and in single tokens.
"""


def page() -> str:
    embedded = mindshare.load("smollm2", progress=False)
    ids = embedded.tokenizer(TEXT.read_text(encoding="utf-8"))["input_ids"]  # type: ignore[misc]
    columns = classes(embedded.tokenizer.convert_ids_to_tokens(ids))  # type: ignore[union-attr]
    cuts = [slice(i * TOKENS, (i + 1) * TOKENS) for i in range(PROMPTS)]
    prompts = [(torch.tensor(ids[cut]), first_token(columns[cut])) for cut in cuts]
    small = [(x % 96, weights) for x, weights in prompts]
    parts = [
        INTRODUCTION.format(prompts=PROMPTS, tokens=TOKENS),
        "## The weights of the first layer\n",
        FIRST_LAYER,
        "| model | largest score | dtype | a weight, usual script | a query's share, usual script "
        "| a query's share, mindshare |",
        "| --- | --- | --- | --- | --- | --- |",
        *first_layer("SmolLM2-135M-Instruct", lambda: copy.deepcopy(embedded.model), prompts),
        *first_layer("random, with large biases", large_biases, small),
        "\n## All layers\n",
        ALL_LAYERS,
        "| model | dtype | way | mean difference | largest, by layer | largest, by head |",
        "| --- | --- | --- | --- | --- | --- |",
        *all_layers("SmolLM2-135M-Instruct", lambda: copy.deepcopy(embedded.model), prompts),
        *all_layers("random, with large biases", large_biases, small),
    ]
    return "\n".join(parts) + "\n"


def classes(tokens: Sequence[str]) -> torch.Tensor:
    """[token, class]: the first token's column is still empty."""
    punctuation = torch.tensor([not any(x.isalnum() for x in token) for token in tokens])
    return torch.stack([torch.zeros(len(tokens)), punctuation, ~punctuation], 1).float()


def first_token(columns: torch.Tensor) -> torch.Tensor:
    columns = columns.clone()
    columns[0] = torch.tensor([1.0, 0.0, 0.0])
    return columns


def large_biases() -> Any:
    """A random model of two layers with scores of 1,500."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=96, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=512,
    )  # fmt: skip
    model = Qwen2ForCausalLM(config)
    with torch.no_grad():
        for layer in model.model.layers:
            for linear in (layer.self_attn.q_proj, layer.self_attn.k_proj):
                linear.weight.mul_(20)
                linear.bias.fill_(BIAS)
    return model.eval()


def ours(model: Any, ids: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    found = mindshare.capture(model, ids, columns)
    return torch.stack([found.mass[layer].double().mean(1) for layer in found.layers])


def usual(model: Any, ids: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    return torch.stack([(a[0].double() @ columns.double()).mean(1) for a in eager(model, ids)])


def eager(model: Any, ids: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The weights that the usual script publishes."""
    model.set_attn_implementation("eager")
    with torch.inference_mode():
        attentions: tuple[torch.Tensor, ...] = model(
            input_ids=ids[None], output_attentions=True, use_cache=False
        ).attentions
    model.set_attn_implementation("sdpa")
    return attentions


def first_layer(name: str, make: Callable[[], Any], prompts: Prompts) -> list[str]:
    """Rows of the first table."""
    rows = []
    for dtype in HALF:
        model = make().to(getattr(torch, dtype))
        weights, theirs, mine = 0.0, 0.0, 0.0
        for ids, columns in prompts:
            truth = probabilities(call_of_first_layer(model, ids))[0]
            given = eager(model, ids)[0][0].double()
            exact, weights = truth @ columns.double(), max(weights, largest(given - truth))
            theirs = max(theirs, largest(given @ columns.double() - exact))
            found = mindshare.capture(model, ids, columns, layers=[0]).mass[0]
            mine = max(mine, largest(found - exact))
        score = max(one.largest_score for one in check(model).checks if one.layer == 0)
        rows.append(
            f"| {name} | {score:,.0f} | {dtype} | {weights:.1g} | {theirs:.1g} | {mine:.0e} |"
        )
    return rows


def largest(values: torch.Tensor) -> float:
    return float(values.abs().max())


def call_of_first_layer(model: Any, ids: torch.Tensor) -> AttentionCall:
    calls: dict[int, AttentionCall] = {}
    request = Request(statistics=frozenset(), layers=frozenset({0}))
    run_pass(model, TokenBatch.of(ids.tolist()), request, observer=calls.__setitem__)
    return calls[0]


def all_layers(name: str, make: Callable[[], Any], prompts: Prompts) -> list[str]:
    """Rows of the second table."""

    def shares(model: Any, way: Shares) -> torch.Tensor:
        return torch.stack([way(model, *prompt) for prompt in prompts])

    truth = shares(make().float(), ours)
    rows = []
    for dtype in HALF:
        for title, way in (("mindshare", ours), ("usual script", usual)):
            found = shares(make().to(getattr(torch, dtype)), way)
            by_head = (found - truth).abs()  # [prompt, layer, head, class]
            by_layer = (found.mean(2) - truth.mean(2)).abs()
            rows.append(
                f"| {name} | {dtype} | {title} | {by_layer.mean():.1g} | {by_layer.max():.1g} "
                f"| {by_head.max():.1g} |"
            )
    return rows


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
