"""What must not change a number: batch, padding, chunks, layer subset, class order, kernel.

And what measuring must not change: the model.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import torch

from mindshare.attention.call import LayerStats, TokenBatch
from mindshare.attention.capture import Capture, CaptureOptions, capture
from mindshare.attention.jobs import Request
from mindshare.attention.recorder import Recorder, recording
from tests.attention import tiny

EVERYTHING = CaptureOptions(entropy=True, distance=True, self_check=False)
TOKENS = 45


@pytest.fixture(params=list(tiny.FAMILIES), scope="module")
def model(request: pytest.FixtureRequest) -> torch.nn.Module:
    return tiny.FAMILIES[request.param]()


def whole(model: torch.nn.Module, **kwargs: object) -> Capture:
    options = kwargs.pop("options", EVERYTHING)
    return capture(model, tiny.ids(TOKENS), tiny.partition(TOKENS), options=options, **kwargs)


def assert_close(one: Capture, other: Capture, *, limit: float = 2e-5) -> None:
    assert one.layers == other.layers
    for layer in one.layers:
        for name, factor in {"mass": 1, "received": 1, "entropy": 10, "distance": 50}.items():
            a, b = getattr(one, name)[layer], getattr(other, name)[layer]
            assert a.shape == b.shape
            assert (a - b).abs().max() < limit * factor, (layer, name)


def test_statistics_equal_the_models_own_eager_attention(model) -> None:
    found = whole(model)
    columns = tiny.partition(TOKENS).double()
    for layer, attention in enumerate(tiny.eager_attentions(model, tiny.ids(TOKENS))):
        a = attention[0]
        below = a.tril(-1).sum(1) / torch.arange(TOKENS - 1, -1, -1).clamp(min=1)
        apart = torch.arange(TOKENS)[:, None] - torch.arange(TOKENS)
        assert (found.mass[layer] - a @ columns).abs().max() < 1e-5
        assert (found.received[layer] - below).abs().max() < 1e-5
        assert (found.entropy[layer] - torch.special.entr(a).sum(-1)).abs().max() < 1e-4
        assert (found.distance[layer] - (a * apart).sum(-1)).abs().max() < 1e-3


def test_masses_sum_to_one_but_for_learned_sinks(model) -> None:
    for layer, mass in whole(model).mass.items():
        total = mass.sum(-1)
        if model.config.model_type == "gpt_oss":
            assert total.max() < 1.0, layer
            assert total.min() > 0.0
        else:
            assert (total - 1).abs().max() < 1e-5, layer


@pytest.mark.parametrize("kernel", ["reference", "fused", "blockwise"])
def test_kernel_changes_nothing(model, kernel) -> None:
    options = CaptureOptions(entropy=True, distance=True, self_check=False, kernel=kernel)
    assert_close(whole(model), whole(model, options=options), limit=5e-5)


@pytest.mark.parametrize("chunk", [1, 7, 44])
def test_chunks_change_nothing(model, chunk) -> None:
    options = CaptureOptions(entropy=True, distance=True, self_check=False, chunk_tokens=chunk)
    assert_close(whole(model), whole(model, options=options), limit=5e-5)


def test_a_layer_subset_changes_nothing(model) -> None:
    everything, some = whole(model), whole(model, layers=[1])
    assert some.layers == (1,)
    assert (everything.mass[1] - some.mass[1]).abs().max() < 2e-5
    assert (everything.received[1] - some.received[1]).abs().max() < 2e-5


def test_class_order_changes_nothing(model) -> None:
    order = torch.tensor([2, 0, 3, 1])
    columns = tiny.partition(TOKENS)
    swapped = capture(model, tiny.ids(TOKENS), columns[:, order], options=EVERYTHING)
    for layer, mass in whole(model).mass.items():
        assert (mass[..., order] - swapped.mass[layer]).abs().max() < 1e-6


def test_batch_and_right_padding_change_nothing(model) -> None:
    lengths = (45, 20, 33)
    ids, mask = torch.zeros(3, 45, dtype=torch.long), torch.zeros(3, 45, dtype=torch.long)
    columns = torch.zeros(3, 45, 4)
    for row, length in enumerate(lengths):
        ids[row, :length] = tiny.ids(length, seed=row)[0]
        mask[row, :length] = 1
        columns[row, :length] = tiny.partition(length, seed=row)
    batch = capture(model, ids, columns, attention_mask=mask, options=EVERYTHING)
    for row, length in enumerate(lengths):
        alone = capture(
            model, tiny.ids(length, seed=row), tiny.partition(length, seed=row), options=EVERYTHING
        )
        for layer in alone.layers:
            assert (batch.mass[layer][row, :, :length] - alone.mass[layer]).abs().max() < 2e-5
            received = batch.received[layer][row]
            assert (received[:, :length] - alone.received[layer]).abs().max() < 2e-5
            assert received[:, length:].abs().max() == 0 if length < 45 else True
        assert (batch.n_queries[row, :length] == alone.n_queries).all()


def test_left_padding_gives_what_eager_gives(model) -> None:
    ids, mask = tiny.ids(TOKENS, batch=2), torch.ones(2, TOKENS, dtype=torch.long)
    mask[1, :12] = 0
    columns = tiny.partition(TOKENS)
    found = capture(model, ids, columns, attention_mask=mask, options=EVERYTHING)
    for layer, a in enumerate(tiny.eager_attentions(model, ids, attention_mask=mask)):
        right = a @ columns.double()
        assert (found.mass[layer][0] - right[0]).abs().max() < 2e-5
        assert (found.mass[layer][1, :, 12:] - right[1, :, 12:]).abs().max() < 2e-5
        counted = a[1, :, 12:].tril(11)  # real queries only, below the diagonal
        below = counted.sum(1) / found.n_queries[1].clamp(min=1)
        assert (found.received[layer][1] - below).abs().max() < 2e-5


def test_query_weights_choose_the_queries_of_received(model) -> None:
    weights = torch.zeros(TOKENS)
    weights[30:] = 1
    found = whole(model, query_weights=weights)
    for layer, a in enumerate(tiny.eager_attentions(model, tiny.ids(TOKENS))):
        below = a[0, :, 30:].tril(29).sum(1) / found.n_queries.clamp(min=1)
        assert (found.received[layer] - below).abs().max() < 2e-5
    assert found.n_queries[0] == 15
    assert found.n_queries[40] == 4
    assert found.n_queries[44] == 0


@pytest.mark.parametrize("near", [-1, 3])
def test_nearest_queries_can_be_left_out_or_the_diagonal_put_in(model, near) -> None:
    options = CaptureOptions(near=near, self_check=False)
    found = whole(model, options=options)
    counts = torch.arange(TOKENS - 1 - near, -1 - near, -1).clamp(min=0)
    assert (found.n_queries == counts).all()
    for layer, a in enumerate(tiny.eager_attentions(model, tiny.ids(TOKENS))):
        below = a[0].tril(-1 - near).sum(1) / counts.clamp(min=1)
        assert (found.received[layer] - below).abs().max() < 2e-5


def test_the_models_own_output_is_unchanged(model) -> None:
    ids = tiny.ids(TOKENS)
    valid = torch.ones(1, TOKENS, dtype=torch.bool)
    batch = TokenBatch(ids, tiny.partition(TOKENS)[None], valid)
    with torch.no_grad():
        plain = model(input_ids=ids, use_cache=False).logits
        with recording(model, Recorder(batch, Request(frozenset({"received"})))):
            watched = model(input_ids=ids, use_cache=False).logits
        again = model(input_ids=ids, use_cache=False).logits
    assert (plain - watched).abs().max() < 1e-4 * plain.abs().max().clamp(min=1)
    assert torch.equal(plain, again)


def test_merging_chunks_is_associative() -> None:
    generator = torch.Generator().manual_seed(0)
    parts = [torch.rand(1, 1, 2, 9, generator=generator, dtype=torch.float64) for _ in range(3)]

    def added(*sums: torch.Tensor) -> torch.Tensor:
        found, *later = (LayerStats(received=one, kernel="reference") for one in sums)
        for one in later:
            found = found.joined(one)
        assert found.received is not None
        assert found.kernel == "reference"
        return found.received

    left = added(added(parts[0], parts[1]), parts[2])
    right = added(parts[0], added(parts[1], parts[2]))
    assert (left - right).abs().max() < 1e-15


@pytest.mark.parametrize(("dtype", "limit"), [(torch.bfloat16, 0.06), (torch.float16, 0.01)])
def test_half_precision_models(dtype, limit) -> None:
    model = tiny.llama().to(dtype)
    found = whole(model)
    assert found.mass[0].dtype == torch.float32
    for layer, a in enumerate(tiny.eager_attentions(model, tiny.ids(TOKENS))):
        right = a[0] @ tiny.partition(TOKENS).double()
        assert (found.mass[layer] - right).abs().max() < limit
        assert (found.mass[layer].sum(-1) - 1).abs().max() < 1e-5


def test_a_long_prompt_in_chunks_equals_the_whole(smollm2) -> None:
    """Real weights, several tiles, sums over hundreds of queries."""
    tokens = 700
    ids = torch.randint(3, 40000, (tokens,), generator=torch.Generator().manual_seed(0))
    columns = tiny.partition(tokens)
    once = capture(smollm2.model, ids, columns, layers=[0, 29])
    pieces = CaptureOptions(chunk_tokens=160)
    chunked = capture(smollm2.model, ids, columns, layers=[0, 29], options=pieces)
    for layer in (0, 29):
        assert (once.mass[layer] - chunked.mass[layer]).abs().max() < 1e-4
        assert (once.received[layer] - chunked.received[layer]).abs().max() < 1e-5


@pytest.mark.slow
def test_a_hundred_thousand_tokens_in_chunks_equal_the_whole() -> None:
    tokens = 100_000
    model = tiny.llama(
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=tokens,
    )
    ids, columns = tiny.ids(tokens), tiny.partition(tokens)
    once = capture(model, ids, columns, options=CaptureOptions(self_check=False))
    pieces = CaptureOptions(self_check=False, chunk_tokens=8192)
    chunked = capture(model, ids, columns, options=pieces)
    for layer in (0, 1):
        assert (once.mass[layer] - chunked.mass[layer]).abs().max() < 1e-4
        assert (once.received[layer] - chunked.received[layer]).abs().max() < 1e-5
        assert (once.mass[layer].sum(-1) - 1).abs().max() < 1e-4


def test_threads_change_nothing(model) -> None:
    """Each gets what it gets alone, and the model can be used as ever afterwards."""
    ids, before = tiny.ids(TOKENS), model.config._attn_implementation
    steps = {"max_new_tokens": 4, "do_sample": False, "pad_token_id": 0}
    alone, logits, answer = whole(model), model(ids).logits, model.generate(ids[:, :9], **steps)
    together = Barrier(3)

    def measure(chunk: int | None) -> list[Capture]:
        options = CaptureOptions(
            entropy=True, distance=True, self_check=chunk is None, chunk_tokens=chunk
        )
        together.wait()
        return [whole(model, options=options) for _ in range(4)]

    with ThreadPoolExecutor(3) as pool:
        for found in pool.map(measure, (None, None, 16)):
            for one in found:
                assert_close(one, alone, limit=5e-5)
    assert model.config._attn_implementation == before
    assert torch.equal(model(ids).logits, logits)
    assert torch.equal(model.generate(ids[:, :9], **steps), answer)
