from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from mindshare.errors import OutputError, PromptError, SelectionError
from mindshare.models import LoadedModel, wrap
from mindshare.models.pretrained import merge_adapter
from mindshare.prompts import Prompt
from mindshare.study import encode_for
from mindshare_recipes import finetune
from mindshare_recipes.accuracy import answers
from mindshare_recipes.finetune import (
    CHECKPOINT,
    IGNORED,
    Example,
    Settings,
    TrainingState,
    answer_loss,
    batch,
    example,
    train,
)

from .conftest import Fresh


def test_what_all_begin_with_is_kept_once_and_the_rest_ends_together() -> None:
    found = batch([Example((1, 2, 3, 4), (9, 0)), Example((1, 2, 5, 6, 7), (8, 8, 0))])
    assert found.prefix.tolist() == [[1, 2]]
    assert found.rest.tolist() == [[0, 0, 3, 4, 9], [5, 6, 7, 8, 8]]
    assert found.labels.tolist() == [[IGNORED, 9, 0], [8, 8, 0]]
    assert found.mask.tolist() == [[1, 1, 0, 0, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1]]
    assert found.positions[0, 2:].tolist() == [2, 3, 4]
    assert found.positions[1].tolist() == [2, 3, 4, 5, 6]


def test_the_last_token_of_a_prompt_is_never_shared() -> None:
    """Its logits are the first of the answer, so it must be among the rest."""
    found = batch([Example((1, 2), (9,)), Example((1, 2), (8,))])
    assert found.prefix.tolist() == [[1]]
    assert found.rest.tolist() == [[2], [2]]


def test_a_prompt_is_tokenised_as_it_is_measured(smollm2: LoadedModel) -> None:
    prompt = Prompt.from_chat([{"role": "user", "content": "Left or right?"}])
    found = example(smollm2, prompt, "left")
    assert found.prompt == encode_for(smollm2, prompt).ids
    assert smollm2.tokenizer is not None
    assert smollm2.tokenizer.decode(found.answer) == "left<|im_end|>"


def whole_loss(model: torch.nn.Module, examples: list[Example]) -> torch.Tensor:
    """Every sequence by itself, whole, by the definition."""
    logs = []
    for one in examples:
        ids = torch.tensor([one.prompt + one.answer])
        said = model(input_ids=ids).logits[0].log_softmax(-1)
        first = len(one.prompt)
        logs += [said[first + i - 1, token] for i, token in enumerate(one.answer)]
    return -torch.stack(logs).mean()


def test_the_loss_and_its_gradients_are_those_of_whole_sequences(
    fresh: Fresh, examples: list[Example]
) -> None:
    ours, theirs = fresh().model, fresh().model
    loss, expected = answer_loss(ours, batch(examples)), whole_loss(theirs, examples)
    torch.testing.assert_close(loss, expected, atol=1e-5, rtol=1e-5)
    loss.backward()
    expected.backward()
    pairs = zip(ours.named_parameters(), theirs.named_parameters(), strict=True)
    for (name, mine), (_, other) in pairs:
        torch.testing.assert_close(mine.grad, other.grad, atol=2e-5, rtol=1e-3, msg=name)


def test_sequences_that_share_nothing_work_too(fresh: Fresh) -> None:
    apart = [Example((5, 6, 7), (9, 1)), Example((8, 9), (10, 1))]
    model = fresh().model
    torch.testing.assert_close(
        answer_loss(model, batch(apart)), whole_loss(model, apart), atol=1e-5, rtol=1e-5
    )


SETTINGS = Settings(steps=12, batch=4, learning_rate=0.02, warmup=2, rank=4)


class KilledError(Exception):
    pass


def weights(folder: Path) -> dict[str, list[float]]:
    stored = load_file(folder / "adapter_model.safetensors")
    return {name: tensor.flatten().tolist() for name, tensor in stored.items()}


