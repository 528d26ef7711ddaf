"""How far a run is, from any process: while it runs, when it died, when it is done.

    run_status(folder)      counts, pace, time left, failures
    find_runs(paths)        the runs below some folders
    compare_runs(a, b)      what differs between two

A run of a million prompts is counted in SQL; nothing that grows with its plan is held but the names
that `compare_runs` gives. Times are seconds since 1970, by the clock of the run's own machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mindshare.errors import OutputError
from mindshare.naming import layer_ranges
from mindshare.store.database import DATABASE
from mindshare.store.finaliser import MANIFEST, is_run
from mindshare.store.progress import pace
from mindshare.store.reader import (
    Difference,
    RunReader,
    Session,
    definition_hash,
    differences,
    parse_layers,
    placeholders,
)

_EXAMPLES = 5

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
class Count:
    """How far one model is, or all of them together."""

    label: str
    done: int = 0
    failed: int = 0
    waiting: int = 0
    tokens: int = 0  # of the prompts that are done
    tokens_waiting: int | None = None  # None: not known of all of them

    @property
    def total(self) -> int:
        return self.done + self.failed + self.waiting

    def to_dict(self) -> dict[str, int | None]:
        names = ("done", "failed", "waiting", "total", "tokens", "tokens_waiting")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Failure:
    """One planned prompt that could not be measured."""

    label: str
    prompt: str
    place: str | None  # the file and row it was read from
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
    # Stored, but not in the tables of the last command:
    unasked: int = 0  # results
    unasked_layers: frozenset[int] = frozenset()  # of results that are
    shared_tokens: int = 0  # of all results, those that were computed for an earlier prompt

    @property
    def total(self) -> Count:
        """All models together."""
        return _total(self.models)

    def to_dict(self) -> dict[str, Any]:
        session = self.session
        return {
            "run": str(self.folder),
            "phase": self.phase,
            **self.total.to_dict(),
            "tokens_per_second": self.tokens_per_second,
            "seconds_left": self.seconds_left,
            "definition": self.definition,
            "models": {model.label: model.to_dict() for model in self.models},
            "failures": [vars(failure) for failure in self.failures],
            "unasked": self.unasked,
            "unasked_layers": sorted(self.unasked_layers),
            "shared_tokens": self.shared_tokens,
            "pid": session and session.writer.pid,
            "host": session and session.writer.host,
            "model": session and session.doing,
            "started": session and session.started,
            "updated": session and session.updated,
        }


def run_status(folder: str | Path, *, failures: int | None = 5) -> RunStatus:
    """How far the run in a folder is, with the first few failures (None: all of them)."""
    with RunReader.at(folder) as reader, reader.reading("how far it is"):
        session, current = reader.session(), pace(reader.pace())
        counts = tuple(count_models(reader))
        total = _total(counts)
        phase = _phase(Path(folder), session, total.waiting)
        # Before that a plan may not be whole, and what it lacks was not left out.
        finished, running = phase == "finished", phase == "running"
        return RunStatus(
            folder=Path(folder),
            phase="empty" if phase == "measured" and reader.empty else phase,
            models=counts,
            definition=definition_hash(reader.definition),
            tokens_per_second=current.tokens,
            seconds_left=(
                current.seconds_left(total.waiting, total.tokens_waiting) if running else None
            ),
            failures=tuple(find_failures(reader, failures)) if total.failed else (),
            session=session,
            unasked=unasked_results(reader) if finished else 0,
            unasked_layers=unasked_layers(reader) if finished else frozenset(),
            shared_tokens=shared_tokens(reader),
        )


def _phase(folder: Path, session: Session | None, waiting: int) -> Phase:
    if session is not None and session.ended is None:
        alive = session.writer.alive
        return "silent" if alive is None else "running" if alive else "killed"
    if waiting:
        return "stopped"
    return "finished" if os.path.isfile(folder / MANIFEST) else "measured"


def _total(models: Sequence[Count]) -> Count:
    waiting = [model.tokens_waiting for model in models]
    return Count(
        label="",
        done=sum(model.done for model in models),
        failed=sum(model.failed for model in models),
        waiting=sum(model.waiting for model in models),
        tokens=sum(model.tokens for model in models),
        tokens_waiting=None if None in waiting else sum(t for t in waiting if t is not None),
    )


def count_models(reader: RunReader) -> list[Count]:
    """How far each model is. Prompts that are expected but in no plan yet are waiting, too."""
    labels, expected = reader.labels, reader.expected
    return [
        _count(reader, label, expected.get(label, 0)) if label in labels
        # Nothing of it was planned, so that its tokens are not known.
        else Count(label, waiting=expected[label])
        for label in dict.fromkeys((*labels, *expected))
    ]  # fmt: skip


def _count(reader: RunReader, label: str, expected: int) -> Count:
    done, layers = _has_all(reader, label)
    ((total, *sums, unknown),) = reader.rows(
        "SELECT COUNT(*), SUM(done), SUM(NOT done AND failed), SUM(done * measured), "
        "SUM(iif(done OR failed, 0, tokens)), SUM(NOT (done OR failed) AND tokens IS NULL) FROM "
        f"(SELECT ifnull({done}, 0) AS done, i.reason IS NOT NULL AS failed, i.tokens AS measured, "
        "p.tokens FROM plan p LEFT JOIN item i ON i.hash = p.item "
        "WHERE p.model = (SELECT id FROM model WHERE label = ?))",
        *(*layers, label),
    )
    n_done, failed, tokens, waiting = (number or 0 for number in sums)  # NULL of an empty plan
    return Count(
        *(label, n_done, failed, max(total, expected) - n_done - failed, tokens),
        tokens_waiting=None if unknown or expected > total else waiting,
    )


def _has_all(reader: RunReader, label: str) -> tuple[str, tuple[str, ...]]:
    """An SQL condition, and its values: whether an item `i` has all layers asked of a model."""
    wanted = reader.layers(label)
    if wanted is None:
        return "i.whole", ()
    texts = tuple(text for text in _layer_texts(reader) if wanted <= parse_layers(text))
    return f"i.layers IN ({placeholders(texts)})", texts


def _layer_texts(reader: RunReader) -> list[str]:
    """The layers that items have: a handful of texts, however many items."""
    return [text for (text,) in reader.rows("SELECT DISTINCT layers FROM item")]


def find_failures(reader: RunReader, limit: int | None = None) -> list[Failure]:
    """The first planned prompts that failed, in order; None: all of them."""
    failures: list[Failure] = []
    for label in reader.labels:
        done, layers = _has_all(reader, label)
        # Failures are few: they are looked up first, and the plan is gone through once.
        rows = reader.rows(
            "SELECT p.prompt, p.source, i.reason FROM plan p JOIN item i ON i.hash = p.item "
            "WHERE p.item IN (SELECT hash FROM item WHERE reason IS NOT NULL) AND NOT "
            f"({done}) AND p.model = (SELECT id FROM model WHERE label = ?) ORDER BY p.place "
            "LIMIT ?",
            *(*layers, label, -1 if limit is None else limit - len(failures)),
        )
        failures += (Failure(label, *row) for row in rows)
    return failures


def unasked_results(reader: RunReader) -> int:
    """Results that are stored, but that the last command did not ask for."""
    labels = tuple(reader.expected) or reader.labels
    among = f"IN ({placeholders(labels)})"
    # An item names the prompt it was made for, mostly still the one that is planned (`own`), so
    # that only those planned under another name alone are compared by their hash: 1 s instead of
    # the 3 s that `hash NOT IN (SELECT item FROM plan)` takes for 500,000 items.
    ((stored, own, others),) = reader.rows(
        "SELECT (SELECT COUNT(*) FROM item WHERE reason IS NULL), SUM(own), COUNT(DISTINCT CASE "
        "WHEN NOT own AND NOT EXISTS (SELECT 1 FROM plan q JOIN model n ON n.id = q.model WHERE "
        f"n.label = made_for AND n.label {among} AND q.prompt = first AND q.item = hash) "
        "THEN hash END) FROM (SELECT i.hash, i.label AS made_for, i.prompt AS first, "
        "m.label = i.label AND p.prompt = i.prompt AS own FROM model m JOIN plan p "
        f"ON p.model = m.id JOIN item i ON i.hash = p.item WHERE i.reason IS NULL "
        f"AND m.label {among})",
        *(*labels, *labels),
    )
    return int(stored - (own or 0) - others)


def unasked_layers(reader: RunReader) -> frozenset[int]:
    """Layers that planned prompts have, but that the last command did not ask for."""
    last_labels, unasked = reader.expected or reader.labels, frozenset[int]()
    for label in reader.labels:
        wanted = reader.layers(label)
        if wanted is None or label not in last_labels:
            continue
        for text in _layer_texts(reader):
            more = parse_layers(text) - wanted
            if more and reader.rows(
                "SELECT 1 FROM plan p JOIN item i ON i.hash = p.item WHERE i.layers = ? "
                "AND p.model = (SELECT id FROM model WHERE label = ?) LIMIT 1",
                *(text, label),
            ):
                unasked |= more
    return unasked


def shared_tokens(reader: RunReader) -> int:
    """Tokens of stored results that were computed for an earlier prompt with the same beginning."""
    if reader.definition.get("chunk_tokens") is None:  # only chunks are shared
        return 0
    ((tokens,),) = reader.rows("SELECT SUM(json_extract(info, '$.shared')) FROM item")
    return int(tokens or 0)


@dataclass(frozen=True)
class ListedRun:
    """One run; a database that can't be read is listed with its trouble, not left out."""

    folder: Path
    size: int  # bytes of the whole folder
    status: RunStatus | None
    trouble: str | None = None

    def to_dict(self) -> dict[str, Any]:
        content = {"run": str(self.folder)} if self.status is None else self.status.to_dict()
        return {**content, "bytes": self.size, "trouble": self.trouble}


