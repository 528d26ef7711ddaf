"""What was measured, on disk: stored batch by batch, resumed, watched, finalised.

    RunWriter.open(folder, definition)   write: plan, missing, put, read
    RunReader.at(folder)                 look at any time, from any process
    Finaliser(folder)                    tables → Parquet files and a manifest, never mixed
    run_status(folder)                   how far it is
    find_runs(paths), compare_runs(a, b)
    Progress(show)                       counts, pace and time left, while it is measured

Results are bytes here, and tables are tables: nothing in this package knows attention.
"""

from __future__ import annotations

from mindshare.store.finaliser import Finaliser, figures_drawn, into_run, is_run, run_lock
from mindshare.store.progress import Progress, ProgressNumbers
from mindshare.store.reader import Done, Planned, RunReader
from mindshare.store.status import (
    PHASES,
    ListedRun,
    RunComparison,
    RunStatus,
    SetComparison,
    compare_runs,
    find_runs,
    run_status,
)
from mindshare.store.writer import Failed, RunWriter

__all__ = [
    "PHASES",
    "Done",
    "Failed",
    "Finaliser",
    "ListedRun",
    "Planned",
    "Progress",
    "ProgressNumbers",
    "RunComparison",
    "RunReader",
    "RunStatus",
    "RunWriter",
    "SetComparison",
    "compare_runs",
    "figures_drawn",
    "find_runs",
    "into_run",
    "is_run",
    "run_lock",
    "run_status",
]
