"""Prompts → prompts as a model reads them → jobs; or a refusal before any work.

Needs a tokenizer, no weights. A study by token class makes one job of a prompt. A study of
insertions makes one of the prompt as it is, and one of each version of it, aligned token by token.
One of knock-outs makes one of the prompt with its answer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from mindshare.attention.jobs import Answer, Job, Positions
from mindshare.errors import (
    MindshareError,
    PromptError,
    SelectionError,
    SystemRoleError,
    TokenError,
    UnsupportedModelError,
    nearest,
)
from mindshare.models import AttentionFacts, LoadedModel, ModelTokenizer, load, wrap
from mindshare.naming import WITHOUT, layer_ranges
from mindshare.prompts import Insertion, Prompt, fold_system_message, insert
from mindshare.study.answers import answer_of, knockout_queries
from mindshare.study.study import BOTH, AnyStudy, InsertionStudy, KnockoutStudy, Study
from mindshare.tokens import (
    Alignment,
    ClassedTokens,
    Encoded,
    align,
    classify,
    encode,
    parse_queries,
    query_mask,
    random_sentence,
)

# Version of what is stored under an item; results of another version are not found.
LAYOUT = 2
# Tokens of encodings that are kept for a second use: about 70 MB.
CACHED_TOKENS = 2**18

Tokenizer = LoadedModel | ModelTokenizer


def as_loaded(model: Any) -> LoadedModel:
    if isinstance(model, LoadedModel):
        return model
    if isinstance(model, str) or hasattr(model, "__fspath__"):
        return load(model)
    return wrap(model)


def check_selection(
    facts: AttentionFacts,
    *,
    name: str,
    layers: Iterable[int] | None,
    heads: Iterable[int] | None,
) -> None:
    """Refuse layers and heads that the model's config does not have."""
    if facts.reason_unsupported is not None:
        return
    for what, chosen, count in (("layer", layers, facts.layers), ("head", heads, facts.heads)):
        for number in chosen or ():
            if not 0 <= number < count:
                raise SelectionError(
                    f"{what} {number} does not exist: {name} has {count} {what}s",
                    allowed=f"0 to {count - 1}",
                )


def check_study(facts: AttentionFacts, study: AnyStudy, *, name: str) -> None:
    """Refuse a study of layers and heads that the model does not have."""
    if not isinstance(study, KnockoutStudy):  # whose tables have no row that a layer lacks
        facts = of_alike_layers(facts, study.layers, name)
    check_selection(facts, name=name, layers=study.layers, heads=getattr(study, "heads", None))
    if isinstance(study, KnockoutStudy):
        layers, heads = ([place[i] for place in study.places] for i in (0, 1))
        check_selection(facts, name=name, layers=layers, heads=heads)


def of_alike_layers(
    facts: AttentionFacts, layers: Iterable[int] | None, name: str
) -> AttentionFacts:
    """With the number of heads that these layers have; different numbers are refused."""
    by_count: dict[int, list[int]] = {}
    for layer in facts.attention_layers if layers is None else layers:
        if 0 <= layer < len(facts.heads_by_layer):
            by_count.setdefault(facts.heads_by_layer[layer], []).append(layer)
    if len(by_count) > 1:
        raise UnsupportedModelError(
            f"layers of {name} have different numbers of heads ({', '.join(map(str, by_count))}), "
            "and a measurement is of layers with as many",
            allowed="; or ".join(f"layers {layer_ranges(some)}" for some in by_count.values()),
            next_step="choose such layers, or use mindshare.capture",
        )
    return replace(facts, heads=next(iter(by_count), facts.heads))


def _classified(
    tokenizer: Tokenizer, prompt: Prompt, study: Study | KnockoutStudy
) -> ClassedTokens:
    """Refuses a prompt that lacks a span which a class speaks of: its mass would be a silent 0."""
    encoded, classes = encode_for(tokenizer, prompt), study.token_classes()
    spoken_of = [(rule, name) for rule in classes.rules for name in rule.spans]
    for rule, name in spoken_of:
        if name not in encoded.spans:
            what = f"role {name[5:]!r}" if name.startswith("role:") else f"span {name!r}"
            raise PromptError(
                f"prompt {prompt.id} has no {what}, which class {rule.name!r} ({rule}) speaks of"
                f"{nearest(name, encoded.spans)}",
                where=prompt.place,
                allowed=", ".join(encoded.spans) or "this prompt has no spans",
                next_step="correct the name, mark the span in every prompt, or leave out those "
                "without it",
            )
    return classify(encoded, classes)


