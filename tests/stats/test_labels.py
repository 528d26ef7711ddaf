from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mindshare.errors import SelectionError
from mindshare.stats import LABELS, Thresholds, label
from mindshare.stats.labels import meanings, thresholds_of
from mindshare.stats.response import compare

USUAL = Thresholds()
X = np.arange(60.0)


def called(
    *, shape: float = 1, entropy_change: float = 0, peak_ratio: float = 1, amplitude: float = 1
) -> str | None:
    """The label of one head with these numbers."""
    numbers = {
        "shape": np.array([shape]),
        "entropy_change": np.array([entropy_change]),
        "peak_ratio": np.array([peak_ratio]),
        "amplitude": np.array([amplitude]),
    }
    (word,) = label(numbers, USUAL)
    return word  # type: ignore[no-any-return]


def compared(a: np.ndarray, b: np.ndarray) -> str | None:
    (word,) = label(compare(a[None], b[None]), USUAL)
    return word  # type: ignore[no-any-return]


def peak(place: float, height: float, width: float = 0.7) -> np.ndarray:
    found: np.ndarray = height * np.exp(-0.5 * ((X - place) / width) ** 2)
    return found


def noise(seed: int, size: float) -> np.ndarray:
    return np.abs(np.random.default_rng(seed).normal(0, size, len(X)))


