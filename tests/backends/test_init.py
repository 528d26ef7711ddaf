"""Where to run, in a user's words; and a driver that is killed goes on, wherever it runs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mindshare.backends import BackendOptions, ModelSpec
from mindshare.backends.pool import ProcessBackend, WorkerPool
from mindshare.errors import SelectionError
from mindshare.prompts import Prompt
from mindshare.store import RunReader
from mindshare.study import (
    AnyStudy,
    Measurer,
    PromptEncoder,
    RunFolder,
    build_insertion_study,
    build_knockout_study,
    write_tables,
)
from mindshare.study.backend import LocalBackend
from tests.backends.ray_cluster import descendants
from tests.backends.tiny_jobs import REQUEST, all_end, as_bytes, everything, kill, spec
from tests.store.writing import parts_of

ROOT = Path(__file__).parents[2]


def test_one_process_is_this_one(folder: Path, expected: dict[str, dict[int, bytes]]) -> None:
    with BackendOptions(workers=1).open(spec(folder)) as backend:
        assert isinstance(backend, LocalBackend)
        assert as_bytes(backend.results(everything(), REQUEST)) == expected
    assert backend.identity.name == "tiny-llama"
    assert list(vars(backend)) == ["identity"], "the weights are gone"


def test_several_are_others(folder: Path) -> None:
    assert isinstance(BackendOptions(workers=2).open(spec(folder)), ProcessBackend)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"on": "rya"}, "did you mean 'ray'"),
        ({"address": "auto"}, "an address is for Ray"),
        ({"workers": 0}, "0 workers cannot be started"),
        ({"workers": 1_000_000}, "workers cannot be started"),
    ],
)
def test_what_makes_no_sense_is_said(asked: dict[str, object], said: str) -> None:
    with pytest.raises(SelectionError, match=said):
        BackendOptions(**asked).open(ModelSpec("smollm2"))  # type: ignore[arg-type]


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
    return [sys.executable, "-m", "tests.backends.driver", *told]


def _killed_midway(run: Path, folder: Path, on: str, workers: int) -> None:
    # It is killed while it waits after its first batch, however slow this process is to see that.
    command = _command(run, folder, on, workers, pause=60)
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
    with RunReader.at(run) as reader:
        found = {job.item: parts_of(reader, job.item) for job in everything()}
    return {item: parts for item, parts in found.items() if parts}


INSERTION = build_insertion_study("/ *3")
CHUNKED = build_insertion_study("/ *3", against="random-sentence", chunk_tokens=8)
KNOCKOUT = build_knockout_study(classes={"x": "chars:x", "capital": "chars:AE"}, heads="each")


def _tables(
    run: Path, folder: Path, study: AnyStudy, options: BackendOptions, *, kills: int = 0
) -> dict[str, bytes]:
    """A few prompts, measured; workers are killed as results come in."""
    text = "Ab cd. Ef gh ij?"
    prompts = [
        Prompt.from_text(
            f"{'x' * n} {text}", {"question": (n + 8, n + 17)}, id=f"p{n}", answer=" k"
        )
        for n in range(24)
    ]
    killed = set[int]()
    with (
        RunFolder(run).open(study, {"tiny": prompts}) as opened,
        options.open(spec(folder)) as backend,
    ):

        def report(done: int, total: int) -> None:
            if 0 < done < total and len(killed) < kills:
                assert isinstance(backend, WorkerPool)
                killed.add(backend.fingerprints[-1].pid)
                kill(max(killed))

        encodings = PromptEncoder(spec(folder).load_tokenizer(), study)
        write_tables(Measurer(encodings, backend, opened.results("tiny"), report), prompts, opened)
    assert len(killed) == kills
    return {file.name: file.read_bytes() for file in run.glob("*.parquet")}


@pytest.mark.parametrize("on", ["local", pytest.param("ray", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("study", "names"),
    [
        (INSERTION, {"retained", "rescaling"}),
        (CHUNKED, {"retained", "rescaling"}),
        (KNOCKOUT, {"effects", "answers"}),
    ],
    ids=["insertion", "in chunks", "knockout"],
)
def test_the_same_bytes_when_a_worker_is_killed(
    tmp_path: Path, folder: Path, study: AnyStudy, names: set[str], on: str
) -> None:
    alone = _tables(tmp_path / "alone", folder, study, BackendOptions(workers=1))
    assert {f"{name}.parquet" for name in names} <= alone.keys()
    spread = BackendOptions(on, workers=2)
    assert _tables(tmp_path / "spread", folder, study, spread, kills=1) == alone


def test_the_command_line_spreads_an_insertion(tmp_path: Path, folder: Path) -> None:
    text, study = tmp_path / "prompt.txt", tmp_path / "study.toml"
    text.write_text("Ab cd. Ef gh ij?")
    told = ["insert", str(folder), "--file", str(text), "--insert", "/ *3", "--save-study"]
    assert _mindshare(*told, str(study)).returncode == 0
    found = []
    for name, workers in (("alone", ()), ("spread", ("--workers", "2"))):
        out = tmp_path / name
        done = _mindshare("run", str(study), "--out", str(out), *workers)
        assert done.returncode == 0, done.stderr
        found.append({file.name: file.read_bytes() for file in out.glob("*.parquet")})
    assert found[0] == found[1]
    assert "rescaling.parquet" in found[0]


def _mindshare(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from mindshare.cli import main; main()", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
