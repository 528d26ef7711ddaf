from __future__ import annotations

from functools import partial

import pytest
import torch
from transformers.masking_utils import (
    causal_mask_function,
    chunked_causal_mask_function,
    sdpa_mask,
    sliding_window_causal_mask_function,
)

from mindshare.attention.masks import (
    Causal,
    Everything,
    LazyMask,
    MaskRule,
    Visibility,
    additive_part,
    lazy_mask,
    uniform_share,
    visibility_of,
)

FUNCTIONS = {
    "causal": causal_mask_function,
    "window": sliding_window_causal_mask_function(5),
    "chunks": chunked_causal_mask_function(7, torch.zeros(2, dtype=torch.long)),
}
PADDINGS = {"none": None, "right": [(0, 20), (0, 13)], "left": [(0, 20), (6, 20)]}


def padding_mask(name: str) -> torch.Tensor | None:
    ranges = PADDINGS[name]
    if ranges is None:
        return None
    mask = torch.zeros(2, 20, dtype=torch.bool)
    for row, (start, stop) in enumerate(ranges):
        mask[row, start:stop] = True
    return mask


def seen_by(visible: Visibility, block: int) -> torch.Tensor:
    """The dense mask that the blocks of a Visibility add up to."""
    rows = []
    for start in range(0, visible.queries, block):
        stop = min(start + block, visible.queries)
        low, high = visible.bounds(start, stop)
        hidden = visible.hidden(start, stop)
        lead = (1, 1) if hidden is None else hidden[1].shape[:2]
        seen = torch.zeros(*lead, stop - start, visible.keys, dtype=torch.bool)
        seen[..., low:high] = True
        if hidden is not None:
            first, tile = hidden
            seen[..., first:high] = ~tile
        rows.append(seen)
    return torch.cat([row.expand(2, 1, -1, -1) for row in rows], 2)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize(("queries", "past"), [(20, 0), (8, 12), (1, 19)])
@pytest.mark.parametrize("block", [1, 3, 20])
def test_blocks_add_up_to_the_mask_of_transformers(function, padding, queries, past, block) -> None:
    settings = {
        "batch_size": 2,
        "q_length": queries,
        "kv_length": 20,
        "q_offset": past,
        "mask_function": FUNCTIONS[function],
        "attention_mask": padding_mask(padding),
    }
    mask = lazy_mask(**settings)
    right = sdpa_mask(**settings, allow_is_causal_skip=False)
    assert torch.equal(mask.dense(), right)
    visible = seen_by(mask.visible, block)
    some_key = right.any(-1)  # rows that see nothing are padding: anything goes there
    assert torch.equal(visible[some_key], right.expand_as(visible)[some_key])


def test_a_sliding_cache_starts_at_its_first_key() -> None:
    mask = lazy_mask(
        batch_size=1,
        q_length=4,
        kv_length=9,
        q_offset=30,
        kv_offset=25,
        mask_function=sliding_window_causal_mask_function(6),
    )
    assert (mask.visible.first_query, mask.visible.first_key) == (30, 25)
    # Query 30 sees keys 25..30, which are slots 0..5.
    assert mask.dense()[0, 0, 0].nonzero().flatten().tolist() == [0, 1, 2, 3, 4, 5]


def test_plain_causal_masks_are_recognised_and_padded_ones_are_not() -> None:
    mask = partial(lazy_mask, batch_size=2, q_length=20, kv_length=20)
    assert mask(mask_function=causal_mask_function).visible.causal
    everything = torch.ones(2, 20, dtype=torch.bool)
    assert mask(mask_function=causal_mask_function, attention_mask=everything).visible.causal
    left = padding_mask("left")
    assert not mask(mask_function=causal_mask_function, attention_mask=left).visible.causal
    assert not mask(mask_function=FUNCTIONS["window"]).visible.causal


