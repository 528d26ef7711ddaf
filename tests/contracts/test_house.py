"""The house as it is described: names that are promised, imports that are light, a true picture."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from bench.house import Tree, largest_cycle

import mindshare

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "mindshare"


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_every_promised_name_is_there() -> None:
    assert len(mindshare.__all__) == 25
    for name in mindshare.__all__:
        assert getattr(mindshare, name) is not None, name
    assert set(mindshare.__all__) <= set(dir(mindshare))


def test_importing_is_light() -> None:
    heavy = ("torch", "transformers", "numpy", "pyarrow", "pandas", "peft", "rich")
    loaded = run(f"import sys, mindshare; print([m for m in {heavy} if m in sys.modules])")
    assert loaded.strip() == "[]"


def test_the_command_line_passes_over_what_it_does_not_need() -> None:
    code = "import sys; from mindshare.cli.measure import start_engine; start_engine(); "
    code += "from transformers import LlamaForCausalLM; "
    code += "print([m for m in ('pandas', 'scipy') if m in sys.modules]); "
    code += "import pyarrow, scipy; print(len(pyarrow.table({'a': [1, 2]}).to_pandas()))"
    assert run(code).splitlines() == ["[]", "2"]


def test_the_right_half_never_imports_torch() -> None:
    modules = "mindshare.tables, mindshare.errors, mindshare.prompts, mindshare.tokens"
    modules += ", mindshare.stats, mindshare.figures"
    assert run(f"import sys, {modules}; print('torch' in sys.modules)").strip() == "False"


def test_no_imports_go_in_circles() -> None:
    circle = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}
    assert largest_cycle(circle) == ["b", "c"]
    assert largest_cycle(Tree(ROOT).imports()) == []


def architecture() -> str:
    return (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def test_the_glossary_is_the_code() -> None:
    """Each word of the glossary is a class, and stands where its row says."""
    block = architecture().partition("## Glossary")[2].partition("## ")[0]
    rows = re.findall(r"^\| (`.+?`) \| .+? \| `(\S+\.py)` \|$", block, re.MULTILINE)
    assert len(rows) > 15
    for words, where in rows:
        names = re.findall(r"`(\w+)`", words)
        home = (SOURCE / where).read_text(encoding="utf-8")
        for name in names:
            assert re.search(rf"^class {name}\b", home, re.MULTILINE), (name, where)


def test_every_file_that_the_architecture_names_is_there() -> None:
    named = set(re.findall(r"`((?:\w+/)*\w+\.py)`", architecture()))
    assert len(named) > 30
    for name in named:
        assert (
            (SOURCE.parent / name).exists() or (ROOT / name).exists() or list(SOURCE.rglob(name))
        ), name


def test_a_class_name_has_one_meaning() -> None:
    trees = [ast.parse(f.read_text(encoding="utf-8")) for f in SOURCE.rglob("*.py")]
    names = [x.name for tree in trees for x in ast.walk(tree) if isinstance(x, ast.ClassDef)]
    public = Counter(name for name in names if not name.startswith("_"))
    assert [name for name, times in public.items() if times > 1] == []


def test_no_module_is_long() -> None:
    for file in SOURCE.parent.rglob("*.py"):
        assert file.read_text(encoding="utf-8").count("\n") <= 600, file


def test_every_module_says_what_it_is() -> None:
    for file in SOURCE.rglob("*.py"):
        docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
        assert docstring is not None, file
        assert len(docstring) > 20, file


def test_tests_mirror_the_source() -> None:
    """A test file is named after the module it tests; some folders stand apart."""
    apart = {"laws", "contracts", "journeys", "golden", "fuzz"}
    beside = {name: f"mindshare_{name}" for name in ("recipes", "checker", "explore")}
    for file in (ROOT / "tests").rglob("test_*.py"):
        top, *rest = (*file.relative_to(ROOT / "tests").parent.parts, "")
        if top in apart:
            continue
        home = SOURCE.parent / beside[top] if top in beside else SOURCE / top
        name = file.stem.removeprefix("test_")
        known = name in ("init", "main", "bad_input", "datasets", "browser")
        assert known or home.joinpath(*rest, f"{name}.py").exists(), file
