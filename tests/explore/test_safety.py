"""Who may speak to the explorer, and what hostile input meets: a refusal, or nothing at all."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from mindshare_explore.app import create_app
from mindshare_explore.safety import LARGEST
from mindshare_explore.server import names_of
from mindshare_explore.session import Explorer

from .conftest import HOST, TOKEN, measured

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'&\u202e\u0000#*"


def test_without_the_secret_nothing_is_told(door: TestClient) -> None:
    for headers in ({"Authorization": ""}, {"Authorization": "Bearer wrong"}):
        for path in ("/api/state", "/api/openapi.json", "/api/jobs", "/api/nothing"):
            assert door.get(path, headers=headers).status_code == 401, path
    assert door.get("/api/state?token=wrong", headers={"Authorization": ""}).status_code == 401
    allowed = door.get(f"/api/state?token={TOKEN}", headers={"Authorization": ""})
    assert allowed.status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:4000", "127.0.0.1.evil.example", ""]
)
def test_a_foreign_host_is_refused(door: TestClient, host: str) -> None:
    for path in ("/", "/static/main.js", "/api/state"):
        assert door.get(path, headers={"Host": host}).status_code == 403


@pytest.mark.parametrize("host", ["localhost:4000", "127.0.0.1:4000", "[::1]:4000"])
def test_this_machine_is_known_by_its_names(door: TestClient, host: str) -> None:
    assert door.get("/api/state", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    ("host", "called"),
    [
        ("192.168.1.5", "192.168.1.5"),
        ("fd00::5", "[fd00::5]"),
        ("FD00::5", "[fd00::5]"),
        ("0.0.0.0", "192.168.1.5"),
        ("0.0.0.0", "desk.example"),
        ("::", "[fd00::5]"),
    ],
)
def test_a_colleague_who_has_the_secret_is_let_in(
    explorer: Explorer, host: str, called: str
) -> None:
    """By the address that it listens on; by any, where it listens on all. Without it nobody is."""
    app: Any = create_app(explorer, token=TOKEN, hosts=names_of(host))
    other = TestClient(app, base_url=HOST, headers={"Host": f"{called}:4000"})
    assert other.get("/").status_code == 200
    assert other.get("/api/state").status_code == 401
    known = {"Authorization": f"Bearer {TOKEN}"}
    assert other.get("/api/state", headers=known).status_code == 200
    foreign = {**known, "Origin": "https://evil.example"}
    assert other.get("/api/state", headers=foreign).status_code == 403


@pytest.mark.parametrize("host", ["127.0.0.1", "192.168.1.5", "::1"])
def test_other_names_than_that_of_one_address_are_refused(explorer: Explorer, host: str) -> None:
    app: Any = create_app(explorer, token=TOKEN, hosts=names_of(host))
    assert TestClient(app, base_url="http://evil.example").get("/").status_code == 403


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:9", "http://["]
)
def test_a_foreign_origin_is_refused(door: TestClient, origin: str) -> None:
    body = {"model": "base", "text": "x"}
    answer = door.post("/api/measure", json=body, headers={"Origin": origin})
    assert answer.status_code == 403
    assert door.get("/api/state", headers={"Origin": HOST}).status_code == 200


def test_every_answer_carries_the_policy(door: TestClient, map_id: str) -> None:
    for path in ("/", "/static/main.js", "/api/state", f"/api/prompts/{map_id}", "/none"):
        headers = door.get(path).headers
        policy = headers["content-security-policy"]
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in headers


@pytest.mark.parametrize(
    "path",
    [
        *("/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/app.py", "/app.py"),
        *("/static/types.d.ts", "/static/", "/static//etc/passwd", "/static/index.html/.."),
        *("/api/prompts/..%2f..%2fetc%2fpasswd", "/api/prompts/%2e%2e", "/api/prompts/r9.0.all"),
    ],
)
def test_no_path_leads_anywhere_else(door: TestClient, path: str) -> None:
    answer = door.get(path)
    assert answer.status_code == 404
    assert b"root:" not in answer.content
    assert b"def create_app" not in answer.content


def test_sizes_are_bounded_with_a_reason(door: TestClient) -> None:
    large = "x" * (LARGEST + 1)
    answer = door.post("/api/tokens", content=large)
    assert answer.status_code == 413
    assert str(f"{LARGEST:,}") in answer.json()["problem"]["what"]
    too_long = {"model": "base", "text": "a " * 300_000}
    answer = door.post("/api/tokens", json=too_long)
    assert answer.status_code == 422
    assert "400000" in answer.json()["problem"]["what"]
    answer = door.post("/api/tokens", json={"model": "base", "text": "a b " * 500})
    assert answer.status_code == 422
    assert "320" in answer.json()["problem"]["what"]  # the model's context


def test_a_body_without_a_length_is_bounded_too(door: TestClient) -> None:
    def pieces() -> object:
        for _ in range(LARGEST // 2**16 + 2):
            yield b"x" * 2**16

    answer = door.post("/api/tokens", content=pieces())  # type: ignore[arg-type]
    assert 400 <= answer.status_code < 500


def test_hostile_text_stays_text(door: TestClient) -> None:
    id_ = measured(door, HOSTILE)
    found = door.get(f"/api/prompts/{id_}")
    assert found.headers["content-type"] == "application/json"
    assert found.json()["tokens"]["text"] == HOSTILE
    assert "<script" not in door.get("/").text.replace('<script type="module"', "")


@pytest.mark.parametrize(
    "body",
    [
        {"model": "base", "text": "\ud800"},
        {"model": "base", "text": "x", "classes": [{"name": "a", "rule": "re:("}]},
        {"model": "base", "text": "x", "classes": [{"name": "a\nb", "rule": "#"}]},
        {"model": "base", "text": "x", "classes": [{"name": "a", "rule": "#"}] * 2},
        {"model": "base", "text": "x", "classes": [{"name": "a", "rule": "span:none"}]},
        {"model": "base", "text": "x", "spans": {"a": [[0, 99]]}},
        {"model": "base", "text": "x", "spans": {"a": [[1, 0]]}},
        {"model": "/etc/passwd", "text": "x"},
        {"model": "base"},
        {"model": "base", "text": ""},
        {"model": "base", "text": "x", "messages": []},
        {"model": "base", "messages": [{"role": "", "content": ""}]},
        {"model": "base", "text": 7},
        [],
        None,
    ],
)
def test_nonsense_is_refused_in_words(door: TestClient, body: object) -> None:
    import json

    headers = {"Content-Type": "application/json"}
    answer = door.post("/api/tokens", content=json.dumps(body), headers=headers)
    assert answer.status_code in (404, 422)
    assert answer.json()["problem"]["what"]


def test_a_token_that_is_not_there_is_refused_in_words(door: TestClient) -> None:
    """Of one prompt, and where a second one is shorter than the first."""
    long, short = measured(door, "a # b " * 4), measured(door, "a # b")
    asked = {"classes": [{"name": "hash", "rule": "#"}], "token": 9}
    assert door.post(f"/api/prompts/{long}/classes", json=asked).status_code == 200
    for path, body in (
        (f"/api/prompts/{short}/classes", asked),
        (f"/api/prompts/{long}/chart", asked | {"against": short}),
    ):
        answer = door.post(path, json=body)
        assert answer.status_code == 422
        assert "there is no token 9 here" in answer.json()["problem"]["what"]


def test_a_runaway_rule_ends(door: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mindshare.limits.SECONDS", 0.5)
    body = {
        "model": "base",
        "text": "a" * 60 + "!",
        "classes": [{"name": "slow", "rule": "re:(a+)+$"}],
    }
    answer = door.post("/api/tokens", json=body)
    assert answer.status_code == 422
    assert "runs away" in answer.json()["problem"]["what"]


def test_the_page_asks_for_nothing_outside(door: TestClient) -> None:
    for name in ("main.js", "api.js", "explorer.css", "class-panel.js"):
        text = door.get(f"/static/{name}").text
        assert "https://" not in text
        assert "innerHTML" not in text
