from __future__ import annotations

import json
from pathlib import Path
from threading import Thread

import pytest
import torch

from mindshare.attention import checks
from mindshare.errors import ExactnessError
from tests.attention import tiny


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINDSHARE_CACHE", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_families_are_exact(family) -> None:
    verdict = checks.check(tiny.FAMILIES[family]())
    assert verdict.exact
    assert verdict.error < 1e-5
    assert verdict.layers == 3


def test_the_verdict_is_remembered_by_kind_of_model(cache) -> None:
    first = checks.verify(tiny.llama())
    files = list((cache / "verdicts").iterdir())
    assert len(files) == 1
    assert json.loads(files[0].read_text())["exact"] is True
    assert checks.verify(tiny.llama()) == first
    checks.verify(tiny.llama(num_hidden_layers=1))
    assert len(list((cache / "verdicts").iterdir())) == 2


def test_a_damaged_verdict_is_made_again(cache) -> None:
    first = checks.verify(tiny.llama())
    (file,) = (cache / "verdicts").iterdir()
    file.write_text("{")
    assert checks.verify(tiny.llama()) == first
    assert json.loads(file.read_text())["exact"] is True


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(tmp_path, monkeypatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("MINDSHARE_CACHE", str(blocked))
    assert checks.verify(tiny.llama()).exact


def test_weights_that_are_not_what_the_model_applies_are_refused(cache) -> None:
    """granite_swa scales its output by a sink that its eager weights leave out."""
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(0)
    settings = {**tiny.SMALL, "sliding_window": 9, "layer_types": ["full_attention"] * 3}
    config = AutoConfig.for_model("granite_swa", **settings)
    model = tiny.sharpen(AutoModelForCausalLM.from_config(config))
    with pytest.raises(ExactnessError, match="differ from this model's own eager attention"):
        checks.verify(model)
    assert not (cache / "verdicts").exists()


def test_a_matrix_that_is_no_number_is_refused_in_whatever_layer(cache, monkeypatch) -> None:
    matrices = checks.eager_matrices

    def damaged(*args):
        found = matrices(*args)
        return found | {1: torch.full_like(found[1], float("nan"))}

    monkeypatch.setattr(checks, "eager_matrices", damaged)
    with pytest.raises(ExactnessError, match="differ from this model's own eager attention"):
        checks.verify(tiny.llama())
    assert not (cache / "verdicts").exists()


def test_a_pass_of_another_thread_is_refused_while_a_model_is_checked(monkeypatch) -> None:
    """Its matrices would be taken for those of the check, and it would run with eager attention."""
    model = tiny.llama()
    ids = torch.arange(3, 20)[None]
    before, refusals = model(input_ids=ids).logits, []
    forward = checks.forward

    def meanwhile(*args, **options):
        for run in (model, model.model):  # with its head, and without
            thread = Thread(target=lambda run=run: refusals.append(refusal_of(run, ids)))
            thread.start()
            thread.join()
        return forward(*args, **options)

    alone = checks.check(model)
    monkeypatch.setattr(checks, "forward", meanwhile)
    assert checks.check(model) == alone
    assert len(refusals) == 2
    assert all("only in the thread that does" in words for words in refusals)
    assert torch.equal(model(input_ids=ids).logits, before)


def refusal_of(model, ids) -> str:
    try:
        model(input_ids=ids)
    except ExactnessError as error:
        return str(error)
    return "none"


def test_half_precision_has_its_own_tolerance() -> None:
    verdict = checks.check(tiny.llama().to(torch.bfloat16))
    assert verdict.exact
    assert verdict.tolerance > 1e-3
