"""`mindshare demo`, as a newcomer runs it: twice."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

import mindshare
from mindshare.study import Measurement

from .conftest import Shell
from .reading import printed_masses

CLASSES = ["hash", "star", "space", "other"]


@pytest.fixture(scope="module")
def ran(shell: Shell) -> subprocess.CompletedProcess[str]:
    return shell("demo")


@pytest.fixture(scope="module")
def found(ran: subprocess.CompletedProcess[str], folder: Path) -> Measurement:
    assert ran.returncode == 0, ran.stderr
    return mindshare.read(folder / "results" / "demo")


def test_it_says_where_the_results_are(
    ran: subprocess.CompletedProcess[str], folder: Path, found: Measurement
) -> None:
    assert "Results: results/demo" in ran.stdout
    assert ran.stderr == ""
    files = {file.name for file in (folder / "results" / "demo").iterdir()}
    drawn = {f"mass_by_class.{e}" for e in ("png", "svg", "pdf", "html", "csv", "parquet", "json")}
    assert files == {f"{name}.parquet" for name in found.tables} | {"manifest.json"} | drawn
    assert "results/demo/mass_by_class.png" in ran.stdout
    manifest = json.loads((folder / "results" / "demo" / "manifest.json").read_text())
    assert manifest["model"]["reference"] == "smollm2"


def test_masses_sum_to_one(found: Measurement) -> None:
    sums = found.to_pandas().groupby(["layer", "head"])["mass"].sum()
    assert len(sums) == 30 * 9
    assert sums.to_numpy() == pytest.approx(1, abs=1e-4)


def test_the_printed_table_is_the_saved_one(
    ran: subprocess.CompletedProcess[str], found: Measurement
) -> None:
    printed = printed_masses(ran.stdout)
    saved = found.to_pandas().groupby(["layer", "class"])["mass"].mean()
    assert sorted(printed) == list(range(30))
    for layer, masses in printed.items():
        assert masses == pytest.approx([saved[layer, name] for name in CLASSES], abs=6e-5)


def test_every_line_fits_80_columns(ran: subprocess.CompletedProcess[str]) -> None:
    assert max(map(len, ran.stdout.splitlines())) <= 80


def test_the_tokens_come_first(ran: subprocess.CompletedProcess[str]) -> None:
    text, _, table = ran.stdout.partition("2. Where smollm2 looks")
    assert "[hash:·####]" in text
    assert "[star:" in text
    assert "layer" in table


def test_the_sentences_are_true(ran: subprocess.CompletedProcess[str], found: Measurement) -> None:
    frame = found.to_pandas()
    text = " ".join(ran.stdout.split())
    for name in ("hash", "star"):
        masses = frame[frame["class"] == name].groupby("layer")[["mass", "expected"]].mean()
        said = re.search(
            rf"The {name} tokens get most in layer (\d+): ([\d.]+) of .*?, ([\d.]+) t", text
        )
        assert said is not None
        top = masses.loc[int(said[1])]
        assert int(said[1]) == masses["mass"].idxmax()
        assert float(said[2]) == pytest.approx(top["mass"], abs=6e-5)
        assert float(said[3]) == pytest.approx(top["mass"] / top["expected"], abs=6e-3)
    space = frame[frame["class"] == "space"]
    less = space["mass"].mean() < space["expected"].mean()
    assert f"Whitespace gets {'less' if less else 'more'} than its share" in text
    first = found.to_pandas("heads")["first_token"].mean()
    assert f"takes {first:.4f}" in text
    rate = found.to_pandas("prompts")["sink_rate"][0]
    assert f"Sink rate {rate:.2f}" in text


def test_again_replaces_its_own_results(shell: Shell, found: Measurement, folder: Path) -> None:
    again = shell("demo")
    assert again.returncode == 0, again.stderr
    assert mindshare.read(folder / "results" / "demo").mass.equals(found.mass)
