from __future__ import annotations

from math import nan

import pyarrow as pa
import pytest

from mindshare.errors import SelectionError
from mindshare.models import LoadedModel
from mindshare.stats import averaged
from mindshare.study import Study, measure

TEXTS = ["# ** and # so on", "a * b ## c"]
CLASSES = (("hash", "#"), ("star", "*"))
COLUMNS = ("mass", "share", "density", "expected", "lift")


def measured(model: LoadedModel, **parts: object) -> pa.Table:
    return measure(model, TEXTS, study=Study(classes=CLASSES, measures=("mass",), **parts)).mass


def numbers(table: pa.Table) -> dict[tuple[object, ...], list[float]]:
    keys = ("prompt", "queries", "layer", "head", "class")
    return {
        tuple(r[k] for k in keys): [nan if r[c] is None else r[c] for c in COLUMNS]
        for r in table.to_pylist()
    }


def same(ours: pa.Table, theirs: pa.Table) -> None:
    assert numbers(ours).keys() == numbers(theirs).keys()
    for key, expected in numbers(theirs).items():
        assert numbers(ours)[key] == pytest.approx(expected, rel=1e-5, nan_ok=True), key


def test_averages_are_those_of_the_engine(smollm2: LoadedModel) -> None:
    whole = measured(smollm2, layers=(0, 3, 7), queries=("all", "last"))
    kept = {"layers": (0, 3, 7), "queries": ("all", "last")}
    same(averaged(whole), measured(smollm2, mean_over=("heads",), **kept))
    both = measured(smollm2, mean_over=("heads", "layers"), **kept)
    same(averaged(whole, layers=[0, 3, 7]), both)


def test_only_the_layers_asked_for_count(smollm2: LoadedModel) -> None:
    whole = measured(smollm2, layers=(0, 3, 7))
    band = measured(smollm2, layers=(3, 7), mean_over=("heads", "layers"))
    same(averaged(whole, layers=[7, 3]), band)
    with pytest.raises(SelectionError, match="no layer 5 in the table"):
        averaged(whole, layers=[3, 5])


def test_the_definition_travels_along(smollm2: LoadedModel) -> None:
    whole = measured(smollm2, layers=(0,))
    assert averaged(whole).schema.metadata == whole.schema.metadata
    assert averaged(whole).schema.names == whole.schema.names
