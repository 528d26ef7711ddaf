"""The measures as formulas: one expression each, written as MathML and as LaTeX.

    total("i ∈ Q", sub("A", "i", "j"))   →   <munder>…   and   \\sum_{i \\in Q} A_{i,j}

Knows how formulas are written, nothing about where their numbers come from.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from mindshare.report.parts import Formula

_LATEX = {
    "∈": r"\in ",
    "∩": r"\cap ",
    "−": "-",
}


@dataclass(frozen=True)
class _Math:
    mathml: str
    latex: str


Piece = _Math | str


def formulas(measures: tuple[str, ...]) -> list[Formula]:
    """Those that are known, each once, in this order."""
    known = [_MEASURES[name] for name in dict.fromkeys(measures) if name in _MEASURES]
    return [_whole(one) for one in known]


def _whole(math: _Math) -> Formula:
    opened = '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">'
    return Formula(mathml=f"{opened}{math.mathml}</math>", latex=math.latex)


def _symbol(text: str) -> _Math:
    """A letter, a number or a sign."""
    if text in ("1", "0", "2"):
        return _Math(f"<mn>{text}</mn>", text)
    if text.isalpha():
        return _Math(f"<mi>{text}</mi>", text)
    return _Math(f"<mo>{escape(text)}</mo>", _LATEX.get(text, text))


def _piece(piece: Piece) -> _Math:
    return piece if isinstance(piece, _Math) else _row(*piece.split())


def _row(*pieces: Piece) -> _Math:
    found = [p if isinstance(p, _Math) else _symbol(p) for p in pieces]
    inside = "".join(one.mathml for one in found)
    return _Math(f"<mrow>{inside}</mrow>", " ".join(one.latex for one in found))


def _word(text: str) -> _Math:
    """A name of more than one letter, upright."""
    latex = text.replace("_", r"\_")
    return _Math(f'<mi mathvariant="normal">{escape(text)}</mi>', rf"\mathrm{{{latex}}}")


def _sub(base: Piece, below: Piece) -> _Math:
    a, b = _piece(base), _piece(below)
    return _Math(f"<msub>{a.mathml}{b.mathml}</msub>", f"{a.latex}_{{{b.latex}}}")


def _square(base: Piece) -> _Math:
    a = _piece(base)
    return _Math(f"<msup>{a.mathml}<mn>2</mn></msup>", f"{a.latex}^2")


def _frac(above: Piece, below: Piece) -> _Math:
    a, b = _piece(above), _piece(below)
    return _Math(f"<mfrac>{a.mathml}{b.mathml}</mfrac>", rf"\frac{{{a.latex}}}{{{b.latex}}}")


def _total(below: Piece, inside: Piece) -> _Math:
    b, x = _piece(below), _piece(inside)
    return _Math(
        f"<mrow><munder><mo>∑</mo>{b.mathml}</munder>{x.mathml}</mrow>",
        rf"\sum_{{{b.latex}}} {x.latex}",
    )


def _of(function: Piece, *arguments: Piece) -> _Math:
    """f(x, y)"""
    found = [_piece(one) for one in arguments]
    comma = "<mo>,</mo>"
    name = _piece(function)
    high = any("mfrac" in x.mathml for x in found)  # brackets grow with fractions only
    opened, closed = (f'<mo stretchy="{str(high).lower()}">{sign}</mo>' for sign in "()")
    return _Math(
        f"<mrow>{name.mathml}{opened}{comma.join(x.mathml for x in found)}{closed}</mrow>",
        f"{name.latex}({', '.join(x.latex for x in found)})",
    )


_A = _sub("A", "i j")
_A2 = _Math("<msubsup><mi>A</mi><mrow><mi>i</mi><mi>j</mi></mrow><mo>′</mo></msubsup>", "A'_{i j}")
_SIZE_Q = "| Q |"
_MEAN_Q = _frac("1", _SIZE_Q)
_A_RECEIVED, _B_RECEIVED = _sub("a", "j"), _sub("b", "j")
_NORMAL_A = _frac("a", _total("j ∈ M", _A_RECEIVED))
_NORMAL_B = _frac("b", _total("j ∈ M", _B_RECEIVED))
_SEEN = _sub("V", "i")  # the keys that query i can see


def _is(name: str, *pieces: Piece, of: str | None = "C") -> _Math:
    head = _of(_word(name), of) if of else _word(name)
    return _row(head, "=", *pieces)


_MEASURES: dict[str, _Math] = {
    "mass": _is("mass", _MEAN_Q, _total("i ∈ Q", _total("j ∈ C", _A))),
    "share": _is("share", _frac(_of(_word("mass"), "C"), _total("D", _of(_word("mass"), "D")))),
    "density": _is("density", _frac(_of(_word("mass"), "C"), "| C |")),
    "expected": _is(
        "expected",
        _MEAN_Q,
        _total("i ∈ Q", _frac(_row("|", "C", "∩", _SEEN, "|"), _row("|", _SEEN, "|"))),
    ),
    "lift": _is("lift", _frac(_of(_word("mass"), "C"), _of(_word("expected"), "C"))),
    "received": _is("received", _frac("1", _sub("n", "j")), _total("i ∈ Q , i > j", _A), of="j"),
    "retained": _row(_sub(_word("retained"), "i"), "=", "1", "−", _total("j ∈ I", _A2)),
    "amplitude": _is(
        "amplitude", _frac(_total("j ∈ M", _B_RECEIVED), _total("j ∈ M", _A_RECEIVED)), of=None
    ),
    "attention_left": _is(
        "attention_left",
        _frac("1", _word("max n")),
        _total("j ∈ M", _row(_sub("n", "j"), _of(_word("received"), "j"))),
        of=None,
    ),
    "shape": _is("shape", _of(_word("corr"), "a", "b"), of=None),
    "entropy_change": _is("entropy_change", _of("H", _NORMAL_B), "−", _of("H", _NORMAL_A), of=None),
    "divergence": _is("divergence", _of(_word("JS"), _NORMAL_A, _NORMAL_B), of=None),
    "affine_r2": _is(
        "affine_r2",
        "1",
        "−",
        _frac(
            _total("i j", _square(_row("(", _A2, "−", _sub("c", "i"), _A, ")"))),
            _total("i j", _square(_row("(", _A2, ")"))),
        ),
        of=None,
    ),
}
_A_WORDS = (
    "A is the attention that query token i gives to key token j, after softmax, as the model uses "
    "it"
)
_LETTERS = {
    "share": "D is every class that was named",
    "expected": "V are the tokens that query i can see",
    "received": "n is the number of queries after token j",
    "retained": "A′ is A with the insertion, and I are the inserted tokens",
    "amplitude": "M are {tokens}; a and b are what they receive without and with the insertion",
    "attention_left": "attention_left is that of the version where it is larger",
    "entropy_change": "H is the entropy",
    "divergence": "JS is the Jensen–Shannon divergence",
    "affine_r2": "c is one factor for each original query i after the insertion, and here j are "
    "all keys that are matched, the first token too",
}


def letters(measures: tuple[str, ...], *, tokens: str = "the matched tokens") -> str:
    """What the letters of these formulas stand for; M are these tokens."""
    classes = any(name in ("mass", "share", "density", "expected", "lift") for name in measures)
    sets = "Q is the query set, C the tokens of a class" if classes else "Q is the query set"
    known = [_LETTERS[name].format(tokens=tokens) for name in measures if name in _LETTERS]
    return " ".join(f"{sentence}." for sentence in (_A_WORDS, sets, *known))