def find_runs(paths: Iterable[str | Path]) -> list[ListedRun]:
    """The runs at and below these folders, by name."""
    folders = dict.fromkeys(folder for path in paths for folder in _runs_below(Path(path)))
    return [_listed(folder) for folder in folders]


def _runs_below(path: Path) -> Iterator[Path]:
    if not os.path.isdir(path):
        raise OutputError(f"{path} is not a folder", next_step="name a folder that holds runs")
    for place, below, _ in os.walk(path):
        if is_run(place):
            below.clear()
            yield Path(place)
        below[:] = sorted(name for name in below if not name.startswith("."))


def _listed(folder: Path) -> ListedRun:
    size = sum(file.stat().st_size for file in folder.rglob("*") if os.path.isfile(file))
    try:
        return ListedRun(folder, size, run_status(folder, failures=0))
    except OutputError as error:
        trouble = error.what.removeprefix(f"{folder / DATABASE} ")
        return ListedRun(folder, size, None, trouble=trouble)


@dataclass(frozen=True)
class SetComparison:
    """Names that only the first has, only the second, and both."""

    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    both: tuple[str, ...]

    @classmethod
    def of(cls, a: Iterable[str], b: Iterable[str]) -> SetComparison:
        """In the order they come."""
        first, second = dict.fromkeys(a), dict.fromkeys(b)
        return cls(
            tuple(name for name in first if name not in second),
            tuple(name for name in second if name not in first),
            tuple(name for name in first if name in second),
        )

    def to_dict(self) -> dict[str, Any]:
        """How many, and a few names."""
        counts: dict[str, Any] = {name: len(names) for name, names in vars(self).items()}
        return {**counts, "examples": {n: list(v[:_EXAMPLES]) for n, v in vars(self).items()}}


