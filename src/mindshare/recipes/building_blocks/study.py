"""Does fine-tuning on maps change where a model looks? The whole study, from maps to sentences.

    held-out maps ─► base and tuned model, measured ─► charts, tables ─► what changed, in words

The question: does the tuned model keep looking at the maps in the middle layers? Asked of the last
token, where the answer is decided; every difference is paired by map, with a 95 % interval.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindshare.charts.candidates import Loading, candidates
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
from mindshare.study import Study, build_study

if TYPE_CHECKING:
    import pyarrow as pa

GLYPHS = {"hash": "#@maps", "star": "*@maps", "space": "whitespace@maps"}
SEGMENTS = {"system": "span:system", "maps": "span:maps"}
WORDS = {"hash": "# (hash)", "star": "* (star)", "space": "whitespace"}
QUERIES = "last"
# The original chart shows these layers of a model of 28; its middle ones are 16 and 20.
ORIGINAL, ORIGINAL_LAYERS = (0, 16, 20, 27), 28


def run_study(
    base: str,
    tuned: str,
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
    report = _counted(4 * n, progress)  # two models, two ways to class the tokens
    glyphs = compare(models, maps, _study(GLYPHS), progress=report)
    parts = compare(models, maps, _study(SEGMENTS), progress=report)
    findings = _findings(glyphs, parts, layers)
    said = [*sentences(findings), *glyphs.notes]
    save_figures(
        _figures(parts, findings),
        out,
        tables=findings.tables() | _for_reports(glyphs, findings),
        manifest={
            "findings": said,
            "notes": list(glyphs.notes),
            "models": glyphs.provenance(),
            "segments": parts.provenance(),
            "study": {"hash": _study(GLYPHS).hash},
        },
        replace=replace,
    )
    return said


def _for_reports(glyphs: Comparison, found: Findings) -> dict[str, pa.Table]:
    """The seed's chart under the names that every class chart has."""
    own = {
        f"{name}_{file_word(label)}": one.table(name)
        for name in ("tokens", "classes")
        for label, one in glyphs.measurements.items()
    }
    pair = f"{file_word(found.tuned)}_minus_{file_word(found.base)}"
    return {"summary": found.by_glyph, pair: found.by_glyph_change, **own}


def _study(classes: dict[str, str]) -> Study:
    return build_study(classes=classes, measures="mass", queries=QUERIES)


def _counted(total: int, progress: Callable[[int, int], None] | None) -> Progress | None:
    """Prompts of this model or that become one count of passes."""
    if progress is None:
        return None
    passes = count()

    def report(_label: str, done: int, _total: int) -> None:
        if done:
            progress(next(passes) + 1, total)

    return report


def same_depth(layers: int) -> tuple[int, ...]:
    """The layers of a model at the relative depths of the original chart's."""
    return tuple(round(one / (ORIGINAL_LAYERS - 1) * (layers - 1)) for one in ORIGINAL)


def _findings(glyphs: Comparison, parts: Comparison, layers: tuple[int, ...]) -> Findings:
    base, tuned = parts.measurements
    middle = range(layers[1], layers[2] + 1)

    def over_heads(found: Comparison) -> dict[str, pa.Table]:
        return {label: averaged(mass) for label, mass in found.masses.items()}

    in_middle = {label: averaged(mass, layers=middle) for label, mass in parts.masses.items()}
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
        by_head_change=contrast(parts.masses, a=base, b=tuned),
    )


def _figures(parts: Comparison, found: Findings) -> list[Figure]:
    about = {
        "heads": f"mean of {_head_count(parts)} heads",
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
            ClassBarsOptions(name="system_or_maps", width="page", class_order=tuple(SEGMENTS)),
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
