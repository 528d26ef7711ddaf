from __future__ import annotations

from pathlib import Path

import pytest

from mindshare.api.candidates import Loading, candidates
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


def test_a_name_that_is_no_utf8_is_refused() -> None:
    for models in ({"\udcff": "smollm2"}, "folder/model-\udcff"):
        with pytest.raises(SelectionError, match="is no UTF-8"):
            candidates(models, Loading())


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