def test_a_lazy_mask_becomes_a_tensor_when_a_model_touches_it() -> None:
    mask = lazy_mask(batch_size=1, q_length=3, kv_length=3, mask_function=causal_mask_function)
    triangle = torch.ones(3, 3, dtype=torch.bool).tril()
    assert isinstance(mask, LazyMask)
    assert torch.equal(mask[:, :, :2, :2][0, 0], triangle[:2, :2])
    assert torch.equal(torch.where(mask, 1, 0)[0, 0], triangle.long())
    assert mask.shape == (1, 1, 3, 3)
    assert mask.to("cpu") is mask


def test_dense_masks_are_understood() -> None:
    triangle = torch.ones(4, 4, dtype=torch.bool).tril()[None, None]
    additive = torch.where(triangle, 0.0, torch.finfo(torch.float32).min)
    for mask in (triangle, additive):
        visible = visibility_of(mask, 4, 4, causal=True)
        assert isinstance(visible, MaskRule)
        assert torch.equal(seen_by(visible, 2)[:1], triangle)
        assert additive_part(mask) is None
    biased = additive + torch.arange(4.0)
    added = additive_part(biased)
    assert added is not None
    assert torch.equal(added[0, 0, 3], torch.arange(4.0))


def test_no_mask_means_causal_or_a_single_step() -> None:
    assert isinstance(visibility_of(None, 5, 5, causal=True), Causal)
    step = visibility_of(None, 1, 5, causal=True)
    assert step.bounds(0, 1) == (0, 5)
    assert step.hidden(0, 1) is None
    assert step.first_query == 4


def test_each_prompt_of_a_batch_has_its_own_rule() -> None:
    seen = torch.rand(3, 1, 8, 8, generator=torch.Generator().manual_seed(0)) < 0.5
    seen |= torch.eye(8, dtype=torch.bool)
    whole = MaskRule(8, 8, rows=lambda a, b: seen[:, :, a:b])
    for row in range(3):
        one = whole.row(row)
        assert one is whole.row(row)  # layers find the same one
        low, high = one.bounds(2, 6)
        first, hidden = one.hidden(2, 6) or (high, torch.zeros(1, 1, 4, 0, dtype=torch.bool))
        assert torch.equal(~hidden, seen[row : row + 1, :, 2:6, first:high])
        assert not seen[row, :, 2:6, :low].any()
    alike = MaskRule(8, 8, rows=lambda a, b: seen[:1, :, a:b])
    assert alike.row(2) is alike
    causal = Causal(8, 8)
    assert causal.row(1) is causal


def brute_force(seen: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    """[query, key] bool, [key, column] → the mean over the visible keys, one query at a time."""
    rows = [columns[row].double().mean(0) for row in seen]
    return torch.stack(rows)


@pytest.mark.parametrize("tokens", [1, 5, 300])
@pytest.mark.parametrize("window", [None, 4])
def test_uniform_attention_is_the_mean_over_visible_keys(tokens, window) -> None:
    columns = torch.rand(1, tokens, 3, generator=torch.Generator().manual_seed(0))
    apart = torch.arange(tokens)[:, None] - torch.arange(tokens)
    seen = (apart >= 0) & (apart < (window or tokens))
    visible = (
        Causal(tokens, tokens)
        if window is None
        else MaskRule(tokens, tokens, rows=lambda a, b: seen[None, None, a:b])
    )
    share = uniform_share(visible, columns)
    assert share.shape == (1, 1, tokens, 3)
    assert (share[0, 0] - brute_force(seen, columns[0])).abs().max() < 1e-12


def test_uniform_attention_of_later_chunks_and_without_a_mask() -> None:
    columns = torch.rand(2, 12, 2, generator=torch.Generator().manual_seed(0))
    whole = uniform_share(Causal(12, 12), columns)
    later = uniform_share(Causal(5, 12, first_query=7), columns)
    assert (whole[:, :, 7:] - later).abs().max() < 1e-12
    step = uniform_share(Everything(1, 12, first_query=11), columns)
    assert (whole[:, :, 11:] - step).abs().max() < 1e-12
