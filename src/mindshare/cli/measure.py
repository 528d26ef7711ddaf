"""`mindshare measure`: a model, prompts and options become a folder of tables, and a view.

The options are those of a `Study`; everything that can be refused without the model is refused
before it is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mindshare.cli.options import (
    MODEL,
    RANGES,
    WHAT,
    BadRowsOption,
    ChatOption,
    ChunkTokensOption,
    ClassOption,
    ColumnOption,
    DataOption,
    DeviceOption,
    DtypeOption,
    FileOption,
    FormatOption,
    LayersOption,
    LimitOption,
    Marked,
    Model,
    OutOption,
    PolicyOption,
    ProgressOption,
    QueriesOption,
    QuietOption,
    ReplaceOption,
    SampleOption,
    SampleSeedOption,
    SaveStudyOption,
    TextOption,
    TrustRemoteCode,
    WhereOption,
)

if TYPE_CHECKING:
    from rich.console import Console

    from mindshare.prompts import Prompt
    from mindshare.study import Into, Measurement, Study
    from mindshare.workers import ModelSpec, Place

_SHOWN = 5  # prompts that were left out, told one by one

Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        metavar="WORDS",
        help="mass, received, entropy, distance; by comma, or repeated. (default: mass,received)",
        rich_help_panel=WHAT,
        show_default=False,
    ),
]
Heads = Annotated[
    str,
    typer.Option("--heads", metavar=RANGES, help="Which query heads.", rich_help_panel=WHAT),
]
Near = Annotated[
    int | None,
    typer.Option(
        "--near",
        metavar="N",
        min=0,
        help="'received' leaves out each key's N nearest queries. (default: 0)",
        rich_help_panel=WHAT,
        show_default=False,
    ),
]
IncludeDiagonal = Annotated[
    bool,
    typer.Option(
        "--include-diagonal",
        help="'received' counts what a token gives itself.",
        rich_help_panel=WHAT,
    ),
]
Adapter = Annotated[
    str | None,
    typer.Option(
        "--adapter",
        metavar="PATH",
        help="A PEFT adapter to merge into the model.",
        rich_help_panel=MODEL,
        show_default=False,
    ),
]


def measure(
    context: typer.Context,
    model: Model,
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
    measures: Measures = None,
    layers: LayersOption = "all",
    heads: Heads = "all",
    queries: QueriesOption = None,
    near: Near = None,
    include_diagonal: IncludeDiagonal = False,
    chunk_tokens: ChunkTokensOption = None,
    adapter: Adapter = None,
    dtype: DtypeOption = "float32",
    device: DeviceOption = "cpu",
    trust_remote_code: TrustRemoteCode = False,
    out: OutOption = None,
    replace: ReplaceOption = False,
    save_study: SaveStudyOption = None,
    progress: ProgressOption = "auto",
    quiet: QuietOption = False,
) -> None:
    """Measure where the attention goes, by token class, per layer and head.

    \b
    Examples:
      mindshare measure smollm2 --text 'a ## b **' --class hash=# --class star='*'
      mindshare measure smollm2 --file map.txt --class space=whitespace \\
          --layers 0,5-9 --queries last --out results/map
      mindshare measure smollm2 --data rows.jsonl --class digit=digit --heads mean
    """
    from mindshare.cli.destination import check_folder, default_folder
    from mindshare.cli.progress import progress_form, run_progress
    from mindshare.cli.screen import progress_bar
    from mindshare.cli.selection import parse_selection
    from mindshare.cli.sources import Source
    from mindshare.cli.status import warn_of_unasked
    from mindshare.cli.study_file import study_files, write_study
    from mindshare.study import Into, as_prompts, build_study
    from mindshare.study import measure as run
    from mindshare.workers import ModelSpec, Place

    study = build_study(
        classes=class_,
        policy=policy,
        measures=_words(measures),
        layers=parse_selection(layers, "--layers"),
        heads=parse_selection(heads, "--heads"),
        queries=queries or "all",
        near=_nearest_queries(near, include_diagonal),
        chunk_tokens=chunk_tokens,
    )
    data_options = (format, column, where, sample, sample_seed, bad_rows)
    source = Source(text, file, chat, data, marked, *data_options)
    prompts = as_prompts(source.read(limit=limit))
    files = study_files(context.command, context.params, prompts)
    if save_study is not None:
        write_study(save_study, files, replace=replace)
        return
    folder = out or default_folder(model, prompts, study=study.hash, adapter=adapter, dtype=dtype)
    if not source.many:
        check_folder(folder, replace=replace)
    spec = ModelSpec(model, adapter, dtype, device, None, trust_remote_code)
    if source.many:
        with run_progress(progress_form(progress, quiet)) as told:
            into = Into(folder, source.on_bad_rows, replace, told, files, source.left_out)
            found = _measure_into(into, spec, study, prompts, context.obj or Place(workers=1))
        warn_of_unasked(folder)
    else:
        with progress_bar(show=not quiet) as bar:
            found = run(spec.load(progress=not quiet), prompts, study=study, progress=bar)
        found.save(folder, replace=replace, beside=files)
    _show(found, study, folder, quiet=quiet, told={place for place, _ in source.left_out})


def _measure_into(
    into: Into, spec: ModelSpec, study: Study, prompts: Sequence[Prompt], place: Place
) -> Measurement:
    """A run is opened, and refused if it must be, before any weights are read."""
    from mindshare.charts.candidates import label_of
    from mindshare.study import Asking, fixed_parts, write_tables

    label = label_of(spec.adapter or spec.reference)
    opened = into.open(fixed_parts(study), {label: len(prompts)})
    with opened as keeping, place.answering(spec) as answerer:
        asking = Asking.by(
            answerer,
            spec.reader(),
            study,
            shelf=keeping.shelf(label),
            progress=keeping.progress(label),
        )
        return write_tables(asking, prompts, keeping)


def show_tables(console: Console, found: Measurement) -> None:
    """Mass and lift per layer and class, one table per query set."""
    from mindshare.cli.mass_table import caption, mass_tables
    from mindshare.cli.screen import in_colour, say
    from mindshare.cli.summary import summaries

    for summary in summaries(found):
        say(console, caption(summary))
        say(console)
        for table in mass_tables(summary, width=console.width, colour=in_colour(console)):
            console.print(table)
            say(console)
        say(console, f"Sink rate {summary.sink_rate:.2f}: that share of the heads gives the first "
                     "token more than 0.3")  # fmt: skip
        say(console)


def show_place(console: Console, folder: Path) -> None:
    from mindshare.cli.screen import say

    say(console, f"Results: {folder}")
    say(console, f'Load them with: mindshare.read("{folder}").to_pandas()')


def _show(found: Measurement, study: Study, folder: Path, *, quiet: bool, told: set[str]) -> None:
    """`told` are places of rows that were spoken of already."""
    from mindshare.cli.screen import say, stdout, warn

    console = stdout()
    left_out = found.provenance.get("left_out", {})
    new = [(prompt, reason) for prompt, reason in left_out.items() if prompt not in told]
    for prompt, reason in new[:_SHOWN]:
        warn(f"left out: {prompt}: {reason}")
    if len(new) > _SHOWN:
        warn(f"{len(left_out):,} prompts left out in all: see mindshare status {folder}")
    for name in _unmatched(found, study):
        warn(f"class {name!r} matches no token of any prompt")
    if quiet:
        say(console, str(folder))
        return
    model = found.provenance["model"]
    sizes = [prompt["tokens"] for prompt in found.provenance["prompts"]]
    say(console, f"{model['name']} ({model['dtype']}), {_counted(sizes)}")
    say(console)
    show_tables(console, found)
    show_place(console, folder)


def _unmatched(found: Measurement, study: Study) -> list[str]:
    rows = found.classes.to_pylist()
    matched = {row["class"] for row in rows if row["n_tokens"] > 0}
    return [name for name, _ in study.classes if name not in matched]


def _counted(sizes: Sequence[int]) -> str:
    from mindshare.cli.numbers import counted

    if len(sizes) == 1:
        return f"1 prompt of {counted(sizes[0], 'token')}"
    return f"{len(sizes)} prompts of {min(sizes)} to {max(sizes)} tokens"


def _words(given: Sequence[str] | None) -> list[str] | None:
    """`mass,entropy` or several options, as one list."""
    if not given:
        return None
    return [word.strip() for text in given for word in text.split(",") if word.strip()]


def _nearest_queries(near: int | None, include_diagonal: bool) -> int:
    from mindshare.errors import SelectionError

    if include_diagonal and near is not None:
        raise SelectionError(
            f"--near {near} and --include-diagonal are given together", allowed="one of them"
        )
    return -1 if include_diagonal else near or 0
