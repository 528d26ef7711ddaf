"""Saved results → the question they answer, and the definition in words and in formulas.

Reads what was asked (classes, query set, what was inserted where) from the manifest, and says it in
sentences. Says nothing about what was found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mindshare.report.formulas import formulas, letters
from mindshare.report.parts import Bullets, Details, Heading, Paragraph, Part
from mindshare.report.saved import Saved
from mindshare.stats.labels import meanings, thresholds_of
from mindshare.table import compared, defined

_RESPONSES = (
    *("received", "amplitude", "shape", "entropy_change", "divergence"),
    *("attention_left", "retained"),
)
_ITEMS = 7  # of a list that is not folded away
_QUERIES = {
    "last": "the last token of the prompt",
    "all": "every token",
    "original": "every token that was not inserted",
}
_WORDS = {
    "mass": "How much attention does each class of tokens get",
    "share": "How is the attention to the named classes divided among them",
    "density": "How much attention does a token of each class get",
    "expected": "How much attention would each class of tokens get if it were spread evenly",
    "lift": "Does each class of tokens get more attention than its number of tokens explains",
}


def title_of(saved: Saved) -> str:
    models = listed(list(saved.models))
    if saved.kind == "insertion":
        names = _insertions(saved)
        more = [f"{len(names) - 2} more"] if len(names) > 2 else []
        return f"What inserting {listed([*names[:2], *more])} does to the attention of {models}"
    return f"Attention of {models} to {listed(_shown_classes(saved))}"


def _shown_classes(saved: Saved) -> list[str]:
    """Those whose numbers are there, in the order of the rules."""
    there = set(saved.summary["class"].to_pylist())
    names = [name for name, _ in _classes(saved)]
    return [name for name in names if name in there] or names


def question(saved: Saved) -> list[Part]:
    return [Paragraph(_asked(saved))]


def definition(saved: Saved) -> list[Part]:
    """What the numbers are."""
    measures, about = _measures(saved), saved.metadata
    words = tuple(
        f"{name.replace('_', ' ').capitalize()}: {defined(name, about)}." for name in measures
    )
    return [
        Paragraph(letters(measures, tokens=compared(about))),
        *formulas(measures),
        Bullets((*words, *_choices(saved))),
        *_labels(saved),
    ]


def _labels(saved: Saved) -> list[Part]:
    """What each label says of a head, one sentence each."""
    if saved.kind != "insertion":
        return []
    known = meanings(thresholds_of(saved.summary))
    said = tuple(f"{label.capitalize()}: {meaning}." for label, meaning in known.items())
    asked = "Each head has one label, the first of these that fits its mean numbers:"
    return [Heading("What the labels say"), Paragraph(asked), Bullets(said)]


def measure_of(saved: Saved) -> str:
    """The measure that a chart of token classes shows."""
    return saved.about("measure", "mass")


def conditions_of(saved: Saved) -> list[str]:
    return list(dict.fromkeys(saved.summary["condition"].to_pylist()))


def listed(words: Sequence[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def n_prompts(saved: Saved) -> int:
    return max(saved.summary["n_prompts"].to_pylist(), default=0)


def study_of(saved: Saved) -> Mapping[str, Any]:
    """The definition that all models share."""
    found: Mapping[str, Any] = next(iter(saved.models.values()))["study"]
    return found


def _asked(saved: Saved) -> str:
    several, prompts = len(saved.models) > 1, count(n_prompts(saved), "prompt")
    where = f"layer by layer, in {listed(list(saved.models))}"
    if saved.kind == "insertion":
        what, against = listed(_insertions(saved)), study_of(saved).get("against") or ()
        other = "".join(f", and with {quoted(one['name'])} for comparison" for one in against[:1])
        differ = ", and do the models differ" if several else ""
        return (
            f"What does inserting {what} into a prompt do to the attention of each head of "
            f"{listed(list(saved.models))}{differ}? Asked with {prompts}, each as it is and with "
            f"the insertion{other}; the same tokens are compared."
        )
    differ = ", and do the models differ" if several else ""
    return f"{_WORDS[measure_of(saved)]}, {where}{differ}? Asked with {prompts}."


def notes(saved: Saved) -> list[Part]:
    """What a reader should know before trusting a number."""
    found = [str(note) for note in saved.manifest.get("notes", ())]
    if not _has_intervals(saved):
        few = "One prompt" if n_prompts(saved) == 1 else f"{_units(saved)} are few"
        found.insert(0, f"{few}: there are no intervals, and nothing is said about other ones")
    if not found:
        return []
    items = [f"{note.rstrip('.')}." for note in found]
    return [Heading("To know before reading on"), *folded(items, "notes")]


def folded(items: Sequence[str], noun: str, *, shown: int = _ITEMS) -> list[Part]:
    """A long list: its first items, and the rest folded away."""
    if len(items) <= shown + 2:
        return [Bullets(tuple(items))]
    rest = Details(f"{len(items) - shown} more {noun}", (Bullets(tuple(items[shown:])),))
    return [Bullets(tuple(items[:shown])), rest]


def _insertions(saved: Saved) -> list[str]:
    """What was inserted; what it stands against is not counted."""
    names = [one["name"] for one in study_of(saved).get("insertions", ())]
    return [quoted(name) for name in names or conditions_of(saved)]


def quoted(name: str) -> str:
    return f"“{name.replace(chr(10), '↵')}”"


def _measures(saved: Saved) -> tuple[str, ...]:
    if saved.kind == "insertion":
        there = {"received", *saved.summary["measure"].to_pylist()}
        return tuple(name for name in (*_RESPONSES, "affine_r2") if name in there)
    needs = {"lift": ("mass", "expected"), "share": ("mass",), "density": ("mass",)}
    measure = measure_of(saved)
    return (*needs.get(measure, ()), measure)


def _classes(saved: Saved) -> list[tuple[str, str]]:
    return [(name, rule) for name, rule in study_of(saved).get("classes", ())]


def _choices(saved: Saved) -> list[str]:
    """What was chosen for this study: query set, heads, classes, resampling."""
    study = study_of(saved)
    queries = study.get("queries", ())
    asked = [queries] if isinstance(queries, str) else list(queries)
    found = [f"Query set Q: {listed([_QUERIES.get(one, one) for one in asked])}."]
    if "heads" in study.get("mean_over", ()):
        found.append("Heads: the mean over the heads of a layer.")
    if _classes(saved):
        rules = "; ".join(f"{name} = {rule}" for name, rule in _classes(saved))
        found.append(
            f"Token classes, the first rule that fits counts (policy {study['policy']}): {rules}; "
            "other = all the rest."
        )
    if _has_intervals(saved):
        found.append(_intervals(saved))
    return found


def _units(saved: Saved) -> str:
    """What is resampled, counted."""
    if saved.about("unit", "prompt") == "group":
        groups = max((n or 0 for n in saved.summary["n_groups"].to_pylist()), default=0)
        return f"{count(groups, 'group')} of prompts"
    return count(n_prompts(saved), "prompt")


def _has_intervals(saved: Saved) -> bool:
    return bool(saved.summary["low"].null_count < saved.summary.num_rows)


def _intervals(saved: Saved) -> str:
    level = 100 * float(saved.about("confidence", "0.95"))
    units = "groups of prompts" if saved.about("unit", "prompt") == "group" else "prompts"
    return (
        f"Intervals: {level:.4g} % {saved.about('interval', 'bootstrap')} over the {units} "
        f"({int(saved.about('resamples', '0')):,} resamples, seed {saved.about('seed', '?')})."
    )
