"""What has been put is there: after any sequence of puts, kills and returns, and on bad days."""

from __future__ import annotations

import random
import shutil
import signal
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mindshare.errors import OutputError, PromptError
from mindshare.store import Failed, Planned, RunReader, RunWriter
from mindshare.store.writer import merged

from .writing import DEFINITION, done, expected, item, parts_of, planned, start, told_by

Contents = dict[int, dict[int, bytes]]


def test_what_is_put_comes_back_and_stays(tmp_path: Path) -> None:
    with RunWriter.open(tmp_path / "run", DEFINITION) as store:
        store.put([done(1), done(2)])
        assert parts_of(store, item(1)) == expected(1)
    with RunWriter.open(tmp_path / "run", DEFINITION) as store:
        assert parts_of(store, item(2)) == expected(2)
        assert parts_of(store, item(3)) == {}
    assert sorted(p.name for p in (tmp_path / "run").iterdir()) == ["run.lock", "run.sqlite"]


def test_what_is_there_is_never_overwritten(tmp_path: Path) -> None:
    other = {0: b"other", 7: b"seven"}
    with RunWriter.open(tmp_path, DEFINITION) as store:
        store.put([done(1, (0, 1))])
        again = done(1)
        store.put([type(again)(again.item, "m", "p1", other, {"n": 5, "k": {"7": "x"}}, tokens=10)])
        assert parts_of(store, item(1)) == {**expected(1, (0, 1)), 7: b"seven"}
        (result,) = store.read([item(1)])
        assert result.info == {"n": 1, "k": {"7": "x"}}
        assert result.tokens == 10


def test_missing_is_the_set_difference(tmp_path: Path) -> None:
    items = [item(n) for n in range(6)]
    with RunWriter.open(tmp_path, DEFINITION) as store:
        store.put([done(0), done(1, (0,)), done(2, whole=True)])
        store.put([Failed(item(3), "m", "p3", "too long"), Failed(item(1), "m", "p1", "no memory")])
        lacking = store.missing(items, (0, 2))
        assert lacking == {
            items[1]: frozenset({2}),
            **{one: frozenset({0, 2}) for one in items[3:]},
        }
        assert list(lacking) == [items[1], *items[3:]], "in the order asked"
        assert list(store.missing(items)) == [*items[:2], *items[3:]], "only the whole is whole"
        assert store.missing([items[0].upper()], (0,)) == {}
        store.put([done(3)])
        assert items[3] not in store.missing(items, (0, 2)), "a failure that is mended is done"


def test_many_items_are_compared_at_once(tmp_path: Path) -> None:
    items = [item(n) for n in range(5000)]
    with RunWriter.open(tmp_path, DEFINITION) as store:
        store.put([done(n, (0,)) for n in range(0, 5000, 2)])
        assert list(store.missing(items, [0])) == items[1::2]
        assert [result.item for result in store.read(items[:100])] == items[:100]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["put", "reopen", "killed within a put"]),
            st.lists(
                st.tuples(st.integers(0, 5), st.sets(st.integers(0, 3), min_size=1)), max_size=4
            ),
        ),
        max_size=6,
    )
)
@settings(max_examples=30, deadline=None)
def test_any_sequence_of_puts_and_kills_gives_the_union(steps: list) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder, number = Path(place) / "0", 0
        union: Contents = {}
        store = RunWriter.open(folder, DEFINITION)
        for what, batch in steps:
            results = [done(n, tuple(layers)) for n, layers in batch]
            if what == "put":
                store.put(results)
                for n, layers in batch:
                    union.setdefault(n, {}).update(expected(n, tuple(layers)))
            elif what == "reopen":
                store.close()
                store = RunWriter.open(folder, DEFINITION)
            else:
                number += 1
                folder = _killed_within(store, results, Path(place) / str(number))
                store = RunWriter.open(folder, DEFINITION)
            _check_union(store, union)
        store.close()


def _killed_within(store: RunWriter, results: list, copy: Path) -> Path:
    """The files as a killed process leaves them: written to, with the end of the work missing."""
    with suppress(KeyboardInterrupt), store._transaction():
        for one in results:
            store._put_one(one)
        copy.mkdir()
        for file in store.folder.glob("run.sqlite*"):
            if not file.name.endswith("-shm"):
                shutil.copy(file, copy)
        raise KeyboardInterrupt
    store.close()
    return copy


def _check_union(store: RunWriter, union: Contents) -> None:
    for number in range(6):
        assert parts_of(store, item(number)) == union.get(number, {})
        lacking = store.missing([item(number)], range(4))
        assert (
            lacking.get(item(number), frozenset()) == set(range(4)) - union.get(number, {}).keys()
        )


