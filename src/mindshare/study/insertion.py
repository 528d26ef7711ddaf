"""A model and prompts under every condition → a Measurement with the tables of an insertion.

versions ─► passes without and with ─► rows ─► tables
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mindshare.models import LoadedModel, attention_facts
from mindshare.study.answers import Progress
from mindshare.study.encoding import as_loaded, as_prompts, check_selection
from mindshare.study.inserting import InsertionStudy
from mindshare.study.insertion_rows import VersionNumbers, insertion_rows
from mindshare.study.insertion_storing import VersionShelf
from mindshare.study.measurement import Measurement
from mindshare.study.provenance import describe_run, prompt_facts, table_metadata
from mindshare.study.respondent import Respondent
from mindshare.study.storing import Stored
from mindshare.study.version_passes import version_numbers, windows
from mindshare.study.versions import Versions, read_versions
from mindshare.table import joined, table

if TYPE_CHECKING:
    import pyarrow as pa


def measure_insertion(
    model: LoadedModel | str | Any,
    prompts: Any,
    study: InsertionStudy,
    *,
    progress: Progress | None = None,
    shelf: Stored | None = None,
) -> Measurement:
    """What the insertions do to the model's attention.

    `prompts` is what `mindshare.measure` takes, or `Versions` that were read already. The tables:
    `conditions`, `places`, `sequence`, `retained` and `rescaling`. What a shelf of a run has is not
    measured again.
    """
    started = time.perf_counter()
    loaded = as_loaded(model)
    facts = attention_facts(loaded.model)
    check_selection(facts, name=loaded.name, layers=study.layers, heads=None)
    versions = _versions(loaded, prompts, study)
    respondent = Respondent.of(loaded)
    about = table_metadata(respondent, study)
    parts: list[dict[str, pa.Table]] = []
    kernels: set[str] = set()
    kept = None if shelf is None else VersionShelf(shelf, study, respondent.identity)
    if kept is not None:
        kept.plan(versions)
    for one, numbers in _all_numbers(loaded, versions, study, kept, progress):
        kernels |= {name for found in numbers for name in found.kernels}
        rows = insertion_rows(one, numbers)
        parts.append({name: table(name, columns, about) for name, columns in rows.items()})
    run = {
        "kernels": sorted(kernels),
        "self_check": respondent.verdict,
        "notes": sorted({note for one in versions for note in one.notes}),
        "wall_seconds": round(time.perf_counter() - started, 3),
    }
    tables = {name: joined([part[name] for part in parts]) for name in parts[0]}
    read = [prompt_facts(one.without) for one in versions]
    return Measurement(tables, describe_run(respondent, study, read, run))


def _all_numbers(
    loaded: LoadedModel,
    everything: Sequence[Versions],
    study: InsertionStudy,
    kept: VersionShelf | None,
    progress: Progress | None,
) -> Iterator[tuple[Versions, list[VersionNumbers]]]:
    """Each prompt's versions with their numbers, from the shelf or from passes made now."""
    done, total = 0, sum(1 + len(one.versions) for one in everything)

    def report(passes: int) -> None:
        nonlocal done
        done += passes
        if progress is not None:
            progress(done, total)

    for some in windows(everything):
        there = [None if kept is None else kept.take(versions) for versions in some]
        for numbers in there:
            if numbers is not None:
                report(len(numbers))
        missing = [one for one, numbers in zip(some, there, strict=True) if numbers is None]
        new = iter(version_numbers(loaded, missing, study, report))
        for versions, known in zip(some, there, strict=True):
            numbers = next(new) if known is None else known
            if kept is not None and known is None:
                kept.put(versions, numbers)
                report(0)  # its tokens count from here
            yield versions, numbers


def _versions(loaded: LoadedModel, prompts: Any, study: InsertionStudy) -> Sequence[Versions]:
    if isinstance(prompts, Sequence) and prompts and isinstance(prompts[0], Versions):
        return prompts
    return [read_versions(loaded, prompt, study) for prompt in as_prompts(prompts)]
