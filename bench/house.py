"""`make house`: how large the source is and how it hangs together, counted; before and after.

    python -m bench.house                  the tree as it stands
    python -m bench.house --base REV       the same beside an earlier revision

Nothing is judged here. "Files that name one" are the source files that name one existing example of
its kind: what someone who adds a second one has to touch, or at least to read. "Modules run" are
those whose code runs between `shares --data` and its PNG, by a profile of one call on a tiny model.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
CORE = "mindshare"
# An existing example of what can be added, as it is called in the source, then and now.
EXAMPLES = {
    "measure of a class": r"\bdensity\b",
    "measure of a head": r"\"previous\"",
    "chart kind": r"\btext_strip\b|\btoken_strip\b|TextStrip|TokenStrip",
    "option": r"\bchunk_tokens\b|ChunkTokens",
    "format": r"\btsv\b",
    "backend": r"\bRay(Backend|Workers)\b|\bray_backend\b",
}
# The types that stand for one idea, under their names then and now.
CONCEPTS = {
    "what is asked": r"Study|InsertionStudy|Definition|Definitions|Request|Wanted|Asked|_Asked"
    r"|CaptureOptions|InsertionParts",
    "what was found": r"PromptResult|Found|LayerSeen|LayerStats|LayerNumbers|HeadNumbers|Answer"
    r"|Kept|Done|Result|VersionNumbers|PromptNumbers|LayerResult",
    "who computes": r"Backend|LocalBackend|Answering|Answerer|Passes|Here|Asking|Answered|Crew"
    r"|Processes|RayWorkers|Measurer|WorkerPool|ProcessBackend|RayBackend|Respondent"
    r"|ModelIdentity",
}
TRACE = """
import sys, tempfile, json, threading
from pathlib import Path
seen = set()
def watch(frame, event, arg):
    if event == "call" and frame.f_code.co_flags & 1:  # a function, no module or class body
        seen.add(frame.f_code.co_filename)
from tests.cli import tiny
from mindshare.cli import run
with tempfile.TemporaryDirectory() as folder:
    place = Path(folder)
    model = tiny.llama(place / "tiny")
    data = place / "data.jsonl"
    data.write_text("".join(json.dumps({"text": f"## ** {i}"}) + "\\n" for i in range(3)))
    threading.setprofile(watch); sys.setprofile(watch)
    code = run(["shares", str(model), "--data", str(data), "--class", "hash=#",
                "--out", str(place / "out"), "--quiet"])
    sys.setprofile(None); threading.setprofile(None)
    assert code == 0 and list((place / "out").glob("*.png"))
print(len({f for f in seen if f.startswith(sys.argv[1])}))
"""

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Tree:
    """The sources of one revision: texts and syntax trees by path below src."""

    def __init__(self, root: Path) -> None:
        self.root, self.src = root, root / "src"
        files = sorted(f for f in self.src.rglob("*.py") if ".egg-info" not in str(f))
        self.texts = {str(f.relative_to(self.src)): f.read_text(encoding="utf-8") for f in files}
        self.trees = {path: ast.parse(text) for path, text in self.texts.items()}

    def lines(self, pattern: str) -> int:
        return sum(f.read_text(encoding="utf-8").count("\n") for f in self.root.glob(pattern))

    def naming(self, example: str) -> list[str]:
        """The source files that name an example."""
        return [path for path, text in self.texts.items() if re.search(example, text)]

    def imports(self) -> dict[str, set[str]]:
        """Module → modules of ours that it imports when it is imported itself."""
        names = {re.sub(r"(/__init__)?\.py$", "", p).replace("/", "."): p for p in self.trees}
        edges = {}
        for name, path in names.items():
            found = set()
            for node in _at_import(self.trees[path].body):
                if isinstance(node, ast.Import):
                    found |= {alias.name for alias in node.names}
                elif node.module is not None:  # of `from a import b`, b may be a module or a name
                    whole = {f"{node.module}.{alias.name}" for alias in node.names}
                    found |= {one if one in names else node.module for one in whole}
            edges[name] = (found & names.keys()) - {name}
        return edges


def _at_import(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Import statements outside functions and `if TYPE_CHECKING`."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            yield from _at_import([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            yield from _at_import(node.body)


def largest_cycle(edges: dict[str, set[str]]) -> list[str]:
    """The largest strongly connected component of an import graph; empty without a cycle."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        edge = set(edges[start])
        while edge:
            seen |= edge
            edge = {after for one in edge for after in edges[one]} - seen
        return seen

    reach = {name: reached(name) for name in edges}
    cycles = [[b for b in reach[a] if a in reach[b]] for a in edges if a in reach[a]]
    return sorted(max(cycles, key=len, default=[]))


