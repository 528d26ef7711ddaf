"""`models` and `tokens`: what can be seen before anything is measured, without reading weights.

`models` lists this machine's models, or describes one's attention. `tokens` shows a prompt by token
class: in colour, every token stands on the colour of its class; without, as `[class:token]`.
Whitespace is made visible, and no control character of a prompt reaches the terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from mindshare.cli.groups import Group, argument, command, option
from mindshare.cli.options import ADAPTER, AS_JSON, MODEL, ONE_MODEL, TRUST, ClassOptions
from mindshare.cli.screen import (
    class_shades,
    count_text,
    counted,
    in_colour,
    print_json,
    say,
    say_lines,
    shortened,
    stdout,
    unmatched_text,
    warn,
)
from mindshare.cli.sources import PreviewSource
from mindshare.naming import layer_ranges

if TYPE_CHECKING:
    from rich.console import Console

    from mindshare.models import AttentionFacts, CatalogueRow
    from mindshare.tokens import ClassedTokens, Encoded

SAME_CHARACTER = "⁺"
CLASSES = 20  # of the legend, unless all are asked for
_EXAMPLES_WIDTH = 36  # of 80 columns
_VISIBLE = {" ": "·", "\n": "⏎", "\t": "⇥", "\r": "␍", "\u00a0": "⍽"}


class ModelsOptions(Group):
    trust_remote_code: bool = TRUST
    as_json: bool = AS_JSON
    ref: str | None = argument(
        "REF",
        "A model to describe: 'smollm2', a hub id, a folder, a .gguf file.",
        default=None,
    )


@command(ModelsOptions)
def models(options: ModelsOptions) -> None:
    """List the models that can be loaded here, or say what one's attention looks like.

    \b
    Examples:
      mindshare models
      mindshare models smollm2
      mindshare models ./my-model --json
    """
    from mindshare.models import available, describe

    ref = options.ref
    if ref is None:
        rows = available()
        print_json([vars(row) for row in rows]) if options.as_json else _show_list(stdout(), rows)
        return
    facts = describe(ref, trust_remote_code=options.trust_remote_code)
    if options.as_json:
        print_json({"reference": ref, **vars(facts), "windows": dict(facts.windows)})
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in _fact_lines(ref, facts):
        table.add_row(label, text)
    stdout().print(table)


def _show_list(console: Console, rows: Iterable[CatalogueRow]) -> None:
    from mindshare.models.reference import EMBEDDED_HINT

    rows = tuple(rows)
    embedded = {f"converted from {row.source}" for row in rows if row.kind == "embedded"}
    here = [row for row in rows if row.installed and row.source not in embedded]
    known = [row for row in rows if not row.installed]
    if here:
        say_lines(["On this machine, without a network", ""])
        console.print(_catalogue(here))
        say(console)
    if any(row.kind == "converted" for row in here):
        say_lines(["A converted .gguf file opens at once when it is loaded again.", ""])
    if any(row.kind == "embedded" for row in known):
        say_lines([f"Not installed: {EMBEDDED_HINT}", ""])
    say_lines(["Known, to be fetched from the hub", ""])
    console.print(_catalogue([row for row in known if row.kind != "embedded"]))
    say_lines(["", "Any hub id, folder or .gguf file of a decoder works: mindshare models REF"])


def _catalogue(rows: Iterable[CatalogueRow]) -> Table:
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


def _fact_lines(ref: str, facts: AttentionFacts) -> Iterator[tuple[str, str]]:
    from mindshare.models import refusal

    yield "model", f"{ref} ({facts.model_type})"
    if facts.reason_unsupported is not None:
        yield "refused", facts.reason_unsupported
        why = refusal(facts.model_type)
        if why:
            yield "instead", why.instead
        return
    every = len(facts.attention_layers) == facts.layers
    some = f"attention in {layer_ranges(facts.attention_layers)}"
    yield "layers", f"{facts.layers}, {'all with attention' if every else some}"
    key_value = counted(facts.kv_heads, "key-value head")
    yield "heads", f"{counted(facts.heads, 'query head')}, {key_value}"
    yield "head size", f"{facts.head_dim}"
    yield "windows", _windows(facts.windows)
    yield "sinks", "learned, reported as the class sink_slot" if facts.sinks else "none learned"
    yield "softcap", "none" if facts.softcap is None else f"{facts.softcap:g}"
    length = facts.context_length
    yield "context", "no stated limit" if length is None else f"{length} tokens"
    yield "measurable", "nothing is known against it; the first measurement checks it"


def _windows(windows: Mapping[int, int | None]) -> str:
    """`512 tokens in layers 0–4, 6–10; all earlier tokens in 5, 11`"""
    layers: dict[int | None, list[int]] = {}  # by window
    for layer, size in windows.items():
        layers.setdefault(size, []).append(layer)
    whole = layers.pop(None, [])
    if not layers:
        return "none: every layer sees all earlier tokens"
    parts = [f"{n} tokens in layers {layer_ranges(some)}" for n, some in sorted(layers.items())]
    return "; ".join([*parts, *([f"all earlier tokens in {layer_ranges(whole)}"] * bool(whole))])


class TokensOptions(PreviewSource, ClassOptions, panel=MODEL):
    """A model whose weights are not needed; an adapter may bring a tokenizer of its own."""

    adapter: str | None = ADAPTER
    trust_remote_code: bool = TRUST
    model: str = argument("MODEL", ONE_MODEL)
    full: bool = option(False, "List every class, not only twenty.")


@command(TokensOptions)
def tokens(options: TokensOptions) -> None:
    """Show a prompt's tokens by class, in colour, with a count per class.

    \b
    Examples:
      mindshare tokens smollm2 --text 'a ## b **' --class hash=# --class star='*'
      mindshare tokens smollm2 --file map.txt --class hash=# --policy pure
      mindshare tokens smollm2 --chat talk.json --class user=role:user
    """
    from mindshare.models import load_tokenizer
    from mindshare.study import encode_for
    from mindshare.tokens import classify, parse_classes

    rules = parse_classes(options.class_, policy=options.policy)  # type: ignore[arg-type]
    prompts = options.prompts()
    tokenizer = load_tokenizer(
        options.model, adapter=options.adapter, trust_remote_code=options.trust_remote_code
    )
    console = stdout()
    for number, prompt in enumerate(prompts):
        if number:
            say(console)
        show_classed(console, classify(encode_for(tokenizer, prompt), rules), full=options.full)


def show_classed(console: Console, classed: ClassedTokens, *, full: bool = False) -> None:
    """The text, the legend, the BOS; what to beware of goes to stderr."""
    encoded, colour = classed.encoded, in_colour(console)
    size = f"{counted(len(encoded), 'token')}, {counted(len(encoded.text), 'character')}"
    say(console, f"Prompt {encoded.prompt.id}: {size}")
    say(console)
    if colour:
        console.print(coloured_text(classed))
    else:
        say(console, plain_text(classed))
    say(console)
    console.print(legend(classed, colour=colour, full=full))
    if len(classed.names) > CLASSES and not full:
        few = f"{CLASSES} of {len(classed.names):,} classes, those with most tokens"
        say(console, f"{few}; every class: add --full")
    say(console)
    say(console, bos_line(encoded))
    if any(_continues(encoded, i) for i in range(len(encoded))):
        say(console, f"{SAME_CHARACTER} is one more token of the character before it")
    if classed.classes.policy == "proportional":
        say(console, "Policy proportional: a token is shown in the class that has most of it")
    for remark in remarks(classed):
        warn(remark)


def visible(piece: str) -> str:
    """The piece with every space, line end and control character as a mark."""

    def mark(character: str) -> str:
        if character in _VISIBLE or character.isprintable():
            return _VISIBLE.get(character, character)
        return character.encode("unicode_escape").decode("ascii")

    return "".join(map(mark, piece))


def coloured_text(classed: ClassedTokens) -> Text:
    shades = class_shades(classed.names)
    text = Text(overflow="fold")
    for position, (piece, label) in enumerate(_tokens(classed)):
        dim = " dim italic" if classed.encoded.special[position] else ""
        style = shades[label][position % 2] + dim
        for line in piece.splitlines(keepends=True):
            text.append(line.rstrip("\n"), style)
            text.append("\n" if line.endswith("\n") else "")
    text.remove_suffix("\n")  # whoever prints it ends the line
    return text


def plain_text(classed: ClassedTokens) -> str:
    """`other` as it is, every other token as `[class:token]`."""
    from mindshare.tokens import OTHER

    parts: list[str] = []
    for piece, label in _tokens(classed):
        shown = piece.rstrip("\n")  # the line break itself goes behind the bracket
        parts.append(piece if label == OTHER else f"[{label}:{shown}]{piece[len(shown) :]}")
    return "".join(parts).removesuffix("\n")


def legend(classed: ClassedTokens, *, colour: bool, full: bool = False) -> Table:
    """One row per class: tokens, rule, examples; of many classes, those with most tokens."""
    shades = class_shades(classed.names) if colour else {}
    rules = {rule.name: str(rule).partition("=")[2] for rule in classed.classes.rules}
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for heading in ("class", "tokens", "rule", "examples"):
        right = heading == "tokens"
        table.add_column(heading, no_wrap=True, justify="right" if right else "left")
    counts = classed.counts()
    most = sorted(counts, key=lambda name: -counts[name].tokens)[: None if full else CLASSES]
    for name in (name for name in counts if name in most):
        count = counts[name]
        style = shades[name][0] if colour else ""
        rule = visible(rules[name]) if name in rules else "all the rest"
        table.add_row(
            Text(shortened(name, 14), style),
            count_text(count.tokens),
            Text(shortened(rule, 14)),
            Text("  ").join(_examples(count.examples, style)),
        )
    return table


def bos_line(encoded: Encoded) -> str:
    """Whether the prompt starts with a BOS, and who put it there."""
    bos = encoded.bos
    if not bos.present:
        return "BOS: none" + (", the tokenizer has no such token" if bos.token is None else "")
    who = {
        "tokenizer": "added by the tokenizer",
        "in the text": "written in the text itself",
        "added: the model's own files ask for it": "added by mindshare, as the model's files ask",
    }
    return f"BOS: {bos.token}, {who.get(bos.origin, bos.origin)}"


def remarks(classed: ClassedTokens) -> list[str]:
    """What the reader should know before measuring: empty classes, dropped characters."""
    notes = [unmatched_text(classed.empty(), "this prompt")] if classed.empty() else []
    dropped = [classed.encoded.text[start:end] for start, end in classed.encoded.uncovered]
    if dropped:
        number, first = sum(map(len, dropped)), classed.encoded.uncovered[0][0]
        notes.append(
            f"the tokenizer dropped {counted(number, 'character')}, which no token covers: "
            f"first {visible(dropped[0][:20])!r} at character {first}"
        )
    return notes


def _examples(pieces: Sequence[str], style: str) -> Iterator[Text]:
    """As many as fit beside the other columns."""
    left = _EXAMPLES_WIDTH
    for piece in pieces:
        shown = shortened(visible(piece), 12)
        left -= cell_len(shown) + 2
        if left < 0:
            return
        yield Text(shown, style)


def _tokens(classed: ClassedTokens) -> Iterator[tuple[str, str]]:
    """(visible token with a line break after each line end, class) in order."""
    encoded = classed.encoded
    for position, (piece, label) in enumerate(zip(encoded.pieces, classed.labels(), strict=True)):
        shown = SAME_CHARACTER if _continues(encoded, position) else visible(piece)
        yield shown.replace("⏎", "⏎\n") if "\n" in piece else shown, label


def _continues(encoded: Encoded, position: int) -> bool:
    """Whether the token carries more bytes of the character that the token before it began."""
    start, end = encoded.offsets[position]
    return position > 0 and start < end and encoded.offsets[position - 1] == (start, end)
