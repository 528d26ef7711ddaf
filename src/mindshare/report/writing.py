"""Folders of results → a folder with their report, whole or not at all.

    write_report([Path("results/maps")], Path("report"), formats=("html", "md", "pdf"))

Everything that can be refused is refused before anything is written. A document becomes text by the
templates beside this module, which escape every word of it:

    page(document)       charts drawn in the browser as they come into view, stills on paper
    markdown(document)   the same content; pictures and tables are files beside it

A page asks for nothing from outside and is kept under three megabytes: its data are packed, long
tables are cut and say so.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from html import unescape
from itertools import product
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from mindshare.errors import OutputError, SelectionError, require_all_known
from mindshare.figures.colours import ink_on, rgb
from mindshare.figures.theme import BOLD, text_width
from mindshare.report.blocks import Attached, Block
from mindshare.report.document import ON_PAPER, TOPICS, Chapter, Document, chapter, document
from mindshare.report.saved import Picture, SavedResults, read_saved

FORMATS = {"html": "report.html", "md": "report.md", "pdf": "report.pdf"}
BROWSERS = (
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
_HTML_INSTEAD = "choose --format html and print it from any browser"
LIMIT = 3_000_000  # bytes
# Rows of a table, and are there stills for paper and where no script runs: until the page fits.
_CUTS = ((400, True), (120, True), (30, True), (120, False), (30, False))
_MARKDOWN_ROWS = 60
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~$&])")
_ARIA = re.compile(r' (?:aria-[\w-]+|role)="[^"]*"')
_HIDDEN = re.compile(r'<(?:path|line|rect)\b[^>]* opacity="0"[^>]*/>')  # carry tooltips
_AT, _DIGITS = re.compile(r' (?:d|transform)="[^"]*"'), re.compile(r"(\.\d\d)\d+")
_FAMILY = re.compile(r' font-family="[^"]*"')
_TEXT, _LINE = re.compile(r"<text([^>]*)>(.*?)</text>"), re.compile(r"<(text|tspan)([^>]*)>([^<]+)")
_LOADER = PackageLoader("mindshare.report")
Names = Callable[[Path], str]  # file of the results → its name beside the report


def _own_name(path: Path) -> str:
    return path.name


def write_report(
    results: Sequence[Path],
    out: Path,
    *,
    formats: Sequence[str] = ("html",),
    title: str | None = None,
    replace: bool = False,
    findings: Sequence[str] = (),
    ready: Mapping[Path, Chapter] | None = None,
) -> list[Path]:
    """One report of all folders, in every format asked for; the files to look at.

    `findings` are sentences about all of them, of which the first short one becomes the report's
    answer; `ready` are chapters that were made earlier (`prepare`), by the folder they are about.
    """
    from mindshare.folders import whole_folder, write_manifest

    out, formats = Path(out), list(dict.fromkeys(formats))
    _check_formats(formats)
    saved = [read_saved(folder) for folder in dict.fromkeys(Path(r).resolve() for r in results)]
    _check_apart(out, saved)
    report = document(saved, title=title, findings=findings, ready=ready)
    names = file_names(report)
    files = [FORMATS[word] for word in formats]
    studies = [
        {"folder": one.path.name, "study": dict(one.manifest.get("study", {}))} for one in saved
    ]

    def fill(folder: Path) -> None:
        for word in formats:
            path = folder / FORMATS[word]
            if word == "pdf":
                write_pdf(report, path, file_name=names.__getitem__)
                continue
            text = (page if word == "html" else markdown)(report, file_name=names.__getitem__)
            path.write_text(text, encoding="utf-8")
        for file, name in names.items():
            if "md" in formats or file.suffix != ".png":  # a page has its pictures inside
                shutil.copyfile(file, folder / name)
        if set(formats) - {"html"}:  # … and its attached files
            for part in report.parts:
                if isinstance(part, Attached):
                    (folder / part.name).write_text(part.text, encoding="utf-8")
        # The manifest marks the folder as ours, so that it can be replaced.
        manifest = {"title": report.title, "files": files, "results": studies}
        write_manifest(folder, {"report": manifest})

    whole_folder(out, fill, replace=replace)
    return [out / name for name in files]


def prepare(folder: Path, *, number: int | None = None) -> Chapter:
    """The chapter of a folder, ahead of `write_report`."""
    return chapter(read_saved(Path(folder).resolve()), number=number)


def _check_formats(formats: Sequence[str]) -> None:
    require_all_known(formats, FORMATS, "format")
    if not formats:
        raise SelectionError("no format was named", allowed=", ".join(FORMATS))
    if "pdf" in formats:
        require_browser()


def _check_apart(out: Path, saved: Sequence[SavedResults]) -> None:
    """A report never takes the place of what it reports on."""
    if not saved:
        raise SelectionError(
            "there are no results to report on", next_step="name a folder of results"
        )
    for one in saved:
        if out.resolve() == one.path or out.resolve() in one.path.parents:
            raise OutputError(
                f"a report in {out} would overwrite the results it is made from",
                next_step="choose another folder with --out",
            )


def file_names(report: Document) -> dict[Path, str]:
    """File of the results → its name beside the report; numbered where names meet."""
    names: dict[Path, str] = {}
    for picture, ending in product(report.pictures, ("png", "csv")):
        file = picture.file(ending)
        name, number = file.name, 2
        while name in names.values():
            name, number = f"{file.stem}-{number}{file.suffix}", number + 1
        names[file] = name
    return names


# Documents to text, by the templates.


def page(
    document: Document,
    *,
    file_name: Names = _own_name,
    scripts: bool = True,
) -> str:
    """The whole page; `file_name` says what the files beside it are called.

    To be printed it needs no `scripts`.
    """
    from mindshare.figures.render import script

    pictures = document.pictures
    context = {
        "document": document,
        "topics": TOPICS,
        "on_paper": ON_PAPER,
        "file_name": file_name,
        "numbers": {picture.anchor: i for i, picture in enumerate(pictures, 1)},
        "scripts": scripts,
        "packed": [_packed(picture) for picture in pictures] if scripts else [],
        "bundle": Markup(script()) if scripts else "",  # ours, and no end of a script in it
    }
    template, text = _html_templates().get_template("report.html.j2"), ""
    stills = {picture.anchor: _still(picture) for picture in pictures}
    for rows, still in _CUTS if scripts else _CUTS[1:2]:
        text = template.render(**context, rows=rows, stills=stills if still else {})
        if len(text.encode()) < LIMIT:
            break
    return text


def _still(picture: Picture) -> str:
    """The drawn file without what only a program reads: half as long.

    Its text keeps its width in every font: the browser may not have the one it was laid out in.
    """
    drawn = _HIDDEN.sub("", _ARIA.sub("", picture.text("svg")))
    drawn = _AT.sub(lambda found: _DIGITS.sub(r"\1", found[0]), drawn)
    if family := _FAMILY.search(drawn):
        drawn = _FAMILY.sub("", drawn).replace("<svg", f"<svg{family[0]}", 1)
    drawn = _TEXT.sub(_held, drawn)
    return f"svg+xml;base64,{base64.b64encode(drawn.encode()).decode()}"


def _held(text: re.Match[str]) -> str:
    """A text, or each of its lines, as wide as it was laid out."""
    look, content = text.groups()
    size = re.search(r'font-size="([\d.]+)px"', look)
    scale = float(size[1]) * (BOLD if 'font-weight="bold"' in look else 1) if size else 0

    def held(line: re.Match[str]) -> str:
        width = text_width(unescape(line[3]), scale)
        fixed = f'textLength="{width:.1f}" lengthAdjust="spacingAndGlyphs"'
        return f"<{line[1]}{line[2]} {fixed}>{line[3]}"

    if "<tspan" in content:
        return f"<text{look}>{_LINE.sub(held, content)}</text>"
    return _LINE.sub(held, text[0]) if content and scale else text[0]


def _packed(picture: Picture) -> dict[str, str]:
    """The chart's data and marks, for the other widths of screens too, and its table.

    Gzip in base64, which can't end a script.
    """
    texts = {
        "spec": _json(picture.spec),
        "layouts": _json(picture.layouts),
        "csv": picture.text("csv"),
    }
    return {
        name: base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
        for name, text in texts.items()
    }


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def markdown(document: Document, *, file_name: Names = _own_name) -> str:
    """The whole text; `file_name` says what the files beside it are called."""
    template = _markdown_templates().get_template("report.md.j2")
    return template.render(
        document=document, topics=TOPICS, file_name=file_name, rows=_MARKDOWN_ROWS
    )


def plain(text: str) -> str:
    """No character of the text is taken for markup by Markdown; one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def fenced(text: str, language: str = "") -> Markup:
    """A block of code whose fence is longer than any in the text."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return Markup(f"{fence}{language}\n{text.rstrip()}\n{fence}")


def bracketed(tokens: tuple[tuple[str, str], ...], unmarked: set[str]) -> str:
    """Tokens as `[class:token]` but for plain ones; line breaks stay outside of the brackets."""
    pieces = []
    for piece, name in tokens:
        shown = piece.rstrip("\n")
        framed = f"[{name}:{shown}]{piece[len(shown) :]}"
        pieces.append(piece if name in unmarked else framed)
    return "".join(pieces)


def _kind(part: Block) -> str:
    return type(part).__name__


@lru_cache(maxsize=1)
def _html_templates() -> Environment:
    templates = Environment(
        loader=_LOADER,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["encoded"] = lambda text: base64.b64encode(text.encode()).decode()
    templates.filters["kind"] = _kind
    templates.globals |= {
        "ink_on": lambda colour: ink_on(rgb(colour)),
        # a style sheet or a script of ours, as it is
        "source": lambda name: Markup(_LOADER.get_source(templates, name)[0]),
    }
    return templates


@lru_cache(maxsize=1)
def _markdown_templates() -> Environment:
    """Escapes what Markdown would take for markup, as the other one does for HTML."""

    def escaped(value: Any) -> Any:
        return value if isinstance(value, Markup) else Markup(plain(str(value)))

    templates = Environment(
        loader=_LOADER, autoescape=True, undefined=StrictUndefined, finalize=escaped
    )
    templates.filters["kind"] = _kind
    templates.globals |= {"fenced": fenced, "bracketed": bracketed}
    return templates


# PDF: the page as it is printed from any browser, by one of the Chromium family, without a script.


def write_pdf(report: Document, path: Path, *, file_name: Names = _own_name) -> None:
    """Stills, so that nothing has to be waited for."""
    browser = require_browser()
    with tempfile.TemporaryDirectory(prefix="mindshare-pdf-") as folder:
        source = Path(folder) / "report.html"
        text = page(report, file_name=file_name, scripts=False)
        source.write_text(text, encoding="utf-8")
        print_page(source, path, browser=browser)


def find_browser() -> Path | None:
    """The first that is installed."""
    on_path = (shutil.which(name) for name in BROWSERS)
    known = (place for place in _PLACES if os.path.isfile(place))
    return next((Path(one) for one in (*on_path, *known) if one), None)


def require_browser() -> Path:
    browser = find_browser()
    if browser is None:
        raise OutputError(
            "a PDF is printed by a browser, and there is none here",
            allowed=f"one of {', '.join(BROWSERS)} on the PATH",
            next_step=f"install Chromium, or {_HTML_INSTEAD}",
        )
    return browser


def print_page(source: Path, pdf: Path, *, browser: Path) -> None:
    """An HTML file → a PDF."""
    with tempfile.TemporaryDirectory(prefix="mindshare-browser-") as profile:
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
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            options.append("--no-sandbox")
        done = _run([str(browser), *options, source.resolve().as_uri()])
    if done.returncode != 0 or not os.path.isfile(pdf) or pdf.stat().st_size == 0:
        said = " ".join(done.stderr.strip().splitlines()[-3:])
        raise OutputError(
            f"{browser.name} could not print the report: {said[-300:] or 'it gave no reason'}",
            next_step=_HTML_INSTEAD,
        )


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise OutputError(
            f"the browser did not print the report within {_SECONDS} seconds",
            next_step=_HTML_INSTEAD,
        ) from error
    except OSError as error:
        raise OutputError(
            f"the browser {command[0]} can't be started: {error.strerror}",
            next_step=_HTML_INSTEAD,
        ) from error
