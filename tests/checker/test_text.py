from __future__ import annotations

import pytest

from mindshare.report.document import TOPICS
from mindshare_checker.text import Line, Name, Vocabulary, aliases, lines_of, plain, written

WORDS = Vocabulary(
    {name: Name("model", name) for name in ("Phys", "Instruct", "Qwen2.5-7B")}
    | {name: Name("token_class", name) for name in ("hash", "0.5")}
)


def kinds(text: str) -> list[str]:
    return [token.what for token in WORDS.tokens(text)]


def found(vocabulary: Vocabulary, text: str) -> list[str]:
    return [one.content.name for one in vocabulary.tokens(text) if one.what == "name"]


def names(*words: str) -> Vocabulary:
    return Vocabulary({word: Name("token_class", word) for word in words})


def test_letters_in_their_own_case_first() -> None:
    assert found(names("base", "Base"), "Base base BASE") == ["Base", "base", "base"]


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("every other head", []),
        ("other 0.4", ["other"]),
        ("Other (~0.4)", ["other"]),
        ("“other” heads", ["other"]),
        ("hash minus other", ["other"]),
    ],
)
def test_ordinary_words_are_names_in_quotes_or_before_a_number(text: str, there: list[str]) -> None:
    assert found(names("other"), text) == there


@pytest.mark.parametrize("word", ["layer 3", "mass", "7", "to"])
def test_what_stands_before_numbers_anyway_must_be_quoted(word: str) -> None:
    assert found(names(word), f"{word} 0.5") == []
    assert found(names(word), f"“{word}” 0.5") == [word]


def test_signs_are_names_only_where_they_are_quoted_or_explained() -> None:
    assert found(names("#", "*"), "# a * b `#` * (Star) '*'") == ["#", "*", "*"]
    assert found(Vocabulary(), "Anything 0.5") == []


def test_other_words_for_the_same_class() -> None:
    assert aliases(["space"])["whitespace"] == "space"
    assert aliases(["Whitespace"])["spaces"] == "Whitespace"
    assert aliases(["space", "whitespace"]) == {}  # both are used
    assert aliases(["hash"])["# (hash)"] == "hash"


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
    number = written(text)
    assert (number.value, number.half) == (pytest.approx(value), pytest.approx(half))


@pytest.mark.parametrize(
    ("text", "value", "about", "relation"),
    [
        ("~0.03", 0.03, True, "="),
        ("approximately 0.03", 0.03, True, "="),
        ("<0.03", 0.03, False, "<"),
        ("at most about 0.03", 0.03, True, "<"),
        ("at least 0.03", 0.03, False, ">"),
        ("-0.03", -0.03, False, "="),
        ("60%", 0.6, False, "="),
    ],
)
def test_words_before_a_number(text: str, value: float, about: bool, relation: str) -> None:
    (token,) = WORDS.tokens(f"x {text} y")
    number = token.content
    assert (number.value, number.about, number.relation) == (value, about, relation)


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
    (token,) = [token for token in WORDS.tokens(text) if token.what == "layer"]
    assert token.content == numbers


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Qwen2.5-7B and “0.5”", ["name", "name"]),  # digits of names and words are no numbers
        ("Llama3.1-8B, GPT-2, 0-based, r2, a 2x3 grid", ["cue"]),
        ("0.5 [0.4, 0.6]", ["number", "interval"]),
        ("between 0.01 and 0.03, from 0.1 to 0.2, 0.00–0.10", ["between"] * 3),
        ("highest in layer 3, lowest mean is in layer 4", ["order", "layer"] * 2),
        ("larger than before; more than 0.5; less", ["compared", "stop", "number", "stop"]),
        ("twice as much, three times, a third of it", ["words"] * 3),
        ("Total 0.5. Then 0.6; done.", ["cue", "number", "stop", "number", "stop", "stop"]),
    ],
)
def test_tokens_of_a_line(text: str, tokens: list[str]) -> None:
    assert kinds(text) == tokens


