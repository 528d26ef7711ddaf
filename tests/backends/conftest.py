"""One small model for all; every test works offline and in a cache of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from . import tiny_jobs


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Of a whole module: workers remember there what they found out about the model."""
    place = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINDSHARE_CACHE", str(place))
        yield place


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_jobs.model_folder(tmp_path_factory.mktemp("model") / "tiny-llama")


@pytest.fixture(scope="session")
def expected(folder: Path) -> dict[str, dict[int, bytes]]:
    return tiny_jobs.from_here(folder, tiny_jobs.everything())
