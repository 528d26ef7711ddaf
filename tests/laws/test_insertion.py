"""Laws of an insertion: profiles against eager matrices, and what theory says of the first layer.

The check is independent: tokens are placed by walking the vocabulary's own pieces along the text
(no reported offsets), matched by characters and id, and attention comes from the eager matrices.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from mindshare.models import LoadedModel, wrap
from mindshare.prompts import Prompt
from mindshare.stats import aligned
from mindshare.study import build_insertion_study, measure
from tests.attention import tiny
from tests.tokens.conftest import build

MODELS: dict[str, Callable[..., torch.nn.Module]] = {
    "llama": tiny.llama,
    "gemma3": tiny.gemma3,
    "gemma2": tiny.gemma2,
    "gpt_oss": tiny.gpt_oss,
}
TOKENIZERS = ("bytes", "bytes-bos", "llama", "gemma", "unigram")
TEXT = "the cat sat on a mat. Seven, red ships; why? Hello world #### (note) 12 + 34 = 46\n"
RUNS = ("/ *6", "?*4", " he*5", "lorem ipsum. *2", "#*7", "\n*3", "random-sentence*8")
HEADS = 4


def _model(kind: str, tokenizer: Any) -> LoadedModel:
    return wrap(MODELS[kind](vocab_size=len(tokenizer)), tokenizer, name=kind)


def _eager(loaded: LoadedModel, ids: list[int]) -> np.ndarray:
    """[layer, head, query, key] float64, as transformers itself returns it."""
    model: Any = loaded.model
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        with torch.inference_mode():
            found = model(torch.tensor([ids]), output_attentions=True, use_cache=False).attentions
    finally:
        model.set_attn_implementation(before)
    return np.stack([x[0].double().numpy()[..., : len(ids)] for x in found])


def _walked(tokenizer: Any, text: str) -> list[tuple[int, int, int]]:
    """(id, start, end) of every token, by spelling the vocabulary's pieces along the text."""
    found = []
    at = 0
    for place, token in enumerate(tokenizer(text)["input_ids"]):
        piece = tokenizer.convert_ids_to_tokens([token])[0]
        if piece in ("<s>", "</s>"):
            found.append((token, at, at))
            continue
        plain = piece.replace("▁", " ").replace("Ġ", " ").replace("Ċ", "\n")
        if piece.startswith("<0x"):
            plain = chr(int(piece[3:5], 16))  # the texts are ASCII
        if place <= 1 and not text.startswith(plain, at) and text.startswith(plain[1:], at):
            plain = plain[1:]  # a space that the tokenizer put in front
        assert text.startswith(plain, at), (text, at, piece)
        found.append((token, at, at + len(plain)))
        at += len(plain)
    assert at == len(text)
    return found


def _brute(before: list[Any], after: list[Any], point: int, length: int) -> dict[int, int]:
    """Position without → position with, by comparing every token with every other."""
    pairs = {}
    for i, (token, start, end) in enumerate(before):
        if start == end:
            wanted = [k for k, other in enumerate(after) if other[0] == token and k == i]
        else:
            shift = 0 if end <= point else length if start >= point else None
            wanted = [
                k
                for k, other in enumerate(after)
                if shift is not None and other == (token, start + shift, end + shift)
            ]
        assert len(wanted) <= 1
        pairs.update((i, k) for k in wanted)
    return pairs


def _received(attention: np.ndarray, key: int) -> np.ndarray:
    """[layer, head]: the mean of the key's column below the diagonal."""
    return np.asarray(attention[:, :, key + 1 :, key].mean(-1))


def _case(seed: int) -> tuple[LoadedModel, Prompt, int, str]:
    rng = random.Random(seed)
    tokenizer = build(TOKENIZERS[seed % len(TOKENIZERS)])
    model = _model(list(MODELS)[seed % len(MODELS)], tokenizer)
    text = " ".join(rng.choice(TEXT.split(" ")) for _ in range(rng.randint(4, 14)))
    point = rng.randrange(len(text))
    prompt = Prompt.from_text(text, {"spot": (point, len(text))}, id=f"case-{seed}")
    return model, prompt, point, rng.choice(RUNS)


@pytest.mark.parametrize("seed", range(50))
def test_aligned_profiles_are_those_of_the_eager_matrices(seed: int) -> None:
    model, prompt, point, run = _case(seed)
    study = build_insertion_study(run, at="before:spot", seed=seed)
    found = measure(model, prompt, study=study)
    inserted = found.table("conditions")["inserted_text"][0].as_py()
    text = prompt.text or ""
    longer = text[:point] + inserted + text[point:]
    assert found.table("conditions")["text"][0].as_py() == longer
    before, after = _walked(model.tokenizer, text), _walked(model.tokenizer, longer)
    pairs = _brute(before, after, point, len(inserted))
    eager = [_eager(model, [token for token, _, _ in side]) for side in (before, after)]
    rows = aligned(found.table("sequence"), found.table("places")).to_pylist()
    assert {(r["position_without"], r["position"]) for r in rows} == set(pairs.items())
    assert len(rows) == len(pairs) * eager[0].shape[0] * eager[0].shape[1]
    for row in rows:
        for side, name, place in (
            (0, "received_without", row["position_without"]),
            (1, "received_with", row["position"]),
        ):
            if place == len((before, after)[side]) - 1:
                assert row[name] is None  # no query comes after the last token
                continue
            expected = _received(eager[side], place)[row["layer"], row["head"]]
            assert row[name] == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize("place", ["start", "before:spot"])
@pytest.mark.parametrize("kind", ["llama", "gemma3"])
def test_the_first_layer_scales_all_keys_after_the_run_alike(kind: str, place: str) -> None:
    tokenizer = build("bytes")
    model = _model(kind, tokenizer)
    text = "One two three. Seven red ships sail on."
    prompt = Prompt.from_text(text, {"spot": (14, len(text))})
    found = measure(model, prompt, study=build_insertion_study(" /*9", at=place))
    longer = found.table("conditions")["text"][0].as_py()
    ids = [list(tokenizer(t)["input_ids"]) for t in (text, longer)]
    first = [_eager(model, one)[0] for one in ids]  # [head, query, key]
    pairs = [
        (row["position_without"], row["position"])
        for row in found.table("places").to_pylist()
        if row["condition"] != "without" and row["part"] == "original"
    ]
    run = [r["position"] for r in found.table("places").to_pylist() if r["part"] == "inserted"]
    later = [(i, k) for i, k in pairs if k > max(run)]
    assert len(later) > 10
    kept = {
        (r["layer"], r["head"], r["position"]): r["retained"]
        for r in found.table("retained").to_pylist()
    }
    for n, (i, k) in enumerate(later):
        keys = np.array(later[: n + 1])
        for head in range(HEADS):
            old, new = first[0][head, i, keys[:, 0]], first[1][head, k, keys[:, 1]]
            seen = old > 0  # a window hides the same keys from both
            ratio = new[seen] / old[seen]
            assert np.ptp(ratio) / ratio.mean() <= 1e-4
            if place == "start":
                assert ratio.mean() == pytest.approx(kept[0, head, k], rel=1e-4)
    heads = [r for r in found.table("rescaling").to_pylist() if r["layer"] == 0]
    assert [r["affine_r2_after"] for r in heads] == pytest.approx([1.0] * HEADS, abs=1e-6)
    if place == "start":
        for r in heads:
            assert r["affine_r2"] == pytest.approx(1.0, abs=1e-6)
            assert r["factor"] == pytest.approx(r["retained"], rel=1e-4)
