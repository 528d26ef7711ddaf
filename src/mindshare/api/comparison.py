"""Candidates, prompts and a study → one measurement per model, and what may be compared.

    tokenise every prompt for every model ─► refuse ─► load, measure, drop ─► next model

Everything that can be refused is refused before any weights are read. A chart of a class that no
token belongs to, or of a span that a prompt lacks, would show zeros that mean nothing: refused.
Rules that match the same tokens are allowed (the first one wins), but noted.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import combinations, islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mindshare.api.candidates import Candidate
from mindshare.errors import ClassRuleError, MindshareError, PromptError
from mindshare.measures import MEASURES
from mindshare.naming import file_word
from mindshare.stats import Resampling, averaged, contrast, estimate
from mindshare.study import (
    AnyStudy,
    ChosenPrompts,
    EncodedPrompt,
    InsertionStudy,
    Measurement,
    Measurer,
    OpenRun,
    PromptEncoder,
    PromptSource,
    RunFolder,
)
from mindshare.tables import DEPTH

ModelProgress = Callable[[str, int, int], None]  # model's label, passes done, passes in all

_SHOWN_TOKENS = 12  # of a prompt, in a message
_EXAMPLES = 3  # in a note


@dataclass(frozen=True, repr=False)
class Comparison:
    """The measurements by label, in the order given, and the notes a reader of them needs."""

    measurements: dict[str, Measurement]
    notes: tuple[str, ...]
    prompts: PromptSource  # those that were measured
    # Label → architecture, layers, heads, tokens: models that agree in all of it may share heads.
    kinds: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    resampling: Resampling = field(default_factory=Resampling)

    @cached_property
    def groups(self) -> dict[str, str] | None:
        """Prompt → what counts as one; None: every prompt alone. Equal prompts are one."""
        groups = {
            prompt.id: f"prompt {prompt.content_hash()}"
            if prompt.group is None
            else f"group {prompt.group}"
            for prompt in self.prompts
        }
        alone = all(prompt.group is None for prompt in self.prompts)
        return None if alone and len(set(groups.values())) == len(groups) else groups

    def tables(self, name: str) -> dict[str, pa.Table]:
        """One table of each model."""
        return {label: one.table(name) for label, one in self.measurements.items()}

    def files(self, *names: str) -> dict[str, pa.Table]:
        """Tables of each model, by the names of their files."""
        return {
            f"{name}_{file_word(label)}": one.table(name)
            for name in names
            for label, one in self.measurements.items()
        }

    def related(self, a: str, b: str) -> bool:
        """Whether head 3 of one may be head 3 of the other: the same build, the same tokens."""
        return self.kinds.get(a) == self.kinds.get(b)

    @property
    def unrelated(self) -> list[tuple[str, str]]:
        """The first model and each of the others that its heads can't be compared with."""
        first, *others = self.measurements
        return [(first, other) for other in others if not self.related(first, other)]

    def estimate(
        self,
        measure: str | Sequence[str],
        tables: Mapping[str, pa.Table] | None = None,
        *,
        over: Sequence[str] = (),
    ) -> pa.Table:
        """Means over the prompts; of the measure's own tables, unless others are given."""
        if tables is None:
            assert isinstance(measure, str)
            tables = self.tables(MEASURES[measure].table)
        return estimate(tables, measure, over=over, options=self.resampling, groups=self.groups)

    def contrasts(self, measure: str, *, heads: bool) -> dict[str, pa.Table]:
        """The first model against each of the others, by the names of the tables.

        With `heads`, head by head though they are unrelated.
        """
        first, *others = self.measurements
        return {
            f"{file_word(other)}_minus_{file_word(first)}": self.contrast(
                first, other, measure=measure, heads=heads or self.related(first, other)
            )
            for other in others
        }

    def contrast(self, a: str, b: str, *, measure: str, heads: bool = True) -> pa.Table:
        """b − a in the layers and heads that both have.

        Without `heads`, in the mean over heads of the layers at the same relative depth.
        """
        tables = self.tables(MEASURES[measure].table)
        both = {label: tables[label] for label in (a, b)}
        over: tuple[str, ...] = ()
        about: dict[str, str] = {}
        if heads:
            both = _common(both)
        else:
            both, about = self._at_same_depth(both)
            single = any(t["head"].null_count < t.num_rows for t in both.values())
            if single and MEASURES[measure].table == "mass":
                both = {label: averaged(t) for label, t in both.items()}
            elif single:
                over = ("heads",)
        found = contrast(
            both, a=a, b=b, measure=measure, over=over, options=self.resampling, groups=self.groups
        )
        return found.replace_schema_metadata({**(found.schema.metadata or {}), **about})

    def _at_same_depth(
        self, tables: dict[str, pa.Table]
    ) -> tuple[dict[str, pa.Table], dict[str, str]]:
        """The layers of the shallower model, and those of the other nearest to their depth.

        Both are numbered by the shallower model; the words say so. Nothing changes where both have
        as many layers.
        """
        layers = {label: int(self.kinds[label][1]) for label in tables}
        shallow = min(layers, key=lambda label: layers[label])
        (deep,) = set(tables) - {shallow}
        if layers[shallow] == layers[deep] or tables[deep]["layer"].null_count:
            return _common(tables), {}
        step = (layers[deep] - 1) / max(layers[shallow] - 1, 1)
        number = {round(i * step): i for i in range(layers[shallow])}
        rows = tables[deep].filter(
            pc.is_in(tables[deep]["layer"], value_set=pa.array(list(number), pa.int32()))
        )
        renamed = pa.array([number[n] for n in rows["layer"].to_pylist()], pa.int32())
        place = rows.column_names.index("layer")
        field_ = rows.schema.field("layer")
        words = f"Layers are those of {shallow}; of {deep}, the one at the same relative depth"
        moved = rows.set_column(place, field_, renamed)
        both = {label: moved if label == deep else tables[label] for label in tables}
        return _common(both), {DEPTH: words}

    def about(self, study: AnyStudy) -> dict[str, str]:
        """What a figure's definition adds: which models (`LABEL = NAME FINGERPRINT; …`)."""
        models = {label: one.provenance["model"] for label, one in self.measurements.items()}
        text = "; ".join(f"{k} = {m['name']} {m['fingerprint']}" for k, m in models.items())
        return {"models": text, "study": study.hash}


