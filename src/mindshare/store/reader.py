"""A run's SQLite file, read: its definition, its plan, what is missing, and the results.

    with RunReader.at("results/maps") as run:
        run.definition, run.labels, run.missing(items)
        for result in run.read(items): …

Any number of processes may read at any time, also while one writes. A run may be larger than
memory: plans and results are streamed.

An `item` is the hex content hash of prompt × condition × model × definition. A definition says what
is measured, as JSON, without the prompts, models and layers, which may be added to a run. What the
bytes of a result mean is not known here.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from mindshare.store.database import (
    DATABASE,
    WriterProcess,
    damaged,
    open_to_read,
    sqlite_errors,
)

_ITEMS_PER_QUERY = 500
_RESULTS_HELD = 32  # items whose results are in memory at once
_PLAN_ROWS = 2000  # of a plan, read at once
_ABSENT = "(not there)"
CRC = "crc"  # key of an item's `info`

Layers = frozenset[int] | None  # None: every layer the model has
T = TypeVar("T")


class Planned(NamedTuple):
    """One prompt that belongs to a run, for one model."""

    prompt: str
    item: str
    source: str | None = None  # where it was read: a file and a row
    tokens: int | None = None  # if known beforehand, the time left is told from it


@dataclass(frozen=True)
class Done:
    """What was measured of one item: packed bytes by layer. No parts: nothing is stored yet."""

    item: str
    label: str  # of the model, and the prompt's id, for which it was measured first
    prompt: str
    parts: Mapping[int, bytes]
    info: Mapping[str, Any] = field(default_factory=dict)  # JSON-able
    tokens: int = 0
    whole: bool = False  # every layer the model has is among the parts


@dataclass(frozen=True)
class Session:
    """One time that a process was at work on the run. Times are seconds since 1970."""

    writer: WriterProcess
    started: float
    updated: float
    ended: float | None  # None: still at work, or killed
    doing: str | None  # the label of the model


class ItemRow(NamedTuple):
    """A row of the table `item`; `layers` and `info` as they are stored."""

    id: int
    label: str
    prompt: str
    layers: str
    whole: int
    tokens: int
    info: str


class RunReader:
    """What is in a run. Threads may share it."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder, self.path = folder, folder / DATABASE
        self._connection, self._mutex = connection, threading.RLock()

    @classmethod
    def at(cls, folder: str | Path) -> RunReader:
        """Look at the run in a folder, whether it is finished, stopped, or being written."""
        return RunReader(Path(folder), open_to_read(Path(folder) / DATABASE))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with self._mutex:
            self._connection.close()

    @contextmanager
    def reading(self, what: str) -> Iterator[None]:
        """What can't be made sense of inside the block is damage: SQLite's pages have no checksum.

        A flipped bit may leave a text that is no JSON, a number that is a text, or none at all.
        """
        try:
            yield
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise damaged(self.path, f"{what} can't be read") from error

    @property
    def definition(self) -> dict[str, Any]:
        rows = self.rows("SELECT value FROM meta WHERE key = 'definition'")
        with self.reading("its definition"):
            ((text,),) = rows
            return dict(json.loads(text))

    @property
    def empty(self) -> bool:
        """Nothing was stored, not even a failure."""
        return not self.rows("SELECT 1 FROM item LIMIT 1")

    @property
    def labels(self) -> tuple[str, ...]:
        """The models of the plan, in order."""
        return tuple(label for (label,) in self.rows("SELECT label FROM model ORDER BY id"))

    @property
    def expected(self) -> dict[str, int]:
        """How many prompts each model of the last command is to see; empty if it did not say."""
        rows = self.rows("SELECT value FROM meta WHERE key = 'expected'")
        with self.reading("how many prompts are expected"):
            return {k: int(n) for k, n in json.loads(rows[0][0]).items()} if rows else {}

    def layers(self, label: str) -> Layers:
        """The layers that were asked of a planned model."""
        rows = self.rows("SELECT layers FROM model WHERE label = ?", label)
        with self.reading("the layers of a model"):
            ((text,),) = rows
            return None if text is None else parse_layers(text)

    def kept_layers(self, label: str) -> Layers:
        """The layers that all results of a model have; None: every layer, or no results yet."""
        rows = self.rows(
            "SELECT DISTINCT layers FROM item WHERE label = ? AND NOT whole AND layers != ''", label
        )
        with self.reading("the layers of results"):
            return frozenset.intersection(*(parse_layers(x) for (x,) in rows)) if rows else None

    def planned(self, label: str) -> Iterator[Planned]:
        """The plan of a model, in order."""
        first = 0
        while rows := self.rows(
            "SELECT prompt, lower(hex(item)), source, tokens FROM plan "
            "WHERE model = (SELECT id FROM model WHERE label = ?) AND place >= ? "
            f"ORDER BY place LIMIT {_PLAN_ROWS}",
            *(label, first),
        ):
            yield from (Planned(*row) for row in rows)
            first += len(rows)

    def missing(
        self, items: Iterable[str], layers: Iterable[int] | None = None
    ) -> dict[str, Layers]:
        """What is not there yet, in the order asked: item → the layers it lacks.

        `layers=None` wants every layer the model has; what an item lacks is None then. What has
        failed is missing.
        """
        wanted = None if layers is None else frozenset(layers)
        lacking: dict[str, Layers] = {}
        for chunk in _chunks(dict.fromkeys(items), _ITEMS_PER_QUERY):
            known = self._item_rows(chunk)
            for item in chunk:
                row = known.get(item)
                with self.reading("the layers of a result"):
                    has = parse_layers(row.layers) if row else frozenset()
                if wanted is None and not (row and row.whole):
                    lacking[item] = None
                elif wanted is not None and not wanted <= has:
                    lacking[item] = wanted - has
        return lacking

    def read(
        self, items: Iterable[str], *, layers: Collection[int] | None = None
    ) -> Iterator[Done]:
        """One result for every item, in their order; a few in memory at a time."""
        for chunk in _chunks(items, _RESULTS_HELD):
            results = self._results(chunk, None if layers is None else frozenset(layers))
            yield from (results.get(item, Done(item, "", "", {})) for item in chunk)

    def session(self) -> Session | None:
        """The last time that a process was at work here."""
        rows = self.rows(
            "SELECT pid, host, born, started, updated, ended, doing FROM session "
            "ORDER BY id DESC LIMIT 1"
        )
        with self.reading("who wrote to it"):
            for pid, host, born, *times, doing in rows:
                started, updated, ended = times
                at = None if born is None else float(born)
                over = None if ended is None else float(ended)
                writer = WriterProcess(int(pid), host, at)
                return Session(writer, float(started), float(updated), over, doing)
        return None

    def pace(self) -> list[tuple[float, int, int]]:
        """When results came in lately: (time, prompts, tokens), oldest first."""
        return self.rows("SELECT at, prompts, tokens FROM pace ORDER BY at")

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """All rows of an SQL query that changes nothing, and asks for no bytes."""
        rows = self._rows(query, *values)
        if any(isinstance(value, bytes) for row in rows for value in row):
            raise damaged(self.path, "a text that was stored is none any more")
        return rows

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._mutex, sqlite_errors(self.path):
            return self._connection.execute(query, values).fetchall()

    def _item_rows(self, items: Collection[str]) -> dict[str, ItemRow]:
        """By item, of those that have a row."""
        hashes = {item: bytes.fromhex(item) for item in items}
        # The hash is read from the row itself, not from the index that led to it: a damaged index
        # leads to other rows.
        rows = self._rows(
            "SELECT hash, id, label, prompt, layers, whole, tokens, info FROM item WHERE id IN "
            f"(SELECT id FROM item WHERE hash IN ({placeholders(hashes)}))",
            *hashes.values(),
        )
        known = {row[0]: ItemRow(*row[1:]) for row in rows}
        if not known.keys() <= set(hashes.values()) or len(known) < len(rows):
            raise damaged(self.path, "its index of results leads to others")
        for digest, row in known.items():
            with self.reading("a result"):
                crc = json.loads(row.info).get(CRC)
                expected = item_crc(digest, row.layers, row.whole)
            if crc is not None and crc != expected:
                raise damaged(self.path, "what it says of a result is not what was stored")
        return {item: known[digest] for item, digest in hashes.items() if digest in known}

    def _results(self, items: list[str], layers: Layers) -> dict[str, Done]:
        """By item, of those that have a row; every part is checked against its checksum."""
        known = self._item_rows(items)
        parts: dict[int, dict[int, bytes]] = {row.id: {} for row in known.values()}
        query = f"SELECT item, layer, content, crc FROM part WHERE item IN ({placeholders(parts)})"
        if layers is not None:
            query += f" AND layer IN ({','.join(str(int(layer)) for layer in layers)})"
        rows = self._rows(f"{query} ORDER BY item, layer", *parts)
        with self.reading("a result"):
            for number, layer, content, crc in rows:
                if zlib.crc32(content) != crc or layer in parts[number]:
                    raise damaged(self.path, "the bytes of a result are not those that were stored")
                parts[number][layer] = content
            for row in known.values():
                has = parse_layers(row.layers)
                if parts[row.id].keys() != (has if layers is None else has & layers):
                    raise damaged(self.path, "a result that was stored is not there")
            return {
                item: Done(
                    *(item, row.label, row.prompt, parts[row.id], _info(row.info), row.tokens),
                    whole=bool(row.whole),
                )
                for item, row in known.items()
            }


