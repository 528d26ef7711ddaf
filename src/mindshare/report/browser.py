"""This machine → a browser of the Chromium family, and a page printed by it.

Nothing is downloaded: a browser is used where there is one, and asked for where there is none.
Knows nothing about reports.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from mindshare.errors import OutputError

NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "msedge",
)
_PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)
_SECONDS = 120


def find_browser() -> Path | None:
    """The first that is installed."""
    on_path = (shutil.which(name) for name in NAMES)
    known = (place for place in _PLACES if Path(place).is_file())
    found = next((one for one in (*on_path, *known) if one), None)
    return None if found is None else Path(found)


def require_browser() -> Path:
    found = find_browser()
    if found is None:
        raise OutputError(
            "a PDF is printed by a browser, and there is none here",
            allowed=f"one of {', '.join(NAMES)} on the PATH",
            next_step="install Chromium, or choose --format html and print it from any browser",
        )
    return found


def print_page(page: Path, pdf: Path, *, browser: Path) -> None:
    """An HTML file → a PDF."""
    with tempfile.TemporaryDirectory(prefix="mindshare-browser-") as profile:
        done = _run([str(browser), *_options(Path(profile), pdf), page.resolve().as_uri()])
    if done.returncode != 0 or not pdf.is_file() or pdf.stat().st_size == 0:
        said = " ".join(done.stderr.strip().splitlines()[-3:])
        raise OutputError(
            f"{browser.name} could not print the report: {said[-300:] or 'it gave no reason'}",
            next_step="choose --format html and print it from any browser",
        )


def _options(profile: Path, pdf: Path) -> list[str]:
    options = [
        "--headless",
        "--disable-gpu",
        "--disable-extensions",
        "--disable-background-networking",
        "--no-first-run",
        f"--user-data-dir={profile}",
        "--no-pdf-header-footer",
        f"--print-to-pdf={pdf}",
    ]
    # Chromium refuses to run in its sandbox as root; the page is ours and runs no script.
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    return [*options, "--no-sandbox"] if root else options


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise OutputError(
            f"the browser did not print the report within {_SECONDS} seconds",
            next_step="choose --format html and print it from any browser",
        ) from error
    except OSError as error:
        raise OutputError(
            f"the browser {command[0]} can't be started: {error.strerror}",
            next_step="choose --format html and print it from any browser",
        ) from error
