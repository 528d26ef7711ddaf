from __future__ import annotations

import pytest

from mindshare.attention.capture import CaptureOptions, capture
from mindshare.attention.chunks import require_chunkable
from mindshare.attention.forward import without_head
from mindshare.errors import UnsupportedModelError
from tests.attention import tiny
from tests.laws.zoo import build


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_models_with_a_whole_cache_may_be_fed_in_chunks(family) -> None:
    model = tiny.FAMILIES[family]()
    before = model.config._attn_implementation
    require_chunkable(model, without_head(model))
    assert model.config._attn_implementation == before


def test_a_state_that_is_not_carried_over_is_noticed() -> None:
    """Jamba starts its recurrent state anew with each chunk."""
    model = build("jamba")
    whole = capture(model, tiny.ids(20), tiny.partition(20))
    assert whole.layers == (1, 3)
    with pytest.raises(UnsupportedModelError, match="something else when it is fed in chunks"):
        capture(model, tiny.ids(20), tiny.partition(20), options=CaptureOptions(chunk_tokens=6))
