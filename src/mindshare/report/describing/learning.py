"""Texts about one chart → the names they use for models and token classes.

Without a table, the texts themselves must say what their names are: a label that numbers follow in
two layers or more names a model, a word before a number there names a class. Knows how people
write about charts, not what is in them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from mindshare.report.describing.outline import Line, outline
from mindshare.report.describing.tokens import Lexer
from mindshare.report.describing.vocabulary import Name, Vocabulary, aliases

_NUMBER = r"(?:[~≈]|about\s+|approximately\s+|is\s+)*\s*[~≈]?\d*\.\d"
_CLASS = re.compile(
    r"(?P<sign>[^\w\s,.;:()\"'`]\s*)?\(?(?P<word>[A-Za-z][\w-]*)\)?(?:\s*\((?:[a-z]+)\))?\s*"
    r"[:(=]?\s*(?=" + _NUMBER + ")"
)
_LABEL = re.compile(r"(?:\*\*)?(?P<label>[A-Za-z][^:*]{0,40}?)(?:\*\*)?:(?:\*\*)?")
_ORDINARY_WORDS = """
about above and approximately around at attention below between by composition from height is layer
of over peak reaching roughly sum the to total trend under value weight with
"""
_ORDINARY = frozenset(_ORDINARY_WORDS.split())
_TWICE = 2


def learn(texts: Iterable[str]) -> Vocabulary:
    """Every model and class that the texts name."""
    models: Counter[str] = Counter()
    classes: Counter[str] = Counter()
    for text in texts:
        for line in outline(text, Lexer(Vocabulary())):
            if "layer" in line.given:
                _count_words(line, classes)
        _count_labels(text, models)
    kinds = [word for word, n in classes.items() if n >= _TWICE and word not in _ORDINARY]
    labels = [word for word, n in models.items() if n >= _TWICE and word.lower() not in kinds]
    return _vocabulary(labels, kinds)


def _count_words(line: Line, classes: Counter[str]) -> None:
    for found in _CLASS.finditer(line.text):
        classes[found["word"].lower()] += 1


def _count_labels(text: str, models: Counter[str]) -> None:
    """Labels under at least two layers that a number follows, on their line or the next."""
    lines = list(outline(text, Lexer(Vocabulary())))
    raw = text.splitlines()
    under: dict[str, set[object]] = {}
    for i, line in enumerate(lines):
        found = _LABEL.match(line.text)
        if found is None or "layer" not in line.given:
            continue
        rest = line.text[found.end() :]
        after = lines[i + 1].text if i + 1 < len(lines) and not rest.strip() else rest
        bold = "**" in raw[line.number - 1] or not rest.strip()
        if bold and re.search(r"\d\.\d", after):
            under.setdefault(found["label"].strip(), set()).add(line.given["layer"])
    models.update({label: len(layers) for label, layers in under.items()})


def _vocabulary(models: list[str], kinds: list[str]) -> Vocabulary:
    names = {word: Name("kind", word) for word in kinds}
    names |= {written: Name("kind", kind) for written, kind in aliases(kinds).items()}
    return Vocabulary(names | {label: Name("model", label) for label in models})
