"""Classes: their order, their policy, their counts; MEASURES.md's examples of mixed tokens."""

from __future__ import annotations

import numpy as np
import pytest

from mindshare.errors import ClassRuleError
from mindshare.prompts import Prompt
from mindshare.tokens import (
    BosReport,
    Classes,
    Encoded,
    TokenClass,
    classify,
    encode,
    parse_classes,
)

from .conftest import build

ASCII_MAP = "The map:\n#####\n#  *#\n## *\n\n#\n"
MAP_CLASSES = {"hash": "#", "star": "*", "space": "whitespace"}


def tokens(*pieces, special=()):
    """An encoded prompt of exactly these tokens."""
    text, offsets = "", []
    for piece in pieces:
        offsets.append((len(text), len(text) + len(piece)))
        text += piece
    return Encoded(
        prompt=Prompt.from_text(text),
        text=text,
        ids=tuple(range(len(pieces))),
        offsets=tuple(offsets),
        pieces=pieces,
        special=tuple(place in special for place in range(len(pieces))),
        spans={},
        bos=BosReport(None, False, "none asked for"),
        uncovered=(),
    )


def test_classes_come_from_mappings_texts_and_token_classes():
    expected = Classes((TokenClass("hash", "#", "map"), TokenClass("space", "whitespace")))
    assert parse_classes({"hash": "#@map", "space": "whitespace"}) == expected
    assert parse_classes(["hash=#@map", TokenClass("space", "whitespace")]) == expected
    assert parse_classes(expected) is expected
    assert expected.names == ("hash", "space", "other")
    assert parse_classes({}).names == ("other",)


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (["a=#", "a=*"], {}, "class 'a' is given 2 times"),
        ({"other": "#"}, {}, "reserved"),
        ({"a": 3}, {}, "rule of class 'a' is 3, not text"),
        ({"a": "#"}, {"policy": "priorty"}, "'priorty' is no policy; did you mean 'priority'"),
        ("a=#", {}, "one text, not several"),
    ],
)
def test_what_are_no_classes(given, options, message):
    with pytest.raises(ClassRuleError, match=message):
        parse_classes(given, **options)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("priority", [[1, 0, 0], [1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0]]),
        ("pure", [[0, 0, 1], [0, 0, 1], [0, 0, 1], [0, 1, 0], [0, 0, 1], [0, 1, 0]]),
        (
            "proportional",
            np.array([[3, 3, 0], [2, 4, 0], [4, 2, 0], [0, 6, 0], [0, 2, 4], [0, 6, 0]]) / 6,
        ),
    ],
)
def test_mixed_tokens_follow_the_policy(policy, expected):
    encoded = tokens(" #", "\n\n#", "##\n", "\n ", " ab", "  ")
    classes = parse_classes({"hash": "#", "space": "whitespace"}, policy=policy)
    np.testing.assert_allclose(classify(encoded, classes).weights, expected)


def test_the_first_rule_wins():
    encoded = tokens("#*", "# ")
    assert classify(encoded, parse_classes(["a=#", "b=*"])).labels() == ("a", "a")
    assert classify(encoded, parse_classes(["b=*", "a=#"])).labels() == ("b", "a")
    # A whitespace rule in front does not take a token that holds anything else.
    assert classify(encoded, parse_classes(["s=whitespace", "a=#"])).labels() == ("a", "a")


def test_newline_takes_whitespace_tokens_that_hold_one():
    encoded = tokens("\n", " \n ", "  ", "a\n")
    labels = classify(encoded, parse_classes(["nl=newline", "sp=whitespace"])).labels()
    assert labels == ("nl", "nl", "sp", "other")
    pure = classify(encoded, parse_classes(["nl=newline", "sp=whitespace"], policy="pure"))
    assert pure.labels() == ("nl", "sp", "sp", "other")


