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
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bench.page import write_page

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "bench" / "results.json"
LENGTHS = (256, 1024, 4096, 8192)
CHART = 4000
LONG = (16384, 32768, 65536, 131072)
NO_MEMORY = "not enough memory"
TRANSFORMER_LENS = "transformer-lens==4.3.0"
# Memory that was freed is kept: giving it back and asking again takes up to a sixth of a pass, or
# none of it, by chance and for the plain pass alike. For times only.
KEPT = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "8000000000"}


def apart(call: str, *, limit_gb: float | None = None) -> Any:
    """The value of a call in a fresh process, or NO_MEMORY where it does not fit."""
    limit = "" if limit_gb is None else _limit(limit_gb)
    modules = "from bench import datasets, explorer, knockouts, memory, speed, statistics; "
    code = f"import json; {modules}{limit}print(json.dumps({call}))"
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=ROOT,
        env=os.environ | (KEPT if call.startswith(("speed.", "knockouts.")) else {}),
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


def layers() -> dict[str, Any]:
    return {"1024": apart("speed.by_length(1024, speed.FIRST, 5)")}


def kept() -> dict[str, Any]:
    """Page faults of each pass; the environment says nothing of memory here."""
    case = "[*speed.page_faults(keep={})]"
    return {name: apart(case.format(name == "kept")) for name in ("given back", "kept")}


def reported() -> dict[str, Any]:
    return {str(t): apart(f"speed.by_length({t}, speed.REPORTED, speed.FEW[{t}])") for t in LENGTHS}


def eager() -> dict[str, Any]:
    """Long ones may not fit."""
    import psutil

    room = psutil.virtual_memory().available / 2**30
    call = "speed.by_length({t}, ('plain', 'eager'), speed.EAGER[{t}])"
    return {str(t): apart(call.format(t=t), limit_gb=room) for t in LENGTHS}


def memory() -> dict[str, Any]:
    """Gigabytes by length and way; eager attention only where it fits."""
    ways = ("plain", "mass", "mass + received")
    peaks = {str(t): {way: apart(f"memory.peak_of({way!r}, {t})") for way in ways} for t in LENGTHS}
    return peaks | {f"eager {t}": apart(f"memory.peak_of('eager', {t})") for t in (256, 1024)}


def beginnings() -> dict[str, Any]:
    return {str(mb): apart(f"memory.kept_beginnings({mb})") for mb in (0, 150, 300)}


def long() -> dict[str, Any]:
    return {str(t): apart(f"memory.long_context({t})") for t in LONG}


def knockouts() -> dict[str, Any]:
    return {str(tokens): apart(f"knockouts.times({tokens})") for tokens in (200, 1000)}


def explorer() -> dict[str, Any]:
    """Chromium and a server; the table is for docs/explorer.md."""
    from bench.explorer import table

    found: dict[str, Any] = apart("explorer.times()")
    print(table(found))
    return found


def chart() -> dict[str, Any]:
    return {
        "tokens": CHART,
        "plain": apart(f"memory.peak_of('plain', {CHART})"),
        "chart": apart(f"memory.chart({CHART})"),
    }


def dataset() -> dict[str, Any]:
    times, peaks = apart("datasets.dataset()"), apart("datasets.memory()")
    if NO_MEMORY in (times, peaks):
        raise SystemExit(f"a thousand prompts: {NO_MEMORY}")
    return dict(times) | {"memory_gb": peaks}


def peers() -> dict[str, Any]:
    """TransformerLens, in an environment of its own: it is no dependency."""
    folder = ROOT / ".venv" / "peers"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        pip = [str(folder / "bin" / "pip"), "install", "--quiet", "-c", "constraints.txt"]
        subprocess.run([*pip, "torch", TRANSFORMER_LENS], cwd=ROOT, check=True)
        (folder / "ready").touch()
    model = str(apart("speed.converted()"))
    # -P: a module of ours has the name of a package that it imports.
    python = [str(folder / "bin" / "python"), "-P"]
    call = [*python, "bench/peers.py", model, *map(str, (256, 1024))]
    done = subprocess.run(
        call, cwd=ROOT, env=os.environ | KEPT, check=True, capture_output=True, text=True
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


PARTS: dict[str, Callable[[], Any]] = {
    "speed": speed,
    "layers": layers,
    "kept": kept,
    "reported": reported,
    "eager": eager,
    "batch": partial(apart, "speed.batch()"),
    "insertion": partial(apart, "speed.insertion()"),
    "grid": partial(apart, "speed.first_layer_insertion()"),
    "prefixes": partial(apart, "speed.common_beginning()"),
    "late": partial(apart, "speed.late_insertion()"),
    "start": partial(apart, "speed.second_call()"),
    "peers": peers,
    "knockouts": knockouts,
    "dataset": dataset,
    "longer": partial(apart, "datasets.longer()"),
    "statistics": partial(apart, "statistics.times()"),
    "memory": memory,
    "beginnings": beginnings,
    "chart": chart,
    "long": long,
    "explorer": explorer,
}


def main() -> None:
    chosen = sys.argv[1:] or list(PARTS)
    unknown = [name for name in chosen if name not in PARTS]
    if unknown:
        raise SystemExit(f"unknown part {unknown[0]!r}; allowed: {', '.join(PARTS)}")
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results["machine"] = _machine()
    kinds = results.setdefault("measured_on", {})  # part → instruction set
    for name in chosen:
        results[name] = PARTS[name]()
        kinds[name] = results["machine"]["instructions"]
        RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    write_page(json.loads(RESULTS.read_text()), ROOT / "docs" / "performance.md")  # in its order
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
