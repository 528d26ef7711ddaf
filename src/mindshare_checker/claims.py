"""Claims in words: more or less, largest or smallest, differs or not. Does the table support them?

What the tables support is put into sentences anew. A sentence of a text that is one of these holds;
one that is the same but for such words does not. What is neither, and says such a thing, could not
be read: silence is never taken for a yes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import pyarrow as pa

from mindshare.facts import Key, describe, largest, sentence
from mindshare.facts.cells import charts_of
from mindshare.facts.find import COMPARED, facts_of, levels, results
from mindshare.facts.sentences import for_a_paper
from mindshare.measures import MEASURES
from mindshare_checker.text import Line, plain

# Words that turn a claim into its opposite, the longest first.
_POLAR = re.compile(
    r"\b(?:does not differ significantly|do not differ significantly|does not differ|do not differ|"
    r"has no significant effect on|"
    r"does not significantly change|does not change|changes?|"
    r"not significantly|is undecided|undecided|differs?|significantly|"
    r"highest|lowest|largest|smallest|higher|lower|larger|smaller|most|least|more|less|fewer|"
    r"rises|falls|increases|decreases|raises|lowers|widens|narrows|gains?|loses?|up|down|high|low)(?!\w)",
    re.IGNORECASE,
)
_CLAIM = re.compile(
    r"\b(?:does not differ|do not differ|differs|undecided|rises|falls|"
    r"(?:more|less|higher|lower|larger|smaller)\b[^.;:]*\bthan|"
    r"(?:has|have|gets|get) the (?:largest|smallest|highest|lowest|most|least)|"
    r"(?:is|are) (?:highest|lowest|largest|smallest))\b",
    re.IGNORECASE,
)
_ENDS = re.compile(r"(?<=[.!?])\s+(?=[A-Z“\"'(])")
UNREAD_CLAIM = "a claim in words that no sentence of the tables says"


@dataclass(frozen=True)
class ClaimRead:
    """One sentence of a text: whether it holds (None: unread), and what the tables say instead."""

    line: int
    words: str
    holds: bool | None
    instead: str = ""


def read_claims(
    lines: Sequence[Line], tables: Mapping[str, pa.Table], read: frozenset[int]
) -> Iterator[ClaimRead]:
    """`read`: lines of which an order was read, or is told as unread, already."""
    supported, around = _sentences(tables)
    known = {_folded(one) for one in (*supported, *around)}
    claims = {_folded(one) for one in supported}
    forms: dict[str, list[str]] = {}
    for one in supported:
        forms.setdefault(_form(_folded(one)), []).append(one)
    for line in lines:
        for words in _ENDS.split(line.text):
            folded = _folded(words)
            if folded in known:
                if folded in claims and _POLAR.search(words):
                    yield ClaimRead(line.number, words, True)
            elif _form(folded) in forms and _POLAR.search(words):
                yield ClaimRead(line.number, words, False, forms[_form(folded)][0])
            elif _CLAIM.search(words) and line.number not in read:
                yield ClaimRead(line.number, words, None)


def _sentences(tables: Mapping[str, pa.Table]) -> tuple[list[str], list[str]]:
    """What the tables support, with and without the model's name; and what else is said of them."""
    supported: list[str] = []
    for numbers in charts_of(tables):
        facts = facts_of(numbers)
        if numbers.conditions:
            for model, condition, measure in product(numbers.models, numbers.conditions, COMPARED):
                key = Key(measure, model, condition=condition)
                facts += levels(numbers, key, MEASURES[measure].neutral or 0.0)
            for against in (None, *numbers.conditions[1:]):
                facts += results(numbers, against=against)
        supported += [str(sentence(fact, several=each)) for fact in facts for each in (True, False)]
        supported += [str(for_a_paper(fact)) for fact in largest(facts)]
    around = [str(said) for section in describe(tables).sections.values() for said in section]
    return supported, around


def _folded(words: str) -> str:
    """Without markup, quotes, spaces and the last stop: what two writings of a sentence share."""
    return re.sub(r"[\s“”\"'`]+", " ", plain(words)).strip(" .").casefold()


def _form(folded: str) -> str:
    """The sentence with every word that turns it around taken out."""
    return re.sub(r"(?:(?:not )?±\s*)+", "± ", re.sub(r"\s+", " ", _POLAR.sub("±", folded)))