def test_a_killed_run_goes_on_and_ends_with_the_same_weights(
    fresh: Fresh, examples: list[Example], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finetune, "CHECKPOINT_EVERY", 5)
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
    assert not (again / CHECKPOINT).exists()


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
    monkeypatch.setattr(finetune, "CHECKPOINT_EVERY", 1)

    def kill(done: int, _total: int, _loss: float) -> None:
        if done == 2:
            raise KilledError

    with pytest.raises(KilledError):
        train(fresh(), examples, SETTINGS, out=tmp_path, report=kill)
    with pytest.raises(OutputError, match="seed was 0 and is now 1"):
        train(fresh(), examples, replace(SETTINGS, seed=1), out=tmp_path)
    with pytest.raises(OutputError, match="rank was 4 and is now 8"):
        train(fresh(), examples, replace(SETTINGS, rank=8), out=tmp_path)
    with pytest.raises(OutputError, match="examples are not the same"):
        train(fresh(), examples[:-1], SETTINGS, out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [CHECKPOINT]


def test_a_finished_adapter_is_not_overwritten(
    fresh: Fresh, examples: list[Example], tmp_path: Path
) -> None:
    train(fresh(), examples, Settings(steps=1, batch=2), out=tmp_path)
    with pytest.raises(OutputError, match="holds a finished adapter"):
        train(fresh(), examples, Settings(steps=1, batch=2), out=tmp_path)
    with pytest.raises(PromptError, match="no example"):
        train(fresh(), [], Settings(steps=1), out=tmp_path / "empty")


def test_the_rate_warms_up_and_falls_to_a_tenth() -> None:
    settings = Settings(steps=100, learning_rate=1e-3, warmup=10)
    assert settings.rate(0) == pytest.approx(1e-4)
    assert settings.rate(10) == pytest.approx(1e-3)
    assert settings.rate(100) == pytest.approx(1e-4)
    rates = [settings.rate(step) for step in range(10, 101)]
    assert rates == sorted(rates, reverse=True)


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"batch": 0}, {"learning_rate": 2.0}])
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(SelectionError, match=next(iter(wrong))):
        Settings(**{"steps": 5, **wrong})  # type: ignore[arg-type]


def test_what_was_saved_last_is_loaded(tmp_path: Path) -> None:
    run = {"base": "b", "examples": "e", "settings": {"steps": 5}}
    assert TrainingState.load(tmp_path, run) == TrainingState(run)
    for step in (1, 2):
        TrainingState(run, [0.5] * step, 3.0, {"w": torch.full((2,), step)}).save(tmp_path)
    state = TrainingState.load(tmp_path, run)
    assert (state.losses, state.seconds) == ([0.5, 0.5], 3.0)
    assert state.adapter["w"].tolist() == [2, 2]


def test_killed_while_one_is_written_the_one_before_is_found(tmp_path: Path) -> None:
    TrainingState({"settings": {}, "base": "b", "examples": "e"}, [0.5]).save(tmp_path)
    (tmp_path / f"{CHECKPOINT}.building").write_bytes(b"half")
    run = {"settings": {}, "base": "b", "examples": "e"}
    assert TrainingState.load(tmp_path, run).losses == [0.5]
    with pytest.raises(OutputError, match="the base is another model"):
        TrainingState.load(tmp_path, {**run, "base": "c"})


def test_a_damaged_one_is_refused_with_what_to_do(tmp_path: Path) -> None:
    TrainingState({}, adapter={"w": torch.zeros(9)}).save(tmp_path)
    path = tmp_path / CHECKPOINT
    for content in (path.read_bytes()[:40], b"", b"no checkpoint"):
        path.write_bytes(content)
        with pytest.raises(OutputError, match="can't be read"):
            TrainingState.load(tmp_path, {})


def test_a_checkpoint_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="can't write a checkpoint"):
        TrainingState({}).save(tmp_path / "file")
