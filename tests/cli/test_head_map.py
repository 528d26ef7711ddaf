from __future__ import annotations

from pathlib import Path

from .conftest import Mindshare

TEXT = ("--text", "see ## and ** here")


def test_a_map_a_model_and_the_difference(mindshare: Mindshare, llama: Path, place: Path) -> None:
    ran = mindshare(
        "head-map", f"A={llama}", f"B={llama}", *TEXT, "--class", "hash=#", "--out", "m"
    )
    assert ran.code == 0, ran.err
    pictures = sorted(file.stem for file in (place / "m").glob("*.png"))
    assert pictures == [
        "head_map_mass_hash_A",
        "head_map_mass_hash_B",
        "head_map_mass_hash_B_minus_A",
    ]
    assert "exactly 0" in ran.err


def test_one_of_several_classes_must_be_chosen(mindshare: Mindshare, llama: Path) -> None:
    several = ("--class", "hash=#", "--class", "star=*")
    ran = mindshare("head-map", llama, *TEXT, *several)
    assert ran.code == 2
    assert "choose with --show: hash, star" in ran.err
    assert mindshare("head-map", llama, *TEXT, *several, "--show", "star", "--quiet").code == 0
    wrong = mindshare("head-map", llama, *TEXT, *several, "--show", "stat")
    assert wrong.code == 2
    assert "did you mean 'star'" in wrong.err
