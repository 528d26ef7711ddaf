"""Runs are found wherever they lie; the damaged are listed, too; two are compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mindshare.errors import OutputError
from mindshare.runs import Store, compare_runs, find_runs

from .writing import DEFINITION, done, planned


def make(folder: Path, numbers: range, *, definition: dict | None = None, **plan: object) -> Path:
    with Store.open(folder, definition or DEFINITION) as store:
        store.plan("m", map(planned, numbers), **{"layers": [0, 1, 2], **plan})
        store.put([done(n) for n in numbers[:2]])
    return folder


def test_runs_are_found_below_and_at_a_folder(tmp_path: Path) -> None:
    make(tmp_path / "b" / "deep", range(3))
    make(tmp_path / "a", range(2))
    make(tmp_path / ".hidden", range(2))
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "run.sqlite").write_bytes(b"torn" * 100)
    found = find_runs([tmp_path, tmp_path / "a"])
    assert [one.folder for one in found] == [tmp_path / n for n in ("a", "b/deep", "c")]
    assert found[0].status is not None
    assert found[0].status.total.done == 2
    assert found[0].size >= (tmp_path / "a" / "run.sqlite").stat().st_size
    assert found[2].status is None
    assert "file is not a database" in str(found[2].trouble)
    told = json.loads(json.dumps([one.to_dict() for one in found]))
    assert [one["trouble"] is None for one in told] == [True, True, False]
    assert len(find_runs([tmp_path / "a"])) == 1


def test_a_place_that_is_no_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="nowhere is not a folder"):
        find_runs([tmp_path / "nowhere"])


def test_two_runs_of_the_same(tmp_path: Path) -> None:
    found = compare_runs(make(tmp_path / "a", range(3)), make(tmp_path / "b", range(3)))
    assert found.same
    assert len(found.prompts.both) == 3


def test_what_differs_is_told(tmp_path: Path) -> None:
    a = make(tmp_path / "a", range(0, 4))
    b = make(tmp_path / "b", range(2, 6), layers=None)
    with Store.open(b, DEFINITION) as store:
        store.plan("n", [planned(2)])
        store.plan("m", [planned(3)._replace(item="ab" * 32), planned(5)])
    found = compare_runs(a, b)
    assert not found.same
    assert found.definition == ()
    assert (found.models.only_a, found.models.only_b, found.models.both) == ((), ("n",), ("m",))
    assert [(one.name, one.a, one.b) for one in found.layers] == [("m", "0–2", "all")]
    assert found.prompts.only_a == ("p0", "p1")
    assert found.prompts.only_b == ("p5",)
    assert found.changed == ("p3",)
    assert json.loads(json.dumps(found.to_dict()))["n_changed"] == 1


def test_with_another_definition_contents_can_not_be_compared(tmp_path: Path) -> None:
    a = make(tmp_path / "a", range(3))
    b = make(tmp_path / "b", range(3), definition={**DEFINITION, "near": 2})
    found = compare_runs(a, b)
    assert [(one.name, one.a, one.b) for one in found.definition] == [("near", 0, 2)]
    assert found.changed == ()
