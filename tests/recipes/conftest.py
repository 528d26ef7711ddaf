"""A tiny llama and a few questions it can learn by heart."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mindshare.models import LoadedModel, wrap
from mindshare_recipes.finetune import Example

from ..models import tiny

Fresh = Callable[[], LoadedModel]


@pytest.fixture
def fresh() -> Fresh:
    """A new model object with the same weights each time: training uses one up."""
    return lambda: wrap(tiny.llama(initializer_range=0.3), tiny.tokenizer(), name="tiny")


@pytest.fixture
def examples() -> list[Example]:
    """Six prompts that begin alike, of different lengths, with answers of one and two tokens."""
    beginning = (5, 6, 7, 8)
    prompts = [(*beginning, *range(20, 20 + length)) for length in (3, 5, 2, 6, 4, 1)]
    answers = [(40, 1), (41, 42, 1), (43, 1), (44, 1), (45, 46, 1), (47, 1)]
    return [Example(p, a) for p, a in zip(prompts, answers, strict=True)]
