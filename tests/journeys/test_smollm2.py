"""Look at the tokens, measure, read the results: on the embedded model, from the shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mindshare

from .conftest import Shell
from .reading import printed_masses

MAP = "Start:\n  ##  \n  ##  \n\nTarget:\n  **  \n  **  \nWhich action?\n"
CLASSES = ("--class", "hash=#", "--class", "star=*", "--class", "space=whitespace")


def test_tokens(shell: Shell, folder: Path) -> None:
    (folder / "map.txt").write_text(MAP)
    ran = shell("tokens", "smollm2", "--file", "map.txt", *CLASSES)
    assert ran.returncode == 0, ran.stderr
    assert "[hash:·##]" in ran.stdout
    assert "[star:·**]" in ran.stdout
    assert "BOS: none" in ran.stdout
    assert ran.stderr == ""


def test_tokens_of_a_chat(shell: Shell, folder: Path) -> None:
    (folder / "talk.json").write_text(json.dumps([{"role": "user", "content": "## or **?"}]))
    ran = shell(
        *("tokens", "smollm2", "--chat", "talk.json"),
        *("--class", "special=special", "--class", "user=role:user"),
    )
    assert ran.returncode == 0, ran.stderr
    assert "[special:<|im_start|>]user⏎\n[user:##]" in ran.stdout


def test_measure(shell: Shell, folder: Path) -> None:
    (folder / "map.txt").write_text(MAP)
    ran = shell(
        *("measure", "smollm2", "--file", "map.txt", *CLASSES, "--out", "results/map"),
        *("--measure", "mass,received,entropy,distance", "--queries", "all", "--full"),
    )
    assert ran.returncode == 0, ran.stderr
    assert "Results: results/map" in ran.stdout
    found = mindshare.read(folder / "results" / "map")
    frame = found.to_pandas()
    assert frame.groupby(["layer", "head"])["mass"].sum().to_numpy() == pytest.approx(1, abs=1e-4)
    saved = frame.groupby(["layer", "class"])["mass"].mean()
    printed = printed_masses(ran.stdout)
    assert sorted(printed) == list(range(30))
    for layer, masses in printed.items():
        wanted = [saved[layer, name] for name in ("hash", "star", "space", "other")]
        assert masses == pytest.approx(wanted, abs=6e-5)
    assert "received" in found.tables
    assert found.to_pandas("heads")["entropy"].notna().all()
    assert max(map(len, ran.stdout.splitlines())) <= 80


def test_models(shell: Shell) -> None:
    ran = shell("models", "smollm2")
    assert ran.returncode == 0, ran.stderr
    assert "30, all with attention" in ran.stdout
    assert "9 query heads, 3 key-value heads" in ran.stdout
