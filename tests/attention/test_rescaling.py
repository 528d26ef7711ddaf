"""Sums over blocks of rows against whole float64 matrices, head by head and query by query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from mindshare.attention import rescaling as module
from mindshare.attention.call import AttentionCall, TokenBatch
from mindshare.attention.forward import run_pass
from mindshare.attention.jobs import Positions, Request
from mindshare.attention.masks import Causal
from mindshare.attention.reference import probabilities
from mindshare.attention.rescaling import Calls, Rescaling, keep_calls
from tests.attention import tiny

TOKENS, POINT, RUN = 22, 8, 7
NAMES = ("factor", "affine_r2", "affine_r2_after", "value_evenness")


@pytest.fixture(autouse=True)
def no_gradients() -> Iterator[None]:
    """As in a pass: learned sinks are parameters."""
    with torch.inference_mode():
        yield


@dataclass(frozen=True)
class Two:
    """What was seen of the two versions, and what came of it."""

    before: dict[int, AttentionCall]
    after: dict[int, AttentionCall]
    positions: Positions
    layers: dict[int, dict[str, np.ndarray]]


def watched(model: torch.nn.Module, ids: Sequence[int]) -> dict[int, AttentionCall]:
    """The calls of one pass by layer."""
    calls: dict[int, AttentionCall] = {}
    tokens = len(ids)
    valid = torch.ones(1, tokens, dtype=torch.bool)
    batch = TokenBatch(torch.tensor([ids]), torch.zeros(1, tokens, 0), valid)
    run_pass(model, batch, Request(frozenset({"received"})), observer=calls.__setitem__)
    return calls


def doubled(calls: dict[int, AttentionCall]) -> dict[int, AttentionCall]:
    """In double precision, so that nothing can hide behind rounding."""
    return {
        layer: replace(
            call, query=call.query.double(), key=call.key.double(), value=call.value.double()
        )
        for layer, call in calls.items()
    }


def positions(*, point: int = POINT, run: int = RUN, lost: Sequence[int] = ()) -> Positions:
    """Every token has a partner but the `lost` ones."""
    kept = [i for i in range(TOKENS) if i not in lost]
    found = np.array([(i, i + run * (i >= point)) for i in kept], dtype=np.int64)
    return Positions(found, np.arange(point, point + run), point + run)


def compared(model: torch.nn.Module, where: Positions, *, exactly: bool = True) -> Two:
    without = tiny.ids(TOKENS)[0].tolist()
    inserted = tiny.ids(len(where.inserted), seed=5)[0].tolist() if len(where.inserted) else []
    point = int(where.inserted[0]) if inserted else TOKENS
    before, after = (
        doubled(calls) if exactly else calls
        for calls in (
            watched(model, without),
            watched(model, [*without[:point], *inserted, *without[point:]]),
        )
    )
    kept: Calls = {}
    comparing = Rescaling(kept, where)
    for observer, calls in ((keep_calls(kept), before), (comparing, after)):
        for layer, call in calls.items():
            observer(layer, call)
    return Two(before, after, where, {layer: comparing.numbers(layer) for layer in after})


def by_hand(two: Two, layer: int) -> dict[str, list[float]]:
    """The definitions, written out."""
    a, b = (probabilities(calls[layer])[0].numpy() for calls in (two.before, two.after))
    old, new = two.positions.pairs.T
    last = two.positions.inserted.max()
    queries = [(i, k) for i, k in two.positions.pairs if k > last]
    found: dict[str, list[float]] = {name: [] for name in NAMES}
    values = two.after[layer].value[0].double().numpy()
    for head in range(len(a)):
        factors = []
        left, total = {}, {}
        for name, keys in (("affine_r2", new > -1), ("affine_r2_after", new > last)):
            left[name] = total[name] = 0.0
            for i, k in queries:
                x, y = a[head, i, old[keys]], b[head, k, new[keys]]
                factor = np.linalg.lstsq(x[:, None], y, rcond=None)[0][0]
                left[name] += sum((y - factor * x) ** 2)
                total[name] += sum(y**2)
                factors += [factor] if name == "affine_r2" else []
            found[name].append(1 - left[name] / total[name])
        found["factor"].append(float(np.mean(factors)))
        run = values[head * len(values) // len(a)][two.positions.inserted]
        lengths = [float(v @ v) for v in run]
        found["value_evenness"].append(float(run.mean(0) @ run.mean(0)) / float(np.mean(lengths)))
    return found


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_the_numbers_are_those_of_whole_matrices(family: str) -> None:
    two = compared(tiny.FAMILIES[family](), positions(lost=(7, 8, 12)))
    assert sorted(two.layers) == [0, 1, 2]
    for layer, numbers in two.layers.items():
        for name, right in by_hand(two, layer).items():
            assert len(right) == 4
            assert numbers[name] == pytest.approx(right, abs=1e-10), (layer, name)


def test_single_precision_is_near_enough() -> None:
    two = compared(tiny.gemma2(), positions(), exactly=False)
    assert two.after[0].query.dtype == torch.float32
    for layer, numbers in two.layers.items():
        for name, right in by_hand(two, layer).items():
            assert numbers[name] == pytest.approx(right, abs=1e-5), (layer, name)


@pytest.mark.parametrize("rows", [1, 3])
def test_the_size_of_a_block_changes_nothing(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model, where = tiny.gpt_oss(), positions(lost=(11,))
    two = compared(model, where)
    comparing = Rescaling({0: [two.before[0]]}, where)
    assert len(list(comparing._blocks(0, two.after[0]))) == 1
    monkeypatch.setattr(module, "_TILE", rows * 4 * (TOKENS + RUN))
    blocks = [some.stop - some.start for _, some in comparing._blocks(0, two.after[0])]
    assert max(blocks) == rows
    assert sum(blocks) == TOKENS - POINT - 1
    parts = compared(model, where).layers
    for layer, numbers in two.layers.items():
        for name in NAMES:
            mine = parts[layer][name]
            assert mine == pytest.approx(numbers[name], abs=1e-12), name


def test_no_token_after_the_insertion() -> None:
    two = compared(tiny.llama(), positions(point=TOKENS))
    for numbers in two.layers.values():
        for name in NAMES[:3]:
            assert np.isnan(numbers[name]).all(), name
        assert (numbers["value_evenness"] > 0).all()


def test_nothing_inserted() -> None:
    same = np.array([(i, i) for i in range(TOKENS)])
    nothing = Positions(same, np.array([], dtype=np.int64), TOKENS)
    two = compared(tiny.llama(), nothing)
    assert sorted(two.layers) == [0, 1, 2]
    for numbers in two.layers.values():
        for name in NAMES:
            assert np.isnan(numbers[name]).all(), name


def test_what_is_kept_has_no_values() -> None:
    kept: Calls = {}
    call = watched(tiny.llama(), tiny.ids(5)[0].tolist())[1]
    keep_calls(kept)(1, call)
    assert list(kept) == [1]
    (found,) = kept[1]
    assert found.value.untyped_storage().nbytes() == 0 < call.value.numel()
    assert found.key is call.key
    assert found.query is call.query


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_rows_are_rows_of_the_models_own_matrix(family: str) -> None:
    model = tiny.FAMILIES[family]()
    calls = watched(model, tiny.ids(TOKENS)[0].tolist())
    eager = tiny.eager_attentions(model, tiny.ids(TOKENS))
    for layer, call in calls.items():
        for rows in (slice(0, 1), slice(5, 16), slice(TOKENS - 1, TOKENS)):
            mine, right = probabilities(call, rows), eager[layer][:, :, rows, :TOKENS]
            assert mine.shape == right.shape
            assert (mine - right).abs().max() < 1e-5


def call_with_values(values: torch.Tensor) -> AttentionCall:
    """Two heads that share a key head; the values are [token, dim]."""
    tokens = len(values)
    generator = torch.Generator().manual_seed(0)
    query, key = (torch.randn(1, n, tokens, 4, generator=generator) for n in (2, 1))
    return AttentionCall(query, key, values[None, None], 0.5, Causal(tokens, tokens))


@pytest.mark.parametrize(
    ("values", "even"),
    [
        ([[1.0, 2.0], [1.0, 2.0]], 1.0),  # all alike
        ([[1.0, 2.0], [-1.0, -2.0]], 0.0),  # they cancel
        ([[1.0, 0.0], [0.0, 1.0]], 0.5),  # at right angles
        ([[0.0, 0.0], [0.0, 0.0]], np.nan),  # nothing to compare
    ],
)
def test_how_alike_inserted_values_are(values: list[list[float]], even: float) -> None:
    call = call_with_values(torch.tensor([[9.0, 9.0], *values, [5.0, 5.0]]))
    before = replace(call, value=call.value[..., :0])
    where = Positions(np.array([(0, 0), (3, 3)]), np.array([1, 2]), 3)
    comparing = Rescaling({0: [before]}, where)
    comparing(0, call)
    numbers = comparing.numbers(0)
    assert numbers["value_evenness"] == pytest.approx([even, even], nan_ok=True)
    assert numbers["factor"] == pytest.approx([1.0, 1.0])  # the same weights twice
