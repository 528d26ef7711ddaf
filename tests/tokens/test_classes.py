"""Classes: their order, policy and counts; the laws of class weights; query sets."""

from __future__ import annotations

import re
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindshare.errors import ClassRuleError, SelectionError
from mindshare.prompts import Prompt
from mindshare.tokens import (
    Classes,
    Encoded,
    TokenClass,
    classify,
    encode,
    parse_classes,
    parse_queries,
    query_mask,
)
from mindshare.tokens.classes import QuerySet
from mindshare.tokens.encoding import BosReport

from .conftest import KEEPS_ALL, LAW, build, texts

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


# Laws of class weights, on arbitrary Unicode, against a slow reading of the definitions.


RULES = {
    "hash": "#",
    "gap": "chars: a",
    "space": "whitespace",
    "line": "newline",
    "points": "punctuation",
    "digits": "digit",
    "letters": "letter",
    "control": "special",
    "start": "bos",
    "some": "ids:1,2,40,41,80,300",
    "part": "span:part",
    "words": "re:[a-e]+ ?",
    "hash_in": "#@part",
    "space_in": "whitespace@part",
    "control_in": "special@part",
}
NAMES = ["bytes-trimmed", "bytes-bos-eos", "llama", "gemma", "unigram", "unigram-unk", "nfc"]


def character_matches(encoded, rule: str, at: int) -> bool:
    """Whether the character at that place is one the rule speaks of."""
    rule, _, within = rule.partition("@")
    char = encoded.text[at]
    in_span = {name: any(s <= at < e for s, e in r) for name, r in encoded.spans.items()}
    if within and not in_span.get(within, False):
        return False
    category = unicodedata.category(char)
    selector = 0xFE00 <= ord(char) <= 0xFE0F or 0xE0100 <= ord(char) <= 0xE01EF
    if rule == "re:[a-e]+ ?":
        return any(m.start() <= at < m.end() for m in re.finditer(rule[3:], encoded.text))
    return {
        "#": char == "#",
        "chars: a": char in " a",
        "whitespace": char.isspace(),
        "newline": len(f"a{char}b".splitlines()) > 1,
        "punctuation": category[0] == "P" or char in "$+<=>^`|~",
        "digit": category == "Nd",
        "letter": category[0] == "L" or (category in ("Mn", "Mc") and not selector),
        "span:part": in_span.get("part", False),
    }[rule]


def token_matches(encoded, rule: str, token: int) -> bool | None:
    """Whether a rule about tokens names this one; None for a rule about characters."""
    rule, _, within = rule.partition("@")
    start, end = encoded.offsets[token]
    inside = any(start < e and s < end and start < end for s, e in encoded.spans.get(within, ()))
    if within and not inside:
        return False if rule in ("special", "bos") else None
    if rule == "special":
        return encoded.special[token]
    if rule == "bos":
        return token == 0 and encoded.bos.present
    return encoded.ids[token] in map(int, rule[4:].split(",")) if rule[:4] == "ids:" else None


def whole_match(encoded, rule: str, token: int, policy: str) -> bool:
    named = token_matches(encoded, rule, token)
    if named is not None:
        return named
    start, end = encoded.offsets[token]
    matches = [character_matches(encoded, rule, at) for at in range(start, end)]
    if encoded.special[token]:
        return rule.startswith("span:") and any(matches)
    if start == end:
        return encoded.pieces[token] == "▁" and rule in ("whitespace", "chars: a")
    if policy == "pure":
        return all(matches)
    if rule.partition("@")[0] in ("whitespace", "newline"):
        return any(matches) and encoded.text[start:end].isspace()
    return any(matches)


def slow_row(encoded, rules: list[str], token: int, policy: str) -> list[float]:
    row = [0.0] * (len(rules) + 1)
    start, end = encoded.offsets[token]
    if policy == "proportional" and start < end and not encoded.special[token]:
        for at in range(start, end):
            for column, rule in enumerate(rules):
                named = token_matches(encoded, rule, token)
                if named or (named is None and character_matches(encoded, rule, at)):
                    row[column] += 1 / (end - start)
                    break
            else:
                row[-1] += 1 / (end - start)
        return row
    hits = [whole_match(encoded, rule, token, policy) for rule in rules]
    row[hits.index(True) if True in hits else -1] = 1.0
    return row


def encoded_with_span(text: str, name: str, cut: tuple[int, int]):
    start, end = sorted((cut[0] % len(text), cut[1] % len(text) + 1))
    spans = {"part": [start, end]} if start < end else None
    return encode(Prompt.from_text(text, spans), build(name))


cuts = st.tuples(st.integers(0, 60), st.integers(0, 60))
orders = st.permutations(list(RULES)).flatmap(
    lambda names: st.integers(0, 8).map(lambda number: names[:number])
)


