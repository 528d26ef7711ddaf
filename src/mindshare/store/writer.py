"""A run's SQLite file, written: results go in, batch by batch, and are never lost or made twice.

    with RunWriter.open("results/maps", definition) as run:
        run.plan("smollm2", [Planned(prompt.id, item), …], layers=[0, 5])
        for batch in … run.missing(items, layers) …:
            run.put([Done(item, "smollm2", prompt.id, {0: b"…", 5: b"…"}), …])

A batch is one transaction: once `put` has returned, its results survive a killed process and a
power cut. What is stored is never overwritten. One process writes at a time.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindshare.errors import OutputError, PromptError
from mindshare.store.database import (
    DATABASE,
    WriterProcess,
    check_whole,
    create,
    lock_run,
    locked_by,
    open_to_write,
    package_versions,
    remove,
    sqlite_errors,
    unwritable,
)
from mindshare.store.finaliser import invalidate, prepare
from mindshare.store.reader import (
    CRC,
    Done,
    ItemRow,
    Planned,
    RunReader,
    as_json,
    differences,
    item_crc,
    layers_text,
    parse_layers,
    through_json,
)

if TYPE_CHECKING:
    from filelock import BaseFileLock

_PACE_KEPT = 300.0  # seconds for which it is remembered when results came in


@dataclass(frozen=True)
class Failed:
    """What could not be measured, and why."""

    item: str
    label: str
    prompt: str
    reason: str


class RunWriter(RunReader):
    """A run that this process writes to. Threads may share it."""

    def __init__(self, folder: Path, connection: sqlite3.Connection, lock: BaseFileLock) -> None:
        super().__init__(folder, connection)
        self._lock = lock
        self._session = 0

    @classmethod
    def open(
        cls, folder: str | Path, definition: Mapping[str, Any], *, replace: bool = False
    ) -> RunWriter:
        """Begin a run, or go on with it.

        `definition` says what is measured, without layers, prompts and models, which may be added;
        a run with another definition is refused. `replace` forgets what is there.
        """
        folder = Path(folder)
        prepare(folder, replace=replace)
        lock = _lock_or_refuse(folder)
        try:
            return _open_locked(folder, through_json(definition), lock, replace=replace)
        except OSError as error:
            lock.release()
            raise unwritable(folder, error.strerror or str(error)) from error
        except BaseException:
            lock.release()
            raise

    @staticmethod
    def check(folder: str | Path, definition: Mapping[str, Any]) -> None:
        """Refuse a run that could not be gone on with, before work is done for it."""
        folder = Path(folder)
        if not os.path.exists(folder / DATABASE):
            return
        lock = _lock_or_refuse(folder)
        try:
            with RunReader.at(folder) as run:
                if not run.empty:
                    _require_same(run, definition)
        finally:
            lock.release()

    def close(self) -> None:
        """Note that the work has ended, and let others write."""
        with self._mutex:
            # On a full disk this can't be noted; nothing else is lost by it.
            with suppress(OutputError, sqlite3.ProgrammingError):
                now = time.time()
                self._write("UPDATE session SET ended = ? WHERE id = ?", now, self._session)
            super().close()
            self._lock.release()

    def plan(
        self,
        label: str,
        prompts: Iterable[Planned],
        *,
        layers: Iterable[int] | None = None,
        first: int = 0,
    ) -> int:
        """Which prompts a model is to see, in order, and in which layers (None: every one).

        Takes the place of the model's earlier plan from number `first` on, so that a long plan can
        come in pieces; results stay. Gives the number of prompts planned so far.
        """
        wanted, number = None if layers is None else layers_text(frozenset(layers)), first
        with self._transaction():
            self._write(
                "INSERT INTO model (label, layers, about) VALUES (?, ?, '{}') ON CONFLICT (label) "
                "DO UPDATE SET layers = excluded.layers, about = excluded.about",
                *(label, wanted),
            )
            ((model,),) = self.rows("SELECT id FROM model WHERE label = ?", label)
            self._write("DELETE FROM plan WHERE model = ? AND place >= ?", model, first)
            for number, prompt in enumerate(prompts, start=first + 1):
                row = (model, number - 1, prompt.prompt, bytes.fromhex(prompt.item))
                try:
                    self._connection.execute(
                        "INSERT INTO plan VALUES (?, ?, ?, ?, ?, ?)",
                        (*row, prompt.source, prompt.tokens),
                    )
                except sqlite3.IntegrityError:
                    raise self._duplicate(model, prompt) from None
        return number

    def expect(self, prompts: Mapping[str, int]) -> None:
        """Note beforehand which models are to see how many prompts, as plans come in pieces."""
        with self._transaction():
            self._write(
                "INSERT INTO meta VALUES ('expected', ?) "
                "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                as_json(prompts),
            )

    def put(self, batch: Sequence[Done | Failed]) -> None:
        """Store a batch, all of it or nothing. What is there already stays as it is."""
        with self._transaction():
            for result in batch:
                self._put_one(result)
            tokens = sum(result.tokens for result in batch if isinstance(result, Done))
            self._note_pace(len(batch), tokens)

    def working_on(self, label: str) -> None:
        """Note for `status` which model is at work; the pace is counted from here."""
        with self._transaction():
            self._write("UPDATE session SET doing = ? WHERE id = ?", label, self._session)
            self._write("DELETE FROM pace")
            self._note_pace(0, 0)

    def _begin(self, definition: Mapping[str, Any]) -> None:
        """Refuse a run that measures something else; check in full what a killed process left."""
        last = self.session()
        if last is not None and last.ended is None:
            check_whole(self.path, self._connection)
        if not self.empty:
            _require_same(self, definition)
        writer, now, text = WriterProcess.here(), time.time(), as_json(definition)
        with self._transaction():
            if self.empty:  # nothing that could be mixed: this definition takes its place
                self._write("DELETE FROM plan")
                self._write("DELETE FROM model")
                self._write("UPDATE meta SET value = ? WHERE key = 'definition'", text)
            self._write("DELETE FROM pace")
            self._session = self._write(
                "INSERT INTO session (started, updated, pid, host, born, versions) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                *(now, now, writer.pid, writer.host, writer.born),
                as_json(package_versions()),
            )

    def _duplicate(self, model: int, prompt: Planned) -> PromptError:
        query = "SELECT source, place FROM plan WHERE model = ? AND prompt = ?"
        ((source, place),) = self.rows(query, model, prompt.prompt)
        first = source or f"prompt number {place + 1}"
        return PromptError(
            f"the prompt id {prompt.prompt!r} stands for two prompts; the first is {first}",
            where=prompt.source,
            next_step="remove the duplicate, or give each prompt an id of its own",
        )

    def _put_one(self, result: Done | Failed) -> None:
        row = self._item_rows([result.item]).get(result.item)
        if row is None:
            number = self._write(
                "INSERT INTO item (hash, label, prompt, layers, whole, tokens, info) "
                "VALUES (?, ?, ?, '', 0, 0, '{}')",
                *(bytes.fromhex(result.item), result.label, result.prompt),
            )
            row = ItemRow(number, result.label, result.prompt, "", 0, 0, "{}")
        if isinstance(result, Failed):
            self._write("UPDATE item SET reason = ? WHERE id = ?", result.reason, row.id)
            return
        with self.reading("the layers of a result"):
            has = parse_layers(row.layers)
        new = {layer: result.parts[layer] for layer in sorted(result.parts.keys() - has)}
        self._connection.executemany(
            "INSERT INTO part VALUES (?, ?, ?, ?)",
            [(row.id, layer, content, zlib.crc32(content)) for layer, content in new.items()],
        )
        layers, whole = layers_text({*has, *new}), bool(row.whole) or result.whole
        with self.reading("a result"):
            known = json.loads(row.info)
        crc = item_crc(bytes.fromhex(result.item), layers, whole)
        self._write(
            "UPDATE item SET layers = ?, whole = ?, tokens = max(tokens, ?), info = ?, "
            "reason = NULL WHERE id = ?",
            *(layers, whole, result.tokens),
            *(as_json({**merged(known, result.info), CRC: crc}), row.id),
        )

    def _note_pace(self, prompts: int, tokens: int) -> None:
        now = time.time()
        self._write("INSERT INTO pace VALUES (?, ?, ?)", now, prompts, tokens)
        # The last few stay, however slow they come.
        self._write(
            "DELETE FROM pace WHERE at < ? AND rowid < (SELECT max(rowid) FROM pace) - 2",
            now - _PACE_KEPT,
        )
        self._write("UPDATE session SET updated = ? WHERE id = ?", now, self._session)

    def _write(self, statement: str, *values: Any) -> int:
        """The id of the row that was inserted, if one was."""
        with self._mutex, sqlite_errors(self.path):
            return self._connection.execute(statement, values).lastrowid or 0

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._mutex, sqlite_errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                # Some errors have ended the transaction already.
                if self._connection.in_transaction:
                    with suppress(sqlite3.Error):
                        self._connection.execute("ROLLBACK")
                raise


def _open_locked(
    folder: Path, definition: dict[str, Any], lock: BaseFileLock, *, replace: bool
) -> RunWriter:
    path = folder / DATABASE
    if replace:
        invalidate(folder)
        remove(path)
    if not os.path.exists(path):
        versions = as_json(package_versions())
        create(path, {"definition": as_json(definition), "versions": versions})
    run = RunWriter(folder, open_to_write(path), lock)
    try:
        run._begin(definition)
    except BaseException:
        run._connection.close()
        raise
    return run


def _require_same(run: RunReader, definition: Mapping[str, Any]) -> None:
    """Two definitions are never mixed."""
    different = differences(run.definition, definition)
    if not different:
        return
    lines = [f"{part.name}: {part.a_text} there, {part.b_text} now" for part in different]
    raise OutputError(
        f"{run.folder} holds a run with another definition, and two are never mixed\n"
        + "\n".join(lines),
        next_step="choose another folder (--out; in Python, into=), or forget that run with "
        "--replace (mindshare.study.RunFolder(…, replace=True))",
    )


def _lock_or_refuse(folder: Path) -> BaseFileLock:
    """The run's lock, held; a process that holds it already is named."""
    lock = lock_run(folder)
    if lock is not None:
        return lock
    try:
        with RunReader.at(folder) as run:
            session = run.session()
    except OutputError:  # it may be being made
        session = None
    raise locked_by(folder, session.writer if session and session.ended is None else None)


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Both together; what was there first stays."""
    both = {**new, **old}
    for key in old.keys() & new.keys():
        if isinstance(old[key], Mapping) and isinstance(new[key], Mapping):
            both[key] = merged(old[key], new[key])
    return both
