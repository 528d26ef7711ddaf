"""What a knock-out asks of one prompt: the tokens of its answer, its choices, and its queries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mindshare.attention.jobs import Answer
from mindshare.errors import PromptError, SelectionError, TokenError
from mindshare.models import LoadedModel, ModelTokenizer
from mindshare.study.study import KnockoutStudy
from mindshare.tokens import ClassedTokens, Encoded, continuation_ids, parse_queries, query_mask


def answer_of(
    tokenizer: LoadedModel | ModelTokenizer, encoded: Encoded, study: KnockoutStudy
) -> Answer:
    """The answer's tokens after the prompt's; none where the model itself is to say them."""
    prompt = encoded.prompt
    if study.answer == "greedy":
        return Answer(np.zeros(0, np.int64))
    if not prompt.answer:
        raise PromptError(
            f"prompt {prompt.id} has no answer, so there is nothing that it could lose",
            where=prompt.place,
            allowed="a column of answers (answer, or --column answer=NAME), or --answer greedy",
        )
    ids = _tokens_after(tokenizer, encoded, prompt.answer)
    choices = prompt.choices or study.choices
    if not choices:
        return Answer(np.array(ids, np.int64))
    if prompt.answer not in choices:
        raise PromptError(
            f"the answer {prompt.answer!r} of prompt {prompt.id} is none of its choices",
            where=prompt.place,
            allowed=", ".join(map(repr, choices)),
        )
    others = [_tokens_after(tokenizer, encoded, x) for x in choices if x != prompt.answer]
    return Answer(np.array(ids, np.int64), _rivals(ids, others, prompt.id))


def _rivals(ids: Sequence[int], others: Sequence[Sequence[int]], prompt: str) -> np.ndarray:
    """[rival, 2]: where another choice that began alike goes on otherwise, and how."""
    found: dict[tuple[int, int], None] = {}
    for other in others:
        same = next((i for i, (a, b) in enumerate(zip(ids, other, strict=False)) if a != b), None)
        if same is None:
            raise PromptError(
                f"one choice of prompt {prompt} is the beginning of another, so its tokens do not "
                "tell them apart",
                next_step="let every choice end in the same way, e.g. with a full stop",
            )
        found[same, other[same]] = None
    return np.array(list(found), np.int64).reshape(-1, 2)


def _tokens_after(
    tokenizer: LoadedModel | ModelTokenizer, encoded: Encoded, answer: str
) -> tuple[int, ...]:
    assert tokenizer.tokenizer is not None
    ids = continuation_ids(encoded, answer, tokenizer.tokenizer, add_bos=tokenizer.add_bos)
    count = len(encoded)
    if ids[:count] != encoded.ids or len(ids) == count:
        same = next((i for i, (a, b) in enumerate(zip(ids, encoded.ids, strict=False)) if a != b),
                    count - 1)  # fmt: skip
        raise TokenError(
            f"{tokenizer.name} reads the end of prompt {encoded.prompt.id} and the beginning of "
            f"its answer {answer[:20]!r} as one: {encoded.text[-12:]!r} ends in other tokens with "
            f"the answer behind it (token {same} of {count} is the first that differs)",
            where=encoded.prompt.place,
            next_step="end the prompt where a word ends, and begin the answer with the space "
            "between them",
        )
    return ids[count:]


def knockout_queries(classed: ClassedTokens, study: KnockoutStudy) -> np.ndarray:
    """Bool [class, token]: the queries of the prompt that each class is hidden from."""
    encoded, count = classed.encoded, len(classed.encoded)
    classes = len(classed.names) - 1  # without `other`
    position = np.arange(count)
    if study.queries in ("last", "answer"):
        return np.repeat((position == count - 1)[None], classes, 0)
    if study.queries != "later":
        mask = query_mask(parse_queries(study.queries), encoded, classed)
        return np.repeat(mask[None], classes, 0)
    ends = [np.flatnonzero(column)[-1:] for column in classed.weights[:, :-1].T]
    later = np.stack([position > (end[0] if len(end) else count - 2) for end in ends])
    empty = np.flatnonzero(~later.any(1))
    if len(empty):
        raise SelectionError(
            f"class {classed.names[empty[0]]!r} goes up to the last token of prompt "
            f"{encoded.prompt.id}, so no later token could look at it",
            allowed="--queries last, answer or all",
        )
    return later
