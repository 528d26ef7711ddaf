from __future__ import annotations

from pathlib import Path

import pytest

from mindshare.api.candidates import Loading, candidates, named
from mindshare.errors import SelectionError
from mindshare.models import LoadedModel
from mindshare.study import LocalBackend

QUIET = Loading(progress=False)


def labels(given: object) -> list[str]:
    return [one.label for one in candidates(given, QUIET)]


def test_models_are_called_by_their_names_and_told_apart(base: LoadedModel) -> None:
    assert labels("org/name") == ["name"]
    assert labels(["smollm2", "smollm2", "x.gguf"]) == ["smollm2", "smollm2 (2)", "x"]
    assert labels({"Before": base, "After": "x"}) == ["Before", "After"]
    assert labels(base) == ["base"]
    assert labels(base.model) == ["LlamaForCausalLM"]


@pytest.mark.parametrize(
    ("name", "problem"), [("\udcff", "is no UTF-8"), ("x" * 201, "more than 200 characters")]
)
def test_a_name_that_files_cannot_have_is_refused(name: str, problem: str) -> None:
    for models in ({name: "smollm2"}, f"folder/{name}"):
        with pytest.raises(SelectionError, match=problem):
            candidates(models, Loading())


def test_a_name_stands_before_what_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert named("A=org/model") == ("A", "org/model")
    assert named(" A = x=3") == ("A", " x=3")
    for text in ("model", "=x", "A=", " =x", "runs/lr=3", r"runs\lr=3"):
        assert named(text) == (None, text)
    assert named("lr=3") == ("lr", "3")
    (tmp_path / "lr=3").mkdir()
    assert named("lr=3") == (None, "lr=3")
    assert named("lr=3", tmp_path / "elsewhere") == ("lr", "3")


def test_no_model_is_refused() -> None:
    with pytest.raises(SelectionError, match="no model"):
        candidates([], QUIET)


def test_a_reference_is_read_without_its_weights(folders: dict[str, Path]) -> None:
    one = candidates(folders["deeper"], QUIET)[0]
    assert one.facts.layers == 3
    assert not isinstance(one.tokenizer, LoadedModel)
    with one.backend() as first, one.backend() as second:
        assert isinstance(first, LocalBackend)
        assert isinstance(second, LocalBackend)
        assert first.loaded is not second.loaded  # none is kept


def test_a_model_in_memory_is_used_as_it_is(base: LoadedModel) -> None:
    one = candidates(base, QUIET)[0]
    assert one.tokenizer is base
    with one.backend() as backend:
        assert isinstance(backend, LocalBackend)
        assert backend.loaded is base
