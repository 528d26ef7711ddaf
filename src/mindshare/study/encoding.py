"""What people pass as models and prompts → what can be measured; or a refusal before any work."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mindshare.errors import PromptError, SelectionError, TokenError, nearest
from mindshare.models import AttentionFacts, LoadedModel, Reader, load, wrap
from mindshare.prompts import Message, Prompt
from mindshare.study.study import Study
from mindshare.tokens import Encoded, TokenClass, encode


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
        skip = ", or leave such rows out with --bad-rows skip" if prompt.place else ""
        raise PromptError(
            f"prompt {prompt.id} has {len(encoded)} tokens, more than the {limit} that "
            f"{loaded.name} can hold",
            where=prompt.place,
            next_step=f"shorten the prompt or choose a model with a longer context{skip}",
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
