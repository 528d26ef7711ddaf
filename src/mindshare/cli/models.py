"""`mindshare models`: this machine's models, or one model's attention, as text or JSON.

Reads configs and file names, never weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from mindshare.cli.options import TrustRemoteCode
from mindshare.naming import layer_ranges

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from mindshare.models import AttentionFacts, CatalogueRow

Reference = Annotated[
    str | None,
    typer.Argument(
        metavar="REF",
        help="A model to describe: 'smollm2', a hub id, a folder, a .gguf file.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def models(
    ref: Reference = None,
    as_json: Json = False,
    trust_remote_code: TrustRemoteCode = False,
) -> None:
    """List the models that can be loaded here, or say what one's attention looks like.

    \b
    Examples:
      mindshare models
      mindshare models smollm2
      mindshare models ./my-model --json
    """
    from mindshare.cli.screen import stdout
    from mindshare.models import available, describe

    console = stdout()
    if ref is None:
        rows = available()
        _print_json([vars(row) for row in rows]) if as_json else _show_list(console, rows)
        return
    facts = describe(ref, trust_remote_code=trust_remote_code)
    if as_json:
        _print_json({"reference": ref, **vars(facts), "windows": dict(facts.windows)})
    else:
        _show_facts(console, ref, facts)


def _print_json(content: object) -> None:
    import json

    print(json.dumps(content, indent=2, ensure_ascii=False))


def _show_list(console: Console, rows: Iterable[CatalogueRow]) -> None:
    from mindshare.cli.screen import say
    from mindshare.models.catalogue import EMBEDDED_HINT

    rows = tuple(rows)
    embedded = {f"converted from {row.source}" for row in rows if row.kind == "embedded"}
    here = [row for row in rows if row.installed and row.source not in embedded]
    known = [row for row in rows if not row.installed]
    if here:
        say(console, "On this machine, without a network")
        say(console)
        console.print(_table(here))
        say(console)
    if any(row.kind == "converted" for row in here):
        say(console, "A converted .gguf file opens at once when it is loaded again.")
        say(console)
    if any(row.kind == "embedded" for row in known):
        say(console, f"Not installed: {EMBEDDED_HINT}")
        say(console)
    say(console, "Known, to be fetched from the hub")
    say(console)
    console.print(_table([row for row in known if row.kind != "embedded"]))
    say(console)
    say(console, "Any hub id, folder or .gguf file of a decoder works: mindshare models REF")


def _table(rows: Iterable[CatalogueRow]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("model", no_wrap=True, overflow="ellipsis")
    table.add_column("kind", no_wrap=True)
    table.add_column("size", no_wrap=True, justify="right")
    table.add_column("licence", no_wrap=True)
    for row in rows:
        # A conversion is called by its file's name; its folder is in the JSON.
        name = row.source.removeprefix("converted from ") if row.kind == "converted" else row.name
        table.add_row(name, row.kind, _bytes(row.size), row.licence or "–")
    return table


def _bytes(size: int | None) -> str:
    if size is None:
        return "–"
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def _show_facts(console: Console, ref: str, facts: AttentionFacts) -> None:
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in _fact_lines(ref, facts):
        table.add_row(label, text)
    console.print(table)


def _fact_lines(ref: str, facts: AttentionFacts) -> list[tuple[str, str]]:
    from mindshare.cli.numbers import counted
    from mindshare.models import refusal

    lines = [("model", f"{ref} ({facts.model_type})")]
    if facts.reason_unsupported is not None:
        why = refusal(facts.model_type)
        lines.append(("refused", facts.reason_unsupported))
        return [*lines, ("instead", why.instead)] if why else lines
    context = (
        "no stated limit" if facts.context_length is None else f"{facts.context_length} tokens"
    )
    return [
        *lines,
        ("layers", _layers(facts)),
        (
            "heads",
            f"{counted(facts.heads, 'query head')}, {counted(facts.kv_heads, 'key-value head')}",
        ),
        ("head size", f"{facts.head_dim}"),
        ("windows", _windows(facts.windows)),
        ("sinks", "learned, reported as the class sink_slot" if facts.sinks else "none learned"),
        ("softcap", "none" if facts.softcap is None else f"{facts.softcap:g}"),
        ("context", context),
        ("measurable", "nothing is known against it; the first measurement checks it"),
    ]


def _layers(facts: AttentionFacts) -> str:
    if len(facts.attention_layers) == facts.layers:
        return f"{facts.layers}, all with attention"
    return f"{facts.layers}, attention in {layer_ranges(facts.attention_layers)}"


def _windows(windows: Mapping[int, int | None]) -> str:
    """`512 tokens in layers 0–4, 6–10; all earlier tokens in 5, 11`"""
    if all(size is None for size in windows.values()):
        return "none: every layer sees all earlier tokens"
    sizes = sorted({size for size in windows.values() if size is not None})
    parts = [f"{size} tokens in layers {_with(windows, size)}" for size in sizes]
    whole = _with(windows, None)
    return "; ".join([*parts, f"all earlier tokens in {whole}"] if whole else parts)


def _with(windows: Mapping[int, int | None], size: int | None) -> str:
    return layer_ranges(layer for layer, window in windows.items() if window == size)
