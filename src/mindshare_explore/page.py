"""The page's files, and copies of it with the server's answers recorded: folder, ZIP, HTML text.

In a copy the modules are one classic script, since browsers load no modules from files. What was
not recorded (rows that nobody pinned, new classes) is refused by the page itself, in words.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import threading
import zipfile
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from mindshare.disk import write_whole
from mindshare.errors import MindshareError
from mindshare.folders import whole_folder, write_manifest
from mindshare_explore.session import Explorer
from mindshare_explore.source import (
    BundleBody,
    ChartBody,
    ClassesBody,
    ExplorerSource,
    QueriesBody,
    class_chart,
    numbers,
)

STATIC = files("mindshare_explore") / "static"
_KINDS = {"js": "text/javascript", "css": "text/css", "html": "text/html", "svg": "image/svg+xml"}
_VEGA = "import sys; from mindshare.figures.render import script; sys.stdout.write(script())"
_vega_lock = threading.Lock()

_MODULES = (
    *("api", "view", "colour", "dom", "data", "token-view", "head-map", "mini-map", "map-view"),
    *("class-panel", "prompt-panel", "matter-panel", "exporting", "main"),
)
_EXPORT = re.compile(r"^export (?:async )?(?:class|function|const) (\w+)", re.MULTILINE)
_NAMED = re.compile(r'^import \{ ([^}]+) \} from "\./([\w-]+)\.js";$', re.MULTILINE)
_WHOLE = re.compile(r'^import \* as (\w+) from "\./([\w-]+)\.js";$', re.MULTILINE)
_LAYERS_OF_PROFILES = 40  # whose received profiles are recorded, mean of the heads


def static_file(name: str) -> tuple[bytes, str] | None:
    """(content, media type) of a file that browsers may ask for."""
    if name == "vega.js":
        return vega(), _KINDS["js"]
    kind = _KINDS.get(name.rpartition(".")[2])
    if kind is None or name not in {one.name for one in STATIC.iterdir()}:
        return None
    return (STATIC / name).read_bytes(), kind


def vega() -> bytes:
    """Vega, Vega-Lite and Vega-Embed as one script, which defines `vegaEmbed`."""
    with _vega_lock:
        return _made_vega()


@cache
def _made_vega() -> bytes:
    """From vl-convert, kept in the cache directory.

    Making it takes 1.4 s in which no other Python thread runs, so a process of its own does it,
    once for each version of vl-convert.
    """
    from mindshare.models.files import cache_directory

    file = cache_directory() / f"vega-{version('vl-convert-python')}.js"
    if file.is_file() and file.stat().st_size > 0:
        return file.read_bytes()
    made = subprocess.run([sys.executable, "-c", _VEGA], capture_output=True, check=True).stdout
    with suppress(OSError):  # a cache that can't be written costs time, nothing else
        write_whole(file, made)
    return made


# ── copies ────────────────────────────────────────────────────────────────────────────────────────


def script() -> str:
    """All modules as one script, each in a function of its own."""
    parts = []
    for name in _MODULES:
        text = (STATIC / f"{name}.js").read_text(encoding="utf-8")
        exported = ", ".join(_EXPORT.findall(text))
        text = _NAMED.sub(lambda m: f"const {{ {m[1]} }} = {_variable(m[2])};", text)
        text = _WHOLE.sub(lambda m: f"const {m[1]} = {_variable(m[2])};", text)
        text = re.sub(r"^export ", "", text, flags=re.MULTILINE)
        parts.append(
            f"const {_variable(name)} = (() => {{\n{text}\nreturn {{ {exported} }};\n}})();"
        )
    return '"use strict";\n' + "\n".join(parts) + "\n"


def _variable(name: str) -> str:
    return "module_" + name.replace("-", "_")


def name_of(method: str, path: str, body: Any = None) -> str:
    """The name of an answer: the same rule as `answerName` in api.js."""
    if body is None:
        return f"{method} {path}"
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"{method} {path} {text}"


def recorded(
    explorer: Explorer, sources: list[ExplorerSource], body: BundleBody | None = None
) -> dict[str, Any]:
    """Answers by name: everything that the page asks without choosing a token, and the pins."""
    kept = {one.id for one in sources}
    about = explorer.state() | {"models": []}
    about["prompts"] = [one for one in about["prompts"] if one["id"] in kept]
    answers: dict[str, Any] = {name_of("GET", "state"): about}
    body = body or BundleBody()
    for source in sources:
        told = source.to_json()
        told["can"] |= {"classes": False, "rows": bool(body.pins)}
        told["classes"] = told["classes"] or [one.model_dump() for one in body.classes.classes]
        answers[name_of("GET", f"prompts/{source.id}")] = told
        answers |= _of_classes(source, body.classes) | _lines(source, body.pins)
        for other in sources:
            if other is not source:
                asked = {"a": source.id, "b": other.id}
                answers[name_of("POST", "compare", asked)] = explorer.compare(source.id, other.id)
    return answers


def _of_classes(source: ExplorerSource, classes: ClassesBody) -> dict[str, Any]:
    # The page asks a bundle without rules: its classes are those that were recorded.
    asked: dict[str, Any] = {"classes": [], "spans": {}, "policy": "priority", "token": None}
    given = (classes if source.capabilities()["classes"] else ClassesBody()).model_dump()
    view = source.classes(QueriesBody(**given))
    path = f"prompts/{source.id}"
    answers = {name_of("POST", f"{path}/classes", asked): view.to_json()}
    for measure in view.measures:
        name = name_of("POST", f"{path}/chart", asked | {"measure": measure, "against": None})
        try:
            answers[name] = chart_json([source], ChartBody(**given, measure=measure))
        except MindshareError:  # no class that could be drawn
            break
    command, texts = source.recipe(ClassesBody(**given))
    for rules in ([], source.given_classes(), given["classes"]):
        asked_for: dict[str, Any] = {"classes": rules, "spans": {}, "policy": "priority"}
        answers[name_of("POST", f"{path}/recipe", asked_for)] = {"command": command, "files": texts}
    return answers


def chart_json(
    sources: list[ExplorerSource], body: ChartBody, head: int | None = None
) -> dict[str, Any]:
    figure = class_chart(sources, body, head)
    return {name: getattr(figure, name) for name in ("spec", "title", "definition", "description")}


def _lines(source: ExplorerSource, pins: list[list[int]]) -> dict[str, Any]:
    """What every key received, and a pinned token's row and column in every head and their mean."""
    can, path = source.capabilities(), f"prompts/{source.id}"
    lines = {}
    if can["received"]:
        for layer in source.layers[:_LAYERS_OF_PROFILES]:
            lines[f"{path}/received?layer={layer}"] = numbers(source.profile(layer, None), 4)
    for layer, token in pins if can["rows"] else ():
        for direction in ("row", "column"):
            whole = source.line(layer, token, column=direction == "column")
            name = f"{path}/{direction}?layer={layer}&token={token}"
            lines[name] = numbers(whole.mean(0), 5)
            lines |= {f"{name}&head={head}": numbers(one, 5) for head, one in enumerate(whole)}
    return {name_of("GET", name): {"values": values} for name, values in lines.items()}