def _parameters(function: Function) -> int:
    args = function.args
    names = [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def counted(tree: Tree, *, trace: bool) -> dict[str, str]:
    """Every count of one tree, as it is printed."""
    lines = {path: text.count("\n") for path, text in tree.texts.items()}
    total, sizes = sum(lines.values()), sorted(lines.values())
    nodes = [(path, x) for path, syntax in tree.trees.items() for x in ast.walk(syntax)]
    functions = [(path, x) for path, x in nodes if isinstance(x, Function)]
    private = [(path, x.name) for path, x in functions if re.match(r"_[^_]", x.name)]
    once = [n for path, n in private if len(re.findall(rf"\b{n}\b", tree.texts[path])) <= 2]
    lengths = sorted((x.end_lineno or x.lineno) - x.lineno + 1 for _, x in functions)
    parameters = [_parameters(x) for _, x in functions]
    classes = Counter(x.name for _, x in nodes if isinstance(x, ast.ClassDef))
    whole = "\n".join(tree.texts.values())
    comments = [len(re.findall(x, whole, re.MULTILINE)) for x in (r"^ *# ", r"\S  # ")]
    rows = {
        "modules": f"{len(lines)}",
        "lines": f"{total:,}",
        "  of which core": f"{sum(n for p, n in lines.items() if p.startswith(f'{CORE}/')):,}",
        "  in templates, beside": f"{sum(tree.lines(f'src/**/*.{s}') for s in _TEMPLATES):,}",
        "statements": f"{sum(isinstance(x, ast.stmt) for _, x in nodes):,}",
        "module lines, median / largest": f"{sizes[len(sizes) // 2]} / {sizes[-1]}",
        "functions": f"{len(functions):,}",
        "function lines, nine in ten under": f"{lengths[len(lengths) * 9 // 10]}",
        "private functions used once": f"{len(once)} of {len(private)}",
        "functions with over 6 / 8 parameters": " / ".join(
            str(sum(n > limit for n in parameters)) for limit in (6, 8)
        ),
        "most parameters": str(max(parameters)),
        "class names with two meanings": str(sum(n > 1 for n in classes.values())),
        "comment lines per 100": f"{100 * comments[0] / total:.1f}",
        "  with comments beside code": f"{100 * sum(comments) / total:.1f}",
        "modules in the largest import cycle": str(len(largest_cycle(tree.imports()))),
        "lines of tests": f"{tree.lines('tests/**/*.py'):,}",
    }
    for concept, names in CONCEPTS.items():
        there = [name for name in names.split("|") if re.search(rf"class {name}\b", whole)]
        rows[f"types for {concept}"] = str(len(there))
    for what, example in EXAMPLES.items():
        rows[f"files that name one {what}"] = str(len(tree.naming(example)))
    if trace:
        rows["modules run from shares --data to PNG"] = _modules_run(tree)
    return rows


_TEMPLATES = ("j2", "html", "css", "js")


def _modules_run(tree: Tree) -> str:
    path = f"{tree.src}:{tree.root}"
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [sys.executable, "-c", TRACE, str(tree.src)],
            cwd=tree.root,
            env={"PYTHONPATH": path, "PATH": "", "HF_HUB_OFFLINE": "1", "HOME": home},
            capture_output=True,
            text=True,
            check=False,
        )
    return done.stdout.strip().splitlines()[-1] if done.returncode == 0 else "not run"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", metavar="REV", help="a revision to set beside it")
    parser.add_argument("--no-trace", action="store_true", help="run nothing, only read")
    options = parser.parse_args()
    here = Tree(ROOT)
    columns = {"now": counted(here, trace=not options.no_trace)}
    if options.base:
        with tempfile.TemporaryDirectory() as folder:
            base = Path(folder) / "base"
            git = ["git", "-C", str(ROOT), "worktree"]
            subprocess.run([*git, "add", "--detach", "-q", str(base), options.base], check=True)
            try:
                before = counted(Tree(base), trace=not options.no_trace)
            finally:
                subprocess.run([*git, "remove", "--force", str(base)], check=True)
        columns = {options.base: before, **columns}
    width = max(map(len, columns["now"]))
    print(" " * width, *(f"{name[:10]:>12}" for name in columns))
    for name in columns["now"]:
        print(f"{name:<{width}}", *(f"{rows.get(name, ''):>12}" for rows in columns.values()))
    print("\nFiles that name one")
    for what, example in EXAMPLES.items():
        print(f"  {what}: {', '.join(here.naming(example))}")
    print(f"The largest import cycle: {', '.join(largest_cycle(here.imports())) or 'none'}")


if __name__ == "__main__":
    main()
