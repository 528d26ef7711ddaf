"""A run on disk: what was measured goes in, batch by batch, and is never lost or measured twice.

    with Store.open("results/maps", definition) as store:
        store.plan("smollm2", [Planned(prompt.id, item), …], layers=[0, 5])
        for batch in … store.missing(items, layers) …:
            store.put([Done(item, "smollm2", prompt.id, {0: b"…", 5: b"…"}), …])
        for result in store.read(items): …

A batch is one transaction: when `put` has returned, its results outlive a killed process and a
power cut; a process that is killed loses the batches that had not returned, and nothing else. What
is stored is never overwritten. One process writes at a time; any number may read (`Reader`).

Does not know what the bytes mean, what a model is, or what the tables will look like.
"""

from __future__ import annotations

import json
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindshare.errors import OutputError, PromptError
from mindshare.runs.database import (
    DATABASE,
    check_whole,
    create,
    open_to_write,
    remove,
    trouble,
    unwritable,
)
from mindshare.runs.definition import as_json, differences, plain
from mindshare.runs.folder import invalidate, prepare
from mindshare.runs.reader import Reader
from mindshare.runs.results import Done, Failed, Planned, layers_read, layers_text, merged
from mindshare.runs.writer import Writer, lock_run, package_versions, taken

if TYPE_CHECKING:
    from filelock import BaseFileLock

_PACE = 300.0  # seconds for which it is remembered when results came in


