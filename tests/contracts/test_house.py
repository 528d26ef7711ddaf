"""The house as it is described: names that are promised, imports that are light, a true picture."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import mindshare

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "mindshare"


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_every_promised_name_is_there() -> None:
    assert len(mindshare.__all__) == 21
    for name in mindshare.__all__:
        assert getattr(mindshare, name) is not None, name
    assert set(mindshare.__all__) <= set(dir(mindshare))


def test_importing_is_light() -> None:
    heavy = ("torch", "transformers", "numpy", "pyarrow", "pandas", "peft", "rich")
    loaded = run(f"import sys, mindshare; print([m for m in {heavy} if m in sys.modules])")
    assert loaded.strip() == "[]"


def test_the_right_half_never_imports_torch() -> None:
    modules = "mindshare.table, mindshare.errors, mindshare.prompts, mindshare.tokens"
    modules += ", mindshare.stats, mindshare.figures"
    assert run(f"import sys, {modules}; print('torch' in sys.modules)").strip() == "False"


def test_the_tree_in_the_architecture_is_the_tree_on_disk() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    block = text.partition("```tree\n")[2].partition("```")[0]
    drawn = set(re.findall(r"^\s*(\S+\.py)", block, re.MULTILINE))
    packages = re.findall(r"^(\w+)/", block, re.MULTILINE)
    on_disk = {p.name for p in SOURCE.glob("*.py")} | {
        p.name for package in packages for p in (SOURCE / package).rglob("*.py")
    }
    assert set(packages) == {p.name for p in SOURCE.iterdir() if (p / "__init__.py").exists()}
    assert drawn == on_disk - {"__init__.py"}


def test_no_module_is_long_without_a_reason() -> None:
    for file in SOURCE.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if text.count("\n") > 500:
            assert "long because" in (ast.get_docstring(ast.parse(text)) or ""), file


def test_every_module_says_what_it_is() -> None:
    for file in SOURCE.rglob("*.py"):
        docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
        assert docstring is not None, file
        assert len(docstring) > 20, file


def test_tests_mirror_the_source() -> None:
    """A test file is named after the module it tests; laws, contracts and journeys stand apart."""
    apart = {"laws", "contracts", "journeys"}
    for file in (ROOT / "tests").rglob("test_*.py"):
        folder = file.relative_to(ROOT / "tests").parent
        if folder.parts[:1] and folder.parts[0] in apart:
            continue
        name = file.stem.removeprefix("test_")
        homes = (SOURCE / folder / f"{name}.py", SOURCE / folder / name)
        known = name in ("init", "main", "bad_input", "datasets")
        assert known or any(home.exists() for home in homes), file