@pytest.mark.parametrize("policy", ["priority", "pure", "proportional"])
@pytest.mark.parametrize("name", NAMES)
@LAW
@given(text=texts(special=True), cut=cuts, order=orders)
def test_weights_are_what_the_definitions_say(name, policy, text, cut, order):
    encoded = encoded_with_span(text, name, cut)
    classes = parse_classes({rule: RULES[rule] for rule in order}, policy=policy)
    weights = classify(encoded, classes).weights
    rules = [RULES[rule] for rule in order]
    expected = [slow_row(encoded, rules, token, policy) for token in range(len(encoded))]
    np.testing.assert_allclose(weights, expected, atol=1e-12)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-15 * len(rules) + 1e-15)
    if policy != "proportional":
        assert set(np.unique(weights)) <= {0.0, 1.0}


ascii_texts = st.text(st.characters(max_codepoint=127), min_size=1)


@pytest.mark.parametrize("name", [*KEEPS_ALL, "nfc"])
@LAW
@given(text=ascii_texts)
def test_proportional_weights_count_the_characters(name, text):
    """Weight times length, summed over tokens, is the number of characters of each class."""
    encoded = encode(Prompt.from_text(text), build(name))
    rules = ["#", "newline", "whitespace", "digit", "letter"]
    classes = parse_classes(
        {f"c{place}": rule for place, rule in enumerate(rules)}, policy="proportional"
    )
    lengths = np.array([end - start for start, end in encoded.offsets])
    counted = (classify(encoded, classes).weights * lengths[:, None]).sum(axis=0)
    expected = np.zeros(len(rules) + 1)
    for at in range(len(text)):
        hits = [character_matches(encoded, rule, at) for rule in rules]
        expected[hits.index(True) if True in hits else -1] += 1
    np.testing.assert_allclose(counted, expected, atol=1e-9)


@LAW
@given(text=texts(special=True), order=orders)
def test_pure_weights_are_within_priority_for_one_rule(text, order):
    """With a single rule, a token that is purely of a class is of it under priority too."""
    encoded = encode(Prompt.from_text(text), build("bytes"))
    for rule in order:
        pure = classify(encoded, parse_classes({rule: RULES[rule]}, policy="pure")).weights[:, 0]
        first = classify(encoded, parse_classes({rule: RULES[rule]})).weights[:, 0]
        assert (pure <= first).all()


# Query sets pick the tokens they name, or say what is there.

MARKED = "<<a>>Hello<</a>> world ##<<b>> the<</b>> map<<a>>.<</a>> # #"


def picked(words, text=MARKED, tokenizer="bytes-bos"):
    encoded = encode(Prompt.from_text(text, marked=True), build(tokenizer))
    classed = classify(encoded, parse_classes({"hash": "#", "star": "*"}))
    mask = query_mask(parse_queries(words), encoded, classed)
    assert mask.dtype == bool
    assert mask.shape == (len(encoded),)
    return "|".join(piece for piece, flag in zip(encoded.pieces, mask, strict=True) if flag)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("last", " #"),
        ("span:b", " the"),
        ("span:a", "Hello|."),
        ("after:a", " #| #"),
    ],
)
def test_sets_of_tokens(words, expected):
    assert picked(words) == expected


def test_all_is_every_token_and_class_those_of_the_class():
    assert picked("all").replace("|", "") == "<s>Hello world ## the map. # #"
    assert picked("class:hash").replace(" ", "").replace("|", "") == "####"
    assert "#" not in picked("class:other")


def test_tokens_that_overlap_a_span_belong_to_it():
    assert picked("span:x", "Hel<<x>>lo wo<</x>>rld") == "Hello| world"
    assert picked("after:x", "<<x>>Hel<</x>>lo world") == " world"


def test_an_end_token_comes_after_everything():
    assert picked("after:x", "<<x>>Hello<</x>>", "bytes-bos-eos") == "</s>"


@pytest.mark.parametrize("words", ["last", "all", "span:a", "span:role:user", "class:c", "after:a"])
def test_words_read_and_written(words):
    assert str(parse_queries(f" {words} ")) == words


def test_a_query_set_is_a_kind_and_a_name():
    assert parse_queries("span:role:user") == QuerySet("span", "role:user")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("lst", r"'lst' is no query set; did you mean 'last'\?"),
        ("spam:a", "did you mean 'span'"),
        ("", "'' is no query set"),
        ("span:", "names nothing"),
        ("after", "names nothing"),
        ("span:c", r"no span 'c'[\s\S]*Allowed: a, b"),
        ("after:c", r"no span 'c'"),
        ("class:hsh", r"no class 'hsh'; did you mean 'hash'[\s\S]*hash, star, other"),
        ("class:star", "class:star holds no token"),
    ],
)
def test_what_is_not_there(words, message):
    with pytest.raises(SelectionError, match=message):
        picked(words)


def test_a_prompt_without_spans_says_so():
    with pytest.raises(SelectionError, match="this prompt has no span"):
        picked("span:a", "Hello")


def test_nothing_after_the_end():
    with pytest.raises(SelectionError, match="after:x holds no token of this prompt"):
        picked("after:x", "Hello<<x>> world<</x>>")
