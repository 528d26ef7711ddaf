"""`python -m tests.journeys.killing FOLDER KILLS SEED WHAT`: 300 prompts, killed again and again.

WHAT is `classes`, `insertion` or `knockout`. A child measures into FOLDER/N and is killed with
SIGKILL after a random time; the next goes on, with a batch size of its own, until the run is
finished. Then the next folder is begun. Children are forked from this process, which has loaded
everything: the run is killed, not the start of Python.
FOLDER/alone holds an undisturbed run. Prints how many were killed, and at which moments.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

PROMPTS = 300  # times passes
PASSES = {"classes": 1, "insertion": 2, "knockout": 1}


def prompts() -> list[str]:
    numbers = random.Random(5)
    words = ("##", "**", "map ", "x", "\n", "12 ")
    return [
        f"{n}: " + "".join(numbers.choices(words, k=numbers.randint(1, 40))) for n in range(PROMPTS)
    ]


def main(folder: Path, kills: int, seed: int, what: str) -> None:
    import torch

    torch.set_num_threads(1)
    from mindshare.models import wrap
    from tests.attention.tiny import sharpen
    from tests.models import tiny

    model = wrap(
        sharpen(tiny.llama(max_position_embeddings=256)), tiny.tokenizer(), name="tiny-llama"
    )
    texts, chance = prompts()[:: PASSES[what]], random.Random(seed)
    folder.mkdir(parents=True)
    whole = _alone(model, texts, folder / "alone", what)
    killed: dict[str, int] = {}
    number = 0
    # A machine whose pace changes may be killed at the start or the end only: then once more.
    while sum(killed.values()) < kills or "measuring" not in killed:
        here = folder / str(number)
        child = _start(model, texts, here, what, tokens=chance.choice((1, 64, 300, 4096)))
        time.sleep(chance.uniform(0, whole * chance.choice((0.1, 0.4))))
        moment = _moment(here)
        os.kill(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code == -signal.SIGKILL:
            killed[moment] = killed.get(moment, 0) + 1
        if moment == "finished":
            number += 1
    for one in range(number + 1):
        _alone(model, texts, folder / str(one), what)
    print(sum(killed.values()), killed)


def _alone(model: object, texts: list[str], folder: Path, what: str) -> float:
    started = time.perf_counter()
    child = _start(model, texts, folder, what, tokens=512)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise SystemExit(f"the run that was left alone ended with {code}")
    return time.perf_counter() - started


def _start(model: object, texts: list[str], folder: Path, what: str, *, tokens: int) -> int:
    child = os.fork()
    if child:
        return child
    try:
        measure_into(model, texts, folder, what, tokens=tokens)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


def measure_into(model: object, texts: list[str], folder: Path, what: str, *, tokens: int) -> None:
    import mindshare
    import mindshare.attention.forward as forward
    from mindshare.study import AnyStudy, build_insertion_study, build_knockout_study, build_study

    forward.TOKENS = tokens  # of one batch
    classes = {"hash": "#", "star": "*"}
    study: AnyStudy = build_study(classes=classes, measures=["mass", "received"])
    if what == "insertion":
        study = build_insertion_study("/ *3", at="start")
    elif what == "knockout":
        study = build_knockout_study(classes=classes, answer="greedy")
    mindshare.measure(model, texts, study=study, into=folder)


def _moment(folder: Path) -> str:
    from mindshare.errors import OutputError
    from mindshare.store import RunReader

    if (folder / "manifest.json").exists():
        return "finished"
    try:
        with RunReader.at(folder) as run:
            ((stored,),) = run.rows("SELECT COUNT(*) FROM item")
    except OutputError:
        return "before the store"
    # Every prompt is another text, so that each pass is an item of its own.
    return "writing tables" if stored >= PROMPTS else "measuring"


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
