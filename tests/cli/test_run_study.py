"""`mindshare run`: results made again from the file that lies beside them."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from .conftest import Mindshare

ASKED = (
    "--text",
    "see ## and ** here",
    "--class",
    "hash=#",
    "--class",
    "star=*",
    "--layers",
    "0,2",
)


@pytest.mark.parametrize(
    "first",
    [
        ("measure", *ASKED),
        ("shares", *ASKED, "--palette", "safe"),
        ("head-map", *ASKED, "--show", "hash"),
        ("insert", "--text", "see ## and ** here", "--insert", "/ *3", "--heads", "0.1"),
    ],
    ids=lambda words: words[0],
)
def test_results_hold_the_file_that_makes_them_again(
    mindshare: Mindshare, llama: Path, place: Path, first: tuple[str, ...]
) -> None:
    name, *options = first
    ran = mindshare(name, str(llama), *options, "--out", "one", "--quiet")
    assert ran.code == 0, ran.err
    again = mindshare("run", "one/study.toml", "--out", "two", "--quiet")
    assert again.code == 0, again.err
    tables = sorted(file.name for file in (place / "one").glob("*.parquet"))
    assert len(tables) > 2
    for table in tables:
        left, right = (pq.read_table(place / folder / table) for folder in ("one", "two"))
        assert left.equals(right), table
    texts = ("study.toml", "prompts.jsonl")
    assert all((place / "one" / t).read_text() == (place / "two" / t).read_text() for t in texts)


def test_a_study_can_be_written_without_being_run(
    mindshare: Mindshare, llama: Path, place: Path
) -> None:
    ran = mindshare("shares", str(llama), *ASKED, "--save-study", "studies/map.toml")
    assert ran.code == 0, ran.err
    assert "mindshare run studies/map.toml" in ran.out
    assert not (place / "results").exists()
    done = mindshare("run", "studies/map.toml", "--out", "out", "--quiet")
    assert done.code == 0, done.err
    assert (place / "out" / "summary.parquet").is_file()
    twice = mindshare("shares", str(llama), *ASKED, "--save-study", "studies/map.toml")
    assert twice.code == 2
    assert "exists already" in twice.err


def test_mistakes_in_a_file_name_it(mindshare: Mindshare, place: Path) -> None:
    (place / "bad.toml").write_text("command = 'shares'\nmodels = ['m']\nlimit = 'three'\n")
    ran = mindshare("run", "bad.toml")
    assert ran.code == 2
    assert "bad.toml" in ran.err
    assert "--limit" in ran.err
    assert "Traceback" not in ran.err
