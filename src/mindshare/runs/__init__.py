"""What was measured, on disk: kept batch by batch, resumed, watched, finalised.

    Store.open(folder, definition)      write: plan, missing, put, read
    Reader.at(folder)                   look at any time, from any process
    Finaliser(folder)                   tables → Parquet files and a manifest, never mixed
    run_status(folder)                  how far it is
    find_runs(paths), compare_runs(a, b)
    Progress(show)                      numbers for whoever waits

Results are bytes here, and tables are tables: nothing in this package knows attention.
"""

from __future__ import annotations

from mindshare.runs.definition import Difference, definition_hash, differences
from mindshare.runs.final import Finaliser, into_run, is_run
from mindshare.runs.listing import Comparison, Listed, compare_runs, find_runs
from mindshare.runs.progress import Figures, Progress
from mindshare.runs.reader import Reader
from mindshare.runs.results import Count, Done, Failed, Planned, Result, Status
from mindshare.runs.status import RunStatus, run_status
from mindshare.runs.store import Store

__all__ = [
    "Comparison",
    "Count",
    "Difference",
    "Done",
    "Failed",
    "Figures",
    "Finaliser",
    "Listed",
    "Planned",
    "Progress",
    "Reader",
    "Result",
    "RunStatus",
    "Status",
    "Store",
    "compare_runs",
    "definition_hash",
    "differences",
    "find_runs",
    "into_run",
    "is_run",
    "run_status",
]
