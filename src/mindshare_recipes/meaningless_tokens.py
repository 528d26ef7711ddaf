"""What do 55 meaningless tokens do to attention? The whole study, from word problems to sentences.

    problems ─► without, with the run, with a random sentence ─► profiles, maps ─► answers, in words

The layout is the source's: a system sentence, the run, the question. Its three heads are drawn, and
the three that change most; the maps show all. Sweeps vary the run's length, token and place.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from mindshare.api.charts import Chart
from mindshare.api.comparison import Progress
from mindshare.api.insertion import MAPS, insertion
from mindshare.facts import Fact, Key, Number, Sentence, evidence, sentence
from mindshare.facts.cells import EVENNESS, Cell, Numbers, charts_of
from mindshare.facts.find import COMPARED, contrasted, level, levels, results
from mindshare.facts.sentences import count, name, value, wheres
from mindshare.prompts import Prompt
from mindshare.stats import contrast

if TYPE_CHECKING:
    from mindshare.models import LoadedModel

SYSTEM = "You are a careful tutor. Reason step by step and give the final answer as a number."
# Written for this study, one question a line.
PROBLEMS = Path(__file__).with_name("problems.txt").read_text(encoding="utf-8").splitlines()
RUN, AGAINST = "/ *55", "random-sentence"
HEADS, TOP = "0.0,0.1,0.7", 3  # the source draws heads 1, 2 and 8 of its first layer
FIRST = 0  # the layer that the source draws
MOSTLY = 0.9  # of the new weights that one factor per query explains
LENGTHS = ["/ *10,25,40,55,70", "? *55", "he *55"]
PLACES = ["between", "start", "end", "random"]


def problem_prompts(limit: int | None = None) -> list[Prompt]:
    """The problems as chats, named problem-01, problem-02, …"""
    return [
        Prompt.from_chat(
            [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}],
            id=f"problem-{number:02d}",
        )
        for number, question in enumerate(PROBLEMS[:limit], start=1)
    ]


def run_study(
    model: str | LoadedModel,
    *,
    out: Path,
    n: int | None = None,
    replace: bool = False,
    progress: Callable[[int, int], None] | None = None,
    every_chart: bool = True,
) -> list[str]:
    """Measure, draw, save; the answers to the source's questions, in sentences.

    Without `every_chart`, only those of the source and one map are drawn. `progress` is called with
    the passes done and the passes in all.
    """
    chart = insertion(
        model,
        problem_prompts(n),
        insert=RUN,
        against=AGAINST,
        heads=HEADS,
        top=TOP if every_chart else None,
        maps=MAPS if every_chart else ("amplitude",),
        progress=_without_label(progress),
    )
    chart.save(out, replace=replace, command=_command("study", model, n))
    return [*answers(chart), *chart.notes]


def run_sweeps(
    model: str | LoadedModel,
    *,
    out: Path,
    n: int,
    replace: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> list[Chart]:
    """The run's length and token, then its place, each in a folder of its own."""
    prompts, report = problem_prompts(n), _without_label(progress)
    charts = {
        "length-and-token": insertion(model, prompts, insert=LENGTHS, progress=report),
        "place": insertion(model, prompts, insert=RUN, at=PLACES, progress=report),
    }
    for folder, chart in charts.items():
        chart.save(out / folder, replace=replace, command=_command("sweep", model, n))
    return list(charts.values())


def _command(step: str, model: str | LoadedModel, n: int | None) -> str:
    words = ["mindshare-recipes", "meaningless-tokens", step]
    words += [] if n is None else ["--n", str(n)]
    return shlex.join([*words, "--model", str(getattr(model, "reference", model))])


def _without_label(progress: Callable[[int, int], None] | None) -> Progress:
    """There is one model, so its label says nothing."""
    return lambda _model, done, total: None if progress is None else progress(done, total)


# Answers, one fact per sentence: over all layers first, then in the layer that the source draws.
# Whether a number is more or less is said only where the test of the generated descriptions,
# corrected for all that is asked here, says so.


