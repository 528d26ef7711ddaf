"""A model and prompts under every condition → a Measurement with the tables of an insertion.

    versions ─► pass without (queries and keys kept) ─► passes with ─► rows ─► tables

One prompt a pass, as everywhere: the numbers never depend on the neighbours.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

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
from mindshare.study.versions import Version, Versions, read_versions
from mindshare.table import joined, table

if TYPE_CHECKING:
    import pyarrow as pa

    from mindshare.attention.pairs import HeadNumbers, Positions
    from mindshare.attention.watcher import Onlooker, Watcher


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
    for versions in everything:
        there = None if kept is None else kept.take(versions)
        numbers = []
        for found in _passes(loaded, versions, study) if there is None else there:
            numbers.append(found)
            done += 1
            if progress is not None:
                progress(done, total)
        if kept is not None and there is None:
            kept.put(versions, numbers)
        yield versions, numbers


def _versions(loaded: LoadedModel, prompts: Any, study: InsertionStudy) -> Sequence[Versions]:
    if isinstance(prompts, Sequence) and prompts and isinstance(prompts[0], Versions):
        return prompts
    return [read_versions(loaded, prompt, study) for prompt in as_prompts(prompts)]


def _passes(
    loaded: LoadedModel, versions: Versions, study: InsertionStudy
) -> Iterator[VersionNumbers]:
    """The version without, then each condition."""
    from mindshare.attention.pairs import Kept, Rescaling

    kept = Kept()
    tokens = len(versions.without)
    one = _Pass(versions.without.ids, np.ones(tokens), np.zeros((tokens, 0)))
    yield one.run(loaded, study, kept, {})
    for version in versions.versions:
        comparing = Rescaling(kept.calls, _positions(version))
        inserted = np.isin(version.alignment.parts, ("inserted",))
        asked = ~inserted if study.queries == "original" else np.ones(len(inserted))
        one = _Pass(version.encoded.ids, asked.astype(float), inserted[:, None].astype(float))
        yield one.run(loaded, study, comparing, comparing.layers)


def _positions(version: Version) -> Positions:
    from mindshare.attention.pairs import Positions

    pairs = np.array(version.alignment.pairs, dtype=np.int64).reshape(-1, 2)
    return Positions(pairs, version.holding("inserted"), version.end)


@dataclass(frozen=True)
class _Pass:
    """One forward pass: token ids, the weight of each query, the columns whose mass is wanted."""

    ids: Sequence[int]
    queries: np.ndarray  # [token]
    columns: np.ndarray  # [token, column]

    def run(
        self,
        loaded: LoadedModel,
        study: InsertionStudy,
        onlooker: Onlooker,
        heads: dict[int, HeadNumbers],
    ) -> VersionNumbers:
        from mindshare.attention.capture import query_counts, received_means

        watcher = self._watch(loaded, study, onlooker)
        counts = query_counts(watcher.request.weights(), study.near)
        seen = dict(sorted(watcher.layers.items()))
        received = [
            received_means(x.received, counts)[0, 0]
            for x in seen.values()
            if x.received is not None
        ]
        given = [x.given[0][0, :, :, 0] for x in seen.values() if x.given]
        return VersionNumbers(
            layers=tuple(seen),
            received=np.stack([x.cpu().numpy() for x in received]),
            n_queries=counts[0, 0].cpu().numpy().astype(np.int64),
            inserted=np.stack([x.double().cpu().numpy() for x in given]) if given else None,
            heads=tuple(heads[layer] for layer in seen if layer in heads),
            kernels=frozenset(x.kernel for x in seen.values()),
        )

    def _watch(self, loaded: LoadedModel, study: InsertionStudy, onlooker: Onlooker) -> Watcher:
        import torch

        from mindshare.attention.forward import run_pass
        from mindshare.attention.watcher import Request

        every_query = bool((self.queries == 1).all())
        request = Request(
            columns=torch.from_numpy(self.columns).float()[None],
            valid=torch.ones(1, len(self.ids), dtype=torch.bool),
            query_weights=None
            if every_query
            else torch.from_numpy(self.queries).float()[None, None],
            received=True,
            near=study.near,
            layers=None if study.layers is None else frozenset(study.layers),
            kernel=study.kernel,
        )
        return run_pass(loaded.model, torch.tensor([self.ids]), request, onlooker=onlooker)
