from __future__ import annotations

import pytest

from mindshare.report.describing.tokens import Lexer, written
from mindshare.report.describing.vocabulary import Name, Vocabulary

LEXER = Lexer(Vocabulary({"Qwen2.5-7B": Name("model", "Qwen2.5-7B"), "0.5": Name("kind", "0.5")}))


def kinds(text: str) -> list[str]:
    return [token.what for token in LEXER.tokens(text)]


@pytest.mark.parametrize(
    ("text", "value", "half"),
    [
        ("0.030", 0.03, 0.0005),
        ("−1.5", -1.5, 0.05),
        ("+.25", 0.25, 0.005),
        ("10,000", 10_000, 0.5),
        ("7", 7, 0.5),
        ("2.39e-1", 0.239, 0.0005),
        ("−1.5 × 10⁻³", -0.0015, 0.00005),
        ("3x10^2", 300, 50),
    ],
)
def test_a_number_and_its_last_digit(text: str, value: float, half: float) -> None:
    found = written(text)
    assert (found.value, found.half) == (pytest.approx(value), pytest.approx(half))


@pytest.mark.parametrize(
    ("text", "value", "about", "relation"),
    [
        ("~0.03", 0.03, True, "="),
        ("approximately 0.03", 0.03, True, "="),
        ("<0.03", 0.03, False, "<"),
        ("at most about 0.03", 0.03, True, "<"),
        ("at least 0.03", 0.03, False, ">"),
        ("-0.03", -0.03, False, "="),
    ],
)
def test_words_before_a_number(text: str, value: float, about: bool, relation: str) -> None:
    (token,) = LEXER.tokens(f"x {text} y")
    found = token.content
    assert (found.value, found.about, found.relation) == (value, about, relation)


def test_percent() -> None:
    (token,) = LEXER.tokens("60%")
    assert (token.content.value, token.content.half) == (pytest.approx(0.6), pytest.approx(0.005))


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("layer 3", (3,)),
        ("layers 0 to 2 and 5", (0, 1, 2, 5)),
        ("4 layers (0, 16, 20 and 27)", (0, 16, 20, 27)),
        ("Layers 16-18", (16, 17, 18)),
        ("layer 16, 0.5 of it", (16,)),
    ],
)
def test_layers(text: str, numbers: tuple[int, ...]) -> None:
    (token,) = [token for token in LEXER.tokens(text) if token.what == "layer"]
    assert token.content == numbers


def test_digits_of_names_and_words_are_no_numbers() -> None:
    assert kinds("Qwen2.5-7B and “0.5”") == ["name", "name"]
    assert kinds("Llama3.1-8B, GPT-2, 0-based, r2, a 2x3 grid") == ["cue"]


def test_ranges_intervals_and_counts() -> None:
    assert kinds("0.5 [0.4, 0.6]") == ["number", "interval"]
    assert kinds("between 0.01 and 0.03, from 0.1 to 0.2, 0.00–0.10") == ["between"] * 3
    (token,) = LEXER.tokens("12 prompts")
    assert token.what == "count"
    assert token.content[1] == "prompts"
    assert LEXER.tokens("2 to 12 prompts")[0].content[2] == "prompts"


def test_words_of_order() -> None:
    assert kinds("highest in layer 3, lowest mean is in layer 4") == ["order", "layer"] * 2
    assert kinds("larger than before; more than 0.5; less") == [
        "compared",
        "stop",
        "number",
        "stop",
    ]
    assert kinds("twice as much, three times, a third of it") == ["words"] * 3


def test_sentences_end_but_not_inside_numbers() -> None:
    assert kinds("Total 0.5. Then 0.6; done.") == [
        "cue",
        "number",
        "stop",
        "number",
        "stop",
        "stop",
    ]
