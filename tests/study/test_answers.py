"""An answer's tokens behind a prompt's, its choices, and the queries of each class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mindshare.errors import PromptError, SelectionError, TokenError
from mindshare.models import ModelTokenizer
from mindshare.prompts import Prompt
from mindshare.study import EncodedPrompt, build_knockout_study
from mindshare.study.encoding import encode_knockout
from tests.cli.tiny import tokenizer as merging

TEXT = "a # b ** c"


def read(given: str | None = " d", *, text: str = TEXT, **parts: Any) -> EncodedPrompt:
    prompt = Prompt.from_text(text, id="p", answer=given, choices=parts.pop("of", None))
    study = build_knockout_study(classes={"hash": "#", "star": "*"}, **parts)
    return encode_knockout(ModelTokenizer(merging(), "tiny", None, 64), prompt, study)


def hidden_from(found: EncodedPrompt) -> list[list[str]]:
    """By class, the tokens that are the queries."""
    assert found.queries is not None
    pieces = np.array(found.encoded.pieces)
    return [pieces[asked].tolist() for asked in found.queries]


def test_the_answer_is_what_stands_behind_the_prompt() -> None:
    found = read(" de")
    assert found.answer is not None
    assert merging().decode(found.answer.ids) == " de"
    assert found.answer.rivals is None


def test_a_greedy_answer_has_no_tokens_yet() -> None:
    found = read(None, answer="greedy")
    assert found.answer is not None
    assert len(found.answer.ids) == 0


def test_choices_are_told_apart_where_they_go_on_otherwise() -> None:
    found = read(" dx", of=(" dx", " dy", " z"))
    assert found.answer is not None
    assert found.answer.rivals is not None
    rivals = {(p, merging().decode([t])) for p, t in found.answer.rivals.tolist()}
    assert rivals == {(2, "y"), (1, "z")}


@pytest.mark.parametrize(
    ("queries", "star", "hash_"),
    [
        ("last", ["c"], ["c"]),
        ("answer", ["c"], ["c"]),
        ("later", [" ", "c"], [" ", "b", " ", "**", " ", "c"]),
        ("class:star", ["**"], ["**"]),
    ],
)
def test_the_queries_of_each_class(queries: str, star: list[str], hash_: list[str]) -> None:
    assert hidden_from(read(queries=queries)) == [hash_, star]


@pytest.mark.parametrize(
    ("found", "error", "words"),
    [
        (lambda: read(None), PromptError, "has no answer"),
        (lambda: read("#", text="a ** #"), TokenError, "as one"),
        (lambda: read(" z", of=(" x", " y")), PromptError, "none of its choices"),
        (lambda: read(" x", of=(" x", " xy")), PromptError, "beginning of another"),
        (lambda: read(queries="later", text="a # **"), SelectionError, "last token"),
        (lambda: read(queries="nobody"), SelectionError, "no query set"),
        (lambda: read(policy="proportional"), SelectionError, "part of a token"),
        (lambda: read(how="magic"), SelectionError, "kind of knock-out"),
        (lambda: read(answer="greedy:x"), SelectionError, "can't be read"),
        (lambda: read(answer="greedy", choices=(" x",)), SelectionError, "right answer"),
        (lambda: read(heads="3.x"), SelectionError, "names no head"),
        (lambda: read(heads="mean"), SelectionError, "a mean can't be knocked out"),
        (lambda: read(screen=True), SelectionError, "single heads"),
        (lambda: read(window=0), SelectionError, "window=0"),
    ],
)
def test_what_cannot_be_knocked_out_is_refused(found: Any, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        found()


def test_answers_and_queries_name_other_jobs() -> None:
    def item(**parts: Any) -> str:
        study = build_knockout_study(classes={"hash": "#", "star": "*"}, **parts)
        return read(**parts).with_jobs(study, "model").jobs[0].item

    same = item()
    assert item() == same
    assert item(layers=[1]) == same  # layers only select
    assert len({same, item(how="zero"), item(queries="later"), item(window=2)}) == 4