def head_1(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Sharp peaks at 15, 25 and 30 (0.175) become broad, lower humps, the highest 0.10 near 25."""
    a = 0.008 + noise(seed, 0.008) + peak(15, 0.16) + peak(25, 0.13) + peak(30, 0.12)
    b = 0.01 + noise(seed + 99, 0.006) + peak(15, 0.05, 2.5) + peak(25, 0.08, 2.5)
    return a, b + peak(30, 0.05, 2.5)


def head_2(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Low for 20 tokens, then a noisy rise to 0.08 near 50; with the run the same up to 0.12."""
    rough = np.exp(noise(seed, 0.25))
    a = (0.012 + 0.05 * np.clip((X - 20) / 30, 0, 1)) * rough
    return a, a * (1.2 + 0.3 * (X > 30)) * np.exp(noise(seed + 99, 0.15))


def head_8(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A flat floor with peaks of 0.08 after 40; with the run a jagged rise from 30 to 0.20."""
    a = 0.006 + noise(seed, 0.003) + peak(43, 0.08) + peak(49, 0.05) + peak(54, 0.06)
    rise = np.clip((X - 30) / 30, 0, 1) * 0.09 * np.exp(noise(seed + 99, 0.5))
    return a, 0.03 + noise(seed + 7, 0.01) + rise + peak(58, 0.08)


@pytest.mark.parametrize(
    ("head", "word"), [(head_1, "smoothed"), (head_2, "amplified"), (head_8, "reconfigured")]
)
def test_the_three_heads_of_the_published_picture(
    head: Callable[[int], tuple[np.ndarray, np.ndarray]], word: str
) -> None:
    for seed in range(20):
        a, b = head(seed)
        assert compared(a, b) == word


def test_what_was_smoothed_is_sharpened_the_other_way() -> None:
    smooth, sharp = head_1(0)[::-1]
    assert compared(smooth, sharp) == "sharpened"


@given(
    st.floats(-1, 1), st.floats(-1, 1), st.floats(0.2, 5), st.floats(0.2, 5)
)  # fmt: skip
def test_exchanging_the_versions_turns_the_label_round(
    shape: float, entropy: float, ratio: float, amplitude: float
) -> None:
    for moved, line in ((ratio, 1.2), (amplitude, 1.2), (ratio / amplitude, 1.2)):
        assume(abs(abs(np.log(moved)) - np.log(line)) > 1e-9)  # rounding decides on the line
    there = called(shape=shape, entropy_change=entropy, peak_ratio=ratio, amplitude=amplitude)
    back = called(
        shape=shape, entropy_change=-entropy, peak_ratio=1 / ratio, amplitude=1 / amplitude
    )
    other = {"smoothed": "sharpened", "amplified": "damped"}
    other |= {right: left for left, right in other.items()}
    assert there is not None
    assert back == other.get(there, there)


@given(st.lists(st.floats(0.01, 1), min_size=5, max_size=60), st.floats(0.1, 10))
def test_a_profile_times_a_number_is_amplified_damped_or_unchanged(
    profile: list[float], c: float
) -> None:
    assume(max(profile) > 1.01 * min(profile))
    assume(abs(abs(np.log(c)) - np.log(1.2)) > 1e-6)
    expected = "amplified" if c > 1.2 else "damped" if c < 1 / 1.2 else "unchanged"
    assert compared(np.array(profile), np.array(profile) * c) == expected


def test_each_rule_on_its_line() -> None:
    assert called() == "unchanged"
    assert called(amplitude=1.2) == "amplified"
    assert called(amplitude=1.19) == "unchanged"
    assert called(amplitude=0.83, peak_ratio=0.83) == "damped"
    assert called(shape=0.8) == "unchanged"
    assert called(shape=0.79) == "reconfigured"
    assert called(entropy_change=0.1, peak_ratio=0.83) == "smoothed"
    assert called(entropy_change=0.09, peak_ratio=0.83) == "unchanged"
    assert called(entropy_change=0.1, peak_ratio=0.84) == "unchanged"
    assert called(entropy_change=-0.1, peak_ratio=1.2) == "sharpened"


def test_smoothing_may_cost_some_of_the_shape_but_not_all() -> None:
    assert called(shape=0.5, entropy_change=0.3, peak_ratio=0.5) == "smoothed"
    assert called(shape=0.49, entropy_change=0.3, peak_ratio=0.5) == "reconfigured"
    assert called(shape=0.5, entropy_change=-0.3, peak_ratio=2) == "sharpened"


def test_a_peak_that_falls_with_everything_else_is_damped() -> None:
    assert called(entropy_change=0.15, peak_ratio=0.6, amplitude=0.6) == "damped"
    assert called(entropy_change=0.15, peak_ratio=0.45, amplitude=0.6) == "smoothed"


def test_a_profile_that_rises_everywhere_is_not_smoothed() -> None:
    assert called(entropy_change=0.4, peak_ratio=1.5, amplitude=3) == "amplified"
    assert called(shape=0.6, entropy_change=0.4, peak_ratio=1.5, amplitude=3) == "reconfigured"


@pytest.mark.parametrize("name", ["shape", "entropy_change", "peak_ratio", "amplitude"])
def test_a_missing_number_is_no_label(name: str) -> None:
    assert called(**{name: np.nan}) is None


def test_many_heads_at_once() -> None:
    numbers = {
        "shape": np.array([1, 1, 0.2, np.nan]),
        "entropy_change": np.zeros(4),
        "peak_ratio": np.ones(4),
        "amplitude": np.array([2, 0.0, 1, 1]),
    }
    assert label(numbers, USUAL).tolist() == ["amplified", "damped", "reconfigured", None]
    assert set(label(numbers, USUAL).tolist()) <= {*LABELS, None}


def test_below_the_floor_a_head_rests_whatever_its_numbers() -> None:
    numbers = {
        "shape": np.array([1, np.nan, 1]),
        "entropy_change": np.zeros(3),
        "peak_ratio": np.ones(3),
        "amplitude": np.array([2.0, 2, 2]),
        "attention_left": np.array([0.0199, 0.001, 0.02]),
    }
    assert label(numbers, USUAL).tolist() == ["resting", "resting", "amplified"]


def test_every_label_has_a_sentence_with_its_thresholds() -> None:
    told = meanings(Thresholds(amplitude=1.5, floor=0.03))
    assert set(told) == set(LABELS)
    assert "1.5 times as much" in told["amplified"]
    assert "less than 0.03 of its attention" in told["resting"]


def test_thresholds_travel_with_the_table() -> None:
    mine = Thresholds(shape=0.9, entropy=0.25)
    content = pa.table({"x": [1]})
    assert thresholds_of(content.replace_schema_metadata(mine.metadata())) == mine
    assert thresholds_of(content) == USUAL


@pytest.mark.parametrize(
    "wrong",
    [
        {"shape": 1.5},
        {"lost": 0.9},
        {"amplitude": 1},
        {"peak": 0.8},
        {"entropy": 0},
        {"entropy": float("nan")},
        {"shape": float("nan")},
        {"floor": -0.1},
        {"floor": 1},
    ],
)
def test_thresholds_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(SelectionError, match=f"{next(iter(wrong))}="):
        Thresholds(**wrong)
