"""`mindshare-recipes`: the studies behind mindshare as commands, each step by itself.

building-blocks data       write the maps as JSON Lines
building-blocks train      fine-tune a base on them
building-blocks accuracy   how many held-out actions are named, before and after
building-blocks study      where the two models look, with figures and sentences
meaningless-tokens study   what a run of meaningless tokens does to every head
meaningless-tokens sweep   the same for other lengths, tokens and places of the run
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mindshare.cli import run_command

if TYPE_CHECKING:
    from mindshare.recipes.building_blocks.accuracy import Accuracy

TRAIN, TEST = 12_000, 540  # samples; the shipped adapter's
STEPS = 900
HELD_OUT = 108  # maps of the study

Count = Annotated[int, typer.Option("--n", metavar="N", min=1, help="How many maps.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Decides which, and their order.")]
Base = Annotated[
    str, typer.Option("--base", metavar="MODEL", help="What `mindshare models` lists, or a path.")
]


def main(arguments: Sequence[str] | None = None) -> None:
    sys.exit(run_command(command, arguments, name="mindshare-recipes"))


def command() -> Any:
    app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
    blocks = typer.Typer(no_args_is_help=True, help="ASCII maps and the action between them.")
    for function in (data, train, accuracy, card, study):
        blocks.command()(function)
    app.add_typer(blocks, name="building-blocks")
    tokens = typer.Typer(no_args_is_help=True, help="A run of meaningless tokens in the prompt.")
    tokens.command("study")(insertion_study)
    tokens.command("sweep")(insertion_sweep)
    app.add_typer(tokens, name="meaningless-tokens")
    app.callback()(_about)
    return typer.main.get_command(app)


def _about() -> None:
    """The studies behind mindshare, step by step."""


def data(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Gets train.jsonl, test.jsonl")],
    n: Count = TRAIN,
    n_test: Annotated[
        int, typer.Option("--n-test", metavar="N", min=1, help="How many held-out samples.")
    ] = TEST,
    seed: Seed = 0,
) -> None:
    """Write maps with one action between them, as chats with spans.

    \b
    Examples:
      mindshare-recipes building-blocks data --out maps
      mindshare-recipes building-blocks data --out few --n 90 --n-test 18 --seed 7
    """
    from mindshare.cli.screen import say, stdout
    from mindshare.recipes.building_blocks.rows import write_rows
    from mindshare.recipes.building_blocks.samples import samples

    drawn = {"train": samples("train", n, seed=seed), "test": samples("test", n_test, seed=seed)}
    for name, some in drawn.items():
        path = write_rows(some, out / f"{name}.jsonl")
        say(stdout(), f"{len(some):,} samples: {path}")
    say(stdout(), f"Look at them with: mindshare tokens smollm2 --data {out / 'test.jsonl'} "
                  "--limit 1 --class hash='#' --class star='*'")  # fmt: skip


def train(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Gets the adapter.")],
    base: Base = "smollm2",
    n: Count = TRAIN,
    steps: Annotated[
        int, typer.Option("--steps", metavar="N", min=1, help="Of 16 samples each.")
    ] = STEPS,
    rate: Annotated[
        float, typer.Option("--rate", metavar="X", help="Learning rate, at its peak.")
    ] = 1e-3,
    seed: Seed = 0,
) -> None:
    """Fine-tune a base to name the action. Killed, it goes on from its last checkpoint.

    \b
    Examples:
      mindshare-recipes building-blocks train --out smollm2-phys
      mindshare-recipes building-blocks train --out quick --n 900 --steps 60
    """
    from mindshare.cli.screen import progress_bar, say, stdout
    from mindshare.models import load
    from mindshare.recipes.building_blocks.rows import prompt
    from mindshare.recipes.building_blocks.samples import samples
    from mindshare.recipes.finetune.batches import example
    from mindshare.recipes.finetune.settings import Settings
    from mindshare.recipes.finetune.train import train as run

    settings = Settings(steps=steps, learning_rate=rate, seed=seed)
    loaded = load(base)
    examples = [example(loaded, prompt(one), one.action) for one in samples("train", n, seed=seed)]
    console = stdout()
    with progress_bar(show=True, doing="Training", what="steps") as bar:

        def report(done: int, total: int, loss: float) -> None:
            if bar is not None:
                bar(done, total)
            elif done % 25 == 0 or done == total:
                say(console, f"step {done:,} of {total:,}: loss {loss:.3f}")

        run(loaded, examples, settings, out=out, report=report)
    say(console, f"The adapter: {out}")
    say(console, f"How good it is: mindshare-recipes building-blocks accuracy {base} {out}")


def accuracy(
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MODEL]...", help="Models to ask.", show_default=False),
    ] = None,
    n: Count = TEST,
    seed: Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Also write JSON.", show_default=False),
    ] = None,
) -> None:
    """Ask models about held-out maps: the share of actions named rightly, with 95 % intervals.

    \b
    Examples:
      mindshare-recipes building-blocks accuracy
      mindshare-recipes building-blocks accuracy smollm2 my-adapter --n 90
    """
    from mindshare.cli.screen import progress_bar
    from mindshare.models import load
    from mindshare.recipes.building_blocks.accuracy import accuracy as ask
    from mindshare.recipes.building_blocks.accuracy import write
    from mindshare.recipes.building_blocks.samples import samples

    asked, found = samples("test", n, seed=seed), {}
    for name in models or ["smollm2", "smollm2-phys"]:
        loaded = load(name)
        with progress_bar(show=True, doing=f"Asking {loaded.name}", what="maps") as bar:
            found[loaded.name] = ask(loaded, asked, report=bar)
    show_accuracy(found)
    if out is not None:
        write(found, out, seed=seed)


def show_accuracy(found: Mapping[str, Accuracy]) -> None:
    """A table a model."""
    from rich.table import Table

    from mindshare.cli.screen import say, stdout
    from mindshare.recipes.building_blocks.accuracy import in_words

    console = stdout()
    for name, one in found.items():
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for title in ("action", "n", "exact", "among nine"):
            table.add_column(title, justify="left" if title == "action" else "right")
        for action, score in one.exact.items():
            row = (action, str(score.n), in_words(score), in_words(one.choice[action]))
            table.add_row(*row)
        say(console, f"{name}: actions named rightly, with 95 % intervals")
        say(console)
        console.print(table)
        say(console)


def card(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The adapter's folder.")],
) -> None:
    """Write the model card of an adapter from its training.json and accuracy.json.

    \b
    Example:
      mindshare-recipes building-blocks accuracy smollm2 my-adapter --out my-adapter/accuracy.json
      mindshare-recipes building-blocks card my-adapter
    """
    from mindshare.cli.screen import say, stdout
    from mindshare.recipes.building_blocks.card import write_card

    say(stdout(), f"The card: {write_card(folder)}")


def study(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to write.")] = Path(
        "results/building-blocks"
    ),
    n: Annotated[int, typer.Option("--n", metavar="N", min=2, help="Held-out maps.")] = HELD_OUT,
    base: Base = "smollm2",
    tuned: Annotated[
        str, typer.Option("--tuned", metavar="MODEL", help="The fine-tuned model.")
    ] = "smollm2-phys",
    replace: Annotated[bool, typer.Option("--replace", help="Replace an earlier study.")] = False,
) -> None:
    """Where the base and the tuned model look in held-out maps: charts, tables, sentences.

    \b
    Examples:
      mindshare-recipes building-blocks study
      mindshare-recipes building-blocks study --tuned my-adapter --n 200 --out results/mine
    """
    from mindshare.cli.destination import check_folder
    from mindshare.cli.screen import progress_bar, say, stdout
    from mindshare.recipes.building_blocks.study import run_study

    check_folder(out, replace=replace)
    with progress_bar(show=True, what="passes") as bar:
        found = run_study(base, tuned, out=out, n=n, replace=replace, progress=bar)
    for sentence in found:
        say(stdout(), sentence)
    say(stdout(), f"Figures and tables: {out}")


ModelOption = Annotated[
    str, typer.Option("--model", metavar="MODEL", help="What `mindshare models` lists, or a path.")
]


def insertion_study(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to write.")] = Path(
        "results/meaningless-tokens"
    ),
    n: Annotated[
        int | None,
        typer.Option("--n", metavar="N", min=2, help="Problems. (default: all 24)"),
    ] = None,
    model: ModelOption = "smollm2",
    replace: Annotated[bool, typer.Option("--replace", help="Replace an earlier study.")] = False,
) -> None:
    """What 55 meaningless tokens, and a random sentence as long, do to every head's attention.

    \b
    Examples:
      mindshare-recipes meaningless-tokens study
      mindshare-recipes meaningless-tokens study --model my-model --n 10 --out results/mine
    """
    from mindshare.cli.destination import check_folder
    from mindshare.cli.screen import progress_bar, say, stdout
    from mindshare.recipes.meaningless_tokens.study import run_study

    check_folder(out, replace=replace)
    with progress_bar(show=True, what="passes") as bar:
        found = run_study(model, out=out, n=n, replace=replace, report=bar)
    for sentence in found:
        say(stdout(), f"• {sentence}")
    say(stdout(), f"Figures and tables: {out}")


def insertion_sweep(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to write.")] = Path(
        "results/meaningless-tokens-sweep"
    ),
    n: Annotated[int, typer.Option("--n", metavar="N", min=2, help="Problems.")] = 6,
    model: ModelOption = "smollm2",
    replace: Annotated[bool, typer.Option("--replace", help="Replace earlier sweeps.")] = False,
) -> None:
    """The same for other lengths, tokens and places of the run: curves.

    \b
    Example:
      mindshare-recipes meaningless-tokens sweep --n 12
    """
    from mindshare.cli.screen import progress_bar, say, stdout
    from mindshare.recipes.meaningless_tokens.study import run_sweeps

    with progress_bar(show=True, what="passes") as bar:
        charts = run_sweeps(model, out=out, n=n, replace=replace, report=bar)
    for chart in charts:
        for note in chart.notes:
            say(stdout(), f"• {note}")
    say(stdout(), f"Figures and tables: {out}")
