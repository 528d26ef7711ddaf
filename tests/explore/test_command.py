"""`mindshare explore` as a process: its address, how soon it is there, killed and started again."""

from __future__ import annotations

import json
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bench import explorer

from mindshare.errors import ModelNotFoundError, SelectionError
from mindshare_explore.server import opened

from .conftest import MAP


@contextmanager
def started(*words: str) -> Iterator[tuple[str, str, subprocess.Popen[str]]]:
    """(address without the secret, secret, process), on loopback."""
    with explorer.started(*words) as (link, process, _):
        address, secret, token = link.partition("/?token=")
        assert address.startswith("http://127.0.0.1:")
        assert secret
        yield address, token, process


def ask(address: str, token: str, path: str, body: object = None) -> object:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{address}{path}", data, headers)
    for _ in range(3_000):
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                content = answer.read()
                return json.loads(content) if path.startswith("/api") else content
        except urllib.error.HTTPError:
            raise
        except urllib.error.URLError:  # it prints its address just before it answers
            time.sleep(0.02)
    raise AssertionError("no answer")


def test_results_are_there_and_an_interrupt_ends_it(results: Path) -> None:
    with started(str(results)) as (address, token, process):
        assert b"mind-explorer" in ask(address, token, "/")  # type: ignore[operator]
        assert len(ask(address, token, "/api/state")["prompts"]) == 8  # type: ignore[index]
        process.send_signal(signal.SIGINT)
        assert process.wait(300) == 0


@pytest.mark.slow  # two processes with a model; test_session has the same in one process
def test_killing_loses_nothing(pair: Path, tmp_path: Path) -> None:
    words = (str(pair / "base"), "--keep", str(tmp_path))
    with started(*words) as (address, token, process):
        job = ask(address, token, "/api/measure", {"model": "base", "text": MAP})
        while job["state"] != "done":  # type: ignore[index]
            time.sleep(0.05)
            job = ask(address, token, f"/api/jobs/{job['id']}")  # type: ignore[index]
        process.kill()
    with started(*words) as (address, other, _):
        assert other != token
        path = f"/api/prompts/{job['result']}"  # type: ignore[index]
        with pytest.raises(urllib.error.HTTPError, match="401"):
            ask(address, token, path)
        assert ask(address, other, path)["tokens"]["text"] == MAP  # type: ignore[index]


def test_models_are_named_and_refused_early(pair: Path, tmp_path: Path) -> None:
    base = str(pair / "base")
    found = opened([f"A={base}", f"B={base}"], keep=tmp_path)
    assert list(found.models) == ["A", "B"]
    with pytest.raises(SelectionError, match="two models are called 'base'"):
        opened([base, base])
    with pytest.raises(ModelNotFoundError):
        opened([str(tmp_path / "none")])
