"""The journeys: what people do with mindshare, on the command line and in Python.

Only what is public is used: the console script that pyproject.toml names, its commands and options,
and the names in `mindshare.__all__`. Internals may be renamed freely. A journey is a function of
`Travels`, where the models and the data are, and returns what it `Found`.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from . import data, facts, tiny
from .found import Found, manifest, read, same_files

ROOT = Path(__file__).parents[2]
CLASSES = ("--class", "hash=#", "--class", "star=*", "--class", "space=whitespace")
RULES = {"hash": "#", "star": "*", "space": "whitespace"}
ROWS = ("--column", "prompt=question", "--column", "id=name", "--column", "group=batch")
PAIR = ("Base=base", "Tuned=tuned")
CONTRAST = "Tuned_minus_Base"


@dataclass
class Travels:
    """A folder with a pair of tiny models and a file of prompts; each journey is made once."""

    place: Path
    made: dict[str, Found] = field(default_factory=dict)
    said: str = ""  # by the last command, for a message

    @classmethod
    def begin(cls, place: Path) -> Travels:
        tiny.build_pair(place)
        data.write(place / "rows.jsonl")
        data.write(place / "few.jsonl", first=4)
        return cls(place)

    def of(self, name: str) -> Found:
        if name not in self.made:
            with self.here(own_cache=name not in ON_SMOLLM2), _two_threads():
                self.made[name] = JOURNEYS[name](self)
        return self.made[name]

    def run(self, *arguments: str) -> None:
        """One command that must succeed."""
        code = self.code(*arguments)
        assert code == 0, f"mindshare {' '.join(arguments)} ended with {code}:\n{self.said}"

    def code(self, *arguments: str) -> int:
        """One command, in this process, as the console script runs it; its exit code."""
        before, heard = sys.argv, io.StringIO()
        sys.argv = ["mindshare", *arguments]
        try:
            with contextlib.redirect_stdout(heard), contextlib.redirect_stderr(heard):
                ended = _main()(arguments)
        except SystemExit as stop:
            ended = stop.code
        finally:
            sys.argv, self.said = before, heard.getvalue()
        return ended if isinstance(ended, int) else int(ended is not None)

    @contextlib.contextmanager
    def here(self, *, own_cache: bool) -> Iterator[None]:
        """In the folder, offline, with a cache of its own unless the embedded model is needed."""
        settings = {"HF_HUB_OFFLINE": "1", "COLUMNS": "80"}
        if own_cache:
            settings["MINDSHARE_CACHE"] = str(self.place / "cache")
        before, environment = Path.cwd(), dict(os.environ)
        os.chdir(self.place)
        os.environ.update(settings)
        try:
            yield
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ.update(environment)


@contextlib.contextmanager
def _two_threads() -> Iterator[None]:
    """As the bytes were pinned: bare tensors are not padded, and depend on it."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _main() -> Callable[[Sequence[str]], Any]:
    """The function behind the command `mindshare`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    module, _, name = project["project"]["scripts"]["mindshare"].partition(":")
    function: Callable[[Sequence[str]], Any] = getattr(importlib.import_module(module), name)
    return function


def models(_: Travels) -> Found:
    """The tiny models themselves: if their weights or tokens change, everything else does."""
    import mindshare

    found = Found()
    for name in ("base", "tuned"):
        loaded = mindshare.load(name, progress=False)
        found.facts[f"weights of {name}"] = tiny.weights_hash(loaded.model)
    found.facts["tokens"] = tiny.tokenizer()(data.TEXT)["input_ids"]
    return found


def measure_text(travels: Travels) -> Found:
    """`measure` of one text: every measure, every kind of query set, near, in chunks or whole."""
    found = Found()
    queries = ("last", "all", "span:map", "class:hash", "after:map")
    asked = (
        *("measure", "base", "--text", data.MARKED, "--marked", *CLASSES),
        *("--measure", "mass,received,entropy,distance"),
        *(word for one in queries for word in ("--queries", one)),
    )
    for name, more in {
        "whole": (),
        "near": ("--near", "2"),
        "diagonal": ("--include-diagonal", "--heads", "1,3"),
        "chunks": ("--chunk-tokens", "7"),
        "mean": ("--heads", "mean", "--layers", "mean", "--policy", "proportional"),
    }.items():
        travels.run(*asked, *more, "--out", f"text/{name}", "--quiet")
        found.add(Path("text", name), name)
        found.facts[name] = facts.mass_facts(found.tables[f"{name}/mass"])
    found.facts["code if the folder is there"] = travels.code(*asked, "--out", "text/whole")
    return found


def measure_data(travels: Travels) -> Found:
    """`measure --data` into a folder; cut off and resumed; extended by layers; filtered."""
    found = Found()
    asked = ("measure", "base", *ROWS, *CLASSES, "--quiet", "--progress", "quiet")
    asked += ("--measure", "mass,received,entropy,distance", "--queries", "last", "--near", "1")
    every = (*asked, "--data", "rows.jsonl")
    travels.run(*every, "--out", "data/whole")
    found.add(Path("data/whole"), "whole")
    found.facts["whole"] = facts.mass_facts(found.tables["whole/mass"])

    travels.run(*every, "--limit", "4", "--out", "data/cut")
    found.add(Path("data/cut"), "cut")
    travels.run(*every, "--out", "data/cut")
    travels.run(*asked, "--data", "few.jsonl", "--out", "data/half")
    travels.run(*every, "--out", "data/half")
    travels.run(*every, "--layers", "1", "--out", "data/layers")
    found.add(Path("data/layers"), "layer 1")
    travels.run(*every, "--layers", "0,1", "--out", "data/layers")
    travels.run(*every, "--layers", "0,1", "--out", "data/both")
    whole = Path("data/whole")
    found.holds["resumed after --limit: same bytes"] = same_files(whole, Path("data/cut"))
    found.holds["half of the data first: same bytes"] = same_files(whole, Path("data/half"))
    found.holds["layers added: same bytes"] = same_files(Path("data/both"), Path("data/layers"))

    travels.run(*every, "--where", "kind=map", "--where", "level>=2", "--out", "data/where")
    found.add(Path("data/where"), "where")
    travels.run(*every, "--sample", "4", "--sample-seed", "3", "--out", "data/sample")
    found.add(Path("data/sample"), "sample")
    for name in ("whole", "cut", "where", "sample"):
        table = found.tables[f"{name}/prompts"]
        found.facts[f"prompts of {name}"] = table["prompt"].to_pylist()
        found.facts[f"groups of {name}"] = table["group"].to_pylist()
    return found


def workers(travels: Travels) -> Found:
    """`run --workers 2`: the tables of one process, byte by byte."""
    travels.of("measure_data")
    travels.run("run", "data/whole/study.toml", "--workers", "2", "--out", "data/two", "--quiet")
    found = Found(holds={"same bytes": same_files(Path("data/whole"), Path("data/two"))})
    found.add(Path("data/two"))
    return found


def measure_python(_: Travels) -> Found:
    """`mindshare.measure` of several prompts, of a chat, and what `read` gives back."""
    import mindshare

    found = Found()
    model = mindshare.load("tuned", progress=False)
    prompts = [
        mindshare.Prompt.from_text(row["question"], spans={"map": tuple(row["spans"]["map"])})
        for row in data.rows()[:3]
    ]
    several = mindshare.measure(
        model,
        prompts,
        classes=RULES | {"map": "span:map"},
        measures=["mass", "received", "entropy", "distance"],
        queries=["last", "class:star"],
        layers=[1],
        heads=[0, 2],
    )
    found.tables |= {f"several/{name}": table for name, table in several.tables.items()}
    several.save("python/several")
    again = mindshare.read("python/several")
    found.holds["read gives back what was saved"] = all(
        again.table(name).equals(table) for name, table in several.tables.items()
    )
    turns = [("system", "Be kind."), ("user", "Is ## or ** to the left?")]
    chat = mindshare.measure(
        model,
        mindshare.Prompt.from_chat([{"role": who, "content": said} for who, said in turns]),
        classes={"system": "role:system", "user": "role:user"},
        queries="all",
    )
    found.tables |= {f"chat/{name}": table for name, table in chat.tables.items()}
    found.facts["columns of the data frame"] = list(several.to_pandas("heads").columns)
    found.facts["chat"] = facts.mass_facts(chat.mass)
    return found


def capture(_: Travels) -> Found:
    """`mindshare.capture` with tensors, and `attention_window`."""
    import torch

    import mindshare

    found = Found()
    model = mindshare.load("base", progress=False)
    ids = torch.tensor([[(7 * i + 3) % 250 + 2 for i in range(12)], [5 + i for i in range(12)]])
    mask = torch.ones_like(ids)
    mask[1, 9:] = 0
    weights = torch.stack([torch.arange(12) % 2 == 0, torch.arange(12) % 3 == 1], -1).float()
    for name, seen in {
        "whole": mindshare.capture(model.model, ids[0], weights),
        "batch": mindshare.capture(
            model.model,
            ids,
            weights,
            attention_mask=mask,
            layers=[1],
            query_weights=torch.linspace(0.0, 1.0, 12),
            options=mindshare.CaptureOptions(
                near=1, entropy=True, distance=True, chunk_tokens=5, self_check=False
            ),
        ),
    }.items():
        found.facts[f"layers of {name}"] = list(seen.layers)
        for what in ("mass", "received", "entropy", "distance"):
            for layer, one in getattr(seen, what).items():
                found.plain[f"{name}/{what} {layer}"] = _array(one)
        found.plain[f"{name}/n_queries"] = _array(seen.n_queries)
    window = mindshare.attention_window(model, data.TEXT, tokens=(2, 9))
    found.plain["window"] = _array(torch.as_tensor(window.attention))
    found.facts["tokens of the window"] = list(window.tokens)
    return found


def _array(tensor: Any) -> pa.Table:
    """The numbers of a tensor in a row, and its shape in the name of the column."""
    shape = "×".join(map(str, tensor.shape))
    return pa.table({shape: tensor.detach().cpu().contiguous().numpy().reshape(-1)})


def shares(travels: Travels) -> Found:
    """`shares` of two models over data: bars, summary, contrast, masses."""
    travels.run(*_shares("last"), "--out", "shares", "--quiet")
    found = Found()
    found.add(Path("shares"))
    found.facts = facts.shares_facts(found.tables, CONTRAST)
    return found


def _shares(queries: str) -> tuple[str, ...]:
    asked = ("shares", *PAIR, "--data", "rows.jsonl", *ROWS, *CLASSES, "--queries", queries)
    return (*asked, "--progress", "quiet")


def shares_measures(travels: Travels) -> Found:
    """`shares` by share, density and lift, of heads, of the tokens after the map; one prompt."""
    found = Found()
    for word in ("share", "density", "lift", "expected"):
        asked = (*_shares("after:map"), "--measure", word, "--out", f"by/{word}", "--quiet")
        travels.run(*asked, *(("--layers", "1") if word == "expected" else ()))
        found.add(Path("by", word), word)
    heads = ("--heads", "0,3", "--layers", "0,1", "--where", "kind=map")
    travels.run(*_shares("all"), *heads, "--out", "by/heads", "--quiet")
    found.add(Path("by/heads"), "heads")
    one = ("shares", "tuned", "--text", data.TEXT, *CLASSES, "--policy", "pure")
    travels.run(*one, "--out", "by/one", "--quiet")
    found.add(Path("by/one"), "one")
    for name, contrast in {
        **dict.fromkeys(("share", "density", "lift", "heads"), CONTRAST),
        "one": None,
    }.items():
        own = {k.partition("/")[2]: t for k, t in found.tables.items() if k.startswith(f"{name}/")}
        found.facts[name] = facts.shares_facts(own, contrast)
    return found


def shares_python(_: Travels) -> Found:
    """`mindshare.shares` and `mindshare.head_map` of loaded models, in memory and saved."""
    import mindshare

    loaded = {one: mindshare.load(one.lower(), progress=False) for one in ("Base", "Tuned")}
    texts = [row["question"] for row in data.rows()[:7]]
    chart = mindshare.shares(loaded, texts, classes=RULES, queries="last")
    found = Found()
    found.add_chart(chart, "shares")
    found.facts["shares"] = facts.shares_facts(dict(chart.tables), CONTRAST)
    chart.save("python/shares")
    saved = manifest(Path("python/shares"))
    found.holds["what is saved is what is held"] = sorted(saved["tables"]) == sorted(
        chart.tables
    ) and all(read(Path("python/shares"), n).equals(t) for n, t in chart.tables.items())
    mapped = mindshare.head_map(loaded, texts, cls="hash", measure="lift", classes=RULES)
    found.add_chart(mapped, "head_map")
    return found


def head_map(travels: Travels) -> Found:
    """`head-map` of one class in two models, and their difference."""
    asked = ("head-map", *PAIR, "--data", "rows.jsonl", *ROWS, *CLASSES, "--progress", "quiet")
    travels.run(*asked, "--show", "space", "--queries", "last", "--out", "heads", "--quiet")
    found = Found()
    found.add(Path("heads"))
    found.facts = facts.head_facts(found.tables, CONTRAST, "space")
    return found


INSERT = ("--insert", "/ *4,8", "--against", "random-sentence", "--quiet")


def insert(travels: Travels) -> Found:
    """`insert` of two lengths over data, against random sentences, with the top heads."""
    asked = (
        "insert",
        "base",
        "--maps",
        "all",
        "--data",
        "rows.jsonl",
        *ROWS,
        *INSERT,
        "--progress",
        "quiet",
    )
    travels.run(*asked, "--at", "before:map", "--limit", "8", "--top", "2", "--out", "insert")
    return _inserted(Path("insert"), {"base": "response"}, top=2)


def insert_one(travels: Travels) -> Found:
    """`insert` into one chat: named heads, queries `original`, the first token counted."""
    asked = (
        "insert",
        "tuned",
        "--maps",
        "all",
        "--system",
        "Be kind.",
        "--prompt",
        "What is ## and **, the sum?",
    )
    more = ("--heads", "0.0,1.2", "--queries", "original", "--count-first", "--drop-first")
    travels.run(*asked, *INSERT, *more, "--near", "1", "--out", "insert_one")
    return _inserted(Path("insert_one"), {"tuned": "response"}, top=3)


def insert_pair(travels: Travels) -> Found:
    """`insert` with two models at two places: heads of one named, the other's found."""
    asked = (
        "insert",
        *PAIR,
        "--maps",
        "all",
        "--data",
        "few.jsonl",
        *ROWS,
        "--insert",
        "he *3",
        "--progress",
    )
    more = ("quiet", "--at", "start", "--at", "end", "--heads", "Tuned:0.1", "--by", "amplitude")
    travels.run(*asked, *more, "--layers", "0,1", "--out", "insert_pair", "--quiet")
    responses = {name: f"response_{name}" for name in ("Base", "Tuned")}
    return _inserted(Path("insert_pair"), responses, top=3)


