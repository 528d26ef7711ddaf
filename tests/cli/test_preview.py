"""`tokens`: nothing lost, nothing invisible; `models`: the list, facts of one, refusals."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from mindshare.cli import preview as view
from mindshare.figures.colours import PALETTES, class_colours
from mindshare.models import available
from mindshare.prompts import Prompt
from mindshare.tokens import ClassedTokens, classify, encode, parse_classes

from . import tiny
from .conftest import Mindshare

RULES = ["hash=#", "star=*", "nl=newline"]
TEXT = "he ##\n\t**\x1b[31m\n\n🙂 \u00a0"


def classed(text: str, classes: list[str] = RULES, **options: Any) -> ClassedTokens:
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
    chart = class_colours(found.names, PALETTES["seed"])
    assert all(chart[name] in shades[name][0] for name in ("hash", "star"))
    assert spans[len("##·##·he·")] in shades["star"]


def test_any_number_of_classes_has_colours() -> None:
    names = [f"c{i}" for i in range(20)] + ["space", "other"]
    shades = view.class_shades(names)
    assert set(shades) == {*names, "sink_slot"}
    assert len({shades[f"c{i}"] for i in range(7)}) == 7


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
    (dropped,) = view.remarks(classed("  ##", ["hash=#"], strips=True))
    assert "dropped 2 characters" in dropped
    assert "'··' at character 0" in dropped


CLASSES = ("--class", "hash=#", "--class", "star=*")


def test_plain(mindshare: Mindshare, llama: Path) -> None:
    ran = mindshare("tokens", llama, "--text", "he ##\n**", *CLASSES)
    assert ran.code == 0
    assert "4 tokens, 8 characters" in ran.out  # he, ␣##, ⏎, **
    assert "he[hash:·##]⏎\n[star:**]" in ran.out
    rows = {line.split()[0]: line.split()[1:] for line in ran.out.splitlines() if line.strip()}
    assert rows["hash"] == ["1", "#", "·##"]
    assert rows["star"] == ["1", "*", "**"]
    assert rows["other"][0] == "2"
    assert "BOS: none" in ran.out
    assert ran.err == ""
    assert "\x1b" not in ran.out


def test_in_colour(mindshare: Mindshare, llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    ran = mindshare("tokens", llama, "--text", "he ##", *CLASSES)
    assert "\x1b[" in ran.out
    assert "[hash:" not in ran.out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "he[hash:·##]" in mindshare("tokens", llama, "--text", "he ##", *CLASSES).out


def test_warnings(mindshare: Mindshare, llama: Path) -> None:
    ran = mindshare("tokens", llama, "--text", "no marks", *CLASSES)
    assert ran.code == 0
    (warning,) = ran.err.splitlines()  # one for all
    assert "classes 'hash', 'star' match no token" in warning


def test_chat_with_roles(mindshare: Mindshare, llama: Path) -> None:
    messages = [{"role": "user", "content": "##"}, {"role": "assistant", "content": "**"}]
    Path("talk.json").write_text(json.dumps(messages))
    ran = mindshare("tokens", llama, "--chat", "talk.json", "--class", "user=role:user")
    assert "[user][user:##][assistant]**" in ran.out


def test_data_shows_the_first_prompts(mindshare: Mindshare, llama: Path) -> None:
    rows = [{"id": f"row{i}", "text": f"## {i}"} for i in range(5)]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    shown = mindshare("tokens", llama, "--data", "rows.jsonl", "--class", "hash=#").out
    assert [f"Prompt row{i}:" in shown for i in range(5)] == [True, True, True, False, False]
    one = mindshare("tokens", llama, "--data", "rows.jsonl", "--limit", "1").out
    assert one.count("Prompt row") == 1


def test_data_are_read_as_they_will_be_measured(mindshare: Mindshare, llama: Path) -> None:
    Path("rows.csv").write_text("question,level\n## a,1\n** b,2\n")
    ran = mindshare(
        *("tokens", llama, "--data", "rows.csv", "--column", "prompt=question"),
        *("--where", "level>1", *CLASSES),
    )
    assert ran.code == 0, ran.err
    assert "[star:**]" in ran.out
    assert "[hash:" not in ran.out


def test_marked_spans(mindshare: Mindshare, llama: Path) -> None:
    ran = mindshare(
        "tokens", llama, "--text", "# <<map>>#<</map>>", "--marked", "--class", "hash=#@map"
    )
    assert "#·[hash:#]" in ran.out


def test_policy(mindshare: Mindshare, llama: Path) -> None:
    pure = mindshare("tokens", llama, "--text", "a ##", *CLASSES, "--policy", "pure")
    assert "[hash:" not in pure.out
    shared = mindshare("tokens", llama, "--text", "a ##", *CLASSES, "--policy", "proportional")
    assert "0.67" in shared.out
    assert "has most of it" in shared.out


# mindshare models


def test_list(mindshare: Mindshare) -> None:
    ran = mindshare("models")
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= 80
    here, known = ran.out.split("Known, to be fetched from the hub")
    assert "smollm2" in here
    for row in available():
        if row.kind == "known":
            assert row.name in known


def test_list_as_json(mindshare: Mindshare) -> None:
    rows = json.loads(mindshare("models", "--json").out)
    assert rows == [vars(row) for row in available()]
    assert rows[0]["name"] == "smollm2"


def test_one_model(mindshare: Mindshare, llama: Path) -> None:
    ran = mindshare("models", llama)
    assert ran.code == 0
    words = {line.split()[0]: " ".join(line.split()[1:]) for line in ran.out.splitlines() if line}
    assert words["layers"] == "3, all with attention"
    assert words["heads"] == "4 query heads, 2 key-value heads"
    assert words["head"] == "size 8"
    assert words["windows"] == "none: every layer sees all earlier tokens"
    assert words["context"] == "64 tokens"
    assert words["sinks"] == "none learned"


def test_windows_are_told_compactly(mindshare: Mindshare) -> None:
    ran = mindshare("models", tiny.gemma3_config(Path("gemma3")))
    assert "512 tokens in layers 0–4, 6–10; all earlier tokens in 5, 11" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


def test_one_model_as_json(mindshare: Mindshare) -> None:
    found = json.loads(mindshare("models", tiny.gemma3_config(Path("gemma3")), "--json").out)
    assert found["reference"] == "gemma3"
    assert (found["layers"], found["heads"], found["kv_heads"]) == (12, 4, 1)
    assert found["windows"]["0"] == 512
    assert found["windows"]["5"] is None
    assert found["reason_unsupported"] is None


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("mamba", "state-space"), ("bloom", "code of its own"), ("t5", "encoder-decoder")],
)
def test_a_refused_model_says_why(
    mindshare: Mindshare, refused_models: dict[str, Path], kind: str, reason: str
) -> None:
    ran = mindshare("models", refused_models[kind])
    assert ran.code == 0
    assert reason in ran.out
    assert "instead" in ran.out
    assert "layers" not in ran.out.split("refused")[0]
