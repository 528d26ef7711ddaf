from __future__ import annotations

import json
from pathlib import Path

import pytest

from mindshare.errors import OutputError
from mindshare.prompts import read_data
from mindshare.recipes.building_blocks.rows import QUESTION, SYSTEM, prompt, row, write_rows
from mindshare.recipes.building_blocks.samples import Sample, draw, samples

SAMPLE = Sample("ell", 8, 2, 1, "turn right")


def spanned(content: dict, name: str) -> list[str]:
    return [content["messages"][m]["content"][a:b] for m, a, b in content["spans"][name]]


def test_spans_hold_what_they_are_called() -> None:
    content = row(SAMPLE)
    start, target = draw(SAMPLE.start, 8, "#"), draw(SAMPLE.target, 8, "*")
    assert spanned(content, "start_map") == [start]
    assert spanned(content, "target_map") == [target]
    assert spanned(content, "maps") == [start, target]
    assert spanned(content, "question") == [QUESTION]
    assert spanned(content, "system") == [SYSTEM]
    assert content["answer"] == "turn right"


def test_the_answer_is_named_in_the_system_message_and_nowhere_else() -> None:
    assert "turn right" in SYSTEM
    assert "turn right" not in row(SAMPLE)["messages"][1]["content"]
    assert not set("#*") & set(SYSTEM + QUESTION)


def test_a_written_file_is_read_back_as_prompts(tmp_path: Path) -> None:
    some = samples("test", 18)
    path = write_rows(some, tmp_path / "new" / "test.jsonl")
    assert list(read_data(path)) == [prompt(sample) for sample in some]
    assert [json.loads(line)["answer"] for line in path.read_text().splitlines()] == [
        s.action for s in some
    ]


def test_an_existing_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text("mine")
    with pytest.raises(OutputError, match="exists already"):
        write_rows([SAMPLE], path)
    assert path.read_text() == "mine"