def _inserted(folder: Path, responses: dict[str, str], *, top: int) -> Found:
    found = Found()
    found.add(folder)
    tables = {model: found.tables[name] for model, name in responses.items()}
    found.facts = facts.insertion_facts(found.tables, tables, top)
    found.facts["heads whose profiles are drawn"] = {
        name: facts.drawn_heads(figure)
        for name, figure in found.figures.items()
        if name.startswith("profiles")
    }
    count, missing = facts.unsupported(folder)
    found.holds["the findings state numbers"] = count > 5
    found.holds[f"every number of the findings is in a table {missing}"] = not missing
    return found


def insert_python(_: Travels) -> Found:
    """`mindshare.insertion` with two models in memory."""
    import mindshare

    loaded = {one: mindshare.load(one.lower(), progress=False) for one in ("Base", "Tuned")}
    chart = mindshare.insertion(
        loaded,
        [row["question"] for row in data.rows()[:6]],
        insert="/ *6",
        against="random-sentence",
        top=2,
        seed=5,
        maps=["amplitude", "divergence"],
    )
    found = Found()
    found.add_chart(chart)
    responses = {name: chart.tables[f"response_{name}"] for name in loaded}
    found.facts = facts.insertion_facts(dict(chart.tables), responses, 2)
    return found


