"""`mindshare tokens`: every source, with and without colour."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Mindshare

CLASSES = ("--class", "hash=#", "--class", "star=*")


def test_plain(mindshare: Mindshare, llama: Path) -> None:
    ran = mindshare("tokens", llama, "--text", "he ##\n**", *CLASSES)
    assert ran.code == 0
    assert "5 tokens, 8 characters" not in ran.out  # he, ␣##, ⏎, **: four
    assert "4 tokens, 8 characters" in ran.out
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
    assert "warning: class 'hash' matches no token" in ran.err
    assert "warning: class 'star' matches no token" in ran.err


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
