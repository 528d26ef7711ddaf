"""Names of models, token classes, conditions and measures ⇄ how they stand in a text.

A name is found as it is, or in quotes; a name that is also an ordinary word in quotes, or where a
number follows. The longest name that fits is meant. Knows names, nothing about numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mindshare.report.describing.numbers import Numbers
from mindshare.report.describing.phrases import OWN_WORDS, measure_word

# Words that people use for the same tokens.
ALIASES = (("hash", "#"), ("star", "*", "asterisk"), ("space", "whitespace", "spaces"))
_QUOTES = "“”\"'`‘’"
_COLOURS = "red|blue|gr[ae]y|green|orange|purple|black|yellow|brown|pink"
_BEFORE_NUMBERS = """
about above amplified amplitude and approximately around at below between by change damped density
divergence effect evenness expected factor from head heads in is layer layers least less lift margin
mass more most nearly of only over p ratio reconfigured retained roughly seed shape share sharpened
shift smoothed than to together total unchanged under up
"""
BEFORE_NUMBERS = frozenset(_BEFORE_NUMBERS.split())  # in sentences of ours and of others
NOTHING = r"(?!)"  # matches nowhere


@dataclass(frozen=True)
class Name:
    part: str  # of a key: model, kind, condition, measure, label; or queries
    name: str


@dataclass(frozen=True)
class Vocabulary:
    """Written words → the names they stand for; `spoken` are measures and labels, never quoted."""

    names: Mapping[str, Name] = field(default_factory=dict)
    spoken: Mapping[str, Name] = field(default_factory=dict)

    @property
    def pattern(self) -> str:
        patterns = {word: _pattern(word) for word in self.names}
        for word in self.spoken:
            own = rf"(?<!\bone\s)(?<!\w){_spaced(word)}(?!\w)"  # "one factor a query" names none
            patterns[word] = f"{patterns[word]}|{own}" if word in patterns else own
        order = sorted(patterns, key=len, reverse=True)  # the longest that fits is meant
        return "|".join(patterns[word] for word in order) or NOTHING

    def find(self, written: str) -> Name | None:
        """The name that matched the pattern; letters in their own case first."""
        written = " ".join(written.split())
        bare = re.sub(rf"\s*\((?:{_COLOURS})\)$", "", written, flags=re.I)
        if bare[0] in _QUOTES and bare not in self.names:
            bare = bare[1:-1]
        elif bare.casefold() in self.spoken:
            return self.spoken[bare.casefold()]
        return self.names.get(bare) or self._folded.get(bare.casefold())

    @property
    def _folded(self) -> dict[str, Name]:
        return {word.casefold(): name for word, name in reversed(list(self.names.items()))}


def _spaced(word: str) -> str:
    return re.escape(word).replace(r"\ ", r"\s+")


def _pattern(word: str) -> str:
    escaped = _spaced(word)
    quoted = rf"[{_QUOTES}]{escaped}[{_QUOTES}]"
    before = r"(?<!\w)" if word[0].isalnum() or word[0] == "_" else ""
    after = r"(?!\w)" if word[-1].isalnum() or word[-1] == "_" else ""
    parts = set(word.casefold().split())
    if not re.search(r"\w", word):  # a sign: `# (Hash)`
        return rf"{quoted}|{escaped}(?=\s*\()" if len(word) < 3 else rf"{quoted}|{escaped}"
    if parts & BEFORE_NUMBERS or re.fullmatch(r"[\d\s.,;:%+\-−–\[\]()]+", word):
        return quoted
    if parts <= OWN_WORDS or (len(parts) == 1 and parts & OWN_WORDS):
        # An ordinary word: it is a name if a number follows.
        return rf"{quoted}|{before}{escaped}{after}(?=\s*[:(=]?\s*[~≈]?\d)"
    return rf"{quoted}|{before}{escaped}{after}(?:\s*\((?:{_COLOURS})\))?"


def vocabulary_of(numbers: Numbers) -> Vocabulary:
    """The names that a table knows."""
    labels = dict.fromkeys(n.label for n in numbers.cells.values() if n.label)
    spoken = {measure_word(m): Name("measure", m) for m in numbers.measures}
    spoken |= {label: Name("label", label) for label in labels}
    named = {
        "queries": numbers.queries,
        "kind": numbers.classes,
        "condition": numbers.conditions,
        "model": numbers.models,  # the last has the word
    }
    found = {name: Name(part, name) for part, names in named.items() for name in names}
    for written, kind in aliases(numbers.classes).items():
        found.setdefault(written, Name("kind", kind))
    return Vocabulary(found, spoken)


def aliases(classes: Iterable[str]) -> dict[str, str]:
    """Other words for these classes → the class; also `# (Hash)`."""
    found: dict[str, str] = {}
    known = {name.casefold(): name for name in classes}
    for alike in ALIASES:
        used = [word for word in alike if word in known]
        if len(used) == 1:
            name = known[used[0]]
            found |= dict.fromkeys(alike, name)
            found |= {f"{sign} ({word})": name for sign in alike for word in alike if sign != word}
    return found
