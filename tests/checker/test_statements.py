from __future__ import annotations

import pytest

from mindshare_checker.statements import Statement, about, read_statements, trailing_names
from mindshare_checker.text import Name, Vocabulary, Written

WORDS = Vocabulary(
    {name: Name("model", name) for name in ("Base", "Tuned")}
    | {name: Name("token_class", name) for name in ("hash", "star")}
    | {"/ ×55": Name("condition", "/ ×55")},
    {"lift": Name("measure", "lift")},
)
DIFFERENCE = ("Base", "Tuned", "hash")


def read(text: str) -> list[tuple[str, ...]]:
    return [
        (one.what, one.number.text, *sorted(map(str, one.given.values())))
        for one in read_statements(text, WORDS)
        if one.what != "mention"
    ]


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        (
            "Layer 0, Base: hash 0.1 [0.0, 0.2], star 0.3; together 0.4.",
            [
                ("value", "0.1", "0", "Base", "hash"),
                ("low", "0.0", "0", "Base", "hash"),
                ("high", "0.2", "0", "Base", "hash"),
                ("value", "0.3", "0", "Base", "star"),
                ("together", "0.4", "0", "Base"),
            ],
        ),
        (
            "Base: hash is highest in layer 3 (0.5) and lowest in layer 4 (0.1).",
            [
                ("highest", "layer 3", "Base", "hash"),
                ("value", "0.5", "3", "Base", "hash"),
                ("lowest", "layer 4", "Base", "hash"),
                ("value", "0.1", "4", "Base", "hash"),
            ],
        ),
        ("Tuned minus Base, hash: +0.2.", [("difference", "+0.2", *DIFFERENCE)]),
        ("Base, “/ ×55”: hash 0.2.", [("value", "0.2", "/ ×55", "Base", "hash")]),
        ("Base: hash (lift 2.0 times).", [("value", "2.0", "Base", "hash", "lift")]),
        (
            "hash 0.1 in Base and 0.2 in Tuned",
            [("value", "0.1", "Base", "hash"), ("value", "0.2", "Tuned", "hash")],
        ),
        (
            "Base gives hash 0.1. In Tuned 0.2.",
            [("value", "0.1", "Base", "hash"), ("value", "0.2", "Tuned")],
        ),
        (
            "hash falls from 0.3 (Base) to 0.2 (Tuned)",
            [("value", "0.3", "Base", "hash"), ("value", "0.2", "Tuned", "hash")],
        ),
        (
            "95 % bootstrap (10,000 resamples, seed 3)",
            [("confidence", "95%"), ("resamples", "10,000"), ("seed", "3")],
        ),
        ("Base: total 0.4", [("total", "0.4", "Base")]),
        (
            "In layer 3 Base gives hash 0.5; together 0.5; star 0.1.",
            [
                ("value", "0.5", "3", "Base", "hash"),
                ("together", "0.5", "3", "Base"),
                ("value", "0.1", "Base", "star"),
            ],
        ),
        ("Base: 60% hash", [("share", "60%", "Base", "hash")]),
        ("Base gives hash 24 % of its attention", [("value", "24%", "Base", "hash", "mass")]),
        ("Base: hash 2.39e-1", [("value", "2.39e-1", "Base", "hash")]),
        (
            "Tuned minus Base, hash: −0.2 [−0.3, −0.1], p 0.01",
            [
                ("difference", "−0.2", *DIFFERENCE),
                ("low", "−0.3", *DIFFERENCE),
                ("high", "−0.1", *DIFFERENCE),
                ("p", "0.01", *DIFFERENCE),
            ],
        ),
        (
            "In layer 3 Base gives hash more than Tuned.",
            [("larger", "larger than Tuned", "3", "Base", "hash")],
        ),
        (
            "Tuned gives hash more than Base in layer 3: +0.2.",  # with a sign, a difference
            [
                ("larger", "larger than Base", "3", "Tuned", "hash"),
                ("difference", "+0.2", "3", *DIFFERENCE),
            ],
        ),
        (
            "Tuned gives hash more than Base: 0.2.",  # without, of either
            [("larger", "larger than Base", "Tuned", "hash"), ("value", "0.2", "hash")],
        ),
    ],
)
def test_what_numbers_are_said_to_be(text: str, statements: list[tuple[str, ...]]) -> None:
    assert read(text) == statements


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("hash rises by 0.2.", ["0.2"]),
        ("The axis has ticks at 0.1, 0.2 and 0.3.", ["0.1"]),
        ("A margin of 0.01.", ["0.01"]),
        ("[0.1, 0.2]", ["0.1", "0.2"]),
        ("Base gives hash three times as much, twice what star gets.", ["three times", "twice"]),
        ("differences with p < 0.05", ["0.05"]),
        ("hash differs by less than 10 % in layer 1.", ["10%"]),
        ("Tuned minus Base, hash: effect −4.2", ["−4.2"]),
        ("Tuned minus Base, hash: 0.3 could have been found with 80 % power", ["0.3", "80%"]),
        ("Base: hash (rank correlation with the layer +0.8; p 0.01)", ["+0.8", "0.01"]),
        ("hash does not differ significantly between Base and Tuned: 0.3", ["0.3"]),
        ("Base: hash changes in 3 of 12 heads", ["3"]),
    ],
)
def test_what_is_no_number_of_a_cell_is_kept_and_says_why(text: str, numbers: list[str]) -> None:
    unread = [one for one in read_statements(text, WORDS) if one.what == "unread"]
    assert [one.number.text for one in unread] == numbers
    assert all(one.why for one in unread)


