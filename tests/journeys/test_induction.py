"""Words repeated: the heads that are known for it, what they are good for, and one that is idle.

The file and the commands are those of docs/using.md, run as they stand there.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from .conftest import Shell

PAGE = Path(__file__).parent.parent.parent / "docs" / "using.md"
KNOWN = [(18, 6), (17, 4), (17, 3), (17, 5)]  # by induction, in a plain PyTorch loop
IDLE = (17, 5)


@pytest.fixture(scope="module")
def results(shell: Shell, folder: Path) -> Path:
    page = PAGE.read_text(encoding="utf-8").partition("## Heads that are known")[2]
    program, commands = re.findall(r"```(?:python)?\n(.*?)```", page, re.DOTALL)[:2]
    subprocess.run([sys.executable, "-c", program], cwd=folder, check=True)
    for command in commands.replace("\\\n", " ").strip().split("\n"):
        ran = shell(*shlex.split(command)[1:], "--formats", "json", "--quiet")
        assert ran.returncode == 0, ran.stderr
    return folder / "results"


def by_head(table: Path, column: str) -> Any:
    return pq.read_table(table).to_pandas().groupby(["layer", "head"])[column].mean()


def test_the_heads_are_those_that_others_find(results: Path) -> None:
    induction = by_head(results / "induction" / "summary.parquet", "mean")
    assert list(induction.nlargest(4).index) == KNOWN
    assert 0.5 < induction[IDLE] < induction[KNOWN[0]]
    previous = by_head(results / "previous" / "summary.parquet", "mean")
    assert list(previous.nlargest(2).index) == [(16, 0), (11, 1)]
    assert (2, 1) in previous.nlargest(5).index


def test_one_looks_without_using_and_one_works_against_it(results: Path) -> None:
    uses = pq.read_table(results / "each" / "uses.parquet").to_pandas()
    uses = uses.set_index(["layer", "head"])
    assert uses["mean"].idxmin() == KNOWN[0]
    assert uses.loc[IDLE, "mass"] > 0.5
    assert abs(uses.loc[IDLE, "mean"]) < 0.05
    assert uses.loc[IDLE, "remark"] == "looks without using"
    assert uses["mean"].idxmax() == (24, 4)  # without it the answer is likelier


def test_ten_of_them_are_used_a_hundred_times_as_much_as_ten_others(results: Path) -> None:
    heads = re.findall(r"--heads ([\d.,]{20,})", PAGE.read_text(encoding="utf-8"))
    ten, others = ({tuple(map(int, one.split("."))) for one in word.split(",")} for word in heads)
    induction = by_head(results / "induction" / "summary.parquet", "mean")
    assert ten == set(induction.nlargest(10).index)
    assert len(others - ten) == 10
    loss = {
        name: pq.read_table(results / name / "summary.parquet")["mean"][0].as_py()
        for name in ("ten", "others")
    }
    assert loss["ten"] < -6
    assert -loss["ten"] >= 100 * abs(loss["others"])
