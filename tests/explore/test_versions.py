"""Two versions of a prompt, or two models: tokens are paired exactly, or not at all."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from mindshare_explore.versions import common_ends

from .conftest import MAP, finish, measured


def compared(door: TestClient, a: str, b: str) -> dict[str, object]:
    found: dict[str, object] = door.post("/api/compare", json={"a": a, "b": b}).json()
    return found


def pieces(door: TestClient, id_: str) -> list[str]:
    found: list[str] = door.get(f"/api/prompts/{id_}").json()["tokens"]["pieces"]
    return found


def test_two_models_share_every_token(door: TestClient, map_id: str) -> None:
    job = door.post(f"/api/prompts/{map_id}/in-model", json={"model": "tuned"}).json()
    other = finish(door, job)
    assert other != map_id
    found = compared(door, map_id, other)
    assert found["kind"] == "models"
    assert found["pairs"] == [[at, at] for at in range(len(pieces(door, map_id)))]
    rows = [door.get(f"/api/prompts/{one}/row?layer=1&token=9").json() for one in (map_id, other)]
    assert rows[0] != rows[1]


def test_an_insertion_typed_where_it_goes(door: TestClient, map_id: str) -> None:
    at = MAP.index("where")
    body = {"at": at, "text": "/ / / "}
    other = finish(door, door.post(f"/api/prompts/{map_id}/insert", json=body).json())
    found = compared(door, map_id, other)
    assert found["kind"] == "versions"
    a, b = pieces(door, map_id), pieces(door, other)
    assert "".join(b) == MAP[:at] + "/ / / " + MAP[at:]
    for x, y in found["pairs"]:  # type: ignore[attr-defined]
        assert a[x] == b[y]
    new = [b[y] for y, part in enumerate(found["parts"]) if part != "original"]  # type: ignore[arg-type]
    assert "".join(new).replace(" ", "") == "///"
    assert len(found["pairs"]) >= len(a) - 1  # type: ignore[arg-type]


def test_a_word_replaced_leaves_the_rest_paired(door: TestClient, map_id: str) -> None:
    other = measured(door, MAP.replace("stars", "moons"))
    found = compared(door, map_id, other)
    a, b = pieces(door, map_id), pieces(door, other)
    for x, y in found["pairs"]:  # type: ignore[attr-defined]
        assert a[x] == b[y]
    left = "".join(b[y] for y, part in enumerate(found["parts"]) if part != "original")  # type: ignore[arg-type]
    assert "moon" in left
    assert len(found["pairs"]) > len(a) - 8  # type: ignore[arg-type]
    backwards = compared(door, other, map_id)
    assert sorted([y, x] for x, y in found["pairs"]) == backwards["pairs"]  # type: ignore[attr-defined]


def test_a_shorter_version_is_the_same_the_other_way_round(door: TestClient) -> None:
    long, short = measured(door, "## ** // ## end"), measured(door, "## ** ## end")
    there, back = compared(door, short, long), compared(door, long, short)
    assert [[y, x] for x, y in there["pairs"]] == back["pairs"]  # type: ignore[attr-defined]


def test_a_place_in_the_template_is_refused(door: TestClient) -> None:
    chat = [{"role": "user", "content": "## **"}]
    id_ = measured(door, messages=chat)
    path = f"/api/prompts/{id_}/insert"
    assert door.post(path, json={"at": 2, "text": "x"}).status_code == 422
    inside = finish(door, door.post(path, json={"at": 8, "text": "x"}).json())
    assert door.get(f"/api/prompts/{inside}").json()["tokens"]["text"] == "[user]##x **"
    assert door.post(path, json={"at": 999, "text": "x"}).status_code == 422


@pytest.mark.parametrize(
    ("a", "b", "ends"),
    [("abc", "abXc", (2, 1)), ("aa", "aaa", (2, 0)), ("x", "y", (0, 0)), ("", "a", (0, 0))],
)
def test_ends_never_overlap(a: str, b: str, ends: tuple[int, int]) -> None:
    assert common_ends(a, b) == ends
