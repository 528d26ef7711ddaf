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
    ChatOption,
    ClassOption,
    DataOption,
    DtypeOption,
    FileOption,
    LayersOption,
    LimitOption,
    Marked,
    OneQueriesOption,
    OutOption,
    PolicyOption,
    QuietOption,
    ReplaceOption,
    SaveStudyOption,
    TextOption,
    TrustRemoteCode,
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

    run = Run(
        context=context,
        models=models,
        prompts=Source(text, file, chat, data, marked).read(limit=limit),
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
        quiet=quiet,
        save_study=save_study,
    )
    run.finish(draw, out=out, replace=replace, measure=measure)
