"""A bundle: everything that the page asks is in it, and nothing in it can run that is not ours."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from mindshare.errors import MindshareError
from mindshare_explore.page import _made_vega, name_of, one_page, script, write_bundle
from mindshare_explore.server import opened
from mindshare_explore.session import Explorer

from .conftest import STARS, measured


def answers(text: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(text.partition(" = ")[2].rstrip(";\n"))["answers"]  # type: ignore[assignment]
    return found


def test_a_folder_holds_page_scripts_and_answers(results: Path, tmp_path: Path) -> None:
    explorer = opened([str(results)])
    page = write_bundle(explorer, tmp_path / "page")
    names = {file.name for file in page.parent.iterdir()}
    assert names >= {"index.html", "explorer.js", "explorer.css", "data.js", "vega.js"}
    found = answers((page.parent / "data.js").read_text(encoding="utf-8"))
    for one in explorer.results.values():
        assert name_of("GET", f"prompts/{one.id}") in found
    with pytest.raises(MindshareError, match="exists already"):
        write_bundle(explorer, tmp_path / "page")
    write_bundle(explorer, tmp_path / "page", replace=True)


def test_models_alone_make_no_folder(explorer: Explorer, tmp_path: Path) -> None:
    with pytest.raises(MindshareError, match="needs a folder of results"):
        write_bundle(explorer, tmp_path / "page")


def test_pinned_rows_go_along(door: TestClient, map_id: str) -> None:
    body = {"pins": [[1, 7]], "view": f"prompt={map_id}", "classes": {"classes": STARS}}
    answer = door.post(f"/api/prompts/{map_id}/bundle", json=body)
    archive = zipfile.ZipFile(io.BytesIO(answer.content))
    found = answers(archive.read("mindshare-explorer/data.js").decode())
    row = found[name_of("GET", f"prompts/{map_id}/row?layer=1&token=7&head=2")]
    shown = door.get(f"/api/prompts/{map_id}/row?layer=1&head=2&token=7").json()
    assert row["values"] == pytest.approx(shown["values"], rel=1e-4)  # type: ignore[index]
    assert name_of("GET", f"prompts/{map_id}/row?layer=0&token=7") not in found


def test_hostile_tokens_end_no_script(explorer: Explorer, door: TestClient) -> None:
    id_ = measured(door, "</script><script>alert(1)</script><!-- # \u2028")
    page = one_page(explorer, [explorer.source(id_)])
    assert page.count("<script>") == 2
    assert page.count("</script>") == 2
    assert "alert(1)</script>" not in page


def test_vega_is_kept_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINDSHARE_CACHE", str(tmp_path))
    file = tmp_path / f"vega-{version('vl-convert-python')}.js"
    file.write_bytes(b"made before")
    assert _made_vega.__wrapped__() == b"made before"


def test_modules_become_one_script_that_parses() -> None:
    text = script()
    assert "\nimport " not in text
    assert "\nexport " not in text
    node = shutil.which("node")
    if node is not None:
        done = subprocess.run(
            [node, "--check", "-"], input=text, text=True, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
