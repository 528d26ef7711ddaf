"""What do 55 meaningless tokens do to attention? The whole study, from word problems to sentences.

    problems ─► without, with the run, with a random sentence ─► profiles, maps ─► answers, in words

The layout is the source's: a system sentence, the run, the question. Its three heads are drawn, and
the three that change most; the maps show all. Sweeps vary the run's length, token and place. And
the run is hidden from every later token: does attention look as if it had never been there?
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mindshare.api.charts import Chart
from mindshare.api.comparison import ModelProgress
from mindshare.api.insertion import MAPS, insertion
from mindshare.facts import Fact, Key, Number, Sentence, evidence, sentence
from mindshare.facts.cells import EVENNESS, Cell, Numbers, charts_of
from mindshare.facts.find import contrasted, level, levels, results
from mindshare.facts.sentences import RESCALED
from mindshare.facts.words import count, value, wheres
from mindshare.facts.words import inserted as insertion_words
from mindshare.figures import LineOptions, layer_lines
from mindshare.models import LoadedModel, load
from mindshare.naming import WITHOUT
from mindshare.prompts import Prompt
from mindshare.stats import contrast, estimate
from mindshare.stats.response import compare

SYSTEM = "You are a careful tutor. Reason step by step and give the final answer as a number."
# Written for this study, one question a line.
PROBLEMS = Path(__file__).with_name("problems.txt").read_text(encoding="utf-8").splitlines()
RUN, AGAINST = "/ *55", "random-sentence"
HEADS, TOP = "0.0,0.1,0.7", 3  # the source draws heads 1, 2 and 8 of its first layer
FIRST = 0  # the layer that the source draws
KEPT = "the part of attention not given to inserted tokens"
MOSTLY = 0.9  # of the new weights that one factor per query explains
LENGTHS = ["/ *10,25,40,55,70", "? *55", "he *55"]
PLACES = ["between", "start", "end", "random"]
SWEEPS: dict[str, Any] = {  # folder → what varies
    "length-and-token": {"insert": LENGTHS},
    "place": {"insert": RUN, "at": PLACES},
}


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
    progress: ModelProgress | None = None,
    every_chart: bool = True,
    hide: bool = False,
) -> list[str]:
    """Measure, draw, save; the answers to the source's questions, in sentences.

    Without `every_chart`, only those of the source and one map are drawn. With `hide`, every
    problem is also read with the run hidden.
    """
    loaded = load(model) if isinstance(model, str) else model
    chart = insertion(
        {loaded.name: loaded},
        problem_prompts(n),
        insert=RUN,
        against=AGAINST,
        heads=HEADS,
        top=TOP if every_chart else None,
        maps=MAPS if every_chart else ("amplitude",),
        progress=progress,
    )
    found = answers(chart)
    if hide:
        chart, said = with_run_hidden(loaded, chart)
        found += said
    chart.save(out, replace=replace, command=_command("study", model, n))
    return [*found, *chart.notes]


def run_sweeps(
    model: str | LoadedModel,
    *,
    out: Path,
    n: int,
    replace: bool = False,
    progress: ModelProgress | None = None,
) -> list[str]:
    """The run's length and token, then its place, each in a folder of its own; gives the notes."""
    notes: list[str] = []
    for folder, varied in SWEEPS.items():
        chart = insertion(model, problem_prompts(n), **varied, progress=progress)
        chart.save(out / folder, replace=replace, command=_command("sweep", model, n))
        notes += chart.notes
    return notes


def _command(step: str, model: str | LoadedModel, n: int | None) -> str:
    words = ["mindshare-recipes", "meaningless-tokens", step]
    words += [] if n is None else ["--n", str(n)]
    return shlex.join([*words, "--model", str(getattr(model, "reference", model))])


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
    versions = (
        f"without an insertion, with {insertion_words(run)} and with {insertion_words(other)}"
    )
    method = f"Measured on {count(problems, 'word problem')}, each {versions}{few}."
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
                yield Sentence(f"In {at}, {RESCALED}: R² over {MOSTLY}.")

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
        side = (number.value > 0) - (number.value < 0) if evidence.differs(number) else 0
        claims = {
            1: "is larger than",
            -1: "is smaller than",
            0: "does not differ significantly from",
        }
        claim = claims[side] if number.has_interval else "stands beside"
        scales = f"In layer {FIRST}, the factor from old to new attention {claim} {KEPT}"
        return Sentence(f"{scales}: {value(number, 'factor', sign=True)}.", (number,))


# The run hidden. What later tokens compute no longer depends on the run, and yet they stand 55
# positions further from the system sentence than without it. With their positions closed up, the
# pass would be the one without the run, to the last digits (a test does that); so what is left of
# the change is distance alone.


