"""`mindshare demo --quick`, as a newcomer runs it: twice."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from .conftest import Shell
from .reading import printed_masses

CLASSES = ["hash", "star", "space", "other"]
Ran = subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def ran(shell: Shell) -> Ran:
    done = shell("demo", "--quick")
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def place(ran: Ran, folder: Path) -> Path:
    assert ran.returncode == 0
    return folder / "results" / "demo"


def test_it_says_where_the_report_is(ran: Ran, place: Path) -> None:
    assert "Results: results/demo" in ran.stdout
    assert "The report: results/demo/report/report.html" in ran.stdout
    assert (place / "report" / "report.html").stat().st_size < 3e6
    assert len(list((place / "report").rglob("*.png"))) >= 10
    assert {p.name for p in place.iterdir()} == {"map", "pair", "insertion", "report"}


def test_the_charts_of_both_studies_are_there(place: Path) -> None:
    for study, names in {
        "pair": [
            "shares",
            "shares_all_layers",
            "change_by_layer",
            "system_or_maps",
            "heads_maps_change",
        ],
        "insertion": ["profiles", "panel", "map_amplitude", "retained_by_layer", "text"],
        "map": ["class_bars_mass"],
    }.items():
        figures = json.loads((place / study / "manifest.json").read_text())["figures"]
        assert set(names) <= set(figures)


def test_five_findings_with_numbers(ran: Ran) -> None:
    found = re.findall(r"^(\d)\. (.+)$", ran.stdout.partition("Five findings")[2], re.MULTILINE)
    assert [number for number, _ in found] == list("12345")
    assert all(re.search(r"\d\.\d{2}|\d+ %", sentence) for _, sentence in found)


def test_the_printed_table_is_the_saved_one(ran: Ran, place: Path) -> None:
    printed = printed_masses(ran.stdout)
    saved = pq.read_table(place / "map" / "mass_smollm2.parquet").to_pandas()
    saved = saved.groupby(["layer", "class"])["mass"].mean()
    assert len(printed) == 6  # of thirty layers; where a class peaks among them
    assert saved.xs("hash", level="class").idxmax() in printed
    for layer, masses in printed.items():
        assert masses == pytest.approx([saved[layer, name] for name in CLASSES], abs=6e-5)


def test_the_tokens_come_first(ran: Ran) -> None:
    text, _, table = ran.stdout.partition("Where smollm2 looks")
    assert "[hash:·####]" in text
    assert "[star:" in text
    assert "layer" in table


def test_what_is_said_of_one_map_is_in_its_table(ran: Ran, place: Path) -> None:
    frame = pq.read_table(place / "map" / "mass_smollm2.parquet").to_pandas()
    means = frame.groupby("class")[["mass", "expected"]].mean()  # over layers and heads
    said = re.search(
        r"together get (\d+) % of attention; an even spread would give them (\d+) %",
        " ".join(ran.stdout.split()),
    )
    assert said is not None
    found = means.loc[["hash", "star", "space"]].sum()
    assert [float(said[1]), float(said[2])] == pytest.approx(100 * found.to_numpy(), abs=0.51)


def test_again_replaces_its_own_results(shell: Shell, place: Path) -> None:
    before = (place / "map" / "mass_smollm2.parquet").read_bytes()
    again = shell("demo", "--quick")
    assert again.returncode == 0, again.stderr
    assert (place / "map" / "mass_smollm2.parquet").read_bytes() == before


def test_what_is_not_its_own_is_left_alone(shell: Shell, folder: Path) -> None:
    other = folder / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("years of work")
    refused = shell("demo", "--quick", "--out", "other")
    assert refused.returncode == 2
    assert "not an earlier demo's" in refused.stderr
    assert (other / "thesis.txt").read_text() == "years of work"
