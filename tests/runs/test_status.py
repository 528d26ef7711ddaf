"""How far a run is, told by another process: at work, killed, stopped, finished."""

from __future__ import annotations

import json
from pathlib import Path

from mindshare.runs import Failed, Finaliser, Store, run_status

from .writing import DEFINITION, done, item, planned, start

_AT_WORK = """
import signal, sys
from tests.runs.writing import DEFINITION, done, planned
from mindshare.runs import Store
with Store.open(sys.argv[1], DEFINITION) as store:
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
    with Store.open(tmp_path, DEFINITION) as store:
        store.put([done(n) for n in range(2, 9)])
    assert run_status(tmp_path).phase == "stopped"
    with Store.open(tmp_path, DEFINITION) as store:
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
    with Store.open(tmp_path, DEFINITION) as store:
        store._write("UPDATE session SET host = 'elsewhere'")
        assert run_status(tmp_path).phase == "silent"


def test_all_models_together_and_as_json(tmp_path: Path) -> None:
    with Store.open(tmp_path, DEFINITION) as store:
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
    Store.open(tmp_path, DEFINITION).close()
    found = run_status(tmp_path)
    assert found.total.total == 0
    assert found.phase == "empty"


def test_what_a_plan_does_not_name_yet_was_not_left_out(tmp_path: Path) -> None:
    with Store.open(tmp_path, DEFINITION) as store:
        store.put([done(0), done(1)])
    with Store.open(tmp_path, DEFINITION) as store:
        store.expect({"m": 2})
        store.plan("m", [planned(0)], layers=[0])  # the second comes with the next piece
        found = run_status(tmp_path)
        assert (found.phase, found.unasked, found.unasked_layers) == ("running", 0, frozenset())
        store.expect({"m": 1})
    with Finaliser(tmp_path) as final:
        final.commit({})
    found = run_status(tmp_path)
    assert (found.phase, found.unasked, found.unasked_layers) == ("finished", 1, {1, 2})
