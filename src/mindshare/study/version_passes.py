"""Prompts in all their versions → the numbers of each version, in as few passes as memory allows.

    versions without, a batch at a time (queries and keys kept) ─► versions with, compared with them

As everywhere, a version is padded to a length that follows from itself and shares a pass only with
others of that length, so its numbers never depend on the neighbours; where a model can't promise
that, every version has a pass of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from mindshare.models import LoadedModel
from mindshare.study.inserting import InsertionStudy
from mindshare.study.insertion_rows import VersionNumbers
from mindshare.study.passes import Fitting
from mindshare.study.versions import Version, Versions

if TYPE_CHECKING:
    from mindshare.attention.call import AttentionCall
    from mindshare.attention.pairs import HeadNumbers, Positions
    from mindshare.attention.watcher import Onlooker, Request, Watcher


def windows(everything: Sequence[Versions]) -> Iterator[list[Versions]]:
    """Prompts whose versions go together: what the first stage keeps has to fit into memory."""
    from mindshare.attention.batches import TOKENS

    some: list[Versions] = []
    for one in everything:
        if some and sum(len(x.without) for x in some) + len(one.without) > TOKENS:
            yield some
            some = []
        some.append(one)
    if some:
        yield some


def version_numbers(
    loaded: LoadedModel,
    some: Sequence[Versions],
    study: InsertionStudy,
    done: Callable[[int], None],
) -> list[list[VersionNumbers]]:
    """Of each prompt: the version without, then each condition. `done` is told of every pass."""
    from mindshare.attention.invariance import may_share
    from mindshare.attention.pairs import Kept, Rescaling

    run = _Runner(loaded, study, may_share(loaded.model), done)
    kept = [Kept() for _ in some]
    bare = [
        _Pass((number, -1), one.without.ids, np.ones(len(one.without)), onlooker=kept[number])
        for number, one in enumerate(some)
    ]
    found = run.all(bare)
    passes = []
    for number, one in enumerate(some):
        for place, version in enumerate(one.versions):
            comparing = Rescaling(kept[number].calls, _positions(version))
            inserted = np.isin(version.alignment.parts, ("inserted",))
            asked = ~inserted if study.queries == "original" else np.ones(len(inserted))
            ids, columns = version.encoded.ids, inserted[:, None].astype(np.float32)
            weights = asked.astype(float)
            compared = comparing.layers
            passes.append(_Pass((number, place), ids, weights, columns, comparing, compared))
    found |= run.all(passes)
    return [
        [found[number, place] for place in range(-1, len(one.versions))]
        for number, one in enumerate(some)
    ]


def _positions(version: Version) -> Positions:
    from mindshare.attention.pairs import Positions

    pairs = np.array(version.alignment.pairs, dtype=np.int64).reshape(-1, 2)
    return Positions(pairs, version.holding("inserted"), version.end)


@dataclass(frozen=True)
class _Pass:
    """One version: token ids, the weight of each query, the columns whose mass is wanted."""

    item: tuple[int, int]  # which prompt, which of its versions
    ids: Sequence[int]
    queries: np.ndarray  # [token]
    columns: np.ndarray | None = None  # [token, column]
    onlooker: Onlooker | None = None
    heads: Mapping[int, HeadNumbers] = field(default_factory=dict)  # filled by the onlooker

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class _Runner:
    loaded: LoadedModel
    study: InsertionStudy
    together: bool
    done: Callable[[int], None]
    fitting: Fitting = field(default_factory=Fitting)

    def all(self, passes: Sequence[_Pass]) -> dict[tuple[int, int], VersionNumbers]:
        found: dict[tuple[int, int], VersionNumbers] = {}
        for some in self.fitting.run(passes, self._numbers_of, together=self.together):
            found |= some
            self.done(len(some))
        return found

    def _numbers_of(self, batch: Sequence[_Pass]) -> dict[tuple[int, int], VersionNumbers]:
        watcher = self._watch(batch)
        return {one.item: _numbers(watcher, row, one) for row, one in enumerate(batch)}

    def _watch(self, batch: Sequence[_Pass]) -> Watcher:
        import torch

        from mindshare.attention.batches import filled, length_in
        from mindshare.attention.forward import run_pass

        model, first = self.loaded.model, batch[0]
        length = length_in(model, first) if self.together else len(first)

        def look(layer: int, call: AttentionCall) -> None:
            for row, one in enumerate(batch):
                if one.onlooker is not None:
                    one.onlooker(layer, call.row(row))

        ids = np.stack([filled(np.array(one.ids), length, one.ids[-1]) for one in batch])
        request = self._request(batch, length)
        return run_pass(model, torch.from_numpy(ids), request, onlooker=look)

    def _request(self, batch: Sequence[_Pass], length: int) -> Request:
        import torch

        from mindshare.attention.batches import filled
        from mindshare.attention.watcher import Request

        def stacked(arrays: Sequence[np.ndarray]) -> torch.Tensor:
            return torch.from_numpy(np.stack([filled(x, length, 0) for x in arrays])).float()

        none = [np.zeros((len(one), 0), np.float32) for one in batch]
        given = [none[i] if one.columns is None else one.columns for i, one in enumerate(batch)]
        every_query = all(bool((one.queries == 1).all()) for one in batch)
        valid = torch.arange(length) < torch.tensor([len(one) for one in batch])[:, None]
        layers = self.study.layers
        return Request(
            columns=stacked(given),
            valid=valid,
            query_weights=None if every_query else stacked([x.queries for x in batch])[:, None],
            received=True,
            near=self.study.near,
            layers=None if layers is None else frozenset(layers),
            kernel=self.study.kernel,
        )


def _numbers(watcher: Watcher, row: int, one: _Pass) -> VersionNumbers:
    from mindshare.attention.capture import query_counts, received_means

    request, tokens = watcher.request, len(one)
    counts = query_counts(request.weights()[row : row + 1], request.near)
    seen = dict(sorted(watcher.layers.items()))
    received = [
        received_means(x.received[row : row + 1], counts)[0, 0, :, :tokens]
        for x in seen.values()
        if x.received is not None
    ]
    given = [x.given[0][row, :, :tokens, 0] for x in seen.values() if x.given]
    return VersionNumbers(
        layers=tuple(seen),
        received=np.stack([x.cpu().numpy() for x in received]),
        n_queries=counts[0, 0, :tokens].cpu().numpy().astype(np.int64),
        inserted=np.stack([x.double().cpu().numpy() for x in given]) if given else None,
        heads=tuple(one.heads[layer] for layer in seen if layer in one.heads),
        kernels=frozenset(x.kernel for x in seen.values()),
    )