def encode_for(tokenizer: Tokenizer, prompt: Prompt, *, any_length: bool = False) -> Encoded:
    """Tokenise for this model; refuse what its context can't hold, unless `any_length`."""
    if tokenizer.tokenizer is None:
        raise TokenError(
            f"{tokenizer.name} has no tokenizer",
            next_step="pass one to mindshare.wrap(model, tokenizer), or use mindshare.capture "
            "with your own token ids",
        )
    messages = prompt.messages
    try:
        encoded = encode(
            prompt,
            tokenizer.tokenizer,
            add_bos=tokenizer.add_bos,
            # A chat goes up to where the model's answer begins, unless it holds that answer.
            add_generation_prompt=messages is not None and messages[-1].role != "assistant",
        )
    except (PromptError, TokenError) as error:
        place = prompt.place or f"prompt {prompt.id}"
        raise error.within(f"{tokenizer.name}, {place}") from error
    limit = tokenizer.context_length
    if limit is not None and len(encoded) > limit and not any_length:
        skip = ", or leave such rows out with --bad-rows skip" if prompt.place else ""
        raise PromptError(
            f"prompt {prompt.id} has {len(encoded)} tokens, more than the {limit} that "
            f"{tokenizer.name} can hold",
            where=prompt.place,
            next_step=f"shorten the prompt or choose a model with a longer context{skip}",
        )
    return encoded


@dataclass(frozen=True)
class PromptVersion:
    """A prompt with something inserted: one condition of an `InsertionStudy`."""

    insertion: Insertion
    text: str  # what was inserted
    alignment: Alignment

    @property
    def condition(self) -> str:
        return self.insertion.name

    @property
    def encoded(self) -> Encoded:
        return self.alignment.with_

    @property
    def end(self) -> int:
        """The position after the last token that holds an inserted character; past all if none."""
        touched = self.holding("inserted", "seam")
        return int(touched[-1]) + 1 if len(touched) else len(self.encoded)

    @property
    def pairs(self) -> np.ndarray:
        """[token, 2]: where matched tokens stand without and with."""
        return np.array(self.alignment.pairs, dtype=np.int64).reshape(-1, 2)

    def holding(self, *parts: str) -> np.ndarray:
        """The positions of the tokens of these parts."""
        return np.flatnonzero(np.isin(self.alignment.parts, parts))

    def job(self, reference: Job, *, queries: str) -> Job:
        """To be compared with the pass without."""
        inserted = np.isin(self.alignment.parts, ("inserted",))
        job = _version_job(self.encoded, inserted, queries)
        if not inserted.any():
            job = replace(job, queries=None)
        positions = Positions(self.pairs, self.holding("inserted"), self.end)
        return replace(job, reference=reference, positions=positions)


def _version_job(encoded: Encoded, inserted: np.ndarray, queries: str) -> Job:
    """`inserted`, bool [token], is its one column."""
    sets = {"original": ~inserted[None], BOTH: np.stack([inserted | True, ~inserted])}
    ids = np.array(encoded.ids, np.int64)
    return Job("", ids, inserted[:, None].astype(np.float32), sets.get(queries))