def knockout(travels: Travels) -> Found:
    """`knockout` of layers in two models, of single heads by every measure; resumed; screened."""
    found = Found()
    asked = (*("knockout", "--data", "rows.jsonl"), *ROWS, "--class", "map=span:map")
    asked += ("--class", "word=letter", "--answer", "greedy:2", "--quiet", "--progress", "quiet")
    for name, more in {
        "layers": (*PAIR, "--window", "2", "--queries", "answer"),
        "heads": ("base", "--heads", "each", "--layers", "1", "--limit", "4"),
        "zero": ("tuned", "--heads", "0.1,1.2", "--how", "zero", "--queries", "later"),
        "screen": ("base", "--heads", "each", "--screen", "2", "--limit", "4"),
    }.items():
        travels.run(*asked, *more, "--out", f"knockout/{name}")
        found.add(Path("knockout", name), name)
        rows = found.tables[f"{name}/summary"].to_pylist()
        found.facts[name] = facts.effect_facts(rows)
    again = ("run", "knockout/layers/study.toml", "--out", "knockout/again", "--quiet")
    travels.run(*again)
    layers = Path("knockout/layers")
    found.holds["from its file: same bytes"] = same_files(layers, Path("knockout/again"))
    return found


def parts(travels: Travels) -> Found:
    """`parts` of two wordings, and of a marked text in two models, by all queries."""
    found = Found()
    texts = {"a": "# Rules\nBe kind.\n\n# Task\nIs ## or ** up?", "b": "Be kind.\n\nIs ## up?"}
    for name, text in texts.items():
        Path(f"{name}.txt").write_text(text, encoding="utf-8")
    wordings = ("tuned", "--file", "A=a.txt", "--file", "B=b.txt")
    marked = (*PAIR, "--text", data.MARKED, "--marked", "--queries", "all")
    for name, asked in {"wordings": wordings, "marked": marked}.items():
        travels.run("parts", *asked, "--out", f"parts/{name}", "--quiet")
        found.add(Path("parts", name), name)
    # Differences are written as text, and tokens that few queries see have no colour.
    found.holds = {k: v for k, v in found.holds.items() if "drawn in every format" in k}
    return found


