from __future__ import annotations

import pytest

from mindshare.report.describing.reader import read_statements
from mindshare.report.describing.vocabulary import Name, Vocabulary

WORDS = Vocabulary(
    {name: Name("model", name) for name in ("Base", "Tuned")}
    | {name: Name("kind", name) for name in ("hash", "star")}
    | {"/ ×55": Name("condition", "/ ×55")},
    {"lift": Name("measure", "lift"), "smoothed": Name("label", "smoothed")},
)


def read(text: str) -> list[tuple]:
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
        ("Tuned minus Base, hash: +0.2.", [("difference", "+0.2", "Base", "Tuned", "hash")]),
        ("Base, “/ ×55”: smoothed 12.", [("label", "12", "/ ×55", "Base", "smoothed")]),
        ("Base: hash (lift 2.0 times).", [("value", "2.0", "Base", "hash", "lift")]),
        (
            "hash 0.1 in Base and 0.2 in Tuned",
            [
                ("value", "0.1", "Base", "hash"),
                ("value", "0.2", "Tuned", "hash"),
            ],
        ),
        (
            "Base gives hash 0.1. In Tuned 0.2.",
            [
                ("value", "0.1", "Base", "hash"),
                ("value", "0.2", "Tuned"),
            ],
        ),
        (
            "hash falls from 0.3 (Base) to 0.2 (Tuned)",
            [
                ("value", "0.3", "Base", "hash"),
                ("value", "0.2", "Tuned", "hash"),
            ],
        ),
        (
            "Base: hash (rank correlation with the layer +0.8; p 0.01)",
            [
                ("correlation", "+0.8", "Base", "hash"),
                ("p", "0.01", "Base", "hash"),
            ],
        ),
        (
            "95 % bootstrap (10,000 resamples, seed 3)",
            [
                ("confidence", "95%"),
                ("resamples", "10,000"),
                ("seed", "3"),
            ],
        ),
        ("Base: total 0.4", [("total", "0.4", "Base")]),
        ("Base: 12 smoothed (~).", [("label", "12", "Base", "smoothed")]),
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
        ("differences with p < 0.05", [("level", "0.05")]),
        (
            "Tuned minus Base, hash: less in layer 2, head 1 (−0.2 [−0.3, −0.1], effect −4.2)",
            [
                ("difference", "−0.2", "1", "2", "Base", "Tuned", "hash"),
                ("low", "−0.3", "1", "2", "Base", "Tuned", "hash"),
                ("high", "−0.1", "1", "2", "Base", "Tuned", "hash"),
                ("effect", "−4.2", "1", "2", "Base", "Tuned", "hash"),
            ],
        ),
        (
            "Tuned minus Base, hash: undecided in layers 1 and 2, in each of which a difference of "
            "0.3 could have been found with 80 % power.",
            [
                ("detectable", "0.3", "(1, 2)", "Base", "Tuned", "hash"),
                ("power", "80%", "(1, 2)", "Base", "Tuned", "hash"),
            ],
        ),
        (
            "Tuned minus Base, hash: differs by less than 10 % in layer 1.",
            [("small", "10%", "Base", "Tuned", "hash")],
        ),
        (
            "In layer 3 Base gives hash more than Tuned.",
            [("larger", "larger than Tuned", "3", "Base", "hash")],
        ),
    ],
)
def test_what_numbers_are_said_to_be(text: str, statements: list[tuple]) -> None:
    assert read(text) == statements


def test_what_is_not_clear_is_kept_and_says_why() -> None:
    text = "hash rises by 0.2. The axis has ticks at 0.1, 0.2 and 0.3. Margin of 0.01. [0.1, 0.2]"
    found = read_statements(text, WORDS)
    assert {one.what for one in found} == {"unread"}
    assert [one.number.text for one in found] == ["0.2", "0.1", "0.01", "0.1", "0.2"]
    assert all(one.why for one in found)


def test_ratios_in_words_are_kept_too() -> None:
    found = read_statements("Base gives hash three times as much, twice what star gets.", WORDS)
    assert [(one.what, one.number.text) for one in found] == [
        ("unread", "three times"),
        ("unread", "twice"),
    ]


def test_layers_that_are_named_are_kept_for_a_table_to_look_at() -> None:
    found = read_statements("The last layer is layer 31.", WORDS)
    assert [(one.what, one.given) for one in found] == [("mention", {"layer": 31})]


def test_words_of_a_statement_are_short() -> None:
    (one,) = read_statements("word " * 50 + "hash 0.25 and more words", WORDS)
    assert one.words.startswith("…")
    assert one.words.endswith("hash 0.25")
    assert len(one.words) <= 61
