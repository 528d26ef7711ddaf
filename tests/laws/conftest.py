from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
import torch
import transformers

from tests.study.conftest import llama

__all__ = ["llama"]


@pytest.fixture(scope="module")
def quiet_and_small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One thread: the matrices are too small to share. Verdicts are made anew, not remembered."""
    threads, level = torch.get_num_threads(), transformers.logging.get_verbosity()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity(logging.ERROR)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINDSHARE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
    torch.set_num_threads(threads)
    transformers.logging.set_verbosity(level)
