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


def kept_beginnings(
    megabytes: int, documents: int = 12, questions: int = 2, shared: int = 1000, own: int = 100
) -> float:
    """Gigabytes: questions about documents, in chunks of 100 tokens, in this budget for the chunks
    that are kept. Those of one document take 46 MB and more.
    """
    import torch

    from mindshare.attention.jobs import Job
    from mindshare.study import build_study
    from mindshare.study.backend import LocalBackend

    backend = LocalBackend(mindshare.load("smollm2"))
    backend.prefixes.budget = megabytes * 10**6
    columns = workloads.classes(shared + own)[0].numpy()
    jobs = []
    for document in range(documents):
        start = workloads.inputs(shared + document)[0, :shared]
        for question in range(questions):
            end = workloads.inputs(own + questions * document + question)[0, :own]
            jobs.append(Job(f"{document}.{question}", torch.cat([start, end]).numpy(), columns))
    request = build_study(classes={"hash": "#", "star": "*"}, chunk_tokens=100).request()
    assert sum(map(len, backend.results(jobs, request))) == len(jobs)
    assert megabytes == 0 or backend.prefixes.size > 0
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
