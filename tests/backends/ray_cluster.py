"""A Ray cluster of several nodes, all of them on this machine and on its loopback address."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from mindshare.backends.ray_backend import import_ray

LOOPBACK = {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


@contextmanager
def virtual_cluster(nodes: int, *, cpus: int = 1) -> Iterator[Any]:
    """A head without processors of its own, and so many nodes with some."""
    import_ray(local=True)
    from ray.cluster_utils import Cluster

    common = {"include_dashboard": False, "object_store_memory": 80 * 2**20}
    with _temporary_folder():
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **common})
        try:
            for _ in range(nodes):
                cluster.add_node(num_cpus=cpus, **common)
            yield cluster
        finally:
            cluster.shutdown()


@contextmanager
def _temporary_folder() -> Iterator[None]:
    """Ray's own; in a short place, for the sake of its sockets."""
    with tempfile.TemporaryDirectory(prefix="mindshare-", dir="/tmp") as folder:
        (Path(folder) / "ray").mkdir()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("RAY_TMPDIR", folder)
            yield


def raylet_of(node: Any) -> int:
    """The process id of the node's own process, whose children its workers are."""
    (process,) = node.all_processes["raylet"]
    return int(process.process.pid)


def parent_of(pid: int) -> int:
    return psutil.Process(pid).ppid()


def descendants(pid: int) -> set[int]:
    """All processes below this one."""
    return {child.pid for child in psutil.Process(pid).children(recursive=True)}


def listening(pids: set[int]) -> set[str]:
    """The addresses at which these processes listen."""
    found = set()
    for pid in pids:
        with suppress(psutil.Error):
            found |= {
                one.laddr.ip
                for one in psutil.Process(pid).net_connections("inet")
                if one.status == psutil.CONN_LISTEN
            }
    return found
