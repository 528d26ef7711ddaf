"""The page with the answers of the door recorded: a folder, a ZIP or one HTML text.

Modules become one classic script, since browsers load no modules from files. What was not recorded
(rows that nobody pinned, new classes) is refused by the page itself, in words.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mindshare.errors import MindshareError
from mindshare.folders import MANIFEST, whole_folder, write_manifest
from mindshare_explore.session import Explorer
from mindshare_explore.shapes import BundleBody, ChartBody, ClassesBody, QueriesBody, numbers
from mindshare_explore.source import ExplorerSource, described

_MODULES = (
    *("api", "view", "colour", "dom", "data", "token-view", "head-map", "mini-map", "map-view"),
    *("class-panel", "prompt-panel", "exporting", "main"),
)
_EXPORT = re.compile(r"^export (?:async )?(?:class|function|const) (\w+)", re.MULTILINE)
_NAMED = re.compile(r'^import \{ ([^}]+) \} from "\./([\w-]+)\.js";$', re.MULTILINE)
_WHOLE = re.compile(r'^import \* as (\w+) from "\./([\w-]+)\.js";$', re.MULTILINE)
_LAYERS_OF_PROFILES = 40  # whose received profiles are recorded, mean of the heads


def script() -> str:
    """All modules as one script, each in a function of its own."""
    from mindshare_explore.app import STATIC

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
    from mindshare_explore.app import state

    kept = {one.id for one in sources}
    about = state(explorer) | {"models": [], "kept_bytes": 0}
    about["prompts"] = [one for one in about["prompts"] if one["id"] in kept]
    answers: dict[str, Any] = {name_of("GET", "state"): about}
    classes = ClassesBody() if body is None else body.classes
    for source in sources:
        told = described(source)
        told["can"] = told["can"] | {"classes": False, "rows": bool(body and body.pins)}
        told["classes"] = told["classes"] or [one.model_dump() for one in classes.classes]
        answers[name_of("GET", f"prompts/{source.id}")] = told
        answers |= _of_classes(source, classes)
        answers |= dict(_profiles(source))
        for layer, token in body.pins if body is not None else ():
            answers |= dict(_pinned(source, layer, token))
    for a in sources:
        for b in sources:
            if a is not b:
                answers[name_of("POST", "compare", {"a": a.id, "b": b.id})] = _pair(explorer, a, b)
    return answers


def _of_classes(source: ExplorerSource, classes: ClassesBody) -> dict[str, Any]:
    # The page asks a bundle without rules: its classes are those that were recorded.
    asked: dict[str, Any] = {"classes": [], "spans": {}, "policy": "priority", "token": None}
    given = classes if source.capabilities()["classes"] else ClassesBody()
    view = source.classes(QueriesBody(**given.model_dump(), token=None))
    path = f"prompts/{source.id}"
    answers = {name_of("POST", f"{path}/classes", asked): view.to_json()}
    for measure in view.measures:
        body = ChartBody.model_validate({**given.model_dump(), "measure": measure})
        name = name_of("POST", f"{path}/chart", asked | {"measure": measure, "against": None})
        answers |= _chart(source, body, name)
    command, files = source.recipe(given)
    for rules in ([], source.given_classes(), [one.model_dump() for one in given.classes]):
        asked_for: dict[str, Any] = {"classes": rules, "spans": {}, "policy": "priority"}
        answers[name_of("POST", f"{path}/recipe", asked_for)] = {"command": command, "files": files}
    return answers


def _chart(source: ExplorerSource, body: ChartBody, name: str) -> dict[str, Any]:
    from mindshare_explore.charts import class_chart

    try:
        figure = class_chart([source], body)
    except MindshareError:  # no class that could be drawn
        return {}
    texts = {"definition": figure.definition, "description": figure.description}
    return {name: {"spec": figure.spec, "title": figure.title, **texts}}


def _profiles(source: ExplorerSource) -> Iterator[tuple[str, Any]]:
    if source.capabilities()["received"]:
        for layer in source.layers[:_LAYERS_OF_PROFILES]:
            values = numbers(source.profile(layer, None), 4)
            yield name_of("GET", f"prompts/{source.id}/received?layer={layer}"), {"values": values}


def _pinned(source: ExplorerSource, layer: int, token: int) -> Iterator[tuple[str, Any]]:
    """A row and a column in every head, and in their mean."""
    if not source.capabilities()["rows"]:
        return
    for direction in ("row", "column"):
        whole = source.line(layer, token, column=direction == "column")
        path = f"prompts/{source.id}/{direction}?layer={layer}&token={token}"
        yield name_of("GET", path), {"values": numbers(whole.mean(0), 5)}
        for head, one in enumerate(whole):
            yield name_of("GET", f"{path}&head={head}"), {"values": numbers(one, 5)}


def _pair(explorer: Explorer, a: ExplorerSource, b: ExplorerSource) -> dict[str, Any]:
    same = a.layers == b.layers and a.heads_known == b.heads_known
    if a.capabilities()["rows"] and b.capabilities()["rows"]:
        from mindshare_explore.versions import compared

        return compared(explorer, a, b)  # type: ignore[arg-type]
    return {"kind": "classes", "heads": same, "pairs": None, "parts": None}


# ── where it goes ─────────────────────────────────────────────────────────────────────────────────


def files_of(
    explorer: Explorer, sources: list[ExplorerSource], body: BundleBody | None = None
) -> dict[str, str]:
    """The files of a bundle, by name."""
    from mindshare_explore.app import STATIC
    from mindshare_explore.vega import vega

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
        "vega.js": _classic(vega().decode()),
    }


def _json(data: Any) -> str:
    """JSON that is safe inside a script, whatever the tokens say."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _classic(text: str) -> str:
    """The Vega bundle in a function of its own, so that its names stay inside."""
    return f"(() => {{\n{text}\n}})();\n"


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


def one_page(
    explorer: Explorer, sources: list[ExplorerSource], body: BundleBody | None = None
) -> str:
    """The same as one HTML text, for notebooks; charts of Vega are left out, as they are large."""
    files = files_of(explorer, sources, body)
    page = files["index.html"]
    style = f"<style>{files['explorer.css']}</style>"
    page = page.replace('<link rel="stylesheet" href="explorer.css">', style)
    safe = {name: files[name].replace("</", "<\\/") for name in ("data.js", "explorer.js")}
    for name, text in safe.items():
        page = page.replace(f'<script defer src="{name}"></script>', "")
        page = page.replace("</body>", f"<script>{text}</script></body>")
    return page


__all__ = ["MANIFEST", "name_of", "one_page", "recorded", "script", "write_bundle", "zipped"]
