"""A classed prompt becomes text to look at: tokens by class, a legend with counts, remarks.

In colour, every token stands on the colour of its class; without, as `[class:token]`. Whitespace is
made visible, and no control character of a prompt reaches the terminal. Knows no attention.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from mindshare.cli.numbers import count_text
from mindshare.cli.palette import class_shades
from mindshare.tokens import OTHER, Classed, Encoded

SAME_CHARACTER = "⁺"
_EXAMPLES_WIDTH = 36  # of 80 columns
_VISIBLE = {" ": "·", "\n": "⏎", "\t": "⇥", "\r": "␍", "\u00a0": "⍽"}


def visible(piece: str) -> str:
    """The piece with every space, line end and control character as a mark."""
    return "".join(_VISIBLE.get(c) or (c if c.isprintable() else _escaped(c)) for c in piece)


def coloured_text(classed: Classed) -> Text:
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


def plain_text(classed: Classed) -> str:
    """`other` as it is, every other token as `[class:token]`."""
    parts: list[str] = []
    for piece, label in _tokens(classed):
        shown = piece.rstrip("\n")  # the line break itself goes behind the bracket
        framed = shown if label == OTHER else f"[{label}:{shown}]"
        parts.append(framed + piece[len(shown) :] if label != OTHER else piece)
    return "".join(parts).removesuffix("\n")


def legend(classed: Classed, *, colour: bool) -> Table:
    """One row a class: tokens, rule, examples."""
    shades = class_shades(classed.names)
    rules = {rule.name: str(rule).partition("=")[2] for rule in classed.classes.rules}
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for heading in ("class", "tokens", "rule", "examples"):
        right = heading == "tokens"
        table.add_column(heading, no_wrap=True, justify="right" if right else "left")
    for name, count in classed.counts().items():
        style = shades[name][0] if colour else ""
        rule = visible(rules[name]) if name in rules else "all the rest"
        table.add_row(
            Text(_short(name, 14), style),
            count_text(count.tokens),
            Text(_short(rule, 14)),
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


def remarks(classed: Classed) -> list[str]:
    """What the reader should know before measuring: empty classes, dropped characters."""
    found = [f"class {name!r} matches no token of this prompt" for name in classed.empty()]
    dropped = [classed.encoded.text[start:end] for start, end in classed.encoded.uncovered]
    if dropped:
        number, first = sum(map(len, dropped)), classed.encoded.uncovered[0][0]
        found.append(
            f"the tokenizer dropped {number} character{'s' * (number > 1)}, which no token covers: "
            f"first {visible(dropped[0][:20])!r} at character {first}"
        )
    return found


def has_split_characters(encoded: Encoded) -> bool:
    return any(_continues(encoded, i) for i in range(len(encoded)))


def _examples(pieces: Sequence[str], style: str) -> Iterator[Text]:
    """As many as fit beside the other columns."""
    left = _EXAMPLES_WIDTH
    for piece in pieces:
        shown = _short(visible(piece), 12)
        left -= cell_len(shown) + 2
        if left < 0:
            return
        yield Text(shown, style)


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _tokens(classed: Classed) -> Iterator[tuple[str, str]]:
    """(visible token with a line break after each line end, class) in order."""
    encoded = classed.encoded
    for position, (piece, label) in enumerate(zip(encoded.pieces, classed.labels(), strict=True)):
        shown = SAME_CHARACTER if _continues(encoded, position) else visible(piece)
        yield shown.replace("⏎", "⏎\n") if "\n" in piece else shown, label


def _continues(encoded: Encoded, position: int) -> bool:
    """Whether the token carries more bytes of the character that the token before it began."""
    start, end = encoded.offsets[position]
    return position > 0 and start < end and encoded.offsets[position - 1] == (start, end)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
