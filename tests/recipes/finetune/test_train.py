from __future__ import annotations

import json
from pathlib import Path

import pytest
from safetensors.torch import load_file

from mindshare.errors import OutputError, PromptError
from mindshare.models import wrap
from mindshare.models.adapter import merge_adapter
from mindshare.recipes.finetune import train as training
from mindshare.recipes.finetune.answering import answers
from mindshare.recipes.finetune.batches import Example
from mindshare.recipes.finetune.settings import Settings
from mindshare.recipes.finetune.train import train

from .conftest import Fresh

SETTINGS = Settings(steps=12, batch=4, learning_rate=0.02, warmup=2, rank=4)


class KilledError(Exception):
    pass


def weights(folder: Path) -> dict[str, list[float]]:
    stored = load_file(folder / "adapter_model.safetensors")
    return {name: tensor.flatten().tolist() for name, tensor in stored.items()}


def test_a_killed_run_goes_on_and_ends_with_the_same_weights(
    fresh: Fresh, examples: list[Example], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "CHECKPOINT_EVERY", 5)
    whole = train(fresh(), examples, SETTINGS, out=tmp_path / "whole")

    def kill(done: int, _total: int, _loss: float) -> None:
        if done == 8:
            raise KilledError

    with pytest.raises(KilledError):
        train(fresh(), examples, SETTINGS, out=tmp_path / "killed", report=kill)
    steps: list[int] = []
    again = train(
        fresh(),
        examples,
        SETTINGS,
        out=tmp_path / "killed",
        report=lambda done, _total, _loss: steps.append(done),
    )
    assert steps == list(range(6, 13))  # from the checkpoint at 5, not from the start
    assert weights(again) == weights(whole)
    assert not (again / "checkpoint").exists()


def test_a_tiny_model_learns_its_answers_and_keeps_them_on_disk(
    fresh: Fresh, examples: list[Example], tmp_path: Path
) -> None:
    settings = Settings(steps=150, batch=6, learning_rate=0.02, warmup=5, rank=8)
    out = train(fresh(), examples, settings, out=tmp_path / "learnt")
    log = json.loads((out / "training.json").read_text())
    assert log["losses"][-1] < 0.2 < log["losses"][0]
    base = fresh()
    tuned = wrap(merge_adapter(base.model, out, base_name="tiny"), base.tokenizer)
    given = answers(tuned, [one.prompt for one in examples], [one.answer for one in examples])
    assert [g.free[: len(e.answer)] for g, e in zip(given, examples, strict=True)] == [
        one.answer for one in examples
    ]


def test_the_adapter_says_what_it_stands_on(
    fresh: Fresh, examples: list[Example], tmp_path: Path
) -> None:
    base = fresh()
    out = train(base, examples, Settings(steps=1, batch=2), out=tmp_path / "a")
    config = json.loads((out / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == base.reference
    kinds = {tensor.dtype for tensor in load_file(out / "adapter_model.safetensors").values()}
    assert {str(kind) for kind in kinds} == {"torch.bfloat16"}


def test_other_settings_do_not_continue_a_checkpoint(
    fresh: Fresh, examples: list[Example], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "CHECKPOINT_EVERY", 1)

    def kill(done: int, _total: int, _loss: float) -> None:
        if done == 2:
            raise KilledError

    with pytest.raises(KilledError):
        train(fresh(), examples, SETTINGS, out=tmp_path, report=kill)
    with pytest.raises(OutputError, match="seed was 0 and is now 1"):
        train(fresh(), examples, Settings(**{**SETTINGS.to_dict(), "seed": 1}), out=tmp_path)
    with pytest.raises(OutputError, match="examples are not the same"):
        train(fresh(), examples[:-1], SETTINGS, out=tmp_path)
    assert (tmp_path / "checkpoint" / "state.pt").is_file()


def test_a_finished_adapter_is_not_overwritten(
    fresh: Fresh, examples: list[Example], tmp_path: Path
) -> None:
    train(fresh(), examples, Settings(steps=1, batch=2), out=tmp_path)
    with pytest.raises(OutputError, match="holds a finished adapter"):
        train(fresh(), examples, Settings(steps=1, batch=2), out=tmp_path)
    with pytest.raises(PromptError, match="no example"):
        train(fresh(), [], Settings(steps=1), out=tmp_path / "empty")
