"""Every door that takes something from outside, given good inputs with something wrong in them.

Whatever comes in, a command ends with exit code 0 or 2 within its time, writes nothing outside its
folder and opens no connection. The same seed makes the same case. `make test` runs a few seconds of
each door, `make fuzz` ten minutes; a seed that once failed goes into `KEPT`, and stays there.
"""

from __future__ import annotations

import faulthandler
import gzip
import io
import json
import os
import resource
import shutil
import signal
import socket
import sqlite3
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from mindshare import limits
from mindshare.cli import run
from tests.cli import tiny
from tests.models import tiny as tiny_models

from .mutations import mutate_bytes, mutate_text, mutate_value, odd

CASES = 25  # of each door in `make test`
SECONDS = float(os.environ.get("MINDSHARE_FUZZ_SECONDS", "20"))  # of each door, slow
FIRST = int(os.environ.get("MINDSHARE_FUZZ_SEED", str(CASES)))  # where the slow ones start
LIMIT = 90  # seconds for one case, on a slow and busy machine
MEMORY = 6 * 2**30  # bytes for one case, above what is there before
OUTPUT = 200_000  # characters that a command may print

# Seeds that failed once, by door.
KEPT: dict[str, tuple[int, ...]] = {
    # Ids of thousands of digits; a name that is no UTF-8.
    "class_rules": (6552, 6969, 203629),
    "study_files": (27, 136, 45),  # names that are too long, numbers of thousands of digits
    "data_files": (185,),  # columns that are no UTF-8
    # Padding beyond the vocabulary, special tokens outside of it, a panic of the tokenizer.
    "model_folders": (1050, 5103, 1420884),
    # Texts that are no UTF-8, a list longer than the file, millions of layers.
    "gguf_headers": (188, 479, 6747, 201476),
    # Half a surrogate pair in a manifest; names and numbers of a store that are none.
    "results_folders": (1413209, 1422978, 1429044),
}


@dataclass(frozen=True)
class Good:
    """Inputs that work, made once; a case works on copies."""

    model: Path
    base: Path  # another model, and an adapter on it
    adapter: Path
    gguf: Path
    run: Path
    chart: Path
    url: str  # of a server that no case may ask


Door = Callable[[Random, Good], list[object]]
TEXT = "Look: ## 12 **\n## it's 3.5 há"
ROWS: list[dict[str, Any]] = [
    {"id": "a", "text": "Look ## at **", "level": 3, "kind": "map", "group": "g"},
    {"id": "b", "text": "aaaaaaaaaaaaaaaaaaaaaaaaab", "level": "4", "spans": {"s": [0, 4]}},
    {"id": "c", "messages": [{"role": "user", "content": "hé ##"}], "level": None},
    {"id": "d", "text": "<<m>>1 2<</m>> 3", "level": 0.5, "answer": "6", "more": {"x": [1]}},
]  # fmt: skip


# ── doors: each writes the files of a case into the current folder and gives a command line ───────


def class_rules(rng: Random, good: Good) -> list[object]:
    rules = ("hash=#", "space=whitespace", "word=re:[a-z]+(?=x)|\\d+", "i=ids:1,2,3", "q=chars:#*@",
             "r=role:user", "s=span:map", "n=digit@map", "x=/(a|b)*c/")  # fmt: skip
    chosen = [mutate_text(rng, rule) for rule in rng.sample(rules, rng.randint(1, 3))]
    command = rng.choice(("tokens", "tokens", "tokens", "measure"))
    policy = rng.choice(("priority", "pure", "proportional"))
    classes = [f"--class={rule}" for rule in chosen]
    return [command, good.model, "--text", TEXT, "--policy", policy, *classes]


def filters(rng: Random, good: Good) -> list[object]:
    tests = (
        "level>=3",
        "kind=map",
        "kind!=map",
        "text~^Look",
        "level<2.5",
        "more~x",
        "text~(a|b)+c",
    )
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    chosen = [f"--where={mutate_text(rng, t)}" for t in rng.sample(tests, rng.randint(1, 2))]
    if rng.random() < 0.2:
        chosen.append(
            f"--column={mutate_text(rng, rng.choice(('prompt=text', 'id=id', 'group=')))}"
        )
    return ["tokens", good.model, "--data", "rows.jsonl", *chosen]


