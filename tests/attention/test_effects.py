"""Logits without and with a knock-out → effects, whether small or beyond all bounds."""

from __future__ import annotations

import pytest
import torch

from mindshare.attention.effects import Effects


def effects(change: torch.Tensor, *, scale: float = 1.0) -> dict[str, float]:
    generator = torch.Generator().manual_seed(0)
    clean = torch.randn(2, 50, generator=generator, dtype=torch.float64) * scale
    found = Effects(clean.float(), torch.tensor([3, 4])).of((clean + change)[None].float())
    return {name: float(x[0]) for name, x in found.items()}


def truth(change: torch.Tensor) -> tuple[float, float]:
    generator = torch.Generator().manual_seed(0)
    clean = torch.randn(2, 50, generator=generator, dtype=torch.float64)
    a, b = clean.log_softmax(-1), (clean + change).log_softmax(-1)
    lost = (b - a)[[0, 1], [3, 4]].sum()
    return float(lost), float((a.exp() * (a - b)).sum())


@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0])
def test_effects_of_any_size(size: float) -> None:
    change = torch.randn(2, 50, generator=torch.Generator().manual_seed(1)).double() * size
    lost, divergence = truth(change)
    found = effects(change)
    assert found["delta_logprob"] == pytest.approx(lost, rel=1e-3, abs=1e-6)
    assert found["kl"] == pytest.approx(divergence, rel=1e-2, abs=1e-6)


def test_nothing_changed_is_exactly_nothing() -> None:
    assert set(effects(torch.zeros(2, 50).double()).values()) == {0.0}


def test_a_change_beyond_the_range_of_exponentials() -> None:
    change = torch.zeros(2, 50).double()
    change[:, 9] = 500.0
    lost, divergence = truth(change)
    found = effects(change)
    assert found["delta_logprob"] == pytest.approx(lost, rel=1e-4)
    assert found["kl"] == pytest.approx(divergence, rel=1e-3)
    assert found["flip"] == 1.0


def test_a_row_beyond_that_range_changes_no_bit_of_its_neighbours() -> None:
    generator = torch.Generator().manual_seed(2)
    clean = torch.randn(2, 50, generator=generator)
    rows = clean + torch.randn(16, 2, 50, generator=generator) * 0.1
    together = rows.clone()
    together[3, :, 9] += 500.0
    answer = torch.tensor([3, 4])
    alone, found = (Effects(clean, answer).of(some) for some in (rows, together))
    for name, numbers in found.items():
        others = [row for row in range(16) if row != 3]
        assert numbers[others].tolist() == alone[name][others].tolist(), name
