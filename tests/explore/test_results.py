"""Folders of results: the same answers as the tables, without a model, without torch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mindshare
from mindshare.measures import MEASURES
from mindshare_explore.page import name_of, recorded
from mindshare_explore.server import opened

from .conftest import MAP, STARS, client_of


def test_results_answer_like_their_tables(results: Path) -> None:
    explorer = opened([str(results)])
    door = client_of(explorer)
    listed = door.get("/api/state").json()["prompts"]
    assert [one["model"] for one in listed] == ["base"] * 4 + ["tuned"] * 4
    assert explorer.models == {}
    mass = mindshare.read(results).table("mass_tuned")
    whole = door.get("/api/prompts/r0.1.all").json()
    assert (whole["layers"], whole["heads"], whole["tokens"]) == ([0, 1], 4, None)
    found = door.post("/api/prompts/r0.1.all/classes", json={}).json()
    assert found["names"][:2] == ["hash", "star"]
    rows = [r for r in mass.to_pylist() if (r["layer"], r["head"], r["class"]) == (1, 2, "star")]
    mean = sum(row["mass"] for row in rows) / len(rows)
    assert len(rows) == 3
    assert found["measures"]["mass"][1][2][1] == pytest.approx(mean, rel=1e-5)


def test_a_mean_leaves_out_prompts_without_the_class(pair: Path, tmp_path: Path) -> None:
    texts = ["a ## b", "c ## d", "e ** f", "g ** h"]
    mindshare.measure(str(pair / "base"), texts, classes={"hash": "#", "star": "*"}).save(
        tmp_path / "half"
    )
    door = client_of(opened([str(tmp_path / "half")]))
    found = door.post("/api/prompts/r0.0.all/classes", json={}).json()
    frame = mindshare.read(tmp_path / "half").to_pandas()
    rows = frame[(frame["layer"] == 1) & (frame["head"] == 2) & (frame["class"] == "hash")]
    there = rows[rows["n_tokens"] > 0]["mass"]
    assert (len(rows), len(there)) == (4, 2)
    place = found["names"].index("hash")
    assert found["measures"]["mass"][1][2][place] == pytest.approx(there.mean(), rel=1e-5)


def test_one_prompt_of_results_has_its_tokens_by_class(results: Path) -> None:
    door = client_of(opened([str(results)]))
    told = door.get("/api/prompts/r0.0.1").json()
    assert told["tokens"]["text"] == f"1 {MAP}"
    assert told["can"] == {"rows": False, "classes": False, "received": False, "kept": False}
    found = door.post("/api/prompts/r0.0.1/classes", json={}).json()
    for piece, label in zip(told["tokens"]["pieces"], found["labels"], strict=True):
        assert found["names"][label] == (
            "hash" if "#" in piece else "star" if "*" in piece else "other"
        )
    for path in ("row?layer=0&token=1", "column?layer=0&token=1", "received?layer=0"):
        refused = door.get(f"/api/prompts/r0.0.1/{path}")
        assert refused.status_code == 422
        assert refused.json()["problem"]["next_step"]
    recipe = door.post("/api/prompts/r0.0.1/recipe", json={}).json()
    assert recipe["command"] == "mindshare head-map …"


def test_what_every_token_received_is_shown_where_it_was_kept(pair: Path, tmp_path: Path) -> None:
    classes = {one["name"]: one["rule"] for one in STARS}
    found = mindshare.measure(str(pair / "base"), MAP, classes=classes)
    found.save(tmp_path / "measured")
    door = client_of(opened([str(tmp_path / "measured")]))
    assert door.get("/api/prompts/r0.0.0").json()["can"]["received"] is True
    shown = door.get("/api/prompts/r0.0.0/received?layer=1&head=3").json()["values"]
    rows = [r for r in found.received.to_pylist() if (r["layer"], r["head"]) == (1, 3)]
    expected = [row["received"] for row in rows]
    for one, other in zip(shown, expected, strict=True):
        assert one is other is None or one == pytest.approx(other, rel=1e-5)


def test_insertions_show_what_they_do_to_heads(pair: Path, tmp_path: Path) -> None:
    text = "look at ## and ** here"
    chart = mindshare.insertion(str(pair / "base"), text, insert="/ *5", at="start")
    chart.save(tmp_path / "inserted", formats=["svg"])
    door = client_of(opened([str(tmp_path / "inserted")]))
    (one,) = door.get("/api/state").json()["prompts"]
    told = door.get(f"/api/prompts/{one['id']}").json()
    assert {"amplitude", "retained"} <= set(told["measures"])
    assert len(told["measures"]["retained"]) == 2
    assert len(told["measures"]["retained"][0]) == 4


def test_results_need_no_torch(results: Path) -> None:
    code = f"""