# Writes without end, and says which items have been put.
_WRITE = """
import sys
from tests.store.writing import DEFINITION, done
from mindshare.store import RunWriter
with RunWriter.open(sys.argv[1], DEFINITION) as store:
    first = int(sys.argv[2])
    store.working_on("m")
    for number in range(first, first + 100_000, 3):
        store.put([done(n) for n in range(number, number + 3)])
        print(number, flush=True)
"""


def _kill_while_it_writes(folder: Path, kills: int) -> None:
    chance, put, first = random.Random(kills), set(), 0
    for kill in range(kills):
        process = start(_WRITE, folder, first)
        assert process.stdout is not None
        if kill % 5:  # sometimes at once, mostly somewhere within the puts
            process.stdout.readline()
        timer = threading.Timer(chance.uniform(0, 0.1), process.send_signal, [signal.SIGKILL])
        timer.start()
        said, errors = process.communicate(timeout=600)
        assert process.returncode == -signal.SIGKILL, errors
        lines = [int(line) for line in said.splitlines() if line.strip().isdigit()]
        if kill % 5:
            put.update(range(first, first + 3))
        put.update(n for number in lines for n in range(number, number + 3))
        first = max(put, default=-1) + 1
        _check_killed(folder, put, first)
    assert len(put) > kills


def _check_killed(folder: Path, put: set[int], first: int) -> None:
    """Everything that was said to be put is there; what was in flight is there whole or not."""
    with RunWriter.open(folder, DEFINITION) as store:
        for result, number in zip(store.read(map(item, sorted(put))), sorted(put), strict=True):
            assert dict(result.parts) == expected(number)
        in_flight = [parts_of(store, item(number)) for number in range(first, first + 3)]
        assert in_flight in ([{}] * 3, [expected(number) for number in range(first, first + 3)])


def test_kill_9_loses_only_what_is_in_flight(tmp_path: Path) -> None:
    _kill_while_it_writes(tmp_path / "run", kills=10)


@pytest.mark.slow
def test_kill_9_two_hundred_times(tmp_path: Path) -> None:
    _kill_while_it_writes(tmp_path / "run", kills=200)


def test_a_run_that_keeps_nothing_binds_nobody(tmp_path: Path) -> None:
    with RunWriter.open(tmp_path, DEFINITION) as store:
        store.plan("a", [Planned("p", item(1))])
    with RunWriter.open(tmp_path, {"near": 1}) as store:
        assert store.definition == {"near": 1}
        assert store.labels == ()


def test_another_definition_is_refused_with_both_shown(tmp_path: Path) -> None:
    with RunWriter.open(tmp_path, DEFINITION) as store:
        store.put([done(1)])
    other = {"classes": {"hash": "#", "star": "*"}, "measures": ["mass"], "near": 0}
    with pytest.raises(OutputError, match="another definition") as caught:
        RunWriter.open(tmp_path, other)
    lines = str(caught.value).splitlines()
    assert lines[1:3] == [
        'classes.star: (not there) there, "*" now',
        'measures: ["mass", "received"] there, ["mass"] now',
    ]
    assert "--replace" in lines[3]
    RunWriter.open(tmp_path, DEFINITION).close()


def test_replacing_forgets_the_run_and_its_results(tmp_path: Path) -> None:
    with RunWriter.open(tmp_path, DEFINITION) as store:
        store.put([done(1)])
    (tmp_path / "manifest.json").write_text('{"tables": []}')
    with RunWriter.open(tmp_path, {"near": 1}, replace=True) as store:
        assert parts_of(store, item(1)) == {}
        assert store.definition == {"near": 1}
    assert not (tmp_path / "manifest.json").exists()


def test_a_second_writer_is_told_who_the_first_is(tmp_path: Path) -> None:
    process = start(_WRITE, tmp_path / "run", 0)
    assert process.stdout is not None
    process.stdout.readline()
    with pytest.raises(OutputError, match=f"process {process.pid} on .* is writing to"):
        RunWriter.open(tmp_path / "run", DEFINITION)
    with RunReader.at(tmp_path / "run") as reader:
        assert parts_of(reader, item(1)) == expected(1), "readers need not wait"
    process.kill()
    process.communicate()
    RunWriter.open(tmp_path / "run", DEFINITION).close()


def test_what_can_not_be_gone_on_with_is_known_before(tmp_path: Path) -> None:
    RunWriter.check(tmp_path / "nothing", DEFINITION)
    assert not (tmp_path / "nothing").exists()
    with RunWriter.open(tmp_path, DEFINITION) as store:
        store.put([done(1)])
        with pytest.raises(OutputError, match="has one writer"):
            RunWriter.check(tmp_path, DEFINITION)
    RunWriter.check(tmp_path, DEFINITION)
    with pytest.raises(OutputError, match=r"another definition.*\nnear: 0 there, 1 now"):
        RunWriter.check(tmp_path, DEFINITION | {"near": 1})


