from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from huggingface_hub import constants

from mindshare.errors import ModelError, ModelNotFoundError
from mindshare.models import load
from mindshare.models.hub import cached_folder, cached_models, folder_of


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "hub"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(place))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return place


def _store(hub_cache: Path, hub_id: str, folder: Path) -> Path:
    """Put a folder into the hub's cache the way the hub's client lays it out."""
    place, revision = hub_cache / f"models--{hub_id.replace('/', '--')}", "0" * 40
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text(revision)
    return Path(shutil.copytree(folder, place / "snapshots" / revision))


def test_a_cached_model_needs_no_network(hub_cache: Path, shared_llama: Path) -> None:
    snapshot = _store(hub_cache, "org/tiny", shared_llama)
    assert folder_of("org/tiny") == snapshot
    (listed,) = cached_models()
    assert (listed.hub_id, listed.folder) == ("org/tiny", snapshot)
    assert listed.size > 100_000
    loaded = load("org/tiny")
    assert (loaded.reference, loaded.name) == ("org/tiny", "tiny")


def test_a_half_downloaded_model_is_not_there(hub_cache: Path, shared_llama: Path) -> None:
    snapshot = _store(hub_cache, "org/tiny", shared_llama)
    (snapshot / "model.safetensors").unlink()
    assert cached_folder("org/tiny") is None
    assert cached_models() == ()


def test_no_cache_at_all(hub_cache: Path) -> None:
    assert not hub_cache.exists()
    assert cached_models() == ()


def test_offline_says_what_is_here(hub_cache: Path, shared_llama: Path) -> None:
    _store(hub_cache, "org/tiny", shared_llama)
    with pytest.raises(ModelNotFoundError) as caught:
        load("org/tony")
    message = str(caught.value)
    assert "HF_HUB_OFFLINE is set; did you mean 'org/tiny'?" in message
    assert "smollm2, smollm2-phys, org/tiny" in message


class _Answer(BaseHTTPRequestHandler):
    """A hub that refuses: the owner of the id decides how."""

    def do_GET(self) -> None:
        gated = "gated" in self.path
        self.send_response(403 if gated else 404)
        self.send_header("X-Error-Code", "GatedRepo" if gated else "RepoNotFound")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def refusing_hub(hub_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "ENDPOINT", address)
        yield address
        server.shutdown()
    assert not hub_cache.exists()


@pytest.mark.usefixtures("refusing_hub")
def test_an_id_the_hub_does_not_have() -> None:
    with pytest.raises(ModelNotFoundError, match="the hub has no model 'org/none'"):
        load("org/none")


@pytest.mark.usefixtures("refusing_hub")
def test_a_gated_model_says_how_to_get_it() -> None:
    with pytest.raises(ModelError, match="access on request only") as caught:
        load("org/gated")
    assert "hf auth login" in str(caught.value)


class _Hub(BaseHTTPRequestHandler):
    """A hub with one model, `org/tiny`, served from a folder."""

    folder: Path
    asked: list[str]

    def do_HEAD(self) -> None:
        self._answer(send=False)

    def do_GET(self) -> None:
        self._answer(send=True)

    def _answer(self, *, send: bool) -> None:
        path = self.path.split("?")[0]
        self.asked.append(path)
        listed = sorted(file.name for file in self.folder.iterdir())
        if "/resolve/" in path:
            content = (self.folder / path.rsplit("/", 1)[-1]).read_bytes()
        elif "/tree/" in path:
            content = json.dumps([self._entry(name) for name in listed]).encode()
        else:
            files = [{"rfilename": name} for name in listed]
            content = json.dumps({"id": "org/tiny", "sha": "1" * 40, "siblings": files}).encode()
        self.send_response(200)
        self.send_header("X-Repo-Commit", "1" * 40)
        self.send_header("ETag", f'"{sha256(content).hexdigest()}"')
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if send:
            self.wfile.write(content)

    def _entry(self, name: str) -> dict[str, object]:
        size = (self.folder / name).stat().st_size
        return {"type": "file", "path": name, "size": size, "oid": "2" * 40}

    def log_message(self, *_: object) -> None:
        pass


def test_a_download_takes_only_what_is_needed(
    hub_cache: Path, llama_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (llama_folder / "pytorch_model.bin").write_bytes(b"the same weights again")
    (llama_folder / "code.py").write_text("raise SystemExit")
    monkeypatch.setattr(_Hub, "folder", llama_folder, raising=False)
    monkeypatch.setattr(_Hub, "asked", [], raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        address = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setattr(constants, "ENDPOINT", address)
        files_at = f"{address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", files_at)
        folder = folder_of("org/tiny")
        once = len(_Hub.asked)
        assert folder_of("org/tiny") == folder
        server.shutdown()
    assert len(_Hub.asked) == once  # the second time nobody was asked
    names = {file.name for file in folder.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= names
    assert not names & {"pytorch_model.bin", "code.py"}
    assert folder.is_relative_to(hub_cache)


@pytest.mark.usefixtures("hub_cache")
def test_a_hub_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ModelNotFoundError, match="the hub did not answer") as caught:
        load("org/none")
    assert "smollm2" in str(caught.value)
