"""A run's folder → how far it is, from any process: while it runs, when it died, when it is done.

Times are seconds since 1970, as the run's own machine tells them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from mindshare.runs.database import DATABASE
from mindshare.runs.definition import definition_hash
from mindshare.runs.folder import MANIFEST
from mindshare.runs.progress import pace
from mindshare.runs.reader import Reader, Session
from mindshare.runs.results import Count

Phase = Literal["running", "killed", "stopped", "empty", "measured", "finished", "silent"]
PHASES: Mapping[Phase, str] = {
    "running": "a process is at work",
    "silent": "a process on another machine was at work; whether it still is can't be told here",
    "killed": "its process is gone without a word",
    "stopped": "no process is at work, and prompts are waiting",
    "empty": "no process is at work, and nothing was measured",
    "measured": "everything is measured; the tables are not written",
    "finished": "everything is measured, and the tables are there",
}


@dataclass(frozen=True)
class Failure:
    label: str
    prompt: str
    place: str | None
    reason: str


@dataclass(frozen=True)
class RunStatus:
    """How far a run is."""

    folder: Path
    phase: Phase
    models: tuple[Count, ...]
    definition: str  # its hash
    tokens_per_second: float | None
    seconds_left: float | None  # only while it runs
    failures: tuple[Failure, ...]  # the first few
    session: Session | None
    # Kept, but not in the tables of the last command:
    unasked: int = 0  # results
    unasked_layers: frozenset[int] = frozenset()  # of results that are

    @property
    def total(self) -> Count:
        """All models together."""
        waiting = [model.tokens_waiting for model in self.models]
        return Count(
            label="",
            done=sum(model.done for model in self.models),
            failed=sum(model.failed for model in self.models),
            waiting=sum(model.waiting for model in self.models),
            tokens=sum(model.tokens for model in self.models),
            tokens_waiting=None if None in waiting else sum(t for t in waiting if t is not None),
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "run": str(self.folder),
            "phase": self.phase,
            **_numbers(self.total),
            "tokens_per_second": self.tokens_per_second,
            "seconds_left": self.seconds_left,
            "definition": self.definition,
            "models": {model.label: _numbers(model) for model in self.models},
            "failures": [vars(failure) for failure in self.failures],
            "unasked": self.unasked,
            "unasked_layers": sorted(self.unasked_layers),
            **_session(self.session),
        }


def run_status(folder: str | Path, *, failures: int | None = 5) -> RunStatus:
    """How far the run in a folder is, with the first few failures (None: all of them)."""
    with Reader.at(folder) as reader:
        counts = tuple(reader.counts())
        session, samples = reader.session(), reader.pace()
        definition, empty = definition_hash(reader.definition), reader.empty
        failed = [
            Failure(label, one.planned.prompt, one.planned.place, one.reason or "")
            for label, one in reader.failures(failures)
        ]
        phase = _phase(Path(folder), session, sum(count.waiting for count in counts))
        phase = "empty" if phase == "measured" and empty else phase
        # Before that a plan may not be whole, and what it lacks was not left out.
        finished = phase == "finished"
        unasked = reader.unasked() if finished else 0
        unasked_layers = reader.unasked_layers() if finished else frozenset[int]()
    found = RunStatus(
        *(Path(folder), phase, counts, definition),
        tokens_per_second=pace(samples).tokens,
        seconds_left=None,
        failures=tuple(failed),
        session=session,
        unasked=unasked,
        unasked_layers=unasked_layers,
    )
    if phase != "running":
        return found
    left = pace(samples).seconds_left(found.total.waiting, found.total.tokens_waiting)
    return replace(found, seconds_left=left)


def is_run(folder: Path) -> bool:
    return (folder / DATABASE).is_file()


def _phase(folder: Path, session: Session | None, waiting: int) -> Phase:
    if session is not None and session.ended is None:
        alive = session.writer.alive
        return "silent" if alive is None else "running" if alive else "killed"
    if waiting:
        return "stopped"
    return "finished" if (folder / MANIFEST).is_file() else "measured"


def _numbers(count: Count) -> dict[str, int | None]:
    names = ("done", "failed", "waiting", "total", "tokens", "tokens_waiting")
    return {name: getattr(count, name) for name in names}


def _session(session: Session | None) -> dict[str, Any]:
    if session is None:
        return {"pid": None, "host": None, "model": None, "started": None, "updated": None}
    return {
        "pid": session.writer.pid,
        "host": session.writer.host,
        "model": session.doing,
        "started": session.started,
        "updated": session.updated,
    }
