"""Sentences made from planted numbers: what is true is said, what is not known is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mindshare.charts.insertion_figures import Looked
from mindshare.charts.insertion_words import alignment_notes, findings
from mindshare.figures import Style
from mindshare.models import Reader
from mindshare.prompts import Prompt
from mindshare.stats import Resampling, summarise_response
from mindshare.study import Measurement, Versions, build_insertion_study, read_versions
from tests.stats.insertions import response_table
from tests.tokens.conftest import build
from tests.tokens.families import family

QUICK = Resampling(resamples=200)
RUN, OTHER = "/ ×3", "random sentence"


def responses(prompts: int = 6, *, conditions: Any = (RUN, OTHER), **numbers: Any) -> pa.Table:
    """2 layers of 4 heads; numbers broadcast to [prompt, condition, layer, head]."""
    size = (prompts, len(conditions), 2, 4)
    planted: dict[str, Any] = {
        name: np.broadcast_to(np.asarray(x, float), size) for name, x in numbers.items()
    }
    return response_table(np.ones(size), conditions=conditions, **planted)


def told(models: dict[str, pa.Table] | pa.Table, *, against: str | None = None) -> list[str]:
    named = models if isinstance(models, dict) else {"m": models}
    looked = Looked(
        measured={label: Measurement({}, {}) for label in named},
        study=build_insertion_study("/ *3", against=against),
        prompt="p0000",
        heads={},
        top={},
        summary=summarise_response(named, options=QUICK),
        by_layer=summarise_response(named, over_heads=True, options=QUICK),
        overall=summarise_response(named, over_heads=True, over_layers=True, options=QUICK),
        style=Style(),
        drop_first=False,
    )
    return list(findings(looked, named, QUICK))


def by_prompt(*values: float) -> np.ndarray:
    return np.array(values).reshape(-1, 1, 1, 1)


def by_condition(run: float, other: float) -> np.ndarray:
    return np.array([run, other]).reshape(1, 2, 1, 1)


# Findings.


def test_the_numbers_of_the_sentences_are_those_planted() -> None:
    layers = np.array([1.0, 0.4]).reshape(1, 1, 2, 1)
    numbers: dict[str, Any] = {
        "amplitude": 0.5,
        "peak_ratio": 0.25,
        "retained": 0.75,
        "factor": 0.625,
    }
    content = responses(
        conditions=(RUN,), **numbers, affine_r2=layers, affine_r2_after=layers * 0.875
    )
    weights, rescaled, _ = told(content)
    assert weights == (
        "Under '/ ×3' the original tokens receive 0.500 [0.500, 0.500] times what they received "
        "without it, their highest peak 0.250 [0.250, 0.250] times (6 prompts, mean over all "
        "heads); later original tokens keep 0.750 [0.750, 0.750] of their attention for original "
        "ones."
    )
    assert "explains 0.700 [0.700, 0.700] of the new weights of all original tokens" in rescaled
    assert "over all layers, 1.000 [1.000, 1.000] in layer 0, and 0.875" in rescaled
    assert "the smallest mean of a layer is 0.400 [0.400, 0.400] (layer 1)" in rescaled
    assert "mean factor is 0.625 [0.625, 0.625], the mean of retained 0.750" in rescaled


def test_the_interval_is_over_prompts_and_one_prompt_has_none() -> None:
    six, *_ = told(responses(conditions=(RUN,), amplitude=by_prompt(*(0.2, 0.4, 0.9) * 2)))
    assert "receive 0.500 [0." in six
    three, *_ = told(responses(3, conditions=(RUN,), amplitude=by_prompt(0.2, 0.4, 0.9)))
    assert "receive 0.500 times" in three
    one, *_ = told(responses(1, conditions=(RUN,), amplitude=0.5))
    assert "receive 0.500 times" in one
    assert "(1 prompt, mean over all heads)" in one


def test_heads_are_counted_by_their_label() -> None:
    kept: dict[str, Any] = {"shape": 0.99, "entropy_change": 0.0, "peak_ratio": 0.5}
    amplitude = np.full((1, 1, 2, 4), 0.5)
    amplitude[..., 1, 3] = 1.0
    content = responses(conditions=(RUN,), **kept, amplitude=amplitude)
    assert told(content)[2] == "Heads under '/ ×3': 7 damped, 1 unchanged."
    lost = responses(conditions=(RUN,), **kept | {"shape": 0.1}, amplitude=amplitude)
    assert told(lost)[2] == "Heads under '/ ×3': 8 reconfigured."


def test_each_condition_and_each_model_has_its_sentences() -> None:
    once = told(responses(), against="random-sentence")
    assert [RUN in s for s in once] == [True] * 3 + [False] * 3 + [True]
    assert not any(sentence.startswith("m: ") for sentence in once)
    amplitudes = {"base": 0.5, "tuned": 0.25}
    models = {m: responses(conditions=(RUN,), amplitude=a) for m, a in amplitudes.items()}
    twice = told(models)
    assert [sentence.split(": ")[0] for sentence in twice] == ["base"] * 3 + ["tuned"] * 3
    assert "receive 0.500 " in twice[0]
    assert "receive 0.250 " in twice[3]


def test_nothing_stands_after_the_insertion() -> None:
    nothing: dict[str, Any] = dict.fromkeys(
        ("retained", "factor", "affine_r2", "affine_r2_after"), np.nan
    )
    weights, rescaled, _ = told(responses(conditions=(RUN,), amplitude=0.5, **nothing))
    assert rescaled == "No original token stands after '/ ×3': nothing can be rescaled."
    assert "receive 0.500" in weights
    assert "keep –" not in weights  # no number, no claim


def test_heads_without_a_label_are_not_a_list_of_nothing() -> None:
    content = responses(1, conditions=(RUN,), shape=np.nan, amplitude=np.nan)
    assert not any(sentence.endswith(": .") for sentence in told(content))


@pytest.mark.parametrize(
    ("evenness", "words"),
    [
        (by_condition(0.9, 0.6), "more even in the first (differs from zero, p < 0.05)"),
        (by_condition(0.6, 0.9), "less even in the first (differs from zero, p < 0.05)"),
        (np.repeat(by_prompt(*(0.4, 0.9, 0.5) * 2), 2, 1) + by_condition(0, 0), "undecided"),
        (
            np.array([[0.9, 0.5], [0.4, 0.8], [0.7, 0.6]] * 2).reshape(6, 2, 1, 1),
            "undecided",
        ),
    ],
)
def test_which_weights_are_more_even(evenness: np.ndarray, words: str) -> None:
    last = told(responses(weight_evenness=evenness), against="random-sentence")[-1]
    assert last.endswith(f": {words}.")
    mean = np.broadcast_to(evenness, (6, 2, 1, 1)).mean((0, 2, 3))
    assert f"'/ ×3' {mean[0]:.3f}, inside 'random sentence' {mean[1]:.3f}" in last
    assert f"difference {mean[0] - mean[1]:+.3f} [".replace("-", "−") in last


@pytest.mark.parametrize(("prompts", "words"), [(1, "1 prompt"), (3, "3 prompts")])
def test_of_few_prompts_nothing_is_claimed_however_far_apart(prompts: int, words: str) -> None:
    content = responses(prompts, weight_evenness=by_condition(0.9, 0.6))
    last = told(content, against="random-sentence")[-1]
    assert last.endswith(f"difference +0.300: nothing can be told from chance with {words}.")
    assert "more even" not in last


def test_what_could_have_been_found_is_said() -> None:
    values = np.random.default_rng(0).normal(0.5, 0.1, (12, 2, 1, 1))
    last = told(responses(12, weight_evenness=values), against="random-sentence")[-1]
    assert "undecided; a difference of 0." in last
    assert last.endswith("could have been found with 80 % power.")


def test_a_run_of_one_token_has_no_evenness() -> None:
    found = told(responses(weight_evenness=np.nan), against="random-sentence")
    assert len(found) >= 6
    assert not any("None" in sentence or "nan" in sentence for sentence in found)


# Notes.


def read(tokenizer: Any, prompt: Prompt, insert: str, **parts: Any) -> Versions:
    reader = Reader(tokenizer, "tiny", None, None)
    return read_versions(reader, prompt, build_insertion_study(insert, **parts))


def test_tokens_without_a_partner_are_counted() -> None:
    texts = ("a ## b", "x ## y")
    prompts = [Prompt.from_text(text, {"x": (3, 6)}) for text in texts]
    readings = [read(build("bytes"), prompt, "##", at="before:x") for prompt in prompts]
    (note,) = alignment_notes({"m": readings})
    total = sum(len(one.without) for one in readings)
    assert note.startswith(f"m, '##': 2 of {total} original tokens have no partner, e.g. ' ##',")
    assert "(4 hold inserted and original characters)" in note


def test_where_all_have_partners_there_is_no_note() -> None:
    prompt = Prompt.from_text("a b", {"x": (1, 3)})
    assert alignment_notes({"m": [read(build("bytes"), prompt, " /*3", at="before:x")]}) == ()


def test_a_moved_system_message_is_said_once() -> None:
    turns = [("system", "Be brief."), ("user", "Why is it?")]
    prompts = [
        Prompt.from_chat([{"role": r, "content": c + more} for r, c in turns]) for more in ("", "!")
    ]
    readings = [read(family("gemma-like"), prompt, "/ *3") for prompt in prompts]
    notes = alignment_notes({"m": readings})
    assert len(notes) == 1
    assert "takes no system message" in notes[0]
