"""Models as people pass them → candidates: labelled, with facts and tokenizer but without weights.

Only one model given by reference is in memory at a time, so a comparison of two needs no more room
than a measurement of one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mindshare.backends import BackendOptions, ModelSpec
from mindshare.errors import SelectionError
from mindshare.models import AttentionFacts, LoadedModel, attention_facts, wrap
from mindshare.models.pretrained import line_if_slow
from mindshare.study import AnyStudy, Backend, LocalBackend, Tokenizer, check_study


@dataclass(frozen=True)
class Loading:
    """How models that are given by reference are loaded, and where they run."""

    dtype: str = "float32"
    device: str | None = None
    adapter: str | None = None  # a PEFT adapter that is merged into each of them
    trust_remote_code: bool = False
    progress: bool = True
    backend: BackendOptions | None = None  # None: this process

    def spec(self, reference: str | Path) -> ModelSpec:
        trust = self.trust_remote_code
        return ModelSpec(
            str(reference), self.adapter, self.dtype, self.device, trust_remote_code=trust
        )


@dataclass(frozen=True)
class Candidate:
    """A model to be measured: a reference that is not loaded yet, or a model in memory."""

    label: str
    model: str | Path | LoadedModel
    loading: Loading

    @cached_property
    def facts(self) -> AttentionFacts:
        """Raises for a model that can't be loaded and measured, as far as its files tell."""
        if isinstance(self.model, LoadedModel):
            return attention_facts(self.model.model)
        return self.loading.spec(self.model).check()

    def check(self, study: AnyStudy) -> None:
        """Refuse, by its files alone, a model that can't be measured or lacks a layer or head."""
        check_study(self.facts, study, name=self.label)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        if isinstance(self.model, LoadedModel):
            return self.model
        return self.loading.spec(self.model).load_tokenizer(progress=self.loading.progress)

    @contextmanager
    def backend(self) -> Iterator[Backend]:
        """The model, ready to run; one that was loaded for this is dropped afterwards."""
        if isinstance(self.model, LoadedModel):
            yield LocalBackend(self.model)
            return
        spec, show = self.loading.spec(self.model), self.loading.progress
        if self.loading.backend is None:
            yield LocalBackend(spec.load(progress=show))
            return
        with ExitStack() as opened:
            with line_if_slow(f"Starting workers with {self.label}", show=show):
                backend = opened.enter_context(self.loading.backend.open(spec))
            yield backend


def candidates(models: Any, loading: Loading) -> list[Candidate]:
    """`models`: one model, several, or label → model."""
    if isinstance(models, Mapping):
        named = [(str(label), model) for label, model in models.items()]
    else:
        single = isinstance(models, (str, Path, LoadedModel)) or not isinstance(models, Iterable)
        named = [(label_of(model), model) for model in ([models] if single else models)]
    if not named:
        raise SelectionError("there is no model", next_step="name at least one")
    for label, _ in named:
        problem = "has more than 200 characters" if len(label) > 200 else "is no UTF-8"
        if len(label) > 200 or label.encode("utf-8", "replace").decode() != label:
            raise SelectionError(
                f"the model's name {label!r} {problem}", next_step="call it otherwise: NAME=MODEL"
            )
    results: list[Candidate] = []
    counts: dict[str, int] = {}
    for label, model in named:
        counts[label] = counts.get(label, 0) + 1
        distinct = label if counts[label] == 1 else f"{label} ({counts[label]})"
        ready = model if isinstance(model, (str, Path, LoadedModel)) else wrap(model)
        results.append(Candidate(distinct, ready, loading))
    return results


def named(text: str, folder: str | Path = "") -> tuple[str | None, str]:
    """`Phys=smollm2-phys` → the name and what it names; None: no name is given.

    What is there (seen from `folder`) is no name: runs/lr=3, or lr=3 itself.
    """
    label, equals, reference = text.partition("=")
    is_name = equals and label.strip() and reference and not {"/", "\\"} & set(label)
    if not is_name or os.path.exists(Path(folder, text)):
        return None, text
    return label.strip(), reference


def label_of(model: Any) -> str:
    """What a model is called that was given no name."""
    if isinstance(model, (str, Path)):
        return Path(model).name.removesuffix(".gguf") or str(model)
    return model.name if isinstance(model, LoadedModel) else type(model).__name__
