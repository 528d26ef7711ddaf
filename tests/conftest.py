"""Tests work offline; `smollm2` is the embedded model, converted once per machine."""

from __future__ import annotations

import os

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from mindshare.models import LoadedModel, load


@pytest.fixture(scope="session")
def smollm2() -> LoadedModel:
    return load("smollm2")
