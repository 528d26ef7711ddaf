"""`parts` draws how much attention each part of a prompt gets; wordings and models side by side.

a prompt ─► its parts (marks, messages, headings, paragraphs) ─► mass of each ─► bars, sentences
                                         └─► what each token receives ─► the text in colours
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, count, product
from string import ascii_uppercase
from typing import Any, Unpack

from mindshare.api.candidates import Candidate, Loading, candidates
from mindshare.api.charts import Chart, Drawing, chosen_look
from mindshare.api.comparison import Comparison, ModelProgress
from mindshare.errors import PromptError, checked, require_all_known
from mindshare.facts.parts import FIRST, part_sentences
from mindshare.figures import (
    Figure,
    PartBarsOptions,
    TokenStripOptions,
    check_names,
    part_bars,
    received_strip,
)
from mindshare.naming import UNNAMED, file_word
from mindshare.prompts import DividedPrompt, divided, paired
from mindshare.prompts.given import as_prompt
from mindshare.study import Measurement, Measurer, PromptEncoder, Study, as_prompts, build_study

MOST = 4  # wordings or models that one picture holds
STRIP = 800  # tokens of a prompt whose text is drawn


class PartsDefinition(Drawing, total=False):
    """How parts are measured and drawn, by name."""

    queries: str  # which tokens are asked where they look; by default the last
    layers: int | Sequence[int] | str | None  # the mean is over these; by default all
    chunk_tokens: int | None  # feed a prompt in pieces of this many tokens
    loading: Loading
    progress: ModelProgress


@checked
def parts(models: Any, prompts: Any, **how: Unpack[PartsDefinition]) -> Chart:
    """How much attention each part of a prompt gets, and what is ignored.

    Parts are found, not named: marked spans, messages, headings or paragraphs. `prompts` is one
    prompt (a text, a chat, a `Prompt`), several wordings of it, or label → prompt; `models` is one
    model, or several. What `queries` (the last token, unless you say otherwise) give is averaged
    over all heads and `layers`. The first figure has a bar per part; the others are the text of
    each prompt, every token in the colour of what it receives.
    """
    require_all_known(how, PartsDefinition.__annotations__, "keyword of parts")
    chosen = candidates(models, how.get("loading") or Loading())
    wordings = _wordings(prompts)
    if len(chosen) * len(wordings) > MOST:
        raise PromptError(
            f"{len(wordings)} wordings in {len(chosen)} models are too many for one picture",
            allowed=f"up to {MOST} side by side",
            next_step="for means over many prompts: mindshare shares --class NAME=span:NAME",
        )
    labels = _labels(wordings)
    PartBarsOptions(**chosen_look(how), parts=labels)  # refuses what can't be drawn
    shown = product((model.label for model in chosen), wordings)
    bars = [_label(*one, len(chosen), len(wordings)) for one in shown]
    check_names(chosen_look(how), [*labels, FIRST, *UNNAMED, *bars])
    encoders = _encoders(chosen, wordings, how)
    measured: dict[str, Measurement] = {}
    divisions: dict[str, DividedPrompt] = {}
    for model in chosen:
        with model.backend() as backend:
            for wording, found in wordings.items():
                label = _label(model.label, wording, len(chosen), len(wordings))
                encoder = encoders[model.label, wording]
                tell = how.get("progress")
                report = None if tell is None else partial(tell, label)
                measurer = Measurer(encoder, backend, progress=report)
                measured[label], divisions[label] = measurer.measure([found.prompt]), found
    notes = _notes(wordings)
    for label, one in measured.items():
        n = one.table("tokens").num_rows
        if n > STRIP:
            notes.append(f"{label}: of {n:,} tokens, the last {STRIP} are drawn as text")
    return _chart(measured, divisions, _labels(wordings), notes, how)


def _encoders(
    models: Sequence[Candidate], wordings: Mapping[str, DividedPrompt], how: PartsDefinition
) -> dict[tuple[str, str], PromptEncoder]:
    """By model and wording; what a model can't do is refused before any weights are read."""
    studies = {wording: _study(found, how) for wording, found in wordings.items()}
    for model, study in product(models, studies.values()):
        model.check(study)
    encoders = {
        (model.label, wording): PromptEncoder(model.tokenizer, study)
        for model, (wording, study) in product(models, studies.items())
    }
    for (_, wording), encoder in encoders.items():
        encoder.encode_and_keep(wordings[wording].prompt)
    return encoders


