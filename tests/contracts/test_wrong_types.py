"""What people pass in Python: a value of a wrong type is one message that names it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mindshare
from mindshare.errors import MindshareError

from ..cli import tiny

CLASSES = {"hash": "#"}
WRONG: list[Any] = [3.5, True, b"x", object(), [object()], {"a": object()}]
NUMBERS = ("layers", "heads", "near", "seed", "window", "screen")
WORDS = {
    "measure": ("into", "progress", "heads", "layers", "measures", "classes", "column"),
    "shares": ("into", "progress", "heads", "like", "resampling", "width", "label", "top"),
    "head_map": ("into", "progress", "like", "cls", "measure"),
    "insertion": ("seed", "layers", "near", "maps", "thresholds", "resampling", "into", "at"),
    "knockout": ("answer", "choices", "window", "queries", "screen", "tell", "heads", "how"),
    "parts": ("progress", "layers", "queries", "width"),
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> mindshare.LoadedModel:
    return mindshare.load(tiny.llama(tmp_path_factory.mktemp("models")), progress=False)


@pytest.mark.parametrize(
    ("name", "keyword"), [(name, word) for name, words in WORDS.items() for word in words]
)
def test_a_keyword_of_a_wrong_type_is_refused_by_its_name(
    name: str, keyword: str, base: mindshare.LoadedModel
) -> None:
    function: Callable[..., Any] = getattr(mindshare, name)
    given: dict[str, Any] = {} if name in ("insertion", "parts") else {"classes": CLASSES}
    for value in WRONG:
        try:
            function(base, "a ## b", **given | {keyword: value})
        except MindshareError:
            continue
        assert value is True, f"{name}({keyword}={value!r}) was taken"  # a word such as like=True


@pytest.mark.parametrize("name", WORDS)
def test_an_unknown_keyword_is_refused_by_its_name(name: str, base: mindshare.LoadedModel) -> None:
    given: dict[str, Any] = {} if name in ("insertion", "parts") else {"classes": CLASSES}
    with pytest.raises(MindshareError, match="layrs"):
        getattr(mindshare, name)(base, "a ## b", layrs=0, **given)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("shares", {"classes": CLASSES, "layers": [0, 1], "near": 1}),
        ("insertion", {"insert": "/ *3", "layers": [0, 1], "seed": 1, "heads": "0.0"}),
        ("knockout", {"classes": CLASSES, "answer": "greedy", "heads": [0, 1], "screen": 2}),
        ("knockout", {"classes": CLASSES, "answer": "greedy", "layers": [0, 1], "window": 2}),
        ("parts", {"layers": [0, 1]}),
    ],
)
def test_numbers_of_numpy_are_numbers(
    name: str, parts: dict[str, Any], base: mindshare.LoadedModel
) -> None:
    numbers = {k: np.array(v)[()] if k in NUMBERS else v for k, v in parts.items()}
    found, usual = (getattr(mindshare, name)(base, "a ## b", **one) for one in (numbers, parts))
    assert all(found.tables[table].equals(usual.tables[table]) for table in usual.tables)


@pytest.mark.parametrize("path", [3, 3.5, None, ["a"], b"x"])
def test_a_path_is_a_text_or_a_path(path: Any, base: mindshare.LoadedModel) -> None:
    found = mindshare.measure(base, "a ## b", classes=CLASSES)
    chart = mindshare.shares(base, "a ## b", classes=CLASSES)
    for function in (mindshare.read, found.save, chart.save, chart.figures[0].save):
        with pytest.raises(MindshareError, match="can't be read"):
            function(path)


@pytest.mark.parametrize("formats", [3, object(), [3]])
def test_formats_are_words(formats: Any, base: mindshare.LoadedModel, tmp_path: Path) -> None:
    chart = mindshare.shares(base, "a ## b", classes=CLASSES)
    for save in (chart.save, chart.figures[0].save):
        with pytest.raises(MindshareError, match="formats="):
            save(tmp_path / "out", formats=formats)
    assert not (tmp_path / "out").exists()
