"""Answers from planted numbers: more, less, and not significant; and the word problems."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mindshare.api.charts import Chart
from mindshare.api.insertion import insertion
from mindshare.models import LoadedModel, wrap
from mindshare.prompts import Prompt
from mindshare.stats import RESPONSE, Resampling, estimate
from mindshare.tables import table
from mindshare_recipes.meaningless_tokens import (
    PROBLEMS,
    SYSTEM,
    answers,
    divergences,
    problem_prompts,
    with_run_hidden,
)
from tests.stats.insertions import response_table

from ..cli.tiny import tokenizer
from ..models import tiny

RUN, OTHER = "/ ×55", "random sentence"
QUICK = Resampling(resamples=200)


def chart(*, problems: int = 24, **numbers: Any) -> Chart:
    """Problems, 2 conditions, 2 layers of 3 heads; numbers broadcast to that shape.

    Problems differ a little around the numbers: equal ones would have no interval.
    """
    size = (problems, 2, 2, 3)
    off = np.random.default_rng(0).normal(0, 1e-5, size)
    planted: dict[str, Any] = {
        name: np.asarray(x, float) + off - off.mean(0) for name, x in numbers.items()
    }
    response = response_table(np.ones(size), conditions=(RUN, OTHER), **planted)
    return Chart(
        figures=(),
        tables={
            "response": response,
            "conditions": _conditions(response),
            "by_layer": estimate({"m": response}, RESPONSE, over=("heads",), options=QUICK),
            "overall": estimate({"m": response}, RESPONSE, over=("heads", "layers"), options=QUICK),
            "summary": estimate({"m": response}, RESPONSE, options=QUICK),
        },
        measurements={},
        notes=(),
    )


def _conditions(response: pa.Table) -> pa.Table:
    prompts = list(dict.fromkeys(response["prompt"].to_pylist()))
    rows = [(p, c) for p in prompts for c in (RUN, OTHER)]
    size = len(rows)
    text: dict[str, Any] = dict.fromkeys(
        ("insertion", "place", "inserted_text", "text"), ["x"] * size
    )
    count: dict[str, Any] = dict.fromkeys(
        ("n_seam", "n_matched", "n_unmatched", "n_prompt_tokens"), [1] * size
    )
    names = {"prompt": [p for p, _ in rows], "condition": [c for _, c in rows]}
    return table("conditions", {**names, **text, **count, "n_inserted": [56] * size}, {})


def one(said: list[str], *words: str) -> str:
    """The sentence with all these words."""
    (found,) = [sentence for sentence in said if all(word in sentence for word in words)]
    return found


def test_weight_lost_and_where() -> None:
    said = answers(chart(amplitude=0.5, peak_ratio=1.25))
    assert (
        "lowers the attention on the original tokens: 0.500 times its level before [0.500, 0.500]"
        in said[1]
    )
    assert "lowers" in one(said, "on the original tokens", "in layer 0:")
    assert "lowers" in one(said, "on the original tokens", "both layers")
    assert "1.25 times" in one(said, "raises the attention on the most attended token:")
    noisy = np.random.default_rng(0).normal(1.0, 0.3, (24, 1, 1, 1))
    said = answers(chart(amplitude=noisy, peak_ratio=1.0))
    nulls = [one for one in said if "does not significantly change" in one]
    assert sum("original tokens" in one for one in nulls) == 2
    assert not any("original tokens" in sentence and "both layers" in sentence for sentence in said)


def test_few_problems_are_told_without_a_side() -> None:
    said = answers(chart(problems=3, amplitude=0.5, peak_ratio=0.25, weight_evenness=0.7))
    assert "3 word problems" in said[0]
    assert "too few" in said[0]
    assert "0.500 times" in said[1]
    claims = ("lowers", "significant", "more even", "is lower", "[")
    assert not any(word in " ".join(said[1:]) for word in claims)


def test_evenness_is_compared_with_the_random_sentence() -> None:
    uneven = np.array([0.9, 0.5]).reshape(1, 2, 1, 1)
    more = answers(chart(weight_evenness=uneven))
    assert (
        "over 55 copies of “/” than over a random sentence, by normalised entropy: +0.400"
        in more[2]
    )
    assert "normalised entropy: +0.400" in one(more, "In layer 0, attention", "more even")
    less = answers(chart(weight_evenness=1.4 - uneven))
    assert sum("less evenly" in sentence for sentence in less) == 2
    same = answers(chart(weight_evenness=0.7))
    assert sum("not differ significantly" in s and "evenness" in s.lower() for s in same) == 2


def test_the_factor_is_set_beside_lambda() -> None:
    said = answers(chart(affine_r2=0.8, affine_r2_after=1.0, factor=0.6, retained=0.5))
    assert "lowest in layer 0: 0.800" in one(
        said, "pattern of attention to original tokens, with R² 0.800"
    )
    assert "is larger than the part of attention not given to inserted" in said[-1]
    assert said[-1].endswith(": +0.100.") or ": +0.100 " in said[-1]
    kept = one(said, "the rest of the prompt still gets 0.500")
    assert kept.endswith("of later tokens' attention [0.500, 0.500].")
    assert said[-1].numbers[0].value == pytest.approx(0.1)  # type: ignore[attr-defined]


def test_layers_are_named_by_their_intervals() -> None:
    amplitude = np.array([0.5, 1.5]).reshape(1, 1, 2, 1)
    said = answers(chart(amplitude=amplitude, affine_r2=np.array([0.95, 0.2]).reshape(1, 1, 2, 1)))
    assert one(said, "lowers the attention on the original tokens in layer 0.")
    assert one(said, "raises the attention on the original tokens in layer 1.")
    assert one(
        said, "In layer 0", "keep their pattern of attention to original tokens: R² over 0.9"
    )


def test_heads_are_counted() -> None:
    kept: dict[str, Any] = {"shape": 0.99, "entropy_change": 0.0, "peak_ratio": 0.5}
    said = answers(chart(amplitude=0.5, **kept))
    heads = [s for s in said if "sixth less attention" in s and "changes 6 of 6 heads:" in s]
    assert len(heads) == 2  # the run, and the random sentence


def test_problems_are_many_distinct_and_short() -> None:
    assert len(PROBLEMS) >= 20
    assert len(set(PROBLEMS)) == len(PROBLEMS)
    assert all(problem.endswith("?") and len(problem) < 160 for problem in PROBLEMS)
    assert all(any(c.isdigit() for c in problem) for problem in PROBLEMS if "Half" not in problem)


def test_each_is_a_system_sentence_and_a_question() -> None:
    prompts = problem_prompts(3)
    assert [prompt.id for prompt in prompts] == ["problem-01", "problem-02", "problem-03"]
    for prompt, problem in zip(prompts, PROBLEMS, strict=False):
        assert prompt.messages is not None
        assert [(m.role, m.content) for m in prompt.messages] == [
            ("system", SYSTEM),
            ("user", problem),
        ]
    assert len(problem_prompts()) == len(PROBLEMS)


@pytest.fixture(scope="module")
def small() -> LoadedModel:
    model = tiny.llama(initializer_range=0.3, max_position_embeddings=256, vocab_size=300)
    return wrap(model, tokenizer(), name="small")


@pytest.fixture(scope="module")
def inserted(small: LoadedModel) -> Chart:
    texts = [f"one {i} two. three {i} four" for i in range(13, 25)]
    prompts = [Prompt.from_text(text, id=text) for text in texts]
    return insertion({"small": small}, prompts, insert="/*9", at="start")


def test_a_hidden_run_with_positions_closed_up_was_never_there(
    small: LoadedModel, inserted: Chart
) -> None:
    places = inserted.tables["places"]
    prompt, run = places["prompt"][0].as_py(), places["condition"][-1].as_py()
    assert set(places["part"].to_pylist()) == {"original", "inserted"}  # nothing merged
    seen, hidden = divergences(small, places, prompt, run, close_up=True)
    assert hidden.max() < 1e-9
    assert seen.max() > 1e-4
    seen, hidden = divergences(small, places, prompt, run)
    response = inserted.tables["response"].to_pandas()
    own = response[response["prompt"] == prompt]["divergence"].to_numpy()
    assert seen.reshape(-1) == pytest.approx(own, abs=1e-6)


def test_the_hidden_run_is_drawn_and_said(small: LoadedModel, inserted: Chart) -> None:
    chart, said = with_run_hidden(small, inserted)
    assert chart.figures[-1].name == "run_hidden"
    rows = chart.tables["by_layer_hidden"].to_pylist()
    assert [row["condition"] for row in rows][::2] == ["/ ×9", "/ ×9, hidden"]
    assert "9 copies of “/” hidden from later tokens" in said[0]
    assert said[-1].startswith("With the inserted tokens hidden")
    assert all(len(sentence.split()) <= 30 for sentence in said)
