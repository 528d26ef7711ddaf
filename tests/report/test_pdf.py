"""The PDF has every chart and the words as text."""

from __future__ import annotations

import platform
import re
import zlib
from pathlib import Path

import pytest

from mindshare.report import write_report
from mindshare.report.document import document
from mindshare.report.pdf import has_chart_font, write_pdf
from mindshare.report.saved import Saved

from .browsing import require_chromium


@pytest.fixture(scope="module")
def pdf(saved: dict[str, Saved], tmp_path_factory: pytest.TempPathFactory) -> bytes:
    require_chromium()
    path = tmp_path_factory.mktemp("pdf") / "report.pdf"
    write_pdf(document([saved["shares"]]), path)
    return path.read_bytes()


def test_the_study_files_it_speaks_of_stand_beside_it(
    results: dict[str, Path], tmp_path: Path
) -> None:
    require_chromium()
    write_report([results["shares"], results["single"]], tmp_path / "report", formats=("pdf",))
    names = {file.name for file in (tmp_path / "report").iterdir()}
    assert {"study-1.toml", "study-2.toml", "prompts-1.jsonl", "report.pdf"} <= names


def streams(pdf: bytes) -> bytes:
    found = re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL)
    return b"".join(_inflated(one) for one in found)


def _inflated(stream: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(stream)
    except zlib.error:
        return stream


def test_it_is_a_pdf_of_several_pages(pdf: bytes) -> None:
    assert pdf.startswith(b"%PDF-")
    pages = re.search(rb"/Type\s*/Pages\b.*?/Count (\d+)", pdf, re.DOTALL)
    assert pages is not None
    assert 2 <= int(pages[1]) <= 20


def test_it_is_tagged_with_the_title(pdf: bytes) -> None:
    assert b"/StructTreeRoot" in pdf
    assert b"Attention of Base and Tuned" in pdf


def test_its_charts_are_there(pdf: bytes) -> None:
    """As shapes where the charts' font is here, else as pixels: no word is ever cut off."""
    if has_chart_font():
        red = rb"\.8392\d* \.2\d* \.2\d* rg"  # of the first class
        assert re.search(red, streams(pdf)), "no bar of the chart was painted"
    else:
        assert b"/Subtype /Image" in pdf


@pytest.mark.parametrize(
    ("answer", "fits"), [("Liberation Sans", True), ("Arimo,Arimo Medium", True), ("DejaVu", False)]
)
def test_the_font_of_charts_is_asked_for(
    answer: str, fits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "fc-match"
    tool.write_text(f"#!/bin/sh\nprintf %s '{answer}'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    assert has_chart_font() is fits


def test_a_folder_that_is_not_there_is_told(saved: dict[str, Saved], tmp_path: Path) -> None:
    from mindshare.errors import OutputError

    require_chromium()
    with pytest.raises(OutputError, match="could not print the report"):
        write_pdf(document([saved["single"]]), tmp_path / "no" / "such" / "report.pdf")
