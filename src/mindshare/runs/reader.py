"""A run's database → what is in it: definition, plan, results, how far it is. Changes nothing.

Many readers may look at a run at any time, also while it is written. Results are streamed: a run
may be larger than memory. Does not know what the bytes of a result mean.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Self, TypeVar

from mindshare.runs.database import DATABASE, damaged, open_to_read, trouble
from mindshare.runs.results import (
    Count,
    Planned,
    Result,
    State,
    Status,
    covers,
    layers_read,
)
from mindshare.runs.writer import Writer

_ASKED = 500  # items in one question
_HELD = 32  # items whose results are in memory at once
_PLANNED = 2000  # rows of a plan read at once

T = TypeVar("T")


@dataclass(frozen=True)
class Session:
    """One time that a process was at work on the run. Times are seconds since 1970."""

    writer: Writer
    started: float
    updated: float
    ended: float | None  # None: still at work, or killed
    doing: str | None  # the label of the model
    versions: Mapping[str, str]


class Reader:
    """What is in a run. Threads may share it."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder, self.path = folder, folder / DATABASE
        self._connection, self._alone = connection, threading.RLock()

    @classmethod
    def at(cls, folder: str | Path) -> Reader:
        """Look at the run in a folder, whether it is finished, stopped, or being written."""
        return Reader(Path(folder), open_to_read(Path(folder) / DATABASE))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with self._alone:
            self._connection.close()

    @property
    def definition(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._meta("definition"))
        return found

    @property
    def versions(self) -> dict[str, str]:
        """The packages that the run was begun with."""
        found: dict[str, str] = json.loads(self._meta("versions"))
        return found

    @property
    def labels(self) -> tuple[str, ...]:
        """The models of the plan, in order."""
        return tuple(label for (label,) in self._rows("SELECT label FROM model ORDER BY id"))

    def layers(self, label: str) -> frozenset[int] | None:
        """What was asked of a planned model; None: every layer."""
        ((found,),) = self._rows("SELECT layers FROM model WHERE label = ?", label)
        return None if found is None else layers_read(found)

    def about(self, label: str) -> dict[str, Any]:
        """What was said about a planned model."""
        ((found,),) = self._rows("SELECT about FROM model WHERE label = ?", label)
        content: dict[str, Any] = json.loads(found)
        return content

    def missing(
        self, items: Iterable[str], layers: Iterable[int] | None = None, *, retry: bool = True
    ) -> dict[str, frozenset[int] | None]:
        """What is not there yet, in the order asked: item → the layers it lacks.

        `layers=None` wants every layer the model has; what an item lacks is None then. What has
        failed is missing, unless `retry=False`.
        """
        wanted = None if layers is None else frozenset(layers)
        lacking: dict[str, frozenset[int] | None] = {}
        for asked in _chunks(dict.fromkeys(items), _ASKED):
            known = self._items(asked)
            for item in asked:
                row = known.get(item)
                has = layers_read(row.layers) if row else frozenset()
                if row and covers(has, whole=bool(row.whole), wanted=wanted):
                    continue
                if retry or row is None or row.reason is None:
                    lacking[item] = None if wanted is None else wanted - has
        return lacking

    @property
    def empty(self) -> bool:
        """Nothing was kept, not even a failure."""
        return not self._rows("SELECT 1 FROM item LIMIT 1")

    def parts(self, item: str) -> dict[int, bytes]:
        """The results of one item by layer; empty if there are none."""
        return dict(next(self.read([item])).parts)

    def read(
        self, items: Iterable[str], *, layers: Collection[int] | None = None
    ) -> Iterator[Result]:
        """One result for every item asked, in that order; a few in memory at a time."""
        for asked in _chunks(items, _HELD):
            found = self._results(asked, None if layers is None else frozenset(layers))
            yield from (found[item] for item in asked)

    def planned(self, label: str) -> Iterator[Planned]:
        """The plan of a model, in order."""
        return (status.planned for status in self.statuses(label))

    def statuses(self, label: str) -> Iterator[Status]:
        """How far each planned prompt of a model is, in order."""
        wanted, first = self.layers(label), 0
        while rows := self._rows(
            "SELECT p.prompt, lower(hex(p.item)), p.source, p.tokens, i.layers, i.whole, i.reason "
            "FROM plan p LEFT JOIN item i ON i.hash = p.item "
            "WHERE p.model = (SELECT id FROM model WHERE label = ?) AND p.place >= ? "
            f"ORDER BY p.place LIMIT {_PLANNED}",
            *(label, first),
        ):
            for *planned, has, whole, reason in rows:
                state = _state(has, whole, reason is not None, wanted)
                yield Status(Planned(*planned), state, reason if state == "failed" else None)
            first += len(rows)

    def failures(self, limit: int | None = 10) -> list[tuple[str, Status]]:
        """The first that failed, or all, with their model's label."""
        failed = (
            (label, status)
            for label in self.labels
            for status in self.statuses(label)
            if status.state == "failed"
        )
        return list(islice(failed, limit))

    def counts(self) -> list[Count]:
        """How far each model of the plan is."""
        rows = self._rows(
            "SELECT m.label, m.layers, i.layers, i.whole, i.reason IS NOT NULL, COUNT(*), "
            "SUM(i.tokens), SUM(p.tokens), COUNT(p.tokens) "
            "FROM plan p JOIN model m ON m.id = p.model LEFT JOIN item i ON i.hash = p.item "
            "GROUP BY 1, 2, 3, 4, 5"
        )
        expected = self.expected
        known = dict.fromkeys((*self.labels, *expected))
        counts = {label: Count(label, tokens_waiting=0) for label in known}
        for label, wanted, has, whole, failed, number, *tokens in rows:
            layers = None if wanted is None else layers_read(wanted)
            state = _state(has, whole, bool(failed), layers)
            counts[label] = _counted(counts[label], state, number, tokens)
        return [_with_rest(count, expected.get(count.label, 0)) for count in counts.values()]

    @property
    def expected(self) -> dict[str, int]:
        """How many prompts each model of the last command is to see; empty if it did not say."""
        rows = self._rows("SELECT value FROM meta WHERE key = 'expected'")
        return dict(json.loads(rows[0][0])) if rows else {}

    def unasked_layers(self) -> frozenset[int]:
        """Layers that planned prompts have, but that the last command did not ask for."""
        rows = self._rows(
            "SELECT DISTINCT m.label, m.layers, i.layers FROM plan p "
            "JOIN model m ON m.id = p.model JOIN item i ON i.hash = p.item "
            "WHERE m.layers IS NOT NULL"
        )
        asked = self.expected
        return frozenset().union(
            *(
                layers_read(has) - layers_read(wanted)
                for label, wanted, has in rows
                if not asked or label in asked
            )
        )

    def unasked(self) -> int:
        """Results that are kept, but that the last command did not ask for."""
        marks = ",".join("?" * len(self.expected))
        among = f"WHERE m.label IN ({marks})" if marks else ""
        ((number,),) = self._rows(
            "SELECT COUNT(*) FROM item WHERE reason IS NULL AND hash NOT IN "
            f"(SELECT p.item FROM plan p JOIN model m ON m.id = p.model {among})",
            *self.expected,
        )
        return int(number)

    def session(self) -> Session | None:
        """The last time that a process was at work here."""
        rows = self._rows(
            "SELECT pid, host, born, started, updated, ended, doing, versions FROM session "
            "ORDER BY id DESC LIMIT 1"
        )
        for pid, host, born, started, updated, ended, doing, versions in rows:
            writer = Writer(pid, host, born)
            return Session(writer, started, updated, ended, doing, json.loads(versions))
        return None

    def pace(self) -> list[tuple[float, int, int]]:
        """When results came in lately: (time, prompts, tokens), oldest first."""
        return self._rows("SELECT at, prompts, tokens FROM pace ORDER BY at")

    def _meta(self, key: str) -> str:
        rows = self._rows("SELECT value FROM meta WHERE key = ?", key)
        if not rows:
            raise damaged(self.path, f"it does not say its {key}")
        return str(rows[0][0])

    def _items(self, items: Collection[str]) -> dict[str, _Item]:
        """The rows of the items that have one."""
        hashes = {item: bytes.fromhex(item) for item in items}
        rows = self._rows(
            "SELECT hash, id, layers, whole, tokens, info, reason FROM item "
            f"WHERE hash IN ({','.join('?' * len(hashes))})",
            *hashes.values(),
        )
        known = {row[0]: _Item(*row[1:]) for row in rows}
        return {item: known[found] for item, found in hashes.items() if found in known}

    def _results(self, items: list[str], layers: frozenset[int] | None) -> dict[str, Result]:
        known = self._items(items)
        parts: dict[int, dict[int, bytes]] = {row.id: {} for row in known.values()}
        for item, layer, content, crc in self._parts(parts, layers):
            if zlib.crc32(content) != crc:
                raise damaged(self.path, "the bytes of a result are not those that were stored")
            parts[item][layer] = content
        for row in known.values():
            has = layers_read(row.layers)
            if parts[row.id].keys() != (has if layers is None else has & layers):
                raise damaged(self.path, "a result that was stored is not there")
        return {item: _result(item, known.get(item), parts) for item in items}

    def _parts(self, ids: Collection[int], layers: frozenset[int] | None) -> list[tuple[Any, ...]]:
        marks = ",".join("?" * len(ids))
        question = f"SELECT item, layer, content, crc FROM part WHERE item IN ({marks})"
        if layers is not None:
            question += f" AND layer IN ({','.join(str(int(layer)) for layer in layers)})"
        return self._rows(f"{question} ORDER BY item, layer", *ids)

    def _rows(self, question: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._alone, trouble(self.path):
            return self._connection.execute(question, values).fetchall()


@dataclass(frozen=True)
class _Item:
    id: int
    layers: str
    whole: int
    tokens: int
    info: str
    reason: str | None


def _result(item: str, row: _Item | None, parts: Mapping[int, Mapping[int, bytes]]) -> Result:
    if row is None:
        return Result(item, {}, {}, 0)
    return Result(item, parts[row.id], json.loads(row.info), row.tokens)


def _state(
    has: str | None, whole: int | None, failed: bool, wanted: frozenset[int] | None
) -> State:
    if has is None:
        return "waiting"
    if covers(layers_read(has), whole=bool(whole), wanted=wanted):
        return "done"
    return "failed" if failed else "waiting"


def _counted(count: Count, state: State, number: int, tokens: list[int | None]) -> Count:
    """One more group of prompts; `tokens`: measured, planned, of how many prompts planned."""
    measured, planned, known = (value or 0 for value in tokens)
    count = replace(count, **{state: getattr(count, state) + number})
    if state == "done":
        return replace(count, tokens=count.tokens + measured)
    if state == "waiting":
        sure = count.tokens_waiting is not None and known == number
        return replace(
            count, tokens_waiting=(count.tokens_waiting or 0) + planned if sure else None
        )
    return count


def _with_rest(count: Count, expected: int) -> Count:
    """Prompts that no plan names yet are waiting, too."""
    rest = expected - count.total
    if rest <= 0:
        return count
    return replace(count, waiting=count.waiting + rest, tokens_waiting=None)


def _chunks(values: Iterable[T], size: int) -> Iterator[list[T]]:
    source = iter(values)
    while chunk := list(islice(source, size)):
        yield chunk
