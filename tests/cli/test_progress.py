"""What is seen of a long run: a bar on a terminal, JSON lines in a log, nothing when quiet."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest

from mindshare.cli.progress import duration_text, left_text, pace_text, run_progress


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
    with run_progress(form) as progress:  # type: ignore[arg-type]
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