def study_files(rng: Random, good: Good) -> list[object]:
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS[:2]))
    command = rng.choice(("measure", "measure", "measure", "shares", "head-map", "insert"))
    study: dict[str, Any] = {"command": command, "data": "rows.jsonl", "layers": "0,1"}
    if command == "measure":
        more: dict[str, Any] = {"model": str(good.model), "measure": "mass,entropy", "near": 1}
    else:
        more = {"models": [f"A={good.model}"], "palette": "safe"}
    if command == "insert":
        more |= {"insert": ["/ *3"], "at": ["start"], "top": 1, "seed": 3}
    else:
        more |= {"class": ["h=#"], "policy": "pure", "queries": "all", "chunk-tokens": 8}
    study |= more
    if rng.random() < 0.6:
        key = rng.choice(list(study))
        study[key] = mutate_value(rng, study[key])
    text = "".join(f"{key} = {toml(value)}\n" for key, value in study.items())
    if rng.random() < 0.4:
        text = mutate_text(rng, text)
    Path("study.toml").write_text(text, encoding="utf-8", errors="surrogatepass")
    return ["run", "study.toml", "--out", "out"]


def data_files(rng: Random, good: Good) -> list[object]:
    rows = ROWS if rng.random() < 0.4 else mutate_value(rng, ROWS)
    kind = rng.choice(("jsonl", "json", "csv", "tsv", "txt", "parquet"))
    data = encoded(rows, kind)
    data = mutate_bytes(rng, data) if rng.random() < 0.6 else data
    name = f"rows.{kind}"
    if kind != "parquet" and rng.random() < 0.2:
        name, data = f"{name}.gz", gzip.compress(data, mtime=0)
        data = mutate_bytes(rng, data) if rng.random() < 0.5 else data
    Path(name).write_bytes(data)
    options: list[object] = ["--bad-rows", rng.choice(("stop", "skip"))]
    options += ["--marked"] if rng.random() < 0.2 else []
    options += [f"--sample={rng.choice((1, 3))}"] if rng.random() < 0.2 else []
    command = rng.choice(("tokens", "tokens", "measure"))
    return [command, good.model, "--data", name, *options]


def chat_templates(rng: Random, good: Good) -> list[object]:
    templates = (
        tiny.TEMPLATE,
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content | trim }}{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>{% endif %}",
        "{% macro f(n) %}{{ f(n + 1) if n < 3 else n }}{% endmacro %}{{ f(0) }}"
        "{%- set ns = namespace(x=0) -%}{% for m in messages %}{% set ns.x = ns.x + 1 %}"
        "{% if m.role == 'system' %}{{ raise_exception('no') }}{% endif %}{{ m.content }}"
        "{% endfor %}",
    )
    nasty = (
        "{{ ''.__class__.__mro__ }}", "{% include '../outside/secret.txt' %}", "{{ 1 / 0 }}",
        "{% for i in range(10**9) %}x{% endfor %}", "{{ 'x' * 10**12 }}", "{{ cycler.__init__ }}",
        "{{ [1] * 10**11 }}", "{{ 9 ** 9 ** 9 }}", "{{ lipsum(10**7) }}", "{{ strftime_now('%') }}",
        "{% macro g() %}{{ g() }}{% endmacro %}{{ g() }}", "{{ '%1000000000d' % 1 }}",
        "{% set x = messages.append(1) %}", "{{ messages.clear() }}", "{{ messages | tojson }}",
        "{{ ('a' * 10**6) | center(10**10) }}", "{{ 9 ** (9 ** 9) }}", "{{ 'x' * 9000000000 }}",
    )  # fmt: skip
    template = rng.choice(templates)
    if rng.random() < 0.4:
        template += rng.choice(nasty)
    chat: Any = [{"role": "system", "content": "Sum."}, {"role": "user", "content": " hé 1 "}]
    if rng.random() < 0.3:
        chat = mutate_value(rng, chat)
    folder = Path(shutil.copytree(good.model, "model"))
    template = mutate_text(rng, template) if rng.random() < 0.6 else template
    (folder / "chat_template.jinja").write_text(template, "utf-8", errors="surrogatepass")
    Path("chat.json").write_text(json.dumps(chat))
    return ["tokens", folder, "--chat", "chat.json", "--class", "u=role:user"]


