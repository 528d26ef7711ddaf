"""Prompts are shown token by token, as the tables have them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mindshare.report import coloured
from mindshare.report.coloured import prompts_shown, visible
from mindshare.report.parts import ColouredText, Details, Paragraph, Part
from mindshare.report.saved import Saved

from .conftest import NASTY, PROMPTS


def texts(parts: list[Part]) -> list[ColouredText]:
    inside = [p for part in parts if isinstance(part, Details) for p in part.parts]
    return [p for p in [*parts, *inside] if isinstance(p, ColouredText)]


def test_every_token_and_its_class_is_there(saved: dict[str, Saved]) -> None:
    first, second = texts(prompts_shown(saved["shares"]))
    assert "".join(token for token, _ in first.tokens) == PROMPTS[0].text.replace("\n", "↵\n")
    assert "".join(token for token, _ in second.tokens) == NASTY
    assert {kind for token, kind in first.tokens if token == "#"} == {"hash"}
    assert {kind for token, kind in first.tokens if token == " "} == {"space"}


def test_the_legend_counts(saved: dict[str, Saved]) -> None:
    first = texts(prompts_shown(saved["shares"]))[0]
    notes = {colour.name: colour.note for colour in first.legend}
    assert notes["hash"] == "2 tokens"
    assert notes["star"] == "3 tokens"
    assert [c.name for c in first.legend][:3] == ["hash", "star", "space"]
    assert first.legend[0].colour == "#d63333"  # as in the chart


def test_models_that_read_alike_share_a_text(saved: dict[str, Saved]) -> None:
    assert len(texts(prompts_shown(saved["shares"]))) == 2


def test_inserted_tokens_are_marked(saved: dict[str, Saved]) -> None:
    first = texts(prompts_shown(saved["insert"]))[0]
    inserted = [token for token, kind in first.tokens if kind == "inserted"]
    assert inserted == ["#"] * 8
    assert "with “# ×8”" in first.label


def test_long_prompts_are_cut_and_say_so(
    saved: dict[str, Saved], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coloured, "TOKENS", 5)
    monkeypatch.setattr(coloured, "PROMPTS", 1)
    parts = prompts_shown(saved["shares"])
    (only,) = texts(parts)
    assert len(only.tokens) == 5
    assert only.left_out == len(PROMPTS[0].text) - 5
    assert isinstance(parts[0], Paragraph)
    assert "The first 1 of 2 prompts" in parts[0].text


def test_results_without_tokens_say_so(saved: dict[str, Saved]) -> None:
    bare = replace(saved["shares"], tables={"summary": saved["shares"].summary})
    assert prompts_shown(bare) == [Paragraph("The tokens were not saved with these results.")]


def test_control_characters_become_visible() -> None:
    assert visible("a\tb\r\n\x1b[31m\u00a0") == "a⇥b␍↵\n\\x1b[31m⍽"
