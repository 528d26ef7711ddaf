"""Errors and warnings as a person sees them: on a terminal wrapped, in a file one line each."""

from __future__ import annotations

import pytest

from mindshare.cli.screen import progress_bar, tell_error, warn
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
