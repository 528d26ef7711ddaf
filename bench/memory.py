"""Peak resident memory of one pass, each in a process of its own."""

from __future__ import annotations

import resource
import sys

import mindshare
from bench import workloads


def peak_of(way: str, tokens: int) -> float:
    """Gigabytes, after one pass over SmolLM2."""
    model = mindshare.load("smollm2").model
    workloads.named(way, model, workloads.inputs(tokens))()
    return _peak()


def long_context(tokens: int) -> float:
    """Gigabytes: two llama layers with two heads, masses and received, the whole prompt at once."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=512,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=tokens,
    )
    model = LlamaForCausalLM(config).eval()
    ids = workloads.inputs(tokens, vocabulary=512)
    workloads.named("mass + received", model, ids)()
    return _peak()


def chart(tokens: int) -> float:
    """Gigabytes: the whole way to a saved chart of two models, drawing included."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as place:
        drawn = mindshare.shares(
            ["smollm2", "smollm2-phys"], workloads.text(tokens), classes={"hash": "#", "star": "*"}
        )
        drawn.save(Path(place) / "chart")
    counts = {found.prompts["n_prompt_tokens"][0].as_py() for found in drawn.measurements.values()}
    assert counts == {tokens}, counts
    return _peak()


def _peak() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e9 if sys.platform == "darwin" else peak * 1024 / 1e9
