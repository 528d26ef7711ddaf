"""The result of one prompt's knock-outs → its rows: one per intervention, and one of its answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from mindshare.attention.jobs import PromptResult
from mindshare.errors import SelectionError
from mindshare.measures import at_level, of_knockouts
from mindshare.study.encoding import EncodedPrompt
from mindshare.study.study import KnockoutStudy

Rows = dict[str, Any]  # column name → values, all of one length
_LOOKED = ("mass", "contribution")


def effect_rows(
    prompt: EncodedPrompt, result: PromptResult, study: KnockoutStudy
) -> dict[str, Rows]:
    """The tables `effects` and `answers`."""
    assert prompt.classed is not None
    layers = dict(sorted(result.layers.items()))
    first = next(iter(layers.values()))
    if "output" in first:
        raise SelectionError(
            "how='mean' needs the mean output of each class over all prompts first",
            next_step="use mindshare.knockout or `mindshare knockout`, which finds it",
        )
    classes = prompt.classed.names[:-1]
    slots = [len(numbers["mass"]) for numbers in layers.values()]
    names = [name for name in (*at_level("effect"), *_LOOKED) if name in first]
    cells = sum(slots)
    tokens = prompt.classed.weights[:, :-1].sum(0)
    n_keys = [np.tile(x["n_keys"], (n, 1)) for x, n in zip(layers.values(), slots, strict=True)]
    effects: Rows = {
        "queries": pa.repeat(study.queries, cells * len(classes)),
        **_places(study, list(layers), slots, len(classes)),
        "class": np.array(list(classes) * cells, object),
        **{name: np.concatenate([x[name].reshape(-1) for x in layers.values()]) for name in names},
        "n_tokens": np.tile(tokens, cells),
        "n_keys": np.concatenate(n_keys).reshape(-1),
    }
    for name in of_knockouts():  # not measured: a screen, or there are no choices
        if name not in effects:
            effects[name] = np.full(cells * len(classes), np.nan)
    return {"answers": _answer_rows(prompt, first), "effects": effects}


def _places(study: KnockoutStudy, layers: list[int], slots: list[int], classes: int) -> Rows:
    layer: Any = np.repeat(np.array(layers, np.int32), np.array(slots) * classes)
    if not study.each:
        nothing = pa.nulls(sum(slots) * classes, pa.int32())
        return {"layer": nothing if study.places else layer, "head": nothing}
    heads = [list(study.heads or range(n)) for n in slots]
    if study.places:
        heads = [[head for at, head in study.places if at == one] for one in layers]
    return {"layer": layer, "head": np.repeat(np.concatenate(heads).astype(np.int32), classes)}


def _answer_rows(prompt: EncodedPrompt, numbers: Any) -> Rows:
    encoded, ids = prompt.encoded, numbers["answer"].tolist()
    answer = encoded.prompt.answer
    if prompt.answer is not None and not len(prompt.answer.ids):  # what the model itself says
        answer = None if prompt.text_of is None else prompt.text_of(ids)
    nothing = np.full(1, np.nan)
    return {
        "n_prompt_tokens": [len(encoded)],
        "answer": np.array([answer], object),
        "answer_ids": [ids],
        "logprob": numbers["logprob"],
        "greedy": numbers["greedy"],
        "correct_clean": numbers.get("correct_clean", nothing),
        "group": np.array([encoded.prompt.group], object),
        "text": np.array([encoded.text], object),
    }
