"""Knock-outs of the last token, in plain passes: every head and class at once, and the screen.

One pass a cell is what other tools take. A plain pass with the language-model head at the last
token is the least that a cell can cost so: that is measured, and multiplied by the cells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import mindshare
from bench import workloads
from bench.speed import Times, interleaved
from mindshare.attention import knockout
from mindshare.attention.jobs import Answer, Job, Knockout, Request
from mindshare.attention.recorder import implementation

CLASSES = 3
CELLS = 30 * 9 * CLASSES
ROUNDS = {200: 6, 1000: 4}


def job(tokens: int) -> Job:
    """The classes hidden from the last token."""
    ids = workloads.inputs(tokens)[0].numpy()
    last = np.repeat((np.arange(tokens) == tokens - 1)[None], CLASSES, 0)
    columns = workloads.classes(tokens)[0, :, :CLASSES].numpy()
    return Job("bench", ids, columns, last, answer=Answer(np.array([5])))


def times(tokens: int) -> Times:
    """Of the plain pass, all cells at once, the screen of all, and one pass for one cell."""
    model: Any = mindshare.load("smollm2").model
    asked = job(tokens)
    ids = torch.from_numpy(asked.ids)[None]

    def run(how: Knockout) -> Callable[[], None]:
        request = Request(frozenset(), knockout=how)
        return lambda: void(knockout.run(model, asked, request))

    def one_cell() -> None:
        with torch.inference_mode(), implementation(model, "sdpa"):
            model(input_ids=ids, use_cache=False, logits_to_keep=1)

    ways = {
        "plain": workloads.plain(model, ids),
        "all at once": run(Knockout(each=True)),
        "screen": run(Knockout(each=True, screen=True)),
        "one cell": one_cell,
    }
    for way in ways.values():
        way()
    return interleaved(ways, ROUNDS[tokens])


def void(_result: Any) -> None:
    return
