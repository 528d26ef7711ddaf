"""What an explorer keeps, gives up, finds again, and how it is cancelled."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from mindshare import Prompt
from mindshare_explore.server import opened
from mindshare_explore.session import Explorer

from .conftest import MAP, STARS, client_of, finish, measured


def test_a_killed_server_loses_nothing(
    door: TestClient, map_id: str, pair: Path, kept: Path
) -> None:
    """Another explorer with the same folder opens the same link, and one pass brings rows back."""
    before = door.post(f"/api/prompts/{map_id}/classes", json={"classes": STARS}).json()
    row = door.get(f"/api/prompts/{map_id}/row?layer=0&token=9").json()
    again = opened([str(pair / "base")], keep=kept)
    try:
        other = client_of(again)
        told = other.get(f"/api/prompts/{map_id}").json()
        assert told["can"]["kept"] is False
        assert told["tokens"]["text"] == MAP
        after = other.post(f"/api/prompts/{map_id}/classes", json={"classes": STARS}).json()
        assert after == before
        lost = other.get(f"/api/prompts/{map_id}/row?layer=0&token=9")
        assert lost.status_code == 409
        assert finish(other, other.post(f"/api/prompts/{map_id}/again").json()) == map_id
        assert other.get(f"/api/prompts/{map_id}/row?layer=0&token=9").json() == row
    finally:
        again.close()


def test_a_damaged_file_is_no_prompt(map_id: str, pair: Path, kept: Path, tmp_path: Path) -> None:
    data = (kept / f"{map_id}.safetensors").read_bytes()
    (tmp_path / f"{map_id}.safetensors").write_bytes(data[: len(data) // 2])
    again = opened([str(pair / "base")], keep=tmp_path)
    try:
        assert client_of(again).get(f"/api/prompts/{map_id}").status_code == 404
    finally:
        again.close()


def test_queries_and_keys_are_given_up_for_newer_ones(pair: Path, tmp_path: Path) -> None:
    explorer = opened([str(pair / "base")], keep=tmp_path, memory=50_000)
    try:
        door = client_of(explorer)
        ids = [measured(door, f"{MAP} {n}") for n in range(4)]
        can = [door.get(f"/api/prompts/{one}").json()["can"]["kept"] for one in ids]
        assert can[-1] is True
        assert can[0] is False
        assert explorer.kept_bytes <= 50_000
    finally:
        explorer.close()


def test_cancelling_leaves_the_pass_between_layers(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing of it stays; the next job is answered."""
    from mindshare_explore import jobs

    def wait(model: str, text: str) -> jobs.QueuedJob:
        return explorer.jobs.wait(explorer.measure(model, Prompt(text=text)))

    wait("base", "a text that stays")
    kept, steps, step = explorer.kept_bytes, [], jobs.QueuedJob.step

    def cancelled_after_a_layer(
        job: jobs.QueuedJob, doing: str, done: int = 0, total: int = 0
    ) -> None:
        steps.append(done)
        if doing == "measuring" and done == 1:
            job.cancel()
        step(job, doing, done, total)

    with monkeypatch.context() as patched:
        patched.setattr(jobs.QueuedJob, "step", cancelled_after_a_layer)
        assert wait("tuned", "another text").state == "cancelled"
    assert max(steps) == 1
    assert explorer.kept_bytes == kept
    assert wait("base", "and after").state == "done"


def test_two_tabs_share_what_was_measured(explorer: Explorer, map_id: str) -> None:
    one, other = client_of(explorer), client_of(explorer)
    job = one.post("/api/measure", json={"model": "base", "text": MAP}).json()
    assert finish(other, job) == map_id
    a = one.get(f"/api/prompts/{map_id}/column?layer=1&token=3&form=f32").content
    b = other.get(f"/api/prompts/{map_id}/column?layer=1&token=3").json()["values"]
    np.testing.assert_allclose(np.frombuffer(a, "<f4"), b, rtol=1e-6)


def test_a_chat_goes_through_the_template(door: TestClient) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "## **"}]
    id_ = measured(door, messages=messages)
    told = door.get(f"/api/prompts/{id_}").json()
    assert told["tokens"]["text"] == "[system]Be brief.[user]## **"
    body = {"classes": [{"name": "asked", "rule": "role:user"}]}
    found = door.post(f"/api/prompts/{id_}/classes", json=body).json()
    labels = np.array(found["labels"])
    starts = np.array(told["tokens"]["starts"])
    assert (starts[labels == 0] >= told["tokens"]["text"].index("##")).all()


def test_the_same_prompt_again_is_no_new_pass(explorer: Explorer, map_id: str) -> None:
    source = explorer.source(map_id)
    job = explorer.jobs.wait(explorer.measure("base", source.prompt))  # type: ignore[attr-defined]
    assert job.result == map_id
    assert job.total == 0  # no layer was counted


def test_a_folder_that_cannot_be_written_loses_no_measurement(pair: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("no folder can be made below it", encoding="utf-8")
    explorer = opened([str(pair / "base")], keep=file / "explorer")
    try:
        door = client_of(explorer)
        id_ = measured(door)
        hidden = {"classes": STARS, "cls": "star", "each": False}
        finish(door, door.post(f"/api/prompts/{id_}/effects", json=hidden).json())
        told = door.get(f"/api/prompts/{id_}").json()
        assert told["can"]["kept"] is True
        assert len(told["effects"]) == 1
    finally:
        explorer.close()
