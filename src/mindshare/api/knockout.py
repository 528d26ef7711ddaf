"""`knockout` hides token classes from chosen queries, heads and layers, and draws what is lost.

What a request will cost is told before any pass is made: see `cost`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice, product
from math import exp
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from mindshare.api.candidates import Candidate, Loading, candidates
from mindshare.api.charts import (
    MOST_LINES,
    Analysis,
    Chart,
    Drawing,
    RunParts,
    as_drawn,
    chosen_look,
    run_analysis,
    skips,
)
from mindshare.api.comparison import Comparison, survey_prompts
from mindshare.attention.jobs import LOGITS
from mindshare.errors import (
    MindshareError,
    SelectionError,
    checked,
    require_all_known,
    require_known,
)
from mindshare.facts.cells import charts_of
from mindshare.facts.find import EFFECTS, claims, facts_of, largest_effects
from mindshare.facts.sentences import sentence
from mindshare.facts.words import count, listed, single
from mindshare.figures import (
    ClassBarsOptions,
    DotOptions,
    Figure,
    HeadMapOptions,
    LineOptions,
    check_names,
    class_bars,
    head_map,
    layer_lines,
    use_dots,
    use_lines,
)
from mindshare.measures import MEASURES, of_knockouts
from mindshare.naming import file_word
from mindshare.prompts import Prompt
from mindshare.stats import estimate, uses
from mindshare.study import (
    KnockoutStudy,
    Measurer,
    PromptEncoder,
    PromptSource,
    as_prompts,
    build_knockout_study,
)
from mindshare.tokens import Classes, TokenClass

if TYPE_CHECKING:
    import pyarrow as pa

_FINDINGS = 12  # sentences that are shown
_ONCE = "before it, once for a kind of model, a check of how knock-outs go through it"
_FIRST = 100  # prompts that are tried until the cost of one is known: they may all be bad


class KnockoutParts(TypedDict, total=False):
    """The parts of a KnockoutStudy by name, as people write them."""

    classes: Classes | Mapping[str, str] | Iterable[str | TokenClass] | None
    policy: str
    answer: str
    choices: Iterable[str]
    layers: int | Iterable[int] | str | None
    heads: int | Iterable[int] | str | None
    window: int
    how: str
    queries: str
    screen: int


class KnockoutDefinitions(KnockoutParts, Drawing, RunParts, total=False):
    """What to hide and how to draw what is lost, by name."""

    tell: Callable[[str], None]  # is told what a request will cost, before it starts


@checked
def knockout(
    models: Any,
    prompts: Any,
    *,
    measure: str = "delta_logprob",
    **parts: Unpack[KnockoutDefinitions],
) -> Chart:
    """What the answer loses when token classes are hidden, by layer, or by layer and head.

    `models` and `prompts` are as for `shares`; prompts bring an answer (a column `answer`, or
    `column={"answer": NAME}`), or `answer="greedy"` takes the model's own (`"greedy:5"`: up to five
    tokens of it). `classes` are hidden from the `queries`: "last" (token of the prompt), "answer"
    (it and the answer's tokens), "later" (every token after the class), or any query set of
    `measure`. `heads` are hidden from together, "each" by itself, or some by number; `"17.4,18.6"`
    hides from these heads (LAYER.HEAD) together and from no others. `window` layers around each
    layer are changed at once. `how` is "mask" (the rest of the row is renormalised), "zero",
    "sink" (the prompt's first token gets what was taken away, also where a window hides it) or
    "mean". `screen=20` estimates the effect of each head from one pass and its gradient, and knocks
    out the 20 heads with the largest estimates and the 20 with the largest contribution. Estimates
    can be too small, too large or of the wrong sign, most of all where the model is sure of its
    answer; only the knock-outs are exact.

    The tables: `effects`, one row per prompt and intervention, and `answers`.
    """
    require_all_known(parts, KnockoutDefinitions.__annotations__, "part of a knock-out")
    require_known(measure, of_knockouts(), f"{measure!r} is no effect of a knock-out")
    if parts.get("how") == "mean":
        parts = {**parts, **_means(models, prompts, parts)}  # type: ignore[typeddict-item]
    if not parts.get("screen"):
        return run_analysis(KnockoutAnalysis.of(measure, parts), models, prompts, parts)
    return _screen_and_confirm(models, prompts, measure, parts)


def _means(models: Any, prompts: Any, parts: Mapping[str, Any]) -> dict[str, Any]:
    """What each class gives each head's output, mean over all prompts that have the class."""
    chosen = candidates(models, parts.get("loading") or Loading())
    if len(chosen) > 1:
        raise SelectionError(
            "how='mean' puts a model's own means in place of a class",
            next_step="give one model at a time",
        )
    study = KnockoutAnalysis.of("delta_logprob", parts).study
    source = as_prompts(prompts, column=parts.get("column"))
    (survey,), kept, _ = survey_prompts(chosen, source, study, skip=skips(parts))
    sums: dict[int, Any] = {}
    counts: Any = 0
    with chosen[0].backend() as backend:
        for encoded, (result,) in Measurer(survey.encoder, backend).results(kept):
            assert encoded.classed is not None
            has = encoded.classed.weights[:, :-1].any(0).astype(float)  # [class]
            counts = counts + has
            for layer, numbers in result.layers.items():
                sums[layer] = sums.get(layer, 0.0) + numbers["output"] * has[:, None]
    digest = sha256()
    means = {}
    for layer, total in sorted(sums.items()):
        means[layer] = (total / counts.clip(min=1)[:, None]).astype("float32")
        digest.update(means[layer].tobytes())
    return {"means": means, "means_hash": digest.hexdigest()[:16]}


def _screen_and_confirm(
    models: Any, prompts: Any, measure: str, parts: KnockoutDefinitions
) -> Chart:
    """Estimate the effects of all heads to first order, then knock out those most likely to matter.

    These are the heads with the largest estimates, and those with the largest contribution: where
    the model is sure of its answer the gradient is flat, and estimates miss what contribution
    finds. The screen is quick and stays in memory; a run keeps the knock-outs.
    """
    most = int(parts["screen"])
    dropped = ("screen", "into")
    asked = {k: v for k, v in parts.items() if k not in dropped and v is not None}
    screen = {"heads": "each", **asked, "screen": True}
    analysis = KnockoutAnalysis.of("first_order", screen)
    first = run_analysis(analysis, models, prompts, screen, skip=skips(parts))
    estimates = first.tables["summary"]
    effects = {label: one.table("effects") for label, one in first.measurements.items()}
    contributions = estimate(effects, "contribution")
    chosen = {*largest_heads(estimates, most), *largest_heads(contributions, most)}
    places = tuple(sorted(chosen))
    confirm = {k: v for k, v in parts.items() if k not in ("screen", "layers", "heads")}
    confirm |= {"heads": "each", "places": places}
    second = run_analysis(KnockoutAnalysis.of(measure, confirm), models, prompts, confirm)
    return Chart(
        figures=(*first.figures, *second.figures),
        tables={
            "screen": estimates,
            "confirmed": confirmed(
                second.tables["summary"], first_order=estimates, contribution=contributions
            ),
            **{k: v for k, v in second.tables.items() if not k.startswith("uses")},
        },
        findings=second.findings,
        measurements=second.measurements,
        notes=(*first.notes, *(note for note in second.notes if note not in first.notes)),
    )


def largest_heads(summary: pa.Table, most: int) -> list[tuple[int, int]]:
    """Return the (layer, head) with the largest means by size, of whichever class and model."""
    rows = [row for row in summary.to_pylist() if row["mean"] is not None]
    rows.sort(key=lambda row: -abs(row["mean"]))
    heads = dict.fromkeys((row["layer"], row["head"]) for row in rows)
    return list(heads)[:most]


def confirmed(summary: pa.Table, **screens: pa.Table) -> pa.Table:
    """Append to the knock-outs' summary the means by which its heads were chosen, by measure."""
    import pyarrow as pa

    keys = ("model", "queries", "layer", "head", "class")
    for measure, screen in screens.items():
        means = {tuple(row[k] for k in keys): row["mean"] for row in screen.to_pylist()}
        values = [means[tuple(row[k] for k in keys)] for row in summary.to_pylist()]
        words = {"definition": MEASURES[measure].definition}
        field = pa.field(measure, pa.float64(), metadata=words)
        summary = summary.append_column(field, pa.array(values, pa.float64()))
    return summary


@dataclass(frozen=True)
class KnockoutAnalysis(Analysis):
    """Effects of knock-outs, summarised over the prompts; models in pairs."""

    study: KnockoutStudy
    measure: str
    drawing: dict[str, Any]
    tell: Callable[[str], None] | None = None

    @classmethod
    def of(cls, measure: str, parts: Mapping[str, Any]) -> KnockoutAnalysis:
        own = KnockoutParts.__annotations__
        chosen = {k: v for k, v in parts.items() if k in own and v is not None}
        if "choices" in chosen:
            chosen["choices"] = tuple(chosen["choices"])
        chosen |= {k: parts[k] for k in ("means", "means_hash") if k in parts}
        if "places" in parts:
            chosen["places"] = parts["places"]
            chosen["layers"] = sorted({layer for layer, _ in parts["places"]})
        study = build_knockout_study(**chosen)
        return cls(study, measure, chosen_look(parts), parts.get("tell"))

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.study.classes)

    def check(self, models: Sequence[Candidate], prompts: PromptSource) -> None:
        check_names(self.drawing, [*self.classes, *(model.label for model in models)])
        for model in models:
            model.check(self.study)
        if self.tell is not None:
            for words in islice(_costs(models[0], self.study, prompts), 1):
                self.tell(f"{words}; {_ONCE}")

    def chart(self, comparison: Comparison) -> Chart:
        effects, answers = comparison.tables("effects"), comparison.tables("answers")
        summary = comparison.estimate(self.measure)
        contrasts = comparison.contrasts(self.measure, heads=not self.study.each)
        looked: list[pa.Table] = []
        joined: dict[str, pa.Table] = {}
        if self.measure in EFFECTS and not self.study.screen:
            looked = [comparison.estimate(name, effects) for name in ("mass", "contribution")]
            joined = {"uses": uses(summary, *looked)}
        used = self._uses(comparison, joined, [*looked, summary])
        figures = self._figures(comparison, summary) + used
        return Chart(
            figures=tuple(figures),
            tables={
                "summary": summary,
                **joined,
                **contrasts,
                **comparison.files("effects", "answers"),
            },
            measurements=comparison.measurements,
            notes=(*comparison.notes, *_blank(answers), *self._unseen(effects)),
            findings=(*_answer(answers), *self._findings({"summary": summary, **contrasts})),
        )

    def _findings(self, tables: Mapping[str, pa.Table]) -> list[str]:
        """What the tables support, the largest effects first; of a few prompts only these."""
        charts = charts_of(as_drawn(tables, self.drawing.get("labels")))
        found = claims([fact for numbers in charts for fact in facts_of(numbers)])
        if not any(numbers.has_intervals for numbers in charts):
            found = [fact for numbers in charts for fact in largest_effects(numbers)]
        several = len(tables["summary"]["model"].unique()) > 1
        return [str(sentence(fact, several=several)) for fact in found[:_FINDINGS]]

    def _uses(
        self,
        comparison: Comparison,
        joined: Mapping[str, pa.Table],
        summaries: Sequence[pa.Table],
    ) -> list[Figure]:
        """Looked at, carried, used: by layer, or head by head where heads were taken singly."""
        if self.study.places or not joined:
            return []
        about = self._about(comparison)
        drawing = {k: v for k, v in self.drawing.items() if k not in ("title", "y_title")}
        if self.study.each:
            about.pop("heads", None)
            return [
                use_dots(joined["uses"], name, DotOptions(model=label, **drawing), about=about)
                for label in comparison.measurements
                for name in self.classes
            ]
        looked, carried, used = summaries
        if len(used["layer"].unique()) < 2:
            return []
        options = LineOptions(classes=self.classes[:MOST_LINES], **({"width": "page"} | drawing))
        return [use_lines(looked, carried, used, options, about=about)]

    def _figures(self, comparison: Comparison, summary: pa.Table) -> list[Figure]:
        about = self._about(comparison)
        if self.study.places and self.study.each:
            return []
        if self.study.places:
            return [class_bars(summary, ClassBarsOptions(**self.drawing), about=about)]
        if not self.study.each:
            options = LineOptions(classes=self.classes[:MOST_LINES], **self.drawing)
            return [layer_lines(summary, options=options, about=about)]
        figures = []
        for label, name in product(comparison.measurements, self.classes):
            file = "_".join(map(file_word, ("effect_map", self.measure, name, label)))
            options_of_map = HeadMapOptions(model=label, name=file, **self.drawing)
            figures.append(head_map(summary, name, options_of_map, about=about))
        return figures

    def _about(self, comparison: Comparison) -> dict[str, str]:
        """What a figure's definition adds."""
        study, window = self.study, self.study.window
        layers = f" of {window} layers around each" if window > 1 else ""
        about = comparison.about(study) | {"hidden": study.how}
        if study.places and not study.each:  # their names and how they are counted: see captions
            return about
        if not study.each:
            about["heads"] = f"all heads{layers} at once"
        elif window > 1:
            about["heads"] = f"each head{layers} at once"
        return about

    def _unseen(self, tables: Mapping[str, pa.Table]) -> list[str]:
        """Classes whose tokens the queries see nowhere: their effect is 0, which is no finding."""
        import pyarrow.compute as pc

        notes = []
        for label, content in tables.items():
            for name in self.classes:
                rows = content.filter(pc.equal(content["class"], name))
                if rows.num_rows and pc.max(rows["n_keys"]).as_py() == 0:
                    notes.append(
                        f"{label}: the queries ({self.study.queries}) see no token of class "
                        f"{name!r} in any layer, so nothing was taken away: the effect is 0"
                    )
        return notes


def _answer(answers: Mapping[str, pa.Table]) -> list[str]:
    """Of one prompt: what each model's loss is a loss of."""
    if any(content.num_rows > 1 for content in answers.values()):
        return []
    said = []
    for label, content in answers.items():
        for row in content.to_pylist():
            own = ", the model's own" if row["greedy"] else ""
            who = f"{label}: the" if len(answers) > 1 else "The"
            size = single(exp(row["logprob"]))
            said.append(f"{who} answer is {_quoted(row['answer'])}{own}: probability {size}.")
    return said


def _blank(answers: Mapping[str, pa.Table]) -> list[str]:
    """Answers that say nothing: their loss is no loss of an answer."""
    notes = []
    for label, content in answers.items():
        said = content.select(["prompt", "answer"]).to_pylist()
        blank = [row for row in said if row["answer"] is not None and not row["answer"].strip()]
        if blank:
            words = listed([*dict.fromkeys(_quoted(row["answer"]) for row in blank)][:3])
            notes.append(
                f"{label}: the answer is blank ({words}) in {len(blank):,} of "
                f"{count(len(said), 'prompt')}, so what is lost is how surely blanks follow: let "
                "the prompt end where a word follows, or take more tokens (--answer greedy:5)"
            )
    return notes


def _quoted(answer: str | None) -> str:
    """`" 7"`, line ends and the like as `\\n`"""
    return json.dumps(answer, ensure_ascii=False)


def _costs(model: Candidate, study: KnockoutStudy, prompts: PromptSource) -> Iterator[str]:
    """`cost` of the first prompts that can be measured; others are refused or left out later."""
    for prompt in islice(prompts, _FIRST):
        with suppress(MindshareError):
            yield cost(model, study, prompt)


def cost(model: Candidate, study: KnockoutStudy, prompt: Prompt) -> str:
    """What the knock-outs of a prompt take, in words; counted on this one."""
    encoded = PromptEncoder(model.tokenizer, study).encode(prompt)
    assert encoded.queries is not None
    assert encoded.answer is not None
    facts, positions = model.facts, max(1, len(encoded.answer.ids))
    tokens = len(encoded.encoded) + positions - 1
    tails = [tokens - int(asked.argmax()) for asked in encoded.queries]  # tokens of a row
    layers = list(study.layers or range(facts.layers))
    slots = len(study.heads or range(facts.heads)) if study.each else 1
    if study.screen:
        effects = slots * len(layers) * len(tails)
        return (
            f"{effects:,} first-order effects a prompt (estimates, which can be far off): a pass "
            f"of {tokens:,} tokens, and one of {max(tails):,} with its gradient"
        )
    count = slots * len(layers)
    if study.places:
        count = len(study.places) if study.each else 1
    starts = [max(0, layer - study.window // 2) for layer in layers]
    depth = sum(facts.layers - start for start in starts) / (len(starts) * facts.layers)
    passes = 1 + count * sum(tails) * depth / tokens
    tokenizer: Any = model.tokenizer.tokenizer
    logits = min(LOGITS, 4 * len(tokenizer) * positions * count * len(tails))
    kept = 8 * tokens * facts.layers * facts.kv_heads * facts.head_dim
    return (
        f"{count * len(tails):,} knock-outs a prompt: the work of about {passes:.1f} passes of "
        f"{tokens:,} tokens, and the logits of each; {(logits + kept) / 2**20:,.0f} MB beside the "
        "model"
    )