def run_study(travels: Travels) -> Found:
    """`run` of the study file that a command saved, and of one that was only written."""
    travels.of("shares")
    travels.of("insert")
    found = Found()
    travels.run("run", "shares/study.toml", "--out", "again/shares", "--quiet")
    travels.run("run", "insert/study.toml", "--out", "again/insert", "--quiet")
    for name in ("shares", "insert"):
        found.holds[f"{name}: same bytes"] = same_files(Path(name), Path("again", name))
    saved = ("--save-study", "map.toml")
    travels.run("head-map", "base", "--text", data.TEXT, "--class", "hash=#", *saved)
    study = tomllib.loads(Path("map.toml").read_text(encoding="utf-8"))
    found.facts["study"] = {name: study[name] for name in ("command", "models", "class")}
    travels.run("run", "map.toml", "--out", "again/map", "--quiet")
    found.add(Path("again/map"))
    return found


def report(travels: Travels) -> Found:
    """`report` of both kinds of folders, and `check-description` of texts about one of them."""
    made = {"shares": travels.of("shares"), "insert": travels.of("insert")}
    found = Found()
    travels.run("report", *made, "--out", "report", "--format", "html", "--format", "md")
    page = Path("report/report.html").read_text(encoding="utf-8")
    words = Path("report/report.md").read_text(encoding="utf-8")
    found.holds["the page loads nothing"] = 'src="http' not in page and "<link" not in page
    for name, one in made.items():
        for figure in one.figures:
            found.holds[f"{name}: {figure} is in the page"] = figure in page
    for name, key in {"shares": "summary", "insert": "overall"}.items():
        table = made[name].tables[key]
        if name == "shares":  # those that are drawn
            table = table.filter(pa.array([c != "other" for c in table["class"].to_pylist()]))
        for form, text in {"page": page, "text": words}.items():
            missing = [x for x in table["mean"].to_pylist() if not _said(x, text)][:3]
            found.holds[f"{name}: means are in the {form} {missing}"] = not missing
    rows = made["shares"].tables["summary"].to_pylist()
    row = next(r for r in rows if r["class"] == "space" and r["model"] == "Base")
    codes = []
    for word, value in (("true", row["mean"]), ("wrong", row["mean"] + 0.25)):
        text = f"Layer {row['layer']}, Base: space {value:.3f}.\n"
        Path(f"{word}.txt").write_text(text, encoding="utf-8")
        codes.append(travels.code("check-description", f"{word}.txt", "shares"))
    found.facts["figures"] = sorted(
        f"{n}: {figure}" for n, m in made.items() for figure in m.figures
    )
    found.facts["codes of a true and a wrong description"] = codes
    return found


