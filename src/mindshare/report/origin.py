"""A manifest → where the numbers come from: model cards, versions, and how to make them again.

Reads what was recorded when measuring; the card of a model that mindshare ships stands in the
package. Asks no model and no network.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from mindshare.naming import layer_ranges
from mindshare.report.parts import (
    Attached,
    Bullets,
    Code,
    Column,
    Details,
    Facts,
    Heading,
    NumberTable,
    Paragraph,
    Part,
)
from mindshare.report.question import count, study_of
from mindshare.report.saved import PROMPTS, STUDY, Saved

_ATTACHED = 200_000  # characters of prompts that travel with a report
_RULE = re.compile(r"\|[\s:|-]+\|?")  # the line below the head of a Markdown table


def model_cards(saved: Saved) -> list[Part]:
    return [part for label, found in saved.models.items() for part in _card(saved, label, found)]


def provenance(saved: Saved) -> list[Part]:
    """What made the numbers; said once where all models agree."""
    models = list(saved.models.values())
    first = models[0]
    items = [
        ("Study", str(saved.manifest.get("study", {}).get("hash") or first["study_hash"])),
        ("Command", str(saved.manifest.get("study", {}).get("command") or "")),
        ("Prompts", count(len({p["id"] for p in first["prompts"]}), "prompt")),
        ("Seed of the resampling", saved.about("seed")),
        ("Resamples", saved.about("resamples")),
        ("Kernels", ", ".join(dict.fromkeys(_kernels(models)))),
        ("Time to measure", _seconds(models)),
        ("Results", saved.path.name),
    ]
    versions = tuple(first.get("versions", {}).items())
    return [
        Facts(tuple((name, value) for name, value in items if value)),
        Details("Versions of the software", (Facts(versions),)),
    ]


def reproduction(saved: Saved, *, number: int | None = None) -> list[Part]:
    """The study file and the one command; `number` keeps the files of several results apart."""
    if saved.study is None:
        return [*_without_file(saved), *_definition(saved)]
    names = [_numbered(name, number) for name in (STUDY, PROMPTS)]
    study = saved.study.replace(f'"{PROMPTS}"', f'"{names[1]}"')
    found: list[Part] = [
        Paragraph("Save the study file and its prompts in one folder, and run in it:"),
        Code(f"mindshare run {names[0]} --out results/again", "sh"),
        Paragraph(f"{names[0]}:"),
        Code(study, "toml"),
        Attached(names[0], study),
    ]
    if saved.prompts is not None and len(saved.prompts) <= _ATTACHED:
        return [*found, Attached(names[1], saved.prompts)]
    where = (
        f"The prompts are in {PROMPTS} in the folder {saved.path.name}; save them as {names[1]}."
    )
    return [*found, Paragraph(where)]


def _without_file(saved: Saved) -> list[Part]:
    command = saved.manifest.get("study", {}).get("command")
    if not command:
        return [Paragraph("These results were made in Python, without a study file.")]
    return [Paragraph("Run:"), Code(str(command), "sh")]


def _definition(saved: Saved) -> list[Part]:
    """Every field of the study, as it is hashed."""
    fields = study_of(saved).items()
    facts = tuple((name, json.dumps(value, ensure_ascii=False)) for name, value in fields)
    return [Details("The definition of what was measured", (Facts(facts),))]


def _numbered(name: str, number: int | None) -> str:
    """study.toml → study-2.toml"""
    stem, dot, ending = name.partition(".")
    return name if number is None else f"{stem}-{number}{dot}{ending}"


def _card(saved: Saved, label: str, found: Mapping[str, Any]) -> Iterator[Part]:
    model = found["model"]
    heads = _numbers(saved, label, "head")
    items = (
        ("Name", str(model["name"])),
        ("Loaded as", Path(model["reference"]).name if model["reference"] != model["name"] else ""),
        ("Adapter", _adapter(model.get("adapter"))),
        ("Fingerprint of the weights", str(model["fingerprint"])),
        ("Arithmetic", f"{model['dtype']} on {model['device']}"),
        ("Layers", _layers(found)),
        ("Heads measured one by one", str(len(heads)) if heads else ""),
        ("Checked against eager attention", _checked(found)),
    )
    yield Heading(label)
    yield Facts(tuple((name, value) for name, value in items if value))
    text = shipped_card(str(model["name"])) or shipped_card(str(model["reference"]))
    if text:
        yield Details(f"Model card of {label}", tuple(card_parts(text)))


def _layers(found: Mapping[str, Any]) -> str:
    run = found.get("run", {})
    seen = run.get("layers_seen") or []
    total = (run.get("self_check") or {}).get("layers")
    if total and len(seen) == total:
        return f"{total}, all of them measured"
    words = f"{len(seen)} measured ({layer_ranges(seen)})" if seen else ""
    return f"{total}; {words}" if total and words else words


def _numbers(saved: Saved, label: str, column: str) -> set[int]:
    rows = zip(saved.summary["model"].to_pylist(), saved.summary[column].to_pylist(), strict=True)
    return {number for model, number in rows if model == label and number is not None}


def _checked(found: Mapping[str, Any]) -> str:
    check = found.get("run", {}).get("self_check") or {}
    if not check:
        return ""
    verdict = "agrees" if check.get("exact") else "does not agree"
    return (
        f"{verdict}: largest difference {check['error']:.2g} "
        f"(allowed {check['tolerance']:.2g}, {check['tokens']} tokens)"
    )


def _adapter(adapter: Any) -> str:
    if isinstance(adapter, Mapping):
        return ", ".join(f"{key} {value}" for key, value in adapter.items() if value is not None)
    return Path(str(adapter)).name if adapter else ""  # not where it is on some machine


def _kernels(models: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for found in models:
        yield from found.get("run", {}).get("kernels", ())


def _seconds(models: Sequence[Mapping[str, Any]]) -> str:
    spent = [found.get("run", {}).get("wall_seconds") for found in models]
    return f"{sum(s for s in spent if s):.0f} s" if any(spent) else ""


def shipped_card(name: str) -> str | None:
    """The card of an adapter that comes with mindshare."""
    if not re.fullmatch(r"[\w-][\w.-]*", name):
        return None
    card = files("mindshare") / "adapters" / name / "README.md"
    return card.read_text(encoding="utf-8") if card.is_file() else None


def card_parts(markdown: str) -> Iterator[Part]:
    """A card's Markdown: paragraphs, each after its heading, lists and tables; not its name."""
    heading = ""
    for block in re.split(r"\n\s*\n", markdown.replace("`", "").strip()):
        lines = block.strip().splitlines()
        if lines[0].startswith("#"):
            heading = "" if lines[0].startswith("# ") else f"{lines[0].lstrip('# ')}: "
        elif len(lines) > 2 and _RULE.fullmatch(lines[1].strip()):
            yield _table(lines)
        elif all(line.startswith(("- ", "* ")) for line in lines):
            yield Bullets(tuple(line[2:] for line in lines))
        else:
            yield Paragraph(heading + " ".join(line.strip() for line in lines))
            heading = ""


def _table(lines: Sequence[str]) -> NumberTable:
    head, _, *rows = ([cell.strip() for cell in line.strip("| ").split("|")] for line in lines)
    return NumberTable(
        caption="From the model card",
        columns=tuple(Column(name, numeric=i > 0) for i, name in enumerate(head)),
        rows=tuple(tuple(row) for row in rows),
    )
