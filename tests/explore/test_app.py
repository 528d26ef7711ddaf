"""The door: what it says of itself, what it answers, and that no input makes it fall."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from mindshare.measures import MEASURES

from .conftest import MAP, STARS


def test_the_state_has_models_measures_and_limits(door: TestClient) -> None:
    found = door.get("/api/state").json()
    assert [one["label"] for one in found["models"]] == ["base", "tuned"]
    known = {one["name"]: one["definition"] for one in found["measures"]}
    assert known["mass"] == MEASURES["mass"].definition
    assert found["limits"]["tokens"] >= 8_000


def test_tokens_come_by_class_before_anything_is_measured(door: TestClient) -> None:
    body = {"model": "base", "text": MAP, "classes": STARS}
    found = door.post("/api/tokens", json=body).json()
    pieces, labels = found["tokens"]["pieces"], found["classes"]["labels"]
    assert "".join(pieces) == MAP
    for piece, label in zip(pieces, labels, strict=True):
        expected = 0 if "#" in piece else 1 if "*" in piece else 2
        assert label == expected, piece
    assert found["classes"]["names"] == ["hash", "star", "other"]
    assert found["classes"]["colours"][:2] == ["#d63333", "#5b93dd"]  # as in every chart


def test_a_painted_class_needs_no_new_pass(door: TestClient, map_id: str) -> None:
    start = MAP.index("stars")
    body = {
        "classes": [{"name": "word", "rule": "span:word"}],
        "spans": {"word": [[start, start + 5]]},
    }
    jobs = len(door.get("/api/jobs").json())
    found = door.post(f"/api/prompts/{map_id}/classes", json=body).json()
    assert len(door.get("/api/jobs").json()) == jobs
    token = door.get(f"/api/prompts/{map_id}").json()["tokens"]
    mine = [at for at, label in enumerate(found["labels"]) if label == 0]
    assert "".join(token["pieces"][at] for at in mine).strip() == "stars"
    total = np.zeros(4)
    for at in mine:
        for head in range(4):
            path = f"/api/prompts/{map_id}/column?layer=1&head={head}&token={at}"
            total[head] += sum(door.get(path).json()["values"]) / len(token["pieces"])
    masses = [one[0] for one in found["measures"]["mass"][1]]
    np.testing.assert_allclose(masses, total, rtol=1e-4)


def test_lift_is_the_weight_times_what_can_be_seen(door: TestClient, map_id: str) -> None:
    path = f"/api/prompts/{map_id}/row?layer=0&head=1&token=11"
    plain, lifted = (door.get(f"{path}{more}").json()["values"] for more in ("", "&lift=true"))
    np.testing.assert_allclose(lifted, np.array(plain) * 12, rtol=1e-5)
    path = f"/api/prompts/{map_id}/column?layer=0&head=1&token=4"
    plain, lifted = (door.get(f"{path}{more}").json()["values"] for more in ("", "&lift=true"))
    np.testing.assert_allclose(lifted, np.array(plain) * np.arange(1, len(plain) + 1), rtol=1e-5)


def test_the_mean_of_the_heads_is_their_mean(door: TestClient, map_id: str) -> None:
    path = f"/api/prompts/{map_id}/row?layer=1&token=15"
    heads = [door.get(f"{path}&head={head}").json()["values"] for head in range(4)]
    np.testing.assert_allclose(
        door.get(path).json()["values"], np.mean(heads, 0), rtol=1e-5, atol=1e-9
    )


def test_the_chart_is_the_one_of_reports(door: TestClient, map_id: str) -> None:
    found = door.post(f"/api/prompts/{map_id}/chart", json={"classes": STARS}).json()
    assert found["spec"]["$schema"].startswith("https://vega.github.io/schema/vega-lite/")
    assert found["definition"].startswith("Attention share (mass): ")
    text = json.dumps(found["spec"])
    assert "#d63333" in text
    assert door.post(f"/api/prompts/{map_id}/chart", json={}).status_code == 422


def test_the_recipe_runs_and_gives_the_same_numbers(
    door: TestClient, map_id: str, pair: Path
) -> None:
    start = MAP.index("stars")
    body = {
        "classes": [{"name": "word", "rule": "span:word"}, *STARS],
        "spans": {"word": [[start, start + 5]]},
    }
    found = door.post(f"/api/prompts/{map_id}/classes", json=body).json()
    recipe = door.post(f"/api/prompts/{map_id}/recipe", json=body).json()
    assert recipe["command"].startswith("mindshare shares base --data prompts.jsonl --class")
    row = json.loads(recipe["files"]["prompts.jsonl"])
    import mindshare

    prompt = mindshare.Prompt.from_text(row["text"], row["spans"])
    classes = {one["name"]: one["rule"] for one in body["classes"]}  # type: ignore[index]
    study = mindshare.measure(str(pair / "base"), prompt, classes=classes, measures=["mass"])
    for one in study.mass.to_pylist():
        place = found["names"].index(one["class"])
        shown = found["measures"]["mass"][one["layer"]][one["head"]][place]
        assert shown == pytest.approx(one["mass"], rel=2e-5)


# ── whatever is sent ──────────────────────────────────────────────────────────────────────────────


def _strategy(schema: dict[str, Any], whole: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values of a JSON schema, and now and then something else."""
    if "$ref" in schema:
        return _strategy(whole["components"]["schemas"][schema["$ref"].rpartition("/")[2]], whole)
    wild = st.one_of(st.none(), st.integers(-9, 10**9), st.text(max_size=8), st.just([[]]))
    if "anyOf" in schema:
        made: Any = st.one_of(*(_strategy(one, whole) for one in schema["anyOf"]))
    elif "enum" in schema:
        made = st.sampled_from(schema["enum"])
    else:
        made = _typed(schema, whole)
    return st.one_of(made, made, made, made, wild)


