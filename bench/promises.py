"""What the intervals and p-values promise, by simulation: the table of docs/promises.md.

    python bench/promises.py [STUDIES] [TABLE…]    1,000 per case by default: about two hours

Tables: coverage, margins, family, power, family_power, small; all of them if none is named. Each
study is drawn from a known truth, and put through the same functions as every table. Coverage,
power and small take one cell per study, and ten times as many; margins and families have 90 cells,
in none of which a mean differs.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection

import numpy as np

from mindshare.stats import Resampling
from mindshare.stats.inference import family_margins, max_t, paired_contrast
from mindshare.stats.intervals import mean_intervals

SIZES = (12, 30, 100, 300)
DETECTING = (30, 50, 100, 300)
CELLS = 90
Rng = np.random.Generator
Shape = tuple[int, ...]


def logit_normal(rng: Rng, shape: Shape) -> np.ndarray:
    drawn: np.ndarray = 1 / (1 + np.exp(-rng.normal(-3, 1.5, shape)))
    return drawn


def zeros(share: float) -> Callable[[Rng, Shape], np.ndarray]:
    return lambda rng, shape: np.where(rng.random(shape) < share, 0.0, rng.beta(2, 8, shape))


def absent(share: float) -> Callable[[Rng, Shape], np.ndarray]:
    """A class that so many prompts do not have: the mean is that of those that have it."""
    return lambda rng, shape: np.where(rng.random(shape) < share, np.nan, rng.beta(0.3, 8, shape))


def ties(rng: Rng, shape: Shape) -> np.ndarray:
    drawn: np.ndarray = rng.choice([0.1, 0.2, 0.4], shape, p=[0.6, 0.3, 0.1])
    return drawn


def unequal(rng: Rng, shape: Shape) -> np.ndarray:
    """Equal means, unequal spread."""
    drawn: np.ndarray = rng.beta(0.3, 8, shape) - rng.beta(3, 80, shape) * (0.3 / 8.3) / (3 / 83)
    return drawn


def grouped(rng: Rng, shape: Shape) -> np.ndarray:
    """Four prompts per unit that share half their variance; skewed."""
    common = rng.gamma(0.5, 1, (shape[0], *shape[1:])) - 0.5
    own = rng.normal(0, math.sqrt(0.5), (4 * shape[0], *shape[1:]))
    drawn: np.ndarray = np.repeat(common, 4, axis=0) + own
    return drawn


def uneven(rng: Rng, shape: Shape) -> np.ndarray:
    """Units of 1, 2, … 5 prompts, which share most of their variance; skewed."""
    common = rng.gamma(0.5, 1, shape) - 0.5
    drawn: np.ndarray = np.repeat(common, 1 + np.arange(shape[0]) % 5, axis=0)
    return drawn + rng.normal(0, 0.3, drawn.shape)


# name → (how a matrix [prompt, cell] is drawn, its mean; None: by drawing a million)
MEANS: dict[str, tuple[Callable[[Rng, Shape], np.ndarray], float | None]] = {
    "normal": (lambda rng, shape: rng.normal(0, 1, shape), 0.0),
    "skewed: Beta(.3, 8)": (lambda rng, shape: rng.beta(0.3, 8, shape), 0.3 / 8.3),
    "skewed: logit-normal": (logit_normal, None),
    "60 % zeros": (zeros(0.6), 0.4 * 0.2),
    "90 % zeros": (zeros(0.9), 0.1 * 0.2),
    "absent in 20 %": (absent(0.2), 0.3 / 8.3),
    "absent in 50 %": (absent(0.5), 0.3 / 8.3),
    "absent in 80 %": (absent(0.8), 0.3 / 8.3),
    "ties": (ties, 0.16),
    "unequal spread": (unequal, 0.0),
    "groups of 4": (grouped, 0.0),
    "groups of 1 to 5": (uneven, 0.0),
}


def _symmetric(draw: Callable[[Rng, Shape], np.ndarray]) -> Callable[[Rng, Shape], np.ndarray]:
    """Differences of two alike."""
    return lambda rng, shape: draw(rng, shape) - draw(rng, shape)


GROUPED = ("groups of 4", "groups of 1 to 5")
FAMILIES: dict[str, Callable[[Rng, Shape], np.ndarray]] = {
    name: draw if name in ("normal", "unequal spread") or name in GROUPED else _symmetric(draw)
    for name, (draw, _) in MEANS.items()
}


# Of power: another study like this one has a class in as many prompts.
PAIRED = [name for name in FAMILIES if not name.startswith("absent")]


def units_of(name: str, rows: int) -> np.ndarray:
    if name == "groups of 1 to 5":
        return np.repeat(np.arange(rows), 1 + np.arange(rows) % 5)[:rows]
    return np.arange(rows) // (4 if name == "groups of 4" else 1)


def _truth(name: str) -> float:
    return float(MEANS[name][0](np.random.default_rng(0), (4_000_000,)).mean())


def coverage(name: str, n: int, studies: int, seed: int = 1) -> tuple[float, float, float]:
    """(share of unmarked intervals that hold the truth, of marked ones, share unmarked)"""
    draw, truth = MEANS[name]
    truth = _truth(name) if truth is None else truth
    values = draw(np.random.default_rng(seed), (n, studies))
    found = mean_intervals(values, Resampling(), units_of(name, len(values)))
    there, holds = np.isfinite(found.low), (found.low <= truth) & (truth <= found.high)
    plain = there & found.reliable
    marked = there & ~found.reliable
    return _mean(holds[plain]), _mean(holds[marked]), _mean(plain)


def family(
    name: str, n: int, studies: int, *, resamples: int = 1_000, seed: int = 2
) -> tuple[float, float]:
    """(studies with any claim, though no mean differs; cells with p_value < 0.05)"""
    rng = np.random.default_rng(seed)
    wrong, single = [], []
    for i in range(studies):
        values = FAMILIES[name](rng, (n, CELLS))
        options, units = Resampling(resamples=resamples, seed=i), units_of(name, len(values))
        found = mean_intervals(values, options, units)
        wrong.append(bool((max_t(values, found, options, units).p_family < 0.05).any()))
        single.append(float((found.p_values() < 0.05).mean()))
    return _mean(wrong), _mean(single)


def margins(name: str, n: int, studies: int, *, resamples: int = 1_000, seed: int = 5) -> float:
    """Studies of 90 means in which any true one lies outside its margin."""
    (draw, truth), wrong = MEANS[name], []
    truth = _truth(name) if truth is None else truth
    for i in range(studies):
        values = draw(np.random.default_rng((seed, n, i)), (n, CELLS))
        options, units = Resampling(resamples=resamples, seed=i), units_of(name, len(values))
        found = mean_intervals(values, options, units)
        one = np.zeros(CELLS, int)
        reach = family_margins(values, found, options, units, families=one, alpha=0.05)
        wrong.append(bool((np.abs(found.mean - truth) > reach).any()))
    return _mean(wrong)


def power(name: str, n: int, studies: int, seed: int = 3) -> tuple[float, float, float]:
    """(how often `detectable`, as one study prints it, is found in another like it; how often the
    other way round; how many studies print it)"""
    rng, draw = np.random.default_rng(seed), FAMILIES[name]
    first, second = draw(rng, (n, studies)), draw(rng, (n, studies))
    options, units = Resampling(resamples=100), units_of(name, len(first))
    printed = paired_contrast(np.zeros_like(first), first, options, units)
    side = np.sign(printed["difference"])
    found = mean_intervals(second + side * printed["detectable"], options, units)
    there = np.isfinite(printed["detectable"])
    claimed = (found.p_values() < 0.05) & there
    right, wrong = (_mean((claimed & (np.sign(found.mean) == way))[there]) for way in (side, -side))
    return right, wrong, _mean(there)


def family_power(name: str, n: int, studies: int, *, resamples: int = 300, seed: int = 6) -> float:
    """The same of `detectable_family`, for a cell that is picked out of 30."""
    claimed: list[bool] = []
    for i in range(studies):
        rng = np.random.default_rng((seed, n, i))
        first, second = (FAMILIES[name](rng, (n, 30)) for _ in range(2))
        options, units = Resampling(resamples=resamples, seed=i), units_of(name, len(first))
        printed = paired_contrast(np.zeros_like(first), first, options, units)
        # What is added to one cell changes no other's t, nor what chance brings: each in turn.
        found = mean_intervals(second, options, units)
        t = (np.sign(printed["difference"]) * found.mean + printed["detectable_family"]) / found.se
        passed = t >= max_t(second, found, options, units).threshold
        claimed += passed[np.isfinite(printed["detectable_family"])].tolist()
    return _mean(claimed)


def called_small(n: int, studies: int, seed: int = 4) -> float:
    """How often tied masses that differ by a third are said to differ by less than 10 %."""
    rng = np.random.default_rng(seed)
    a = ties(rng, (n, studies))
    b = np.where(rng.random(a.shape) < 0.8, a, a + 0.16 / 3 / 0.2)
    found = paired_contrast(a, b, Resampling(resamples=100), np.arange(n))
    return _mean(found["p_equivalent"] < 0.05)


def _mean(values: object) -> float:
    numbers = np.asarray(values, float)
    return float(numbers.mean()) if numbers.size else math.nan


def _row(name: str, cells: list[str]) -> None:
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main(studies: int, tables: Collection[str]) -> None:
    if "coverage" in tables:
        print("coverage of intervals: unmarked, (marked), share unmarked")
        for name in MEANS:
            found = [coverage(name, n, 10 * studies) for n in SIZES]
            _row(name, [f"{100 * p:.1f} ({100 * m:.1f}) {100 * s:.0f}" for p, m, s in found])
    if "power" in tables:
        print("power at detectable, (found the other way round), share that print it")
        for name in PAIRED:
            found = [power(name, n, 10 * studies) for n in DETECTING]
            _row(name, [f"{100 * p:.1f} ({100 * w:.1f}) {100 * s:.0f}" for p, w, s in found])
    if "family_power" in tables:
        print("power at detectable_family")
        for name in PAIRED:
            _row(name, [f"{100 * family_power(name, n, studies):.1f}" for n in DETECTING])
    if "small" in tables:
        print("tied masses called small (n = 6, 12, …)")
        _row("small", [f"{100 * called_small(n, 10 * studies):.2f}" for n in (6, *SIZES)])
    if "margins" in tables:
        print("studies of 90 means with any true one outside its margin")
        for name in MEANS:
            _row(name, [f"{100 * margins(name, n, studies):.1f}" for n in SIZES])
    if "family" in tables:
        print("studies with any wrong claim, of 90 cells; cells with p_value < 0.05")
        for name in FAMILIES:
            pairs = [family(name, n, studies) for n in SIZES]
            _row(name, [f"{100 * any_:.1f} ({100 * one:.1f})" for any_, one in pairs])


if __name__ == "__main__":
    words = sys.argv[1:]
    count = int(words.pop(0)) if words and words[0].isdigit() else 1_000
    main(count, words or ("coverage", "power", "small", "margins", "family", "family_power"))
