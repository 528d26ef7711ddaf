"""How far a run is, told by another process: at work, killed, stopped, finished."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mindshare.errors import OutputError
from mindshare.store import (
    Failed,
    Finaliser,
    Planned,
    RunWriter,
    compare_runs,
    find_runs,
    run_status,
)
from mindshare.store.status import Failure, count_models, find_failures, unasked_results

from .writing import DEFINITION, done, item, planned, start

_AT_WORK = """
import signal, sys
from tests.store.writing import DEFINITION, done, planned
from mindshare.store import RunWriter
with RunWriter.open(sys.argv[1], DEFINITION) as store:
    store.plan("m", map(planned, range(10)), layers=[0])
    store.working_on("m")
    store.put([done(0), done(1)])
    print("ready", flush=True)
    signal.pause()
"""


def test_from_work_to_kill_to_the_end(tmp_path: Path) -> None:
    process = start(_AT_WORK, tmp_path)
    assert process.stdout is not None
    process.stdout.readline()
    found = run_status(tmp_path)
    assert found.phase == "running"
    assert found.session is not None
    assert (found.session.writer.pid, found.session.doing) == (process.pid, "m")
    assert found.tokens_per_second is not None
    assert found.seconds_left is not None
    process.kill()
    process.communicate()
    found = run_status(tmp_path)
    assert found.phase == "killed"
    assert found.seconds_left is None
    assert (found.total.done, found.total.waiting) == (2, 8)
    with RunWriter.open(tmp_path, DEFINITION) as store:
        store.put([done(n) for n in range(2, 9)])
    assert run_status(tmp_path).phase == "stopped"
    with RunWriter.open(tmp_path, DEFINITION) as store:
        store.put([Failed(item(9), "m", "p9", "too long\nby far")])
    found = run_status(tmp_path)
    assert found.phase == "measured"
    assert [vars(one) for one in found.failures] == [
        {"label": "m", "prompt": "p9", "place": "rows.jsonl, row 9", "reason": "too long\nby far"}
    ]
    with Finaliser(tmp_path) as final:
        final.commit({})
    assert run_status(tmp_path).phase == "finished"


def test_of_another_machine_it_says_only_what_is_known(tmp_path: Path) -> None:
    with RunWriter.open(tmp_path, DEFINITION) as store:
        store._write("UPDATE session SET host = 'elsewhere'")
        assert run_status(tmp_path).phase == "silent"


def test_all_models_together_and_as_json(tmp_path: Path) -> None:
    with RunWriter.open(tmp_path, DEFINITION) as store:
        store.plan("a", [planned(0), planned(1)], layers=[0])
        store.plan("b", [planned(0)._replace(tokens=None)], layers=[7])
        store.put([done(0)])
    told = json.loads(json.dumps(run_status(tmp_path).to_dict()))
    assert (told["done"], told["waiting"], told["total"]) == (1, 2, 3)
    assert told["tokens_waiting"] is None
    assert told["models"]["a"]["tokens_waiting"] == 10
    assert told["phase"] == "stopped"
    assert told["run"] == str(tmp_path)


def test_a_run_without_a_plan_is_empty(tmp_path: Path) -> None:
    RunWriter.open(tmp_path, DEFINITION).close()
    found = run_status(tmp_path)
    assert found.total.total == 0
    assert found.phase == "empty"


def test_what_a_plan_does_not_name_yet_was_not_left_out(tmp_path: Path) -> None:
    with RunWriter.open(tmp_path, DEFINITION) as store:
        store.put([done(0), done(1)])
    with RunWriter.open(tmp_path, DEFINITION) as store:
        store.expect({"m": 2})
        store.plan("m", [planned(0)], layers=[0])  # the second comes with the next piece
        found = run_status(tmp_path)
        assert (found.phase, found.unasked, found.unasked_layers) == ("running", 0, frozenset())
        store.expect({"m": 1})
    with Finaliser(tmp_path) as final:
        final.commit({})
    found = run_status(tmp_path)
    assert (found.phase, found.unasked, found.unasked_layers) == ("finished", 1, {1, 2})


def test_results_that_a_later_command_does_not_ask_for(tmp_path: Path) -> None:
    with RunWriter.open(tmp_path, DEFINITION) as store:
        store.expect({"m": 3})
        store.plan("m", map(planned, range(3)))
        store.put([done(0), done(1), Failed(item(2), "m", "p2", "too long")])
        assert unasked_results(store) == 0
        store.plan("m", [planned(1)])
        assert unasked_results(store) == 1
        store.expect({"other": 1})
        assert unasked_results(store) == 2
        store.plan("m", map(planned, range(3)))
        store.expect({"m": 3})
        assert unasked_results(store) == 0


def test_two_prompts_may_share_one_item_and_two_models_have_their_own_layers(
    tmp_path: Path,
) -> None:
    with RunWriter.open(tmp_path, DEFINITION) as store:
        store.plan("few", [Planned("a", item(1)), Planned("b", item(1))], layers=[0])
        store.plan("all", [Planned("a", item(2))])
        store.put([done(1, (0,)), done(2)])
        few, every = count_models(store)
        assert (few.label, few.done, few.tokens) == ("few", 2, 20)
        assert (every.label, every.waiting) == ("all", 1), "not known to be every layer"
        assert every.tokens_waiting is None, "not told beforehand"
        store.put([done(2, whole=True)])
        assert count_models(store)[1].done == 1


def test_a_failure_counts_only_while_results_are_missing(tmp_path: Path) -> None:
    with RunWriter.open(tmp_path, DEFINITION) as store:
        store.plan("m", [planned(1)], layers=[0])
        store.put([done(1, (0,)), Failed(item(1), "m", "p1", "no memory")])
        assert find_failures(store) == []
        store.plan("m", [planned(1)], layers=[0, 1])
        assert [one.reason for one in find_failures(store)] == ["no memory"]
        assert count_models(store)[0].failed == 1


def test_a_plan_says_what_is_done_failed_and_waiting(tmp_path: Path) -> None:
    with RunWriter.open(tmp_path, DEFINITION) as store:
        assert store.plan("m", map(planned, range(4)), layers=[0, 1]) == 4
        store.put([done(0), done(1, (0,)), Failed(item(2), "m", "p2", "too long")])
        (count,) = count_models(store)
        assert (count.done, count.failed, count.waiting, count.total) == (1, 1, 2, 4)
        assert (count.tokens, count.tokens_waiting) == (10, 20)
        assert find_failures(store) == [Failure("m", "p2", "rows.jsonl, row 2", "too long")]


def make(folder: Path, numbers: range, *, definition: dict | None = None, **plan: object) -> Path:
    with RunWriter.open(folder, definition or DEFINITION) as store:
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
    with RunWriter.open(b, DEFINITION) as store:
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
