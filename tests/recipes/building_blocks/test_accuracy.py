from __future__ import annotations

import json
from pathlib import Path

import pytest
from scipy.stats import binomtest

from mindshare.cli.recipes import show_accuracy
from mindshare.models import LoadedModel
from mindshare.recipes.building_blocks.accuracy import Score, accuracy, write
from mindshare.recipes.building_blocks.samples import samples


@pytest.mark.parametrize(("right", "n"), [(0, 10), (10, 10), (40, 60)])
def test_intervals_are_wilsons(right: int, n: int) -> None:
    theirs = binomtest(right, n).proportion_ci(method="wilson")
    assert Score(right, n).interval == pytest.approx((theirs.low, theirs.high), abs=1e-6)


def test_the_base_never_answers_in_one_word_and_guesses_among_nine(
    smollm2: LoadedModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = accuracy(smollm2, samples("test", 18))
    assert found.exact["all"] == Score(0, 18)
    assert found.choice["all"].n == 18
    assert sum(score.right for name, score in found.choice.items() if name != "all") == (
        found.choice["all"].right
    )
    show_accuracy({"smollm2": found})
    assert "turn around" in capsys.readouterr().out
    write({"smollm2": found}, tmp_path / "a.json", seed=0)
    content = json.loads((tmp_path / "a.json").read_text())
    assert content["models"]["smollm2"]["exact"]["all"]["n"] == content["samples"] == 18
