"""A run that is killed at any moment, any number of times, ends in the same bytes."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def killed(folder: Path, kills: int, what: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tests.journeys.killing", str(folder), str(kills), "1", what],
        cwd=ROOT,
        env=os.environ | {"TOKENIZERS_PARALLELISM": "false"},
        capture_output=True,
        text=True,
        timeout=3000,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def tables(folder: Path) -> dict[str, str]:
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.glob("*.parquet"))
    }


@pytest.mark.parametrize(
    ("what", "kills"),
    [
        ("classes", 8),
        ("insertion", 4),
        ("knockout", 4),
        pytest.param("classes", 200, marks=pytest.mark.slow),
        pytest.param("insertion", 50, marks=pytest.mark.slow),
    ],
)
def test_a_killed_run_ends_in_the_same_bytes(tmp_path: Path, what: str, kills: int) -> None:
    said = killed(tmp_path / "runs", kills, what)
    assert int(said.split()[0]) >= kills
    assert "measuring" in said
    undisturbed = tables(tmp_path / "runs" / "alone")
    assert len(undisturbed) >= (2 if what == "knockout" else 5)
    disturbed = sorted(path for path in (tmp_path / "runs").iterdir() if path.name.isdigit())
    assert disturbed
    for folder in disturbed:
        assert tables(folder) == undisturbed
        assert not (folder / ".finalising").exists()