def model_folders(rng: Random, good: Good) -> list[object]:
    adapted = rng.random() < 0.25
    folder = Path(shutil.copytree(good.adapter if adapted else good.model, "model"))
    if not adapted and rng.random() < 0.3:  # sharded weights
        (folder / "model.safetensors").rename(folder / "model-1.safetensors")
        names = ("model.embed_tokens.weight", "model.norm.weight", "lm_head.weight")
        index = {"weight_map": dict.fromkeys(names, "model-1.safetensors")}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    damage(rng, rng.choice(sorted(folder.iterdir())))
    command = rng.choice((["models"], ["tokens", "--text", TEXT], ["measure", "--text", TEXT]))
    if adapted and rng.random() < 0.5:
        return [*command[:1], good.base, *command[1:], "--adapter", folder]
    return [*command, folder]


def gguf_headers(rng: Random, good: Good) -> list[object]:
    data = good.gguf.read_bytes()
    head = data.index(b"token_embd.weight") + 2_000  # its fields and the list of its tensors
    Path("model.gguf").write_bytes(mutate_bytes(rng, data[:head]) + data[head:])
    return [*rng.choice((["models"], ["tokens", "--text", TEXT])), "model.gguf"]


def results_folders(rng: Random, good: Good) -> list[object]:
    if rng.random() < 0.5:
        folder = Path(shutil.copytree(good.chart, "chart"))
        damage(rng, rng.choice(sorted(folder.iterdir())), url=good.url)
        Path("words.txt").write_text("The mass of h is 0.0777 in layer 0.")
        report = ["report", folder, "--out", "report", "--format", rng.choice(("html", "md"))]
        redraw = ["redraw", folder, "--width", "8cm"]
        return rng.choice([report, report, redraw, ["check-description", "words.txt", folder]])
    folder = Path(shutil.copytree(good.run, "run"))
    damage(rng, rng.choice([folder / "run.sqlite", *sorted(folder.iterdir())]), url=good.url)
    data = Path("rows.jsonl")
    data.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    again: list[object] = ["measure", good.model, "--data", data, "--class", "h=#", "--out", folder]
    looks: list[list[object]] = [["status", folder], ["status", folder, "--json"], ["runs", "."]]
    return rng.choice([*looks, ["runs", folder, good.run, "--compare"], again])


DOORS: tuple[Door, ...] = (
    class_rules, filters, study_files, data_files, chat_templates, model_folders, gguf_headers,
    results_folders,
)  # fmt: skip


def damage(rng: Random, file: Path, url: str = "") -> None:
    """Change a file by what it is: its bytes, its values, its rows, or where it leads."""
    data = file.read_bytes()
    if rng.random() < 0.05:
        file.unlink()
        if rng.random() < 0.7:
            file.symlink_to(Path("../../outside/secret.txt"))
    elif file.suffix == ".json" and rng.random() < 0.7:
        file.write_text(json.dumps(mutate_value(rng, json.loads(data))))
    elif file.suffix == ".sqlite" and rng.random() < 0.6:
        damage_rows(rng, file)
    elif file.suffix == ".svg" and rng.random() < 0.6:
        pictures = (f'<image href="{url}"/>', f'<use xlink:href="{url}#a"/>')
        styles = (f'<style>@import "{url}";</style>', f"<g fill=\"url('{url}#x')\"/>")
        picture = rng.choice((*pictures, *styles))
        file.write_text(data.decode().replace("</svg>", picture + "</svg>"))
    else:
        file.write_bytes(mutate_bytes(rng, data))


def damage_rows(rng: Random, file: Path) -> None:
    """A table is missing, or a value of it is another."""
    with sqlite3.connect(file) as database:
        names = [
            name
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type='table'")
        ]
        table = rng.choice(sorted(names))
        columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        value = rng.choice((odd(rng), "{", b"\xff\0", None))
        value = value if isinstance(value, str | bytes | float | None) else json.dumps(value)
        if isinstance(value, str):
            value = value.encode(errors="replace").decode()
        with suppress(sqlite3.Error):
            if rng.random() < 0.2:
                database.execute(f"DROP TABLE {table}")
            elif rng.random() < 0.2:
                database.execute(f"DELETE FROM {table}")
            else:
                database.execute(f"UPDATE {table} SET {rng.choice(columns)} = ?", (value,))
    database.close()


