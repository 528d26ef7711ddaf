"""The options that several commands share, each written once. Knows no values."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

SOURCE, MODEL = "The prompt (exactly one source)", "The model"
WHAT, RESULTS = "What to measure", "Results"
RANGES = "0,5-9|mean|all"

Model: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="'smollm2' (embedded), a hub id, a folder, a .gguf file, or a PEFT adapter folder.",
        show_default=False,
    ),
]
TextOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--text", metavar="TEXT", help="This text.", rich_help_panel=SOURCE, show_default=False
    ),
]
FileOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--file", metavar="FILE", help="A text file.", rich_help_panel=SOURCE, show_default=False
    ),
]
ChatOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--chat",
        metavar="FILE",
        help="A JSON list of messages with role and content.",
        rich_help_panel=SOURCE,
        show_default=False,
    ),
]
DataOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="FILE",
        help="JSON Lines: a text, messages or prompt field in every row.",
        rich_help_panel=SOURCE,
        show_default=False,
    ),
]
Marked: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--marked",
        help="Read <<name>>…<</name>> in the text as marks of a span.",
        rich_help_panel=SOURCE,
    ),
]
ClassOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--class",
        metavar="NAME=RULE",
        help="A token class, repeatable; the first that matches wins. RULE: characters (#*), "
        "whitespace, newline, punctuation, digit, letter, special, bos, role:NAME, span:NAME, "
        "chars:ABC, re:PATTERN, ids:1,2; RULE@SPAN restricts it to a span.",
        show_default=False,
    ),
]
PolicyOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--policy",
        metavar="POLICY",
        help="How a token of mixed characters counts: priority, pure or proportional.",
    ),
]
TrustRemoteCode: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--trust-remote-code",
        help="Run Python code that comes with the model.",
        rich_help_panel=MODEL,
    ),
]
LayersOption: TypeAlias = Annotated[
    str,
    typer.Option("--layers", metavar=RANGES, help="Which layers.", rich_help_panel=WHAT),
]
QueriesOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--queries",
        metavar="SET",
        help="Which tokens are asked where they look: all, last, span:NAME, class:NAME or "
        "after:SPAN; repeatable. (default: all)",
        rich_help_panel=WHAT,
        show_default=False,
    ),
]
OneQueriesOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--queries",
        metavar="SET",
        help="Which tokens are asked where they look: all, last, span:NAME, class:NAME or "
        "after:SPAN.",
        rich_help_panel=WHAT,
    ),
]
ChunkTokensOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--chunk-tokens",
        metavar="N",
        min=1,
        help="Feed the prompt in pieces of N tokens: less memory, the same numbers.",
        rich_help_panel=MODEL,
        show_default=False,
    ),
]
DtypeOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--dtype", metavar="DTYPE", help="float32, bfloat16 or float16.", rich_help_panel=MODEL
    ),
]
DeviceOption: TypeAlias = Annotated[
    str,
    typer.Option("--device", metavar="DEVICE", help="cpu, cuda, cuda:1, …", rich_help_panel=MODEL),
]
OutOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="The folder to write (default: results/NAME-HASH, the same for the same command).",
        rich_help_panel=RESULTS,
        show_default=False,
    ),
]
ReplaceOption: TypeAlias = Annotated[
    bool,
    typer.Option("--replace", help="Replace results that are there.", rich_help_panel=RESULTS),
]
SaveStudyOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--save-study",
        metavar="FILE.toml",
        help="Write what is asked for as a study file for `mindshare run`, and measure nothing.",
        rich_help_panel=RESULTS,
        show_default=False,
    ),
]
LimitOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--limit",
        metavar="N",
        min=1,
        help="Only the first N prompts of --data.",
        rich_help_panel=SOURCE,
        show_default=False,
    ),
]
QuietOption: TypeAlias = Annotated[
    bool,
    typer.Option("--quiet", help="Print only where the results are.", rich_help_panel=RESULTS),
]