import sys
from starlette.testclient import TestClient
from mindshare_explore.server import opened
from mindshare_explore.app import create_app
app = create_app(opened([{str(results)!r}]), token="t")
known = {{"Authorization": "Bearer t"}}
door = TestClient(app, base_url="http://127.0.0.1", headers=known)
for path in ("/", "/api/state", "/api/prompts/r0.0.0"):
    assert door.get(path).status_code == 200
assert door.post("/api/prompts/r0.0.0/chart", json={{}}).status_code == 200
print([name for name in ("torch", "transformers") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("damage", ["without a column", "of another type", "empty values", "empty"])
@pytest.mark.parametrize("name", ["mass", "received", "tokens"])
def test_damaged_tables_are_told_when_they_are_asked(
    pair: Path, tmp_path: Path, name: str, damage: str
) -> None:
    """A folder may come from anyone: whatever is in it, an answer says what is wrong."""
    classes = {one["name"]: one["rule"] for one in STARS}
    found = mindshare.measure(str(pair / "base"), [MAP, f"{MAP} 2"], classes=classes)
    folder = found.save(tmp_path / "measured")
    whole = found.table(name)
    for column in whole.column_names:
        at = whole.column_names.index(column)
        changed = {
            "without a column": lambda at=at: whole.remove_column(at),
            "of another type": lambda at=at, c=column: whole.set_column(
                at, c, pa.array(["x"] * len(whole))
            ),
            "empty values": lambda at=at, c=column: whole.set_column(at, c, pa.nulls(len(whole))),
            "empty": lambda: whole.slice(0, 0),
        }[damage]()
        pq.write_table(changed, folder / f"{name}.parquet")
        door = client_of(opened([str(folder)]))
        asked = [door.get("/api/prompts/r0.0.0"), door.get("/api/prompts/r0.0.0/received?layer=0")]
        for path in ("classes", "chart", "recipe"):
            asked += [door.post(f"/api/prompts/r0.0.{one}/{path}", json={}) for one in ("0", "all")]
        for answer in (door.get("/api/state"), *asked):
            assert answer.status_code in (200, 404, 422), (column, answer.text)


def test_means_over_layers_and_heads_are_no_layer_and_no_head(pair: Path, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"layers": "mean", "heads": "mean"}
    asked |= {"measures": ["mass", "received", "first_token"]}
    found = mindshare.measure(str(pair / "base"), "a ##", classes={"hash": "#"}, **asked)
    found.save(tmp_path / "means")
    explorer = opened([str(tmp_path / "means")])
    door = client_of(explorer)
    told = door.get("/api/prompts/r0.0.0").json()
    assert (told["layers"], told["heads"]) == ([-1], 0)
    ((first,),) = told["measures"]["first_token"]
    assert first >= known_sink()
    assert told["known"] == []  # only a head has such a name

    shown = door.get("/api/prompts/r0.0.0/received?layer=-1").json()["values"]
    expected = found.received["received"].to_pylist()
    assert len(expected) == len(told["tokens"]["pieces"])
    for one, other in zip(shown, expected, strict=True):
        assert one is other is None or one == pytest.approx(other, rel=1e-5)
    kept = recorded(explorer, list(explorer.results.values()))
    line = kept[name_of("GET", "prompts/r0.0.0/received?layer=-1")]["values"]
    assert [x is None for x in line] == [x is None for x in shown]
    known = [[x for x in values if x is not None] for values in (line, shown)]
    assert known[0] == pytest.approx(known[1], rel=1e-3)
    refused = door.get("/api/prompts/r0.0.0/received?layer=0")
    assert refused.status_code == 422

    spec = door.post("/api/prompts/r0.0.0/chart", json={}).json()["spec"]
    assert "mean over layers and heads" in json.dumps(spec)


def known_sink() -> float:
    known = MEASURES["first_token"].known_as
    assert known is not None
    return known[1]
