"""What people write behind an option → what the library takes.

Each takes the text, or the texts of a repeatable option, and the flag they stand behind.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mindshare.errors import SelectionError, nearest

if TYPE_CHECKING:
    from mindshare.stats import Resampling

_RANGE = re.compile(r"\s*(\d{1,5})\s*(?:-\s*(\d{1,5})\s*)?", re.ASCII)


def parse_selection(text: str, flag: str) -> list[int] | str:
    """`0,5-9`: numbers and ranges, both ends included; `mean` and `all` as they are.

    Does not know which layers a model has; the study refuses what is not there.
    """
    if text.strip() in ("all", "mean"):
        return text.strip()
    return [number for part in text.split(",") for number in _numbers(part, text, flag)]


def _numbers(part: str, text: str, flag: str) -> range:
    match = _RANGE.fullmatch(part)
    if match and int(match[1]) <= int(match[2] or match[1]):
        return range(int(match[1]), int(match[2] or match[1]) + 1)
    wrong = "is a range that runs backwards" if match else "is no number or range"
    raise SelectionError(
        f"{part.strip()!r} {wrong}{nearest(text.strip(), ('all', 'mean'))}",
        where=f"{flag} {text!r}",
        allowed=f"numbers and ranges from 0, such as {flag} 0,5-9; or all, or mean",
    )


def single_layers(text: str, flag: str) -> list[int] | None:
    layers = parse_selection(text, flag)
    if layers == "mean":
        raise SelectionError(
            "every layer is looked at by itself",
            where=f"{flag} mean",
            allowed=f"all, or numbers and ranges such as {flag} 0,5-9",
        )
    return None if isinstance(layers, str) else layers


def heads_by_model(given: Sequence[str], flag: str) -> str | dict[str, str]:
    """`0.0,0.7` for every model, or `NAME:0.26` for each by name."""
    named = [part.rpartition(":") for part in given]
    if not any(name for name, _, _ in named):
        return ",".join(given)
    if not all(name for name, _, _ in named):
        raise SelectionError(
            "some heads are named for one model and some for all",
            allowed=f"{flag} 0.0,0.7 alone, or {flag} NAME:0.0 for each model",
        )
    names = dict.fromkeys(name for name, _, _ in named)
    return {name: ",".join(h for model, _, h in named if model == name) for name in names}


def heads_to_hide(text: str, flag: str) -> list[int] | str:
    return text if "." in text or text == "each" else parse_selection(text, flag)


def words(texts: Sequence[str], _: str) -> list[str]:
    """`mass,entropy`, or repeated."""
    return [word.strip() for text in texts for word in text.split(",") if word.strip()]


def response_maps(text: str, flag: str) -> list[str]:
    from mindshare.api.insertion import MAPS

    return {"all": list(MAPS), "none": []}.get(text.strip(), words([text], flag))


def resampling(absent: str, _: str) -> Resampling:
    from mindshare.stats import Resampling

    return Resampling(absent=absent)


def points(text: str, flag: str) -> float:
    try:
        return float(text.removesuffix("pt").encode("ascii"))
    except ValueError:
        raise SelectionError(f"{flag} {text!r} is no number", allowed="points, such as 8") from None


def pairs(given: Sequence[str], flag: str) -> dict[str, str]:
    """`hash=# (Hash)` → {"hash": "# (Hash)"}"""
    parts = [text.partition("=") for text in given]
    for name, equals, value in parts:
        if not (name and equals):
            raise SelectionError(f"{flag} {name or value!r}", allowed=f"{flag} NAME=VALUE")
    return {name: value for name, _, value in parts}


def figure_formats(formats: str | None) -> tuple[str, ...]:
    """None are chosen if none are named; wrong words are refused."""
    from mindshare.figures import check_formats

    endings = tuple(dict.fromkeys(words([formats or ""], "")))
    check_formats(endings)
    return endings
