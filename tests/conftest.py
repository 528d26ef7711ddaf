"""Tests work offline; `smollm2` is the embedded model, converted once per machine."""

from __future__ import annotations

import os

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
if "PYTEST_XDIST_WORKER" in os.environ:
    # One process of tests per core: further threads would only wait for each other.
    os.environ.setdefault("OMP_NUM_THREADS", "1")

from mindshare.models import LoadedModel, load
from mindshare.models.processor import strict_products

pytest_plugins = ["tests.browser"]
strict_products()  # before any test computes a product


@pytest.fixture(scope="session")
def smollm2() -> LoadedModel:
    return load("smollm2")