@dataclass(frozen=True)
class EncodedPrompt:
    """A prompt as a model reads it, what a study makes of its tokens, and the jobs that come of it.

    A `Study` gives it classes and query sets, a `KnockoutStudy` an answer too, an `InsertionStudy`
    versions. `jobs` are named by the model that runs them, so they are there once that is known
    (`with_jobs`).
    """

    encoded: Encoded
    classed: ClassedTokens | None = None
    queries: np.ndarray | None = None  # [set, token]; None: one set, every token
    answer: Answer | None = None
    text_of: Callable[[list[int]], str] | None = None  # of token ids, as the tokenizer spells them
    versions: tuple[PromptVersion, ...] = ()
    notes: tuple[str, ...] = ()
    jobs: tuple[Job, ...] = ()

    @property
    def prompt(self) -> Prompt:
        return self.encoded.prompt

    @property
    def names(self) -> tuple[str, ...]:
        """What its jobs are called in the plan of a run."""
        if self.classed is not None:
            return (self.prompt.id,)
        conditions = (WITHOUT, *(version.condition for version in self.versions))
        return tuple(f"{self.prompt.id}, {condition}" for condition in conditions)

    def with_jobs(self, study: AnyStudy, model: str) -> EncodedPrompt:
        """With one job, or one of the prompt as it is and one of each version compared with it.

        `model` is `ModelIdentity.key`. A job's item is a hash of all that decides its numbers:
        token ids, class weights, query sets, the model, the pass it is compared with, and the parts
        of the study that no selection of layers or heads can change.
        """
        shared = _shared(study, model)
        ids = np.array(self.encoded.ids, np.int64)
        if self.classed is not None:
            columns = self.classed.weights.astype(np.float32)
            if self.answer is not None:  # `other` is not hidden
                columns = columns[:, :-1]
            jobs = [_named(Job("", ids, columns, self.queries, answer=self.answer), shared)]
        else:
            assert isinstance(study, InsertionStudy)
            without = Job("", ids, np.zeros((len(ids), 0), np.float32))
            if study.chunk_tokens is not None:  # versions share chunks if they are counted alike
                without = _version_job(self.encoded, np.zeros(len(ids), bool), study.queries)
            jobs = [_named(without, shared)]
            versions = (one.job(jobs[0], queries=study.queries) for one in self.versions)
            jobs += [_named(job, shared) for job in versions]
        return replace(self, jobs=tuple(jobs))


@lru_cache(maxsize=8)  # asked for with every prompt
def _shared(study: AnyStudy, model: str) -> bytes:
    """What all jobs of a study and a model have in common."""
    return json.dumps([LAYOUT, model, study.fixed_parts()], sort_keys=True).encode()


def _named(job: Job, shared: bytes) -> Job:
    item = hashlib.sha256(shared)
    arrays = [job.ids, job.columns, job.queries]
    if job.positions is not None:
        arrays += [job.positions.pairs, job.positions.inserted, np.array(job.positions.end)]
    if job.answer is not None:
        arrays += [job.answer.ids, job.answer.rivals]
    for part in arrays:
        item.update(b"all" if part is None else str(part.shape).encode())
        item.update(b"" if part is None else np.ascontiguousarray(part).tobytes())
    if job.reference is not None:
        item.update(job.reference.item.encode())
    return replace(job, item=item.hexdigest()[:32])


class PromptEncoder:
    """Encodes prompts for one model and one study.

    `encode_and_keep` keeps the first encodings, as many as `CACHED_TOKENS` allows, and `encode`
    takes them out again: what is checked first and measured later is mostly tokenised once.
    """

    def __init__(self, tokenizer: Tokenizer, study: AnyStudy) -> None:
        self.tokenizer, self.study = tokenizer, study
        self._cache: dict[str, EncodedPrompt] = {}  # by prompt id
        self._room = CACHED_TOKENS

    def encode(self, prompt: Prompt) -> EncodedPrompt:
        """Raises for a prompt that can't be measured."""
        cached = self._cache.pop(prompt.id, None)
        if cached is not None:
            return cached
        if isinstance(self.study, InsertionStudy):
            return encode_versions(self.tokenizer, prompt, self.study)
        if isinstance(self.study, KnockoutStudy):
            return encode_knockout(self.tokenizer, prompt, self.study)
        return encode_classes(self.tokenizer, prompt, self.study)

    def encode_and_keep(self, prompt: Prompt) -> EncodedPrompt:
        """The same, kept for `encode` as long as there is room."""
        encoded = self.encode(prompt)
        versions = sum(len(version.encoded) for version in encoded.versions)
        self._room -= len(encoded.encoded) + versions
        if self._room >= 0:
            self._cache[prompt.id] = encoded
        return encoded

    def encode_ahead(self, prompts: Iterable[Prompt]) -> None:
        """Raise for the first prompt that can't be measured, of as many as are kept for `encode`.

        So it takes no time, and what is wrong with all prompts is said before weights are read.
        """
        for prompt in prompts:
            self.encode_and_keep(prompt)
            if self._room < 0:
                break


def encode_classes(tokenizer: Tokenizer, prompt: Prompt, study: Study) -> EncodedPrompt:
    """Tokenise, classify, find the query sets; refuse what can't be measured."""
    classed, queries = _classified(tokenizer, prompt, study), None
    encoded = classed.encoded
    if study.queries != ("all",):
        masks = [query_mask(parse_queries(name), encoded, classed) for name in study.queries]
        queries = np.stack(masks)
    return EncodedPrompt(encoded, classed, queries)


