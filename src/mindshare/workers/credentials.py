"""A loaded model → what a worker says of itself, and whether two workers may answer together.

They may if they give the same bytes. Model, precision, kind of device, instruction set and versions
must be equal; and since these don't decide everything (two makers' processors of one instruction
set), each worker answers the same made-up prompts, and the hashes of the numbers must be equal too.
"""

from __future__ import annotations

import hashlib
import os
import platform
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from mindshare.errors import ExactnessError
from mindshare.study.packed import pack
from mindshare.study.respondent import Respondent

if TYPE_CHECKING:
    import torch

    from mindshare.attention.batches import Job
    from mindshare.models import LoadedModel
    from mindshare.study.passes import Passes

_LENGTHS = (17, 25, 120, 200)  # of the made-up prompts


@dataclass(frozen=True)
class Credentials:
    respondent: Respondent
    capability: str  # the instruction set that torch uses, "AVX2"
    versions: str
    shares: bool  # whether prompts share passes
    probe: str  # hash of its numbers for the made-up prompts
    host: str
    pid: int

    @classmethod
    def of(cls, loaded: LoadedModel, passes: Passes) -> Credentials:
        """Raises for a model that is not measured exactly."""
        import torch

        from mindshare.attention.invariance import may_share
        from mindshare.attention.remembering import versions

        return cls(
            respondent=_plain(Respondent.of(loaded)),
            capability=torch.backends.cpu.get_cpu_capability(),
            versions=versions(),
            shares=may_share(loaded.model),
            probe=_probe(loaded.model, passes),
            host=platform.node(),
            pid=os.getpid(),
        )

    @property
    def place(self) -> str:
        return f"process {self.pid} on {self.host}"


def require_same(first: Credentials, other: Credentials) -> None:
    """Refuse a worker whose bytes might differ, with the reason."""
    reason = _difference(first, other)
    if reason is None:
        return
    raise ExactnessError(
        f"two workers do not answer alike: {reason}. Their numbers could differ in the last "
        "digits, and tables would depend on who answered what",
        where=f"{other.place}, against {first.place}",
        allowed="workers with the same model, versions, kind of device and kind of processor",
        next_step="run on machines of one kind, or with --workers 1",
    )


def _difference(a: Credentials, b: Credentials) -> str | None:
    named = {
        "the model (weights, precision, device)": (a.respondent.identity, b.respondent.identity),
        "the versions": (a.versions, b.versions),
        "the processor's instruction set": (a.capability, b.capability),
        "whether prompts may share a pass": (a.shares, b.shares),
    }
    for what, (one, other) in named.items():
        if one != other:
            return f"{what} is {other} here and {one} there"
    if a.probe != b.probe:
        return "the same made-up prompts come out with other numbers"
    return None


def _plain(respondent: Respondent) -> Respondent:
    """The windows as a dict: a read-only view of one can't be sent."""
    return replace(
        respondent, facts=replace(respondent.facts, windows=dict(respondent.facts.windows))
    )


def _probe(model: torch.nn.Module, passes: Passes) -> str:
    from mindshare.attention.batches import Asked

    asked = Asked(entropy=True, distance=True)
    answers = [one for some in passes.answers(_made_up(model), asked) for one in some]
    found = hashlib.sha256()
    for answer in sorted(answers, key=lambda answer: answer.item):
        for layer, numbers in sorted(answer.layers.items()):
            found.update(f"{answer.item} {layer}".encode())
            found.update(pack(numbers))
    return found.hexdigest()[:32]


def _made_up(model: torch.nn.Module) -> list[Job]:
    from mindshare.attention.batches import Job
    from mindshare.models.facts import context_length_of

    room = context_length_of(getattr(model, "config", None)) or max(_LENGTHS)
    vocabulary = model.get_input_embeddings().num_embeddings  # type: ignore[operator]
    random = np.random.default_rng(1)
    return [
        Job(
            item=f"{number:02x}",
            ids=random.integers(0, vocabulary, length),
            columns=random.random((length, 3), np.float32),
            queries=np.ones((1, length), bool),
        )
        for number, length in enumerate(min(length, room) for length in _LENGTHS)
    ]
