from __future__ import annotations

import subprocess
import sys

import pytest

import mindshare.models

_CHECK = """
import sys
import mindshare.models
mindshare.models.available()
mindshare.models.refusal("bloom")
heavy = {"torch", "transformers", "peft", "gguf"} & set(sys.modules)
assert not heavy, heavy
"""


def test_listing_models_imports_nothing_heavy() -> None:
    subprocess.run([sys.executable, "-c", _CHECK], check=True, timeout=60)


def test_every_public_name_arrives() -> None:
    assert dir(mindshare.models) == sorted(mindshare.models.__all__)
    for name in mindshare.models.__all__:
        assert getattr(mindshare.models, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'laod'"):
        mindshare.models.laod  # noqa: B018
