"""Does fine-tuning on maps change where a model looks? The whole study, from maps to sentences.

    held-out maps ─► base and tuned model, measured ─► charts, tables ─► what changed, in words

The question: does the tuned model keep looking at the maps in the middle layers? Asked of the last
token, where the answer is decided; every difference is paired by map, with a 95 % interval.

Each map is measured once, in classes that both charts are sums of: mass is linear in the keys, so
the mass of the maps is the sum of that of their glyphs, up to the last digit.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from mindshare.api.candidates import Candidate, Loading, candidates
from mindshare.api.charts import Chart
from mindshare.api.comparison import Comparison, ModelProgress, compare
from mindshare.facts.cells import Key, charts_of
from mindshare.facts.find import claims, contrasted, facts_of
from mindshare.facts.sentences import Sentence, sentence
from mindshare.facts.words import count
from mindshare.figures import (
    ClassBarsOptions,
    Figure,
    HeadMapOptions,
    LineOptions,
    class_bars,
    head_map,
    layer_lines,
)
from mindshare.figures.colours import PALETTES, class_colours
from mindshare.naming import file_word, layer_ranges
from mindshare.stats import averaged, contrast, estimate
from mindshare.study import Study, build_study, encode_for
from mindshare.tables import class_measures, metadata, table
from mindshare.tokens import classify, parse_classes
from mindshare_recipes.maps import prompt, samples

if TYPE_CHECKING:
    from mindshare.models import LoadedModel
    from mindshare.prompts import Prompt

GLYPHS = {"hash": "#@maps", "star": "*@maps", "space": "whitespace@maps"}
GLYPH_LABELS = {"hash": "# (hash)", "star": "* (star)", "space": "whitespace"}
SEGMENTS = {"system": "span:system", "maps": "span:maps"}  # that have no token in common
REST = "rest"  # of the maps: tokens that are no glyph
# How the measured classes add up to the classes of each chart.
BY_GLYPH = {name: (name,) for name in GLYPHS}
BY_SEGMENT = {"maps": (*GLYPHS, REST), "system": ("system",)}
# The original chart shows these layers of a model of 28; its middle ones are 16 and 20.
ORIGINAL, ORIGINAL_LAYERS = (0, 16, 20, 27), 28


def run_study(
    base: str | LoadedModel,
    tuned: str | LoadedModel,
    *,
    out: Path,
    n: int,
    replace: bool = False,
    progress: ModelProgress | None = None,
) -> list[str]:
    """Measure `n` held-out maps, draw and save; the findings as sentences."""
    maps = [prompt(sample) for sample in samples("test", n)]
    models = candidates([base, tuned], Loading())
    study = _study(classes_in(models, maps))
    measured = compare(models, maps, study, progress=progress)
    notes = [note for note in measured.notes if repr(REST) not in note]  # no class of the reader's
    layers = same_depth(models[0].facts.layers)
    middle = range(layers[1], layers[2] + 1)
    tables = tables_of(measured, middle)
    findings = [*sentences(tables, middle), *notes]
    names = [str(getattr(model.model, "reference", model.model)) for model in models]
    command = ["mindshare-recipes", "building-blocks", "study", "--n", str(n)]
    command += ["--base", names[0], "--tuned", names[1]]
    saved = tables | measured.files("tokens", "classes")
    heads = models[0].facts.heads
    figures = _figures(tables, tables[_pair(*measured.measurements)], layers, heads=heads)
    chart = Chart(tuple(figures), saved, measured.measurements, tuple(notes), tuple(findings))
    chart.save(out, replace=replace, command=shlex.join(command))
    return findings


def _study(classes: dict[str, str]) -> Study:
    return build_study(classes=classes, measures="mass", queries="last")


def classes_in(models: Sequence[Candidate], maps: Sequence[Prompt]) -> dict[str, str]:
    """The classes to measure: glyphs, system prompt, and the rest of the maps if there is any."""
    rules = parse_classes(dict(GLYPHS | {REST: SEGMENTS["maps"]}))
    classed = (classify(encode_for(m.tokenizer, each), rules) for m in models for each in maps)
    has_rest = any(one.weights[:, one.names.index(REST)].any() for one in classed)
    rest = {REST: SEGMENTS["maps"]} if has_rest else {}
    return {**GLYPHS, "system": SEGMENTS["system"], **rest}


def same_depth(layers: int) -> tuple[int, ...]:
    """The layers of a model at the relative depths of the original chart's."""
    return tuple(round(layer / (ORIGINAL_LAYERS - 1) * (layers - 1)) for layer in ORIGINAL)


# Tables.


def tables_of(measured: Comparison, middle: range) -> dict[str, pa.Table]:
    """The study's tables by name; each contrast is tuned minus base, paired by map.

    Those of the original chart have the names that every class chart has.
    """
    base, tuned = measured.measurements
    glyphs, segments = (
        {
            label: regrouped(mass, groups, _study(rules))
            for label, mass in measured.tables("mass").items()
        }
        for groups, rules in ((BY_GLYPH, GLYPHS), (BY_SEGMENT, SEGMENTS))
    )
    glyphs = {label: averaged(mass) for label, mass in glyphs.items()}
    over_heads = {label: averaged(mass) for label, mass in segments.items()}
    in_middle = {label: averaged(mass, layers=middle) for label, mass in segments.items()}
    return {
        "summary": estimate(glyphs),
        _pair(base, tuned): contrast(glyphs, a=base, b=tuned),
        "by_part": estimate(over_heads, "share"),
        "by_part_change": contrast(over_heads, a=base, b=tuned),
        "in_the_middle": contrast(in_middle, a=base, b=tuned),
        "by_head_change": contrast(segments, a=base, b=tuned),
    }