def placeholders(values: Collection[Any]) -> str:
    """Question marks for an SQL list of these values."""
    return ",".join("?" * len(values))


def _chunks(values: Iterable[T], size: int) -> Iterator[list[T]]:
    source = iter(values)
    while chunk := list(islice(source, size)):
        yield chunk


# How values are written as text.


def layers_text(layers: Collection[int]) -> str:
    """`0,5,6`"""
    return ",".join(map(str, sorted(layers)))


def parse_layers(text: str) -> frozenset[int]:
    return frozenset(map(int, text.split(","))) if text else frozenset()


def item_crc(digest: bytes, layers: str, whole: bool | int) -> int:
    """Of what decides which results an item has; it stands in the item's `info`."""
    number = whole if isinstance(whole, int) else -1  # a damaged store may hold anything
    return zlib.crc32(b"%b %b %d" % (digest, layers.encode(), number))


def _info(text: str) -> dict[str, Any]:
    return {key: value for key, value in json.loads(text).items() if key != CRC}


def as_json(content: Mapping[str, Any]) -> str:
    """The one way it is written, so that equal content is equal text."""
    return json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False)


def through_json(definition: Mapping[str, Any]) -> dict[str, Any]:
    """As it comes back from JSON: tuples are lists, keys are text."""
    content: dict[str, Any] = json.loads(as_json(definition))
    return content


def definition_hash(definition: Mapping[str, Any]) -> str:
    """Sixteen hex digits, as studies have them."""
    return hashlib.sha256(as_json(definition).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Difference:
    """One part that two definitions do not share; `…_text` is ready to be shown."""

    name: str  # classes.hash, measures, …
    a: Any
    b: Any

    @property
    def a_text(self) -> str:
        return _value_text(self.a)

    @property
    def b_text(self) -> str:
        return _value_text(self.b)


def differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Difference]:
    """Part by part, only what differs, by name."""
    flat_a, flat_b = dict(_flat(through_json(a))), dict(_flat(through_json(b)))
    parts = (
        Difference(name, flat_a.get(name, _ABSENT), flat_b.get(name, _ABSENT))
        for name in sorted({*flat_a, *flat_b})
    )
    return [part for part in parts if part.a_text != part.b_text]


def _flat(content: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in content.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _value_text(value: Any) -> str:
    # What is absent stands without the quotes that a value has.
    return _ABSENT if value is _ABSENT else json.dumps(value, sort_keys=True, ensure_ascii=False)