def with_run_hidden(loaded: LoadedModel, chart: Chart) -> tuple[Chart, list[str]]:
    """The chart with a line for the hidden run beside that of the run in sight; and what it says.

    Measured by `divergence`: 0 where the original tokens receive what they receive without.
    """
    response, places = chart.tables["response"], chart.tables["places"]
    run = response["condition"][0].as_py()
    hidden = f"{run}, hidden"
    seen = response.filter(pc.equal(response["condition"], run))
    problems = pc.unique(seen["prompt"]).to_pylist()
    each = [divergences(loaded, places, problem, run) for problem in problems]
    in_sight, unseen = (np.concatenate([one[i].reshape(-1) for one in each]) for i in (0, 1))
    known = seen["divergence"].to_numpy()
    there = ~np.isnan(known)  # a head that rests has none
    if not np.allclose(in_sight[there], known[there], atol=1e-4):
        note = f"{loaded.name} does not take a mask of its own: its run was not hidden"
        return replace(chart, notes=(*chart.notes, note)), []
    both = pa.concat_tables(
        seen.set_column(seen.schema.get_field_index("condition"), "condition", pa.array(names))
        .set_column(seen.schema.get_field_index("divergence"), "divergence", pa.array(numbers))
        .cast(seen.schema)
        for names, numbers in (
            ([run] * len(seen), known),
            ([hidden] * len(seen), np.where(there, unseen, np.nan)),
        )
    )
    responses = {chart.tables["by_layer"]["model"][0].as_py(): both}
    by_layer = estimate(responses, ("divergence",), over=("heads",))
    overall = estimate(responses, ("divergence",), over=("heads", "layers"))
    options = LineOptions(name="run_hidden", conditions=(run, hidden), width="page")
    figure = layer_lines(by_layer, "divergence", options)
    difference = contrast(responses, a=run, b=hidden, measure=("divergence",), over=("heads",))
    tables = {"by_layer_hidden": by_layer, "by_layer_hidden_change": difference}
    grown = replace(chart, figures=(*chart.figures, figure), tables={**chart.tables, **tables})
    return grown, _hidden_sentences(overall, difference, run)


def _hidden_sentences(overall: pa.Table, difference: pa.Table, run: str) -> list[str]:
    """What is left of the change, and the layers where hiding takes something of it away."""
    seen, unseen = (Number.from_row(row, "mean") for row in overall.to_pylist())
    hidden = value(unseen, "divergence", behind=" of JS divergence")
    text = (
        f"With {insertion_words(run)} hidden from later tokens, attention on original tokens "
        f"still moves by {hidden} from before"
    )
    visible = value(seen, "divergence", interval=False)
    lines: list[str] = [Sentence(f"{text}; visible, by {visible}.", (unseen, seen))]
    for side, words in ((-1, "closer to"), (1, "further from")):
        rows = [r for r in difference.to_pylist() if r["difference"] * side > 0]
        layers = [r["layer"] for r in rows if evidence.differs(Number.from_row(r, "difference"))]
        at = wheres([(layer, None) for layer in layers], difference.num_rows)
        hiding = "hiding the inserted tokens from later ones brings attention on original tokens"
        lines += [f"In {at}, {hiding} significantly {words} that before."] if layers else []
    left = "the effect of distance: tokens after them stand further from those before"
    return [*lines, f"With the inserted tokens hidden, what is left is {left}."]


def divergences(
    loaded: LoadedModel, places: pa.Table, problem: str, run: str, *, close_up: bool = False
) -> np.ndarray:
    """[in sight or hidden, layer, head], bits: what original tokens receive, against without.

    As `divergence` in the table `response`: read by the original tokens, the first left out. With
    `close_up`, tokens after the run have the positions that they have without it.
    """
    own = places.filter(pc.equal(places["prompt"], problem))
    before, after = (own.filter(pc.equal(own["condition"], name)) for name in (WITHOUT, run))
    part = np.array(after["part"].to_pylist())
    kept = np.flatnonzero(part == "original")
    partners = after["position_without"].to_numpy()[kept].astype(int)
    inserted = part == "inserted"
    later = np.arange(len(part)) > np.flatnonzero(inserted)[-1]
    positions = np.arange(len(part)) - later * inserted.sum() * close_up
    hidden = later[:, None] & inserted[None]  # [query, key]

    def received(ids: pa.ChunkedArray, hidden: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        """[layer, head, compared token]: what it gets on average from each reader after it."""
        with_run = len(hidden) == len(inserted)
        at = positions if with_run else np.arange(len(hidden))
        reads = np.tril(np.ones_like(hidden), -1) & (~inserted[:, None] if with_run else True)
        total = (_weights(loaded, ids.to_pylist(), hidden, at) * reads).sum(-2)
        mean: np.ndarray = (total / np.maximum(reads.sum(0), 1))[..., tokens[1:-1]]
        return mean  # without the first token, and the last, which nobody reads

    plain = received(before["token_id"], np.zeros((len(before),) * 2, bool), partners)
    both = [received(after["token_id"], one, kept) for one in (np.zeros_like(hidden), hidden)]
    heads = plain.shape[:2]
    pairs = [[x.reshape(-1, x.shape[-1]) for x in (plain, one)] for one in both]
    return np.stack([compare(*pair)["divergence"].reshape(heads) for pair in pairs])


def _weights(
    loaded: LoadedModel, ids: list[int], hidden: np.ndarray, positions: np.ndarray
) -> np.ndarray:
    """[layer, head, query, key] of a pass whose queries do not see these keys; T × T, so short."""
    import torch

    model: Any = loaded.model
    mask = torch.tensor(np.tril(~hidden))[None, None]
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        with torch.inference_mode():
            output = model(
                torch.tensor([ids]),
                attention_mask=torch.zeros(mask.shape).masked_fill(~mask, -torch.inf),
                position_ids=torch.tensor(positions)[None],
                output_attentions=True,
            )
    finally:
        model.set_attn_implementation(before)
    return np.stack([one[0].double().numpy() for one in output.attentions])
