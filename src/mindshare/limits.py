"""What foreign programs may use: a time for a regular expression, time and memory for a template;
and how large a file may be that is read whole.

A pattern is matched by Python's own `re`, so that it takes the characters it always took. (`regex`
has a timeout, but another idea of `\\w` and `\\s`; `re2` lacks look-around and back-references.)
While `re` is at work nothing in its process can stop it, so a pattern that might run away is
matched in a process of its own. That takes about 0.3 ms, for one text or for many short ones.

A template is rendered by transformers, in this process; but first it is tried in one of its own,
where a single operation that takes hours, or all memory, ends with that process.
"""

from __future__ import annotations

import atexit
import errno
import os
import pickle
import re
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

SECONDS = 5.0  # for one text, or for several that are asked about together
MEMORY = 1 << 30  # bytes for a template, where the system can limit that
LARGEST = 256 << 20  # bytes of a file that is read whole
_SHORT = 10_000  # characters that a single repeat gets through in less than a second
_MATCHER = """
import pickle, re, sys
source, sink = sys.stdin.buffer, sys.stdout.buffer
sink.write(b"!")
sink.flush()
while True:
    try:
        pattern, texts, first = pickle.load(source)
    except EOFError:
        break
    search = re.compile(pattern)
    if first:
        pickle.dump([search.search(text) is not None for text in texts], sink)
    else:
        pickle.dump([[match.span() for match in search.finditer(text)] for text in texts], sink)
    sink.flush()
"""
_RENDERER = """
import functools, json, pickle, sys
sys.path[:] = sys.argv[2:]
import jinja2, jinja2.ext
from datetime import datetime
from jinja2.sandbox import ImmutableSandboxedEnvironment
class Generation(jinja2.ext.Extension):
    tags = {"generation"}
    def parse(self, parser):
        next(parser.stream)
        return parser.parse_statements(["name:endgeneration"], drop_needle=True)
def refuse(message):
    raise jinja2.TemplateError(message)
def to_json(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                      sort_keys=sort_keys)
place = ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
place.filters["tojson"] = to_json
place.globals["raise_exception"] = refuse
place.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
compiled = functools.lru_cache(8)(place.from_string)
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), int(sys.argv[1])))
except (ImportError, ValueError, OSError):
    pass
source, sink = sys.stdin.buffer, sys.stdout.buffer
sink.write(b"!")
sink.flush()
while True:
    try:
        template, values = pickle.load(source)
    except EOFError:
        break
    try:
        found = len(compiled(template).render(values))
    except MemoryError:
        found = None
    except Exception:
        found = 0
    pickle.dump(found, sink)
    sink.flush()
"""


def require_file(path: Path) -> None:
    """An OSError for a pipe or a device: it may never end, and can't be read twice."""
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # to open a folder fails by itself
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a file on a disk")


def read_whole(path: Path) -> bytes:
    """The content of a file, where nothing smaller than all of it can be read; else an OSError."""
    require_file(path)
    if os.stat(path).st_size > LARGEST:
        raise OSError(errno.EINVAL, f"it has more than {LARGEST >> 20} MB")
    return path.read_bytes()


@lru_cache(maxsize=1024)
def pattern_problem(pattern: str) -> str | None:
    """Why this is no regular expression; None if it is one."""
    try:
        re.compile(pattern)
    except re.error as error:
        return error.msg if error.pos is None else f"{error.msg} at position {error.pos}"
    except OverflowError:
        return "a number of repeats is too large"
    except (RecursionError, MemoryError):
        return "it is nested too deeply"
    return None


def matches(pattern: str, text: str) -> list[tuple[int, int]]:
    """Where the pattern matches; a TimeoutError if that takes more than a few seconds."""
    if _is_quick(pattern, text):
        return [match.span() for match in re.finditer(pattern, text)]
    (spans,) = _matcher.ask((pattern, [text], False))
    return list(spans)


def is_match(pattern: str, text: str) -> bool:
    """Whether it matches anywhere; a TimeoutError if that takes more than a few seconds."""
    return are_matches(pattern, [text])[0]


def are_matches(pattern: str, texts: Sequence[str]) -> list[bool]:
    """The same of each text; a TimeoutError if all together take more than a few seconds."""
    if all(_is_quick(pattern, text) for text in texts):
        return [re.search(pattern, text) is not None for text in texts]
    found: list[bool] = _matcher.ask((pattern, texts, True))
    return found


def _is_quick(pattern: str, text: str) -> bool:
    """Whether no text of this length can take long: one repeat, and no choices in brackets."""
    repeats = sum(map(pattern.count, "*+{?"))
    choices = "(" in pattern and "|" in pattern
    return not choices and (repeats == 0 or (repeats == 1 and len(text) <= _SHORT))


def try_template(template: str, values: Mapping[str, Any]) -> None:
    """Raise a TimeoutError or a MemoryError if a chat template runs away with these values.

    What else is wrong with it shows when it is rendered.
    """
    found: int | None = _renderer.ask((template, dict(values)))
    if found is None:
        raise MemoryError("it fills the memory")


class _Process:
    """A process that works for this one, started when it is first needed: a request, an answer."""

    def __init__(self, program: str, *arguments: str) -> None:
        self._program, self._arguments = program, arguments
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0  # a forked process must not share its parent's

    def ask(self, request: object) -> Any:
        with self._lock:
            process = self._running()
            assert process.stdin is not None
            assert process.stdout is not None
            late = threading.Timer(SECONDS, process.kill)
            late.start()
            try:
                pickle.dump(request, process.stdin)
                process.stdin.flush()
                return pickle.load(process.stdout)
            except (EOFError, OSError, pickle.UnpicklingError):
                self._stop(process)
                raise TimeoutError(f"it takes more than {SECONDS:g} seconds") from None
            except BaseException:  # interrupted: what comes next would be another's answer
                self._stop(process)
                raise
            finally:
                late.cancel()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._owner != os.getpid():
            command = [sys.executable, "-I", "-S", "-c", self._program, *self._arguments, *sys.path]
            pipe = subprocess.PIPE
            process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, start_new_session=True
            )
            self._process, self._owner = process, os.getpid()
            atexit.register(self._stop, process)
            assert process.stdout is not None
            process.stdout.read(1)  # it is ready: its start is not counted
        return self._process

    def _stop(self, process: subprocess.Popen[bytes]) -> None:
        if self._owner != os.getpid():
            return  # a forked process leaves its parent's alone
        process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):  # what was not written yet
                    stream.close()
        process.wait()
        self._process = None


_matcher = _Process(_MATCHER)
_renderer = _Process(_RENDERER, str(MEMORY))


@contextmanager
def bounded(seconds: float = SECONDS) -> Iterator[None]:
    """Python functions called inside end with a TimeoutError after these seconds, in any thread.

    A limit of memory would be the whole process's, and so meet a forward pass in another thread.
    """
    end = time.monotonic() + seconds

    def look(_frame: Any, _event: str, _argument: Any) -> Any:
        if time.monotonic() > end:
            raise TimeoutError(f"it takes more than {seconds:g} seconds")
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        yield
    finally:
        sys.settrace(before)
