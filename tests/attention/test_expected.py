from __future__ import annotations

import pytest
import torch

from mindshare.attention.expected import uniform_share
from mindshare.attention.masks import Causal, Everything, Rule


def brute_force(seen: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    """[query, key] bool, [key, column] → the mean over the visible keys, one query at a time."""
    rows = [columns[row].double().mean(0) for row in seen]
    return torch.stack(rows)


@pytest.mark.parametrize("tokens", [1, 5, 300])
@pytest.mark.parametrize("window", [None, 4])
def test_equals_the_mean_over_visible_keys(tokens, window) -> None:
    columns = torch.rand(1, tokens, 3, generator=torch.Generator().manual_seed(0))
    apart = torch.arange(tokens)[:, None] - torch.arange(tokens)
    seen = (apart >= 0) & (apart < (window or tokens))
    visible = (
        Causal(tokens, tokens)
        if window is None
        else Rule(tokens, tokens, rows=lambda a, b: seen[None, None, a:b])
    )
    share = uniform_share(visible, columns)
    assert share.shape == (1, 1, tokens, 3)
    assert (share[0, 0] - brute_force(seen, columns[0])).abs().max() < 1e-12


def test_later_chunks_and_no_mask() -> None:
    columns = torch.rand(2, 12, 2, generator=torch.Generator().manual_seed(0))
    whole = uniform_share(Causal(12, 12), columns)
    later = uniform_share(Causal(5, 12, first_query=7), columns)
    assert (whole[:, :, 7:] - later).abs().max() < 1e-12
    step = uniform_share(Everything(1, 12, first_query=11), columns)
    assert (whole[:, :, 11:] - step).abs().max() < 1e-12
