"""Commands run in a process of their own, offline, in an empty folder, 80 columns wide."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Shell = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("journey")


@pytest.fixture(scope="module")
def shell(folder: Path) -> Shell:
    """Run the installed command."""
    command = Path(sys.executable).with_name("mindshare")
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "COLUMNS": "80"}
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        environment.pop(name, None)

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(command), *arguments], cwd=folder, env=environment, capture_output=True, text=True
        )

    return call