def test_layers_that_are_named_are_kept_for_a_table_to_look_at() -> None:
    found = read_statements("The last layer is layer 31.", WORDS)
    assert [(one.what, one.given) for one in found] == [("mention", {"layer": 31})]


def test_words_of_a_statement_are_short() -> None:
    (one,) = read_statements("word " * 50 + "hash 0.25 and more words", WORDS)
    assert one.words.startswith("…")
    assert one.words.endswith("hash 0.25")
    assert len(one.words) <= 61


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("0.5 for hash in layer 3", ["hash", "layer 3"]),
        ("0.5 (Base) and hash", ["Base"]),
        ("0.5 (layer 3, head 5), lowest", ["layer 3", "head 5"]),
        ("0.5, hash", []),
        ("0.5 and hash 0.6", []),
        ("0.5 (hash 0.6)", []),
    ],
)
def test_names_behind_a_number(text: str, named: list[str]) -> None:
    tokens = WORDS.tokens(text)
    assert [tokens[j].text for j in trailing_names(text, tokens, 0)] == named


def test_a_statement_in_short() -> None:
    given = {"token_class": "hash", "layer": 16, "model": "Tuned", "against": "Base"}
    assert about(given) == "layer 16, Tuned, minus Base, hash"
    assert about({"layer": (1, 2), "head": None}) == "layer 1 2"
    low, high = Written(0.01, 0.005, "0.01"), Written(0.03, 0.005, "0.03")
    assert Statement("between", low, {}, "", 1, upto=high).said == "0.01 to 0.03"
    near, below = Written(0.03, 0.005, "0.03", about=True), Written(0.03, 0.1, "0.03", relation="<")
    assert [Statement("value", one, {}, "", 1).said for one in (near, below)] == ["~0.03", "< 0.03"]


def test_the_order_of_words_decides_nothing() -> None:
    number = Written(0.1, 0.05, "0.1")
    one = Statement("value", number, {"layer": 1, "token_class": "a"}, "x", 1)
    other = Statement("value", number, {"token_class": "a", "layer": 1}, "y", 2)
    assert one.key == other.key
    assert one.key != Statement("value", number, {"token_class": "a"}, "x", 1).key
