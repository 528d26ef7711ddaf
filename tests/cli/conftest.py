"""Every command here works offline, in a folder and a cache of its own, at 80 columns."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from mindshare.cli import run

from . import tiny


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


Mindshare = Callable[..., Ran]


@pytest.fixture(autouse=True)
def place(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The current folder of the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINDSHARE_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def mindshare(capsys: pytest.CaptureFixture[str]) -> Mindshare:
    """Run one command in this process."""

    def call(*arguments: object) -> Ran:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        sys.stdout.flush()
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return call


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.llama(tmp_path_factory.mktemp("models") / "tiny-llama")


@pytest.fixture(scope="session")
def other_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same build with other weights."""
    return tiny.llama(tmp_path_factory.mktemp("models") / "other-llama", seed=1)


@pytest.fixture(scope="session")
def refused_models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A model of each kind that can't be measured."""
    place = tmp_path_factory.mktemp("refused")
    builders = {"mamba": tiny.mamba, "bloom": tiny.bloom, "t5": tiny.t5}
    return {name: build(place / f"tiny-{name}") for name, build in builders.items()}
