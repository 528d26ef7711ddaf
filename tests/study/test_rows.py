"""The rows of an insertion: what was inserted, which tokens are whose, where there is no number."""

from __future__ import annotations

from mindshare.models import LoadedModel
from mindshare.prompts import Prompt
from mindshare.study import Measurement

from .insertions import HEADS, LAYERS, NUMBERS, TEXT, cells, measured


def test_what_was_inserted_and_where_it_stands(llama: LoadedModel) -> None:
    found = measured(llama)
    (row,) = found.table("conditions").to_pylist()
    assert row == {
        "prompt": "p",
        "condition": "/ ×3",
        "insertion": "/ / / ",
        "place": "between",
        "inserted_text": "/ / / ",
        "n_inserted": 6,
        "n_seam": 0,
        "n_matched": 16,
        "n_unmatched": 0,
        "n_prompt_tokens": 22,
        "text": "Ab cd. / / / Ef gh ij?",
    }
    places = [r for r in found.table("places").to_pylist() if r["condition"] == "/ ×3"]
    assert "".join(r["token"] for r in places) == row["text"]
    assert [r["part"] for r in places] == [*["original"] * 7, *["inserted"] * 6, *["original"] * 9]
    partners = [*range(7), *[None] * 6, *range(7, 16)]
    assert [r["position_without"] for r in places] == partners
    for r in places:
        assert row["text"][r["start"] : r["stop"]] == r["token"]


def test_a_seam_is_neither_original_nor_inserted(llama: LoadedModel) -> None:
    prompt = Prompt.from_text("a hehe", {"x": (2, 6)})  # a, ␣, he, he → a, ␣t, he, he
    found = measured(llama, "t", prompt, at="before:x")
    (row,) = found.table("conditions").to_pylist()
    counts = [row[f"n_{name}"] for name in ("inserted", "seam", "matched", "unmatched")]
    assert counts == [0, 1, 3, 1]
    kept = cells(found, "retained", "retained")
    assert {place for *_, place in kept} == {2, 3}  # queries after the seam
    assert set(kept.values()) == {1.0}


def test_nothing_inserted_changes_nothing(llama: LoadedModel) -> None:
    found = measured(llama, "/ *0")
    for value in ("received", "n_queries"):
        without, nothing = (
            cells(found, "sequence", value, condition=name) for name in ("without", "/ ×0")
        )
        assert without == nothing
    assert found.table("conditions")["n_inserted"].to_pylist() == [0]
    assert found.table("conditions")["n_matched"].to_pylist() == [len(TEXT)]
    _check_nothing_after(found)


def test_nothing_stands_after_an_insertion_at_the_end(llama: LoadedModel) -> None:
    found = measured(llama, at="end")
    assert found.table("conditions")["n_inserted"].to_pylist() == [6]
    even = found.table("rescaling")["value_evenness"].to_pylist()
    assert all(0 < number <= 1 for number in even)
    _check_nothing_after(found, but=("value_evenness",))


def _check_nothing_after(found: Measurement, but: tuple[str, ...] = ()) -> None:
    assert found.table("retained").num_rows == 0
    rescaling = found.table("rescaling")
    assert rescaling["n_queries"].to_pylist() == [0] * (LAYERS * HEADS)
    for name in NUMBERS:
        if name not in but:
            assert rescaling[name].to_pylist() == [None] * (LAYERS * HEADS), name
