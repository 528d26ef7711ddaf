"""`python -m bench [part …]`: run the parts (all by default) and write docs/performance.md.

Each case runs in a process of its own; what was measured earlier stays in bench/results.json until
its part is run again, so one part can be repeated on a quiet machine.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench.page import write_page

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "bench" / "results.json"
LENGTHS = (256, 1024, 4096, 8192)
CHART = 4000
LONG = (16384, 32768, 65536, 131072)
NO_MEMORY = "not enough memory"
# Memory that was freed is kept: giving it back and asking again takes up to a sixth of a pass, or
# none of it, by chance and for the plain pass alike. For times only.
KEPT = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "8000000000"}


def apart(call: str, *, limit_gb: float | None = None) -> Any:
    """The value of a call in a fresh process, or NO_MEMORY where it does not fit."""
    limit = "" if limit_gb is None else _limit(limit_gb)
    modules = "from bench import datasets, memory, speed, statistics; "
    code = f"import json; {modules}{limit}print(json.dumps({call}))"
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=ROOT,
        env=os.environ | (KEPT if call.startswith("speed.") else {}),
        capture_output=True,
        text=True,
    )
    print(f"{call}: {time.perf_counter() - started:.0f} s", file=sys.stderr)
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    if done.returncode < 0 or "memory" in done.stderr.lower():
        return NO_MEMORY
    raise SystemExit(done.stderr)


def _limit(gigabytes: float) -> str:
    size = int(gigabytes * 2**30)
    return f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({size}, {size})); "


def speed() -> dict[str, Any]:
    return {str(t): apart(f"speed.by_length({t}, speed.MAIN, speed.ROUNDS[{t}])") for t in LENGTHS}


def reported() -> dict[str, Any]:
    return {str(t): apart(f"speed.by_length({t}, speed.REPORTED, speed.FEW[{t}])") for t in LENGTHS}


def eager() -> dict[str, Any]:
    """Long ones may not fit."""
    import psutil

    room = psutil.virtual_memory().available / 2**30
    call = "speed.by_length({t}, ('plain', 'eager'), min(3, speed.FEW[{t}]))"
    return {str(t): apart(call.format(t=t), limit_gb=room) for t in LENGTHS}


def batch() -> dict[str, Any]:
    return apart("speed.batch()")


def memory() -> dict[str, Any]:
    ways = ("plain", "mass", "mass + received")
    return {
        str(t): {way: apart(f"memory.peak_of({way!r}, {t})") for way in ways} for t in LENGTHS
    } | {f"eager {t}": apart(f"memory.peak_of('eager', {t})") for t in (256, 1024)}


def long() -> dict[str, Any]:
    return {str(t): apart(f"memory.long_context({t})") for t in LONG}


def chart() -> dict[str, Any]:
    return {
        "tokens": CHART,
        "plain": apart(f"memory.peak_of('plain', {CHART})"),
        "chart": apart(f"memory.chart({CHART})"),
    }


def insertion() -> dict[str, Any]:
    return apart("speed.insertion()")


def dataset() -> dict[str, Any]:
    times, peaks = apart("datasets.dataset()"), apart("datasets.memory()")
    if NO_MEMORY in (times, peaks):
        raise SystemExit(f"a thousand prompts: {NO_MEMORY}")
    return dict(times) | {"memory_gb": peaks}


def longer() -> dict[str, Any]:
    return apart("datasets.longer()")


def statistics() -> dict[str, Any]:
    return apart("statistics.times()")


PARTS = {
    "speed": speed,
    "reported": reported,
    "eager": eager,
    "batch": batch,
    "insertion": insertion,
    "dataset": dataset,
    "longer": longer,
    "statistics": statistics,
    "memory": memory,
    "chart": chart,
    "long": long,
}


def main() -> None:
    chosen = sys.argv[1:] or list(PARTS)
    unknown = [name for name in chosen if name not in PARTS]
    if unknown:
        raise SystemExit(f"unknown part {unknown[0]!r}; allowed: {', '.join(PARTS)}")
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results["machine"] = _machine()
    for name in chosen:
        results[name] = PARTS[name]()
        RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    write_page(results, ROOT / "docs" / "performance.md")
    print(f"written: {ROOT / 'docs' / 'performance.md'}")


def _machine() -> dict[str, Any]:
    from importlib.metadata import version

    import psutil
    import torch

    return {
        "cores": torch.get_num_threads(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9),
        "processor": platform.machine(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("torch", "transformers", "mindshare")},
    }


if __name__ == "__main__":
    main()
