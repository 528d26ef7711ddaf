"""`mindshare insert`: models, prompts and a run of tokens become profiles and maps of all heads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mindshare.cli.charting import LOOK, LabelsOption, ModelsArgument, PaletteOption
from mindshare.cli.options import (
    SOURCE,
    WHAT,
    BadRowsOption,
    ChatOption,
    ColumnOption,
    DataOption,
    DtypeOption,
    FileOption,
    FormatOption,
    LayersOption,
    LimitOption,
    Marked,
    OutOption,
    ProgressOption,
    QuietOption,
    ReplaceOption,
    SampleOption,
    SampleSeedOption,
    SaveStudyOption,
    TrustRemoteCode,
    WhereOption,
)

if TYPE_CHECKING:
    from mindshare.prompts import Prompt

INSERT = "What is inserted"

Text = Annotated[
    str | None,
    typer.Option(
        "--text",
        "--prompt",
        metavar="TEXT",
        help="This text; with --system, the question.",
        rich_help_panel=SOURCE,
        show_default=False,
    ),
]
System = Annotated[
    str | None,
    typer.Option(
        "--system",
        metavar="TEXT",
        help="A system message before the text: both go through the model's chat template.",
        rich_help_panel=SOURCE,
        show_default=False,
    ),
]
Insert = Annotated[
    list[str] | None,
    typer.Option(
        "--insert",
        metavar="WHAT",
        help="'/ *55' (a text 55 times), '/ *10,25,55', 'random-sentence*55', 'file:PATH' or any "
        "text; repeatable. (default: '/ *55')",
        rich_help_panel=INSERT,
        show_default=False,
    ),
]
At = Annotated[
    list[str] | None,
    typer.Option(
        "--at",
        metavar="PLACE",
        help="between (before the question: the span question, the last user message, or the "
        "whole text), start or end (of the first or last message), before:SPAN, after:SPAN, random "
        "(before any word); repeatable. (default: between)",
        rich_help_panel=INSERT,
        show_default=False,
    ),
]
Against = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="WHAT",
        help="Compare with this in the same place; random-sentence has exactly as many tokens.",
        rich_help_panel=INSERT,
        show_default=False,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed", metavar="N", min=0, help="Of random places and sentences.", rich_help_panel=INSERT
    ),
]
Heads = Annotated[
    list[str] | None,
    typer.Option(
        "--heads",
        metavar="LAYER.HEAD,…",
        help="The heads to draw, such as 0.0,0.1,0.7; NAME:0.26 for one of several models, "
        "repeatable.",
        rich_help_panel=WHAT,
        show_default=False,
    ),
]
Top = Annotated[
    int | None,
    typer.Option(
        "--top",
        metavar="N",
        min=1,
        help="Draw the N heads that change most. (default: 3 if no heads are named)",
        rich_help_panel=WHAT,
        show_default=False,
    ),
]
By = Annotated[
    str,
    typer.Option(
        "--by",
        metavar="WORD",
        help="What --top goes by: divergence, amplitude, shape, entropy_change, retained, …",
        rich_help_panel=WHAT,
    ),
]
Queries = Annotated[
    str,
    typer.Option(
        "--queries",
        metavar="SET",
        help="Whose attention is averaged: all tokens, or original (those not inserted).",
        rich_help_panel=WHAT,
    ),
]
Near = Annotated[
    int,
    typer.Option(
        "--near",
        metavar="N",
        min=-1,
        help="Leave out the nearest N queries of each token; -1 counts the token itself too.",
        rich_help_panel=WHAT,
    ),
]
DropFirst = Annotated[
    bool,
    typer.Option(
        "--drop-first",
        help="Leave the first token, where many heads rest, out of the pictures.",
        rich_help_panel=LOOK,
    ),
]
CountFirst = Annotated[
    bool,
    typer.Option(
        "--count-first",
        help="Count the first token in the response numbers; where heads rest on it, it drowns the "
        "others.",
        rich_help_panel=WHAT,
    ),
]
Show = Annotated[
    str | None,
    typer.Option(
        "--show",
        metavar="ID",
        help="The prompt whose tokens are drawn. (default: the first)",
        rich_help_panel=LOOK,
        show_default=False,
    ),
]


def insert(
    context: typer.Context,
    models: ModelsArgument,
    text: Text = None,
    system: System = None,
    file: FileOption = None,
    chat: ChatOption = None,
    data: DataOption = None,
    marked: Marked = False,
    limit: LimitOption = None,
    format: FormatOption = "auto",
    column: ColumnOption = None,
    where: WhereOption = None,
    sample: SampleOption = None,
    sample_seed: SampleSeedOption = 0,
    bad_rows: BadRowsOption = "stop",
    insert: Insert = None,
    at: At = None,
    against: Against = None,
    seed: Seed = 0,
    heads: Heads = None,
    top: Top = None,
    by: By = "divergence",
    layers: LayersOption = "all",
    queries: Queries = "all",
    near: Near = 0,
    count_first: CountFirst = False,
    drop_first: DropFirst = False,
    show: Show = None,
    dtype: DtypeOption = "float32",
    trust_remote_code: TrustRemoteCode = False,
    labels: LabelsOption = "zero-based",
    palette: PaletteOption = "seed",
    out: OutOption = None,
    replace: ReplaceOption = False,
    save_study: SaveStudyOption = None,
    progress: ProgressOption = "auto",
    quiet: QuietOption = False,
) -> None:
    """Show what an inserted run of tokens does to the attention of every head.

    \b
    Examples:
      mindshare insert smollm2 --system 'Reason step by step.' --prompt 'What is 17 × 12?' \\
          --insert '/ *55' --against random-sentence
      mindshare insert smollm2 --data problems.jsonl --insert '/ *55' --heads 0.0,0.1,0.7
      mindshare insert smollm2 --data problems.jsonl --insert '/ *10,25,40,55' --insert 'he *55' \\
          --at between --at end
    """
    from mindshare.charts import insertion
    from mindshare.cli.charting import Run
    from mindshare.cli.selection import parse_layers
    from mindshare.cli.sources import Source

    data_options = (format, column, where, sample, sample_seed, bad_rows)
    source = Source(text, file, chat, data, marked, *data_options)
    prompts = source.read(limit=limit) if system is None else [_chat(source, system)]
    run = Run(
        context=context,
        models=models,
        source=source,
        prompts=prompts,
        definition={
            "insert": insert or ["/ *55"],
            "at": at or ["between"],
            "against": against,
            "seed": seed,
            "layers": parse_layers(layers),
            "queries": queries,
            "near": near,
            "heads": _heads(heads),
            "top": top,
            "by": by,
            "count_first": count_first,
            "drop_first": drop_first,
            "show": show,
        },
        drawing={"palette": palette, "labels": labels},
        dtype=dtype,
        trust_remote_code=trust_remote_code,
        progress=progress,
        quiet=quiet,
        save_study=save_study,
    )
    run.finish(insertion, out=out, replace=replace)


def _chat(source: object, system: str) -> Prompt:
    from mindshare.cli.sources import Source
    from mindshare.errors import PromptError
    from mindshare.prompts import Prompt

    assert isinstance(source, Source)
    if source.text is None or (source.file or source.chat or source.data):
        raise PromptError(
            "--system goes with --prompt", next_step="put the system message into the file"
        )
    turns = [("system", system), ("user", source.text)]
    return Prompt.from_chat(
        [{"role": role, "content": content} for role, content in turns], marked=source.marked
    )


def _heads(given: list[str] | None) -> str | dict[str, str] | None:
    """`0.0,0.7` for every model, or `NAME:0.26` for each by name."""
    from mindshare.errors import SelectionError

    if not given:
        return None
    named = [part.rpartition(":") for part in given]
    if not any(name for name, _, _ in named):
        return ",".join(given)
    if not all(name for name, _, _ in named):
        raise SelectionError(
            "some heads are named for one model and some for all",
            allowed="--heads 0.0,0.7 alone, or --heads NAME:0.0 for each model",
        )
    names = dict.fromkeys(name for name, _, _ in named)
    return {name: ",".join(h for own, _, h in named if own == name) for name in names}
