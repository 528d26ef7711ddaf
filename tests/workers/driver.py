"""A driver to be killed: stores what workers answer, batch by batch, and goes on where it was."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from mindshare.attention.batches import Answer
from mindshare.runs import Done, Store
from mindshare.study.packed import pack
from mindshare.workers import answering_for
from tests.workers.asking import ASKED, jobs, spec


def done(answer: Answer) -> Done:
    parts = {layer: pack(numbers) for layer, numbers in answer.layers.items()}
    return Done(answer.item, "tiny", answer.item, parts, whole=True)


def main(run: str, model: str, on: str, workers: str, pause: str) -> None:
    some = jobs()
    with (
        Store.open(Path(run), {"of": "the driver"}) as store,
        answering_for(spec(Path(model)), on=on, workers=int(workers)) as answering,
    ):
        missing = store.missing([job.item for job in some])
        print("missing", len(missing), flush=True)
        lacking = [job for job in some if job.item in missing]
        for answers in answering.answers(lacking, ASKED):
            store.put([done(answer) for answer in answers])
            print("stored", len(answers), flush=True)
            time.sleep(float(pause))


if __name__ == "__main__":
    main(*sys.argv[1:])
