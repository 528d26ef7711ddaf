"""An insertion into a short text, measured, and the same from eager matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from mindshare.models import LoadedModel
from mindshare.prompts import Prompt
from mindshare.study import Measurement, build_insertion_study, measure
from tests.attention.tiny import eager_attentions

TEXT = "Ab cd. Ef gh ij?"
PROMPT = Prompt.from_text(TEXT, {"question": (7, len(TEXT))}, id="p")
POINT, RUN = 7, 6  # characters, and every one of them is a token
LAYERS, HEADS = 2, 4
NUMBERS = ("retained", "factor", "affine_r2", "affine_r2_after", "value_evenness")
Cell = tuple[int, int, int]


def measured(
    model: LoadedModel, insert: Any = "/ *3", prompts: Any = PROMPT, **parts: Any
) -> Measurement:
    return measure(model, prompts, study=build_insertion_study(insert, **parts))


def eager(model: LoadedModel, text: str) -> list[np.ndarray]:
    """By layer [head, query, key] of the same text, from the model itself."""
    assert model.tokenizer is not None
    ids = torch.tensor([model.tokenizer(text)["input_ids"]])
    return [a[0, :, :, : len(text)].numpy() for a in eager_attentions(model.model, ids)]


def cells(found: Measurement, name: str, value: str, **only: Any) -> dict[Cell, Any]:
    """(layer, head, position) → that column, of the rows that have these values."""
    return {
        (row["layer"], row["head"], row.get("position", 0)): row[value]
        for row in found.table(name).to_pylist()
        if all(row[key] == wanted for key, wanted in only.items())
    }
