"""Examples that are run when the site is built: a command, what it says, the picture it makes.

    ```{run}
    :picture: map/class_bars_mass.png
    :alt: …

    mindshare shares smollm2 --file map.txt --class hash=# --out map
    ```

`{python}` runs Python. All examples of a build share one folder, `_build/work`, so that one can go
on from another. An example that fails fails the build. Results are kept there: a command that has
run in an earlier build is not run again, until `make clean`.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives

HERE = Path(__file__).parent
WORK = HERE / "_build" / "work"
DATA = HERE / "examples"  # files that the examples read
_SECONDS = 600


class Executed(Directive):
    """Shows its content, runs it, shows what came of it."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "picture": directives.unchanged,
        "alt": directives.unchanged,
        "lines": directives.nonnegative_int,  # of what it says; 0: nothing
        "width": directives.unchanged,
    }
    language = "console"

    def arguments_for(self, text: str) -> list[str]:
        return ["bash", "-euo", "pipefail", "-c", text]

    def run(self) -> list[nodes.Node]:
        text = "\n".join(self.content)
        said = self._said(text)
        shown = nodes.literal_block(text, text)
        shown["language"] = self.language
        found: list[nodes.Node] = [shown]
        lines = said.rstrip().splitlines()[: self.options.get("lines", 12)]
        if lines:
            output = nodes.literal_block("\n".join(lines), "\n".join(lines))
            output["language"], output["classes"] = "text", ["executed-output"]
            found.append(output)
        return [*found, *self._picture()]

    def _said(self, text: str) -> str:
        """What it prints; of an earlier build, if nothing has changed."""
        WORK.mkdir(parents=True, exist_ok=True)
        shutil.copytree(DATA, WORK, dirs_exist_ok=True)
        kept = WORK / f".said-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        if kept.exists():
            return kept.read_text(encoding="utf-8")
        binaries = str(Path(sys.executable).parent)
        path = os.pathsep.join([binaries, os.environ.get("PATH", "")])
        quiet = {"NO_COLOR": "1", "COLUMNS": "88", "HF_HUB_OFFLINE": "1", "PATH": path}
        done = subprocess.run(
            self.arguments_for(text),
            cwd=WORK,
            env=os.environ | quiet,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise self.error(f"this example fails:\n{text}\n{done.stderr[-2000:]}")
        kept.write_text(done.stdout, encoding="utf-8")
        return done.stdout

    def _picture(self) -> list[nodes.Node]:
        name = self.options.get("picture")
        if name is None:
            return []
        made = WORK / name
        if not made.is_file():
            raise self.error(f"the example made no {name}")
        copy = HERE / "_build" / "pictures" / name.replace("/", "-")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(made, copy)
        page = Path(self.state.document.settings.env.docname).parent
        up = "../" * len(page.parts)
        picture = nodes.image(uri=f"{up}_build/pictures/{copy.name}", alt=self.options.get("alt"))
        picture["width"] = self.options.get("width", "100%")
        return [picture]


class Python(Executed):
    language = "python"

    def arguments_for(self, text: str) -> list[str]:
        return [sys.executable, "-c", text]


class Math(Directive):
    """A formula as MathML, which browsers draw by themselves: no script, no font from outside."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        from latex2mathml.converter import convert

        formula = convert(" ".join(self.content), display="block")
        return [nodes.raw("", formula, format="html")]


def plain_docstring(*event: Any) -> None:
    """Docstrings are plain text: no sign of theirs is markup, but for backticks and indentation."""
    lines = event[-1]
    for i, line in enumerate(lines):
        if not line.startswith("    "):
            pieces = re.split(r"(`[^`]*`)", line.replace("``", "`"))
            lines[i] = "".join(
                piece
                if piece.startswith("`")
                else re.sub(r"([*|])|(?<=\w)(_)(?=\W|$)", r"\\\1\2", piece)
                for piece in pieces
            )
    for i in range(len(lines) - 1, -1, -1):  # what is indented stands as it is
        indented = lines[i].startswith("    ")
        if indented and (i == 0 or not lines[i - 1].strip()):
            lines[i:i] = ["::", ""]


def setup(app: Any) -> dict[str, Any]:
    app.add_directive("run", Executed)
    app.add_directive("python", Python)
    app.add_directive("math", Math, override=True)
    app.connect("autodoc-process-docstring", plain_docstring)
    return {"parallel_read_safe": False, "version": "1"}