def compare(
    candidates: Sequence[Candidate],
    prompts: PromptSource,
    study: AnyStudy,
    *,
    progress: ModelProgress | None = None,
    into: RunFolder | None = None,
    skip: bool = False,
    resampling: Resampling | None = None,
) -> Comparison:
    """Each model's measurement; what `into` holds already is not measured again.

    With `skip`, a prompt that some model can't take is left out.
    """
    if into is not None:
        into.check(study.fixed_parts())
    surveys, kept, refused = survey_prompts(candidates, prompts, study, skip=skip)
    notes: list[str] = []
    with ExitStack() as opened:
        run = None
        if into is not None:
            every = dict.fromkeys((one.label for one in candidates), prompts)
            run = opened.enter_context(into.open(study, every, refused))
        measurements = {
            candidate.label: _measure(candidate, survey.encoder, kept, run or progress)
            for candidate, survey in zip(candidates, surveys, strict=True)
        }
        if run is not None:
            notes += run.left_out_words()
    if isinstance(study, InsertionStudy):
        notes += [note for survey in surveys for note in survey.notes]
    else:
        notes += _class_notes(surveys)
        notes += _layer_notes(candidates)
        notes += _same_weights_notes(measurements)
    distinct = len({prompt.content_hash() for prompt in kept})
    if distinct < len(kept):
        only = "only one is distinct" if distinct == 1 else f"only {distinct:,} are distinct"
        notes.append(f"Of {len(kept):,} prompts, {only}: equal ones count as one")
    kinds = {}
    for one, survey in zip(candidates, surveys, strict=True):
        facts = one.facts
        sizes = (facts.layers, facts.heads, facts.kv_heads, facts.head_dim)
        kinds[one.label] = (facts.model_type, *sizes, survey.ids)
    unique = tuple(dict.fromkeys(notes))
    return Comparison(measurements, unique, kept, kinds, resampling or Resampling())


