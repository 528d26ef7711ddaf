"""Logits without and with a knock-out → effects, whether small, large or shifted as a whole."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mindshare.attention.effects import Effects

EXACT = 1e-5  # nats
ANSWER = torch.tensor([3, 4])


def drawn(*shape: int, seed: int) -> torch.Tensor:
    """Return random logits that are multiples of 1/1024, so that shifts of them are exact."""
    x = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return (x * 1024).round() / 1024


def effects(clean: torch.Tensor, changed: torch.Tensor) -> dict[str, float]:
    found = Effects(clean, ANSWER[: len(clean)]).of(changed[None])
    return {name: float(x[0]) for name, x in found.items()}


def truth(clean: torch.Tensor, changed: torch.Tensor) -> dict[str, float]:
    """Compute both effects from probabilities in long double, without a log-softmax."""
    p, q = (np.exp(np.asarray(x, np.longdouble)) for x in (clean, changed))
    p, q = (x / x.sum(-1, keepdims=True) for x in (p, q))
    places, answer = np.arange(len(p)), ANSWER[: len(p)].numpy()
    return {
        "delta_logprob": float(np.log(q[places, answer] / p[places, answer]).sum()),
        "kl": float((p * np.log(p / q)).sum()),
    }


@pytest.mark.parametrize("size", [1e-3, 1.0, 10.0])
@pytest.mark.parametrize("shift", [-20.0, 0.0, 20.0])
def test_effects_of_any_size_are_right_for_any_shift(size: float, shift: float) -> None:
    clean = drawn(2, 5_000, seed=0)
    changed = clean + drawn(2, 5_000, seed=1) * size + shift
    found = effects(clean, changed)
    for name, expected in truth(clean, changed).items():
        assert found[name] == pytest.approx(expected, abs=EXACT, rel=1e-6)


@pytest.mark.parametrize("shift", [-20.0, -8.0, -0.5, 8.0, 20.0])
def test_a_constant_added_to_all_logits_changes_nothing(shift: float) -> None:
    """As hiding the first token nearly does in trained models; with a large vocabulary, too."""
    clean = drawn(1, 262_144, seed=2)
    assert max(map(abs, effects(clean, clean + shift).values())) < 1e-12
    changed = clean + drawn(1, 262_144, seed=3)
    shifted = effects(clean, changed + shift)
    assert shifted == pytest.approx(effects(clean, changed), abs=1e-6)


def test_nothing_changed_is_exactly_nothing() -> None:
    clean = drawn(2, 50, seed=0)
    assert set(effects(clean, clean).values()) == {0.0}


def test_a_change_beyond_the_range_of_exponentials() -> None:
    clean = drawn(2, 50, seed=0)
    changed = clean.clone()
    changed[:, 9] += 5_000.0
    found = effects(clean, changed)
    before = clean.double().log_softmax(-1)
    places = torch.arange(2)
    # Token 9 has all probability: the others' log-probability is their logit less its.
    after = (clean.double() - changed[:, 9:10].double())[places, ANSWER]
    assert found["delta_logprob"] == pytest.approx(
        float((after - before[places, ANSWER]).sum()), rel=1e-6
    )
    assert found["flip"] == 1.0


def test_a_row_beyond_that_range_changes_nothing_of_its_neighbours() -> None:
    clean = drawn(2, 50, seed=2)
    rows = clean + drawn(16, 2, 50, seed=4) * 0.1
    together = rows.clone()
    together[3, :, 9] += 500.0
    others = [row for row in range(16) if row != 3]
    alone, beside = (Effects(clean, ANSWER).of(some) for some in (rows, together))
    for name, numbers in beside.items():
        assert numbers[others].tolist() == alone[name][others].tolist(), name
