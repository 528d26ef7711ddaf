"""Laws of class weights, on arbitrary Unicode, against a slow reading of the definitions."""

from __future__ import annotations

import re
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindshare.prompts import Prompt
from mindshare.tokens import classify, encode, parse_classes

from .conftest import KEEPS_ALL, LAW, build, texts

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
