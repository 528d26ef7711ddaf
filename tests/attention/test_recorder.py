"""Threads that measure with one model: the same numbers, and the model as it was."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import torch

from mindshare.attention.capture import CaptureOptions, capture
from mindshare.attention.recorder import implementation
from tests.attention import tiny

THREADS = 4


def masses(model: torch.nn.Module, options: CaptureOptions) -> np.ndarray:
    found = capture(model, tiny.ids(40), tiny.partition(40), options=options).mass
    return np.stack([found[layer].numpy() for layer in sorted(found)])


def test_threads_leave_a_model_as_it_was() -> None:
    model = tiny.llama().train()
    plain = model.config._attn_implementation
    alone = masses(model, CaptureOptions())
    together = Barrier(THREADS)

    def measure(thread: int) -> list[np.ndarray]:
        together.wait()
        options = CaptureOptions(chunk_tokens=16) if thread % 2 else CaptureOptions()
        return [masses(model, options) for _ in range(8)]

    with ThreadPoolExecutor(THREADS) as pool:
        found = [one for several in pool.map(measure, range(THREADS)) for one in several]
    assert all(np.allclose(one, alone, atol=1e-6) for one in found)
    assert model.config._attn_implementation == plain
    assert all(module.training for module in model.modules())
    assert "forward" not in {name for module in model.modules() for name in vars(module)}
    assert torch.isfinite(model(tiny.ids(40)).logits).all()


def test_a_part_of_a_model_waits_for_the_whole() -> None:
    """Both read one config: the second begins when the first has put it back."""
    model = tiny.llama()
    plain, order = model.config._attn_implementation, []
    with ThreadPoolExecutor(1) as pool:
        with implementation(model, "eager"):

            def other() -> None:
                with implementation(model.model, "sdpa"):
                    order.append("part")

            waiting = pool.submit(other)
            with implementation(model, "sdpa"):  # the same thread may
                order.append("whole")
        waiting.result(timeout=600)
    assert order == ["whole", "part"]
    assert model.config._attn_implementation == plain
