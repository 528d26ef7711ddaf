from __future__ import annotations

import pytest

from mindshare.models import LoadedModel, wrap
from tests.attention.tiny import sharpen
from tests.models import tiny


@pytest.fixture(scope="module")
def llama() -> LoadedModel:
    """A tiny llama with a byte-level tokenizer: every ASCII character is a token."""
    model = sharpen(tiny.llama(max_position_embeddings=256))
    return wrap(model, tiny.tokenizer(), name="tiny-llama")
