"""Several texts about one chart → where they contradict one another.

Two texts contradict each other where they give the same model, layer and class numbers that no
single number could satisfy: farther apart than half a unit of the last digits, doubled for "about",
and the tolerance. Who is right, a table would have to say. Statements that could not be read are
kept, so that silence is not taken for agreement.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, zip_longest

from mindshare_checker.statements import Statement, about, read_statements
from mindshare_checker.text import Given, Name, Vocabulary, aliases, lines_of

# What can be compared between texts, and what else it must name than a model and a layer.
_NEEDED = {"value": ("token_class",), "share": ("token_class",), "total": (), "together": ()}


@dataclass(frozen=True)
class Disagreement:
    """Statements of texts about the same thing that no single number satisfies."""

    statements: tuple[Statement, ...]

    @property
    def given(self) -> Given:
        return self.statements[0].given

    @property
    def what(self) -> str:
        return self.statements[0].what

    @property
    def spread(self) -> float:
        values = [one.number.value for one in self.statements]
        return max(values) - min(values)

    def __str__(self) -> str:
        together = " and ".join(self.statements[0].together)
        sums = {"total": ", total", "together": f", sum of {together}", "share": ", as a share"}
        each = [f"{one.said} ({one.source}, line {one.line})" for one in self.statements]
        return f"{about(self.given)}{sums.get(self.what, '')}: {'; '.join(each)}"


@dataclass(frozen=True)
class TextComparison:
    """The disagreements, the widest first; what agrees; and what could not be read or compared."""

    disagreements: tuple[Disagreement, ...]
    leaders: tuple[str, ...]  # where they do not agree which class is the largest
    agreed: int  # things that several texts say alike
    alone: int  # things that only one text says
    unread: tuple[Statement, ...]

    def __str__(self) -> str:
        """One line each, and the count."""
        unread = [
            f"{one.source}, line {one.line}: {one.words!r} could not be read ({one.why})"
            for one in self.unread
        ]
        counts = (
            f"{len(self.disagreements)} numbers contradict one another, {self.agreed} are said "
            f"alike by several texts, {self.alone} by one only, {len(self.unread)} could not be "
            "read."
        )
        return "\n".join([*map(str, self.disagreements), *self.leaders, *unread, counts])


def compare_texts(texts: Mapping[str, str], *, tolerance: float = 0.0) -> TextComparison:
    """Where these texts, by name, contradict one another or themselves."""
    vocabulary = infer_names(texts.values())
    comparable: dict[tuple[object, ...], list[Statement]] = {}
    unread: list[Statement] = []
    for source, text in texts.items():
        for statement in read_statements(text, vocabulary):
            if statement.what == "mention":
                continue
            why = statement.why or _unclear(statement)
            if why:
                unread.append(replace(statement, source=source, what="unread", why=why))
            else:
                named = replace(statement, source=source)
                comparable.setdefault(statement.key, []).append(named)
    groups = list(comparable.values())
    several = [group for group in groups if len(group) > 1]
    differ = [Disagreement(tuple(g)) for g in several if _contradictory(g, tolerance)]
    return TextComparison(
        tuple(sorted(differ, key=lambda one: -one.spread)),
        leaders=tuple(_leaders(statement for group in groups for statement in group)),
        agreed=len(several) - len(differ),
        alone=len(groups) - len(several),
        unread=tuple(unread),
    )


def _unclear(statement: Statement) -> str:
    """What a statement leaves open; nothing if it can be compared with others."""
    if statement.what not in _NEEDED or statement.number.relation != "=":
        return "not one number of a model, layer and class"
    for part in ("model", "layer", *_NEEDED[statement.what]):
        if part not in statement.given:
            return f"it is not said which {part.replace('_', ' ')}"
        if isinstance(statement.given[part], tuple):
            return f"it is about several {part}s"
    return ""


def _contradictory(statements: Sequence[Statement], tolerance: float) -> bool:
    """Whether there are two of which no number is what both say."""
    for one, other in combinations((statement.number for statement in statements), 2):
        slack = tolerance * (2 if one.about or other.about else 1)
        slack += sum(number.half * (2 if number.about else 1) for number in (one, other))
        if abs(one.value - other.value) > slack * (1 + 1e-9):
            return True
    return False


def _leaders(statements: Iterable[Statement]) -> Iterator[str]:
    """Where the texts name different classes as the largest, by the numbers they give."""
    values: dict[str, dict[str, dict[str, float]]] = {}  # where → text → class → number
    for one in statements:
        if one.what == "value":
            where = about({part: name for part, name in one.given.items() if part != "token_class"})
            classes = values.setdefault(where, {}).setdefault(one.source, {})
            classes.setdefault(one.given["token_class"], one.number.value)
    for where, texts in values.items():
        largest = {text: first for text, classes in texts.items() if (first := _largest(classes))}
        if len(set(largest.values())) > 1:
            each = "; ".join(f"{token_class} ({text})" for text, token_class in largest.items())
            yield f"{where}: the largest class is not the same: {each}"


def _largest(classes: Mapping[str, float]) -> str | None:
    """The class with the largest number, if there is one."""
    first, *others = sorted(classes, key=lambda name: -classes[name])
    return first if others and classes[others[0]] < classes[first] else None


# Without a table, the texts themselves must say what their names are: a label that numbers follow
# in two layers or more names a model, a word before a number there names a class.

_NUMBER = r"(?:[~≈]|about\s+|approximately\s+|is\s+)*\s*[~≈]?\d*\.\d"
_CLASS = re.compile(
    r"(?P<sign>[^\w\s,.;:()\"'`]\s*)?\(?(?P<word>[A-Za-z][\w-]*)\)?(?:\s*\((?:[a-z]+)\))?\s*"
    r"[:(=]?\s*(?=" + _NUMBER + ")"
)
_LABEL = re.compile(r"(?P<label>[A-Za-z][^:*]{0,40}?):")
_ORDINARY = """
    about above and approximately around at attention below between by composition from height is
    layer of over peak reaching roughly sum the to total trend under value weight with
"""
_TWICE = 2


def infer_names(texts: Iterable[str]) -> Vocabulary:
    """Every model and class that the texts name."""
    models: Counter[str] = Counter()
    classes: Counter[str] = Counter()
    for text in texts:
        lines = list(lines_of(text, Vocabulary()))
        raw = text.splitlines()
        layers: dict[str, set[object]] = {}  # of each label
        for line, after in zip_longest(lines, lines[1:]):
            if "layer" not in line.given:
                continue
            classes.update(match["word"].lower() for match in _CLASS.finditer(line.text))
            label = _LABEL.match(line.text)
            rest = line.text[label.end() :].strip() if label else ""
            numbers = rest or (after.text if after else "")
            marked = "**" in raw[line.number - 1] or not rest
            if label and marked and re.search(r"\d\.\d", numbers):
                layers.setdefault(label["label"].strip(), set()).add(line.given["layer"])
        models.update({label: len(under) for label, under in layers.items()})
    words = [w for w, n in classes.items() if n >= _TWICE and w not in _ORDINARY.split()]
    labels = [w for w, n in models.items() if n >= _TWICE and w.lower() not in words]
    names = {word: Name("token_class", word) for word in words}
    names |= {alias: Name("token_class", word) for alias, word in aliases(words).items()}
    return Vocabulary(names | {label: Name("model", label) for label in labels})
