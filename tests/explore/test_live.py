"""Class masses from kept sums are the numbers that a study of these classes measures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

import mindshare
from mindshare_explore.live import KeySums
from mindshare_explore.source import known_heads

from .conftest import MAP, STARS


@pytest.mark.parametrize("policy", ["priority", "pure", "proportional"])
def test_masses_are_those_of_a_study(
    door: TestClient, map_id: str, pair: Path, policy: str
) -> None:
    body = {"classes": STARS, "policy": policy}
    found = door.post(f"/api/prompts/{map_id}/classes", json=body).json()
    classes = mindshare.Classes(
        tuple(mindshare.TokenClass(**one) for one in STARS),
        policy=policy,  # type: ignore[arg-type]
    )
    study = mindshare.measure(str(pair / "base"), MAP, classes=classes, measures=["mass"])
    rows = study.mass.to_pylist()
    assert len(rows) == 2 * 4 * 3
    for row in rows:
        place = found["names"].index(row["class"])
        for name in ("mass", "share", "density", "expected", "lift"):
            value = found["measures"][name][row["layer"]][row["head"]][place]
            if row[name] is None or (name == "share" and row["class"] == "other"):
                continue
            assert value == pytest.approx(row[name], rel=2e-5), (row, name)


def test_measures_of_heads_are_those_of_a_study(door: TestClient, map_id: str, pair: Path) -> None:
    found = door.get(f"/api/prompts/{map_id}").json()["measures"]
    measures = ["entropy", "distance", "peak", "previous", "induction"]
    study = mindshare.measure(str(pair / "base"), MAP, measures=measures)
    names = ("entropy", "perplexity", "distance", "peak", "previous", "induction", "first_token")
    for row in study.heads.to_pylist():
        for name in names:
            value = found[name][row["layer"]][row["head"]]
            assert value == pytest.approx(row[name], rel=1e-4, abs=1e-7), (row, name)


def test_one_query_is_its_row(door: TestClient, map_id: str) -> None:
    body = {"classes": STARS, "token": 20}
    found = door.post(f"/api/prompts/{map_id}/classes", json=body).json()
    row = door.get(f"/api/prompts/{map_id}/row?layer=1&head=2&token=20").json()["values"]
    labels, names = np.array(found["labels"]), found["names"]
    for place, _name in enumerate(names):
        mine = np.flatnonzero(labels == place)
        assert found["measures"]["mass"][1][2][place] == pytest.approx(
            sum(row[at] for at in mine), rel=1e-5
        )
        uniform = (mine <= 20).sum() / 21
        assert found["measures"]["expected"][1][2][place] == pytest.approx(uniform, rel=1e-6)


def test_received_is_the_mean_of_a_column() -> None:
    received = np.array([[[0.5, 0.3, 0.2]]], np.float32)  # sums over three queries, by three
    sums = KeySums((4,), received, received, {})
    np.testing.assert_allclose(sums.profile(4, 0), [0.5, 0.45, 0.6], rtol=1e-6)


def test_heads_are_named_by_what_they_do() -> None:
    heads = {
        "previous": np.array([[0.1, 0.9]]),
        "first_token": np.array([[0.4, 0.2]]),
        "entropy": np.array([[9.0, 9.0]]),
    }
    assert known_heads(heads) == [(0, 1, "previous token"), (0, 0, "sink")]
