"""What do 55 meaningless tokens do to attention? The whole study, from word problems to sentences.

    problems ─► without, with the run, with a random sentence ─► profiles, maps ─► answers, in words

The layout is the source's: a system sentence, the run, the question. Its three heads are drawn, and
the three that change most; the maps show all. Sweeps vary the run's length, token and place.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from mindshare.charts import Chart, insertion
from mindshare.charts.comparison import Progress
from mindshare.charts.insertion_figures import MAPS
from mindshare.recipes.meaningless_tokens.problems import problem_prompts
from mindshare.recipes.meaningless_tokens.words import answers

if TYPE_CHECKING:
    from mindshare.models import LoadedModel

RUN, AGAINST = "/ *55", "random-sentence"
HEADS, TOP = "0.0,0.1,0.7", 3  # the source draws heads 1, 2 and 8 of its first layer
FEW_MAPS = ("amplitude",)
LENGTHS = ["/ *10,25,40,55,70", "? *55", "he *55"]
PLACES = ["between", "start", "end", "random"]
SWEEP_PROBLEMS = 6

Report = Callable[[int, int], None]  # passes done, passes in all


def run_study(
    model: str | LoadedModel,
    *,
    out: Path,
    n: int | None = None,
    replace: bool = False,
    report: Report | None = None,
    every_chart: bool = True,
) -> list[str]:
    """Measure, draw, save; the answers to the source's questions, in sentences.

    Without every chart, only those of the source and one map are drawn.
    """
    chart = insertion(
        model,
        problem_prompts(n),
        insert=RUN,
        against=AGAINST,
        heads=HEADS,
        top=TOP if every_chart else None,
        maps=MAPS if every_chart else FEW_MAPS,
        progress=_progress(report),
    )
    chart.save(out, replace=replace, command=_command("study", model, n))
    return [*answers(chart), *chart.notes]


def run_sweeps(
    model: str | LoadedModel,
    *,
    out: Path,
    n: int = SWEEP_PROBLEMS,
    replace: bool = False,
    report: Report | None = None,
) -> list[Chart]:
    """The run's length and token, then its place, each in a folder of its own."""
    prompts, progress = problem_prompts(n), _progress(report)
    charts = {
        "length-and-token": insertion(model, prompts, insert=LENGTHS, progress=progress),
        "place": insertion(model, prompts, insert=RUN, at=PLACES, progress=progress),
    }
    for name, chart in charts.items():
        chart.save(out / name, replace=replace, command=_command("sweep", model, n))
    return list(charts.values())


def _command(step: str, model: str | LoadedModel, n: int | None) -> str:
    words = ["mindshare-recipes", "meaningless-tokens", step]
    words += [] if n is None else ["--n", str(n)]
    return shlex.join([*words, "--model", str(getattr(model, "reference", model))])


def _progress(report: Report | None) -> Progress:
    def progress(_model: str, done: int, total: int) -> None:
        if report is not None:
            report(done, total)

    return progress
