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
            [("value", "0.5", "3", "Base", "hash"), ("value", "0.1", "4", "Base", "hash")],
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


def test_words_of_a_statement_are_short() -> None:
    (one,) = read_statements("word " * 50 + "hash 0.25 and more words", WORDS)
    assert one.words.startswith("…")
    assert one.words.endswith("hash 0.25")
    assert len(one.words) <= 61
