"""How the models would read the prompts: what must be refused or said before any weights are read.

A chart of a class that no token belongs to, or of a span that a prompt lacks, would show zeros that
mean nothing: refused. Rules that match the same tokens are allowed (the first one wins), but said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mindshare.charts.candidates import Candidate
from mindshare.errors import ClassRuleError, MindshareError
from mindshare.prompts import Prompt
from mindshare.study import Study, check_selection, check_spans, encode_for
from mindshare.tokens import Classed, classify, parse_queries, query_mask

_SHOWN = 12  # tokens of a prompt that a message shows
_MOST = 3  # examples in a note


@dataclass(frozen=True)
class Reading:
    """One model's tokens of every prompt, and what is to be said about them."""

    label: str
    ids: tuple[tuple[int, ...], ...]
    n_tokens: Mapping[str, float]  # per class, over all prompts
    notes: tuple[str, ...]


def read_prompts(candidate: Candidate, prompts: Sequence[Prompt], study: Study) -> Reading:
    """Tokenise and class every prompt; refuse what no chart should be made of."""
    check_selection(candidate.facts, name=candidate.label, layers=study.layers, heads=study.heads)
    encoded = [encode_for(candidate.reader, prompt) for prompt in prompts]
    check_spans(study, encoded)
    classed = [classify(one, study.token_classes()) for one in encoded]
    for one in classed:
        for queries in study.queries:
            query_mask(parse_queries(queries), one.encoded, one)
    totals = _totals(classed)
    overlaps = _overlaps(classed)
    for name, total in totals.items():
        if total == 0 and name != "other":
            raise _matches_nothing(candidate.label, name, study, classed, overlaps)
    return Reading(
        label=candidate.label,
        ids=tuple(one.ids for one in encoded),
        n_tokens=totals,
        notes=tuple(_overlap_notes(overlaps)),
    )


def unreadable(
    candidate: Candidate, prompts: Sequence[Prompt], study: Study
) -> dict[str, MindshareError]:
    """The prompts that this model can't be asked about, by id, and why."""
    found: dict[str, MindshareError] = {}
    for prompt in prompts:
        try:
            encoded = encode_for(candidate.reader, prompt)
            check_spans(study, [encoded])
            classed = classify(encoded, study.token_classes())
            for queries in study.queries:
                query_mask(parse_queries(queries), encoded, classed)
        except MindshareError as error:
            found[prompt.id] = error
    return found


def _totals(classed: Iterable[Classed]) -> dict[str, float]:
    totals: dict[str, float] = {}
    for one in classed:
        for name, column in zip(one.names, one.weights.T, strict=True):
            totals[name] = totals.get(name, 0.0) + float(column.sum())
    return totals


def _overlaps(classed: Iterable[Classed]) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for one in classed:
        for pair, pieces in one.overlaps().items():
            found.setdefault(pair, []).extend(pieces)
    return found


def _overlap_notes(overlaps: Mapping[tuple[str, str], list[str]]) -> list[str]:
    return [
        f"Classes {first!r} and {second!r} overlap in {len(pieces):,} "
        f"token{'s' * (len(pieces) > 1)} ({_examples(pieces)}), which count as {first!r}: "
        "the first rule wins"
        for (first, second), pieces in overlaps.items()
    ]


def _matches_nothing(
    label: str,
    name: str,
    study: Study,
    classed: Sequence[Classed],
    overlaps: Mapping[tuple[str, str], list[str]],
) -> ClassRuleError:
    rule = dict(study.classes)[name]
    takers = [first for (first, second) in overlaps if second == name]
    if takers:
        return ClassRuleError(
            f"class {name!r} ({rule}) has no token left: {takers[0]!r} stands before it and takes "
            f"all it matches ({_examples(overlaps[takers[0], name])})",
            next_step="put the narrower rule first, or remove one of them",
        )
    pieces = classed[0].encoded.pieces
    cut = " ".join(repr(piece) for piece in pieces[:_SHOWN])
    more = f" … ({len(pieces):,} tokens)" if len(pieces) > _SHOWN else ""
    several = f"any of the {len(classed):,} prompts" if len(classed) > 1 else "the prompt"
    policy = " Tokens of mixed characters are left out by policy 'pure'." * (study.policy == "pure")
    return ClassRuleError(
        f"class {name!r} ({rule}) matches no token of {several}.{policy} "
        f"{label} cuts {classed[0].encoded.prompt.id} into {cut}{more}",
        next_step="see all tokens and their classes with `mindshare tokens`",
    )


def _examples(pieces: Sequence[str]) -> str:
    different = list(dict.fromkeys(pieces))
    return ", ".join(map(repr, different[:_MOST])) + (", …" if len(different) > _MOST else "")