def encoded(rows: Any, kind: str) -> bytes:
    """Rows as the bytes of a file of this kind."""
    if kind == "json":
        return json.dumps(rows).encode()
    listed = rows if isinstance(rows, list) else [rows]
    if kind == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in listed).encode()
    texts = [{k: _text(v) for k, v in row.items()} for row in listed if isinstance(row, dict)]
    if kind == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        names = sorted({key for row in texts for key in row})
        buffer = io.BytesIO()
        columns = {_text(name): [row.get(name) for row in texts] for name in names}
        pq.write_table(pa.table(columns), buffer)
        return buffer.getvalue()
    sign = {"csv": ",", "tsv": "\t", "txt": " "}[kind]
    names = sorted(texts[0]) if texts else []
    lines = [sign.join(map(_text, names))]
    lines += [sign.join(f'"{row.get(name, "")}"' for name in names) for row in texts]
    return "\n".join(lines).encode()


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode(errors="replace").decode()


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return str(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


# ── what no case may do ───────────────────────────────────────────────────────────────────────────


class Watch:
    """Python's own audit events, while a case runs: files opened to write, connections."""

    def __init__(self) -> None:
        self.folder: Path | None = None  # None: not watching
        self.seen: list[str] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.folder is None:
            return
        if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "urllib.Request"):
            self.seen.append(f"{event} {arguments[1:]}")
        elif event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                self._written(event, path)
        elif event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.link"):
            self._written(event, arguments[1 if event in ("os.symlink", "os.link") else 0])
        elif event == "sqlite3.connect":
            self._written(event, str(arguments[0]).removeprefix("file:").partition("?")[0])

    def _written(self, event: str, path: Any) -> None:
        assert self.folder is not None
        if isinstance(path, int):
            return
        name = os.path.abspath(os.fsdecode(path))
        harmless = name == os.devnull or "__pycache__" in name
        if not harmless and not Path(name).is_relative_to(self.folder):
            self.seen.append(f"{event} {name}")


class TooLong(BaseException):
    pass


@contextmanager
def limited() -> Iterator[None]:
    """A case that takes too long or too much memory ends; one that can't be stopped ends all."""

    def stop(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    faulthandler.dump_traceback_later(3 * LIMIT, exit=True, file=sys.__stderr__)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, hard))
    signal.alarm(LIMIT)
    try:
        yield
    finally:
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, before)


