"""A classed prompt as text: nothing lost, nothing invisible, classes to be seen without colour."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from mindshare.cli import classed_text as view
from mindshare.prompts import Prompt
from mindshare.tokens import Classed, classify, encode, parse_classes

from . import tiny

CLASSES = ["hash=#", "star=*", "nl=newline"]
TEXT = "he ##\n\t**\x1b[31m\n\n🙂 \u00a0"


def classed(text: str, classes: list[str] = CLASSES, **options: Any) -> Classed:
    policy = options.pop("policy", "priority")
    encoded = encode(Prompt.from_text(text), tiny.tokenizer(**options))
    return classify(encoded, parse_classes(classes, policy=policy))


def test_whitespace_and_control_characters_are_visible() -> None:
    assert view.visible(" a\t\n\r\u00a0\x1b\u2028") == "·a⇥⏎␍⍽\\x1b\\u2028"


def test_plain_text_frames_every_classed_token() -> None:
    assert view.plain_text(classed("he ##\n**")) == "he[hash:·##][nl:⏎]\n[star:**]"


def test_a_last_line_end_adds_no_blank_line() -> None:
    assert view.plain_text(classed("a\n")) == "a[nl:⏎]"
    assert view.coloured_text(classed("a\n")).plain == "a⏎"


def test_coloured_text_is_the_visible_text() -> None:
    shown = view.coloured_text(classed(TEXT))
    emoji = "🙂" + view.SAME_CHARACTER * 3  # four tokens carry its four bytes
    assert shown.plain == f"he·##⏎\n⇥**\\x1b[31m⏎\n⏎\n{emoji}·⍽⁺"
    assert "\x1b" not in shown.plain


def test_each_token_has_the_colour_of_its_class() -> None:
    found = classed("## ## he **")
    spans = {shown.start: str(shown.style) for shown in view.coloured_text(found).spans}
    shades = view.class_shades(found.names)
    assert spans[0] in shades["hash"]
    assert spans[2] in shades["hash"]
    assert spans[0] != spans[2], "neighbours of one class have two shades"
    assert spans[len("##·##·he·")] in shades["star"]


def test_special_tokens_are_dim() -> None:
    shown = view.coloured_text(classed("a", adds_bos=True))
    assert shown.plain == "<s>a"
    assert "dim" in str(shown.spans[0].style)
    assert "dim" not in str(shown.spans[1].style)


@pytest.mark.parametrize("policy", ["priority", "pure", "proportional"])
def test_legend_counts_every_token(policy: str) -> None:
    found = classed("he ##\n** #a", policy=policy)
    table = view.legend(found, colour=False)
    names, counts = (list(table.columns[i].cells) for i in (0, 1))
    assert [str(name) for name in names] == ["hash", "star", "nl", "other"]
    assert sum(float(str(count)) for count in counts) == pytest.approx(len(found.encoded), abs=0.02)


def test_legend_fits_80_columns() -> None:
    long = "a_class_of_a_very_long_name=re:a_pattern_that_is_much_too_long_to_show|#"
    words = " ".join(f"{letter * 30}" for letter in "abcdefgh")
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(view.legend(classed(words, [long, "digit=digit"]), colour=False))
    lines = console.export_text().rstrip().splitlines()
    assert len(lines) == 2 + 3, "no row is wrapped"
    assert max(map(len, lines)) <= 80


def test_bos_says_who_put_it_there() -> None:
    assert view.bos_line(classed("a").encoded) == "BOS: none"
    assert view.bos_line(classed("a", adds_bos=True).encoded) == "BOS: <s>, added by the tokenizer"
    assert "in the text itself" in view.bos_line(classed("<s>a").encoded)
    asked = encode(Prompt.from_text("a"), tiny.tokenizer(), add_bos=True)
    assert view.bos_line(asked) == "BOS: <s>, added by mindshare, as the model's files ask"


def test_remarks_name_empty_classes_and_dropped_characters() -> None:
    assert view.remarks(classed("## **\n")) == []
    assert view.remarks(classed("## **")) == ["class 'nl' matches no token of this prompt"]
    dropped = view.remarks(classed("  ##", ["hash=#"], strips=True))
    assert dropped == [
        "the tokenizer dropped 2 characters, which no token covers: first '··' at character 0"
    ]
