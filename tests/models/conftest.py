"""Every test here works offline and in a cache of its own; only `smollm2` uses the user's cache."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from mindshare.models import LoadedModel, load

from . import tiny


@pytest.fixture(scope="session")
def smollm2() -> LoadedModel:
    """The embedded model, converted once per machine: this comes before `cache` moves the cache."""
    return load("smollm2")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "cache"
    monkeypatch.setenv("MINDSHARE_CACHE", str(place))
    return place


@pytest.fixture(scope="session")
def shared_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny llama folder that no test changes."""
    return tiny.llama_folder(tmp_path_factory.mktemp("llama") / "tiny-llama")


@pytest.fixture
def llama_folder(tmp_path: Path, shared_llama: Path) -> Path:
    """A copy of it that a test may damage."""
    import shutil

    return Path(shutil.copytree(shared_llama, tmp_path / "tiny-llama"))


@pytest.fixture(scope="session")
def shared_gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny GGUF file, asking for a BOS, that no test changes."""
    return tiny.gguf_file(tmp_path_factory.mktemp("gguf") / "tiny.gguf", add_bos=True)