@dataclass(frozen=True)
class RunComparison:
    """What differs between two runs."""

    a: Path
    b: Path
    definition: tuple[Difference, ...]
    models: SetComparison
    layers: tuple[Difference, ...]  # of the models that both have
    prompts: SetComparison  # by id
    changed: tuple[str, ...]  # one id and model, another content or other weights

    @property
    def same(self) -> bool:
        different = (*self.definition, *self.layers, *self.changed)
        sets = (self.models, self.prompts)
        return not different and not any(names.only_a or names.only_b for names in sets)

    def to_dict(self) -> dict[str, Any]:
        return {
            "a": str(self.a),
            "b": str(self.b),
            "same": self.same,
            "definition": [vars(part) for part in self.definition],
            "models": {name: list(names) for name, names in vars(self.models).items()},
            "layers": [vars(part) for part in self.layers],
            "prompts": self.prompts.to_dict(),
            "changed": list(self.changed[:_EXAMPLES]),
            "n_changed": len(self.changed),
        }


def compare_runs(a: str | Path, b: str | Path) -> RunComparison:
    with RunReader.at(a) as first, RunReader.at(b) as second:
        definition = tuple(differences(first.definition, second.definition))
        models = SetComparison.of(first.labels, second.labels)
        # An item's hash holds the definition: with another one, every hash is another.
        shared = () if definition else models.both
        return RunComparison(
            *(Path(a), Path(b), definition, models),
            layers=tuple(_different_layers(first, second, models.both)),
            prompts=SetComparison.of(*(_prompts(run) for run in (first, second))),
            changed=tuple(dict.fromkeys(p for m in shared for p in _changed(first, second, m))),
        )


def _different_layers(a: RunReader, b: RunReader, labels: Iterable[str]) -> Iterator[Difference]:
    for label in labels:
        layers_a, layers_b = a.layers(label), b.layers(label)
        if layers_a != layers_b:
            texts = ("all" if n is None else layer_ranges(n) for n in (layers_a, layers_b))
            yield Difference(label, *texts)


def _prompts(run: RunReader) -> Iterator[str]:
    return (planned.prompt for label in run.labels for planned in run.planned(label))


def _changed(a: RunReader, b: RunReader, label: str) -> Iterator[str]:
    """Prompts that both runs planned, under other hashes."""
    items = {planned.prompt: planned.item for planned in a.planned(label)}
    return (p.prompt for p in b.planned(label) if items.get(p.prompt, p.item) != p.item)
