"""What goes into a forward pass and what comes out of it, as plain values that can travel.

A `Job` is a prompt, or a prompt with the pass it is compared with; a `Request` says what to compute
of every job alike; a `PromptResult` holds one job's numbers, by layer and by name. All three can be
pickled, hashed by content, or written to disk. Needs numpy, not torch; knows no prompts and no
tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from mindshare.errors import ExactnessError, SelectionError

LOGITS = 2**28  # bytes of logits that knock-outs of a prompt hold at a time
KNOCKOUT_METHODS = ("mask", "zero", "sink", "mean")  # what takes the place of removed edges
STEP = 16  # padded lengths are multiples of this: a whole number of vectors in every row

Layers = frozenset[int] | None  # None: every layer that has attention


@dataclass(frozen=True)
class Positions:
    """Where the tokens of a prompt and of the version it is compared with stand."""

    pairs: np.ndarray  # [token, 2]: a matched token's position in the reference and here, ascending
    inserted: np.ndarray  # [token]: positions here
    end: int  # position here after the insertion

    @property
    def later(self) -> int:
        """The first of the pairs that stands after the insertion."""
        return int(np.searchsorted(self.pairs[:, 1], self.end))

    @property
    def first_needed(self) -> tuple[int, int]:
        """From which tokens on, in the reference and here, a comparison has to see the pass."""
        matched = self.pairs[:, 0]
        first = matched[self.later :].min(initial=matched.max(initial=-1) + 1)
        return int(first), int(self.inserted.min(initial=self.end))


@dataclass(frozen=True)
class Answer:
    """What the model is to say after a prompt; a knock-out is judged by what becomes of it."""

    ids: np.ndarray  # [token] int64; none: whatever the model itself says, greedily
    rivals: np.ndarray | None = None  # [rival, 2] int64: position in the answer, another choice's
    # token there; none where the answer has no choices to be told from


@dataclass(frozen=True)
class Job:
    """All that a model has to know of one prompt.

    A job with an `answer` is a knock-out: each column is a class of keys to hide, and each query
    set the queries of the prompt that it is hidden from.

    A job with a `reference` is compared with that job's pass, whose queries and keys it needs: the
    backend runs the reference first, whether or not its own numbers are asked for.
    """

    item: str  # names the result: a hash of all that decides its numbers
    ids: np.ndarray  # [token] int64
    columns: np.ndarray  # [token, column] float32: what each key counts for
    queries: np.ndarray | None = None  # [set, token]; None: one set, every token
    reference: Job | None = None
    positions: Positions | None = None  # of the tokens in both, where there is a reference
    answer: Answer | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def padded(self) -> int:
        """The length of its row in a batch."""
        return -(-len(self) // STEP) * STEP

    @property
    def query_sets(self) -> np.ndarray:
        """`queries`, written out."""
        return np.ones((1, len(self)), bool) if self.queries is None else self.queries


@dataclass(frozen=True)
class Knockout:
    """Which edges of the attention are taken away, and how; the classes are the job's."""

    how: str = "mask"
    heads: tuple[int, ...] | None = None  # of each layer; None: every head
    each: bool = False  # each head by itself, or all of them together
    window: int = 1  # layers at once: l − window // 2 … l + ⌈window / 2⌉ − 1 around each layer l
    places: tuple[tuple[int, int], ...] = ()  # (layer, head), in place of all: together, or each
    while_answering: bool = False  # hidden from the tokens of the answer, too
    greedy: int = 1  # tokens of the model's own answer, where none is given
    screen: bool = False  # first-order effects in place of knock-outs
    names: tuple[str, ...] = ()  # of the classes, for messages
    means: Mapping[int, np.ndarray] | None = None  # of `mean`: layer → [head, class, value dim];
    # None: what a class gives a head's output is found, for its mean over all prompts

    def around(self, layer: int) -> range:
        return range(layer - self.window // 2, layer + -(-self.window // 2))


@dataclass(frozen=True)
class Request:
    """What a pass must compute.

    `statistics` are names: `mass` (means over query sets of the columns, with what uniform
    attention would give them), `given` (the same query by query), `received`, `rescaling` (needs a
    reference), and whatever `attention.call.PER_QUERY` computes from a row of A.
    """

    statistics: frozenset[str] = frozenset({"mass", "received"})
    near: int = 0  # `received` counts queries with i > j + near; -1 includes the diagonal
    layers: Layers = None
    kernel: str = "auto"
    chunk_tokens: int | None = None  # feed a prompt in pieces of this many tokens
    knockout: Knockout | None = None  # of jobs with an answer


@dataclass(frozen=True)
class PromptResult:
    """The numbers of one job: layer → name → array, and the kernel that computed each layer."""

    item: str
    layers: Mapping[int, Mapping[str, np.ndarray]]
    kernels: Mapping[int, str] = field(default_factory=dict)
    shared: int = 0  # tokens at its start that were computed for an earlier prompt


def check_near(near: int) -> None:
    """Refuse what `near` of a request can't be."""
    if near < -1:
        raise SelectionError(
            f"near={near} makes no sense", allowed="-1 (include the diagonal), 0, 1, 2, …"
        )


def check_chunk(tokens: int | None) -> None:
    """Refuse what `chunk_tokens` of a request can't be."""
    if tokens is not None and tokens < 1:
        raise SelectionError(f"chunk_tokens={tokens}", allowed="1, 2, 3, …")


def pack(arrays: Mapping[str, np.ndarray]) -> bytes:
    """The numbers of one layer as bytes (safetensors)."""
    from safetensors.numpy import save

    return save({name: np.ascontiguousarray(x) for name, x in arrays.items()})


def unpack(data: bytes) -> dict[str, np.ndarray]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        found: dict[str, np.ndarray] = load(data)
    except (SafetensorError, ValueError, TypeError) as error:
        raise ExactnessError(
            f"stored numbers can't be read: {error}",
            next_step="remove the run's store, or measure into another folder",
        ) from error
    return found


def group_by_reference(jobs: Iterable[Job]) -> list[list[Job]]:
    """Jobs that need the same reference pass in one list; the others each in one of its own.

    A job that is itself the reference of others stands first among them.
    """
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        groups.setdefault((job.reference or job).item, []).append(job)
    return [sorted(group, key=lambda job: job.reference is not None) for group in groups.values()]