class Store(Reader):
    """A run that this process writes to. Threads may share it."""

    def __init__(self, folder: Path, connection: sqlite3.Connection, lock: BaseFileLock) -> None:
        super().__init__(folder, connection)
        self._lock = lock
        self._session = 0

    @classmethod
    def open(
        cls,
        folder: str | Path,
        definition: Mapping[str, Any],
        *,
        create: bool = True,
        replace: bool = False,
    ) -> Store:
        """Begin a run, or go on with it.

        `definition` says what is measured, without layers, prompts and models, which may be added;
        a run with another definition is refused. `replace` forgets what is there.
        """
        folder = Path(folder)
        prepare(folder, create=create, replace=replace)
        lock = lock_run(folder)
        if lock is None:
            raise taken(folder, _last_writer(folder))
        try:
            return _opened(folder, plain(definition), lock, replace=replace)
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
        if not (folder / DATABASE).exists():
            return
        lock = lock_run(folder)
        if lock is None:
            raise taken(folder, _last_writer(folder))
        try:
            with Reader.at(folder) as there:
                if not there.empty:
                    _require_same(there, plain(definition))
        finally:
            lock.release()

    def close(self) -> None:
        """Say that the work has ended, and let others write."""
        with self._alone:
            # On a full disk this can't be said; nothing else is lost by it.
            with suppress(OutputError, sqlite3.ProgrammingError):
                now = time.time()
                self._write("UPDATE session SET ended = ? WHERE id = ?", now, self._session)
            super().close()
            self._lock.release()

    @property
    def other_versions(self) -> dict[str, tuple[str | None, str | None]]:
        """Packages that are not those the run was begun with: name → (then, now)."""
        then, now = self.versions, package_versions()
        names = sorted({*then, *now})
        return {n: (then.get(n), now.get(n)) for n in names if then.get(n) != now.get(n)}

    def plan(
        self,
        label: str,
        prompts: Iterable[Planned],
        *,
        layers: Iterable[int] | None = None,
        about: Mapping[str, Any] | None = None,
        first: int = 0,
    ) -> int:
        """Which prompts a model is to see, in order, and in which layers (None: every one).

        Takes the place of the model's earlier plan from number `first` on, so that a long plan can
        come in pieces; results stay. Gives the number of prompts planned so far.
        """
        wanted = None if layers is None else layers_text(frozenset(layers))
        with self._transaction():
            model = self._model(label, wanted, as_json(about or {}))
            self._write("DELETE FROM plan WHERE model = ? AND place >= ?", model, first)
            return first + self._plan_rows(model, prompts, first)

    def expect(self, prompts: Mapping[str, int]) -> None:
        """Say beforehand which models are to see how many prompts, as plans come in pieces."""
        with self._transaction():
            self._write(
                "INSERT INTO meta VALUES ('expected', ?) "
                "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                as_json(prompts),
            )

    def forget(self, label: str) -> None:
        """Take a model out of the plan; its results stay."""
        with self._transaction():
            self._write(
                "DELETE FROM plan WHERE model = (SELECT id FROM model WHERE label = ?)", label
            )
            self._write("DELETE FROM model WHERE label = ?", label)

    def put(self, batch: Sequence[Done | Failed]) -> None:
        """Keep a batch, all of it or nothing. What is there already stays as it is."""
        with self._transaction():
            for one in batch:
                if isinstance(one, Done):
                    self._keep(one)
                else:
                    self._fail(one)
            self._came_in(len(batch), sum(one.tokens for one in batch if isinstance(one, Done)))

    def working_on(self, label: str) -> None:
        """Tell onlookers which model is at work; the pace is counted from here."""
        with self._transaction():
            self._write("UPDATE session SET doing = ? WHERE id = ?", label, self._session)
            self._write("DELETE FROM pace")
            self._came_in(0, 0)

    def _check(self, definition: Mapping[str, Any]) -> None:
        """Refuse a run that measures something else; look closely at what a killed process left."""
        last = self.session()
        if last is not None and last.ended is None:
            check_whole(self.path, self._connection)
        if self.empty:  # nothing that could be mixed
            self._redefine(definition)
        else:
            _require_same(self, definition)

    def _redefine(self, definition: Mapping[str, Any]) -> None:
        with self._transaction():
            self._write("DELETE FROM plan")
            self._write("DELETE FROM model")
            text = as_json(definition)
            self._write("UPDATE meta SET value = ? WHERE key = 'definition'", text)

    def _begin(self) -> None:
        writer, now = Writer.here(), time.time()
        with self._transaction():
            self._write("DELETE FROM pace")
            self._session = self._write(
                "INSERT INTO session (started, updated, pid, host, born, versions) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                *(now, now, writer.pid, writer.host, writer.born, as_json(package_versions())),
            )

    def _model(self, label: str, layers: str | None, about: str) -> int:
        self._write(
            "INSERT INTO model (label, layers, about) VALUES (?, ?, ?) ON CONFLICT (label) "
            "DO UPDATE SET layers = excluded.layers, about = excluded.about",
            *(label, layers, about),
        )
        ((number,),) = self._rows("SELECT id FROM model WHERE label = ?", label)
        return int(number)

    def _plan_rows(self, model: int, prompts: Iterable[Planned], first: int) -> int:
        number = 0
        for number, one in enumerate(prompts, start=1):
            row = (model, first + number - 1, one.prompt, bytes.fromhex(one.item))
            try:
                self._connection.execute(
                    "INSERT INTO plan VALUES (?, ?, ?, ?, ?, ?)", (*row, one.place, one.tokens)
                )
            except sqlite3.IntegrityError:
                raise self._twice(model, one) from None
        return number

    def _twice(self, model: int, one: Planned) -> PromptError:
        question = "SELECT source, place FROM plan WHERE model = ? AND prompt = ?"
        ((source, place),) = self._rows(question, model, one.prompt)
        before = source or f"prompt number {place + 1}"
        return PromptError(
            f"the prompt id {one.prompt!r} stands for two prompts; the first is {before}",
            where=one.place,
            next_step="remove the duplicate, or give each prompt an id of its own",
        )

    def _keep(self, one: Done) -> None:
        number, has, info = self._entry(one)
        new = sorted(one.parts.keys() - has)
        rows = [(number, n, one.parts[n], zlib.crc32(one.parts[n])) for n in new]
        self._connection.executemany("INSERT INTO part VALUES (?, ?, ?, ?)", rows)
        self._write(
            "UPDATE item SET layers = ?, whole = max(whole, ?), tokens = max(tokens, ?), info = ?, "
            "reason = NULL WHERE id = ?",
            *(layers_text({*has, *new}), one.whole, one.tokens, as_json(merged(info, one.info))),
            number,
        )

    def _fail(self, one: Failed) -> None:
        number, _, _ = self._entry(one)
        self._write("UPDATE item SET reason = ? WHERE id = ?", one.reason, number)

    def _entry(self, one: Done | Failed) -> tuple[int, frozenset[int], dict[str, Any]]:
        """An item's row, made if it is new: number, the layers it has, what is known of it."""
        found = self._items([one.item]).get(one.item)
        if found is not None:
            return found.id, layers_read(found.layers), json.loads(found.info)
        number = self._write(
            "INSERT INTO item (hash, label, prompt, layers, whole, tokens, info) "
            "VALUES (?, ?, ?, '', 0, 0, '{}')",
            *(bytes.fromhex(one.item), one.label, one.prompt),
        )
        return number, frozenset(), {}

    def _came_in(self, prompts: int, tokens: int) -> None:
        now = time.time()
        self._write("INSERT INTO pace VALUES (?, ?, ?)", now, prompts, tokens)
        # The last few stay, however slow they come.
        self._write(
            "DELETE FROM pace WHERE at < ? AND rowid < (SELECT max(rowid) FROM pace) - 2",
            now - _PACE,
        )
        self._write("UPDATE session SET updated = ? WHERE id = ?", now, self._session)

    def _write(self, statement: str, *values: Any) -> int:
        with self._alone, trouble(self.path):
            return self._connection.execute(statement, values).lastrowid or 0

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._alone, trouble(self.path):
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


def _opened(
    folder: Path, definition: dict[str, Any], lock: BaseFileLock, *, replace: bool
) -> Store:
    """With the lock held."""
    path = folder / DATABASE
    if replace:
        invalidate(folder)
        remove(path)
    if not path.exists():
        create(path, {"definition": as_json(definition), "versions": as_json(package_versions())})
    store = Store(folder, open_to_write(path), lock)
    try:
        store._check(definition)
        store._begin()
    except BaseException:
        store._connection.close()
        raise
    return store


def _require_same(there: Reader, definition: Mapping[str, Any]) -> None:
    """Two definitions are never mixed."""
    differ = differences(there.definition, definition)
    if not differ:
        return
    lines = [f"{one.name}: {one.a_text} there, {one.b_text} now" for one in differ]
    raise OutputError(
        f"{there.folder} holds a run with another definition, and two are never mixed\n"
        + "\n".join(lines),
        next_step="choose another folder (--out; in Python, into=), or forget that run with "
        "--replace (mindshare.study.Into(…, replace=True))",
    )


def _last_writer(folder: Path) -> Writer | None:
    """Who wrote last, if the store tells; the lock does not."""
    try:
        with Reader.at(folder) as reader:
            session = reader.session()
    except OutputError:  # it may be being made
        return None
    return session.writer if session is not None and session.ended is None else None
