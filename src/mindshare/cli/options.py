"""What is measured, with which model, how it looks, where it runs and where results go.

A field of a group is an option of each command that takes the group, and a field of its study
files. Most are keywords of the function behind the command, as it takes them or as they are parsed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindshare.cli.groups import Group, argument, option
from mindshare.cli.sources import GivenSource
from mindshare.cli.values import (
    heads_by_model,
    heads_to_hide,
    pairs,
    parse_selection,
    points,
    resampling,
    response_maps,
    single_layers,
    words,
)
from mindshare.errors import SelectionError
from mindshare.measures import MEASURES, at_level, of_knockouts

if TYPE_CHECKING:
    from mindshare.api.candidates import Loading

# The panels of the help. Options stand there in the order of the groups that a command names.
INSERT, WHAT = "What is inserted", "What to measure"
MODEL, LOOK = "The model", "How it looks"
WHERE, RESULTS = "Where it runs", "Results"

_OTHERS = ("insertion", "effect")  # statistics of other studies
STATISTICS = dict.fromkeys(m.statistic for m in MEASURES.values() if m.statistic not in _OTHERS)
ONE_MODEL = "'smollm2' (embedded), a hub id, a folder, a .gguf file, or a PEFT adapter folder."
RANGES = "0,5-9|mean|all"
QUERIES = "Which tokens are asked where they look: all, last, span:NAME, class:NAME or after:SPAN"


# ── options that several groups have ──────────────────────────────────────────────────────────────

_LAYERS = option("all", "Which layers.", metavar=RANGES, parse=parse_selection)
_CHUNK_TOKENS = option(
    None,
    "Feed the prompt in pieces of N tokens: less memory; pieces that several prompts begin with "
    "are computed once.",
    min=1,
    panel=MODEL,
)
_TOP = option(
    None,
    "The N heads, or layers, that change most: listed for two models (default: 5), drawn for an "
    "insertion (default: 3 if no heads are named).",
    min=1,
)
_LIKE = option(
    None,
    "Draw a published chart's own picture, and measure what it shows: seed-000 (shares), seed-003 "
    "or seed-004 (insert). Other options still win.",
    metavar="CHART",
)
ADAPTER = option(
    None,
    "A PEFT adapter to merge into the model, or into each.",
    metavar="PATH",
    panel=MODEL,
    role="command",
)
TRUST = option(False, "Run Python code that comes with the model.", role="trust", panel=MODEL)
AS_JSON = option(False, "Print JSON, for programs.", flags=("--json",))
FORMATS = option(
    None,
    "Of each figure: png, svg, pdf, csv, html (a page with tooltips), parquet, json (Vega-Lite); "
    "by comma. (default: png,svg,pdf,csv)",
    metavar="WORDS",
    panel=RESULTS,
    role="apart",
)


# ── what to measure ───────────────────────────────────────────────────────────────────────────────


class ClassOptions(Group):
    class_: tuple[str, ...] = option(
        (),
        "A token class, repeatable; the first that matches wins. RULE: characters (#*), "
        "whitespace, newline, punctuation, digit, letter, special, bos, first, role:NAME, "
        "span:NAME, chars:ABC, re:PATTERN, ids:1,2; RULE@SPAN restricts it to a span.",
        metavar="NAME=RULE",
        keyword="classes",
    )
    policy: str = option(
        "priority", "How a token of mixed characters counts: priority, pure or proportional."
    )


class MeasureStudy(ClassOptions, panel=WHAT):
    """What `measure` measures: keywords of `build_study`."""

    chunk_tokens: int | None = _CHUNK_TOKENS
    layers: str = _LAYERS
    measure: tuple[str, ...] = option(
        (),
        f"{', '.join(STATISTICS)}; by comma, or repeated. (default: mass,received)",
        metavar="WORDS",
        keyword="measures",
        parse=lambda texts, flag: words(texts, flag) or None,
    )
    heads: str = option("all", "Which query heads.", metavar=RANGES, parse=parse_selection)
    queries: tuple[str, ...] = option((), f"{QUERIES}; repeatable. (default: all)", metavar="SET")
    near: int | None = option(
        None, "'received' leaves out each key's N nearest queries. (default: 0)", min=0
    )
    include_diagonal: bool = option(False, "'received' counts what a token gives itself.")

    def keywords(self) -> dict[str, Any]:
        chosen = super().keywords()
        if not chosen.pop("include_diagonal", False):
            return chosen
        if "near" in chosen:
            raise SelectionError(
                f"--near {self.near} and --include-diagonal are given together",
                allowed="one of them",
            )
        return chosen | {"near": -1}


class ChartStudy(ClassOptions, panel=WHAT):
    """What a chart of token classes shows."""

    top: int | None = _TOP
    layers: str = _LAYERS
    measure: str = option(
        "mass",
        f"Of a class: {', '.join(at_level('class'))}; of a head, without one: "
        f"{', '.join(at_level('head'))}.",
    )
    queries: str = option("all", f"{QUERIES}.", metavar="SET")
    absent: str = option(
        "left_out",
        "Prompts without a token of a class: left_out of its means, or zero (mass and share 0).",
        keyword="resampling",
        parse=resampling,
    )
    compare_heads: bool = option(
        False,
        "Compare models head by head though they are unrelated, and their head numbers mean "
        "nothing to one another.",
    )
    chunk_tokens: int | None = _CHUNK_TOKENS


class SharesStudy(ChartStudy, panel=WHAT):
    heads: str = option(
        "mean", "Their mean, all of them, or some.", metavar=RANGES, parse=parse_selection
    )
    like: str | None = _LIKE


class HeadMapStudy(ChartStudy, panel=WHAT):
    show: str | None = option(
        None, "The class to draw; needed if there are several.", metavar="NAME", keyword="cls"
    )


class PartsStudy(Group, panel=WHAT):
    layers: str = option(
        "all", "The layers that the mean is over.", metavar="0,5-9|all", parse=parse_selection
    )
    queries: str = option("last", f"{QUERIES}.", metavar="SET")
    chunk_tokens: int | None = _CHUNK_TOKENS


class InsertStudy(Group, panel=WHAT):
    """What is inserted, and which heads are looked at."""

    like: str | None = _LIKE
    top: int | None = _TOP
    layers: str = option("all", "Which layers.", metavar=RANGES, parse=single_layers)
    insert: tuple[str, ...] = option(
        (),
        "'/ *55' (a text 55 times), '/ *10,25,55', 'random-sentence*55', 'file:PATH' or any "
        "text; repeatable. (default: '/ *55')",
        metavar="WHAT",
        panel=INSERT,
    )
    at: tuple[str, ...] = option(
        (),
        "between (before the question: the span question, the last user message, or the whole "
        "text), start or end (of the first or last message), before:SPAN, after:SPAN, random "
        "(before any word); repeatable. (default: between)",
        metavar="PLACE",
        panel=INSERT,
    )
    against: str | None = option(
        None,
        "Compare with this in the same place; random-sentence has exactly as many tokens.",
        metavar="WHAT",
        panel=INSERT,
    )
    seed: int = option(0, "Of random places and sentences.", min=0, panel=INSERT)
    heads: tuple[str, ...] = option(
        (),
        "The heads to draw, such as 0.0,0.1,0.7; NAME:0.26 for one of several models, repeatable.",
        metavar="LAYER.HEAD,…",
        parse=heads_by_model,
    )
    by: str = option(
        "divergence",
        "What --top goes by: divergence, amplitude, shape, entropy_change, retained, …",
    )
    queries: str = option(
        "both",
        "Whose attention is averaged: both (what is compared, that of the original tokens; whole "
        "sequences with the insertion, that of all), all, or original.",
        metavar="SET",
    )
    near: int = option(
        0, "Leave out the nearest N queries of each token; -1 counts the token itself too.", min=-1
    )
    count_first: bool = option(
        False,
        "Count the first token in the response numbers; where heads rest on it, it drowns the "
        "others.",
    )
    chunk_tokens: int | None = _CHUNK_TOKENS


class KnockoutOptions(ClassOptions, panel=WHAT):
    """What is hidden from whom."""

    layers: str = _LAYERS
    measure: str = option("delta_logprob", f"What is drawn: {', '.join(of_knockouts())}.")
    answer: str = option(
        "given",
        "The answer that is looked at: given (the column answer of the data), another COLUMN of "
        "--data, greedy (what the model itself says), or greedy:5 (up to 5 tokens of it).",
        metavar="COLUMN|greedy",
    )
    choice: tuple[str, ...] = option(
        (),
        "An answer that the right one is told from, repeatable: accuracy among these. (default: "
        "the column choices)",
        metavar="TEXT",
        keyword="choices",
    )
    heads: str = option(
        "together",
        "All heads of a layer together, each by itself, or some by number; 17.4,18.6 are these "
        "heads (LAYER.HEAD) together and no others.",
        metavar="together|each|0,5-9|LAYER.HEAD,…",
        parse=heads_to_hide,
    )
    window: int = option(1, "Hide in K layers at once, around each layer.", min=1, metavar="K")
    how: str = option(
        "mask",
        "mask: the rest of the row is renormalised; zero: nothing is; sink: the prompt's first "
        "token gets what was taken away, also where a window hides it; mean: the class's mean "
        "output of all prompts takes its place.",
    )
    queries: str = option(
        "last",
        "From whom: last (token of the prompt), answer (it and the answer's tokens), later (every "
        "token after the class), all, span:NAME, class:NAME or after:SPAN.",
        metavar="SET",
    )
    screen: int = option(
        0,
        "With --heads each: estimate all effects from one pass and its gradient, and knock out "
        "only the N heads with the largest estimates and the N with the largest contribution. "
        "Estimates can be far off; knock-outs are exact. (default: knock out all)",
        min=0,
        metavar="N",
    )


# ── how it looks ──────────────────────────────────────────────────────────────────────────────────


class LookOptions(Group, panel=LOOK):
    """How a chart looks: fields of `mindshare.figures.Style`."""

    width: str | None = option(
        None,
        "In print: column (3.4in), page (7in), or a length such as 8.5cm or 3.4in. (default: what "
        "the chart needs)",
    )
    font_size: str | None = option(
        None,
        "Of the text in print, in points, from 6. (default: 9)",
        metavar="PT",
        parse=points,
    )
    title: str | None = option(
        None, "A title of your own; '' for none. (default: what stands out)", metavar="TEXT"
    )
    subtitle: str | None = option(
        None, "Below the title; '' for nothing. (default: a caption)", metavar="TEXT"
    )
    bare: bool = option(False, "Neither title nor subtitle.")
    y_title: str | None = option(
        None,
        "Of what is measured: the vertical axis, or the colours of a map.",
        metavar="TEXT",
    )
    label: tuple[str, ...] = option(
        (),
        "What a class, condition or model is called in the picture, such as hash='# (Hash)'; "
        "repeatable.",
        metavar="NAME=TEXT",
        parse=pairs,
    )
    colour: tuple[str, ...] = option(
        (),
        "Its colour, such as hash=#d62728; repeatable.",
        metavar="NAME=#RRGGBB",
        parse=pairs,
    )
    labels: str | None = option(
        None,
        "Count layers and heads zero-based or one-based: in pictures, their CSV, texts and "
        "reports; options and Parquet tables stay zero-based. (default: zero-based)",
    )
    palette: str | None = option(
        None,
        "seed (red, blue, grey, …) or safe (for colour-blind readers too). (default: seed)",
    )


class InsertLook(LookOptions, panel=LOOK):
    maps: str = option(
        "amplitude",
        "Response numbers to draw by layer and head: amplitude, shape, entropy_change, "
        "divergence, retained, affine_r2; by comma, all or none.",
        metavar="WORDS",
        parse=response_maps,
    )
    drop_first: bool = option(
        False, "Leave the first token, where many heads rest, out of the pictures."
    )
    show: str | None = option(
        None, "The prompt whose tokens are drawn. (default: the first)", metavar="ID"
    )


# ── which models, where they run, where results go ────────────────────────────────────────────────


class WriteOptions(Group, panel=RESULTS, role="apart"):
    """Where results go and how much is said: no part of a study."""

    out: Path | None = option(
        None,
        "The folder to write (default: results/NAME-HASH, the same for the same command).",
        metavar="DIR",
    )
    replace: bool = option(False, "Replace results that are there.")
    quiet: bool = option(False, "Print only where the results are.")


class RunOutput(WriteOptions, panel=RESULTS, role="apart"):
    progress: str = option(
        "auto",
        "How far it is, with --data: auto (a bar on a terminal), json (lines on stderr, for "
        "logs) or quiet.",
    )


class BackendChoice(Group, panel=WHERE, role="apart"):
    """Where models run: no part of a study, as every backend gives the same bytes."""

    on: str | None = option(
        None,
        "local (processes of this machine) or ray (a Ray cluster; pip install "
        "'mindshare\\[ray]'). (default: this process)",
        metavar="PLACE",
    )
    address: str | None = option(
        None,
        "Of a Ray cluster that runs already, or auto. (default: one is started here)",
        metavar="ADDRESS",
    )
    workers: int | None = option(
        None, "How many copies of the model. (default: what the machines hold)", min=1
    )


class WeightsOptions(Group, panel=MODEL, role="command"):
    """How weights are loaded, the same for every command that needs them."""

    adapter: str | None = ADAPTER
    dtype: str = option("float32", "float32, bfloat16 or float16.")
    device: str = option("cpu", "cpu, cuda, cuda:1, …")
    trust_remote_code: bool = TRUST


class ComputeOptions(
    GivenSource, WeightsOptions, RunOutput, BackendChoice, panel=RESULTS, role="apart"
):
    """How models are loaded, where they run and where results go: of all commands that measure."""

    save_study: Path | None = option(
        None,
        "Write what is asked for as a study file for `mindshare run`, and measure nothing.",
        metavar="FILE.toml",
    )

    def loading(self, *, progress: bool) -> Loading:
        from mindshare.api.candidates import Loading
        from mindshare.backends import BackendOptions

        backend = None  # this process
        if self.on or self.address or self.workers:
            backend = BackendOptions(self.on or "local", self.address, self.workers)
        return Loading(
            dtype=self.dtype,
            device=self.device,
            adapter=self.adapter,
            trust_remote_code=self.trust_remote_code,
            progress=progress,
            backend=backend,
        )


class MeasureOptions(ComputeOptions, panel=RESULTS, role="command"):
    model: str = argument("MODEL", ONE_MODEL)
    full: bool = option(False, "Print every layer and class, not only a few.")


class ChartOptions(ComputeOptions):
    formats: str | None = FORMATS
    models: tuple[str, ...] = argument(
        "MODEL...",
        "One model or several: 'smollm2', a hub id, a folder, a .gguf file, a PEFT adapter "
        "folder; NAME=MODEL gives it a name in the chart.",
    )
