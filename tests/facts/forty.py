"""Forty generated sentences drawn at random, for a fresh reader to judge.

    python -m tests.facts.forty FOLDER [SEED]

Studies of every kind on the embedded models, a few prompts each, are put into the folder unless
they are there (a few minutes). Kinds of facts take turns, so that none is missed.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from mindshare.facts import Sentence, sentence
from mindshare.facts.cells import charts_of
from mindshare.facts.find import facts_of, results
from mindshare.folders import read_folder
from mindshare.stats import contrast, estimate

WIDE = {**os.environ, "COLUMNS": "500"}
TOLD = re.compile(r"^(?:• |\d\. ).*", re.MULTILINE)
MAPS = (
    "--data maps/test.jsonl --class hash=#@maps --class star=*@maps --class space=whitespace@maps"
)
PAIR, HIDE = "smollm2 smollm2-phys", "mindshare knockout smollm2-phys --data maps/test.jsonl"
STUDIES = {  # folder → what makes it
    "maps": "mindshare-recipes building-blocks data --n 9 --n-test 16",
    "demo": "mindshare demo --quick",
    "shares": f"mindshare shares {PAIR} {MAPS}",
    "parts": "mindshare parts smollm2 --chat chat.json",
    "wordings": "mindshare parts smollm2 --file A=a.txt --file B=b.txt",
    "hidden": f"{HIDE} --class star=*@maps --class hash=#@maps --window 5 --limit 8",
    "pair": f"mindshare insert {PAIR} --data maps/test.jsonl --limit 6 --insert ?*20 --at start",
    "hidden_pair": f"mindshare knockout {PAIR} --data maps/test.jsonl --class maps=span:maps "
    "--window 10 --layers 0,10,20,29 --limit 8",
    "heads": f"mindshare head-map {PAIR} {MAPS} --show star --limit 8",
    "hidden_heads": f"{HIDE} --class maps=span:maps --heads each --screen 20 --limit 8",
    "study": "mindshare-recipes meaningless-tokens study --n 8",
}
TEXTS = {
    "a.txt": "# Rules\nBe brief.\n\n# Facts\nAnn has 3 pears, Bob has 5.\n\n# Task\nWho has more?",
    "b.txt": "# Facts\nAnn has 3 pears, Bob has 5.\n\n# Task\nWho has more? Answer in one word.",
    "chat.json": json.dumps(
        [
            {"role": "system", "content": "You are a careful tutor. Give the answer as a number."},
            {"role": "user", "content": "Ann has 3 pears, Bob has 5. How many have they both?"},
        ]
    ),
}


def make(place: Path) -> None:
    """The studies that are not there yet."""
    place.mkdir(exist_ok=True)
    for name, text in TEXTS.items():
        (place / name).write_text(text, encoding="utf-8")
    for folder, command in STUDIES.items():
        if not (place / folder).exists():
            program, *asked = command.split()
            asked = [str(Path(sys.executable).parent / program), *asked, "--out", folder]
            with open(place / f"{folder}.said", "w", encoding="utf-8") as told:
                subprocess.run(asked, cwd=place, check=True, stdout=told, env=WIDE)


def sentences(tables: Mapping[str, pa.Table]) -> Iterator[tuple[str, Sentence]]:
    """(kind, sentence) of everything that is found in these tables."""
    for numbers in charts_of(tables):
        facts = facts_of(numbers)
        facts += results(numbers) if numbers.conditions else []
        for fact in facts:
            if fact.kind != "missing":  # of versions that a recipe has added
                several = len(numbers.models) > 1
                yield f"{fact.kind} {fact.subject.measure}", sentence(fact, several=several)


def measured(folder: Path) -> Iterator[dict[str, pa.Table]]:
    """The tables of a folder of results; those of shares by other measures, too."""
    tables, _ = read_folder(folder)
    yield tables
    masses = {model: tables.get(f"mass_{model}") for model in PAIR.split()}
    if folder.name == "shares":
        for measure in ("share", "lift", "density"):
            pair = contrast(masses, a="smollm2", b="smollm2-phys", measure=measure)
            yield {"summary": estimate(masses, measure), "change": pair}


def drawn(place: Path, seed: int, *, n: int = 40) -> list[str]:
    """`n` sentences; the kinds take turns in random order."""
    kinds: dict[str, set[str]] = {}
    for summary in place.rglob("summary.parquet"):
        for tables in measured(summary.parent):
            for kind, text in sentences(tables):
                kinds.setdefault(kind, set()).add(str(text))
    for file in place.glob("*.said"):  # what was told besides: parts, recipes
        told = {re.sub(r"^(?:• |\d\. )", "", line) for line in TOLD.findall(file.read_text())}
        kinds[f"told by {file.stem}"] = told - set().union(*kinds.values())
    rng = random.Random(seed)
    turns = [rng.sample(sorted(said), len(said)) for said in kinds.values()]
    rng.shuffle(turns)
    found = [said[i] for i in range(n) for said in turns if i < len(said)]
    return rng.sample(found[:n], n)


if __name__ == "__main__":
    folder, seed = Path(sys.argv[1]), int((*sys.argv, "0")[2])
    make(folder)
    for number, text in enumerate(drawn(folder, seed), 1):
        print(f"{number}. {text}")
