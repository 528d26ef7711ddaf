"""`mindshare models`: the list, one model's attention, JSON, and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mindshare.models import available

from . import tiny
from .conftest import Mindshare


def test_list(mindshare: Mindshare) -> None:
    ran = mindshare("models")
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= 80
    here, known = ran.out.split("Known, to be fetched from the hub")
    assert "smollm2" in here
    for row in available():
        if row.kind == "known":
            assert row.name in known


def test_list_as_json(mindshare: Mindshare) -> None:
    rows = json.loads(mindshare("models", "--json").out)
    assert rows == [vars(row) for row in available()]
    assert rows[0]["name"] == "smollm2"


def test_one_model(mindshare: Mindshare, llama: Path) -> None:
    ran = mindshare("models", llama)
    assert ran.code == 0
    words = {line.split()[0]: " ".join(line.split()[1:]) for line in ran.out.splitlines() if line}
    assert words["layers"] == "3, all with attention"
    assert words["heads"] == "4 query heads, 2 key-value heads"
    assert words["head"] == "size 8"
    assert words["windows"] == "none: every layer sees all earlier tokens"
    assert words["context"] == "64 tokens"
    assert words["sinks"] == "none learned"


def test_windows_are_told_compactly(mindshare: Mindshare) -> None:
    ran = mindshare("models", tiny.gemma3_config(Path("gemma3")))
    assert "512 tokens in layers 0–4, 6–10; all earlier tokens in 5, 11" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


def test_one_model_as_json(mindshare: Mindshare) -> None:
    found = json.loads(mindshare("models", tiny.gemma3_config(Path("gemma3")), "--json").out)
    assert found["reference"] == "gemma3"
    assert (found["layers"], found["heads"], found["kv_heads"]) == (12, 4, 1)
    assert found["windows"]["0"] == 512
    assert found["windows"]["5"] is None
    assert found["reason_unsupported"] is None


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("mamba", "state-space"), ("bloom", "code of its own"), ("t5", "encoder-decoder")],
)
def test_a_refused_model_says_why(
    mindshare: Mindshare, refused_models: dict[str, Path], kind: str, reason: str
) -> None:
    ran = mindshare("models", refused_models[kind])
    assert ran.code == 0
    assert reason in ran.out
    assert "instead" in ran.out
    assert "layers" not in ran.out.split("refused")[0]