def test_counts_say_of_what() -> None:
    assert WORDS.tokens("12 prompts")[0].content[1] == "prompts"
    assert WORDS.tokens("2 to 12 prompts")[0].content[2] == "prompts"


def lines(text: str) -> list[Line]:
    return list(lines_of(text, WORDS))


PHYS, BOTH = {"model": "Phys"}, {"layer": 0, "model": "Phys"}


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("#### Layer 16\n- a\n#### Layer 20\n- b", [{"layer": 16}, {"layer": 20}]),
        ("**Layer 16:**\n* a", [{"layer": 16}]),
        # A label in bold holds until the next; a new layer forgets the model.
        ("**Layer 0:**\n* **Phys:** a\n* b\n**Layer 1:**\n* c", [BOTH, BOTH, {"layer": 1}]),
        ("**Layer 0:**\n* **Instruct**:\n* a", [{"layer": 0, "model": "Instruct"}] * 2),
        ("## Phys\n### Layer 0\n- a\n## Instruct\n- b", [BOTH, {"model": "Instruct"}]),
        ("- Phys: a\n  - b\n- c", [PHYS, PHYS, {}]),  # for what is indented below it
        ("* **hash:** a\n* b", [{"token_class": "hash"}, {}]),  # a class, for its own line only
        ("1. **Layer 20 Drop**: a\n2. b", [{}, {}]),  # more than names
        ("* **Layer 1 Head 8 (Top-Right):** a", [{"layer": 1, "head": 8}]),
        ("## Layers of Phys and Instruct\n- a\n## Results for Phys\n- b", [{}, PHYS]),
    ],
)
def test_what_the_lines_above_give(text: str, given: list[dict[str, object]]) -> None:
    assert [line.given for line in lines(text)] == given


def test_titles_end_what_was_named_and_are_kept() -> None:
    found = lines("**Layer 3:**\n* a\n### Key Observations\n* b\nInterpretation\nc")
    assert [(line.number, line.given, line.title) for line in found] == [
        (2, {"layer": 3}, ""),
        (4, {}, "Key Observations"),
        (6, {}, "Interpretation"),
    ]


def test_tables_code_and_where_it_comes_from_are_no_description() -> None:
    text = "a\n| b | 1 |\n```\nc\n```\n## Methods\n### Card\nd\n## Charts\n$$ e $$\n<details>\nf"
    folded = "\n<details><summary>The numbers</summary>\ng\n</details>\nh"
    assert [line.text for line in lines(text + folded)] == ["a", "f", "h"]


@pytest.mark.parametrize("topic", TOPICS)
def test_the_sections_of_a_report_that_describe_nothing_are_passed_over(topic: str) -> None:
    """Numbers has findings; what a text of someone else calls its sections is read."""
    text = f"a\n## {TOPICS[topic]}\nb\n## Models\nc"
    assert [line.text for line in lines(text)] == ["a", *["b"] * (topic == "numbers"), "c"]


def test_markup_goes_and_words_stay() -> None:
    assert plain(r"**a** `b` and c\_d \*e") == 'a "b" and c_d *e'
    assert plain(r"hash 0.2 \[0.1, 0.3\], \~0.4 \\ x") == r"hash 0.2 [0.1, 0.3], ~0.4 \ x"
    assert plain("see [layer 3](a_b.png) and ![hash 0.5](x.png)") == "see layer 3 and hash 0.5"


@pytest.mark.parametrize("text", ["1e9999999999", "1e-9999999999", "0." + "1" * 5_000, "9" * 5_000])
def test_numbers_beyond_all_numbers_are_read(text: str) -> None:
    assert written(text).value >= 0
    assert 0 <= written(text).half < 1


def test_places_beyond_all_models_take_no_memory() -> None:
    (place,) = WORDS.tokens("layers 0 to 99999999999, 7 and 9")
    assert place.content[:3] == (0, 1, 2)
    assert place.content[-2:] == (7, 9)
    assert len(place.content) < 20_000
