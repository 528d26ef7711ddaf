"""`mindshare head-map`: one token class by layer and head, per model and as a difference."""

from __future__ import annotations

from typing import Annotated

import typer

from mindshare.cli.charting import (
    LabelsOption,
    MeasureOption,
    ModelsArgument,
    PaletteOption,
    TitleOption,
    WidthOption,
)
from mindshare.cli.options import (
    WHAT,
    BadRowsOption,
    ChatOption,
    ClassOption,
    ColumnOption,
    DataOption,
    DtypeOption,
    FileOption,
    FormatOption,
    LayersOption,
    LimitOption,
    Marked,
    OneQueriesOption,
    OutOption,
    PolicyOption,
    ProgressOption,
    QuietOption,
    ReplaceOption,
    SampleOption,
    SampleSeedOption,
    SaveStudyOption,
    TextOption,
    TrustRemoteCode,
    WhereOption,
)

Shown = Annotated[
    str | None,
    typer.Option(
        "--show",
        metavar="NAME",
        help="The class to draw; needed if there are several.",
        rich_help_panel=WHAT,
        show_default=False,
    ),
]


def head_map(
    context: typer.Context,
    models: ModelsArgument,
    text: TextOption = None,
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
    class_: ClassOption = None,
    show: Shown = None,
    policy: PolicyOption = "priority",
    measure: MeasureOption = "mass",
    layers: LayersOption = "all",
    queries: OneQueriesOption = "all",
    dtype: DtypeOption = "float32",
    trust_remote_code: TrustRemoteCode = False,
    labels: LabelsOption = "zero-based",
    palette: PaletteOption = "seed",
    width: WidthOption = None,
    title: TitleOption = None,
    out: OutOption = None,
    replace: ReplaceOption = False,
    save_study: SaveStudyOption = None,
    progress: ProgressOption = "auto",
    quiet: QuietOption = False,
) -> None:
    """Draw one token class by layer and head: a map a model, and what differs from the first.

    \b
    Examples:
      mindshare head-map smollm2 --file map.txt --class hash=#
      mindshare head-map smollm2 smollm2-phys --data maps/test.jsonl \\
          --class hash=# --class star='*' --show star --queries last
    """
    from mindshare.charts import head_map as draw
    from mindshare.cli.charting import Run, one_class
    from mindshare.cli.selection import parse_selection
    from mindshare.cli.sources import Source

    cls = one_class(class_, show)
    data_options = (format, column, where, sample, sample_seed, bad_rows)
    source = Source(text, file, chat, data, marked, *data_options)
    run = Run(
        context=context,
        models=models,
        source=source,
        prompts=source.read(limit=limit),
        definition={
            "classes": class_,
            "policy": policy,
            "layers": parse_selection(layers, "--layers"),
            "queries": queries,
        },
        drawing={"palette": palette, "labels": labels, "width": width, "title": title},
        dtype=dtype,
        trust_remote_code=trust_remote_code,
        progress=progress,
        quiet=quiet,
        save_study=save_study,
    )
    run.finish(draw, out=out, replace=replace, measure=measure, cls=cls)
