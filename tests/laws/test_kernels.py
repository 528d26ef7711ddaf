"""Every kernel equals the reference, for every shape and mask it accepts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from mindshare.attention import blockwise, fused, reference
from mindshare.attention.call import PER_QUERY, AttentionCall, LayerStats, Weights
from mindshare.attention.jobs import Request
from mindshare.attention.masks import Causal, Everything, MaskRule, Visibility

# batch, heads, KV heads, tokens, dim, value dim
SHAPES = [
    (1, 9, 3, 300, 64, 64),  # grouped queries, several tiles
    (3, 4, 4, 50, 16, 8),  # one KV head per head, values narrower than keys
    (2, 8, 1, 130, 32, 32),  # one KV head for all
    (1, 2, 2, 700, 8, 16),  # values wider than keys
    (5, 6, 2, 17, 8, 8),  # many short rows, batched products
    (1, 1, 1, 1, 4, 4),  # a single token
]
QUERY_SETS = [None, "weights"]


def call_of(shape: tuple[int, ...], visible: Visibility | None = None, **extra: object):
    batch, heads, kv_heads, tokens, dim, value_dim = shape
    generator = torch.Generator().manual_seed(tokens)

    def random(*size: int) -> torch.Tensor:
        return torch.randn(*size, generator=generator)

    return AttentionCall(
        query=random(batch, heads, tokens, dim) * 2,
        key=random(batch, kv_heads, tokens, dim),
        value=random(batch, kv_heads, tokens, value_dim),
        scale=dim**-0.5,
        visible=visible or Causal(tokens, tokens),
        **extra,  # type: ignore[arg-type]
    )


Asked = tuple[Request, Weights]
Found = tuple[torch.Tensor, LayerStats]


def asked_of(
    shape: tuple[int, ...], *, near: int = 0, weights: str | None = None, kernel: Any = blockwise
) -> Asked:
    batch, _, _, tokens, _, _ = shape
    generator = torch.Generator().manual_seed(7)
    columns = torch.rand(batch, tokens, 4, generator=generator)
    queries = torch.rand(batch, 3, tokens, generator=generator) if weights else None
    known = fused.KNOWN if kernel is fused else PER_QUERY
    more = () if kernel is fused else ("contribution",)
    ids = torch.randint(0, 5, (batch, tokens), generator=generator)
    asked = Request(frozenset({"given", "received", *known, *more}), near)
    return asked, Weights(columns, queries, ids=ids)


def numbers(found: Found) -> dict[str, torch.Tensor]:
    output, stats = found
    assert stats.given is not None
    assert stats.received is not None
    found_ = {"output": output, "given": stats.given, "received": stats.received}
    carried = {} if stats.carried is None else {"carried": stats.carried}
    return found_ | carried | dict(stats.per_query)


def assert_same(found: Found, right: Found, *, tokens: int) -> None:
    limits = {
        "output": 1e-5,
        "given": 1e-5,
        "received": 1e-5 * max(1, tokens**0.5),  # sums over up to `tokens` queries
        "entropy": 1e-4,
        "distance": 1e-6 * max(100, tokens),  # tokens, relative to the longest distance
    }
    mine, exact = numbers(found), numbers(right)
    assert mine.keys() >= limits.keys()
    for name, one in mine.items():
        assert one.shape == exact[name].shape, name
        assert (one.double() - exact[name].double()).abs().max() < limits.get(name, 1e-5), name


@pytest.mark.parametrize("kernel", [blockwise, fused])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("near", [-1, 0, 5])
@pytest.mark.parametrize("weights", QUERY_SETS)
def test_causal(kernel, shape, near, weights) -> None:
    call, asked = call_of(shape), asked_of(shape, near=near, weights=weights, kernel=kernel)
    assert_same(kernel.run(call, *asked), reference.run(call, *asked), tokens=shape[3])


def window(tokens: int, size: int) -> MaskRule:
    def rows(start: int, stop: int) -> torch.Tensor:
        apart = torch.arange(start, stop)[:, None] - torch.arange(tokens)
        return ((apart >= 0) & (apart < size))[None, None]

    return MaskRule(tokens, tokens, rows=rows)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("near", [-1, 0, 5])
@pytest.mark.parametrize("weights", QUERY_SETS)
def test_windows_softcap_and_sinks(shape, near, weights) -> None:
    sinks = torch.randn(shape[1], generator=torch.Generator().manual_seed(3))
    call = call_of(shape, window(shape[3], 20), softcap=3.0, sinks=sinks)
    asked = asked_of(shape, near=near, weights=weights)
    assert_same(blockwise.run(call, *asked), reference.run(call, *asked), tokens=shape[3])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("per_head", [False, True])
def test_any_mask_and_bias(shape, per_head) -> None:
    batch, heads, _, tokens, _, _ = shape
    generator = torch.Generator().manual_seed(5)
    lead = (1, heads) if per_head else (batch, 1)
    seen = torch.rand(*lead, tokens, tokens, generator=generator) > 0.4
    seen |= torch.eye(tokens, dtype=torch.bool)  # every query sees itself
    bias = torch.randn(1, heads, tokens, tokens, generator=generator)
    visible = MaskRule(tokens, tokens, rows=lambda a, b: seen[:, :, a:b])
    call, asked = call_of(shape, visible, bias=bias), asked_of(shape)
    assert_same(blockwise.run(call, *asked), reference.run(call, *asked), tokens=tokens)


@pytest.mark.parametrize("shape", SHAPES[:4])
def test_no_mask(shape) -> None:
    call, asked = call_of(shape, Everything(shape[3], shape[3])), asked_of(shape)
    assert_same(blockwise.run(call, *asked), reference.run(call, *asked), tokens=shape[3])


@pytest.mark.parametrize("shape", SHAPES[:5])
def test_later_queries_over_a_cache(shape) -> None:
    whole = call_of(shape)
    tokens, past = shape[3], shape[3] // 3
    visible = Causal(tokens - past, tokens, first_query=past)
    call = AttentionCall(whole.query[:, :, past:], whole.key, whole.value, whole.scale, visible)
    asked = asked_of(shape)
    found, right = blockwise.run(call, *asked), reference.run(call, *asked)
    assert_same(found, right, tokens=tokens)
    all_at_once = reference.run(whole, *asked)
    given = numbers(all_at_once)["given"][:, :, past:]
    assert (given - numbers(found)["given"]).abs().max() < 1e-5


@pytest.mark.parametrize("kernel", [blockwise, fused])
@pytest.mark.parametrize(("dtype", "limit"), [(torch.bfloat16, 2e-2), (torch.float16, 2e-3)])
def test_half_precision_is_widened_inside(kernel, dtype, limit) -> None:
    shape = SHAPES[0]
    exact = call_of(shape)
    half = AttentionCall(
        exact.query.to(dtype),
        exact.key.to(dtype),
        exact.value.to(dtype),
        exact.scale,
        exact.visible,
    )
    asked = asked_of(shape, kernel=kernel)
    found, right = (numbers(one.run(half, *asked)) for one in (kernel, reference))
    assert found["output"].dtype == dtype
    # The statistics are as exact as in float32; only the output is rounded to the model's dtype.
    assert (found["given"].double() - right["given"]).abs().max() < 1e-5
    assert (found["output"].double() - right["output"].double()).abs().max() < limit


def test_thread_count_changes_nothing_beyond_float_error() -> None:
    shape, threads = SHAPES[0], torch.get_num_threads()
    call, asked = call_of(shape), asked_of(shape)
    right = reference.run(call, *asked)
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            assert_same(blockwise.run(call, *asked), right, tokens=shape[3])
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("kv_heads", [1, 2])  # alone, one is a single product
@pytest.mark.parametrize("tokens", [16, 48, 144])
@pytest.mark.parametrize("classes", [1, 4])
def test_company_changes_no_bit(kv_heads, tokens, classes) -> None:
    shape = (3, kv_heads, kv_heads, tokens, 16, 16)
    whole, (asked, weights) = call_of(shape), asked_of(shape)
    visible = Causal(16, tokens, first_query=tokens - 16)  # few rows: one product has its own code
    call = replace(whole, query=whole.query[:, :, -16:], visible=visible)
    assert weights.columns is not None
    assert weights.ids is not None
    columns = weights.columns[..., :classes]
    together = numbers(blockwise.run(call, asked, Weights(columns, ids=weights.ids)))
    for row in range(3):
        own = Weights(columns[row, None], ids=weights.ids[row, None])
        alone = numbers(blockwise.run(call.row(row), asked, own))
        assert [n for n, one in alone.items() if not torch.equal(one[0], together[n][row])] == []


def test_fully_hidden_rows_stay_finite() -> None:
    shape = (2, 2, 1, 30, 8, 8)
    seen = torch.ones(30, 30, dtype=torch.bool).tril()[None, None].repeat(2, 1, 1, 1)
    seen[1, :, :, :10] = False  # the second row is padded on the left
    visible = MaskRule(30, 30, rows=lambda a, b: seen[:, :, a:b])
    output, _ = blockwise.run(call_of(shape, visible), *asked_of(shape))
    assert output.isfinite().all()
