"""`mindshare.explore` in a notebook: the live page, and a copy that needs no server."""

from __future__ import annotations

import html
import re
import urllib.request
from pathlib import Path

import pytest

import mindshare
from mindshare.errors import MindshareError

from .conftest import MAP


def test_a_frame_shows_the_live_page_and_keeps_a_copy(
    pair: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MINDSHARE_CACHE", str(tmp_path))
    loaded = mindshare.load(pair / "base")
    frame = mindshare.explore(loaded, prompt=MAP)
    try:
        shown = frame._repr_html_()
        (address,) = re.findall(r'<iframe src="([^"]+)"', shown)
        assert address.startswith("http://127.0.0.1:")
        page = urllib.request.urlopen(html.unescape(address).partition("#")[0]).read()
        assert b"mind-explorer" in page
        (saved,) = re.findall(r'srcdoc="([^"]+)"', shown)
        assert "MINDSHARE_BUNDLE" in saved
        assert html.unescape(saved).count("<script>") == 2
        assert list((tmp_path / "explorer").glob("*.safetensors"))
    finally:
        frame.close()
    with pytest.raises(MindshareError, match="empty"):
        mindshare.explore(loaded, prompt="")
