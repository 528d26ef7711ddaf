"""What runs in a worker: a model, loaded once; batches of jobs come in, results go out.

Workers may share a run if they give the same bytes. Model, precision, kind of device and
versions must be equal; and since these don't decide everything (two makers' processors of one
instruction set), each worker runs the same made-up jobs, and the hashes of the numbers must be
equal too. All of that is a worker's fingerprint.
"""

from __future__ import annotations

import hashlib
import os
import platform
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mindshare.attention.jobs import Job, PromptResult, Request
from mindshare.errors import ExactnessError, MindshareError
from mindshare.models.facts import context_length_of
from mindshare.models.processor import keep_memory
from mindshare.store.database import package_versions
from mindshare.study.backend import LocalBackend, ModelIdentity

if TYPE_CHECKING:
    from mindshare.models import AttentionFacts, LoadedModel, ModelTokenizer

_PASSED_ON = ("HF_HUB_OFFLINE", "HF_HUB_DISABLE_TELEMETRY", "TRANSFORMERS_OFFLINE")
# Tokens of the made-up jobs. The first two share a padded length, and so a pass where that is
# allowed.
_PROBE_LENGTHS = (17, 25, 120, 200)


@dataclass(frozen=True)
class ModelSpec:
    """Which model, as plain values that can be sent to a worker: what `load` takes."""

    reference: str
    adapter: str | None = None
    dtype: str = "float32"
    device: str | None = None
    device_map: Any = None
    trust_remote_code: bool = False

    def load(self, *, progress: bool = False) -> LoadedModel:
        from mindshare.models import load

        how = {name: value for name, value in vars(self).items() if name != "reference"}
        return load(self.reference, **how, progress=progress)

    def load_tokenizer(self, *, progress: bool = False) -> ModelTokenizer:
        """By which jobs are made; no weights are read. An adapter may bring one of its own."""
        from mindshare.models import load_tokenizer

        trust = self.trust_remote_code
        return load_tokenizer(
            self.reference, adapter=self.adapter, trust_remote_code=trust, progress=progress
        )

    def check(self) -> AttentionFacts:
        """Raises for a model that can't be loaded and measured, as far as its files tell."""
        from mindshare.models import check

        how = {"adapter": self.adapter, "dtype": self.dtype, "device": self.device}
        return check(self.reference, **how, trust_remote_code=self.trust_remote_code)  # type: ignore[arg-type]

    @property
    def on_gpu(self) -> bool:
        """Whether it is going to need one."""
        return self.device_map is not None or (self.device or "cpu").startswith("cuda")


@dataclass(frozen=True)
class WorkerSetup:
    """What a worker is made from."""

    spec: ModelSpec
    threads: int | None = None  # None: as torch likes
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str | None = None  # where relative paths start
    cache: str | None = None

    @classmethod
    def like_here(cls, spec: ModelSpec, threads: int | None = None) -> WorkerSetup:
        """For a worker that is no child of this process, and inherits nothing from it."""
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        cache = os.environ.get("MINDSHARE_CACHE")
        return cls(spec, threads, environment, folder=os.getcwd(), cache=cache)

    def enter(self) -> None:
        """Before torch and transformers are imported: they read the environment once."""
        os.environ.update(self.environment)
        if self.folder and os.path.isdir(self.folder):
            os.chdir(self.folder)
        if self.cache and os.path.isdir(self.cache):
            os.environ["MINDSHARE_CACHE"] = self.cache


@dataclass(frozen=True)
class WorkerFingerprint:
    """What decides a worker's bytes, told by it before any of its results counts."""

    identity: ModelIdentity
    versions: Mapping[str, str]
    may_share: bool  # whether prompts may share a pass
    probe: str  # hash of its numbers for the made-up jobs
    host: str
    pid: int

    @classmethod
    def of(cls, backend: LocalBackend) -> WorkerFingerprint:
        """Raises for a model that is not measured exactly."""
        return cls(
            identity=backend.identity,
            versions=package_versions(),
            may_share=backend.may_share,
            probe=_probe(backend),
            host=platform.node(),
            pid=os.getpid(),
        )

    @property
    def process(self) -> str:
        return f"process {self.pid} on {self.host}"

    def _facts(self) -> dict[str, object]:
        return {
            "the model (weights, precision, device, processor)": self.identity.key,
            "the set of versions": ", ".join(" ".join(item) for item in self.versions.items()),
            "whether prompts may share a pass": self.may_share,
        }

    def require_same(self, other: WorkerFingerprint) -> None:
        """Refuse a worker whose bytes might differ from this one's, with the reason."""
        differ = [
            f"{what} is {theirs} here and {ours} there"
            for what, ours in self._facts().items()
            if ours != (theirs := other._facts()[what])
        ]
        if self.probe != other.probe:
            differ.append("the same made-up prompts come out with other numbers")
        if differ:
            raise ExactnessError(
                f"two workers do not answer alike: {differ[0]}. Their numbers could differ in the "
                "last digits, and tables would depend on who answered what",
                where=f"{other.process}, against {self.process}",
                allowed="workers with the same model, versions, kind of device and of processor",
                next_step="run on machines of one kind, or with --workers 1",
            )


@dataclass(frozen=True)
class Outcome:
    """What became of a batch: results, perhaps not all, and then why."""

    results: list[PromptResult]
    refused: MindshareError | None = None  # about a prompt: trying again is no use
    failed: str | None = None  # a traceback: about this worker, for all we know


class Worker:
    """A model for callers in another process. Never raises: exceptions may not survive the way.

    `fingerprint` is an error where the model was refused, a traceback where loading failed.
    """

    def __init__(self, setup: WorkerSetup) -> None:
        self.fingerprint: WorkerFingerprint | MindshareError | str
        try:
            setup.enter()
            keep_memory()
            import torch

            if setup.threads is not None:
                torch.set_num_threads(setup.threads)
            self._backend = LocalBackend(setup.spec.load())
            self.fingerprint = WorkerFingerprint.of(self._backend)
        except MindshareError as error:
            self.fingerprint = error
        except Exception:  # whatever it is, the driver has to hear of it
            self.fingerprint = traceback.format_exc()

    def outcome(self, jobs: Sequence[Job], request: Request) -> Outcome:
        if not isinstance(self.fingerprint, WorkerFingerprint):
            return Outcome([], failed=f"the model is not loaded: {self.fingerprint}")
        results: list[PromptResult] = []
        try:
            for batch in self._backend.results(jobs, request):
                results += batch
        except MindshareError as error:
            return Outcome(results, refused=error)
        except Exception:  # a device that fell over, say
            return Outcome(results, failed=traceback.format_exc())
        return Outcome(results)


def _probe(backend: LocalBackend) -> str:
    """The hash of every number that the model gives for the made-up jobs."""
    from mindshare.attention.checks import PROBE, probe_jobs

    model = backend.loaded.model
    room = context_length_of(getattr(model, "config", None)) or max(_PROBE_LENGTHS)
    jobs = probe_jobs(model, [min(length, room) for length in _PROBE_LENGTHS], seed=1)
    results = [result for batch in backend.results(jobs, PROBE) for result in batch]
    digest = hashlib.sha256()
    for result in sorted(results, key=lambda result: result.item):
        for layer, arrays in sorted(result.layers.items()):
            for name, array in sorted(arrays.items()):
                digest.update(f"{result.item} {layer} {name} {array.dtype} {array.shape}".encode())
                digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:32]
