from __future__ import annotations

import json
from pathlib import Path

import pytest

from mindshare.errors import OutputError
from mindshare.models.reference import shipped_adapters
from mindshare.recipes.building_blocks.card import card, write_card


def test_the_shipped_card_says_what_the_files_beside_it_say() -> None:
    folder = shipped_adapters()["smollm2-phys"]
    assert (folder / "README.md").read_text(encoding="utf-8") == card(folder)
    measured = json.loads((folder / "accuracy.json").read_text())
    right = measured["models"]["smollm2-phys"]["exact"]["all"]["right"]
    assert f"{100 * right / measured['samples']:.1f} %" in card(folder)


def test_a_folder_without_figures_is_told_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"training\.json can't be read") as error:
        write_card(tmp_path)
    assert "building-blocks accuracy" in str(error.value)
