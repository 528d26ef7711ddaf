"""Who runs the passes: the `Backend` protocol, the model in this process, and who a model is.

A backend answers jobs in any order and any grouping, every job once. Which backend it is changes no
bit of a result: here `LocalBackend`, in `mindshare.backends` processes of this machine and Ray.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from mindshare.attention.jobs import Job, PromptResult, Request
from mindshare.errors import MindshareError
from mindshare.models import AttentionFacts, LoadedModel, attention_facts, wrap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mindshare.attention.chunks import Names
    from mindshare.attention.rescaling import Calls


@dataclass(frozen=True)
class ModelIdentity:
    """What tables and manifests say of a model, as plain values: it may run anywhere."""

    reference: str
    name: str
    fingerprint: str
    adapter: str | None
    dtype: str
    device: str
    facts: AttentionFacts
    verdict: dict[str, Any]  # of the self-check
    processor: str = ""  # its kind: the last digits depend on it

    @classmethod
    def of(cls, loaded: LoadedModel) -> ModelIdentity:
        """Raises for a model that is not measured exactly."""
        from mindshare.attention.selfcheck import verify
        from mindshare.models.processor import processor

        facts = attention_facts(loaded.model)
        return cls(
            reference=loaded.reference,
            name=loaded.name,
            fingerprint=loaded.fingerprint,
            adapter=loaded.adapter,
            dtype=str(loaded.dtype).removeprefix("torch."),
            device=str(loaded.device),
            facts=replace(facts, windows=dict(facts.windows)),  # a read-only view can't be sent
            verdict=asdict(verify(loaded.model)),
            processor=processor(loaded.model),
        )

    @property
    def key(self) -> str:
        """What decides its numbers."""
        device = self.device.partition(":")[0]
        return f"{self.fingerprint} {self.dtype} {device} {self.processor}"


class Backend(Protocol):
    """Whoever runs jobs: this process, several, or other machines."""

    @property
    def workers(self) -> int:
        """How many of them work at once."""

    @property
    def identity(self) -> ModelIdentity:
        """The model that all of them run."""

    def results(self, jobs: Sequence[Job], request: Request) -> Iterator[list[PromptResult]]:
        """Every job's result, once, in any order and any grouping."""


