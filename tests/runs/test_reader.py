"""Looking at a run while it is written, in pieces that fit into memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from mindshare.errors import OutputError
from mindshare.runs import Failed, Planned, Reader, Store, reader

from .writing import DEFINITION, done, expected, item, planned


def test_a_reader_sees_what_was_put_while_the_writer_is_at_work(tmp_path: Path) -> None:
    with Store.open(tmp_path, DEFINITION) as store:
        store.put([done(1)])
        with Reader.at(tmp_path) as onlooker:
            assert onlooker.parts(item(1)) == expected(1)
            assert onlooker.parts(item(2)) == {}
            store.put([done(2)])
            assert onlooker.parts(item(2)) == expected(2)
            assert onlooker.definition == store.definition
            session = onlooker.session()
            assert session is not None
            assert session.writer.alive
            assert session.ended is None
    with Reader.at(tmp_path) as onlooker:
        session = onlooker.session()
        assert session is not None
        assert session.ended is not None


def test_where_there_is_no_run_it_says_so(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(OutputError, match="there is no run in"):
            Reader.at(folder)
    assert list(tmp_path.iterdir()) == []


def test_results_come_in_the_order_asked_however_large_the_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = [5, 2, 9, 2, 11, 0, 7]
    with Store.open(tmp_path, DEFINITION) as store:
        store.put([done(n) for n in range(10)])
        for held in (1, 2, 32):
            monkeypatch.setattr(reader, "_HELD", held)
            found = list(store.read(item(n) for n in order))
            assert [one.item for one in found] == [item(n) for n in order]
            assert [dict(one.parts) for one in found] == [
                expected(n) if n < 10 else {} for n in order
            ]
        (one,) = store.read([item(3)], layers={1, 99})
        assert dict(one.parts) == expected(3, (1,))


def test_a_long_plan_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_PLANNED", 3)
    with Store.open(tmp_path, DEFINITION) as store:
        store.plan("m", map(planned, range(10)), layers=[0])
        store.put([done(n) for n in range(0, 10, 2)])
        states = [one.state for one in store.statuses("m")]
        assert states == ["done", "waiting"] * 5


def test_two_prompts_may_share_one_item_and_two_models_have_their_own_layers(
    tmp_path: Path,
) -> None:
    with Store.open(tmp_path, DEFINITION) as store:
        store.plan("few", [Planned("a", item(1)), Planned("b", item(1))], layers=[0])
        store.plan("all", [Planned("a", item(2))])
        store.put([done(1, (0,)), done(2)])
        few, every = store.counts()
        assert (few.label, few.done, few.tokens) == ("few", 2, 20)
        assert (every.label, every.waiting) == ("all", 1), "not known to be every layer"
        assert every.tokens_waiting is None, "not told beforehand"
        store.put([done(2, whole=True)])
        assert store.counts()[1].done == 1


def test_a_failure_counts_only_while_results_are_missing(tmp_path: Path) -> None:
    with Store.open(tmp_path, DEFINITION) as store:
        store.plan("m", [planned(1)], layers=[0])
        store.put([done(1, (0,)), Failed(item(1), "m", "p1", "no memory")])
        assert store.failures() == []
        store.plan("m", [planned(1)], layers=[0, 1])
        assert [one.reason for _, one in store.failures()] == ["no memory"]
        assert store.counts()[0].failed == 1