def test_threads_share_a_store(tmp_path: Path) -> None:
    with RunWriter.open(tmp_path, DEFINITION) as store:
        threads = [
            threading.Thread(target=lambda n=n: [store.put([done(n + i)]) for i in range(10)])
            for n in range(0, 100, 10)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert store.missing([item(n) for n in range(100)], (0, 1, 2)) == {}


def test_a_plan_may_come_in_pieces_and_be_made_anew(tmp_path: Path) -> None:
    with RunWriter.open(tmp_path, DEFINITION) as store:
        first = store.plan("m", map(planned, range(3)))
        assert store.plan("m", map(planned, range(3, 5)), first=first) == 5
        assert list(store.planned("m")) == [planned(n) for n in range(5)]
        store.put([done(4)])
        store.plan("m", [planned(4)], layers=[0])
        store.plan("b", [planned(4)])
        assert list(store.planned("m")) == list(store.planned("b")) == [planned(4)]
        assert store.labels == ("m", "b")
        assert (store.layers("m"), store.layers("b")) == (frozenset({0}), None)
        assert parts_of(store, item(4)) == expected(4), "results stay"


def test_one_id_for_two_prompts_is_refused(tmp_path: Path) -> None:
    with RunWriter.open(tmp_path, DEFINITION) as store:
        store.plan("m", [planned(1)])
        twice = [planned(1), Planned("p1", item(2), "rows.jsonl, row 9")]
        with pytest.raises(PromptError, match="'p1' stands for two") as caught:
            store.plan("m", twice)
        assert "rows.jsonl, row 1" in str(caught.value)
        assert "rows.jsonl, row 9" in str(caught.value)
        assert list(store.planned("m")) == [planned(1)], "the earlier plan stays"


def test_a_plan_that_breaks_off_changes_nothing(tmp_path: Path) -> None:
    def breaks():
        yield planned(1)
        raise ValueError("bad row")

    with RunWriter.open(tmp_path, DEFINITION) as store:
        store.plan("m", [planned(0)])
        with pytest.raises(ValueError, match="bad row"):
            store.plan("m", breaks())
        assert list(store.planned("m")) == [planned(0)]


# The kernel lets no file grow past 1 MB, as a full disk would.
_FILL = """
import resource, sys
from tests.store.writing import DEFINITION, done, parts_of
from mindshare.errors import OutputError
from mindshare.store import RunWriter
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
with RunWriter.open(sys.argv[1], DEFINITION) as store:
    for number in range(1000):
        try:
            store.put([done(number)])
        except OutputError as error:
            print(number, error)
            break
    assert parts_of(store, "00") == {}
"""


def test_a_full_disk_keeps_what_was_put(tmp_path: Path) -> None:
    said = told_by(_FILL, tmp_path)
    number, _, message = said.partition(" ")
    assert int(number) > 3
    assert "run.sqlite can't be written" in message
    assert "MB are free" in message
    assert "run the same command again" in message
    with RunWriter.open(tmp_path, DEFINITION) as store:
        for n in range(int(number)):
            assert parts_of(store, item(n)) == expected(n)
        assert parts_of(store, item(int(number))) == {}
        store.put([done(int(number))])


_BEGIN = """
import resource, sys
from tests.store.writing import DEFINITION
from mindshare.errors import OutputError
from mindshare.store import RunWriter
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    RunWriter.open(sys.argv[1], DEFINITION)
except OutputError as error:
    print(error)
"""


@pytest.mark.parametrize("limit", [1000, 150_000])  # before the first file is whole, and after
def test_a_run_can_not_begin_on_a_full_disk(tmp_path: Path, limit: int) -> None:
    assert "can't be written" in told_by(_BEGIN, tmp_path, limit)
    RunWriter.open(tmp_path, DEFINITION).close()


def test_a_database_that_may_not_grow_is_full(tmp_path: Path) -> None:
    with RunWriter.open(tmp_path, DEFINITION) as store:
        store.put([done(1)])
        store._connection.execute("PRAGMA max_page_count = 1")
        with pytest.raises(OutputError, match="database or disk is full"):
            store.put([done(n) for n in range(2, 40)])
        assert parts_of(store, item(1)) == expected(1)
        assert parts_of(store, item(2)) == {}


def test_what_was_there_first_stays() -> None:
    old, new = {"a": 1, "b": {"x": 1}}, {"a": 2, "b": {"x": 2, "y": 3}, "c": 4}
    assert merged(old, new) == {"a": 1, "b": {"x": 1, "y": 3}, "c": 4}
