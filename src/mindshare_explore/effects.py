"""Knock-outs → what an answer loses: run on prompts that were measured here, or read from tables.

One effect is a class that was hidden from the last token, in each head by itself or in all heads of
a layer together; its numbers are means over the prompts by layer and head, with an interval where
there are several. Tables and statistics are those of `mindshare knockout`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mindshare.errors import SelectionError
from mindshare.measures import at_level
from mindshare_explore.source import EffectBody, numbers

if TYPE_CHECKING:
    from mindshare.models import LoadedModel
    from mindshare.study import PromptEncoder
    from mindshare_explore.live import MeasuredPrompt

Watch = Callable[[int, int], None]  # prompts done, in all; may raise to leave the pass


def knock_out(
    loaded: LoadedModel, prompts: Sequence[MeasuredPrompt], body: EffectBody, watch: Watch
) -> dict[str, Any]:
    """The effect of hiding one class, over these prompts."""
    from mindshare.study import LocalBackend, Measurer, as_prompts
    from mindshare_explore.live import classed_by

    first = prompts[0]
    prompts = [one for one in prompts if body.cls not in classed_by(one.encoded, body).empty()]
    if not any(one is first for one in prompts):
        raise SelectionError(f"no token is of class {body.cls!r}", next_step="choose another class")
    done = [0, len(prompts)]

    def progress(now: int, total: int) -> None:
        done[:] = now, total
        watch(now, total)

    encoder = _encoder(loaded, prompts, body)
    source = as_prompts([one.prompt for one in prompts])
    with _told_of_layers(loaded, lambda: watch(*done)):
        found = Measurer(encoder, LocalBackend(loaded), progress=progress).measure(source)
    answers = found.table("answers")
    assert loaded.tokenizer is not None
    said = [loaded.tokenizer.decode(ids) for ids in answers["answer_ids"].to_pylist()]
    (effect,) = effects_in(found.table("effects"), prompts[0].model)
    return effect | {
        "answers": said,
        "logprob": round(pc.mean(answers["logprob"]).as_py(), 4),
        "asked": body.model_dump(),
    }


def _encoder(
    loaded: LoadedModel, prompts: Sequence[MeasuredPrompt], body: EffectBody
) -> PromptEncoder:
    """The tokens that were measured, with one class: what is painted belongs to them."""
    from mindshare.study import EncodedPrompt, KnockoutStudy, PromptEncoder
    from mindshare.study.answers import answer_of, knockout_queries
    from mindshare.tokens import ClassedTokens, Classes
    from mindshare_explore.live import classed_by

    rules = {one.name: one.rule for one in body.classes}
    if body.cls not in rules:
        allowed = ", ".join(rules) or "none: paint one, or write a rule"
        raise SelectionError(f"there is no class {body.cls!r} to hide", allowed=allowed)
    study = KnockoutStudy(
        classes=((body.cls, rules[body.cls]),),
        policy=body.policy,
        answer="greedy" if body.answer is None else "given",
        each=body.each,
    )
    known = {one.prompt.id: classed_by(one.encoded, body) for one in prompts}

    class Known(PromptEncoder):
        def encode(self, prompt: Any) -> EncodedPrompt:
            classed = known[prompt.id]
            encoded = replace(classed.encoded, prompt=replace(prompt, answer=body.answer))
            hidden = classed.weights[:, classed.names.index(body.cls)]
            classes = Classes(
                tuple(one for one in classed.classes.rules if one.name == body.cls),
                policy=classed.classes.policy,
            )
            one = ClassedTokens(encoded, classes, np.stack([hidden, 1.0 - hidden], 1))
            answer = answer_of(loaded, encoded, study)
            return EncodedPrompt(encoded, one, knockout_queries(one, study), answer)

    return Known(loaded, study)


@contextmanager
def _told_of_layers(loaded: LoadedModel, tell: Callable[[], None]) -> Iterator[None]:
    """Inside, every layer of every pass is told before it runs: cancelling leaves it there."""
    import torch

    from mindshare.attention.recorder import temporary_hooks

    lists = [one for one in loaded.model.modules() if isinstance(one, torch.nn.ModuleList)]
    blocks = max(lists, key=len, default=[loaded.model])
    with temporary_hooks(one.register_forward_pre_hook(lambda *_: tell()) for one in blocks):
        yield


def effects_in(table: pa.Table, label: str) -> Iterator[dict[str, Any]]:
    """A table `effects` → one effect for each class: measure → mean, low, high [layer, head]."""
    from mindshare.stats import Resampling, estimate
    from mindshare_explore.results import LayerHeadGrid

    grid = LayerHeadGrid.of(table)
    names = [
        name
        for name in at_level("effect")
        if name in table.column_names and pc.any(pc.is_finite(table[name])).as_py()
    ]
    summaries = {name: estimate({label: table}, name) for name in names}
    for token_class in table["class"].unique().to_pylist():
        yield {
            "class": token_class,
            "each": grid.heads != (None,),
            "queries": table["queries"][0].as_py(),
            "prompts": len(table["prompt"].unique()),
            "fewest": Resampling().fewest,  # prompts that an interval needs
            "layers": [-1 if one is None else one for one in grid.layers],
            "answers": [],
            "logprob": None,
            "asked": None,
            "measures": {
                name: {
                    column: numbers(grid.array(rows, column)) for column in ("mean", "low", "high")
                }
                for name, whole in summaries.items()
                for rows in [whole.filter(pc.equal(whole["class"], token_class))]
            },
        }
