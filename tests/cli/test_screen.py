"""Errors, warnings, progress and numbers: wrapped on a terminal, one line each in a file."""

from __future__ import annotations

import json
import re
from contextlib import suppress

import pytest
from rich.table import Table

from mindshare.cli.screen import (
    count_text,
    duration_text,
    left_text,
    lift_text,
    mass_text,
    pace_text,
    progress_bar,
    run_progress,
    say_lines,
    stdout,
    tell_error,
    warn,
)
from mindshare.errors import PromptError

ERROR = PromptError(
    "there is no such file",
    where="/a/folder/with-a-name-that/must-not-be-cut/although-it-is-longer-than-a-line/prompt.txt",
    allowed="a text file",
    next_step="check the path, and then check it again because this sentence is a long one, too",
)


def test_in_a_file_each_part_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    tell_error(ERROR)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        f"mindshare: there is no such file (in {ERROR.where})",
        "  Allowed: a text file",
        f"  Next: {ERROR.next_step}",
    ]


def test_on_a_terminal_words_are_coloured_and_wrapped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    tell_error(ERROR)
    err = capsys.readouterr().err
    assert "\x1b[1;31mmindshare:\x1b[0m" in err
    assert str(ERROR.where) in err, "a path stays whole"
    assert all(len(line) <= 80 + 20 for line in err.splitlines() if str(ERROR.where) not in line)


@pytest.mark.parametrize("colour", ["", "1"])
def test_a_name_does_not_steer_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, colour: str
) -> None:
    monkeypatch.setenv("FORCE_COLOR", colour)
    name = "a\x1b]0;title\x07\x1b[2J\x9b31m\x7fb"
    table = Table(box=None)
    table.add_column(name, width=60)
    table.add_row(name)
    tell_error(PromptError(f"there is no {name}", where=name, next_step=name))
    warn(name)
    say_lines([name])
    stdout().print(table)
    out, err = capsys.readouterr()
    foreign = re.compile(r"\x1b(?!\[[\d;]*m)|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]")
    assert not foreign.search(out + err)
    assert err.count(r"\x1b]0;title") == 4
    assert out.count(r"\x1b[2J") == 3


def test_warnings_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    warn("beware")
    assert capsys.readouterr() == ("", "mindshare: warning: beware\n")


def test_no_progress_bar_in_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar(show=True) as progress:
        assert progress is None
    assert capsys.readouterr() == ("", "")


def test_a_progress_bar_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress_bar(show=True) as progress:
        assert progress is not None
        progress(0, 2)
        progress(2, 2)
    out, err = capsys.readouterr()
    assert out == ""
    assert "2/2" in err


def test_json_lines_go_to_stderr_and_end_with_the_last(capsys: pytest.CaptureFixture[str]) -> None:
    with run_progress("json") as progress:
        for done in range(5):
            progress.update(done, 5, tokens=done * 100, failed=1)
    out, err = capsys.readouterr()
    assert out == ""
    lines = [json.loads(line) for line in err.splitlines()]
    assert [(line["done"], line["finished"]) for line in lines] == [(0, False), (4, True)]
    assert {"done", "total", "failed", "tokens", "tokens_per_second", "seconds_left"} < set(
        lines[0]
    )


def test_json_says_when_the_work_broke_off(capsys: pytest.CaptureFixture[str]) -> None:
    with suppress(ValueError), run_progress("json") as progress:
        progress.update(1, 2)
        raise ValueError
    last = json.loads(capsys.readouterr().err.splitlines()[-1])
    assert (last["done"], last["seconds_left"], last["finished"]) == (1, None, False)


def test_whoever_stops_is_told_that_nothing_is_lost(capsys: pytest.CaptureFixture[str]) -> None:
    with suppress(KeyboardInterrupt), run_progress("quiet") as progress:
        progress.update(1, 2)
        raise KeyboardInterrupt
    assert "the same command goes on from there" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["auto", "quiet"])
def test_nothing_is_written_to_a_file(capsys: pytest.CaptureFixture[str], form: str) -> None:
    with run_progress(form) as progress:
        progress.update(1, 2)
    assert capsys.readouterr() == ("", "")


def test_a_bar_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with run_progress("auto") as progress:
        progress.update(0, 4)
        progress._every = 0
        progress.update(1, 4, tokens=100, failed=2)
    out, err = capsys.readouterr()
    assert out == ""
    assert "3/4" in err
    assert "2 failed" in err
    assert "tokens/s" in err


def test_times_as_people_say_them() -> None:
    seconds = (0.4, 89, 91, 5300, 5400, 86_400, 300_000)
    assert [duration_text(s) for s in seconds] == [
        *("0 s", "89 s", "2 min", "88 min", "1 h 30 min", "24 h 0 min", "3 d 11 h")
    ]
    assert left_text(120) == "about 2 min left"
    assert left_text(None) == pace_text(None) == ""
    assert pace_text(1234.5) == "1,234 tokens/s"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.004, "×0.00"),
        (1.234, "×1.23"),
        (9.996, "×10.0"),
        (12.34, "×12.3"),
        (123.4, "×123"),
        (9999.6, "×10k"),
    ],
)
def test_lift(value: float | None, text: str) -> None:
    assert lift_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (2 / 3, "0.67"),
        (19.0, "19"),
        (123.45, "123.5"),
        (1234.5, "1234"),
        (131_072, "131k"),
    ],
)
def test_count(value: float, text: str) -> None:
    assert count_text(value) == text


@pytest.mark.parametrize("exponent", range(-6, 5))
def test_widths(exponent: int) -> None:
    value = 9.99996 * 10.0**exponent
    assert len(lift_text(value)) <= 5
    assert len(count_text(value)) <= 5
    assert len(mass_text(min(value, 1.0))) == 6