def answers(chart: Chart) -> list[str]:
    """How it was done; what is received; evenness; whether one factor rescales all; labels."""
    conditions = chart.tables["conditions"]
    run, other = pc.unique(conditions["condition"]).to_pylist()
    found = _Findings(charts_of(chart.tables)[0], chart.tables["response"], run, other)
    facts = [*found.received(), found.evenness(FIRST), *found.results()]
    facts.insert(1, found.evenness(None))  # right after the weight lost
    problems = len(pc.unique(conditions["prompt"]))
    few = "; too few to tell anything from chance" if problems < evidence.FEWEST else ""
    versions = f"without an insertion, with {name(run)} and with {name(other)}"
    method = f"{count(problems, 'word problem')}, each {versions}{few}."
    sentences = [sentence(fact) for fact in facts]
    return [method, *sentences, *found.mostly(), found.factor_against_retained()]


@dataclass(frozen=True)
class _Findings:
    """The facts of one model about the run, compared with the other insertion."""

    numbers: Numbers
    response: pa.Table
    run: str  # a condition
    other: str

    def key(self, measure: str, layer: int | None = None) -> Key:
        return Key(measure, self.numbers.models[0], layer, condition=self.run)

    def received(self) -> Iterator[Fact]:
        """Weight and peak, over all layers and in the first; then the weight layer by layer."""
        for layer in (None, FIRST):
            for measure in ("amplitude", "peak_ratio"):
                fact = level(self.numbers, self.key(measure, layer))
                if fact is not None:
                    yield fact
        yield from levels(self.numbers, self.key("amplitude"), 1.0)

    def results(self) -> list[Fact]:
        """What is retained, rescaling, and the labels of both."""
        facts = [fact for fact in results(self.numbers) if fact.kind != "level"]
        return [f for f in facts if f.kind == "labels" or f.subject.condition == self.run]

    def evenness(self, layer: int | None) -> Fact:
        """The run against the other, tested as a description does it."""
        table = self.response
        if layer is not None:
            table = table.filter(pc.equal(table["layer"], layer))
        number = self._paired(table, EVENNESS, self.other, self.run)
        return contrasted(replace(self.key(EVENNESS[0], layer), against=self.other), number)

    def _paired(self, table: pa.Table, measures: tuple[str, ...], a: str, b: str) -> Number:
        """b − a of the first of these measures, by problem, over all heads."""
        difference = contrast(
            {self.numbers.models[0]: table},
            a=a,
            b=b,
            measure=measures,
            over=("heads", "layers"),
        )
        (row,) = (row for row in difference.to_pylist() if row["measure"] == measures[0])
        layers = tuple(("layer", n) for n in pc.unique(table["layer"]).to_pylist())
        cell = Cell("response", (("condition", self.run), *layers), f"{b} − {a}, by problem")
        return Number.from_row(row, "difference", cell=cell)

    def mostly(self) -> Iterator[Sentence]:
        """The layers where one factor per query explains nearly all."""
        for fact in levels(self.numbers, self.key("affine_r2"), MOSTLY):
            if fact.side > 0:
                at = wheres(fact.places, fact.of)
                yield Sentence(f"One factor per query explains more than {MOSTLY} in {at}.")

    def factor_against_retained(self) -> Sentence:
        """By problem, in the layer of the source; the source's theory says that they are one."""
        rows = self.response.filter(
            (pc.field("condition") == self.run) & (pc.field("layer") == FIRST)
        ).drop_columns("condition")
        # Two conditions of one measure, so that the statistics of conditions pair them.
        both = pa.concat_tables(
            rows.drop_columns("factor")
            .append_column("factor", rows[measure])
            .append_column("condition", pa.array([measure] * len(rows)))
            for measure in ("retained", "factor")
        )
        number = self._paired(both, ("factor",), "retained", "factor")
        side = evidence.beyond(number, 0.0, comparisons=2 * len(COMPARED))
        claims = {1: "is above", -1: "is below", 0: "does not differ significantly from"}
        claim = claims[side] if number.has_interval else "is compared with"
        difference = value(number, "factor", sign=True)
        text = f"In layer {FIRST} the factor {claim} what is retained, λ: {difference}."
        return Sentence(text, (number,))
