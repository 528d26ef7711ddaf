"""The everyday door: a model and prompts → a Measurement.

    encode ─► classify ─► query sets ─► one forward pass ─► numbers ─► rows ─► tables

Prompts go through the model one at a time, so a prompt's numbers never depend on its neighbours:
the same study gives the same bytes in any order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from mindshare.errors import PromptError, SelectionError, TokenError, nearest
from mindshare.models import AttentionFacts, LoadedModel, Reader, attention_facts, load, wrap
from mindshare.prompts import Message, Prompt
from mindshare.study.measurement import Measurement
from mindshare.study.provenance import describe_run, table_metadata
from mindshare.study.rows import PromptNumbers, prompt_rows
from mindshare.study.study import Definition, Study, build_study
from mindshare.table import joined, table
from mindshare.tokens import (
    Classed,
    Encoded,
    TokenClass,
    classify,
    encode,
    parse_queries,
    query_mask,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from mindshare.attention.watcher import Watcher

Progress = Callable[[int, int], None]  # prompts done, prompts in all


def measure(
    model: LoadedModel | str | Any,
    prompts: str | Prompt | Sequence[Any] | Iterable[Prompt],
    *,
    study: Study | None = None,
    progress: Progress | None = None,
    **definition: Unpack[Definition],
) -> Measurement:
    """Where the model's attention goes.

    `model` is a LoadedModel, or what `mindshare.load` takes. `prompts` is a text, a Prompt, a list
    of chat messages, or several of these. The definition is a `Study`, or its parts by name:
    `classes={"hash": "#", "space": "whitespace"}`, `policy="priority"`,
    `measures=["mass", "received", "entropy", "distance"]`, `layers=[0, 16]` or "mean",
    `heads=[0, 1]` or "mean", `queries="all"` (or "last", "span:NAME", "class:NAME", "after:SPAN",
    or several), `near=0`, `chunk_tokens=None`, `kernel="auto"`.
    """
    from mindshare.attention.selfcheck import verify

    started = time.perf_counter()
    if study is None:
        study = build_study(**definition)
    elif definition:
        raise SelectionError("give a study or its parts, not both", allowed="study=… alone")
    loaded = as_loaded(model)
    check_selection(
        attention_facts(loaded.model), name=loaded.name, layers=study.layers, heads=study.heads
    )
    items = as_prompts(prompts)
    encoded = [encode_for(loaded, prompt) for prompt in items]
    check_spans(study, encoded)
    verdict = verify(loaded.model)
    about = table_metadata(loaded, study)
    parts: list[dict[str, pa.Table]] = []
    kernels: dict[int, str] = {}
    for done, one in enumerate(encoded):
        if progress is not None:
            progress(done, len(encoded))
        numbers, seen = _measure_one(loaded, one, study)
        parts.append({n: table(n, c, about) for n, c in prompt_rows(numbers, study).items()})
        kernels.update(seen)
    if progress is not None:
        progress(len(encoded), len(encoded))
    run = {
        "kernels": sorted({name for used in kernels.values() for name in used.split("+")}),
        "layers_seen": sorted(kernels),
        "self_check": asdict(verdict),
        "wall_seconds": round(time.perf_counter() - started, 3),
    }
    tables = {name: joined([part[name] for part in parts]) for name in parts[0]}
    return Measurement(tables, describe_run(loaded, study, encoded, run))


def as_prompts(given: Any) -> list[Prompt]:
    """One or several prompts from what people pass; ids are made unique."""
    if isinstance(given, (str, Prompt)) or _is_chat(given):
        given = [given]
    items = [_as_prompt(item) for item in given]
    if not items:
        raise PromptError("there is no prompt", next_step="give at least one")
    seen: dict[str, int] = {}
    for item in items:
        seen[item.id] = seen.get(item.id, 0) + 1
    repeated = [name for name, count in seen.items() if count > 1]
    if repeated:
        raise PromptError(
            f"the prompt id {repeated[0]!r} stands for {seen[repeated[0]]} prompts "
            "(prompts without an id are named by their content)",
            next_step="remove the duplicates, or give each prompt an id of its own",
        )
    return items


def encode_for(
    loaded: LoadedModel | Reader, prompt: Prompt, *, any_length: bool = False
) -> Encoded:
    """Tokenise for this model; refuse what it can't hold, unless it is only counted."""
    if loaded.tokenizer is None:
        raise TokenError(
            f"{loaded.name} has no tokenizer",
            next_step="pass one to mindshare.wrap(model, tokenizer), or use mindshare.capture "
            "with your own token ids",
        )
    encoded = encode(
        prompt,
        loaded.tokenizer,
        add_bos=loaded.add_bos,
        add_generation_prompt=_awaits_answer(prompt),
    )
    limit = loaded.context_length
    if limit is not None and len(encoded) > limit and not any_length:
        raise PromptError(
            f"prompt {prompt.id} has {len(encoded)} tokens, more than the {limit} that "
            f"{loaded.name} can hold",
            next_step="shorten the prompt or choose a model with a longer context",
        )
    return encoded


