"""Two measured prompts → which of their tokens are the same, never by guessing.

The same tokens in two models are paired one by one. Two versions of a text differ by one stretch,
between what both begin with and what both end with: `tokens/alignment.py` matches the rest. Where
a stretch was replaced, both versions are aligned with the text without it, and tokens that keep
their partner in both are paired. Models that cut texts differently share classes, no tokens.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mindshare.errors import SelectionError
from mindshare.prompts import Prompt
from mindshare.tokens import Alignment, Encoded, align, encode
from mindshare_explore.live import MeasuredPrompt
from mindshare_explore.session import Explorer

_SPAN = "inserted"


def compared(explorer: Explorer, a: MeasuredPrompt, b: MeasuredPrompt) -> dict[str, Any]:
    """`pairs` [[position in a, position in b], …] and what every token of b is; or why not."""
    heads = [one.heads_known for one in (a, b)]
    found: dict[str, Any] = {
        "heads": heads[0] == heads[1] and a.layers == b.layers,
        "pairs": None,
        "parts": None,
    }
    if a.encoded.ids == b.encoded.ids:
        every = [[at, at] for at in range(len(a.encoded))]
        same = a.encoded.text == b.encoded.text
        return found | {"kind": "models" if same else "same tokens", "pairs": every}
    if a.model != b.model and explorer.model(b.model).encode(a.prompt).ids != a.encoded.ids:
        return found | {"kind": "classes", "why": "the models cut this text into other tokens"}
    pairs, parts = _aligned(explorer, a, b)
    return found | {"kind": "versions", "pairs": [list(one) for one in pairs], "parts": parts}


def with_insertion(one: MeasuredPrompt, at: int, text: str) -> Prompt:
    """The prompt with a text before a character of what the model reads."""
    whole, prompt = one.encoded.text, one.prompt
    if not 0 <= at <= len(whole):
        raise SelectionError(f"there is no character {at}", allowed=f"0 to {len(whole)}")
    if prompt.messages is None:
        return Prompt.from_text(whole[:at] + text + whole[at:])
    ranges = sorted(
        range_ for name, r in one.encoded.spans.items() if name.startswith("role:") for range_ in r
    )
    turns = list(prompt.messages)
    for number, (start, stop) in enumerate(ranges):
        content = turns[number].content if len(ranges) == len(turns) else None
        if start <= at <= stop and content == whole[start:stop]:
            here = at - start
            turns[number] = replace(turns[number], content=content[:here] + text + content[here:])
            return Prompt.from_chat(turns)
    raise SelectionError(
        "that place belongs to the chat template, not to a message",
        next_step="choose a token inside a message",
    )


def _aligned(
    explorer: Explorer, a: MeasuredPrompt, b: MeasuredPrompt
) -> tuple[list[tuple[int, int]], list[str]]:
    texts = (a.encoded.text, b.encoded.text)
    start, end = common_ends(*texts)
    cut = [(start, len(text) - end) for text in texts]  # what only this version has
    if cut[0][0] == cut[0][1]:
        found = _align(a.encoded, b.encoded, cut[1])
        return list(found.pairs), list(found.parts)
    if cut[1][0] == cut[1][1]:
        found = _align(b.encoded, a.encoded, cut[0])
        pairs = [(x, y) for y, x in found.pairs]
        matched = {y for _, y in pairs}
        return pairs, ["original" if y in matched else "unmatched" for y in range(len(b.encoded))]
    shared = texts[0][:start] + texts[0][len(texts[0]) - end :]
    if not shared:
        return [], ["inserted"] * len(b.encoded)
    tokenizer = explorer.model(a.model).candidate.tokenizer
    assert tokenizer.tokenizer is not None
    between = encode(Prompt.from_text(shared), tokenizer.tokenizer, add_bos=tokenizer.add_bos)
    of_a, of_b = (_align(between, one.encoded, c) for one, c in zip((a, b), cut, strict=True))
    by_shared = dict(of_b.pairs)
    pairs = [(x, by_shared[at]) for at, x in of_a.pairs if at in by_shared]
    matched = {y for _, y in pairs}
    parts = [
        part if y in matched or part != "original" else "unmatched"
        for y, part in enumerate(of_b.parts)
    ]
    return pairs, parts


def _align(without: Encoded, with_: Encoded, inserted: tuple[int, int]) -> Alignment:
    return align(without, replace(with_, spans={_SPAN: (inserted,)}), span=_SPAN)


def common_ends(a: str, b: str) -> tuple[int, int]:
    """How many characters two texts have in common at the start, and then at the end."""
    most = min(len(a), len(b))
    start = next((n for n in range(most) if a[n] != b[n]), most)
    most -= start
    end = next((n for n in range(most) if a[-1 - n] != b[-1 - n]), most)
    return start, end
