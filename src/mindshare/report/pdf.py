"""A document → a PDF: the page for paper, printed by a browser that is found on this machine.

The page has still pictures and no script, so that nothing has to be waited for.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from mindshare.report.browser import print_page, require_browser
from mindshare.report.html import paper
from mindshare.report.parts import Document

_SAME_WIDTHS = ("Liberation Sans", "Arimo", "Arial", "Helvetica", "Nimbus Sans")


def write_pdf(
    document: Document, path: Path, *, file_name: Callable[[Path], str] = lambda path: path.name
) -> None:
    browser = require_browser()
    with tempfile.TemporaryDirectory(prefix="mindshare-pdf-") as folder:
        source = Path(folder) / "report.html"
        text = paper(document, file_name=file_name, vector=has_chart_font())
        source.write_text(text, encoding="utf-8")
        print_page(source, path, browser=browser)


def has_chart_font() -> bool:
    """Whether a browser here draws text as wide as the charts were laid out.

    Where it does not, charts are printed as pixels (288 an inch), so that no word is cut off.
    """
    if platform.system() != "Linux":  # Arial or Helvetica are always there
        return True
    tool = shutil.which("fc-match")
    if tool is None:
        return False
    asked = [tool, "-f", "%{family}", "Liberation Sans"]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=30, check=False)
    return done.stdout.partition(",")[0] in _SAME_WIDTHS