def _said(x: float, text: str) -> bool:
    """Whether a number stands in a text, with three digits or more."""
    forms = {f"{x:.{places}f}" for places in (3, 4, 5)} | {f"{x:.{n}g}" for n in (3, 4, 5)}
    forms |= {f"{x:#.3g}"}  # 3.20
    forms |= {form.rstrip("0") for form in forms} | {form.replace("-", "−") for form in forms}
    return any(form in text for form in forms if len(form) > 3)


def smollm2(travels: Travels) -> Found:
    """`measure` of the embedded model, three layers."""
    asked = ("measure", "smollm2", "--text", data.MARKED, "--marked", *CLASSES, "--quiet")
    more = ("--layers", "0,15,29", "--queries", "last", "--queries", "after:map")
    measures = ("--measure", "mass,entropy,distance", "--out", "smollm2")
    travels.run(*asked, *more, *measures)
    # Thirty layers add up what processors round differently.
    found = Found(rtol=5e-4, atol=1e-5)
    found.add(Path("smollm2"))
    found.facts = facts.mass_facts(found.tables["mass"])
    return found


JOURNEYS: dict[str, Callable[[Travels], Found]] = {
    one.__name__: one
    for one in (
        *(models, measure_text, measure_data, measure_python, capture, workers),
        *(shares, shares_measures, shares_python, head_map),
        *(insert, insert_one, insert_pair, insert_python),
        *(knockout, parts),
        *(run_study, report, smollm2),
    )
}
SLOW = frozenset({"workers"})
ON_SMOLLM2 = frozenset({"smollm2"})
