"""What is measured, with which model, how it looks, where it runs and where results go.

A field of a group is an option of each command that takes the group, and a field of its study
files. Methods turn the values into what the library takes; they import what is heavy.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindshare.cli.groups import Group, argument, option
from mindshare.errors import ClassRuleError, SelectionError, nearest
from mindshare.measures import MEASURES, at_level

if TYPE_CHECKING:
    from mindshare.api.candidates import Loading
    from mindshare.backends import BackendOptions

# The panels of the help. Options stand there in the order of the groups that a command names.
INSERT, WHAT = "What is inserted", "What to measure"
MODEL, LOOK = "The model", "How it looks"
WHERE, RESULTS = "Where it runs", "Results"

DRAWN = (*at_level("class"), *at_level("head"))  # what charts by layer can show
_OTHERS = ("insertion", "effect")  # statistics of other studies
STATISTICS = dict.fromkeys(m.statistic for m in MEASURES.values() if m.statistic not in _OTHERS)
ONE_MODEL = "'smollm2' (embedded), a hub id, a folder, a .gguf file, or a PEFT adapter folder."
RANGES = "0,5-9|mean|all"
QUERIES = "Which tokens are asked where they look: all, last, span:NAME, class:NAME or after:SPAN"
_RANGE = re.compile(r"\s*(\d{1,5})\s*(?:-\s*(\d{1,5})\s*)?", re.ASCII)


class TrustOptions(Group, panel=MODEL):
    trust_remote_code: bool = option(
        False,
        "Run Python code that comes with the model.",
        typed_only="trust is given on the command line only",
    )


class AdapterOption(Group, panel=MODEL):
    adapter: str | None = option(
        None, "A PEFT adapter to merge into the model, or into each.", metavar="PATH"
    )


class TokenizerOptions(TrustOptions, AdapterOption, panel=MODEL):
    """A model whose weights are not needed; an adapter may bring a tokenizer of its own."""

    model: str = argument("MODEL", ONE_MODEL)
    full: bool = option(False, "List every class, not only twenty.")


class WeightsOptions(AdapterOption, panel=MODEL):
    """How weights are loaded, the same for every command that needs them."""

    dtype: str = option("float32", "float32, bfloat16 or float16.")
    device: str = option("cpu", "cpu, cuda, cuda:1, …")


class ClassOptions(Group):
    class_: tuple[str, ...] = option(
        (),
        "A token class, repeatable; the first that matches wins. RULE: characters (#*), "
        "whitespace, newline, punctuation, digit, letter, special, bos, first, role:NAME, "
        "span:NAME, chars:ABC, re:PATTERN, ids:1,2; RULE@SPAN restricts it to a span.",
        metavar="NAME=RULE",
    )
    policy: str = option(
        "priority", "How a token of mixed characters counts: priority, pure or proportional."
    )


class LayerOptions(Group, panel=WHAT):
    layers: str = option("all", "Which layers.", metavar=RANGES)


class ChunkOption(Group, panel=WHAT):
    chunk_tokens: int | None = option(
        None,
        "Feed the prompt in pieces of N tokens: less memory; pieces that several prompts begin "
        "with are computed once.",
        min=1,
        panel=MODEL,
    )


class ClassStudy(LayerOptions, ClassOptions, ChunkOption, panel=WHAT):
    """What every study by token class has in common."""


class StudyOptions(ClassStudy, panel=WHAT):
    """What `measure` measures."""

    measure: tuple[str, ...] = option(
        (),
        f"{', '.join(STATISTICS)}; by comma, or repeated. (default: mass,received)",
        metavar="WORDS",
    )
    heads: str = option("all", "Which query heads.", metavar=RANGES)
    queries: tuple[str, ...] = option((), f"{QUERIES}; repeatable. (default: all)", metavar="SET")
    near: int | None = option(
        None, "'received' leaves out each key's N nearest queries. (default: 0)", min=0
    )
    include_diagonal: bool = option(False, "'received' counts what a token gives itself.")

    def definition(self) -> dict[str, Any]:
        """The keywords of `build_study`."""
        if self.include_diagonal and self.near is not None:
            raise SelectionError(
                f"--near {self.near} and --include-diagonal are given together",
                allowed="one of them",
            )
        words = [word.strip() for text in self.measure for word in text.split(",")]
        return {
            "classes": self.class_,
            "policy": self.policy,
            "measures": [word for word in words if word] or None,
            "layers": parse_selection(self.layers, "--layers"),
            "heads": parse_selection(self.heads, "--heads"),
            "queries": self.queries or "all",
            "near": -1 if self.include_diagonal else self.near or 0,
            "chunk_tokens": self.chunk_tokens,
        }


class TopOption(Group, panel=WHAT):
    top: int | None = option(
        None,
        "The N heads, or layers, that change most: listed for two models (default: 5), drawn for "
        "an insertion (default: 3 if no heads are named).",
        min=1,
    )


class ChartStudy(ClassStudy, TopOption, panel=WHAT):
    """What a chart of token classes shows. Every field is a keyword of the function that draws."""

    measure: str = option(
        "mass",
        f"Of a class: {', '.join(at_level('class'))}; of a head, without one: "
        f"{', '.join(at_level('head'))}.",
    )
    queries: str = option("all", f"{QUERIES}.", metavar="SET")
    absent: str = option(
        "left_out",
        "Prompts without a token of a class: left_out of its means, or zero (mass and share 0).",
    )
    compare_heads: bool = option(
        False,
        "Compare models head by head though they are unrelated, and their head numbers mean "
        "nothing to one another.",
    )

    def definition(self) -> dict[str, Any]:
        from mindshare.stats import Resampling

        if self.measure not in DRAWN:
            raise SelectionError(
                f"{self.measure!r} can't be drawn by layer{nearest(self.measure, DRAWN)}",
                allowed=", ".join(DRAWN),
            )
        words = dict(vars(self))
        words["classes"] = list(words.pop("class_")) or None
        words["resampling"] = Resampling(absent=words.pop("absent"))
        if self.chunk_tokens is None:
            del words["chunk_tokens"]
        return words | {"layers": parse_selection(self.layers, "--layers")}


class LikeOption(Group, panel=WHAT):
    like: str | None = option(
        None,
        "Draw a published chart's own picture, and measure what it shows: seed-000 (shares), "
        "seed-003 or seed-004 (insert). Other options still win.",
        metavar="CHART",
    )


class SharesStudy(ChartStudy, LikeOption, panel=WHAT):
    heads: str = option("mean", "Their mean, all of them, or some.", metavar=RANGES)

    def definition(self) -> dict[str, Any]:
        return super().definition() | {"heads": parse_selection(self.heads, "--heads")}


class HeadMapStudy(ChartStudy, panel=WHAT):
    show: str | None = option(
        None, "The class to draw; needed if there are several.", metavar="NAME"
    )

    def definition(self) -> dict[str, Any]:
        words = super().definition()
        shown = words.pop("show")
        if MEASURES[self.measure].level == "class":
            shown = shown or self._only_class()
        return words | {"cls": shown}

    def _only_class(self) -> str:
        from mindshare.tokens import parse_classes

        names = parse_classes(self.class_).names[:-1]  # the last is `other`
        if len(names) != 1:
            choose = f"choose with --show: {', '.join(names)}"
            raise ClassRuleError(
                f"{len(names)} classes are given, and a map shows one",
                next_step=choose if names else "give one, e.g. --class hash='#'",
            )
        return names[0]


class PartsStudy(LayerOptions, ChunkOption, panel=WHAT):
    """Keywords of `parts`."""

    layers: str = option("all", "The layers that the mean is over.", metavar="0,5-9|all")
    queries: str = option("last", f"{QUERIES}.", metavar="SET")

    def definition(self) -> dict[str, Any]:
        return vars(self) | {"layers": parse_selection(self.layers, "--layers")}


class InsertStudy(LayerOptions, TopOption, LikeOption, panel=WHAT):
    """What is inserted, and which heads are looked at: keywords of `insertion`."""

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
    )
    by: str = option(
        "divergence",
        "What --top goes by: divergence, amplitude, shape, entropy_change, retained, …",
    )
    queries: str = option(
        "both",
        "Whose attention is averaged: both (labels, maps and findings compare that of the original "
        "tokens; profiles show that of all), all, or original.",
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

    def definition(self) -> dict[str, Any]:
        return vars(self) | {
            "insert": list(self.insert) or None,
            "at": list(self.at) or ["between"],
            "layers": self._layers(),
            "heads": self._heads(),
        }

    def _layers(self) -> list[int] | None:
        layers = parse_selection(self.layers, "--layers")
        if layers == "mean":
            raise SelectionError(
                "every layer is looked at by itself",
                where="--layers mean",
                allowed="all, or numbers and ranges such as --layers 0,5-9",
            )
        return None if isinstance(layers, str) else layers

    def _heads(self) -> str | dict[str, str] | None:
        """`0.0,0.7` for every model, or `NAME:0.26` for each by name."""
        named = [part.rpartition(":") for part in self.heads]
        if not any(name for name, _, _ in named):
            return ",".join(self.heads) or None
        if not all(name for name, _, _ in named):
            raise SelectionError(
                "some heads are named for one model and some for all",
                allowed="--heads 0.0,0.7 alone, or --heads NAME:0.0 for each model",
            )
        names = dict.fromkeys(name for name, _, _ in named)
        return {name: ",".join(h for model, _, h in named if model == name) for name in names}


class LookOptions(Group, panel=LOOK):
    """How a chart looks. Every field is a keyword of the function that draws."""

    width: str | None = option(
        None,
        "In print: column (3.4in), page (7in), or a length such as 8.5cm or 3.4in. (default: what "
        "the chart needs)",
    )
    font_size: str | None = option(
        None, "Of the text in print, in points, from 6. (default: 9)", metavar="PT"
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
    )
    colour: tuple[str, ...] = option(
        (),
        "Its colour, such as hash=#d62728; repeatable.",
        metavar="NAME=#RRGGBB",
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

    def style(self) -> dict[str, Any]:
        """The fields of `mindshare.figures.Style` that were chosen."""
        names = ("width", "title", "subtitle", "y_title", "labels", "palette")
        chosen: dict[str, Any] = {n: getattr(self, n) for n in names}
        chosen |= {"font_size": self._points(), "bare": self.bare or None}
        chosen |= {n: _pairs(getattr(self, n), f"--{n}") or None for n in ("label", "colour")}
        return {n: v for n, v in chosen.items() if v is not None}

    def _points(self) -> float | None:
        if self.font_size is None:
            return None
        try:
            return float(self.font_size.removesuffix("pt").encode("ascii"))
        except ValueError:
            raise SelectionError(
                f"--font-size {self.font_size!r} is no number", allowed="points, such as 8"
            ) from None


def _pairs(given: tuple[str, ...], flag: str) -> dict[str, str]:
    """`hash=# (Hash)` → {"hash": "# (Hash)"}"""
    pairs = [text.partition("=") for text in given]
    for name, equals, value in pairs:
        if not (name and equals):
            raise SelectionError(f"{flag} {name or value!r}", allowed=f"{flag} NAME=VALUE")
    return {name: value for name, _, value in pairs}


class InsertLook(LookOptions, panel=LOOK):
    maps: str = option(
        "amplitude",
        "Response numbers to draw by layer and head: amplitude, shape, entropy_change, "
        "divergence, retained, affine_r2; by comma, all or none.",
        metavar="WORDS",
    )
    drop_first: bool = option(
        False, "Leave the first token, where many heads rest, out of the pictures."
    )
    show: str | None = option(
        None, "The prompt whose tokens are drawn. (default: the first)", metavar="ID"
    )

    def definition(self) -> dict[str, Any]:
        """Keywords of `insertion`."""
        from mindshare.api.insertion import MAPS

        words = [word.strip() for word in self.maps.split(",") if word.strip()]
        maps = {"all": list(MAPS), "none": []}.get(self.maps.strip(), words)
        return self.style() | {"maps": maps} | {"drop_first": self.drop_first, "show": self.show}


class WriteOptions(Group, panel=RESULTS, apart=True):
    """Where results go and how much is said: no part of a study."""

    out: Path | None = option(
        None,
        "The folder to write (default: results/NAME-HASH, the same for the same command).",
        metavar="DIR",
    )
    replace: bool = option(False, "Replace results that are there.")
    quiet: bool = option(False, "Print only where the results are.")


class FormatOptions(Group, panel=RESULTS, apart=True):
    formats: str | None = option(
        None,
        "Of each figure: png, svg, pdf, csv, html (a page with tooltips), parquet, json "
        "(Vega-Lite); by comma. (default: png,svg,pdf,csv)",
        metavar="WORDS",
    )

    def endings(self) -> tuple[str, ...]:
        """None are chosen if none are named; wrong words are refused."""
        from mindshare.figures import check_formats

        words = tuple(
            dict.fromkeys(w.strip() for w in (self.formats or "").split(",") if w.strip())
        )
        check_formats(words)
        return words


class RedrawOptions(LookOptions, FormatOptions):
    results: Path = argument("RESULTS", "A folder that mindshare wrote.")
    figure: tuple[str, ...] = option(
        (), "Only this figure, by the name of its files; repeatable.", metavar="NAME", panel=RESULTS
    )
    quiet: bool = option(False, "Print only the names of the figures.", panel=RESULTS)


class ReportOptions(WriteOptions, panel=RESULTS, apart=True):
    results: tuple[Path, ...] = argument("RESULT...", "Folders that mindshare wrote.")
    out: Path = option(Path("report"), "The folder to write.", metavar="DIR")
    format: tuple[str, ...] = option(
        (), "html (one file), md (with PNGs) or pdf; repeatable. (default: html)", metavar="WORD"
    )
    title: str | None = option(None, "A title of your own.", metavar="TEXT")


class RunOutput(WriteOptions, panel=RESULTS, apart=True):
    progress: str = option(
        "auto",
        "How far it is, with --data: auto (a bar on a terminal), json (lines on stderr, for "
        "logs) or quiet.",
    )


class OutputOptions(RunOutput, panel=RESULTS, apart=True):
    save_study: Path | None = option(
        None,
        "Write what is asked for as a study file for `mindshare run`, and measure nothing.",
        metavar="FILE.toml",
    )


class BackendChoice(Group, panel=WHERE, apart=True):
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

    def backend(self) -> BackendOptions | None:
        """None: this process."""
        if not any(vars(self).values()):
            return None
        from mindshare.backends import BackendOptions

        return BackendOptions(self.on or "local", self.address, self.workers)


class ComputeOptions(BackendChoice, OutputOptions, TrustOptions, WeightsOptions):
    """How models are loaded, where they run and where results go: of all commands that measure."""

    def loading(self, *, progress: bool) -> Loading:
        from mindshare.api.candidates import Loading

        return Loading(
            dtype=self.dtype,
            device=self.device,
            adapter=self.adapter,
            trust_remote_code=self.trust_remote_code,
            progress=progress,
            place=self.backend(),
        )

    def decides(self) -> dict[str, str | None]:
        """What names the default folder of a chart: the dtype, and whatever is no default."""
        chosen = {"device": self.device, "adapter": self.adapter}
        changed = {k: v for k, v in chosen.items() if v != getattr(WeightsOptions, k)}
        return {"dtype": self.dtype, **changed}


class MeasureOptions(ComputeOptions):
    model: str = argument("MODEL", ONE_MODEL)
    full: bool = option(False, "Print every layer and class, not only a few.", panel=RESULTS)


class ChartOptions(FormatOptions, ComputeOptions):
    models: tuple[str, ...] = argument(
        "MODEL...",
        "One model or several: 'smollm2', a hub id, a folder, a .gguf file, a PEFT adapter "
        "folder; NAME=MODEL gives it a name in the chart.",
    )


class JsonOption(Group):
    as_json: bool = option(False, "Print JSON, for programs.", flags=("--json",))


class StatusOptions(JsonOption):
    run: Path = argument("RUN", "The folder of a run (its --out).")
    watch: bool = option(False, "Look every 2 seconds until no process is at work.")


class RunsOptions(JsonOption):
    folders: tuple[Path, ...] = argument(
        "[DIR...]", "Folders to look in, and below. (default: results)", default=()
    )
    compare: bool = option(False, "Say what differs between two runs.")


class CatalogueOptions(JsonOption, TrustOptions):
    ref: str | None = argument(
        "REF",
        "A model to describe: 'smollm2', a hub id, a folder, a .gguf file.",
        default=None,
    )


def parse_selection(text: str, flag: str) -> list[int] | str:
    """`0,5-9`: numbers and ranges, both ends included; `mean` and `all` as they are.

    Does not know which layers a model has; the study refuses what is not there.
    """
    if text.strip() in ("all", "mean"):
        return text.strip()
    return [number for part in text.split(",") for number in _numbers(part, text, flag)]


def _numbers(part: str, text: str, flag: str) -> range:
    match = _RANGE.fullmatch(part)
    if match and int(match[1]) <= int(match[2] or match[1]):
        return range(int(match[1]), int(match[2] or match[1]) + 1)
    wrong = "is a range that runs backwards" if match else "is no number or range"
    raise SelectionError(
        f"{part.strip()!r} {wrong}{nearest(text.strip(), ('all', 'mean'))}",
        where=f"{flag} {text!r}",
        allowed=f"numbers and ranges from 0, such as {flag} 0,5-9; or all, or mean",
    )
