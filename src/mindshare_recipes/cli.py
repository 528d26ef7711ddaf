"""`mindshare-recipes`: the studies behind mindshare as commands, each step by itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mindshare.cli import run_command
from mindshare.cli.screen import passes_bar, progress_bar, say, say_lines, stdout

if TYPE_CHECKING:
    from mindshare_recipes.accuracy import Accuracy

TRAIN, TEST, STEPS = 12_000, 540, 900  # samples and steps of the shipped adapter
HELD_OUT = 108  # maps of the study
LISTED = "What `mindshare models` lists, or a path."

Count = Annotated[int, typer.Option(metavar="N", min=1, help="How many maps.")]
HeldOut = Annotated[int, typer.Option(metavar="N", min=1, help="How many held-out samples.")]
Maps = Annotated[int, typer.Option(metavar="N", min=2, help="Held-out maps.")]
Problems = Annotated[int, typer.Option(metavar="N", min=2, help="Problems.")]
Subset = Annotated[int | None, typer.Option(metavar="N", min=2, help="Problems. (default: all 24)")]
Seed = Annotated[int, typer.Option(metavar="N", help="Decides which, and their order.")]
Steps = Annotated[int, typer.Option(metavar="N", min=1, help="Of 16 samples each.")]
Rate = Annotated[float, typer.Option(metavar="X", help="Learning rate, at its peak.")]
Model = Annotated[str, typer.Option(metavar="MODEL", help=LISTED)]
Tuned = Annotated[str, typer.Option(metavar="MODEL", help="The fine-tuned model.")]
Models = Annotated[
    list[str] | None,
    typer.Argument(metavar="[MODEL]...", help="Models to ask.", show_default=False),
]
Folder = Annotated[Path, typer.Option(metavar="DIR", help="The folder to write.")]
DataFolder = Annotated[Path, typer.Option(metavar="DIR", help="Gets train.jsonl, test.jsonl")]
AdapterFolder = Annotated[Path, typer.Option(metavar="DIR", help="Gets the adapter.")]
Adapter = Annotated[Path, typer.Argument(metavar="DIR", help="The adapter's folder.")]
JsonFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Also write JSON.", show_default=False)
]
Replace = Annotated[bool, typer.Option("--replace", help="Replace earlier results.")]


def main(arguments: Sequence[str] | None = None) -> None:
    sys.exit(run_command(command, arguments, name="mindshare-recipes"))


def command() -> Any:
    app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
    blocks = typer.Typer(no_args_is_help=True, help="ASCII maps and the action between them.")
    for function in (data, train, accuracy, card, study, using):
        blocks.command()(function)
    app.add_typer(blocks, name="building-blocks")
    tokens = typer.Typer(no_args_is_help=True, help="A run of meaningless tokens in the prompt.")
    tokens.command("study")(insertion_study)
    tokens.command("sweep")(insertion_sweep)
    app.add_typer(tokens, name="meaningless-tokens")
    app.callback(help="The studies behind mindshare, step by step.")(lambda: None)
    return typer.main.get_command(app)


def data(out: DataFolder, n: Count = TRAIN, n_test: HeldOut = TEST, seed: Seed = 0) -> None:
    """Write maps with one action between them, as chats with spans.

    \b
    Examples:
      mindshare-recipes building-blocks data --out maps
      mindshare-recipes building-blocks data --out few --n 90 --n-test 18 --seed 7
    """
    from mindshare_recipes.maps import samples, write_rows

    splits = {"train": samples("train", n, seed=seed), "test": samples("test", n_test, seed=seed)}
    for name, drawn in splits.items():
        path = write_rows(drawn, out / f"{name}.jsonl")
        say(stdout(), f"{len(drawn):,} samples: {path}")
    classes = "--class hash='#' --class star='*'"
    look = f"mindshare tokens smollm2 --data {out / 'test.jsonl'} --limit 1 {classes}"
    say(stdout(), f"Look at them with: {look}")


def train(
    out: AdapterFolder,
    base: Model = "smollm2",
    n: Count = TRAIN,
    steps: Steps = STEPS,
    rate: Rate = 1e-3,
    seed: Seed = 0,
) -> None:
    """Fine-tune a base to name the action. Killed, it goes on from its last checkpoint.

    \b
    Examples:
      mindshare-recipes building-blocks train --out smollm2-phys
      mindshare-recipes building-blocks train --out quick --n 900 --steps 60
    """
    from mindshare.models import load
    from mindshare_recipes import finetune
    from mindshare_recipes.maps import prompt, samples

    settings = finetune.Settings(steps=steps, learning_rate=rate, seed=seed)
    loaded, maps, console = load(base), samples("train", n, seed=seed), stdout()
    examples = [finetune.example(loaded, prompt(sample), sample.action) for sample in maps]
    with progress_bar(show=True, doing="Training", what="steps") as bar:

        def report(done: int, total: int, loss: float) -> None:
            if bar is not None:
                bar(done, total)
            elif done % 25 == 0 or done == total:
                say(console, f"step {done:,} of {total:,}: loss {loss:.3f}")

        finetune.train(loaded, examples, settings, out=out, report=report)
    say(console, f"The adapter: {out}")
    say(console, f"How good it is: mindshare-recipes building-blocks accuracy {base} {out}")


def accuracy(models: Models = None, n: Count = TEST, seed: Seed = 0, out: JsonFile = None) -> None:
    """Ask models about held-out maps: the share of actions named rightly, with 95 % intervals.

    \b
    Examples:
      mindshare-recipes building-blocks accuracy
      mindshare-recipes building-blocks accuracy smollm2 my-adapter --n 90
    """
    from mindshare.models import load
    from mindshare_recipes.accuracy import accuracy as ask
    from mindshare_recipes.accuracy import write_accuracy
    from mindshare_recipes.maps import samples

    maps, accuracies = samples("test", n, seed=seed), {}
    for name in models or ["smollm2", "smollm2-phys"]:
        loaded = load(name)
        with progress_bar(show=True, doing=f"Asking {loaded.name}", what="maps") as bar:
            accuracies[loaded.name] = ask(loaded, maps, report=bar)
    show_accuracy(accuracies)
    if out is not None:
        write_accuracy(accuracies, out, seed=seed)


def show_accuracy(accuracies: Mapping[str, Accuracy]) -> None:
    """One table per model."""
    from rich.table import Table

    console = stdout()
    for name, one in accuracies.items():
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for title in ("action", "n", "exact", "among nine"):
            table.add_column(title, justify="left" if title == "action" else "right")
        for action, score in one.exact.items():
            table.add_row(action, str(score.n), str(score), str(one.choice[action]))
        say(console, f"{name}: actions named rightly, with 95 % intervals\n")
        console.print(table)
        say(console)


def card(folder: Adapter) -> None:
    """Write the model card of an adapter from its training.json and accuracy.json.

    \b
    Example:
      mindshare-recipes building-blocks accuracy smollm2 my-adapter --out my-adapter/accuracy.json
      mindshare-recipes building-blocks card my-adapter
    """
    from mindshare_recipes.accuracy import write_card

    say(stdout(), f"The card: {write_card(folder)}")


def study(
    out: Folder = Path("results/building-blocks"),
    n: Maps = HELD_OUT,
    base: Model = "smollm2",
    tuned: Tuned = "smollm2-phys",
    replace: Replace = False,
) -> None:
    """Where the base and the tuned model look in held-out maps: charts, tables, sentences.

    \b
    Examples:
      mindshare-recipes building-blocks study
      mindshare-recipes building-blocks study --tuned my-adapter --n 200 --out results/mine
    """
    from mindshare_recipes.building_blocks import run_study

    _run(partial(run_study, base, tuned), out, replace=replace, n=n, models=2)


def using(
    out: Folder = Path("results/using-maps"),
    n: Maps = 200,
    base: Model = "smollm2",
    tuned: Tuned = "smollm2-phys",
) -> None:
    """Does the tuned model answer because it looks at the maps? Hide them, and see what it loses.

    Stopped, it goes on where it was.

    \b
    Examples:
      mindshare-recipes building-blocks using
      mindshare-recipes building-blocks using --n 20 --out results/quick
    """
    from mindshare_recipes.using import run_study

    lines = run_study(base, tuned, out=out, n=n)
    say_lines([*lines, f"Figures and tables: {out}"])


def insertion_study(
    out: Folder = Path("results/meaningless-tokens"),
    n: Subset = None,
    model: Model = "smollm2",
    replace: Replace = False,
) -> None:
    """What 55 meaningless tokens, and a random sentence as long, do to every head's attention.

    \b
    Examples:
      mindshare-recipes meaningless-tokens study
      mindshare-recipes meaningless-tokens study --model my-model --n 10 --out results/mine
    """
    from mindshare_recipes.meaningless_tokens import run_study

    _run(partial(run_study, model, hide=True), out, replace=replace, n=n, mark="• ")


def insertion_sweep(
    out: Folder = Path("results/meaningless-tokens-sweep"),
    n: Problems = 6,
    model: Model = "smollm2",
    replace: Replace = False,
) -> None:
    """The same for other lengths, tokens and places of the run: curves.

    \b
    Example:
      mindshare-recipes meaningless-tokens sweep --n 12
    """
    from mindshare_recipes.meaningless_tokens import SWEEPS, run_sweeps

    _run(partial(run_sweeps, model), out, replace=replace, n=n, mark="• ", folders=SWEEPS)


def _run(
    study: Callable[..., Sequence[str]],
    out: Path,
    *,
    replace: bool,
    n: int | None,
    models: int = 1,
    mark: str = "",
    folders: Iterable[str] = ("",),
) -> None:
    """Run one study with a bar for its passes, and say what came of it; `folders` are below out."""
    from mindshare.cli.results import check_folder

    for folder in folders:
        check_folder(out / folder, replace=replace)
    with passes_bar(show=True, models=models, what="passes") as bar:
        found = study(out=out, n=n, replace=replace, progress=bar)
    say_lines([*(mark + line for line in found), f"Figures and tables: {out}"])