def _wordings(prompts: Any) -> dict[str, DividedPrompt]:
    """Label → prompt by its parts; unnamed ones are A, B, C."""
    if isinstance(prompts, Mapping):
        named = {str(k): replace(as_prompt(prompt), id=str(k)) for k, prompt in prompts.items()}
    else:
        items = list(as_prompts(prompts))
        ids = [None if one.id == one.content_hash() else one.id for one in items]
        free = (name for name in map(str, chain(ascii_uppercase, count(27))) if name not in ids)
        named = {id or next(free): one for id, one in zip(ids, items, strict=True)}
    return paired({label: divided(prompt) for label, prompt in named.items()})


def _labels(wordings: Mapping[str, DividedPrompt]) -> dict[str, str]:
    """Part → what it is called, in the order of the first wording, then of the others.

    A paragraph that begins otherwise in another wording is called by its number.
    """
    labels: dict[str, str] = {}
    texts: dict[str, str] = {}
    for wording, found in wordings.items():
        for part, label in found.labels.items():
            if part not in labels:
                labels[part] = f"{label} in {wording}" if label in labels.values() else label
            elif labels[part] != label and texts[part] != found.texts[part]:
                labels[part] = part.replace("-", " ")
            texts.setdefault(part, found.texts[part])
    return labels


def _notes(wordings: Mapping[str, DividedPrompt]) -> list[str]:
    """What could not be divided; parts that stand in no other wording, and what to do about it."""
    notes = [found.note for found in wordings.values() if found.note]
    parts = [set(found.labels) for found in wordings.values()]
    if not notes and any(one != parts[0] for one in parts):
        mark = "to compare a part, mark it in each, <<name>>…<</name>>, and add --marked"
        notes.append(f"The wordings have different parts: {mark}")
    return notes


def _label(model: str, wording: str, models: int, wordings: int) -> str:
    if wordings == 1:
        return model
    return wording if models == 1 else f"{model}, {wording}"


def _study(found: DividedPrompt, how: PartsDefinition) -> Study:
    """Of nested marks, a token belongs to the inner one, which is the shorter."""
    spans = found.prompt.spans

    def length(name: str) -> int:
        return sum(range_[-1] - range_[-2] for range_ in spans[name])

    rules = {FIRST: "first"} | {name: f"span:{name}" for name in sorted(spans, key=length)}
    study = build_study(
        classes=rules,
        measures=["mass", "received"],
        layers=how.get("layers"),
        queries=how.get("queries", "last"),
        chunk_tokens=how.get("chunk_tokens"),
        near=-1,  # what the queries give themselves counts as in their masses
    )
    return replace(study, mean_over=("heads", "layers"))


def _chart(
    measured: Mapping[str, Measurement],
    divisions: Mapping[str, DividedPrompt],
    labels: Mapping[str, str],
    notes: Sequence[str],
    how: PartsDefinition,
) -> Chart:
    found = Comparison(dict(measured), tuple(dict.fromkeys(notes)), [])
    means = {n: found.estimate(n) for n in ("mass", "expected", "lift")}
    means = {"summary": means.pop("mass"), **means}
    look, texts = chosen_look(how), {label: one.texts for label, one in divisions.items()}
    every = [{text[part] for text in texts.values() if part in text} for part in labels]
    reworded = tuple(part for part, of in zip(labels, every, strict=True) if len(of) > 1)
    options = PartBarsOptions(**look, parts=labels, reworded=reworded)
    figures = [part_bars(means["summary"], means["expected"], options)]
    for label, one in measured.items():
        name = file_word(f"text_{label}") if len(measured) > 1 else "text"
        figures.append(_text(label, one, name, look))
    own = found.files("mass", "received", "tokens", "classes")
    return Chart(
        figures=tuple(figures),
        tables=means | own,
        measurements=found.measurements,
        notes=found.notes,
        findings=part_sentences(means, labels, texts),
    )


def _text(label: str, one: Measurement, name: str, look: Mapping[str, Any]) -> Figure:
    """The prompt in colours; of a long one, its end. A title of one's own is that of the bars."""
    received, tokens = one.table("received"), one.table("tokens")
    n = tokens.num_rows
    options = TokenStripOptions(
        name=name,
        **{n: x for n, x in look.items() if n not in ("title", "subtitle", "y_title")},
        # A set of few queries has no tokens that are read by fewer than the others.
        few=TokenStripOptions.few if received["queries"][0].as_py() == "all" else 1,
        positions=(n - STRIP, n) if n > STRIP else None,
    )
    return received_strip(received, tokens, options, model=label)
