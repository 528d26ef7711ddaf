"""Reports are written whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mindshare.errors import OutputError, SelectionError
from mindshare.report import browser, write_report
from mindshare.report.document import document
from mindshare.report.saved import Saved
from mindshare.report.writing import file_names


def test_html_is_one_file_with_its_tables_beside(results: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "deep" / "report"
    assert write_report([results["shares"]], out) == [out / "report.html"]
    names = sorted(file.name for file in out.iterdir())
    assert names == ["class_bars_mass.csv", "manifest.json", "report.html"]
    assert json.loads((out / "manifest.json").read_text())["report"]["files"] == ["report.html"]


def test_markdown_has_its_pictures_beside(results: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "report"
    write_report([results["shares"], results["single"]], out, formats=("md",))
    names = {file.name for file in out.iterdir()}
    assert {"class_bars_mass.png", "class_bars_mass-2.png", "study-1.toml", "study-2.toml"} <= names
    text = (out / "report.md").read_text()
    assert "(<class_bars_mass-2.png>)" in text
    same = (out / "class_bars_mass-2.png").read_bytes()
    assert same == (results["single"] / "class_bars_mass.png").read_bytes()


def test_every_linked_file_is_there(results: dict[str, Path], tmp_path: Path) -> None:
    import re

    out = tmp_path / "report"
    write_report([results["insert"]], out, formats=("html", "md"))
    links = re.findall(r'href="([^"#:]+)"', (out / "report.html").read_text())
    links += re.findall(r"\]\(<([^>]+)>\)", (out / "report.md").read_text())
    assert len(links) == 9 + 2 * 9 + 2
    for link in links:
        assert (out / link).is_file(), link


def test_the_same_results_give_the_same_report(results: dict[str, Path], tmp_path: Path) -> None:
    a, b = (write_report([results["insert"]], tmp_path / name)[0] for name in "ab")
    assert a.read_bytes() == b.read_bytes()


def test_a_report_is_replaced_only_if_asked(results: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "report"
    write_report([results["single"]], out)
    with pytest.raises(OutputError, match="exists already"):
        write_report([results["single"]], out)
    write_report([results["single"]], out, title="Again", replace=True)
    assert "<h1>Again</h1>" in (out / "report.html").read_text()


def test_a_folder_of_something_else_is_never_replaced(
    results: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(OutputError, match="is not a folder of mindshare results"):
        write_report([results["single"]], tmp_path, replace=True)
    assert (tmp_path / "mine.txt").read_text() == "x"


def test_the_results_themselves_are_not_overwritten(results: dict[str, Path]) -> None:
    with pytest.raises(OutputError, match="the results"):
        write_report([results["single"]], results["single"], replace=True)
    assert (results["single"] / "summary.parquet").is_file()


def test_wrong_words_are_refused_before_anything_is_written(
    results: dict[str, Path], tmp_path: Path
) -> None:
    out = tmp_path / "report"
    with pytest.raises(SelectionError, match="unknown format 'htlm'; did you mean 'html'"):
        write_report([results["single"]], out, formats=("htlm",))
    with pytest.raises(SelectionError, match="no format"):
        write_report([results["single"]], out, formats=())
    with pytest.raises(SelectionError, match="no results"):
        write_report([], out)
    assert not out.exists()


def test_without_a_browser_there_is_no_pdf_and_nothing_else(
    results: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(browser, "_PLACES", ())
    with pytest.raises(OutputError, match="there is none here") as caught:
        write_report([results["single"]], tmp_path / "report", formats=("html", "pdf"))
    assert "--format html" in str(caught.value)
    assert not (tmp_path / "report").exists()


def test_a_failure_leaves_nothing_behind(
    results: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bin" / "chromium"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho no display >&2\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:/bin:/usr/bin")
    with pytest.raises(OutputError, match="chromium could not print the report: no display"):
        write_report([results["single"]], tmp_path / "out" / "report", formats=("html", "pdf"))
    assert list((tmp_path / "out").iterdir()) == []


def test_names_that_meet_are_numbered(saved: dict[str, Saved]) -> None:
    made = document([saved["shares"], saved["single"]])
    names = file_names(made)
    assert len(set(names.values())) == len(names) == 4
