"""A run's state on disk: one folder, replaced whole, so that a kill never leaves half of one.

Holds the adapter's weights, the optimizer's moments, the step and the losses so far. Nothing else
decides how a run goes on: the order of the examples and the learning rate follow from the step.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mindshare.errors import OutputError
from mindshare.folders import flush

_NAME, _OLD = "checkpoint", "checkpoint.old"


@dataclass(frozen=True)
class Progress:
    """How far a run has come."""

    step: int
    losses: list[float]
    seconds: float


def save(folder: Path, progress: Progress, about: dict[str, Any], tensors: dict[str, Any]) -> None:
    """The new state beside the old one, then in its place."""
    import torch

    building = folder / f"{_NAME}.building"
    shutil.rmtree(building, ignore_errors=True)
    try:
        building.mkdir(parents=True)
        torch.save(tensors, building / "state.pt")
        text = json.dumps({**about, **progress.__dict__})
        (building / "progress.json").write_text(text, encoding="utf-8")
        _swap(building, folder)
    except OSError as error:
        raise OutputError(
            f"can't write a checkpoint to {folder}: {error.strerror}",
            next_step="free some space and start again: it goes on from the last checkpoint",
        ) from error


def _swap(building: Path, folder: Path) -> None:
    for file in building.iterdir():
        flush(file)
    current, old = folder / _NAME, folder / _OLD
    shutil.rmtree(old, ignore_errors=True)
    if current.exists():
        current.rename(old)
    building.rename(current)
    shutil.rmtree(old, ignore_errors=True)


def load(folder: Path) -> tuple[Progress, dict[str, Any], dict[str, Any]] | None:
    """The last whole state: (progress, about, tensors), or None if there is none."""
    for name in (_NAME, _OLD):  # killed between two renames: the old one is whole
        place = folder / name
        if (place / "progress.json").is_file():
            return _read(place)
    return None


def _read(place: Path) -> tuple[Progress, dict[str, Any], dict[str, Any]]:
    import torch

    try:
        about = json.loads((place / "progress.json").read_text(encoding="utf-8"))
        tensors = torch.load(place / "state.pt", weights_only=True)
        progress = Progress(about.pop("step"), about.pop("losses"), about.pop("seconds"))
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise OutputError(
            f"the checkpoint {place} can't be read ({type(error).__name__})",
            next_step="remove it to start from the beginning",
        ) from error
    return progress, about, tensors
