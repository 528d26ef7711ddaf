"""The same bits on any number of threads: elementwise functions, cut where vectors end.

Measured on a CPU with 1 to 64 threads: products, fused attention, softmax and means of a row give
the same bits however many threads share the work. Functions such as silu, gelu and exp do not: each
thread takes a stretch, computes the numbers at its end that fill no vector by another formula, and
where stretches end depends on the number of threads and of numbers. Cut into pieces whose stretches
are whole vectors, every number is made the same way.

Products are an exception where they have fewer than 16 rows: MKL splits the narrow ones otherwise
(seen on AMD's, in strict mode too). Passes are padded to 16 tokens; chunks and the clean passes of
knock-outs and screens are not, and take one thread there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

_GRAIN = 32768  # the fewest numbers torch gives to a thread
_SERIAL = 16384  # so few are never split, not even by kernels with a grain of their own
_VECTOR = 32  # numbers that the widest loops take at a time
_FEW = 2  # threads that split the angles of whole rows evenly
# Of a product. With fewer its bits may depend on the threads. A multiple of these gives each row
# the same bits, whatever the others are and how many: `checks.may_share` rests on it, too. Of 9 or
# 17 rows the last ones are computed by other code, so that the order of classes, or fewer layers,
# moved some effects by up to 1e-5.
ROWS = 16


def pieces(size: int, *, own_grain: bool = False) -> Iterator[slice]:
    """Cuts of so many numbers, each of which the threads split at whole vectors.

    `own_grain`: for kernels that use all threads however few the numbers are, as gelu's does.
    """
    number = torch.get_num_threads()
    if _splits_evenly(size, number, own_grain):
        yield slice(0, size)
        return
    done = size - size % (number * _GRAIN)
    if done:
        yield slice(0, done)
    if own_grain:
        for start in range(done, size, _SERIAL):
            yield slice(start, min(start + _SERIAL, size))
        return
    middle = done + (size - done) // _GRAIN * _GRAIN
    if middle > done:
        yield slice(done, middle)
    if size > middle:
        yield slice(middle, size)


def _splits_evenly(size: int, threads: int, own_grain: bool) -> bool:
    """Whether all stretches, as torch cuts them, are whole vectors."""
    busy = threads if own_grain and size > _SERIAL else min(threads, -(-size // _GRAIN))
    return busy <= 1 or -(-size // busy) % _VECTOR == 0


@contextmanager
def thread_invariant(model: torch.nn.Module, *, few_rows: bool = False) -> Iterator[None]:
    """Inside, the model's activations and rotary embeddings do not depend on the threads.

    `few_rows`: nor do its products, for passes that are not padded.
    """
    from transformers.pytorch_utils import Conv1D  # GPT-2's products

    changed: list[torch.nn.Module] = []
    try:
        for module in model.modules():
            wrap = _wrapper(module)
            if few_rows and isinstance(module, torch.nn.Linear | Conv1D):
                wrap = _few_rows_on_one_thread
            if wrap is not None and "forward" not in vars(module):  # someone else's hook stays
                module.forward = wrap(module.forward)
                changed.append(module)
        yield
    finally:
        for module in changed:
            del module.forward


def _wrapper(module: torch.nn.Module) -> Callable[[Any], Any] | None:
    kind = type(module)
    if kind.__name__.endswith("RotaryEmbedding"):
        return _on_one_thread
    pointwise = kind.__module__ in ("transformers.activations", "torch.nn.modules.activation")
    if not pointwise or "Softmax" in kind.__name__:
        return None
    if next(module.parameters(), None) is not None:  # learned, attention among them
        return None
    return _in_pieces(own_grain="GELU" in kind.__name__.upper())


def _in_pieces(*, own_grain: bool) -> Callable[[Any], Any]:
    def wrap(forward: Any) -> Any:
        def run(x: torch.Tensor) -> Any:
            if x.device.type != "cpu":
                return forward(x)
            x = x.contiguous()  # some have another kernel for what is not
            flat = x.view(-1)
            cuts = list(pieces(len(flat), own_grain=own_grain))
            if len(cuts) < 2:
                return forward(x)
            made = torch.empty_like(flat)
            for cut in cuts:
                made[cut] = forward(flat[cut])
            return made.view(x.shape)

        return run

    return wrap


def _on_one_thread(forward: Any) -> Any:
    """It is little work, and done once a pass."""

    def run(*args: Any, **kwargs: Any) -> Any:
        with threads(1 if torch.get_num_threads() > _FEW else None):
            return forward(*args, **kwargs)

    return run


def _few_rows_on_one_thread(forward: Any) -> Any:
    def run(x: torch.Tensor) -> Any:
        with threads(1 if x.numel() < ROWS * x.shape[-1] else None):
            return forward(x)

    return run


@contextmanager
def threads(number: int | None) -> Iterator[None]:
    """None: as many as there are."""
    before = torch.get_num_threads()
    if number is not None:
        torch.set_num_threads(number)
    try:
        yield
    finally:
        if number is not None:
            torch.set_num_threads(before)
