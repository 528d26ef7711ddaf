"""Does fine-tuning on maps change where a model looks? The whole study, from maps to sentences.

    held-out maps ─► base and tuned model, measured ─► charts, tables ─► what changed, in words

The question: does the tuned model keep looking at the maps in the middle layers? Asked of the last
token, where the answer is decided; every difference is paired by map, with a 95 % interval.

Each map is measured once, in classes that both questions are sums of: mass is linear in the keys,
so what the maps get is what their glyphs get, the same but for the last digit as if it were asked.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mindshare.charts.candidates import Candidate, Loading, candidates
from mindshare.charts.comparison import Comparison, Progress, compare
from mindshare.figures import (
    ClassBarsOptions,
    Figure,
    HeadMapOptions,
    class_bars,
    head_map,
    save_figures,
)
from mindshare.naming import file_word
from mindshare.recipes.building_blocks.rows import prompt
from mindshare.recipes.building_blocks.samples import samples
from mindshare.recipes.building_blocks.words import Findings, sentences
from mindshare.stats import averaged, contrast, summarise
from mindshare.study import Study, build_study, encode_for
from mindshare.table import table
from mindshare.tokens import classify, parse_classes

if TYPE_CHECKING:
    from mindshare.models import LoadedModel
    from mindshare.prompts import Prompt

GLYPHS = {"hash": "#@maps", "star": "*@maps", "space": "whitespace@maps"}
SEGMENTS = {"system": "span:system", "maps": "span:maps"}  # that have no token in common
REST = "rest"  # of the maps: tokens that are no glyph
WORDS = {"hash": "# (hash)", "star": "* (star)", "space": "whitespace"}
QUERIES = "last"
# The original chart shows these layers of a model of 28; its middle ones are 16 and 20.
ORIGINAL, ORIGINAL_LAYERS = (0, 16, 20, 27), 28


def run_study(
    base: str | LoadedModel,
    tuned: str | LoadedModel,
    *,
    out: Path,
    n: int,
    replace: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> list[str]:
    """Measure, draw, save; what was found, in sentences. `progress`: passes done, in all."""
    maps = [prompt(sample) for sample in samples("test", n)]
    models = candidates([base, tuned], Loading())
    layers = same_depth(models[0].facts.layers)
    study = _study(_classes(models, maps))
    measured = compare(models, maps, study, progress=_counted(2 * n, progress))
    notes = [note for note in measured.notes if repr(REST) not in note]  # no rule of the reader's
    findings = _findings(measured, layers)
    said = [*sentences(findings), *notes]
    save_figures(
        _figures(measured, findings),
        out,
        tables=_tables(measured, findings),
        manifest={
            "findings": said,
            "notes": notes,
            "models": measured.provenance(),
            "study": {"hash": study.hash, "command": _command(models, n)},
        },
        replace=replace,
    )
    return said


def _command(models: Sequence[Candidate], n: int) -> str:
    base, tuned = (str(getattr(one.model, "reference", one.model)) for one in models)
    words = ["mindshare-recipes", "building-blocks", "study", "--n", str(n)]
    return shlex.join([*words, "--base", base, "--tuned", tuned])


def _classes(models: Sequence[Candidate], maps: Sequence[Prompt]) -> dict[str, str]:
    """The glyphs, whatever else a tokenizer leaves in the maps, and the system prompt."""
    rules = parse_classes(dict(GLYPHS | {REST: SEGMENTS["maps"]}))
    classed = (classify(encode_for(one.reader, each), rules) for one in models for each in maps)
    left = any(one.weights[:, one.names.index(REST)].any() for one in classed)
    rest = {REST: SEGMENTS["maps"]} if left else {}
    return {**GLYPHS, "system": SEGMENTS["system"], **rest}


def _tables(measured: Comparison, found: Findings) -> dict[str, pa.Table]:
    """The study's tables; the seed's chart has the names that every class chart has."""
    own = {
        f"{name}_{file_word(label)}": one.table(name)
        for name in ("tokens", "classes")
        for label, one in measured.measurements.items()
    }
    pair = f"{file_word(found.tuned)}_minus_{file_word(found.base)}"
    seeds = {"summary": found.by_glyph, pair: found.by_glyph_change}
    others = {
        n: t for n, t in found.tables().items() if not any(t is one for one in seeds.values())
    }
    return {**seeds, **others, **own}


def regrouped(mass: pa.Table, groups: Mapping[str, Sequence[str]], study: Study) -> pa.Table:
    """Classes added up to larger ones, as this study would have them; the rest is `other`."""
    new = {old: name for name, olds in groups.items() for old in olds}
    names = pa.array([new.get(one, "other") for one in mass["class"].to_pylist()])
    key = ("prompt", "queries", "layer", "head", "class")
    sums = ("mass", "expected", "n_tokens")
    renamed = mass.set_column(mass.column_names.index("class"), "class", names)
    for name in sums:
        column = renamed[name].cast(pa.float64())
        renamed = renamed.set_column(renamed.column_names.index(name), name, column)
    wanted = [*((name, "sum") for name in sums), ("n_queries", "max")]
    grouped = renamed.group_by(list(key), use_threads=False).aggregate(wanted)  # rows keep order
    found = {name: grouped[name].combine_chunks() for name in key}
    numbers = {name: grouped[f"{name}_sum"].to_numpy() for name in sums}
    about = {k.decode(): v.decode() for k, v in (mass.schema.metadata or {}).items()}
    about |= {"mindshare.study": study.hash}
    about |= {"mindshare.definition": json.dumps(study.to_dict(), sort_keys=True)}
    ratios = _ratios(numbers, found)
    columns = {**found, **numbers, **ratios, "n_queries": grouped["n_queries_max"].combine_chunks()}
    return table("mass", columns, about)


def _ratios(numbers: Mapping[str, np.ndarray], key: Mapping[str, pa.Array]) -> dict[str, Any]:
    """Share, density and lift, made from the sums."""
    named = pc.not_equal(key["class"], "other").to_numpy(zero_copy_only=False)
    cells = list(zip(*(key[n].to_pylist() for n in list(key)[:-1]), strict=True))
    place = {cell: i for i, cell in enumerate(dict.fromkeys(cells))}
    cell = np.array([place[one] for one in cells])
    mass = numbers["mass"]
    total = np.bincount(cell, weights=np.where(named, mass, 0.0))[cell]
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "share": np.where(named & (total > 0), mass / total, np.nan),
            "density": np.where(numbers["n_tokens"] > 0, mass / numbers["n_tokens"], np.nan),
            "lift": np.where(numbers["expected"] > 0, mass / numbers["expected"], np.nan),
        }


def _study(classes: dict[str, str]) -> Study:
    return build_study(classes=classes, measures="mass", queries=QUERIES)


def _counted(total: int, progress: Callable[[int, int], None] | None) -> Progress | None:
    """Prompts of this model or that become one count."""
    if progress is None:
        return None
    each: dict[str, int] = {}

    def report(label: str, done: int, _total: int) -> None:
        each[label] = done
        if done:
            progress(sum(each.values()), total)

    return report


def same_depth(layers: int) -> tuple[int, ...]:
    """The layers of a model at the relative depths of the original chart's."""
    return tuple(round(one / (ORIGINAL_LAYERS - 1) * (layers - 1)) for one in ORIGINAL)


