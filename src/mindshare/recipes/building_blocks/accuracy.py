"""A model and samples → how many actions it names rightly, per action, with 95 % intervals.

`exact`: the model's own answer, to the end of its turn, is the action and nothing else. `choice`:
the answer when only the nine actions can be said, which is fair to a model that was never told how
to answer; guessing gives 1/9.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path
from typing import Any

from mindshare.errors import OutputError
from mindshare.models import LoadedModel
from mindshare.recipes.building_blocks.actions import ACTIONS
from mindshare.recipes.building_blocks.rows import prompt
from mindshare.recipes.building_blocks.samples import Sample
from mindshare.recipes.finetune.answering import answers
from mindshare.recipes.finetune.batches import example

_Z = 1.959964  # 95 %


@dataclass(frozen=True)
class Score:
    """How many of n were right."""

    right: int
    n: int

    @property
    def share(self) -> float:
        return self.right / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's, which is honest near 0 and 1."""
        n, p, z = self.n, self.share, _Z
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True)
class Accuracy:
    """Scores by action, then over all of them under the name `all`."""

    exact: dict[str, Score]
    choice: dict[str, Score]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def accuracy(
    loaded: LoadedModel,
    samples: Sequence[Sample],
    *,
    report: Callable[[int, int], None] | None = None,
) -> Accuracy:
    """Ask the model about every sample."""
    asked = [example(loaded, prompt(sample), sample.action) for sample in samples]
    allowed = [example(loaded, prompt(samples[0]), action).answer for action in ACTIONS]
    given = answers(loaded, [one.prompt for one in asked], allowed, report=report)
    exact = [a.free[: len(e.answer)] == e.answer for a, e in zip(given, asked, strict=True)]
    choice = [a.chosen[: len(e.answer)] == e.answer for a, e in zip(given, asked, strict=True)]
    return Accuracy(_scores(samples, exact), _scores(samples, choice))


def _scores(samples: Sequence[Sample], right: Sequence[bool]) -> dict[str, Score]:
    scores = {}
    for action in ACTIONS:
        of_it = [ok for sample, ok in zip(samples, right, strict=True) if sample.action == action]
        if of_it:
            scores[action] = Score(sum(of_it), len(of_it))
    return {**scores, "all": Score(sum(right), len(right))}


def in_words(score: Score) -> str:
    """`71.5 % [67, 75]`"""
    low, high = score.interval
    return f"{100 * score.share:.1f} % [{100 * low:.0f}, {100 * high:.0f}]"


def write(found: Mapping[str, Accuracy], path: Path, *, seed: int) -> None:
    content = {
        "samples": next(iter(found.values())).exact["all"].n,
        "seed": seed,
        "models": {name: one.to_dict() for name, one in found.items()},
    }
    try:
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"can't write {path}: {error.strerror}") from error