class LocalBackend:
    """A model in this process.

    A batch has up to `tokens` tokens, padding included. Where memory runs out it is halved, and
    later ones are smaller; the numbers stay the same. A prompt that is fed in chunks has passes of
    its own; chunks that prompts have in common at their start are computed once.
    """

    workers = 1

    def __init__(self, model: LoadedModel | Any, *, tokens: int | None = None) -> None:
        from mindshare.attention import forward
        from mindshare.attention.chunks import PrefixCache

        self.loaded = model if isinstance(model, LoadedModel) else wrap(model)
        self.tokens = tokens or forward.TOKENS
        self.prefixes = PrefixCache()

    @cached_property
    def identity(self) -> ModelIdentity:
        return ModelIdentity.of(self.loaded)

    @cached_property
    def may_share(self) -> bool:
        """Whether prompts may share a pass."""
        from mindshare.attention.checks import may_share

        return may_share(self.loaded.model)

    def results(self, jobs: Sequence[Job], request: Request) -> Iterator[list[PromptResult]]:
        if request.knockout is not None:  # a prompt's share its passes, and no others do
            from mindshare.attention import knockout

            for job in sorted(jobs, key=lambda job: (-len(job), job.item)):
                with _about(job):
                    result = knockout.run(self.loaded.model, job, request)
                yield [result]
            return
        requested = {job.item for job in jobs}
        versions: dict[str, list[Job]] = {}  # item of the reference → the jobs compared with it
        references: dict[str, Job] = {}
        for job in jobs:
            if job.reference is not None:
                versions.setdefault(job.reference.item, []).append(job)
                references[job.reference.item] = job.reference
        alone = [job for job in jobs if job.reference is None and job.item not in versions]
        names = self._names([*jobs, *references.values()], versions, request)
        yield from self._passes(alone, request, {}, names)
        # A stable sort: those that are not fed in chunks, and have no names, stay where they are.
        for window in _windows(sorted(references.values(), key=lambda job: names[job.item])):
            # The queries and keys of these references, by item and layer.
            kept: dict[str, Calls] = {job.item: {} for job in window}
            for results in self._passes(window, request, kept, names):
                if some := [result for result in results if result.item in requested]:
                    yield some
            compared = [job for item in kept for job in versions[item]]
            yield from self._passes(compared, request, kept, names)

    def _names(
        self, jobs: Sequence[Job], versions: Mapping[str, list[Job]], request: Request
    ) -> dict[str, Names]:
        """Of the chunks at each job's start that may come from an earlier one, by item.

        Up to where a comparison has to see the pass.
        """
        from mindshare.attention.chunks import chunk_names

        until = {job.item: len(job) for job in jobs}
        for item, some in versions.items():
            for job in some:
                assert job.positions is not None
                there, until[job.item] = job.positions.first_needed
                until[item] = min(until[item], there)
        names = {job.item: chunk_names(job, request, until[job.item]) for job in jobs}
        self.prefixes.expect(names.values())
        return names

    def _passes(
        self,
        jobs: Sequence[Job],
        request: Request,
        kept: Mapping[str, Calls],
        names: Mapping[str, Names],
    ) -> Iterator[list[PromptResult]]:
        from mindshare.attention.forward import batches

        if request.chunk_tokens is not None:  # those that begin alike one after the other
            for job in sorted(jobs, key=lambda job: (names[job.item], len(job), job.item)):
                yield from self._pass([job], request, kept, names[job.item], padded=False)
        elif jobs:
            for batch in batches(jobs, together=self.may_share, tokens=lambda: self.tokens):
                yield from self._pass(batch, request, kept, (), padded=self.may_share)

    def _pass(
        self,
        batch: list[Job],
        request: Request,
        kept: Mapping[str, Calls],
        names: Names,
        *,
        padded: bool,
    ) -> Iterator[list[PromptResult]]:
        """A pass; one that fails is made again in halves."""
        from mindshare.attention import forward
        from mindshare.attention.chunks import PromptPrefix

        try:
            results = forward.run_batch(
                self.loaded.model,
                batch,
                request,
                padded=padded,
                kept=kept,
                prefix=PromptPrefix(self.prefixes, names),
            )
        except (MindshareError, MemoryError, RuntimeError) as error:
            out_of_memory = not isinstance(error, MindshareError)
            middle = len(batch) // 2
            if out_of_memory and self.prefixes.give_up():
                middle = len(batch)  # the whole batch once more, with what was kept for it gone
            elif middle == 0 or not _splitting_helps(error):
                with _about(batch[0]):
                    raise
            elif out_of_memory:
                self.tokens = max(batch[0].padded, self.tokens // 2)
        else:
            yield results
            return
        for part in filter(None, (batch[:middle], batch[middle:])):
            yield from self._pass(part, request, kept, names, padded=padded)


def _windows(references: Iterable[Job]) -> Iterator[list[Job]]:
    """References that are kept at the same time: their queries and keys must fit in memory."""
    from mindshare.attention.forward import TOKENS

    window: list[Job] = []
    for job in references:
        if window and sum(map(len, window)) + len(job) > TOKENS:
            yield window
            window = []
        window.append(job)
    if window:
        yield window


@contextmanager
def _about(job: Job) -> Iterator[None]:
    """Whoever knows prompts can say which of them is refused."""
    try:
        yield
    except MindshareError as error:
        error.item = job.item
        raise


def _splitting_helps(error: Exception) -> bool:
    """Too little memory, or one prompt of the batch whose numbers are refused."""
    words = str(error).lower()
    return (
        isinstance(error, (MindshareError, MemoryError))
        or "out of memory" in words
        or "can't allocate memory" in words
    )
