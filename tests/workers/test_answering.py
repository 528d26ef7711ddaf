from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mindshare.errors import SelectionError
from mindshare.runs import Reader
from mindshare.workers import ModelSpec, answering_for
from mindshare.workers.answering import Here
from mindshare.workers.processes import Processes
from tests.workers.asking import ASKED, all_end, as_bytes, jobs, kill, spec
from tests.workers.virtual import descendants

ROOT = Path(__file__).parents[2]


def test_one_process_is_this_one(folder: Path, expected: dict[str, dict[int, bytes]]) -> None:
    with answering_for(spec(folder), workers=1) as here:
        assert isinstance(here, Here)
        assert here.respondent.name == "tiny-llama"
        assert here.loaded.tokenizer is not None
        assert as_bytes(one for some in here.answers(jobs(), ASKED) for one in some) == expected


def test_several_are_others(folder: Path) -> None:
    assert isinstance(answering_for(spec(folder), workers=2), Processes)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"on": "rya"}, "did you mean 'ray'"),
        ({"address": "auto"}, "an address is for Ray"),
        ({"workers": 0}, "0 workers cannot answer"),
    ],
)
def test_what_makes_no_sense_is_said(asked: dict[str, object], said: str) -> None:
    with pytest.raises(SelectionError, match=said):
        answering_for(ModelSpec("smollm2"), **asked)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("on", "workers", "kills"),
    [("local", 2, 1), pytest.param("ray", 2, 2, marks=pytest.mark.slow)],
)
def test_a_killed_driver_goes_on_where_it_was(
    tmp_path: Path,
    folder: Path,
    expected: dict[str, dict[int, bytes]],
    *,
    on: str,
    workers: int,
    kills: int,
) -> None:
    lacking = len(expected)
    for _ in range(kills):
        _killed_midway(tmp_path / "run", folder, on, workers)
        stored = _stored(tmp_path / "run")
        assert 0 < lacking - (lacking := len(expected) - len(stored)) < len(expected)
        assert stored.items() <= expected.items()
    # The last one may do it in whatever way: here without any worker.
    said = subprocess.run(
        _command(tmp_path / "run", folder, "local", 1, pause=0),
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert f"missing {lacking}" in said
    assert _stored(tmp_path / "run") == expected


def _command(run: Path, folder: Path, on: str, workers: int, *, pause: float) -> list[str]:
    told = map(str, (run, folder, on, workers, pause))
    return [sys.executable, "-m", "tests.workers.driver", *told]


def _killed_midway(run: Path, folder: Path, on: str, workers: int) -> None:
    command = _command(run, folder, on, workers, pause=0.3)
    before = set(Path("/tmp").glob("mindshare-ray-*"))
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        for line in driver.stdout:
            if line.startswith("stored"):
                break
        left = descendants(driver.pid)
        kill(driver.pid)
    assert len(left) >= workers
    all_end(left, seconds=150)  # Ray's own agents take a minute
    for logs in set(Path("/tmp").glob("mindshare-ray-*")) - before:
        shutil.rmtree(logs)


def _stored(run: Path) -> dict[str, dict[int, bytes]]:
    reader = Reader.at(run)
    items = [job.item for job in jobs()]
    return {item: dict(reader.parts(item)) for item in items if reader.parts(item)}
