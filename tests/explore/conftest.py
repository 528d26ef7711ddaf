"""Two tiny models with a tokenizer, an explorer of both, and a door to it without a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from mindshare_explore.app import create_app
from mindshare_explore.server import opened
from mindshare_explore.session import Explorer
from tests.golden.tiny import build_pair

TOKEN = "a-secret-of-the-tests"
HOST = "http://127.0.0.1:4000"
MAP = "Look:\n##**##\n#*##*#\n##**##\nwhere are the stars?"
STARS = [{"name": "hash", "rule": "#"}, {"name": "star", "rule": "*"}]


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `base` and `tuned`."""
    folder = tmp_path_factory.mktemp("pair")
    build_pair(folder)
    return folder


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the explorer of the tests writes what it measured."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="session")
def explorer(pair: Path, kept: Path) -> Iterator[Explorer]:
    made = opened([str(pair / "base"), str(pair / "tuned")], keep=kept)
    yield made
    made.close()


@pytest.fixture(scope="session")
def door(explorer: Explorer) -> TestClient:
    """Speaks to the explorer as its page does."""
    return client_of(explorer)


def client_of(explorer: Explorer) -> TestClient:
    app: Any = create_app(explorer, token=TOKEN)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    return TestClient(app, base_url=HOST, headers=headers, raise_server_exceptions=False)


def measured(door: TestClient, text: str = MAP, model: str = "base", **prompt: Any) -> str:
    """The id of a prompt, measured through the door."""
    body = {"model": model, **(prompt or {"text": text})}
    return finish(door, door.post("/api/measure", json=body).json())


def finish(door: TestClient, job: dict[str, Any]) -> str:
    import time

    for _ in range(6000):
        if job["state"] in ("done", "failed", "cancelled"):
            break
        time.sleep(0.005)
        job = door.get(f"/api/jobs/{job['id']}").json()
    assert job["state"] == "done", job
    result: str = job["result"]
    return result


@pytest.fixture(scope="session")
def map_id(door: TestClient) -> str:
    return measured(door)


@pytest.fixture(scope="session")
def results(pair: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of `shares` over three prompts and two models, by head."""
    import mindshare

    folder = tmp_path_factory.mktemp("results") / "maps"
    prompts = [f"{n} {MAP}" for n in range(3)]
    models = {"base": str(pair / "base"), "tuned": str(pair / "tuned")}
    classes = {one["name"]: one["rule"] for one in STARS}
    chart = mindshare.head_map(models, prompts, classes=classes, cls="star")
    return chart.save(folder, formats=["svg"], command="mindshare head-map …")
