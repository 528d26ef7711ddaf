"""Folders → the runs in them; two runs → what differs. Reads stores, never results."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mindshare.errors import OutputError
from mindshare.naming import layer_ranges
from mindshare.runs.database import DATABASE
from mindshare.runs.definition import Difference, differences
from mindshare.runs.reader import Reader
from mindshare.runs.status import RunStatus, is_run, run_status

_EXAMPLES = 5


@dataclass(frozen=True)
class Listed:
    """One run; a database that can't be read is listed with its trouble, not left out."""

    folder: Path
    size: int  # bytes of the whole folder
    status: RunStatus | None
    trouble: str | None = None

    def to_dict(self) -> dict[str, Any]:
        told = {"run": str(self.folder)} if self.status is None else self.status.to_dict()
        return {**told, "bytes": self.size, "trouble": self.trouble}


@dataclass(frozen=True)
class Sets:
    """Names that only the first has, only the second, and both."""

    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    both: tuple[str, ...]

    @classmethod
    def of(cls, a: Iterable[str], b: Iterable[str]) -> Sets:
        """In the order they come."""
        first, second = dict.fromkeys(a), dict.fromkeys(b)
        return cls(
            tuple(name for name in first if name not in second),
            tuple(name for name in second if name not in first),
            tuple(name for name in first if name in second),
        )

    def to_dict(self) -> dict[str, Any]:
        """Numbers, and a few names."""
        told: dict[str, Any] = {name: len(names) for name, names in vars(self).items()}
        return {**told, "examples": {n: list(v[:_EXAMPLES]) for n, v in vars(self).items()}}


@dataclass(frozen=True)
class Comparison:
    """What differs between two runs."""

    a: Path
    b: Path
    definition: tuple[Difference, ...]
    models: Sets
    layers: tuple[Difference, ...]  # of the models that both have
    prompts: Sets  # by id
    changed: tuple[str, ...]  # one id and model, another content or other weights

    @property
    def same(self) -> bool:
        sets = (self.models, self.prompts)
        return not (
            self.definition
            or self.layers
            or self.changed
            or any(one.only_a or one.only_b for one in sets)
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "a": str(self.a),
            "b": str(self.b),
            "same": self.same,
            "definition": [vars(one) for one in self.definition],
            "models": {name: list(names) for name, names in vars(self.models).items()},
            "layers": [vars(one) for one in self.layers],
            "prompts": self.prompts.to_dict(),
            "changed": list(self.changed[:_EXAMPLES]),
            "n_changed": len(self.changed),
        }


def find_runs(paths: Iterable[str | Path]) -> list[Listed]:
    """The runs at and below these folders, by name."""
    folders = dict.fromkeys(folder for path in paths for folder in _runs_below(Path(path)))
    return [_listed(folder) for folder in folders]


def compare_runs(a: str | Path, b: str | Path) -> Comparison:
    with Reader.at(a) as first, Reader.at(b) as second:
        definition = tuple(differences(first.definition, second.definition))
        models = Sets.of(first.labels, second.labels)
        # An item's hash holds the definition: with another one, every hash is another.
        shared = () if definition else models.both
        return Comparison(
            *(Path(a), Path(b), definition, models),
            layers=tuple(_layers(first, second, models.both)),
            prompts=Sets.of(_prompts(first), _prompts(second)),
            changed=tuple(dict.fromkeys(p for m in shared for p in _changed(first, second, m))),
        )


def _runs_below(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        raise OutputError(f"{path} is not a folder", next_step="name a folder that holds runs")
    for place, below, _ in os.walk(path):
        if is_run(Path(place)):
            below.clear()
            yield Path(place)
        below[:] = sorted(name for name in below if not name.startswith("."))


def _listed(folder: Path) -> Listed:
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    try:
        return Listed(folder, size, run_status(folder, failures=0))
    except OutputError as error:
        return Listed(folder, size, None, trouble=error.what.removeprefix(f"{folder / DATABASE} "))


def _layers(a: Reader, b: Reader, labels: Iterable[str]) -> Iterator[Difference]:
    for label in labels:
        if a.layers(label) != b.layers(label):
            yield Difference(label, *(_layer_words(run.layers(label)) for run in (a, b)))


def _layer_words(layers: frozenset[int] | None) -> str:
    return "all" if layers is None else layer_ranges(layers)


def _prompts(run: Reader) -> Iterator[str]:
    return (one.prompt for label in run.labels for one in run.planned(label))


def _changed(a: Reader, b: Reader, label: str) -> Iterator[str]:
    items = {one.prompt: one.item for one in a.planned(label)}
    return (one.prompt for one in b.planned(label) if items.get(one.prompt, one.item) != one.item)