def encode_knockout(tokenizer: Tokenizer, prompt: Prompt, study: KnockoutStudy) -> EncodedPrompt:
    """Tokenise the prompt and its answer, classify; refuse what can't be knocked out."""
    classed = _classified(tokenizer, prompt, study)
    answer, queries = answer_of(tokenizer, classed.encoded, study), knockout_queries(classed, study)
    _require_room(tokenizer, classed.encoded, len(answer.ids) or study.greedy_tokens)
    text_of = None if tokenizer.tokenizer is None else tokenizer.tokenizer.decode
    return EncodedPrompt(classed.encoded, classed, queries, answer, text_of)


def _require_room(tokenizer: Tokenizer, encoded: Encoded, answer: int) -> None:
    """Refuse an answer of so many tokens that the context can't hold it behind the prompt."""
    limit = tokenizer.context_length
    if limit is not None and len(encoded) + answer - 1 > limit:  # nothing is read behind the last
        raise PromptError(
            f"prompt {encoded.prompt.id} has {len(encoded)} tokens and its answer up to "
            f"{answer:,}, more than the {limit} that {tokenizer.name} can hold",
            where=encoded.prompt.place,
            next_step="shorten the prompt or the answer, or choose a model with a longer context",
        )


def encode_versions(tokenizer: Tokenizer, prompt: Prompt, study: InsertionStudy) -> EncodedPrompt:
    """Insert, tokenise, align; refuse what can't be compared."""
    notes: list[str] = []
    try:
        without = encode_for(tokenizer, prompt)
    except SystemRoleError:
        without = encode_for(tokenizer, fold_system_message(prompt))
        notes.append(
            f"{tokenizer.name}'s chat template takes no system message: its text stands at the "
            "start of the first user message"
        )
    prompt = without.prompt
    between = any(insertion.place == "between" for insertion in study.insertions)
    if between and prompt.messages is None and "question" not in prompt.spans:
        notes.append(
            "In a plain text without a span 'question', the place 'between' is the very start, "
            "before the token that many heads rest on; mark the question, or give --system and "
            "--prompt"
        )
    versions: list[PromptVersion] = []
    for insertion, against in study.pairs():
        versions.append(_version(tokenizer, without, insertion, None))
        if against is not None:
            versions.append(_version(tokenizer, without, against, versions[-1]))
    return EncodedPrompt(without, versions=tuple(versions), notes=tuple(notes))


def _version(
    tokenizer: Tokenizer, without: Encoded, insertion: Insertion, partner: PromptVersion | None
) -> PromptVersion:
    """`partner` is the version that a random sentence has to be as long as."""
    prompt = without.prompt

    def encoded(text: str, *, any_length: bool = False) -> Encoded:
        longer = insert(prompt, text, insertion.place, seed=insertion.seed)
        return encode_for(tokenizer, longer, any_length=any_length)

    try:
        text = insertion.text
        if text is None:
            # A space keeps the sentence from its neighbour, on the side where that stands.
            last = insertion.place == "end" or insertion.place.startswith("after:")
            text = random_sentence(
                _length(without, insertion, partner),
                count=lambda words: len(encoded(words, any_length=True)),
                seed=insertion.seed,
                like=(" x" if last else "x ") if partner is None else partner.text,
            )
        alignment = align(without, encoded(text), tokenizer=tokenizer.tokenizer)
    except MindshareError as error:
        where = f"insertion {insertion.name!r} at {insertion.place}, prompt {prompt.id}"
        if error.where is not None and error.where not in where:
            where = f"{where}, {error.where}"
        raise type(error)(
            error.what, where=where, allowed=error.allowed, next_step=error.next_step
        ) from None
    return PromptVersion(insertion, text, alignment)


def _length(without: Encoded, insertion: Insertion, partner: PromptVersion | None) -> int:
    """How many tokens the prompt has with the random sentence in it."""
    if insertion.tokens is not None:
        return len(without) + insertion.tokens
    if partner is None:
        raise PromptError(
            "a random sentence needs a length",
            allowed="random-sentence*55, or a run that it stands against",
        )
    return len(partner.encoded)
