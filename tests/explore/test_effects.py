"""Knock-outs from the page: the numbers of a study, left when cancelled, kept when killed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import mindshare
from mindshare_explore import jobs
from mindshare_explore.server import opened
from mindshare_explore.session import Explorer

from .conftest import MAP, STARS, client_of, finish, measured


def effect_of(door: TestClient, id_: str, **body: Any) -> dict[str, Any]:
    asked = {"classes": STARS, "cls": "star", **body}
    finish(door, door.post(f"/api/prompts/{id_}/effects", json=asked).json())
    found: dict[str, Any] = door.get(f"/api/prompts/{id_}").json()["effects"][-1]
    return found


@pytest.mark.parametrize("each", [True, False])
def test_effects_are_those_of_a_study(
    door: TestClient, map_id: str, pair: Path, each: bool
) -> None:
    found = effect_of(door, map_id, each=each, answer=" **")
    prompt = mindshare.Prompt(text=MAP, answer=" **")
    heads = "each" if each else None
    study = mindshare.knockout(str(pair / "base"), prompt, classes={"star": "*"}, heads=heads)
    rows = study.tables["effects_base"].to_pylist()
    assert len(rows) == (8 if each else 2)
    for row in rows:
        for name, values in found["measures"].items():
            value = values["mean"][row["layer"]][row["head"] or 0]
            assert value == pytest.approx(row[name], rel=1e-5, abs=1e-7), (row, name)
    assert found["answers"] == [" **"]
    assert found["measures"].keys() == {"delta_logprob", "delta_logit", "kl", "flip"}


def test_a_painted_stretch_of_a_chat_can_be_hidden(door: TestClient) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "## **"}]
    id_ = measured(door, messages=messages)
    text = door.get(f"/api/prompts/{id_}").json()["tokens"]["text"]
    start = text.index("brief")
    painted = {"classes": [{"name": "p", "rule": "span:p"}], "spans": {"p": [[start, start + 5]]}}
    found = effect_of(door, id_, **painted, cls="p")
    assert any(value for row in found["measures"]["kl"]["mean"] for value in row)


def test_what_is_painted_is_of_one_prompt(door: TestClient, map_id: str) -> None:
    other = measured(door, text="another ** text")
    painted = {"classes": [{"name": "p", "rule": "span:p"}], "spans": {"p": [[0, 5]]}}
    asked = {**painted, "cls": "p", "also": [other]}
    answer = door.post(f"/api/prompts/{map_id}/effects", json=asked)
    assert answer.status_code == 422
    assert "painted ranges are of one prompt" in answer.text


def test_cancelling_leaves_a_knock_out_between_layers(
    explorer: Explorer, door: TestClient, map_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, seen = jobs.QueuedJob.step, []

    def cancelled_soon(job: jobs.QueuedJob, doing: str, done: int = 0, total: int = 0) -> None:
        seen.append(doing)
        if seen.count("hiding hash") == 4:
            job.cancel()
        step(job, doing, done, total)

    before = len(door.get(f"/api/prompts/{map_id}").json()["effects"])
    with monkeypatch.context() as patched:
        patched.setattr(jobs.QueuedJob, "step", cancelled_soon)
        body = {"classes": STARS, "cls": "hash"}
        job = door.post(f"/api/prompts/{map_id}/effects", json=body).json()
        waited = explorer.jobs.get(job["id"])
        assert waited is not None
        assert explorer.jobs.wait(waited).state == "cancelled"
    assert len(seen) == 5  # "starting", and four layers
    assert len(door.get(f"/api/prompts/{map_id}").json()["effects"]) == before
    assert effect_of(door, map_id, cls="hash")["class"] == "hash"  # the model is as it was


def test_a_killed_server_keeps_effects(pair: Path, tmp_path: Path) -> None:
    first, again = (opened([str(pair / "base")], keep=tmp_path) for _ in range(2))
    try:
        door = client_of(first)
        id_ = measured(door)
        effect = effect_of(door, id_)
        other = client_of(again)
        assert other.get(f"/api/prompts/{id_}").json()["effects"] == [effect]
        finish(other, other.post(f"/api/prompts/{id_}/again").json())
        assert other.get(f"/api/prompts/{id_}").json()["effects"] == [effect]
        (tmp_path / f"{id_}.effects.json").write_text("[")
    finally:
        first.close()
        again.close()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"cls": "none"}, "no class 'none'"),
        ({"classes": [{"name": "z", "rule": "re:z{9}"}], "cls": "z"}, "no token is of class 'z'"),
        ({"policy": "proportional"}, "part of a token can't be hidden"),
        ({"classes": [{"name": "all", "rule": "re:(?s)."}], "cls": "all"}, "nothing"),
    ],
)
def test_what_cannot_be_hidden_is_refused_in_words(
    door: TestClient, explorer: Explorer, map_id: str, body: dict[str, Any], words: str
) -> None:
    asked = {"classes": STARS, "cls": "star", **body}
    job = explorer.jobs.get(door.post(f"/api/prompts/{map_id}/effects", json=asked).json()["id"])
    assert job is not None
    problem = explorer.jobs.wait(job).problem
    assert problem is not None
    assert words in str(problem["what"])