def _measure(
    candidate: Candidate,
    encoder: PromptEncoder,
    prompts: PromptSource,
    target: OpenRun | ModelProgress | None,
) -> Measurement:
    """One model's measurement. `target`: the run that keeps the results, or a progress callback."""
    label = candidate.label
    with candidate.backend() as backend:
        if isinstance(target, OpenRun):  # the tables may be larger than memory
            measurer = Measurer(encoder, backend, target.results(label), target.progress(label))
            return measurer.measure(prompts, folder=target.folder)
        progress = None if target is None else partial(target, label)
        return Measurer(encoder, backend, progress=progress).measure(prompts)


# ── how the models tokenise the prompts ───────────────────────────────────────────────────────────


class Survey:
    """What one model's tokenizer makes of all prompts, gathered one by one; keeps none of them."""

    def __init__(self, candidate: Candidate, study: AnyStudy) -> None:
        self.label, self.study = candidate.label, study
        self.encoder = PromptEncoder(candidate.tokenizer, study)
        self.prompts = 0
        self.n_tokens: dict[str, float] = {}  # per class, over all prompts
        self.overlaps: dict[tuple[str, str], Counter[str]] = {}  # by rules: tokens of both
        self._notes: dict[str, None] = {}
        self._first: EncodedPrompt | None = None
        self._ids: Any = hashlib.sha256()

    def add(self, prompt: EncodedPrompt) -> None:
        self.prompts += 1
        self._ids.update(np.array([len(prompt.encoded), *prompt.encoded.ids]).tobytes())
        self._notes |= dict.fromkeys(prompt.notes)
        if prompt.classed is None:  # an insertion has no classes
            return
        self._first = self._first or prompt
        sums = prompt.classed.weights.sum(axis=0).tolist()
        for name, total in zip(prompt.classed.names, sums, strict=True):
            self.n_tokens[name] = self.n_tokens.get(name, 0.0) + total
        for pair, pieces in prompt.classed.overlaps().items():
            self.overlaps.setdefault(pair, Counter()).update(pieces)

    @property
    def ids(self) -> str:
        """A hash of all token ids: equal for models that cut all prompts into the same tokens."""
        return str(self._ids.hexdigest())

    @property
    def notes(self) -> list[str]:
        overlaps = [
            f"Classes {first!r} and {second!r} overlap in {pieces.total():,} "
            f"token{'s' * (pieces.total() > 1)} ({_examples(pieces)}), which count as {first!r}: "
            "the first rule wins"
            for (first, second), pieces in self.overlaps.items()
        ]
        return [*self._notes, *overlaps]

    def check(self) -> None:
        """Refuse classes that no token belongs to."""
        empty = [name for name, total in self.n_tokens.items() if not total and name != "other"]
        if empty:
            raise self._empty_class(empty[0], others=len(empty) - 1)

    def _empty_class(self, name: str, *, others: int) -> ClassRuleError:
        assert not isinstance(self.study, InsertionStudy)
        assert self._first is not None
        rule = dict(self.study.classes)[name]
        takers = [first for (first, second) in self.overlaps if second == name]
        if takers:
            return ClassRuleError(
                f"class {name!r} ({rule}) has no token left: {takers[0]!r} stands before it and "
                f"takes all it matches ({_examples(self.overlaps[takers[0], name])})",
                next_step="put the narrower rule first, or remove one of them",
            )
        pieces = self._first.encoded.pieces
        cut = " ".join(repr(piece) for piece in pieces[:_SHOWN_TOKENS])
        more = f" … ({len(pieces):,} tokens)" if len(pieces) > _SHOWN_TOKENS else ""
        several = f"any of the {self.prompts:,} prompts" if self.prompts > 1 else "the prompt"
        pure = self.study.policy == "pure"
        policy = " Tokens of mixed characters are left out by policy 'pure'." * pure
        more_classes = f", nor do {others:,} others" if others else ""
        return ClassRuleError(
            f"class {name!r} ({rule}) matches no token of {several}{more_classes}.{policy} "
            f"{self.label} cuts {self._first.prompt.id} into {cut}{more}",
            next_step="see all tokens and their classes with `mindshare tokens`",
        )