@dataclass(frozen=True)
class Fuzz:
    """A folder with two in it: one for the case, and one outside that none may touch."""

    place: Path
    good: Good
    watch: Watch
    server: socket.socket

    def problem(self, door: Door, seed: int) -> str | None:
        """What a case does that it may not."""
        case, outside = self.place / "case", self.place / "outside"
        shutil.rmtree(case, ignore_errors=True)
        case.mkdir()
        os.chdir(case)
        before = self._listed(outside)
        arguments = door(Random(f"{door.__name__} {seed}"), self.good)
        found = self._run([as_argument(one) for one in arguments])
        if self._listed(outside) != before:
            return f"the folder outside has changed: {self._listed(outside)}"
        if found is None and self._asked():
            return "a request was made"
        return found

    def _run(self, arguments: list[str]) -> str | None:
        out, err = _Output("strict"), _Output("backslashreplace")
        self.watch.seen.clear()
        with redirect_stdout(out.text), redirect_stderr(err.text), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.watch.folder = self.place
            try:
                with limited():
                    code = run(arguments)
            except TooLong:
                return f"more than {LIMIT} s"
            except BaseException as error:
                return _last_line(error)
            finally:
                self.watch.folder = None
        # 1 and 3 of a description: a number does not hold, or nothing could be compared.
        if code not in ((0, 1, 2, 3) if arguments[0] == "check-description" else (0, 2)):
            return f"exit code {code}: {err.value[-300:]}"
        if self.watch.seen:
            return f"outside: {self.watch.seen[:3]}"
        if "Traceback" in err.value or len(out.value) + len(err.value) > OUTPUT:
            return f"{len(out.value)} and {len(err.value)} characters of output: {err.value[:300]}"
        return None

    @staticmethod
    def _listed(folder: Path) -> list[tuple[str, int, int]]:
        return [(f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in sorted(folder.iterdir())]

    def _asked(self) -> bool:
        try:
            self.server.accept()
        except BlockingIOError:
            return False
        return True


class _Output:
    """A stream as Python makes its own: what UTF-8 can't say raises on stdout, not on stderr."""

    def __init__(self, errors: str) -> None:
        self._bytes = io.BytesIO()
        self.text = io.TextIOWrapper(self._bytes, "utf-8", errors, write_through=True)

    @property
    def value(self) -> str:
        return self._bytes.getvalue().decode()


def _last_line(error: BaseException) -> str:
    """The error, and the innermost line of ours that it went through."""
    lines = [f for f in traceback.extract_tb(error.__traceback__) if "/mindshare" in f.filename]
    where = f"{Path(lines[-1].filename).name}:{lines[-1].lineno}" if lines else "?"
    return f"{where} {type(error).__name__}: {str(error)[:300]}"


def as_argument(value: object) -> str:
    """What a shell can pass on: no NUL, and no surrogates but those of bytes that are no UTF-8."""
    text = str(value).replace("\0", "")
    return os.fsdecode(text.encode("utf-8", "surrogatepass"))


@pytest.fixture(scope="module")
def fuzz(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuzz]:
    place = tmp_path_factory.mktemp("fuzz")
    for name in ("outside", "good", "tmp"):
        (place / name).mkdir()
    (place / "outside" / "secret.txt").write_text("secret")
    server = socket.create_server(("127.0.0.1", 0))
    server.setblocking(False)
    url = f"http://127.0.0.1:{server.getsockname()[1]}/x"
    with pytest.MonkeyPatch.context() as patch, open(os.devnull) as nothing:
        patch.chdir(place / "good")
        patch.setenv("MINDSHARE_CACHE", str(place / "cache"))
        patch.setenv("TMPDIR", str(place / "tmp"))
        patch.setenv("COLUMNS", "80")
        patch.setattr(tempfile, "tempdir", None)
        patch.setattr(limits, "SECONDS", 2.0)
        patch.setattr(sys, "stdin", nothing)
        yield Fuzz(place, make_good(place / "good", url), Watch(), server)
    server.close()


def make_good(place: Path, url: str) -> Good:
    base = tiny_models.llama_folder(place / "base")
    good = Good(
        model=tiny.llama(place / "model"),
        base=base,
        adapter=tiny_models.lora_folder(
            place / "adapter", tiny_models.llama(), base_name=str(base)
        ),
        gguf=tiny_models.gguf_file(place / "good.gguf"),
        run=place / "run",
        chart=place / "chart",
        url=url,
    )
    data = place / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    for command, folder in (("measure", good.run), ("shares", good.chart)):
        arguments = [command, good.model, "--data", data, "--class", "h=#", "--out", folder]
        assert run(list(map(str, arguments))) == 0
    return good


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_a_few_cases(fuzz: Fuzz, door: Door) -> None:
    seeds = [*KEPT.get(door.__name__, ()), *range(CASES)]
    found = [f"seed {seed}: {problem}" for seed in seeds if (problem := fuzz.problem(door, seed))]
    assert not found, "\n".join(found)


@pytest.mark.slow
@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_many_cases(fuzz: Fuzz, door: Door) -> None:
    found: dict[str, list[int]] = {}  # problem → seeds
    end, seed = time.monotonic() + SECONDS, FIRST
    while time.monotonic() < end:
        if problem := fuzz.problem(door, seed):
            found.setdefault(problem, []).append(seed)
        seed += 1
    print(f"{door.__name__}: {seed - FIRST:,} cases from seed {FIRST}")
    assert not found, "\n".join(f"seeds {seeds[:5]}: {problem}" for problem, seeds in found.items())
