"""Saved results → what a report folds away: methods, prompts, origin, how to make it again.

Definitions and formulas come from the registry of measures, tokens from the tables, everything else
from what was recorded when measuring.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindshare.errors import SelectionError
from mindshare.facts.words import ASKED, count, listed
from mindshare.figures.colours import class_colours
from mindshare.measures import MEASURES, letters
from mindshare.naming import WITHOUT, layer_ranges
from mindshare.report.blocks import (
    Attached,
    Block,
    Bullets,
    Code,
    Colour,
    ColouredText,
    Details,
    Pairs,
    Paragraph,
    Term,
)
from mindshare.report.saved import PROMPTS, STUDY, SavedResults
from mindshare.stats import meanings, thresholds_of
from mindshare.tables import QUERIES, compared, defined

if TYPE_CHECKING:
    import pyarrow as pa

SHOWN, VERSIONS = 3, 4  # prompts, and versions of each
TOKENS = 600  # of a prompt
_ATTACHED = 200_000  # characters of prompts that travel with a report
_VISIBLE = {"\n": "↵\n", "\t": "⇥", "\r": "␍", "\u00a0": "⍽"}
_PLAIN = "#ffffff"
_PARTS = {
    "original": (_PLAIN, "in both versions"),
    "inserted": ("#f2b5b0", "inserted"),
    "seam": ("#d3b5f0", "merged with inserted characters"),
    "unmatched": ("#f7dd8f", "original characters that are cut differently"),
}


# ---- methods


def methods(saved: SavedResults) -> list[Block]:
    """What the numbers are."""
    names = measures_of(saved)
    parts: list[Block] = [Paragraph(letters(names, tokens=compared(saved.metadata)))]
    for name in names:
        measure, words = MEASURES[name], f"{defined(name, saved.metadata)}."
        parts.append(Term(measure.heading, words, measure.mathml, measure.latex))
    parts.append(Bullets(tuple(_choices(saved))))
    if saved.kind == "insertion":
        labels = meanings(thresholds_of(saved.summary))
        first = "Each head has one label, the first of these that fits its mean numbers:"
        each = tuple(f"{label.capitalize()}: {meaning}." for label, meaning in labels.items())
        parts += [Paragraph(first), Bullets(each)]
    return parts


def measures_of(saved: SavedResults) -> tuple[str, ...]:
    """Those that the results are about, each after what its definition rests on."""
    names = [saved.about("measure", "mass")]
    if saved.kind == "insertion":
        measured = set(saved.summary["measure"].to_pylist())
        names = [name for name in MEASURES if name in measured]
    return tuple(dict.fromkeys(n for name in names for n in (*MEASURES[name].needs, name)))


def _choices(saved: SavedResults) -> Iterator[str]:
    """What was chosen for this study: query set, heads, classes, resampling."""
    study = saved.study_definition
    queries = saved.metadata.get(QUERIES) or study.get("queries", ())
    queries = [queries] if isinstance(queries, str) else list(queries)
    every = "; all tokens for whole sequences and inside insertions"
    both = every if study.get("queries") == "both" else ""
    yield f"Query set Q: {listed([ASKED.get(one, one) for one in queries])}{both}."
    if "heads" in study.get("mean_over", ()):
        yield "Heads: the mean over the heads of a layer."
    if study.get("classes"):
        rules = "; ".join(f"{name} = {rule}" for name, rule in study["classes"])
        yield (
            f"Token classes, the first rule that fits counts (policy {study['policy']}): {rules}; "
            "other = all the rest."
        )
    if saved.has_intervals:
        level = 100 * float(saved.about("confidence", "0.95"))
        units = "groups of prompts" if saved.about("unit", "prompt") == "group" else "prompts"
        yield (
            f"Intervals: {level:.4g} % {saved.about('interval', 'bootstrap')} over the {units}; "
            f"p_family by {int(saved.about('resamples', '0')):,} resamples, "
            f"seed {saved.about('seed', '?')}."
        )


# ---- prompts


def prompts_shown(saved: SavedResults) -> list[Block]:
    """The first prompts, each token on the colour of its class or part."""
    texts = _by_class(saved) if saved.kind == "classes" else _by_part(saved)
    if not texts:
        return [Paragraph("The tokens were not saved with these results.")]
    n = len(_ids(next(iter(saved.models.values()))))
    rest = f" The first {SHOWN} of {n:,} prompts are shown." if n > SHOWN else ""
    kind = "class" if saved.kind == "classes" else "part in the insertion"
    return [Paragraph(f"Each token is marked with its {kind}; ↵ is a line end.{rest}"), *texts]


def _ids(provenance: Mapping[str, Any]) -> list[str]:
    return [prompt["id"] for prompt in provenance["prompts"]]


def _by_class(saved: SavedResults) -> list[ColouredText]:
    """The prompts by token class; again for a model whose tokenizer cuts them differently."""
    names = [name for name, _ in saved.study_definition["classes"]]
    colours = _class_colours(names, saved)
    texts: dict[tuple[str, tuple[tuple[str, str], ...]], ColouredText] = {}
    for label, provenance in saved.models.items():
        table = saved.model_table("tokens", label)
        for prompt in _ids(provenance)[:SHOWN] if table is not None else ():
            tokens = tuple((row["token"], row["class"]) for row in _rows(table, prompt=prompt))
            sizes = Counter(name for _, name in tokens)
            legend = tuple(
                Colour(name, colours.get(name, _PLAIN), count(sizes[name], "token"))
                for name in dict.fromkeys((*names, *sizes))
            )
            again = f" of {label}" if any(prompt == known for known, _ in texts) else ""
            title = f"Prompt {prompt}: {count(len(tokens), 'token')}{again}"
            texts.setdefault((prompt, tokens), _coloured(title, tokens, legend))
    return list(texts.values())


def _class_colours(names: Sequence[str], saved: SavedResults) -> dict[str, str]:
    """As the charts were drawn; more classes than colours begin with the first colour again."""
    style = saved.figures[0].style
    palette = style.colours
    try:
        colours = class_colours(names, palette)
    except SelectionError:
        colours = {n: palette.classes[i % len(palette.classes)] for i, n in enumerate(names)}
    return style.tinted(colours)


def _by_part(saved: SavedResults) -> list[ColouredText]:
    """The prompts with what was inserted, one text per version."""
    texts = []
    for label, provenance in saved.models.items():
        table = saved.model_table("places", label)
        if table is None:
            continue
        of_model = f", {label}" if len(saved.models) > 1 else ""
        conditions = [c for c in dict.fromkeys(table["condition"].to_pylist()) if c != WITHOUT]
        ids = list(dict.fromkeys(table["prompt"].to_pylist()))
        order = [one for one in dict.fromkeys(_ids(provenance)) if one in ids] or ids
        for prompt, condition in product(order[:SHOWN], conditions[:VERSIONS]):
            rows = _rows(table, prompt=prompt, condition=condition)
            if not rows:
                continue
            sizes = Counter(row["part"] for row in rows)
            legend = tuple(
                Colour(part, colour, f"{count(sizes[part], 'token')}, {note}")
                for part, (colour, note) in _PARTS.items()
                if sizes[part]
            )
            title = f"Prompt {prompt} with “{condition}”{of_model}: {count(len(rows), 'token')}"
            tokens = tuple((row["token"], row["part"]) for row in rows)
            texts.append(_coloured(title, tokens, legend))
    return texts


def _coloured(
    label: str, tokens: tuple[tuple[str, str], ...], legend: tuple[Colour, ...]
) -> ColouredText:
    shown = tuple((visible(text), name) for text, name in tokens[:TOKENS])
    return ColouredText(label, shown, legend, max(0, len(tokens) - TOKENS))


def visible(token: str) -> str:
    """Line ends and control characters as marks; spaces show by their colour."""
    return "".join(_VISIBLE.get(c) or (c if c.isprintable() else ascii(c)[1:-1]) for c in token)


def _rows(table: pa.Table, **where: str) -> list[dict[str, Any]]:
    """The rows of a prompt, by position."""
    import pyarrow.compute as pc

    for column, value in where.items():
        table = table.filter(pc.equal(table[column], value))
    rows: list[dict[str, Any]] = table.sort_by("position").to_pylist()
    return rows


# ---- origin


def origin(saved: SavedResults) -> list[Block]:
    """What made the numbers, said once where all models agree; then each model."""
    models = list(saved.models.values())
    first, study = models[0], saved.manifest.get("study", {})
    runs = [provenance.get("run", {}) for provenance in models]
    spent = [run["wall_seconds"] for run in runs if run.get("wall_seconds")]
    items = (
        ("Study", str(study.get("hash") or first["study_hash"])),
        ("Command", str(study.get("command") or "")),
        ("Prompts", count(len(set(_ids(first))), "prompt")),
        ("Seed of the resampling", saved.about("seed")),
        ("Resamples", saved.about("resamples")),
        ("Kernels", ", ".join(dict.fromkeys(k for run in runs for k in run.get("kernels", ())))),
        ("Time to measure", f"{sum(spent):.0f} s" if spent else ""),
        ("Results", saved.path.name),
    )
    versions = tuple((str(name), str(value)) for name, value in first.get("versions", {}).items())
    cards = [part for label in saved.models for part in _model(saved, label)]
    return [_pairs(items), Details("Versions of the software", (Pairs(versions),)), *cards]


def _pairs(items: Sequence[tuple[str, str]]) -> Pairs:
    return Pairs(tuple((name, value) for name, value in items if value))


def _model(saved: SavedResults, label: str) -> Iterator[Block]:
    """What is known of one model, and the card of an adapter that comes with mindshare."""
    provenance, summary = saved.models[label], saved.summary
    model, run = provenance["model"], provenance.get("run", {})
    rows = zip(summary["model"].to_pylist(), summary["head"].to_pylist(), strict=True)
    heads = {head for name, head in rows if name == label and head is not None}
    items = (
        ("Model", f"{label}: {model['name']}" if model["name"] != label else label),
        ("Loaded as", Path(model["reference"]).name if model["reference"] != model["name"] else ""),
        ("Adapter", _adapter(model.get("adapter"))),
        ("Fingerprint of the weights", str(model["fingerprint"])),
        ("Arithmetic", f"{model['dtype']} on {model['device']}"),
        ("Layers", _layers(model, run)),
        ("Heads measured one by one", str(len(heads)) if heads else ""),
        ("Checked against eager attention", _checked(run)),
    )
    yield _pairs(items)
    text = shipped_card(str(model["name"])) or shipped_card(str(model["reference"]))
    if text:
        yield Details(f"Model card of {label}", (Code(text, "markdown"),))


def _layers(model: Mapping[str, Any], run: Mapping[str, Any]) -> str:
    seen, total = run.get("layers_seen") or [], model.get("layers")
    if total and len(seen) == total:
        return f"{total}, all of them measured"
    words = f"{len(seen)} measured ({layer_ranges(seen)})" if seen else ""
    return f"{total}; {words}" if total and words else words


def _checked(run: Mapping[str, Any]) -> str:
    verdict = run.get("self_check") or {}
    checks = verdict.get("checks") or []
    if not checks:
        return ""
    weight = max(check["eager_error"] for check in checks)
    mass = max(check["kernel_error"] for check in checks)
    return (
        f"agrees in one layer of each kind ({layer_ranges([check['layer'] for check in checks])}): "
        f"weights to {weight:.1g} of themselves, masses to {mass:.1g} ({verdict['tokens']} tokens)"
    )


def _adapter(adapter: Any) -> str:
    if isinstance(adapter, Mapping):
        return ", ".join(f"{key} {value}" for key, value in adapter.items() if value is not None)
    return Path(str(adapter)).name if adapter else ""  # not where it is on some machine


def shipped_card(name: str) -> str | None:
    """The card of an adapter that comes with mindshare."""
    if not re.fullmatch(r"[\w-][\w.-]*", name):
        return None
    card = files("mindshare") / "adapters" / name / "README.md"
    return card.read_text(encoding="utf-8") if card.is_file() else None


# ---- make it again


def again(saved: SavedResults, *, number: int | None = None) -> list[Block]:
    """The study file and the one command; `number` keeps the files of several results apart."""
    if saved.study is None:
        return _without_file(saved)
    names = [numbered(name, number) for name in (STUDY, PROMPTS)]
    study = saved.study.replace(f'"{PROMPTS}"', f'"{names[1]}"')
    parts: list[Block] = [
        Paragraph("Save the study file and its prompts in one folder, and run in it:"),
        Code(f"mindshare run {names[0]} --out results/again", "sh"),
        Paragraph(f"{names[0]}:"),
        Code(study, "toml"),
        Attached(names[0], study),
    ]
    if saved.prompts is not None and len(saved.prompts) <= _ATTACHED:
        return [*parts, Attached(names[1], saved.prompts)]
    where = (
        f"The prompts are in {PROMPTS} in the folder {saved.path.name}; save them as {names[1]}."
    )
    return [*parts, Paragraph(where)]


def _without_file(saved: SavedResults) -> list[Block]:
    """The command where there was one, and every field of the study as it is hashed."""
    command = saved.manifest.get("study", {}).get("command")
    made: list[Block] = [Paragraph("These results were made in Python, without a study file.")]
    if command:
        made = [Paragraph("Run:"), Code(str(command), "sh")]
    fields = saved.study_definition.items()
    pairs = tuple((name, json.dumps(value, ensure_ascii=False)) for name, value in fields)
    return [*made, Details("The definition of what was measured", (Pairs(pairs),))]


def numbered(name: str, number: int | None) -> str:
    """study.toml → study-2.toml"""
    stem, dot, ending = name.partition(".")
    return name if number is None else f"{stem}-{number}{dot}{ending}"
