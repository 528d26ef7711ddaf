"""A driver to be killed: stores what workers find, batch by batch, and goes on where it was."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from mindshare.attention.jobs import PromptResult, pack
from mindshare.backends import BackendOptions
from mindshare.store import Done, RunWriter
from tests.backends.tiny_jobs import REQUEST, everything, spec


def done(result: PromptResult) -> Done:
    parts = {layer: pack(arrays) for layer, arrays in result.layers.items()}
    return Done(result.item, "tiny", result.item, parts, whole=True)


def main(run: str, model: str, on: str, workers: str, pause: str) -> None:
    some = everything()
    with (
        RunWriter.open(Path(run), {"of": "the driver"}) as store,
        BackendOptions(on, workers=int(workers)).open(spec(Path(model))) as backend,
    ):
        missing = store.missing([job.item for job in some])
        print("missing", len(missing), flush=True)
        lacking = [job for job in some if job.item in missing]
        for results in backend.results(lacking, REQUEST):
            store.put([done(one) for one in results])
            print("stored", len(results), flush=True)
            time.sleep(float(pause))


if __name__ == "__main__":
    main(*sys.argv[1:])
