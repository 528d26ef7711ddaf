"""The settings of a fine-tuning run: frozen, serialisable, checked when they are made."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from math import cos, pi
from typing import Any

from mindshare.errors import SelectionError


@dataclass(frozen=True)
class Settings:
    """What decides the weights that come out, together with the base and the examples."""

    steps: int
    batch: int = 16
    learning_rate: float = 1e-3
    warmup: int = 20  # steps
    rank: int = 8
    alpha: int = 16
    targets: str = "all-linear"  # which modules get an adapter: peft's word for all, or a regex
    clip: float = 1.0  # largest norm of the gradient
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "rank", "alpha"):
            if getattr(self, name) < 1:
                raise SelectionError(f"{name}={getattr(self, name)}", allowed="1, 2, 3, …")
        if self.warmup < 0 or not 0 < self.learning_rate < 1:
            raise SelectionError(
                f"warmup={self.warmup}, learning_rate={self.learning_rate}",
                allowed="warmup from 0, a learning rate between 0 and 1",
            )

    def rate(self, step: int) -> float:
        """Linear warm-up, then a cosine down to a tenth."""
        if step < self.warmup:
            return self.learning_rate * (step + 1) / self.warmup
        done = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.learning_rate * (0.55 + 0.45 * cos(pi * done))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def difference(self, other: dict[str, Any]) -> str | None:
        """The first setting that is not the same in `other`, in words."""
        for field in fields(self):
            mine, theirs = getattr(self, field.name), other.get(field.name)
            if mine != theirs:
                return f"{field.name} was {theirs!r} and is now {mine!r}"
        return None
