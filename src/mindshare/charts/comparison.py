"""Candidates and prompts → one measurement each, and in words what may be compared.

read every prompt with every tokenizer ─► refuse ─► load, measure, forget ─► next model
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mindshare.charts.candidates import Candidate
from mindshare.charts.reading import Reading, read_prompts, unreadable
from mindshare.errors import MindshareError, PromptError
from mindshare.prompts import Prompt
from mindshare.stats import Resampling, contrast
from mindshare.study import Into, Keeping, Measurement, Study, fixed_parts

Progress = Callable[[str, int, int], None]  # model's label, prompts done, prompts in all


@dataclass(frozen=True, repr=False)
class Comparison:
    """The measurements by label, in the order given, and the notes a reader of them needs."""

    measurements: dict[str, Measurement]
    notes: tuple[str, ...]
    groups: dict[str, str] | None = None  # prompt → what is resampled together; None: each alone

    @property
    def masses(self) -> dict[str, pa.Table]:
        return {label: found.mass for label, found in self.measurements.items()}

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The first model against each of the others."""
        first, *others = self.measurements
        return [(first, other) for other in others]

    def contrast(self, a: str, b: str, *, measure: str, options: Resampling | None) -> pa.Table:
        """b − a in the layers and heads that both have."""
        both = _common({label: self.masses[label] for label in (a, b)})
        return contrast(both, a=a, b=b, measure=measure, options=options, groups=self.groups)

    def provenance(self) -> dict[str, Any]:
        return {label: dict(found.provenance) for label, found in self.measurements.items()}


def compare(
    candidates: Sequence[Candidate],
    prompts: Sequence[Prompt],
    study: Study,
    *,
    progress: Progress | None = None,
    into: Into | None = None,
) -> Comparison:
    """Each model's measurement; what `into` holds already is not measured again."""
    if into is not None:
        into.check(fixed_parts(study))
    refused: dict[str, MindshareError] = {}
    if into is not None and into.bad_rows == "skip":
        # What one model can't read is left out for all: differences are taken prompt by prompt.
        for candidate in candidates:
            refused |= unreadable(candidate, prompts, study)
    bad = [prompt for prompt in prompts if prompt.id in refused]
    prompts = [prompt for prompt in prompts if prompt.id not in refused]
    if not prompts:
        raise PromptError("none of the prompts can be measured", next_step="see --bad-rows stop")
    readings = [read_prompts(candidate, prompts, study) for candidate in candidates]
    with ExitStack() as open_run:
        keeping = None
        if into is not None:
            expected = {candidate.label: len(prompts) for candidate in candidates}
            expected[candidates[0].label] += len(bad)
            keeping = open_run.enter_context(into.open(fixed_parts(study), expected))
            for prompt in bad:
                keeping.shelf(candidates[0].label).refuse(prompt, refused[prompt.id])
        found = {
            candidate.label: _measured(candidate, prompts, study, keeping or progress)
            for candidate in candidates
        }
        left_out = [] if keeping is None else keeping.left_out_words()
    alike = len({reading.ids for reading in readings}) == 1
    notes = [
        note if alike else f"{reading.label}: {note}"
        for reading in readings
        for note in reading.notes
    ]
    notes += [note for a, b in combinations(readings, 2) for note in _tokens_note(a, b)]
    notes += _layer_notes(candidates)
    notes += [note for a, b in combinations(found, 2) for note in _same_weights(found, a, b)]
    return Comparison(found, tuple(dict.fromkeys([*left_out, *notes])), groups_of(prompts))


def groups_of(prompts: Sequence[Prompt]) -> dict[str, str] | None:
    """A prompt without a group is one of its own."""
    if all(prompt.group is None for prompt in prompts):
        return None
    return {
        prompt.id: f"prompt {prompt.id}" if prompt.group is None else f"group {prompt.group}"
        for prompt in prompts
    }


def _measured(
    candidate: Candidate,
    prompts: Sequence[Prompt],
    study: Study,
    told: Keeping | Progress | None,
) -> Measurement:
    label = candidate.label
    if isinstance(told, Keeping):
        shelf, report = told.shelf(label), told.progress(label)
        opened = candidate.asking(study, shelf=shelf, progress=report)
    else:
        opened = candidate.asking(study, progress=None if told is None else partial(told, label))
    with opened as asking:
        return asking.measure(prompts)


def _tokens_note(a: Reading, b: Reading) -> list[str]:
    if a.ids == b.ids:
        return []
    counts = "; ".join(
        f"{name} {a.n_tokens[name]:,.4g} and {b.n_tokens[name]:,.4g}" for name in a.n_tokens
    )
    return [
        f"{a.label} and {b.label} cut the prompts into different tokens ({counts} tokens). "
        "Comparable: mass, share and lift of classes and spans. Not comparable: density (per "
        "token), token positions, head numbers"
    ]


def _layer_notes(candidates: Sequence[Candidate]) -> list[str]:
    counts = {candidate.label: candidate.facts.layers for candidate in candidates}
    if len(set(counts.values())) < 2:
        return []
    words = ", ".join(f"{label} {count}" for label, count in counts.items())
    return [
        f"The models have different numbers of layers ({words}): the same layer number is not the "
        "same depth, and differences are given for the layers that both have"
    ]


def _same_weights(found: dict[str, Measurement], a: str, b: str) -> list[str]:
    prints = [found[label].provenance["model"]["fingerprint"] for label in (a, b)]
    if prints[0] != prints[1]:
        return []
    exactly = found[a].mass.equals(found[b].mass)
    result = (
        "every difference is exactly 0" if exactly else "yet their numbers differ (dtype or device)"
    )
    return [f"{a} and {b} are the same model (same weights): {result}"]


def _common(masses: dict[str, pa.Table]) -> dict[str, pa.Table]:
    """Only layers and heads that are in all tables; null (a mean) is in each or none."""
    for column in ("layer", "head"):
        shared = set.intersection(*(set(t[column].to_pylist()) for t in masses.values()))
        values = pa.array(sorted(shared - {None}), type=pa.int32())
        masses = {
            label: t.filter(pc.or_(pc.is_null(t[column]), pc.is_in(t[column], value_set=values)))
            for label, t in masses.items()
        }
    return masses
