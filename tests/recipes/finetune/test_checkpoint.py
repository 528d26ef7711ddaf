from __future__ import annotations

from pathlib import Path

import pytest
import torch

from mindshare.errors import OutputError
from mindshare.recipes.finetune.checkpoint import Progress, load, save


def test_what_was_saved_last_is_loaded(tmp_path: Path) -> None:
    assert load(tmp_path) is None
    for step in (1, 2):
        save(tmp_path, Progress(step, [0.5], 3.0), {"base": "b"}, {"w": torch.full((2,), step)})
    progress, about, tensors = load(tmp_path) or pytest.fail("nothing there")
    assert progress == Progress(2, [0.5], 3.0)
    assert about == {"base": "b"}
    assert tensors["w"].tolist() == [2, 2]
    assert [p.name for p in tmp_path.iterdir()] == ["checkpoint"]


def test_killed_between_two_renames_the_old_one_is_found(tmp_path: Path) -> None:
    save(tmp_path, Progress(7, [], 0.0), {}, {})
    (tmp_path / "checkpoint").rename(tmp_path / "checkpoint.old")
    (tmp_path / "checkpoint.building").mkdir()
    found = load(tmp_path)
    assert found is not None
    assert found[0].step == 7


def test_a_damaged_one_is_refused_with_what_to_do(tmp_path: Path) -> None:
    save(tmp_path, Progress(7, [], 0.0), {}, {"w": torch.zeros(9)})
    state = tmp_path / "checkpoint" / "state.pt"
    state.write_bytes(state.read_bytes()[:40])
    with pytest.raises(OutputError, match="can't be read"):
        load(tmp_path)
