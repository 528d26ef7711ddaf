from __future__ import annotations

from pathlib import Path

import pytest

from mindshare.charts.candidates import Loading, candidates
from mindshare.charts.comparison import Comparison, compare
from mindshare.errors import SelectionError
from mindshare.prompts import Prompt
from mindshare.study import build_study

from .conftest import CLASSES


def compared(models: object, prompts: list[Prompt], **parts: object) -> Comparison:
    study = build_study(**{"classes": CLASSES, "measures": "mass", **parts})  # type: ignore[arg-type]
    return compare(candidates(models, Loading(progress=False)), prompts, study)


def test_a_model_and_itself_differ_by_exactly_nothing_and_it_says_so(
    folders: dict[str, Path], prompts: list[Prompt]
) -> None:
    found = compared([folders["base"], folders["base"]], prompts)
    assert found.notes == (
        "base and base (2) are the same model (same weights): every difference is exactly 0",
    )
    table = found.contrast("base", "base (2)", measure="mass", options=None)
    assert set(table["difference"].to_pylist()) == {0.0}
    assert set(table["se"].to_pylist()) == {0.0}
    assert set(table["low"].to_pylist()) == {None}  # two prompts are too few
    assert set(table["p_value"].to_pylist()) == {1.0}


def test_a_tuned_model_differs_and_nothing_needs_saying(
    folders: dict[str, Path], prompts: list[Prompt]
) -> None:
    found = compared([folders["base"], folders["tuned"]], prompts)
    assert found.notes == ()
    table = found.contrast("base", "tuned", measure="mass", options=None)
    assert max(map(abs, table["difference"].to_pylist())) > 1e-4


def test_models_of_different_depth_are_compared_where_both_have_layers(
    folders: dict[str, Path], prompts: list[Prompt]
) -> None:
    found = compared([folders["base"], folders["deeper"]], prompts)
    assert any("base 2, deeper 3" in note for note in found.notes)
    table = found.contrast("base", "deeper", measure="mass", options=None)
    assert set(table["layer"].to_pylist()) == {0, 1}
    with pytest.raises(SelectionError, match="layer 2 does not exist: base has 2 layers"):
        compared([folders["base"], folders["deeper"]], prompts, layers=[0, 2])


def test_models_that_cut_the_text_differently_say_what_can_be_compared(
    folders: dict[str, Path], prompts: list[Prompt]
) -> None:
    found = compared([folders["base"], folders["other"]], prompts)
    (note,) = found.notes
    assert note.startswith("base and other cut the prompts into different tokens (hash 4 and 3;")
    assert "Not comparable: density" in note


def test_progress_names_the_model(folders: dict[str, Path], prompts: list[Prompt]) -> None:
    seen: list[tuple[str, int, int]] = []
    study = build_study(classes=CLASSES, measures="mass")
    pair = candidates([folders["base"], folders["tuned"]], Loading(progress=False))
    compare(pair, prompts, study, progress=lambda *told: seen.append(told))
    assert [told for told in seen if told[1] == told[2]] == [("base", 2, 2), ("tuned", 2, 2)]
