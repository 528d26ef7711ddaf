"""A browser for tests: the Chromium of this machine, or a reason why there is none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

REQUIRED = os.environ.get("MINDSHARE_BROWSER") == "required"
ROOT = Path(__file__).parents[1]


def missing(reason: str) -> None:
    """Skip with the reason; fail where a browser is required."""
    if REQUIRED:
        pytest.fail(reason)
    pytest.skip(f"{reason} (MINDSHARE_BROWSER=required makes this a failure)")


def require_chromium() -> Path:
    from mindshare.report.writing import find_browser

    found = find_browser()
    if found is None:
        missing("there is no Chromium on this machine")
    assert found is not None
    return found


def axe_script() -> Path:
    """axe.min.js, from `npm install --prefix FOLDER axe-core`."""
    folders = [Path(os.environ.get("MINDSHARE_AXE", "")), ROOT / ".venv" / "axe"]
    for folder in folders:
        script = folder / "node_modules" / "axe-core" / "axe.min.js"
        if script.is_file():
            return script
    missing("axe-core is not installed: npm install --prefix .venv/axe axe-core")
    raise AssertionError


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    program = require_chromium()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed")
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=str(program), args=["--no-sandbox"])
        yield started
        started.close()
