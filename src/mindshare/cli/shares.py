"""`mindshare shares`: models, prompts and classes become bars by layer, with their tables."""

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
    RANGES,
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

Heads = Annotated[
    str,
    typer.Option(
        "--heads", metavar=RANGES, help="Their mean, all of them, or some.", rich_help_panel=WHAT
    ),
]


def shares(
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
    policy: PolicyOption = "priority",
    measure: MeasureOption = "mass",
    layers: LayersOption = "all",
    heads: Heads = "mean",
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
    """Draw how much attention each token class gets, layer by layer, one bar a model.

    \b
    Examples:
      mindshare shares smollm2 --file map.txt --class hash=# --class star='*' \\
          --class space=whitespace
      mindshare shares smollm2 Phys=smollm2-phys --data maps/test.jsonl --layers 0,17,21,29 \\
          --class hash=# --class star='*' --queries last --out results/maps
      mindshare shares smollm2 --chat chat.json --class system=role:system \\
          --class user=role:user --measure share
    """
    from mindshare.charts import shares as draw
    from mindshare.cli.charting import Run
    from mindshare.cli.selection import parse_selection
    from mindshare.cli.sources import Source

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
            "heads": parse_selection(heads, "--heads"),
            "queries": queries,
        },
        drawing={"palette": palette, "labels": labels, "width": width, "title": title},
        dtype=dtype,
        trust_remote_code=trust_remote_code,
        progress=progress,
        quiet=quiet,
        save_study=save_study,
    )
    run.finish(draw, out=out, replace=replace, measure=measure)