def _typed(schema: dict[str, Any], whole: dict[str, Any]) -> st.SearchStrategy[Any]:
    kind = schema.get("type")
    if kind == "string":
        words = ["base", "#", "span:a", "re:.", "a", MAP, "ids:1", "role:user", "other", "<b>"]
        return st.one_of(st.sampled_from(words), st.text(max_size=20))
    if kind == "integer":
        return st.one_of(st.integers(0, 60), st.integers(-2, 2**40))
    if kind == "boolean":
        return st.booleans()
    if kind == "array":
        return st.lists(_strategy(schema.get("items", {}), whole), max_size=3)
    if kind == "object" and "properties" in schema:
        parts = {n: _strategy(one, whole) for n, one in schema["properties"].items()}
        needed = schema.get("required", ())
        return st.fixed_dictionaries(
            {n: parts[n] for n in needed},
            optional={n: one for n, one in parts.items() if n not in needed},
        )
    if kind == "object":
        values = _strategy(schema.get("additionalProperties") or {}, whole)
        return st.dictionaries(st.sampled_from(["a", "b", ""]), values, max_size=2)
    return st.none()


@pytest.fixture(scope="module")
def operations(door: TestClient) -> list[tuple[str, str, dict[str, Any]]]:
    document = door.get("/api/openapi.json").json()
    found = [
        (method, path, about)
        for path, methods in document["paths"].items()
        for method, about in methods.items()
    ]
    assert len(found) >= 18
    return [(method, path, {**about, "document": document}) for method, path, about in found]


@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_no_request_makes_it_fall(
    data: st.DataObject, door: TestClient, map_id: str, operations: list[Any]
) -> None:
    """Requests by the API's own description: refused in words, or answered; never a 500."""
    method, path, about = data.draw(st.sampled_from(operations))
    document = about["document"]
    query = {}
    for one in about.get("parameters", ()):
        value = data.draw(_strategy(one["schema"], document))
        if one["in"] == "path":
            chosen = st.sampled_from([map_id, "r0.0.all", "..", "0", "\u00e9"])
            path = path.replace("{" + one["name"] + "}", data.draw(chosen))
        elif value is not None:
            query[one["name"]] = str(value)
    content = about.get("requestBody", {}).get("content", {}).get("application/json")
    body = None if content is None else data.draw(_strategy(content["schema"], document))
    answer = door.request(
        method, path, params=query, content=None if content is None else json.dumps(body),
        headers={"Content-Type": "application/json"},
    )  # fmt: skip
    assert answer.status_code < 500, (method, path, query, body, answer.text)
    if answer.status_code >= 400:
        assert answer.json()["problem"]["what"]


@settings(max_examples=60, deadline=None, derandomize=True,
          suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
@given(content=st.binary(max_size=60), path=st.sampled_from(["tokens", "measure", "compare"]))
def test_no_bytes_make_it_fall(door: TestClient, content: bytes, path: str) -> None:
    headers = {"Content-Type": "application/json"}
    answer = door.post(f"/api/{path}", content=content, headers=headers)
    assert 400 <= answer.status_code < 500