def _findings(measured: Comparison, layers: tuple[int, ...]) -> Findings:
    base, tuned = measured.measurements
    middle = range(layers[1], layers[2] + 1)
    glyphs, parts = _by_glyph(measured), _by_part(measured)

    def over_heads(found: dict[str, pa.Table]) -> dict[str, pa.Table]:
        return {label: averaged(mass) for label, mass in found.items()}

    in_middle = {label: averaged(mass, layers=middle) for label, mass in parts.items()}
    return Findings(
        base=base,
        tuned=tuned,
        layers=tuple(dict.fromkeys(layers)),  # a shallow model may have one for two
        middle=middle,
        by_glyph=summarise(over_heads(glyphs)),
        by_glyph_change=contrast(over_heads(glyphs), a=base, b=tuned),
        by_part=summarise(over_heads(parts), measure="share"),
        by_part_change=contrast(over_heads(parts), a=base, b=tuned),
        in_the_middle=contrast(in_middle, a=base, b=tuned),
        by_head_change=contrast(parts, a=base, b=tuned),
    )


def _by_glyph(measured: Comparison) -> dict[str, pa.Table]:
    own = {name: (name,) for name in GLYPHS}
    study = _study(GLYPHS)
    return {label: regrouped(mass, own, study) for label, mass in measured.masses.items()}


def _by_part(measured: Comparison) -> dict[str, pa.Table]:
    parts = {"system": ("system",), "maps": (*GLYPHS, REST)}
    study = _study(SEGMENTS)
    return {label: regrouped(mass, parts, study) for label, mass in measured.masses.items()}


def _figures(measured: Comparison, found: Findings) -> list[Figure]:
    about = {
        "heads": f"mean of {_head_count(measured)} heads",
        "data": "held-out maps, one action each",
    }
    # As in the original: whitespace at the bottom, hash on top.
    bars: dict[str, Any] = {"class_order": tuple(reversed(GLYPHS)), "class_labels": WORDS}
    return [
        class_bars(
            found.by_glyph,
            ClassBarsOptions(name="shares", layers=found.layers, **bars),
            about=about,
        ),
        class_bars(
            found.by_glyph,
            ClassBarsOptions(name="shares_all_layers", width="page", **bars),
            about=about,
        ),
        class_bars(
            found.by_part,
            ClassBarsOptions(
                name="system_or_maps",
                width="page",
                class_order=tuple(reversed(SEGMENTS)),  # the first on top, as above
                first_colour=len(GLYPHS),  # other classes, other colours
                title="Share of the system prompt and of the maps, by layer",
            ),
            about=about,
        ),
        head_map(
            found.by_head_change, "maps", HeadMapOptions(name="heads_maps_change"), about=about
        ),
    ]


def _head_count(found: Comparison) -> int:
    """How many heads were averaged."""
    heads = next(iter(found.masses.values()))["head"].to_pylist()
    return len(set(heads))
