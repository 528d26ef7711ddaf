"""A prompt → its parts, as a person would name them, without being told any.

    marked spans                          if there are some; what is left of each message besides
    messages of a chat                    by role, numbered where a role speaks several times
    headings (`# Task`, `Question: …`)    of a text, or within the messages of a chat
    paragraphs, or lines                  of a text without headings

A part is text of the prompt: what a chat template writes around messages, and blank lines between
parts, belong to none. Of several wordings, parts with the same text have the same name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from mindshare.naming import UNNAMED
from mindshare.prompts.prompt import MARK, SPAN_NAME, CharRange, Prompt, SpanRange

MOST = 20  # parts that one picture can hold
UNMARKED = "unmarked"  # text of a prompt with marks that stands outside of them
_LONGEST = 100  # characters of a name
_WORDS = 28  # characters of a paragraph that stand for it
_TITLE = re.compile(r"^#{1,6}[ \t]+(?P<title>\S.*?)[ \t#]*$", re.MULTILINE)
_LABEL = re.compile(r"^(?P<title>[A-Z][\w' -]{0,30}):(?=[ \t\r]|$)", re.MULTILINE)
_TAKEN = (*UNNAMED, "first-token")  # names of classes that are no parts
_BETWEEN = {"paragraph": r"\n[ \t\r]*\n", "line": r"\n"}


@dataclass(frozen=True)
class DividedPrompt:
    """A prompt whose spans are its parts, in the order of the text, and what each is called."""

    prompt: Prompt
    labels: dict[str, str]  # name of the span → what a reader calls it
    note: str | None = None  # what could not be divided, and what to do about it

    @property
    def texts(self) -> dict[str, str]:
        """Part → its characters."""
        contents = _texts(self.prompt)
        return {
            part: "\n".join(contents[r[0] if len(r) == 3 else 0][r[-2] : r[-1]] for r in ranges)
            for part, ranges in self.prompt.spans.items()
        }

    def renamed(self, names: Mapping[str, str]) -> DividedPrompt:
        """The same parts under other names."""
        spans = {names[part]: ranges for part, ranges in self.prompt.spans.items()}
        labels = {names[part]: label for part, label in self.labels.items()}
        return replace(self, prompt=replace(self.prompt, spans=spans), labels=labels)


@dataclass(frozen=True)
class _Piece:
    """Some text of one message, or of the text (message 0)."""

    label: str
    message: int
    start: int
    end: int


def divided(prompt: Prompt) -> DividedPrompt:
    """The prompt by its parts; one that has none to be found is one part, and a note says so."""
    texts = _texts(prompt)
    if prompt.spans:
        pieces = _marked(prompt, texts)
    elif len([text for text in texts if text.strip()]) > 1:
        pieces = _by_message(prompt, texts)
    else:
        pieces = _sections(texts, kinds=("heading", "paragraph", "line"))
    named = _named([piece for piece in pieces if _trimmed(piece, texts) is not None])
    spans: dict[str, tuple[SpanRange, ...]] = {}
    for name, group in named.items():
        ranges = [_trimmed(piece, texts) for piece in group]
        spans[name] = tuple(_range(prompt, one) for one in ranges if one is not None)
    labels = {name: group[0].label for name, group in named.items()}
    note = None if prompt.spans else _note(texts, len(named))
    return DividedPrompt(replace(prompt, spans=spans), labels, note)


def paired(wordings: Mapping[str, DividedPrompt]) -> dict[str, DividedPrompt]:
    """Label → wording; a part whose text another wording has, wherever it stands, has its name."""
    known: dict[str, list[str]] = {}  # text → names of the parts that are this text
    result = {}
    for label, found in wordings.items():
        texts, names = found.texts, dict[str, str]()
        for part, text in texts.items():
            twins = [name for name in known.get(text, ()) if name not in names.values()]
            if twins:
                names[part] = part if part in twins else twins[0]
        for part in texts:
            name = part
            while part not in names and name in names.values():
                name += "-2"
            names.setdefault(part, name)
        for part, text in texts.items():
            if names[part] not in known.setdefault(text, []):
                known[text].append(names[part])
        result[label] = found.renamed(names)
    return result


def _texts(prompt: Prompt) -> list[str]:
    if prompt.messages is None:
        return [prompt.text or ""]
    return [message.content for message in prompt.messages]


def _range(prompt: Prompt, piece: _Piece) -> SpanRange:
    chars = (piece.start, piece.end)
    return chars if prompt.messages is None else (piece.message, *chars)


def _trimmed(piece: _Piece, texts: Sequence[str]) -> _Piece | None:
    """Without the blanks around it; None if it is all blank."""
    text = texts[piece.message][piece.start : piece.end]
    start = piece.start + len(text) - len(text.lstrip())
    end = start + len(text.strip())
    return replace(piece, start=start, end=end) if start < end else None


def _note(texts: Sequence[str], parts: int) -> str | None:
    if any(MARK.search(text) for text in texts):
        return "The prompt holds marks such as <<name>>: add --marked to make them its parts"
    if parts < 2:
        return (
            "The prompt has one part: it has neither headings nor paragraphs, or more than "
            f"{MOST}; mark parts of your own, <<name>>…<</name>>, and add --marked"
        )
    return None


# ── where parts begin and end ─────────────────────────────────────────────────────────────────────


def _marked(prompt: Prompt, texts: Sequence[str]) -> list[_Piece]:
    """The spans, and what stands outside of them, by role."""
    pieces = []
    for name, ranges in prompt.spans.items():
        for range_ in ranges:
            message, start, end = range_ if len(range_) == 3 else (0, *range_)
            pieces.append(_Piece(name, message, start, end))
    outside = []
    for message, text in enumerate(texts):
        label = UNMARKED if prompt.messages is None else prompt.messages[message].role
        inside = [(one.start, one.end) for one in pieces if one.message == message]
        outside += [_Piece(label, message, *gap) for gap in _gaps(inside, len(text))]
    return sorted([*pieces, *outside], key=lambda one: (one.message, one.start))


def _gaps(ranges: Iterable[CharRange], length: int) -> list[CharRange]:
    """What the ranges leave free."""
    gaps, at = [], 0
    for start, end in sorted(ranges):
        if start > at:
            gaps.append((at, start))
        at = max(at, end)
    return [*gaps, (at, length)] if at < length else gaps


def _by_message(prompt: Prompt, texts: Sequence[str]) -> list[_Piece]:
    """One part per message, or several where a message has headings; many messages go by role."""
    roles = [message.role for message in prompt.messages or ()]
    number: Counter[str] = Counter()
    whole, fine = [], []
    for index, (role, text) in enumerate(zip(roles, texts, strict=True)):
        number[role] += 1
        label = f"{role} {number[role]}" if roles.count(role) > 1 else role
        whole.append(_Piece(label, index, 0, len(text)))
        sections = _sections([text], kinds=("heading",))
        fine += [
            replace(one, message=index, label=f"{label}: {one.label}" if one.label else label)
            for one in (sections if len(sections) > 1 else [replace(whole[-1], label="")])
        ]
    by_role = [replace(one, label=role) for one, role in zip(whole, roles, strict=True)]
    return next((ps for ps in (fine, whole) if _distinct(ps) <= MOST), by_role)


def _sections(texts: Sequence[str], *, kinds: Sequence[str]) -> list[_Piece]:
    """The sections of the only text that is not blank, by the first of these kinds that fits."""
    message = next((i for i, text in enumerate(texts) if text.strip()), 0)
    text = texts[message]
    whole = [_Piece("text", message, 0, len(text))]
    for kind in kinds:
        ways = [_headed(text, _TITLE), _headed(text, _LABEL)]
        ways = ways if kind == "heading" else [_separated(text, kind)]
        for pieces in ways:
            if 1 < _distinct(pieces) <= MOST:
                return [replace(piece, message=message) for piece in pieces]
    return whole


def _headed(text: str, heading: re.Pattern[str]) -> list[_Piece]:
    """From each heading to the next; what stands before the first is called so."""
    found = _outer(text, list(heading.finditer(text)))
    titles = [match["title"].strip() for match in found]
    if len(titles) < MOST:  # else those of one title are one part
        titles = [
            f"{title} {titles[:i].count(title) + 1}" if titles.count(title) > 1 else title
            for i, title in enumerate(titles)
        ]
    bounds = [0, *(match.start() for match in found), len(text)]
    first = f"before {titles[0]}" if found else ""
    parts = zip([first, *titles], bounds, bounds[1:], strict=False)
    pieces = [_Piece(label, 0, start, end) for label, start, end in parts]
    return [one for one in pieces if text[one.start : one.end].strip()] if found else []


def _outer(text: str, found: Sequence[re.Match[str]]) -> list[re.Match[str]]:
    """Without those that a heading holds: `Example:`, on the next lines `Question: …`, `Answer: …`.

    Such a heading stands alone on its line, right above another, and goes on to the blank line.
    """
    kept: list[re.Match[str]] = []
    end = 0
    for match, after in zip_longest(found, found[1:]):
        if match.start() < end:
            continue
        kept.append(match)
        between = text[match.end() : after.start()] if after else ""
        if match.re is _LABEL and not between.strip() and between.count("\n") == 1:
            blank = re.compile(_BETWEEN["paragraph"]).search(text, match.end())
            end = blank.start() if blank else len(text)
    several = len(kept) > 1 or (kept and text[: kept[0].start()].strip())
    return kept if several else list(found)


def _separated(text: str, kind: str) -> list[_Piece]:
    """Paragraphs or lines, each called by its number and its first words."""
    ends = [match.span() for match in re.finditer(_BETWEEN[kind], text)]
    bounds = list(zip([0, *(b for _, b in ends)], [*(a for a, _ in ends), len(text)], strict=True))
    kept = [(a, b) for a, b in bounds if text[a:b].strip()]
    return [
        _Piece(f"{number} {_first_words(text[a:b])}", 0, a, b)
        for number, (a, b) in enumerate(kept, start=1)
    ]


def _first_words(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _WORDS else f"{words[: _WORDS - 1].rstrip()}…"


# ── names ─────────────────────────────────────────────────────────────────────────────────────────


def _distinct(pieces: Sequence[_Piece]) -> int:
    return len({piece.label for piece in pieces})


def _named(pieces: Sequence[_Piece]) -> dict[str, list[_Piece]]:
    """Pieces by the name of their part: a word of letters, digits and hyphens.

    A paragraph is named by its number alone, so that two wordings of it are one part.
    """
    named: dict[str, list[_Piece]] = {}
    names: dict[str, str] = {}  # label → name
    for piece in pieces:
        name = _word(piece.label)
        while piece.label not in names and (name in named or name in _TAKEN):
            name += "-2"
        named.setdefault(names.setdefault(piece.label, name), []).append(piece)
    return named


def _word(label: str) -> str:
    label = label[:_LONGEST]
    numbered = re.match(r"\d+ ", label)
    if numbered or SPAN_NAME.fullmatch(label):
        return f"part-{numbered[0].strip()}" if numbered else label
    word = "-".join(re.findall(r"[^\W_]+", label))
    return word if SPAN_NAME.fullmatch(word) else f"part-{word}"