# ── where it goes ─────────────────────────────────────────────────────────────────────────────────


def files_of(
    explorer: Explorer, sources: list[ExplorerSource], body: BundleBody | None = None
) -> dict[str, str]:
    """The files of a bundle, by name."""
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    module = '<script type="module" src="static/main.js"></script>'
    scripts = ("data.js", "explorer.js")
    page = page.replace(
        module, "\n".join(f'<script defer src="{one}"></script>' for one in scripts)
    )
    page = page.replace("static/explorer.css", "explorer.css")
    view = f"prompt={sources[0].id}" if body is None or not body.view else body.view
    data = {"answers": recorded(explorer, sources, body), "view": view}
    return {
        "index.html": page,
        "explorer.css": (STATIC / "explorer.css").read_text(encoding="utf-8"),
        "explorer.js": script()
        .replace('"static/vega.js"', '"vega.js"')
        .replace('script.type = "module";', 'script.type = "text/javascript";'),
        "data.js": f"window.MINDSHARE_BUNDLE = {_json(data)};\n",
        # In a function of its own, so that its names stay inside.
        "vega.js": f"(() => {{\n{vega().decode()}\n}})();\n",
    }


def _json(data: Any) -> str:
    """JSON that is safe inside a script, whatever the tokens say."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def write_bundle(explorer: Explorer, folder: Path, *, replace: bool = False) -> Path:
    """Results as a folder that works without a server; the path of its page."""
    sources = list(explorer.results.values())
    if not sources:
        raise MindshareError(
            "--bundle needs a folder of results",
            next_step="name one that `mindshare shares` or `measure` wrote with --out; measured "
            "prompts are saved from the page",
        )
    files = files_of(explorer, sources)

    def fill(building: Path) -> None:
        for name, text in files.items():
            (building / name).write_text(text, encoding="utf-8")
        write_manifest(building, {"explorer": True, "tables": []})

    whole_folder(folder, fill, replace=replace)
    return folder / "index.html"


def zipped(explorer: Explorer, id_: str, body: BundleBody) -> bytes:
    """The same of one measured prompt, with its pins."""
    ids = [one for one in (id_, body.against) if one]
    files = files_of(explorer, [explorer.source(one) for one in ids], body)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(f"mindshare-explorer/{name}", text)
    return content.getvalue()


def one_page(explorer: Explorer, sources: list[ExplorerSource]) -> str:
    """The same as one HTML text, for notebooks; charts of Vega are left out, as they are large."""
    files = files_of(explorer, sources)
    page = files["index.html"]
    style = f"<style>{files['explorer.css']}</style>"
    page = page.replace('<link rel="stylesheet" href="explorer.css">', style)
    safe = {name: files[name].replace("</", "<\\/") for name in ("data.js", "explorer.js")}
    for name, text in safe.items():
        page = page.replace(f'<script defer src="{name}"></script>', "")
        page = page.replace("</body>", f"<script>{text}</script></body>")
    return page
