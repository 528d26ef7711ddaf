"""Folders of results → a folder with their report, whole or not at all.

    write_report([Path("results/maps")], Path("report"), formats=("html", "md", "pdf"))

Everything that can be refused is refused before anything is written.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mindshare.errors import OutputError, SelectionError, nearest
from mindshare.report.document import document
from mindshare.report.parts import Attached, Chapter, Document, NumberTable, Picture, every_part
from mindshare.report.saved import Saved, read_saved

FORMATS = {"html": "report.html", "md": "report.md", "pdf": "report.pdf"}


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

    `findings` are sentences about all of them that the report begins with; `ready` are chapters
    that were made earlier, by the folder they are about.
    """
    from mindshare.folders import whole_folder, write_manifest

    wanted = _formats(formats)
    saved = _read(results)
    _check_apart(Path(out), saved)
    made = document(saved, title=title, findings=findings, ready=ready)
    names = file_names(made)

    def fill(folder: Path) -> None:
        for word in wanted:
            _write(made, folder / FORMATS[word], names)
        _copy(made, folder, names, wanted)
        write_manifest(folder, _manifest(made, saved, wanted))

    whole_folder(Path(out), fill, replace=replace)
    return [Path(out) / FORMATS[word] for word in wanted]


def _formats(formats: Sequence[str]) -> list[str]:
    wanted = list(dict.fromkeys(formats))
    for word in wanted:
        if word not in FORMATS:
            raise SelectionError(
                f"unknown format {word!r}{nearest(word, FORMATS)}", allowed=", ".join(FORMATS)
            )
    if not wanted:
        raise SelectionError("no format was named", allowed=", ".join(FORMATS))
    if "pdf" in wanted:
        from mindshare.report.browser import require_browser

        require_browser()
    return wanted


def _read(results: Sequence[Path]) -> list[Saved]:
    folders = list(dict.fromkeys(Path(one).resolve() for one in results))
    if not folders:
        raise SelectionError(
            "there are no results to report on", next_step="name a folder of results"
        )
    return [read_saved(folder) for folder in folders]


def _check_apart(out: Path, saved: Sequence[Saved]) -> None:
    """A report never takes the place of what it reports on."""
    for one in saved:
        if out.resolve() == one.path or out.resolve() in one.path.parents:
            raise OutputError(
                f"a report in {out} would overwrite the results it is made from",
                next_step="choose another folder with --out",
            )


def file_names(made: Document) -> dict[Path, str]:
    """File of the results → its name beside the report; numbered where names meet."""
    found: dict[Path, str] = {}
    for part in every_part(made):
        file = part.png if isinstance(part, Picture) else None
        file = part.csv if isinstance(part, NumberTable) else file
        if file is None or file in found:
            continue
        name, number = file.name, 2
        while name in found.values():
            name, number = f"{file.stem}-{number}{file.suffix}", number + 1
        found[file] = name
    return found


def _write(made: Document, path: Path, names: Mapping[Path, str]) -> None:
    if path.suffix == ".pdf":
        from mindshare.report.pdf import write_pdf

        write_pdf(made, path, file_name=names.__getitem__)
        return
    if path.suffix == ".md":
        from mindshare.report.markdown import markdown

        text = markdown(made, file_name=names.__getitem__)
    else:
        from mindshare.report.html import page

        text = page(made, file_name=names.__getitem__)
    path.write_text(text, encoding="utf-8")


def _copy(made: Document, folder: Path, names: Mapping[Path, str], formats: Sequence[str]) -> None:
    """The files that the report links to or speaks of; a page has its small ones inside."""
    for file, name in names.items():
        if "md" in formats or file.suffix != ".png":
            shutil.copyfile(file, folder / name)
    for part in every_part(made):
        if isinstance(part, Attached) and set(formats) - {"html"}:
            (folder / part.name).write_text(part.text, encoding="utf-8")


def _manifest(made: Document, saved: Sequence[Saved], formats: Sequence[str]) -> dict[str, Any]:
    """What marks the folder as ours, so that it can be replaced."""
    return {
        "report": {
            "title": made.title,
            "files": [FORMATS[word] for word in formats],
            "results": [
                {"folder": one.path.name, "study": dict(one.manifest.get("study", {}))}
                for one in saved
            ],
        }
    }
