from __future__ import annotations

import json
from pathlib import Path

import pytest

from mindshare.charts.candidates import Loading, candidates
from mindshare.charts.comparison import compare
from mindshare.charts.reading import Reading, read_prompts
from mindshare.errors import ClassRuleError, MindshareError, PromptError, SelectionError
from mindshare.models import LoadedModel
from mindshare.prompts import Prompt, read_data
from mindshare.study import build_study

from .conftest import CLASSES


def reading(base: LoadedModel, prompts: list[Prompt], **parts: object) -> Reading:
    study = build_study(**{"classes": CLASSES, **parts})  # type: ignore[arg-type]
    return read_prompts(candidates(base, Loading())[0], prompts, study)


def test_tokens_are_counted_over_all_prompts(base: LoadedModel, prompts: list[Prompt]) -> None:
    found = reading(base, prompts)
    assert found.n_tokens["hash"] == 4
    assert found.n_tokens["star"] == 4
    assert found.notes == ()
    assert len(found.ids) == 2


def test_a_class_without_a_token_is_named_with_how_the_text_was_cut(
    base: LoadedModel, prompts: list[Prompt]
) -> None:
    with pytest.raises(ClassRuleError) as error:
        reading(base, prompts, classes={"hash": "#", "tilde": "~"})
    message = str(error.value)
    assert "class 'tilde' (~) matches no token of any of the 2 prompts" in message
    assert "cuts one into 'm' 'a' 'p' ':'" in message
    assert "mindshare tokens" in message


def test_a_class_that_an_earlier_one_swallows_is_refused_with_who_did(
    base: LoadedModel, prompts: list[Prompt]
) -> None:
    with pytest.raises(ClassRuleError, match="'punctuation' stands before it and takes all"):
        reading(base, prompts, classes={"punctuation": "punctuation", "hash": "#"})


def test_classes_that_overlap_are_said(base: LoadedModel, prompts: list[Prompt]) -> None:
    found = reading(base, prompts, classes={"hash": "#", "map": "span:map"})
    (note,) = found.notes
    assert "Classes 'hash' and 'map' overlap in 4 tokens ('#')" in note
    assert "count as 'hash'" in note


def test_a_prompt_without_the_span_is_named(base: LoadedModel, prompts: list[Prompt]) -> None:
    rows = [*prompts, Prompt.from_text("no # map", id="three")]
    with pytest.raises(PromptError, match="prompt three has no span 'map'"):
        reading(base, rows, classes={"hash": "#@map"})
    with pytest.raises(MindshareError, match="no span 'map'"):
        reading(base, rows, classes={"hash": "#"}, queries="after:map")


def test_layers_beyond_the_model_are_refused(base: LoadedModel, prompts: list[Prompt]) -> None:
    with pytest.raises(SelectionError, match="layer 7 does not exist: base has 2 layers"):
        reading(base, prompts, layers=[0, 7])


def test_a_misspelt_span_of_a_row_is_named_with_its_line(base: LoadedModel, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [{"text": "a # b", "spans": {"map": [0, 3]}}, {"text": "c # d"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(PromptError, match=r"rows\.jsonl, line 1") as error:
        reading(base, list(read_data(path)), classes={"hash": "#@mpa"})
    assert "did you mean 'map'?" in str(error.value)
    with pytest.raises(PromptError, match=r"rows\.jsonl, line 2"):
        reading(base, list(read_data(path)), classes={"hash": "#@map"})


def test_notes_are_said_once_if_both_models_read_alike(
    base: LoadedModel, prompts: list[Prompt]
) -> None:
    study = build_study(classes={"hash": "#", "map": "span:map"}, measures="mass")
    twice = candidates({"A": base, "B": base}, Loading())
    notes = compare(twice, prompts, study).notes
    assert sum("overlap" in note for note in notes) == 1
