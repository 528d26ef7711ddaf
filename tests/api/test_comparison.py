from __future__ import annotations

import json
from pathlib import Path

import pytest

from mindshare.api.candidates import Candidate, Loading, candidates
from mindshare.api.comparison import Comparison, Survey, compare, survey_prompts
from mindshare.errors import ClassRuleError, MindshareError, PromptError, SelectionError
from mindshare.models import LoadedModel, ModelTokenizer
from mindshare.prompts import DataSource, Prompt
from mindshare.study import build_insertion_study, build_study
from tests.tokens.families import family

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
    table = found.contrast("base", "base (2)", measure="mass")
    assert set(table["difference"].to_pylist()) == {0.0}
    assert set(table["se"].to_pylist()) == {0.0}
    for name in ("low", "p_value", "p_family", "p_equivalent"):
        assert set(table[name].to_pylist()) == {None}  # two prompts are too few


def test_a_tuned_model_differs_and_nothing_needs_saying(
    folders: dict[str, Path], prompts: list[Prompt]
) -> None:
    found = compared([folders["base"], folders["tuned"]], prompts)
    assert found.notes == ()
    table = found.contrast("base", "tuned", measure="mass")
    assert max(map(abs, table["difference"].to_pylist())) > 1e-4


def test_models_of_different_depth_are_compared_where_both_have_layers(
    folders: dict[str, Path], prompts: list[Prompt]
) -> None:
    found = compared([folders["base"], folders["deeper"]], prompts)
    assert any("base 2, deeper 3" in note for note in found.notes)
    table = found.contrast("base", "deeper", measure="mass")
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


# How a model tokenises the prompts: refusals and notes before any weights are read.


def survey(base: LoadedModel, prompts: list[Prompt], **parts: object) -> Survey:
    study = build_study(**{"classes": CLASSES, **parts})  # type: ignore[arg-type]
    (found,), _, refused = survey_prompts(candidates(base, Loading()), prompts, study)
    assert refused == {}
    return found


def test_tokens_are_counted_over_all_prompts(base: LoadedModel, prompts: list[Prompt]) -> None:
    found = survey(base, prompts)
    assert found.n_tokens["hash"] == 4
    assert found.n_tokens["star"] == 4
    assert found.notes == []
    assert found.prompts == 2
    assert found.ids != survey(base, prompts[:1]).ids


def test_a_class_without_a_token_is_named_with_how_the_text_was_cut(
    base: LoadedModel, prompts: list[Prompt]
) -> None:
    with pytest.raises(ClassRuleError) as error:
        survey(base, prompts, classes={"hash": "#", "tilde": "~"})
    message = str(error.value)
    assert "class 'tilde' (~) matches no token of any of the 2 prompts" in message
    assert "cuts one into 'm' 'a' 'p' ':'" in message
    assert "mindshare tokens" in message


def test_a_class_that_an_earlier_one_swallows_is_refused_with_who_did(
    base: LoadedModel, prompts: list[Prompt]
) -> None:
    with pytest.raises(ClassRuleError, match="'punctuation' stands before it and takes all"):
        survey(base, prompts, classes={"punctuation": "punctuation", "hash": "#"})


def test_classes_that_overlap_are_said(base: LoadedModel, prompts: list[Prompt]) -> None:
    found = survey(base, prompts, classes={"hash": "#", "map": "span:map"})
    (note,) = found.notes
    assert "Classes 'hash' and 'map' overlap in 4 tokens ('#')" in note
    assert "count as 'hash'" in note


def test_a_prompt_without_the_span_is_named(base: LoadedModel, prompts: list[Prompt]) -> None:
    rows = [*prompts, Prompt.from_text("no # map", id="three")]
    with pytest.raises(PromptError, match="prompt three has no span 'map'"):
        survey(base, rows, classes={"hash": "#@map"})
    with pytest.raises(MindshareError, match="no span 'map'"):
        survey(base, rows, classes={"hash": "#"}, queries="after:map")


def test_layers_beyond_the_model_are_refused(base: LoadedModel, prompts: list[Prompt]) -> None:
    with pytest.raises(SelectionError, match="layer 7 does not exist: base has 2 layers"):
        survey(base, prompts, layers=[0, 7])


def test_a_misspelt_span_of_a_row_is_named_with_its_line(base: LoadedModel, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [{"text": "a # b", "spans": {"map": [0, 3]}}, {"text": "c # d"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(PromptError, match=r"rows\.jsonl, line 1") as error:
        survey(base, list(DataSource(path).open()), classes={"hash": "#@mpa"})
    assert "did you mean 'map'?" in str(error.value)
    with pytest.raises(PromptError, match=r"rows\.jsonl, line 2"):
        survey(base, list(DataSource(path).open()), classes={"hash": "#@map"})


def test_notes_are_said_once_if_both_models_read_alike(
    base: LoadedModel, prompts: list[Prompt]
) -> None:
    study = build_study(classes={"hash": "#", "map": "span:map"}, measures="mass")
    twice = candidates({"A": base, "B": base}, Loading())
    notes = compare(twice, prompts, study).notes
    assert sum("overlap" in note for note in notes) == 1


def test_a_moved_system_message_is_said_once(base: LoadedModel) -> None:
    turns = [("system", "Be brief."), ("user", "Why is it?")]
    prompts = [
        Prompt.from_chat([{"role": r, "content": c + more} for r, c in turns]) for more in ("", "!")
    ]
    candidate = Candidate("tiny", base, Loading())
    vars(candidate)["tokenizer"] = ModelTokenizer(family("gemma-like"), "tiny", None, None)
    (found,), _, _ = survey_prompts([candidate], prompts, build_insertion_study("/ *3"))
    (note,) = found.notes
    assert "takes no system message" in note
    assert found.encoder.encode(prompts[0]).prompt.id == prompts[0].id
