"""What people pass as models → candidates: labelled, readable without weights, loaded one by one.

Only one model given by reference is in memory at a time, so a comparison of two needs no more room
than a measurement of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mindshare.errors import SelectionError
from mindshare.models import (
    AttentionFacts,
    LoadedModel,
    Reader,
    attention_facts,
    describe,
    load,
    load_reader,
    wrap,
)
from mindshare.study import Asking, Progress, Shelf, Study
from mindshare.workers import ModelSpec, Place


@dataclass(frozen=True)
class Loading:
    """How references are loaded."""

    dtype: str = "float32"
    device: str | None = None
    trust_remote_code: bool = False
    progress: bool = True
    place: Place | None = None  # where the models run; None: in this process


@dataclass(frozen=True)
class Candidate:
    """A model to be compared: a reference that is not loaded yet, or a model in memory."""

    label: str
    model: str | Path | LoadedModel
    loading: Loading

    @cached_property
    def facts(self) -> AttentionFacts:
        if isinstance(self.model, LoadedModel):
            return attention_facts(self.model.model)
        return describe(self.model, trust_remote_code=self.loading.trust_remote_code)

    @cached_property
    def reader(self) -> LoadedModel | Reader:
        if isinstance(self.model, LoadedModel):
            return self.model
        return load_reader(
            self.model,
            trust_remote_code=self.loading.trust_remote_code,
            progress=self.loading.progress,
        )

    @contextmanager
    def asking(
        self, study: Study, *, shelf: Shelf | None = None, progress: Progress | None = None
    ) -> Iterator[Asking]:
        """The study put to this model, here or where `loading` says."""
        if isinstance(self.model, LoadedModel) or self.loading.place is None:
            with self.loaded() as loaded:
                yield Asking.of(loaded, study, shelf=shelf, progress=progress)
            return
        spec = ModelSpec(
            str(self.model),
            dtype=self.loading.dtype,
            device=self.loading.device,
            trust_remote_code=self.loading.trust_remote_code,
        )
        with self.loading.place.answering(spec) as answerer:
            yield Asking.by(answerer, self.reader, study, shelf=shelf, progress=progress)

    @contextmanager
    def loaded(self) -> Iterator[LoadedModel]:
        """The model; one that was loaded here is forgotten afterwards."""
        if isinstance(self.model, LoadedModel):
            yield self.model
            return
        yield load(
            self.model,
            dtype=self.loading.dtype,
            device=self.loading.device,
            trust_remote_code=self.loading.trust_remote_code,
            progress=self.loading.progress,
        )


def candidates(given: Any, loading: Loading) -> list[Candidate]:
    """One model, several, or label → model."""
    if isinstance(given, Mapping):
        named = [(str(label), model) for label, model in given.items()]
    else:
        several = [given] if _is_one(given) else list(given)
        named = [(label_of(model), model) for model in several]
    if not named:
        raise SelectionError("there is no model", next_step="name at least one")
    found: list[Candidate] = []
    for label, model in _distinct(named):
        ready = model if isinstance(model, (str, Path, LoadedModel)) else wrap(model)
        found.append(Candidate(label, ready, loading))
    return found


def _is_one(given: Any) -> bool:
    return isinstance(given, (str, Path, LoadedModel)) or not isinstance(given, Iterable)


def label_of(model: Any) -> str:
    """What a model is called that was given no name."""
    if isinstance(model, (str, Path)):
        return Path(model).name.removesuffix(".gguf") or str(model)
    return model.name if isinstance(model, LoadedModel) else type(model).__name__


def _distinct(named: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The same label a second time becomes `label (2)`."""
    seen: dict[str, int] = {}
    for label, model in named:
        seen[label] = seen.get(label, 0) + 1
        yield (label if seen[label] == 1 else f"{label} ({seen[label]})"), model
