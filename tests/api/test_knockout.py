"""`knockout` from models and prompts to tables, figures and findings; and what it tells before."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mindshare.api.candidates import Loading, candidates
from mindshare.api.comparison import Comparison
from mindshare.api.knockout import cost, knockout, largest_heads
from mindshare.errors import ClassRuleError, PromptError, SelectionError
from mindshare.facts import describe
from mindshare.models import LoadedModel
from mindshare.prompts import Prompt
from mindshare.study import RunFolder, build_knockout_study

from ..figures.drawing import caption, drawn, words

CLASSES = {"hash": "#", "star": "*"}
QUIET = Loading(progress=False)


def prompts(count: int = 2, **details: Any) -> list[Prompt]:
    texts = [f"map {i}: # ** #\n * end {i}" for i in range(count)]
    return [
        Prompt.from_text(text, id=f"p{i}", **{"answer": " yes", **details})
        for i, text in enumerate(texts)
    ]


def test_a_row_for_each_prompt_and_intervention(base: LoadedModel) -> None:
    chart = knockout(base, prompts(), classes=CLASSES, heads="each")
    (measurement,) = chart.measurements.values()
    effects, facts = measurement.table("effects"), base.model.config
    cells = facts.num_hidden_layers * facts.num_attention_heads * len(CLASSES)
    assert effects.num_rows == len(prompts()) * cells
    assert effects["delta_logprob"].null_count == 0
    assert effects["correct"].null_count == effects.num_rows  # there are no choices
    assert measurement.table("answers")["answer"].to_pylist() == [" yes", " yes"]
    assert set(chart.tables) >= {"summary", "uses"}


def test_both_models_by_windows_of_layers(folders: dict[str, Path]) -> None:
    models = {"a": folders["base"], "b": folders["tuned"]}
    chart = knockout(models, prompts(), classes=CLASSES, window=2, loading=QUIET)
    assert [figure.name for figure in chart.figures] == [
        "delta_logprob_by_layer",
        "looked_at_carried_used_delta_logprob",
    ]
    assert "b_minus_a" in chart.tables
    assert chart.tables["summary"]["head"].null_count == chart.tables["summary"].num_rows


def test_sentences_count_layers_as_the_pictures_do(base: LoadedModel) -> None:
    asked: dict[str, Any] = {"classes": CLASSES, "heads": "each"}
    told = [
        [re.findall(r"layer (\d)(?:, head (\d))?", sentence) for sentence in chart.findings]
        for labels in ("zero-based", "one-based")
        for chart in [knockout(base, prompts(12), **asked, labels=labels)]
    ]
    assert any(told[0])
    counted = [[tuple(str(int(n) + 1) for n in at) for at in line] for line in told[0]]
    assert told[1] == counted


def test_a_run_that_goes_on_gives_the_same_tables(base: LoadedModel, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"classes": CLASSES, "answer": "greedy"}
    once = knockout(base, prompts(), **asked, into=tmp_path / "run")
    more = knockout(base, prompts(4), **asked, into=tmp_path / "run")
    fresh = knockout(base, prompts(4), **asked)
    name = next(name for name in fresh.tables if name.startswith("effects_"))
    assert more.tables[name].equals(fresh.tables[name])
    assert once.tables[name].equals(fresh.tables[name].slice(0, once.tables[name].num_rows))


def test_accuracy_among_choices(base: LoadedModel) -> None:
    some = prompts(choices=(" yes", " no"))
    chart = knockout(base, some, classes=CLASSES, measure="correct")
    (measurement,) = chart.measurements.values()
    assert set(measurement.table("effects")["correct"].to_pylist()) <= {0.0, 1.0}
    assert measurement.table("answers")["correct_clean"].null_count == 0
    assert "uses" not in chart.tables  # an accuracy is no loss
    (figure,) = chart.figures
    assert figure.title.startswith("Accuracy with token classes hidden by layer")


def test_a_screen_is_confirmed_by_knock_outs(base: LoadedModel) -> None:
    told: list[str] = []
    chart = knockout(base, prompts(), classes=CLASSES, heads="each", screen=3, tell=told.append)
    confirmed = chart.tables["confirmed"].to_pylist()
    places = {(row["layer"], row["head"]) for row in confirmed}
    screen = chart.tables["screen"]
    carried = knockout(base, prompts(), classes=CLASSES, heads="each").tables["uses"].to_pylist()
    contribution = {
        (row["layer"], row["head"], row["class"]): row["contribution"] for row in carried
    }
    by_size = sorted(contribution, key=lambda place: -abs(contribution[place]))
    most_carried = list(dict.fromkeys(place[:2] for place in by_size))[:3]
    assert places == {*largest_heads(screen, 3), *most_carried}
    assert len(places) > 3
    estimates = {(r["layer"], r["head"], r["class"]): r["mean"] for r in screen.to_pylist()}
    for row in confirmed:
        place = (row["layer"], row["head"], row["class"])
        assert row["first_order"] == estimates[place]
        assert row["contribution"] == pytest.approx(contribution[place], abs=1e-6)
        assert row["mean"] is not None
    assert len(told) == 2


def test_a_screen_of_some_heads_is_of_these_heads(base: LoadedModel) -> None:
    """In whatever order they are named."""
    asked: dict[str, Any] = {"classes": CLASSES, "screen": 2}

    def found(**parts: Any) -> dict[tuple[int, int, str], float]:
        rows = knockout(base, prompts(), **asked, **parts).tables["screen"].to_pylist()
        return {(row["layer"], row["head"], row["class"]): row["mean"] for row in rows}

    every = found()
    assert len(set(every.values())) > 2
    for heads in ([1], [1, 0]):
        some = found(heads=heads)
        assert {head for _, head, _ in some} == set(heads)
        assert some == {place: every[place] for place in some}


def test_what_it_will_cost_is_told_in_passes_and_memory(base: LoadedModel) -> None:
    (model,) = candidates(base, QUIET)
    one = prompts()[0]
    last = cost(model, build_knockout_study(classes=CLASSES, heads="each"), one)
    later = cost(model, build_knockout_study(classes=CLASSES, heads="each", queries="later"), one)

    def passes(words: str) -> float:
        return float(words.partition("about ")[2].split()[0])

    heads = base.model.config.num_attention_heads * base.model.config.num_hidden_layers
    assert last.startswith(f"{2 * heads} knock-outs a prompt")
    assert 1 < passes(last) < passes(later)
    assert "MB beside the model" in last


def test_a_class_that_nobody_sees_is_told(base: LoadedModel) -> None:
    """Hidden from the first tokens only, which come before every star."""
    text = Prompt.from_text("first # then ** end", {"head": (0, 5)}, id="p", answer=" yes")
    chart = knockout(base, text, classes=CLASSES, queries="span:head")
    assert any("see no token of class 'star'" in note for note in chart.notes)
    assert not np.array(chart.tables["summary"]["mean"].to_pylist()).any()


@pytest.mark.parametrize("parts", [{}, {"how": "mean"}, {"screen": 2}])
def test_prompts_that_cannot_be_measured_are_left_out(
    base: LoadedModel, tmp_path: Path, parts: dict[str, Any]
) -> None:
    """As if they had not been there; the first of all is one of them."""
    bad = [
        Prompt.from_text("# ** no answer", id="none"),
        Prompt.from_text("# ** " * 1_000, id="long", answer=" yes"),
    ]
    told: list[str] = []
    asked: dict[str, Any] = {"classes": CLASSES, "heads": "each", **parts}
    into = RunFolder(tmp_path / "run", bad_rows="skip")
    some = [bad[0], *prompts(3), bad[1]]
    found = knockout(base, some, **asked, into=into, tell=told.append)
    alone = knockout(base, prompts(3), **asked)
    assert told
    assert found.tables.keys() == alone.tables.keys()
    assert all(found.tables[name].equals(alone.tables[name]) for name in alone.tables)
    (measurement,) = found.measurements.values()
    assert len(measurement.provenance["prompts"]) == 3
    assert any("Left out, 2 in all" in note for note in found.notes)
    with pytest.raises(PromptError, match="has no answer"):
        knockout(base, some, **asked, tell=told.append)


@pytest.mark.parametrize(
    ("parts", "error", "words"),
    [
        ({"classes": {}}, SelectionError, "no token class to hide"),
        ({"classes": {"tab": "chars:\t"}}, ClassRuleError, "matches no token"),
        ({"measure": "mass"}, SelectionError, "no effect of a knock-out"),
        ({"measure": "first_order"}, SelectionError, "no effect of a knock-out"),
        ({"measure": "first_order", "screen": 2}, SelectionError, "no effect of a knock-out"),
        ({"layers": [9]}, SelectionError, "layer 9 does not exist"),
        ({"layers": [0], "heads": "0.1"}, SelectionError, "say their layers themselves"),
        ({"window": 2, "heads": "0.1"}, SelectionError, "by themselves"),
        ({"choices": [" yes", "\udfff"]}, PromptError, r"surrogate pair \(in the choice\)"),
        ({"prompts": prompts(answer=" a" * 5_000)}, PromptError, "tokens and its answer up to"),
        ({"answer": "greedy:999999"}, PromptError, "its answer up to 999,999, more than the"),
        ({"heads": [9]}, SelectionError, "head 9 does not exist"),
        ({"heads": "0.9"}, SelectionError, "head 9 does not exist"),
        ({"heads": "9.0"}, SelectionError, "layer 9 does not exist"),
        ({"prompts": prompts(answer=None)}, PromptError, "has no answer"),
    ],
)
def test_bad_input_is_refused(base: LoadedModel, parts: Any, error: type, words: str) -> None:
    some = parts.pop("prompts", prompts())
    with pytest.raises(error, match=words):
        knockout(base, some, **{"classes": CLASSES, **parts})


def test_a_prompt_that_a_pass_refuses_is_named(base: LoadedModel) -> None:
    some = [*prompts(), Prompt.from_text("####", id="bad", answer=" yes")]
    with pytest.raises(SelectionError, match=r"holds every key .* \(in prompt bad\)"):
        knockout(base, some, classes=CLASSES)


def test_the_mean_of_a_class_takes_its_place(base: LoadedModel) -> None:
    """Of one prompt the mean is its own: then nothing changes. Of several it does."""
    alone = knockout(base, prompts(1), classes=CLASSES, how="mean", heads="each")
    assert np.abs(alone.tables["summary"]["mean"].to_numpy()).max() < 1e-4
    several = knockout(base, prompts(3), classes=CLASSES, how="mean", heads="each")
    assert np.abs(several.tables["summary"]["mean"].to_numpy()).max() > 1e-3
    with pytest.raises(SelectionError, match="one model at a time"):
        knockout([base, base], prompts(1), classes=CLASSES, how="mean")


def test_one_prompt_tells_its_answer_and_the_largest_loss_of_each_class(base: LoadedModel) -> None:
    chart = knockout(base, prompts(1), classes=CLASSES, answer="greedy")
    (measurement,) = chart.measurements.values()
    (answer,) = measurement.table("answers").to_pylist()
    assert answer["answer"] == base.tokenizer.decode(answer["answer_ids"])
    first, *losses = chart.findings
    assert first.startswith(f"The answer is {json.dumps(answer['answer'], ensure_ascii=False)}")
    assert f"probability {np.exp(answer['logprob']):.3g}"[:14] in first
    rows = chart.tables["summary"].to_pylist()
    for name, said in zip(CLASSES, losses, strict=True):
        lowest = min((row for row in rows if row["class"] == name), key=lambda row: row["mean"])
        assert f"ayer {lowest['layer']}" in said
        assert said.endswith("(one prompt: not tested).")
        assert name in said


def test_several_prompts_do_not_list_their_answers(base: LoadedModel) -> None:
    chart = knockout(base, prompts(2), classes=CLASSES, answer="greedy")
    assert not any("The answer is" in said for said in chart.findings)


@pytest.mark.parametrize(("answer", "warned"), [(" ", True), ("\n", True), (" yes", False)])
def test_a_blank_answer_is_warned_of(base: LoadedModel, answer: str, warned: bool) -> None:
    chart = knockout(base, prompts(1, answer=answer), classes=CLASSES)
    assert any("the answer is blank" in note for note in chart.notes) == warned


@pytest.mark.parametrize("labels", ["zero-based", "one-based"])
def test_heads_hidden_together_are_named_by_every_text(base: LoadedModel, labels: str) -> None:
    """Not a mean over layers, nor all heads: what the axis, the caption and findings say."""
    chart = knockout(base, prompts(12), classes=CLASSES, heads="0.1,1.0", labels=labels)
    (figure,) = chart.figures
    heads = "heads L0H1 and L1H0 together" if labels == "zero-based" else "heads L1H2 and L2H1"
    assert chart.findings
    for text in (*chart.findings, caption(figure), figure.definition, figure.description):
        assert heads in text
        assert not re.search(r"mean o[fv]|on average|all heads|by layer|1 layer", text), text
    assert any(heads in text for text in words(drawn(figure)))
    assert "average" not in figure.title
    assert "layer" not in figure.title


def test_of_one_prompt_heads_hidden_together_are_named(base: LoadedModel) -> None:
    chart = knockout(base, prompts(1), classes=CLASSES, heads="0.1,1.0,1.1,0.0")
    losses = [said for said in chart.findings if "answer is" not in said]
    assert len(losses) == len(CLASSES)
    assert all("at 4 heads together" in said for said in losses)
    (figure,) = chart.figures
    assert figure.title.startswith("Effect of hiding token classes at 4 heads together")
    for text in (figure.definition, figure.description, describe(chart.tables).markdown):
        assert "heads L0H1, L1H0, L1H1 and L0H0 together" in text


def test_every_measure_is_resampled_once(
    base: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    estimate = Comparison.estimate

    def counted(self: Comparison, measure: Any, *rest: Any, **options: Any) -> Any:
        asked.append(measure)
        return estimate(self, measure, *rest, **options)

    monkeypatch.setattr(Comparison, "estimate", counted)
    chart = knockout(base, prompts(), classes=CLASSES)
    assert any(one.name.startswith("looked_at_carried_used") for one in chart.figures)
    assert sorted(asked) == ["contribution", "delta_logprob", "mass"]
