"""Statistics of rows of A against their definitions, on a matrix that is written out."""

from __future__ import annotations

import pytest
import torch

from mindshare.attention.call import PER_QUERY, AttentionRows, Scratch

A = torch.tensor([[1.0, 0.0, 0.0], [0.25, 0.75, 0.0], [0.5, 0.125, 0.375]])
RIGHT = {
    "peak": [1.0, 0.75, 0.5],
    "previous": [0.0, 0.25, 0.125],
}


def rows(first: int, *, keys: int = 3) -> AttentionRows:
    tile = A[None, first:, :keys].contiguous()
    return AttentionRows(tile, torch.arange(first, 3)[None], torch.arange(keys), Scratch())


@pytest.mark.parametrize("first", [0, 1, 2])
@pytest.mark.parametrize("name", RIGHT)
def test_each_number_is_its_definition_whatever_tile_it_is_in(name: str, first: int) -> None:
    assert PER_QUERY[name](rows(first))[0].tolist() == RIGHT[name][first:]