def _awaits_answer(prompt: Prompt) -> bool:
    """A chat goes up to where the model's answer begins, unless it holds that answer."""
    return prompt.messages is not None and prompt.messages[-1].role != "assistant"


def check_selection(
    facts: AttentionFacts,
    *,
    name: str,
    layers: Iterable[int] | None,
    heads: Iterable[int] | None,
) -> None:
    """Refuse layers and heads the config knows nothing of, before any work is done."""
    if facts.reason_unsupported is None:
        _check_range(layers, facts.layers, "layer", name)
        _check_range(heads, facts.heads, "head", name)


def check_spans(study: Study, encoded: Sequence[Encoded]) -> None:
    """Refuse a prompt that lacks a span which a class speaks of: its mass would be a silent 0."""
    for rule in study.token_classes().rules:
        for item in encoded:
            for name in rule.spans:
                if name not in item.spans:
                    raise _without_span(rule, name, item)


def _without_span(rule: TokenClass, name: str, item: Encoded) -> PromptError:
    what = f"role {name[5:]!r}" if name.startswith("role:") else f"span {name!r}"
    return PromptError(
        f"prompt {item.prompt.id} has no {what}, which class {rule.name!r} ({rule}) speaks of"
        f"{nearest(name, item.spans)}",
        where=item.prompt.place,
        allowed=", ".join(item.spans) or "this prompt has no spans",
        next_step="correct the name, mark the span in every prompt, or leave out those without it",
    )


def _check_range(chosen: Iterable[int] | None, count: int, what: str, model: str) -> None:
    for number in chosen or ():
        if not 0 <= number < count:
            raise SelectionError(
                f"{what} {number} does not exist: {model} has {count} {what}s",
                allowed=f"0 to {count - 1}",
            )


def _measure_one(
    loaded: LoadedModel, encoded: Encoded, study: Study
) -> tuple[PromptNumbers, dict[int, str]]:
    from mindshare.attention.capture import query_counts
    from mindshare.attention.measures import layer_numbers

    classed = classify(encoded, study.token_classes())
    masks = [query_mask(parse_queries(name), encoded, classed) for name in study.queries]
    watcher = _watch(loaded, classed, np.stack(masks), study)
    counts = query_counts(watcher.request.weights(), study.near)[0].numpy()
    numbers = PromptNumbers(
        encoded=encoded,
        classed=classed,
        layers=layer_numbers(watcher),
        n_queries=np.array([mask.sum() for mask in masks]),
        n_queries_by_key=counts,
    )
    return numbers, {layer: seen.kernel for layer, seen in watcher.layers.items()}


def _watch(loaded: LoadedModel, classed: Classed, masks: np.ndarray, study: Study) -> Watcher:
    import torch

    from mindshare.attention.forward import run_pass
    from mindshare.attention.watcher import Request

    tokens = len(classed.encoded)
    first = np.zeros((tokens, 1))
    first[0] = 1.0  # its column is the sink statistic
    columns = torch.from_numpy(np.concatenate([classed.weights, first], 1)).float()
    families = study.families()
    every_query = bool(masks.all()) and len(masks) == 1
    request = Request(
        columns=columns[None],
        valid=torch.ones(1, tokens, dtype=torch.bool),
        query_weights=None if every_query else torch.from_numpy(masks[None]).float(),
        received="received" in families,
        near=study.near,
        entropy="entropy" in families,
        distance="distance" in families,
        expected=True,
        layers=None if study.layers is None else frozenset(study.layers),
        kernel=study.kernel,
    )
    ids = torch.tensor([classed.encoded.ids])
    return run_pass(loaded.model, ids, request, chunk_tokens=study.chunk_tokens)


def as_loaded(model: Any) -> LoadedModel:
    if isinstance(model, LoadedModel):
        return model
    if isinstance(model, str) or hasattr(model, "__fspath__"):
        return load(model)
    return wrap(model)


def _is_chat(given: Any) -> bool:
    if not isinstance(given, (list, tuple)) or not given:
        return False
    return all(isinstance(x, Message) or (isinstance(x, dict) and "role" in x) for x in given)


def _as_prompt(item: Any) -> Prompt:
    if isinstance(item, Prompt):
        return item
    if isinstance(item, str):
        return Prompt.from_text(item)
    if _is_chat(item):
        return Prompt.from_chat(item)
    raise PromptError(
        f"{type(item).__name__} is no prompt",
        allowed="a text, a mindshare.Prompt, or a list of {'role': …, 'content': …}",
    )