def _examples(pieces: Mapping[str, int]) -> str:
    more = ", …" if len(pieces) > _EXAMPLES else ""
    return ", ".join(map(repr, islice(pieces, _EXAMPLES))) + more


def survey_prompts(
    candidates: Sequence[Candidate], prompts: PromptSource, study: AnyStudy, *, skip: bool = False
) -> tuple[list[Survey], PromptSource, dict[str, MindshareError]]:
    """Tokenise every prompt for each model; refuse what no chart should be made of.

    With `skip`, a prompt that some model can't take is returned with the reason instead, and left
    out for all: differences are taken prompt by prompt. The prompts are those that are left.
    """
    for candidate in candidates:  # all of them, before a tokenizer has to be unpacked
        candidate.check(study)
    surveys = [Survey(candidate, study) for candidate in candidates]
    refused: dict[str, MindshareError] = {}
    for prompt in prompts:
        try:
            encoded = [survey.encoder.encode_and_keep(prompt) for survey in surveys]
        except MindshareError as error:
            if not skip:
                raise
            refused[prompt.id] = error
            continue
        for survey, content in zip(surveys, encoded, strict=True):
            survey.add(content)
    for survey in surveys:
        survey.check()
    kept = ChosenPrompts(prompts, frozenset(refused)) if refused else prompts
    if not len(kept):
        raise PromptError("none of the prompts can be measured", next_step="see --bad-rows stop")
    return surveys, kept, refused


# ── what a reader of several models must know ─────────────────────────────────────────────────────


def _class_notes(surveys: Sequence[Survey]) -> list[str]:
    """Overlapping rules, said once if all models read alike; and models that do not."""
    alike = len({survey.ids for survey in surveys}) == 1
    notes = [note if alike else f"{one.label}: {note}" for one in surveys for note in one.notes]
    for a, b in combinations(surveys, 2):
        if a.ids != b.ids:
            counts = "; ".join(
                f"{name} {a.n_tokens[name]:,.4g} and {b.n_tokens[name]:,.4g}" for name in a.n_tokens
            )
            notes.append(
                f"{a.label} and {b.label} cut the prompts into different tokens ({counts} tokens). "
                "Comparable: mass, share and lift of classes and spans. Not comparable: density "
                "(per token), token positions, head numbers"
            )
    return notes


def _layer_notes(candidates: Sequence[Candidate]) -> list[str]:
    counts = {candidate.label: candidate.facts.layers for candidate in candidates}
    if len(set(counts.values())) < 2:
        return []
    words = ", ".join(f"{label} {count}" for label, count in counts.items())
    return [
        f"The models have different numbers of layers ({words}): the same layer number is not the "
        "same depth, and differences are taken between layers of the same relative depth"
    ]


def _same_weights_notes(measurements: dict[str, Measurement]) -> list[str]:
    notes = []
    for (a, first), (b, second) in combinations(measurements.items(), 2):
        if first.provenance["model"]["fingerprint"] == second.provenance["model"]["fingerprint"]:
            numbers = "mass" if "mass" in first.tables else "effects"
            exact = first.table(numbers).equals(second.table(numbers))
            result = "every difference is exactly 0"
            result = result if exact else "yet their numbers differ (dtype or device)"
            notes.append(f"{a} and {b} are the same model (same weights): {result}")
    return notes


def _common(tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
    """Only layers and heads that are in all tables; null (a mean) is in each or none."""
    for column in ("layer", "head"):
        shared = set.intersection(*(set(t[column].unique().to_pylist()) for t in tables.values()))
        values = pa.array(sorted(shared - {None}), type=pa.int32())
        tables = {
            label: t.filter(pc.or_(pc.is_null(t[column]), pc.is_in(t[column], value_set=values)))
            for label, t in tables.items()
        }
    return tables
