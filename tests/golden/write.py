"""Write the expected files anew: `python -m tests.golden.write [JOURNEY…]`.

Only to be run when a change of the numbers, tables or facts is intended, and then the difference of
tests/golden/expected is part of the review: it shows what changed. Nothing is written of a journey
that does not hold what it must. Hashes of exact bytes that other kinds of machines have written
stay where neither the values nor the bytes of this machine changed.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from .found import Found
from .journeys import JOURNEYS, Travels
from .pins import Pin, differences, machine, pin_figure, pin_table

EXPECTED = Path(__file__).with_name("expected")
KINDS = ("tables", "plain", "figures")


def pinned(found: Found) -> dict[str, Any]:
    """What is kept of a journey."""
    return {
        "tables": {name: pin_table(one) for name, one in found.tables.items()},
        "plain": {name: pin_table(one) for name, one in found.plain.items()},
        "figures": {name: pin_figure(one) for name, one in found.figures.items()},
        "facts": json.loads(json.dumps(found.facts)),
    }


def expected(name: str) -> dict[str, Any]:
    """The pins of a journey; none at all if it was never written."""
    file = EXPECTED / f"{name}.json"
    if not file.exists():
        return {**{kind: {} for kind in KINDS}, "facts": {}}
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content


def write(name: str, found: Found) -> None:
    broken = [what for what, holds in found.holds.items() if not holds]
    if broken:
        raise SystemExit(f"{name} is not written, because this does not hold: {broken}")
    new, old = pinned(found), expected(name)
    for kind in KINDS:
        for one, pin in new[kind].items():
            _keep_others(old[kind].get(one), pin, found)
    EXPECTED.mkdir(exist_ok=True)
    (EXPECTED / f"{name}.json").write_text(_lines(new), encoding="utf-8")


def _keep_others(old: Pin | None, new: Pin, found: Found) -> None:
    """Where the values did not change: those that were pinned, and the hashes of other machines."""
    if old is None:
        return
    values = {**old, "bytes": {}}
    if not any(differences(values, new, rtol=found.rtol, atol=found.atol)):
        new["floats"] = old["floats"]  # no drift by many small steps
        before, now = (pin["bytes"].get(machine()) for pin in (old, new))
        if before in (None, now):  # what changes the bytes here changes them elsewhere, too
            new["bytes"] = {**old["bytes"], **new["bytes"]}


def _lines(content: dict[str, Any]) -> str:
    """JSON with a line for each table and fact, so that differences can be read."""
    parts = []
    for kind, named in content.items():
        rows = (f"  {_json(name)}: {_json(one)}" for name, one in named.items())
        parts.append(f" {_json(kind)}: {{\n" + ",\n".join(rows) + "\n }")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def main(names: list[str]) -> None:
    unknown = [name for name in names if name not in JOURNEYS]
    if unknown:
        raise SystemExit(f"no such journey: {unknown[0]}; there are {', '.join(JOURNEYS)}")
    with tempfile.TemporaryDirectory() as folder:
        travels = Travels.begin(Path(folder))
        for name in names or JOURNEYS:
            write(name, travels.of(name))
            print(f"{name}: {(EXPECTED / f'{name}.json').stat().st_size:,} bytes", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