@pytest.mark.parametrize("policy", ["priority", "pure", "proportional"])
def test_special_tokens_are_no_text(policy):
    encoded = tokens("<|im_start|>", "a", "#", special=[0])
    rules = ["letter=letter", "sign=re:[<|>_]+", "hash=#"]
    assert classify(encoded, parse_classes(rules, policy=policy)).labels()[0] == "other"
    rules += ["ctrl=special"]
    labels = classify(encoded, parse_classes(rules, policy=policy)).labels()
    assert labels == (
        "ctrl",
        "letter",
        "hash",
    )


@pytest.mark.parametrize("policy", ["priority", "pure", "proportional"])
def test_ids_take_tokens_whole_in_their_turn(policy):
    encoded = tokens("a#", "b#", "##")
    first = classify(encoded, parse_classes(["x=ids:0,2", "h=#"], policy=policy)).weights
    np.testing.assert_array_equal(first[[0, 2], 0], [1, 1])
    later = classify(encoded, parse_classes(["h=#", "x=ids:0,2"], policy=policy)).weights
    assert list(later[0]) == {"priority": [1, 0, 0], "pure": [0, 1, 0]}.get(policy, [0.5, 0.5, 0])


def test_bos_is_the_first_token_only():
    result = encode(Prompt.from_text("a<s>"), build("bytes-bos"))
    labels = classify(result, parse_classes(["start=bos", "ctrl=special"])).labels()
    assert labels == ("start", "other", "ctrl")


def test_an_invented_space_counts_as_a_space():
    result = encode(Prompt.from_text("中"), build("llama"))
    labels = classify(result, parse_classes({"bos": "bos", "sp": "whitespace"})).labels()
    assert labels[:3] == ("bos", "sp", "other")
    assert classify(result, parse_classes({"gap": " "})).labels()[1] == "gap"
    assert classify(result, parse_classes({"nl": "newline"})).labels()[1] == "other"


def test_rules_inside_a_span_and_roles():
    prompt = Prompt.from_text("# <<map>>##<</map>> #", marked=True)
    result = encode(prompt, build("bytes"))
    classed = classify(result, parse_classes({"hash": "#@map", "hers": "re:#"}))
    text = {
        name: "".join(
            p for p, label in zip(result.pieces, classed.labels(), strict=True) if label == name
        )
        for name in classed.names
    }
    assert text["hash"].strip() == "##"
    assert text["hers"].replace(" ", "") == "##"


@pytest.mark.parametrize("name", ["bytes-trimmed", "llama", "gemma", "unigram"])
@pytest.mark.parametrize("policy", ["priority", "pure", "proportional"])
def test_an_ascii_map_is_classed(name, policy):
    result = encode(Prompt.from_text(ASCII_MAP), build(name))
    classed = classify(result, parse_classes(MAP_CLASSES, policy=policy))
    for piece, label in zip(result.pieces, classed.labels(), strict=True):
        if policy == "priority":
            expected = "hash" if "#" in piece else "star" if "*" in piece else None
            assert label == expected or expected is None
        if policy == "pure" and label == "hash":
            assert set(piece) == {"#"}
    counts = classed.counts()
    assert sum(count.tokens for count in counts.values()) == pytest.approx(len(result))
    assert counts["hash"].tokens > 0
    assert counts["space"].tokens > 0


def test_counts_and_examples():
    encoded = tokens("#", "##", "##", "a", " ", "b", "c", "d", "e", "f", "b")
    classed = classify(encoded, parse_classes(MAP_CLASSES))
    counts = classed.counts()
    assert (counts["hash"].tokens, counts["hash"].examples) == (3, ("##", "#"))
    assert (counts["star"].tokens, counts["star"].examples) == (0, ())
    assert counts["other"].examples == ("b", "a", "c", "d", "e")
    assert classed.empty() == ("star",)
    assert classed.names == ("hash", "star", "space", "other")


def test_a_tie_goes_to_the_earlier_class():
    encoded = tokens(" #")
    for rules in (["h=#", "s=whitespace"], ["s=whitespace", "h=#"]):
        classed = classify(encoded, parse_classes(rules, policy="proportional"))
        assert classed.labels() == (rules[0][0],)
