"""Ray, found or started → a cluster to run on, and gone again afterwards.

A cluster that is started here listens on this machine only, asks for a token that ends with this
process, tells nobody about itself and leaves no files. One that was there before is left running.
Does not know what is run on it.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from dataclasses import dataclass
from typing import Any

from mindshare.workers.processes import CORES_OF_A_PROCESS, power_of_two, usable_cores
from mindshare.workers.transport import WorkerError

_LOOPBACK = ("127.0.0.1", "::1")
_SHORT = 30  # characters; Ray adds about 70, and a socket's path may have 107
OBJECT_STORE = 256 * 2**20  # bytes; only jobs and answers in flight lie there


def imported(*, local: bool) -> Any:
    """Ray itself, told what it reads only when it is imported."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # It would print pages of its own on stdout when a worker dies; the crew logs one line.
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
    if local:
        # Ray's own switch for "this machine only"; without it, it finds the outward address.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    try:
        import ray
    except ImportError as error:
        raise WorkerError(
            f"Ray is not installed: {error}",
            next_step="pip install 'mindshare[ray]', or run with --on local",
        ) from error
    return ray


@dataclass
class Cluster:
    """A connection to Ray; `close` undoes what `open` did, and no more."""

    ray: Any
    folder: str | None = None  # of a cluster that was started here
    ours: bool = False  # connected by us

    @classmethod
    def open(cls, address: str | None, *, cpus: int | None = None) -> Cluster:
        """Join the cluster at this address, or start one on this machine."""
        ray = imported(local=address is None)
        if ray.is_initialized():  # whoever did that also ends it
            return cls(ray)
        quiet = {"log_to_driver": False, "configure_logging": False}
        if address is not None:
            return cls._joined(ray, address, quiet)
        cluster = cls(ray, _short_folder(), ours=True)
        try:
            cluster._begin(cpus or usable_cores(), quiet)
        except BaseException:
            cluster.close()
            raise
        return cluster

    @classmethod
    def _joined(cls, ray: Any, address: str, quiet: dict[str, bool]) -> Cluster:
        try:
            ray.init(address=address, **quiet)
        except (ValueError, RuntimeError, OSError, ray.exceptions.RayError) as error:
            ray.shutdown()
            first = next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise WorkerError(
                f"no Ray cluster at {address!r}: {first}",
                next_step="start one with `ray start --head`, or leave the address away",
            ) from error
        return cls(ray, ours=True)

    def _begin(self, cpus: int, quiet: dict[str, bool]) -> None:
        self.ray.init(
            address="local",
            num_cpus=cpus,
            include_dashboard=False,
            object_store_memory=OBJECT_STORE,
            _node_ip_address=_LOOPBACK[0],
            _temp_dir=self.folder,
            **quiet,
        )
        found = self.ray.util.get_node_ip_address()
        if found not in _LOOPBACK:
            raise WorkerError(
                f"Ray would listen on {found}, not on this machine only",
                next_step="import ray after mindshare, or start a cluster and give its address",
            )

    def close(self) -> None:
        if self.ours:
            self.ray.shutdown()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def nodes(self) -> list[dict[str, float]]:
        """What each living node has."""
        return [node["Resources"] for node in self.ray.nodes() if node["Alive"]]


def _short_folder() -> str:
    """Paths of sockets must be short; the user's own temporary folder may not do."""
    own = tempfile.gettempdir()
    return tempfile.mkdtemp(prefix="mindshare-ray-", dir=own if len(own) <= _SHORT else "/tmp")


@dataclass(frozen=True)
class Share:
    """What one worker takes of a node."""

    cpus: int
    gpus: float

    def fits(self, nodes: list[dict[str, float]]) -> int:
        """How many workers there is room for."""
        return sum(self._on(node) for node in nodes)

    def _on(self, node: dict[str, float]) -> int:
        by_cpu = int(node.get("CPU", 0) // self.cpus)
        return by_cpu if not self.gpus else min(by_cpu, int(node.get("GPU", 0) // self.gpus))


def share_out(
    nodes: list[dict[str, float]], *, workers: int | None, cpus: int | None, gpus: float
) -> tuple[int, Share]:
    """How many workers, and what each gets: as many processors as let all of them run.

    Where nothing is said: a worker for each GPU or GPUs; else sixteen processors each, or as many
    as the smallest node has.
    """
    nodes = [node for node in nodes if node.get("CPU", 0) >= 1]
    least = Share(cpus or 1, gpus)
    if not least.fits(nodes):
        raise WorkerError(
            f"no node has room for a worker of {least.cpus} processors and {gpus:g} GPUs",
            allowed="; ".join(f"{n.get('CPU', 0):g} CPU, {n.get('GPU', 0):g} GPU" for n in nodes),
            next_step="ask for less for each worker, or add nodes",
        )
    if cpus is not None:
        return workers or least.fits(nodes), least
    if workers is None and not gpus:
        smallest = int(min(node["CPU"] for node in nodes))
        share = Share(power_of_two(min(CORES_OF_A_PROCESS, smallest)), gpus)
        return share.fits(nodes), share
    workers = workers or least.fits(nodes)
    most = power_of_two(int(max(node["CPU"] for node in nodes)))
    while most > 1 and Share(most, gpus).fits(nodes) < workers:
        most //= 2
    return workers, Share(most, gpus)