def _pair(base: str, tuned: str) -> str:
    return f"{file_word(tuned)}_minus_{file_word(base)}"


def regrouped(mass: pa.Table, groups: Mapping[str, Sequence[str]], study: Study) -> pa.Table:
    """A mass table whose classes are added up to `groups`, as `study` would have measured it.

    Classes that are in no group become `other`.
    """
    names = [*groups, "other"]
    group_of = {old: i for i, members in enumerate(groups.values()) for old in members}
    classes = mass["class"].to_pylist()
    # The rows of one cell (prompt, queries, layer, head) follow each other, first class first.
    first = np.array([name == classes[0] for name in classes])
    cell = np.cumsum(first) - 1
    row = cell * len(names) + [group_of.get(name, len(groups)) for name in classes]

    def sums(column: str) -> np.ndarray:
        """[cell, group]; a learned sink has no tokens, which is null."""
        numbers = np.nan_to_num(mass[column].to_numpy().astype(np.float64))
        return np.bincount(row, numbers, first.sum() * len(names)).reshape(-1, len(names))

    total, expected, tokens = sums("mass"), sums("expected"), sums("n_tokens")
    numbers = class_measures(total, expected, tokens, total[:, :-1].sum(1, keepdims=True))
    numbers["share"][:, -1] = np.nan  # `other` was not named
    numbers["n_tokens"] = tokens
    keys = mass.take(np.repeat(np.flatnonzero(first), len(names)))
    about = metadata(mass) | {
        "mindshare.study": study.hash,
        "mindshare.definition": json.dumps(study.to_dict(), sort_keys=True),
    }
    columns = {name: keys[name].combine_chunks() for name in keys.column_names}
    columns |= {"class": names * len(total)}
    return table("mass", columns | {k: x.reshape(-1) for k, x in numbers.items()}, about)


# Sentences, each made from the facts of the tables.


def sentences(tables: Mapping[str, pa.Table], middle: range) -> list[str]:
    """How it was done, the answer in the middle layers, then what changed by layer and head."""
    asked = tables["in_the_middle"]
    base, tuned = asked["model_a"][0].as_py(), asked["model_b"][0].as_py()
    (n,) = set(asked["n_prompts"].to_pylist())
    few = asked["low"].null_count == asked.num_rows
    paired = "nothing can be told from chance" if few else "differences are paired by map"
    method = f"{count(n, 'held-out map')}; attention of the last token, mean over heads; {paired}."
    changes = {
        "by_part_change": ("maps", "system"),
        _pair(base, tuned): ("hash", "star", "space"),
        "by_head_change": ("maps",),
    }
    lines = [method, _answer(asked, Key("mass", tuned, token_class="maps", against=base), middle)]
    for name, classes in changes.items():
        facts = claims(facts_of(charts_of({name: tables[name]})[0]))
        changed = [fact for fact in facts if fact.kind == "change"]
        lines += [sentence(fact) for fact in changed if fact.subject.token_class in classes]
    return lines


def _answer(asked: pa.Table, key: Key, middle: range) -> Sentence:
    """What the maps get in the middle layers, whether or not it differs."""
    numbers = charts_of({"in_the_middle": asked})[0]
    facts = [fact for fact in facts_of(numbers) if fact.subject == key]
    answer = sentence(facts[0] if facts else contrasted(key, numbers.cells[key]))
    starts_with_name = answer.startswith(key.model)
    text = answer if starts_with_name else answer[0].lower() + answer[1:]
    return Sentence(f"Averaged over layers {layer_ranges(middle)}, {text}", answer.numbers)


# Figures.


def _figures(
    tables: Mapping[str, pa.Table], glyph_change: pa.Table, layers: Sequence[int], *, heads: int
) -> list[Figure]:
    about = {"heads": f"mean of {heads} heads", "data": "held-out maps, one action each"}
    # As in the original: whitespace at the bottom, hash on top.
    glyphs: dict[str, Any] = {"class_order": tuple(reversed(GLYPHS)), "label": GLYPH_LABELS}
    shown = tuple(dict.fromkeys(layers))  # a shallow model may have one layer for two depths
    original = ClassBarsOptions(name="shares", layers=shown, **glyphs)
    every = ClassBarsOptions(name="shares_all_layers", width="page", **glyphs)
    segments = ClassBarsOptions(
        name="system_or_maps",
        width="page",
        class_order=tuple(SEGMENTS),  # the maps on top: theirs is the share that is drawn
        first_colour=len(GLYPHS),  # other classes, other colours
        title="The maps' share of what maps and system prompt get, by layer",
    )
    colours = class_colours([*GLYPHS, *SEGMENTS], PALETTES["seed"])
    by_layer = LineOptions(
        name="change_by_layer", width="page", classes=tuple(BY_SEGMENT), colour=colours
    )
    change = HeadMapOptions(name="heads_maps_change")
    return [
        class_bars(tables["summary"], original, contrast=glyph_change, about=about),
        class_bars(tables["summary"], every, contrast=glyph_change, about=about),
        layer_lines(tables["by_part_change"], options=by_layer, about=about),
        class_bars(tables["by_part"], segments, about=about),
        head_map(tables["by_head_change"], "maps", change, about=about),
    ]
