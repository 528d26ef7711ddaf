"""Charts of an insertion to look at: two models that read ## differently, and what they drew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mindshare.api.candidates import Loading
from mindshare.api.charts import Chart
from mindshare.api.insertion import MAPS, insertion
from mindshare.figures import Figure
from mindshare.prompts import Prompt
from mindshare.stats import Resampling

QUICK: dict[str, Any] = {
    "loading": Loading(progress=False),
    "resampling": Resampling(resamples=200),
}
RUNS = ("# ×8", "# ×12")
PROMPTS = [
    Prompt.from_text("map: # ** #\n * end", {"map": (5, 13)}, id="one"),
    Prompt.from_text("see ## and * here", {"map": (4, 12)}, id="two"),
]


def two_models(folders: dict[str, Path]) -> Chart:
    """Some heads of A are named, none of B."""
    return insertion(
        {"A": folders["base"], "B": folders["other"]},
        PROMPTS,
        insert="#*8,12",
        against="random-sentence",
        at="before:map",
        heads={"A": "0.1,1.2"},
        maps=MAPS,
        **QUICK,
    )


def names(chart: Chart) -> list[str]:
    return [figure.name for figure in chart.figures]


def figure(chart: Chart, name: str) -> Figure:
    return next(one for one in chart.figures if one.name == name)


def heads_drawn(chart: Chart, name: str) -> list[tuple[int, int]]:
    rows = figure(chart, name).table.select(["layer", "head"]).to_pylist()
    return list(dict.fromkeys((row["layer"], row["head"]) for row in rows))


def means(chart: Chart, model: str, condition: str, measure: str) -> dict[tuple[int, int], float]:
    """(layer, head) → the mean over prompts, as the chart's summary has it."""
    return {
        (row["layer"], row["head"]): row["mean"]
        for row in chart.tables["summary"].to_pylist()
        if (row["model"], row["condition"], row["measure"]) == (model, condition, measure)
    }
