"""What a reader sees, whatever a writer does meanwhile; how values are written as text."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindshare.errors import OutputError
from mindshare.store import RunReader, RunWriter
from mindshare.store import reader as reader_module
from mindshare.store.reader import (
    definition_hash,
    differences,
    layers_text,
    parse_layers,
    through_json,
)

from .writing import DEFINITION, content, done, expected, item, parts_of, planned


@given(st.frozensets(st.integers(-3, 200)))
def test_layers_come_back(layers: frozenset[int]) -> None:
    assert parse_layers(layers_text(layers)) == layers


def test_tuples_and_lists_are_the_same_definition() -> None:
    a, b = {"x": (1, 2), "y": {"k": None}}, {"y": {"k": None}, "x": [1, 2]}
    assert through_json(a) == b
    assert differences(a, b) == []
    assert definition_hash(through_json(a)) == definition_hash(b)


def test_only_what_differs_is_named() -> None:
    a = {"same": 1, "classes": {"hash": "#", "star": "*"}, "near": 0, "gone": {}}
    b = {"same": 1, "classes": {"hash": "##"}, "near": False}
    found = {one.name: (one.a_text, one.b_text) for one in differences(a, b)}
    assert found == {
        "classes.hash": ('"#"', '"##"'),
        "classes.star": ('"*"', "(not there)"),
        "gone": ("{}", "(not there)"),
        "near": ("0", "false"),
    }


def test_what_json_has_no_word_for_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        through_json({"x": float("nan")})


def test_damaged_bytes_are_never_handed_out(tmp_path: Path) -> None:
    with RunWriter.open(tmp_path, DEFINITION) as store:
        store.put([done(1)])
    file = tmp_path / "run.sqlite"
    stored = file.read_bytes()
    place = stored.index(content(1, 2))
    file.write_bytes(stored[: place + 5] + b"\0" + stored[place + 6 :])
    with RunWriter.open(tmp_path, DEFINITION) as store:
        with pytest.raises(OutputError, match="not those that were stored"):
            parts_of(store, item(1))
        with pytest.raises(OutputError, match="is damaged"):
            list(store.read([item(1)], layers=[2]))
        (result,) = store.read([item(1)], layers=[0])
        assert dict(result.parts) == expected(1, (0,))
    with sqlite3.connect(file) as connection:
        connection.execute("DELETE FROM part WHERE layer = 0")
    connection.close()
    with RunReader.at(tmp_path) as reader, pytest.raises(OutputError, match="is not there"):
        list(reader.read([item(1)], layers=[0]))


def test_a_reader_sees_what_was_put_while_the_writer_is_at_work(tmp_path: Path) -> None:
    with RunWriter.open(tmp_path, DEFINITION) as store:
        store.put([done(1)])
        with RunReader.at(tmp_path) as onlooker:
            assert parts_of(onlooker, item(1)) == expected(1)
            assert parts_of(onlooker, item(2)) == {}
            store.put([done(2)])
            assert parts_of(onlooker, item(2)) == expected(2)
            assert onlooker.definition == store.definition
            session = onlooker.session()
            assert session is not None
            assert session.writer.alive
            assert session.ended is None
    with RunReader.at(tmp_path) as onlooker:
        session = onlooker.session()
        assert session is not None
        assert session.ended is not None


def test_where_there_is_no_run_it_says_so(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(OutputError, match="there is no run in"):
            RunReader.at(folder)
    assert list(tmp_path.iterdir()) == []


def test_results_come_in_the_order_asked_however_large_the_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = [5, 2, 9, 2, 11, 0, 7]
    with RunWriter.open(tmp_path, DEFINITION) as store:
        store.put([done(n) for n in range(10)])
        for held in (1, 2, 32):
            monkeypatch.setattr(reader_module, "_RESULTS_HELD", held)
            found = list(store.read(item(n) for n in order))
            assert [one.item for one in found] == [item(n) for n in order]
            assert [dict(one.parts) for one in found] == [
                expected(n) if n < 10 else {} for n in order
            ]
        (one,) = store.read([item(3)], layers={1, 99})
        assert dict(one.parts) == expected(3, (1,))


def test_a_long_plan_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_module, "_PLAN_ROWS", 3)
    with RunWriter.open(tmp_path, DEFINITION) as store:
        store.plan("m", map(planned, range(10)), layers=[0])
        assert list(store.planned("m")) == [planned(n) for n in range(10)]
