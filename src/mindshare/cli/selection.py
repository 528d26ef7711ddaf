"""`0,5-9`, `mean` or `all` become what a Study takes for its layers or heads.

Does not know which layers a model has; the study refuses what is not there.
"""

from __future__ import annotations

import re

from mindshare.errors import SelectionError, nearest

_PART = re.compile(r"\s*(\d{1,5})\s*(?:-\s*(\d{1,5})\s*)?")


def parse_selection(text: str | None, option: str) -> list[int] | str | None:
    """Numbers and ranges, both ends included; `mean` and `all` as they are."""
    if text is None or text.strip() in ("all", "mean"):
        return None if text is None else text.strip()
    return [number for part in text.split(",") for number in _numbers(part, text, option)]


def parse_layers(text: str) -> list[int] | None:
    """Numbers and ranges; None for all of them. Here a mean is no choice."""
    found = parse_selection(text, "--layers")
    if found == "mean":
        raise SelectionError(
            "every layer is looked at by itself",
            where="--layers mean",
            allowed="all, or numbers and ranges such as --layers 0,5-9",
        )
    return None if found == "all" or isinstance(found, str) else found


def _numbers(part: str, text: str, option: str) -> range:
    found = _PART.fullmatch(part)
    if not found:
        raise _unreadable(f"{part.strip()!r} is no number or range", text, option)
    first, last = int(found[1]), int(found[2] or found[1])
    if first > last:
        raise _unreadable(f"the range {part.strip()!r} runs backwards", text, option)
    return range(first, last + 1)


def _unreadable(what: str, text: str, option: str) -> SelectionError:
    return SelectionError(
        f"{what}{nearest(text.strip(), ('all', 'mean'))}",
        where=f"{option} {text!r}",
        allowed=f"numbers and ranges from 0, such as {option} 0,5-9; or all, or mean",
    )
