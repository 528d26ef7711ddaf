from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from scipy.stats import binomtest

from mindshare.errors import OutputError
from mindshare.models import LoadedModel
from mindshare.models.reference import shipped_adapters
from mindshare_recipes.accuracy import (
    Score,
    accuracy,
    answers,
    card,
    write_accuracy,
    write_card,
)
from mindshare_recipes.cli import show_accuracy
from mindshare_recipes.finetune import Example
from mindshare_recipes.maps import samples

from .conftest import Fresh


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
    write_accuracy({"smollm2": found}, tmp_path / "a.json", seed=0)
    content = json.loads((tmp_path / "a.json").read_text())
    assert content["models"]["smollm2"]["exact"]["all"]["n"] == content["samples"] == 18


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


def test_free_answers_are_what_transformers_generates(
    fresh: Fresh, examples: list[Example]
) -> None:
    loaded = fresh()
    given = answers(loaded, [one.prompt for one in examples], [(3, 4, 5)])
    for one, answer in zip(examples, given, strict=True):
        ids = torch.tensor([one.prompt])
        grown = loaded.model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=3,
            do_sample=False,
            eos_token_id=None,
            pad_token_id=0,
        )
        assert answer.free == tuple(grown[0, len(one.prompt) :].tolist())


def test_chosen_answers_are_allowed_ones(fresh: Fresh, examples: list[Example]) -> None:
    allowed = [(50, 1), (51, 52, 1), (51, 53, 1)]
    given = answers(fresh(), [one.prompt for one in examples], allowed)
    for answer in given:
        assert any(answer.chosen[: len(one)] == one for one in allowed)


def test_the_order_is_kept_and_progress_is_told(fresh: Fresh, examples: list[Example]) -> None:
    loaded, seen = fresh(), []
    prompts = [one.prompt for one in examples]
    given = answers(loaded, prompts, [(3,)], report=lambda done, total: seen.append((done, total)))
    alone = [answers(loaded, [prompt], [(3,)])[0] for prompt in prompts]
    assert given == alone
    assert seen == [(6, 6)]
