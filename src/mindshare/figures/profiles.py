"""What each token receives, without and with an insertion → two charts of profiles.

profile_grid   one column per head: above, the original tokens without and with an insertion; below,
               the whole sequence with it
family_panel   one panel per model: two insertions in one head each

A version of the prompt has one colour everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from mindshare.errors import SelectionError
from mindshare.facts.words import count
from mindshare.figures.captions import (
    Encoding,
    cell_words,
    condition_label,
    number,
    pale_words,
    prompt_figure,
    visible,
)
from mindshare.figures.figure import Figure, redrawable
from mindshare.figures.profile_panels import (
    MOST_POINTS,
    Head,
    ProfileOptions,
    ProfilePanel,
    aligned_profiles,
    inserted_run,
    profile_table,
    profiles_view,
    whole_profile,
)
from mindshare.figures.selection import pick
from mindshare.measures import MEASURES
from mindshare.naming import WITHOUT
from mindshare.tables import QUERIES, defined, metadata

Tables = tuple[pa.Table, pa.Table]  # sequence, places
_MOST_HEADS, _MOST_MODELS = 24, 12


@redrawable(ProfileOptions)
def profile_grid(
    aligned: pa.Table,
    sequence: pa.Table,
    places: pa.Table,
    options: ProfileOptions | None = None,
    *,
    model: str,
    prompt: str,
    condition: str,
    heads: Sequence[Head],
    response: pa.Table | None = None,
    about: Mapping[str, str] | None = None,
) -> Figure:
    """What each token receives in some heads of one model, without and with the insertion.

    The title counts heads by their attention level in `response`, as maps and labels have it.
    """
    options = options or ProfileOptions()
    if condition == WITHOUT:
        raise SelectionError(
            "the grid compares a condition with 'without', so it can't be 'without' itself",
            next_step="name the insertion",
        )
    if not 1 <= len(heads) <= _MOST_HEADS:
        raise SelectionError(f"{len(heads)} heads in one grid", allowed=f"1 to {_MOST_HEADS}")
    aligned = pick(aligned, "aligned", prompt=prompt, condition=condition)
    sequence = pick(sequence, "sequence", prompt=prompt, condition=condition)
    places = pick(places, "places", prompt=prompt)
    label = options.label.get(condition, f"with {condition_label(condition, options)}")
    run_label = options.word(condition) if options.run_label is None else options.run_label
    drop, run = options.drop_first, inserted_run(places, condition)
    uppers, lowers, profiles = [], [], []
    for head in heads:
        without, with_ = aligned_profiles(aligned, places, condition, head, drop=drop)
        whole = whole_profile(sequence, places, condition, head, drop=drop)
        title = options.titled(model, head, cell_words(*head, options).capitalize())
        pair = {options.word(WITHOUT): without, label: with_}
        uppers.append(ProfilePanel(pair, title, "Token position (without)"))
        lowers.append(
            ProfilePanel(
                {label: whole},
                title if options.panel_title else f"{title}, all tokens",
                "Token position (with)",
                runs={label: run} if run else {},
                run_label=run_label,
                titled=options.panel_title is not None,
                first=0 if options.whole_first else 1,
            )
        )
        profiles += [without, whole]
    table = profile_table(profiles, model, metadata(sequence))
    names = (model, prompt, condition)
    chart = _grid_encoding([*uppers, *lowers], options, places, names, label)
    if (readers := metadata(aligned).get(QUERIES)) != metadata(sequence).get(QUERIES):
        by = f"Above: {readers} queries only."
        chart = replace(chart, marks=[by, *chart.marks])
    if response is not None:
        told, fact = _level_words(response, names, label, heads)
        chart = replace(chart, title=told or chart.title, facts=[*chart.facts, fact])
    return prompt_figure(profiles_view([uppers, lowers], options), table, options, about, chart)


def _grid_encoding(
    panels: Sequence[ProfilePanel],
    options: ProfileOptions,
    places: pa.Table,
    names: tuple[str, str, str],
    label: str,
) -> Encoding:
    model, prompt, condition = names
    pairs = [panel.lines.values() for panel in panels if len(panel.lines) == 2]
    heads = count(len(pairs), "head")
    original = pick(places, "places", condition=WITHOUT)["position"].to_pylist()
    partners = set(pick(places, "places", condition=condition)["position_without"].to_pylist())
    lost = sum(at not in partners for at in original)
    gap = f"Gap: {count(lost, 'token')} split differently next to the insertion." if lost else None
    inserted = "Nothing is inserted in this condition."
    if run := inserted_run(places, condition):
        inserted = (
            f"The inserted run ({count(run[1] - run[0] + 1, 'token')}, positions {run[0]:,} to "
            f"{run[1]:,}) is shaded grey between dashed lines."
        )
    return _encoding(
        panels,
        options,
        prompt,
        name=["profiles", condition],
        title=f"Attention that tokens receive {label} in {heads}: {model}",
        gap=gap,
        facts=[
            "Upper panels: the original tokens that have the same characters and the same id in "
            "both versions, at their position in the version without",
            f"Lower panels: every token of the version {label}",
        ],
        details=[
            f"Line charts of {heads} of {model}, two for each: above, what the "
            f"original tokens of prompt {prompt} receive without and {label}; "
            "below, what every token receives with it.",
            f"{len(original) - lost:,} of {count(len(original), 'original token')} stand in both "
            "versions.",
            inserted,
        ],
    )


def _level_words(
    response: pa.Table, names: tuple[str, str, str], label: str, heads: Sequence[Head]
) -> tuple[str | None, str]:
    """The title, by the attention levels that maps and labels go by too; and what these are."""
    model, prompt, condition = names
    rows = pick(response, "response", prompt=prompt, condition=condition).to_pylist()
    known = {(row["layer"], row["head"]): row["amplitude"] for row in rows}
    levels = [known[head] for head in heads if known.get(head) is not None]
    less, more = (sum(x < 1 for x in levels), sum(x > 1 for x in levels))
    level = MEASURES["amplitude"]
    fact = f"The title goes by the {level.word}: {defined(level.name, metadata(response))}"
    if not less and not more:
        return None, fact
    word, n = ("less", less) if less >= more else ("more", more)
    drawn = count(len(heads), "head")
    return f"Original tokens receive {word} {label} in {n} of {drawn} drawn: {model}", fact


@redrawable(ProfileOptions)
def family_panel(
    sequences: Mapping[str, Tables],
    options: ProfileOptions | None = None,
    *,
    prompt: str,
    conditions: tuple[str, str],
    heads: Mapping[str, Head],
    about: Mapping[str, str] | None = None,
) -> Figure:
    """One prompt under two conditions, in one head of every model.

    Every model has its own head, scale and tokenizer: panels are compared by shape, never token by
    token.
    """
    options = options or ProfileOptions()
    _check_family(sequences, heads)
    labels = [condition_label(name, options) for name in conditions]
    panels, tables = [], []
    for model, (sequence, places) in sequences.items():
        head, drop = heads[model], options.drop_first
        try:
            sequence = pick(sequence, "sequence", prompt=prompt)
            places = pick(places, "places", prompt=prompt)
            profiles = [whole_profile(sequence, places, c, head, drop=drop) for c in conditions]
        except SelectionError as error:
            raise SelectionError(
                error.what, where=model, allowed=error.allowed, next_step=error.next_step
            ) from error
        lines = dict(zip(labels, profiles, strict=True))
        runs = {
            label: run
            for label, name in zip(labels, conditions, strict=True)
            if (run := inserted_run(places, name)) and options.shade
        }
        title = options.titled(model, head, f"{model}, {cell_words(*head, options)}")
        panels.append(ProfilePanel(lines, title, runs=runs, same_tokens=False))
        tables.append(profile_table(profiles, model, metadata(sequence)))
    first, second = labels
    who = f": {next(iter(sequences))}" if len(sequences) == 1 else ""
    chart = _encoding(
        panels,
        options,
        prompt,
        name=["panel", *conditions],
        title=f"Attention that tokens receive with {first} and with {second}{who}",
        facts=[
            f"One head per model: {'; '.join(panel.title for panel in panels)}",
            "Every token of a version stands at its own position; models cut the text differently, "
            "so the same position is not the same text",
        ],
        details=[
            f"Line charts of {count(len(sequences), 'model')}, one head each: what every token of "
            f"prompt {prompt} receives with {first} and with {second}, by "
            "position. The inserted tokens are shaded grey between dashed lines.",
        ],
    )
    return prompt_figure(
        profiles_view([panels], options), pa.concat_tables(tables), options, about, chart
    )


def _check_family(sequences: Mapping[str, Tables], heads: Mapping[str, Head]) -> None:
    if not 1 <= len(sequences) <= _MOST_MODELS:
        raise SelectionError(
            f"{len(sequences)} models in one panel", allowed=f"1 to {_MOST_MODELS}"
        )
    for model in sequences:
        if model not in heads:
            raise SelectionError(
                f"no head is chosen for {model}", next_step=f"heads={{{model!r}: (layer, head), …}}"
            )


# ── words ─────────────────────────────────────────────────────────────────────────────────────────


def _encoding(
    panels: Sequence[ProfilePanel],
    options: ProfileOptions,
    prompt: str,
    *,
    details: Sequence[str | None],
    gap: str | None = None,
    **named: Any,
) -> Encoding:
    """What both charts say: which tokens are not drawn, or pale, and the numbers of each panel."""
    dropped = "First token not drawn." if options.drop_first else None
    pale = pale_words(options.few)
    cuts = [panel for panel in panels if panel.top(options.few)[1] is not None]
    cut = "Cut off (↑): far above the rest." if cuts else None
    own = "Each panel has its own scale." if len(panels) > 1 else None
    return Encoding(
        shown=[f"prompt: {prompt}"],
        marks=[dropped, cut, gap, pale, own],
        details=[*details, *_panel_words(panels)],
        **named,
    )


def _panel_words(panels: Sequence[ProfilePanel]) -> Iterator[str]:
    """`… highest 0.175 at position 15 (·cat), sum 0.91, inside the run 0.01 to 0.02`"""
    for panel in panels:
        parts = []
        for label, profile in panel.lines.items():
            there = np.flatnonzero(~np.isnan(profile.received))
            if not len(there):
                parts.append(f"{label} no number")
                continue
            i = there[np.argmax(profile.received[there])]
            parts.append(
                f"{label} highest {number(profile.received[i])} at position "
                f"{profile.position[i]:,} ({visible(profile.rows[i]['token'])}), "
                f"sum {number(profile.total)}"
            )
            first, last = panel.runs.get(label, (0, -1))
            inside = there[(profile.position[there] >= first) & (profile.position[there] <= last)]
            if len(inside):
                low, high = profile.received[inside].min(), profile.received[inside].max()
                parts[-1] += f", inside the run {number(low)} to {number(high)}"
        yield f"{panel.title}: {'; '.join(parts)}."
    if max(len(p.position) for panel in panels for p in panel.lines.values()) > MOST_POINTS:
        yield "Of each stretch of these long lines the lowest and the highest token are drawn."
