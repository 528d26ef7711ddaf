"""A Ray cluster of several nodes, all of them on this machine and on its loopback address."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mindshare.workers.ray_cluster import imported

LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F"}  # 127.0.0.1 as the kernel writes it


@contextmanager
def virtual_cluster(nodes: int, *, cpus: int = 1) -> Iterator[Any]:
    """A head without processors of its own, and so many nodes with some."""
    imported(local=True)
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
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def listening(pids: set[int]) -> set[str]:
    """The addresses at which these processes listen, by what the kernel says."""
    inodes = {inode for pid in pids for inode in _sockets(pid)}
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            cells = line.split()
            if cells[3] == "0A" and cells[9] in inodes:
                found.add(cells[1].rpartition(":")[0])
    return found


def _sockets(pid: int) -> Iterator[str]:
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            name = str(link.readlink())
        except OSError:
            continue
        if name.startswith("socket:["):
            yield name[8:-1]


def descendants(pid: int) -> set[int]:
    """All processes below this one."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = parent_of(int(entry.name))
            except OSError:
                continue
    found, before = {pid}, -1
    while len(found) != before:
        before = len(found)
        found |= {child for child, parent in parents.items() if parent in found}
    return found - {pid}
