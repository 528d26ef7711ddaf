"""`python -m tests.journeys.killing FOLDER KILLS SEED`: 300 prompts, killed again and again.

A child measures into FOLDER/N and is killed with SIGKILL after a random time; the next goes on,
with a batch size of its own, until the run is finished. Then the next folder is begun. Children are
forked from this process, which has loaded everything: the run is killed, not the start of Python.
FOLDER/alone holds an undisturbed run. Prints how many were killed, and at which moments.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

PROMPTS = 300


def prompts() -> list[str]:
    numbers = random.Random(5)
    words = ("##", "**", "map ", "x", "\n", "12 ")
    return [
        f"{n}: " + "".join(numbers.choices(words, k=numbers.randint(1, 40))) for n in range(PROMPTS)
    ]


def main(folder: Path, kills: int, seed: int) -> None:
    import torch

    torch.set_num_threads(1)
    from mindshare.models import wrap
    from tests.attention.tiny import sharpen
    from tests.models import tiny

    model = wrap(
        sharpen(tiny.llama(max_position_embeddings=256)), tiny.tokenizer(), name="tiny-llama"
    )
    texts, chance = prompts(), random.Random(seed)
    folder.mkdir(parents=True)
    whole = _alone(model, texts, folder / "alone")
    killed: dict[str, int] = {}
    number = 0
    while sum(killed.values()) < kills:
        here = folder / str(number)
        child = _start(model, texts, here, chance.choice((1, 64, 300, 4096)))
        time.sleep(chance.uniform(0, whole * chance.choice((0.1, 0.4))))
        moment = _moment(here)
        os.kill(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code == -signal.SIGKILL:
            killed[moment] = killed.get(moment, 0) + 1
        if moment == "finished":
            number += 1
    for one in range(number + 1):
        _alone(model, texts, folder / str(one))
    print(sum(killed.values()), killed)


def _alone(model: object, texts: list[str], folder: Path) -> float:
    started = time.perf_counter()
    child = _start(model, texts, folder, 512)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise SystemExit(f"the run that was left alone ended with {code}")
    return time.perf_counter() - started


def _start(model: object, texts: list[str], folder: Path, tokens: int) -> int:
    child = os.fork()
    if child:
        return child
    try:
        measure_into(model, texts, folder, tokens)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


def measure_into(model: object, texts: list[str], folder: Path, tokens: int) -> None:
    import mindshare
    import mindshare.attention.batches as batches

    batches.TOKENS = tokens  # of one batch
    mindshare.measure(
        model, texts, classes={"hash": "#", "star": "*"}, measures=["mass", "received"], into=folder
    )


def _moment(folder: Path) -> str:
    if (folder / "manifest.json").exists():
        return "finished"
    if (folder / ".finalising").exists():
        return "writing tables"
    return "measuring" if (folder / "run.sqlite").exists() else "before the store"


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
