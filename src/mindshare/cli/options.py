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
    str | None,
    typer.Option(
        "--data",
        metavar="WHERE",
        help="A prompt a row: a text, JSON Lines, JSON, CSV, TSV or Parquet file (.gz too), a "
        "folder of them or of save_to_disk, hf:owner/name:split, or - for standard input.",
        rich_help_panel=SOURCE,
        show_default=False,
    ),
]
FormatOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="Of --data: text (a prompt a line), jsonl, json, csv, tsv or parquet; auto goes by "
        "the name, and takes standard input as jsonl.",
        rich_help_panel=SOURCE,
    ),
]
ColumnOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="PART=COLUMN",
        help="Which column of --data is what, repeatable: prompt (or text, messages), spans, id, "
        "answer, group; PART= for none. Rows of one group are resampled together. (default: "
        "columns of these names)",
        rich_help_panel=SOURCE,
        show_default=False,
    ),
]
WhereOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="TEST",
        help="Only rows such as 'level>=3', 'kind=map', 'kind!=map' or 'text~^Look'; repeatable, "
        "all must hold.",
        rich_help_panel=SOURCE,
        show_default=False,
    ),
]
SampleOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--sample",
        metavar="N",
        min=1,
        help="Only N rows drawn at random of those that --where leaves, in the order of the data.",
        rich_help_panel=SOURCE,
        show_default=False,
    ),
]
SampleSeedOption: TypeAlias = Annotated[
    int,
    typer.Option(
        "--sample-seed",
        metavar="N",
        min=0,
        help="Of --sample: the same seed draws the same rows, and more rows add to them.",
        rich_help_panel=SOURCE,
    ),
]
BadRowsOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--bad-rows",
        metavar="stop|skip",
        help="A row that cannot be used stops everything, or is left out and reported.",
        rich_help_panel=SOURCE,
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
        help="Only the first N prompts of --data (after --where and --sample).",
        rich_help_panel=SOURCE,
        show_default=False,
    ),
]
ProgressOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--progress",
        metavar="FORM",
        help="How far it is, with --data: auto (a bar on a terminal), json (lines on stderr, for "
        "logs) or quiet.",
        rich_help_panel=RESULTS,
    ),
]
QuietOption: TypeAlias = Annotated[
    bool,
    typer.Option("--quiet", help="Print only where the results are.", rich_help_panel=RESULTS),
]
