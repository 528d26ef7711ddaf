"""Tables of an insertion against eager matrices, and what must not change them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mindshare.errors import SelectionError
from mindshare.models import LoadedModel, wrap
from mindshare.prompts import Prompt
from mindshare.stats import same_readers
from mindshare.study import build_insertion_study, measure
from mindshare.tables import SCHEMAS
from tests.attention.tiny import gpt_oss
from tests.models import tiny
from tests.study.insertions import (
    HEADS,
    LAYERS,
    NUMBERS,
    POINT,
    PROMPT,
    RUN,
    TEXT,
    cells,
    eager,
    measured,
)

TABLES = ("conditions", "places", "sequence", "retained", "rescaling")
BOTH = ("both", "all", "original")
RESCALED = tuple(("rescaling", name) for name in NUMBERS)


def test_every_table_has_its_columns_and_its_origin(llama: LoadedModel) -> None:
    study = build_insertion_study("/ *3", against="random-sentence")
    found = measure(llama, PROMPT, study=study)
    assert tuple(found.tables) == TABLES
    for name in TABLES:
        one = found.table(name)
        assert set(SCHEMAS[name]) <= set(one.schema), name
        more = [n for n in one.column_names if n not in SCHEMAS[name].names]
        assert more == ["received_original", "n_queries_original"] * (name == "sequence")
        assert one.schema.metadata[b"mindshare.study"] == study.hash.encode()
        assert set(one["prompt"].to_pylist()) == {"p"}
    order = ["without", "/ ×3", "random sentence"]
    assert list(dict.fromkeys(found.table("sequence")["condition"].to_pylist())) == order
    assert list(dict.fromkeys(found.table("places")["condition"].to_pylist())) == order
    assert found.table("conditions")["condition"].to_pylist() == order[1:]
    assert found.table("sequence").num_rows == LAYERS * HEADS * (16 + 22 + 22)
    assert found.table("retained").num_rows == LAYERS * HEADS * 2 * 9
    assert found.table("rescaling").num_rows == LAYERS * HEADS * 2


def test_too_little_memory_means_smaller_batches(
    llama: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mindshare.attention.forward as module

    texts = [TEXT.replace("A", letter) for letter in "ABCDEFGH"]
    some = [Prompt.from_text(text, id=text) for text in texts]
    whole = measured(llama, prompts=some)
    run_pass, sizes = module.run_pass, []

    def small(model: Any, batch: Any, *others: Any, **more: Any) -> Any:
        sizes.append(len(batch.ids))
        if len(batch.ids) > 2:
            raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory")
        return run_pass(model, batch, *others, **more)

    monkeypatch.setattr(module, "run_pass", small)
    found = measured(llama, prompts=some)
    assert max(sizes) > 2
    assert all(found.table(name).equals(whole.table(name)) for name in TABLES)


def _sinking() -> LoadedModel:
    model = wrap(gpt_oss(), tiny.tokenizer(), name="sinking")
    model.model.resize_token_embeddings(300)
    return model


@pytest.mark.parametrize("kind", ["llama", "sinks and windows"])
def test_retained_is_what_the_run_does_not_get(llama: LoadedModel, kind: str) -> None:
    model = llama if kind == "llama" else _sinking()
    found = measured(model)
    later = range(POINT + RUN, 22)
    kept = cells(found, "retained", "retained")
    by_head = cells(found, "rescaling", "retained")
    for layer, a in enumerate(eager(model, "Ab cd. / / / Ef gh ij?")):
        for head in range(HEADS):
            right = [1 - a[head, i, POINT : POINT + RUN].sum() for i in later]
            assert [kept[layer, head, i] for i in later] == pytest.approx(right, abs=2e-6)
            assert by_head[layer, head, 0] == pytest.approx(np.mean(right), abs=2e-6)
    assert set(found.table("rescaling")["n_queries"].to_pylist()) == {len(later)}
    partners = cells(found, "retained", "position_without")
    assert {key[2] - partner for key, partner in partners.items()} == {RUN}


@pytest.mark.parametrize("near", [-1, 0, 2])
@pytest.mark.parametrize("queries", ["all", "original"])
def test_received_is_a_mean_over_the_queries_asked(
    llama: LoadedModel, queries: str, near: int
) -> None:
    found = measured(llama, queries=queries, near=near)
    run = range(POINT, POINT + RUN)
    for condition, text in (("without", TEXT), ("/ ×3", "Ab cd. / / / Ef gh ij?")):
        received = cells(found, "sequence", "received", condition=condition)
        counts = cells(found, "sequence", "n_queries", condition=condition)
        left_out = run if queries == "original" and condition != "without" else ()
        for layer, a in enumerate(eager(llama, text)):
            for key in range(len(text)):
                asked = [i for i in range(len(text)) if i > key + near and i not in left_out]
                for head in range(HEADS):
                    assert counts[layer, head, key] == len(asked)
                    number = received[layer, head, key]
                    if asked:
                        assert number == pytest.approx(a[head, asked, key].mean(), abs=2e-6)
                    else:
                        assert number is None


def test_both_query_sets_are_what_each_is_alone(llama: LoadedModel) -> None:
    both, every, original = (measured(llama, queries=n).table("sequence") for n in BOTH)
    same = same_readers(both)
    for one, alone in ((both, every), (same, original)):
        keys = [name for name in alone.column_names if name != "received"]
        assert one.select(keys).equals(alone.select(keys))
        found, wanted = (x["received"].to_numpy(zero_copy_only=False) for x in (one, alone))
        assert found == pytest.approx(wanted, abs=1e-7, nan_ok=True)
    assert same_readers(original) is original
    assert same.schema.metadata[b"mindshare.queries"] == b"original"


def test_original_queries_are_those_not_inserted(llama: LoadedModel) -> None:
    prompt = Prompt.from_text("a the", {"x": (2, 5)})  # a, ␣t, he → a, ␣, /, t, he
    found = measured(llama, "/", prompt, at="before:x", queries="original")
    parts = [r["part"] for r in found.table("places").to_pylist() if r["condition"] == "/"]
    assert parts == ["original", "unmatched", "inserted", "unmatched", "original"]
    counts = cells(found, "sequence", "n_queries", condition="/", layer=0, head=0)
    assert list(counts.values()) == [3, 2, 2, 1, 0]


def test_conditions_do_not_depend_on_their_neighbours(llama: LoadedModel) -> None:
    together = measured(llama, ["/ *3", "#"], at=["between", "start"])
    alone = measured(llama, "#", at="start")
    assert together.table("conditions").num_rows == 4
    for name in ("sequence", "retained", "rescaling"):
        there = {"condition": "# at start"}
        rows = [r for r in together.table(name).to_pylist() if r["condition"] == "# at start"]
        right = [r | there for r in alone.table(name).to_pylist() if r["condition"] == "#"]
        assert len(rows) > 0
        assert rows == right, name


def test_only_the_layers_asked_for(llama: LoadedModel) -> None:
    whole, some = measured(llama), measured(llama, layers=(1,))
    for name, value in (("sequence", "n_queries"), ("retained", "retained"), *RESCALED):
        right = cells(whole, name, value, layer=1)
        assert len(right) > 0
        assert cells(some, name, value) == pytest.approx(right, abs=1e-6)
    with pytest.raises(SelectionError, match="layer 2 does not exist"):
        measured(llama, layers=(1, 2))


def test_the_same_study_gives_the_same_bytes(llama: LoadedModel, tmp_path: Path) -> None:
    prompts = [PROMPT, Prompt.from_text("one two", id="a"), Prompt.from_text("x y z", id="b")]
    parts = {"against": "random-sentence", "at": "random", "seed": 3}
    for name in ("once", "again"):
        measured(llama, "/ *4", prompts, **parts).save(tmp_path / name)
    for name in TABLES:
        once, again = (tmp_path / n / f"{name}.parquet" for n in ("once", "again"))
        assert once.read_bytes() == again.read_bytes(), name


@pytest.mark.parametrize("kind", ["llama", "sinks and windows"])
@pytest.mark.parametrize("queries", ["all", "original"])
@pytest.mark.parametrize("against", [None, "random-sentence"])  # a version is alone, or it is not
def test_company_changes_no_number(
    llama: LoadedModel, kind: str, queries: str, against: str | None
) -> None:
    model = llama if kind == "llama" else _sinking()
    texts = {"a": "one two", "b": "x y z", "c": "six seven eight nine", "d": "of one length"}
    prompts = [PROMPT, *(Prompt.from_text(text, id=name) for name, text in texts.items())]
    parts = {"against": against, "queries": queries}
    together = measured(model, "/ *4", prompts, **parts)
    for prompt in prompts:
        alone = measured(model, "/ *4", prompt, **parts)
        for name in TABLES:
            rows = [r for r in together.table(name).to_pylist() if r["prompt"] == prompt.id]
            assert _comparable(rows) == _comparable(alone.table(name).to_pylist()), name


def _comparable(rows: list[dict[str, object]]) -> list[str]:
    """NaN is like itself here."""
    return [repr(row) for row in rows]


def test_versions_share_passes(llama: LoadedModel) -> None:
    seen: list[int] = []
    study = build_insertion_study("/ *4")
    prompts = [Prompt.from_text(f"one tw{n}", id=str(n)) for n in range(5)]
    measure(llama, prompts, study=study, progress=lambda done, _all: seen.append(done))
    assert seen == [0, 5, 10]  # five without the run in one pass, five with it in another


def test_kernels_agree(llama: LoadedModel) -> None:
    usual, exact = measured(llama), measured(llama, kernel="reference")
    assert exact.provenance["run"]["kernels"] == ["reference"]
    for name, value in (("sequence", "received"), ("retained", "retained")):
        mine, right = usual.table(name)[value].to_pylist(), exact.table(name)[value].to_pylist()
        assert mine == pytest.approx(right, abs=2e-6)


def test_how_it_was_made(llama: LoadedModel) -> None:
    study = build_insertion_study("/ *3", against="random-sentence")
    prompts = [PROMPT, Prompt.from_text("one two", id="a")]
    seen: list[tuple[int, int]] = []
    found = measure(llama, prompts, study=study, progress=lambda *done: seen.append(done))
    assert seen[-1] == (6, 6)  # three versions a prompt
    assert seen == sorted(seen)
    assert found.provenance["study_hash"] == study.hash
    assert found.provenance["study"]["insertions"][0]["name"] == "/ ×3"
    assert found.provenance["run"]["self_check"]["exact"] is True
    (note,) = found.provenance["run"]["notes"]
    assert "the place 'between' is the very start" in note
