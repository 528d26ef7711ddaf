"""Cuts that leave every number to vectors, whatever the number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.activations import ACT2FN

from mindshare.attention.jobs import Job, Request
from mindshare.attention.threads import pieces, thread_invariant
from mindshare.models.processor import processor
from tests.laws.test_batches import in_batches

THREADS = (1, 2, 3, 5, 7)  # more than there are cores: they wait for each other


@pytest.fixture(autouse=True)
def _as_before(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("MINDSHARE_CACHE", str(tmp_path))
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("own_grain", [False, True])
def test_pieces_are_everything_once_and_in_order(threads: int, own_grain: bool) -> None:
    torch.set_num_threads(threads)
    for size in (1, 31, 16384, 32768, 147_456, 319_488, 2_000_000):
        cuts = list(pieces(size, own_grain=own_grain))
        assert [cut.start for cut in cuts[:1]] == [0]
        assert cuts[-1].stop == size
        assert all(a.stop == b.start for a, b in pairwise(cuts))
        assert all(cut.start % 32 == 0 for cut in cuts)


class _Acting(torch.nn.Module):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.act = ACT2FN[name]


@pytest.mark.parametrize("name", ["silu", "gelu", "gelu_pytorch_tanh", "gelu_new", "quick_gelu"])
def test_activations_are_the_same_bits(name: str) -> None:
    model = _Acting(name)
    for rows in (48, 208):
        x = torch.randn(rows, 1536, generator=torch.Generator().manual_seed(rows)) * 3
        found = []
        for threads in THREADS:
            torch.set_num_threads(threads)
            with thread_invariant(model):
                found += [model.act(x), model.act(torch.cat([x, x], 1)[:, :1536])]
        assert all(torch.equal(found[0], other) for other in found), (name, rows)
    assert "forward" not in vars(model.act)


def test_a_model_wide_enough_to_be_split_gives_the_same_bits() -> None:
    """The narrow models of the other laws fit into one thread's share."""
    config = LlamaConfig(
        vocab_size=300, hidden_size=64, intermediate_size=1376, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=512,
    )  # fmt: skip
    torch.manual_seed(0)
    model = LlamaForCausalLM(config).eval()
    numbers = np.random.default_rng(1)
    jobs = [
        Job(
            item=f"{i:02x}",
            ids=numbers.integers(3, 300, n),
            columns=numbers.random((n, 2), np.float32),
        )
        for i, n in enumerate((30, 60, 61, 90, 200, 201, 206, 300))
    ]
    request = Request(frozenset({"mass", "received", "entropy", "distance"}))
    found: dict[str, list[object]] = {}  # by what decides the bits of products
    for threads in THREADS:
        torch.set_num_threads(threads)
        for tokens in (1, 1024):
            same = found.setdefault(processor(model), [])
            same.append(in_batches(model, jobs, request, tokens=tokens))
    assert all(other == same[0] for same in found.values() for other in same)
