from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import mindshare
from mindshare.errors import (
    ExactnessError,
    PromptError,
    SelectionError,
    TokenError,
    UnsupportedModelError,
)
from mindshare.models import LoadedModel
from mindshare.prompts import DataSource, Prompt
from mindshare.study import build_insertion_study
from tests.attention.tiny import SMALL, eager_attentions, gpt_oss, sharpen
from tests.models import tiny

TEXT = "ab ##\n** #a b"
CLASSES = {"hash": "#", "star": "*", "space": "whitespace"}
EVERYTHING = ["mass", "received", "entropy", "distance"]


def labels(text: str) -> np.ndarray:
    """The class of each one-character token, written down by hand."""
    column = {"#": 0, "*": 1, " ": 2, "\n": 2}
    return np.array([column.get(char, 3) for char in text])


def test_every_number_equals_the_one_from_eager_attention(llama) -> None:
    found = mindshare.measure(llama, TEXT, classes=CLASSES, measures=EVERYTHING)
    ids = torch.tensor([found.tokens["token_id"].to_pylist()])
    assert ids.shape[1] == len(TEXT)
    mass = found.to_pandas().set_index(["layer", "head", "class"])
    heads = found.to_pandas("heads").set_index(["layer", "head"])
    received = found.to_pandas("received").set_index(["layer", "head", "position"])
    tokens, classes = len(TEXT), labels(TEXT)
    visible = np.tril(np.ones((tokens, tokens)))
    apart = np.arange(tokens)[:, None] - np.arange(tokens)
    for layer, attention in enumerate(eager_attentions(llama.model, ids)):
        for head, a in enumerate(attention[0].numpy()):
            by_class = [a[:, classes == c].sum(1).mean() for c in range(4)]
            for c, name in enumerate([*CLASSES, "other"]):
                row = mass.loc[(layer, head, name)]
                count = (classes == c).sum()
                uniform = (visible[:, classes == c].sum(1) / visible.sum(1)).mean()
                assert row["mass"] == pytest.approx(by_class[c], abs=1e-5)
                assert row["n_tokens"] == count
                assert row["density"] == pytest.approx(by_class[c] / count, abs=1e-5)
                assert row["expected"] == pytest.approx(uniform, abs=1e-6)
                assert row["lift"] == pytest.approx(by_class[c] / uniform, abs=1e-4)
                assert row["n_queries"] == tokens
                if name == "other":
                    assert math.isnan(row["share"])
                else:
                    assert row["share"] == pytest.approx(by_class[c] / sum(by_class[:3]), abs=1e-4)
            entropy = -(a * np.log(np.where(a > 0, a, 1))).sum(1).mean()
            row = heads.loc[(layer, head)]
            assert row["entropy"] == pytest.approx(entropy, abs=1e-4)
            assert row["perplexity"] == pytest.approx(math.exp(entropy), rel=1e-4)
            assert row["distance"] == pytest.approx((a * apart).sum(1).mean(), abs=1e-4)
            assert row["first_token"] == pytest.approx(a[:, 0].mean(), abs=1e-5)
            for key in range(tokens - 1):
                got = received.loc[(layer, head, key)]
                assert got["received"] == pytest.approx(a[key + 1 :, key].mean(), abs=1e-5)
                assert got["n_queries"] == tokens - 1 - key
            last = received.loc[(layer, head, tokens - 1)]
            assert math.isnan(last["received"])  # no query comes after it: no number
            assert last["n_queries"] == 0


def test_the_sink_rate_is_of_all_heads_whichever_are_asked_for(llama) -> None:
    rates = [
        mindshare.measure(llama, TEXT, heads=heads).prompts["sink_rate"].to_pylist()
        for heads in (None, [0], "mean")
    ]
    assert rates[0] == rates[1] == rates[2]


def test_query_sets_are_measured_in_one_pass(llama) -> None:
    prompt = mindshare.Prompt.from_text("ab <<map>>##*<</map>> why?", marked=True)
    sets = ["all", "last", "span:map", "class:hash", "after:map"]
    found = mindshare.measure(llama, prompt, classes=CLASSES, queries=sets)
    counts = found.prompts.to_pandas().set_index("queries")
    ids = torch.tensor([found.tokens["token_id"].to_pylist()])
    chosen = {
        "all": slice(None),
        "last": slice(-1, None),
        "span:map": slice(3, 6),
        "class:hash": slice(3, 5),
        "after:map": slice(6, None),
    }
    mass = found.to_pandas().set_index(["queries", "layer", "head", "class"])
    received = found.to_pandas("received").set_index(["queries", "layer", "head", "position"])
    classes = labels("ab ##* why?")
    for layer, attention in enumerate(eager_attentions(llama.model, ids)):
        for head, a in enumerate(attention[0].numpy()):
            for name, rows in chosen.items():
                right = a[rows][:, classes == 0].sum(1).mean()
                got = mass.loc[(name, layer, head, "hash")]
                assert got["mass"] == pytest.approx(right, abs=1e-5)
                assert got["n_queries"] == len(a[rows])
            later = received.loc[("after:map", layer, head, 4)]
            assert later["received"] == pytest.approx(a[6:, 4].mean(), abs=1e-5)
            assert later["n_queries"] == 5
    assert set(counts.index) == set(sets)


def test_means_over_heads_and_layers_are_means_of_masses(llama) -> None:
    whole = mindshare.measure(llama, TEXT, classes=CLASSES).to_pandas()
    by_layer = mindshare.measure(llama, TEXT, classes=CLASSES, heads="mean").to_pandas()
    overall = mindshare.measure(
        llama, TEXT, classes=CLASSES, heads="mean", layers="mean"
    ).to_pandas()
    assert by_layer["head"].isna().all()
    right = whole.groupby(["layer", "class"])["mass"].mean()
    got = by_layer.set_index(["layer", "class"])["mass"]
    assert (got - right).abs().max() < 1e-6
    assert len(overall) == 4
    assert overall["mass"].sum() == pytest.approx(1.0, abs=1e-6)
    assert (overall["lift"] - overall["mass"] / overall["expected"]).abs().max() < 1e-5


def test_heads_and_layers_can_be_chosen(llama) -> None:
    whole = mindshare.measure(llama, TEXT, classes=CLASSES).to_pandas()
    some = mindshare.measure(llama, TEXT, classes=CLASSES, layers=[1], heads=[3, 0]).to_pandas()
    assert set(zip(some["layer"], some["head"], strict=True)) == {(1, 3), (1, 0)}
    keys = ["layer", "head", "class"]
    joined = some.merge(whole, on=keys, suffixes=("", "_whole"))
    assert (joined["mass"] - joined["mass_whole"]).abs().max() < 1e-6


def test_learned_sinks_get_a_slot_of_their_own() -> None:
    model = mindshare.wrap(gpt_oss(), tiny.tokenizer())
    model.model.resize_token_embeddings(300)
    found = mindshare.measure(model, TEXT, classes=CLASSES).to_pandas()
    assert set(found["class"]) == {*CLASSES, "other", "sink_slot"}
    totals = found.groupby(["layer", "head"])["mass"].sum()
    assert (totals - 1).abs().max() < 1e-6
    slot = found[found["class"] == "sink_slot"]
    assert (slot["mass"] > 0.001).all()
    assert slot[["share", "density", "expected", "lift", "n_tokens"]].isna().all(axis=None)


def test_the_same_study_gives_the_same_bytes(llama, tmp_path) -> None:
    prompts = [TEXT, "## ** ##", "a b c d e"]
    once = mindshare.measure(llama, prompts, classes=CLASSES).save(tmp_path / "once")
    again = mindshare.measure(llama, prompts, classes=CLASSES).save(tmp_path / "again")
    for name in ("mass", "received", "heads", "tokens", "classes", "prompts"):
        first = (once / f"{name}.parquet").read_bytes()
        assert first == (again / f"{name}.parquet").read_bytes(), name
    alone = mindshare.measure(llama, prompts[1], classes=CLASSES).mass
    together = mindshare.read(once).mass.to_pandas()
    prompt = alone["prompt"][0].as_py()
    rows = together[together["prompt"] == prompt].reset_index(drop=True)
    assert rows.equals(alone.to_pandas())


def test_provenance_says_who_and_how(llama) -> None:
    found = mindshare.measure(llama, TEXT, classes=CLASSES)
    record = found.provenance
    assert record["model"]["fingerprint"].startswith("sampled:")
    assert record["study"]["classes"] == (("hash", "#"), ("star", "*"), ("space", "whitespace"))
    assert record["study_hash"].encode() == found.mass.schema.metadata[b"mindshare.study"]
    assert record["run"]["self_check"]["exact"] is True
    assert record["run"]["kernels"] == ["blockwise"]
    assert record["run"]["layers_seen"] == [0, 1]
    assert record["run"]["wall_seconds"] > 0
    assert record["versions"]["torch"] == torch.__version__
    counts = found.classes.to_pandas().set_index("class")
    assert counts.loc["hash", "n_tokens"] == 3
    assert list(counts.loc["hash", "examples"]) == ["#"]


def test_progress_counts_prompts(llama) -> None:
    seen: list[tuple[int, int]] = []
    texts = ["a", "b", "c " * 20]  # the two short ones share a pass
    mindshare.measure(llama, texts, progress=lambda done, of: seen.append((done, of)))
    assert seen == [(0, 3), (1, 3), (3, 3)]


def test_prompts_come_in_many_shapes(llama) -> None:
    prompt = mindshare.Prompt.from_text("hello", id="one")
    found = mindshare.measure(llama, [prompt, "world"])
    assert found.prompts["prompt"].to_pylist()[0] == "one"
    assert found.prompts["text"].to_pylist() == ["hello", "world"]


@pytest.mark.parametrize(
    ("prompts", "changes", "error", "words"),
    [
        ("", {}, PromptError, "empty"),
        ([], {}, PromptError, "no prompt"),
        (["a", "a"], {}, PromptError, "2 prompts"),
        ([3], {}, PromptError, "int is no prompt"),
        ("x" * 300, {}, PromptError, "300 tokens, more than the 256"),
        ("abc", {"layers": [2]}, SelectionError, "layer 2 does not exist"),
        ("abc", {"heads": [-1]}, SelectionError, "head -1 does not exist"),
        ("abc", {"queries": "span:map"}, SelectionError, "map"),
        ("abc", {"classes": {"x": "#"}, "queries": "class:x"}, SelectionError, "x"),
    ],
)
def test_bad_input_is_refused(llama, prompts, changes, error, words) -> None:
    with pytest.raises(error, match=words):
        mindshare.measure(llama, prompts, **changes)


def test_a_model_without_a_tokenizer_is_refused(llama) -> None:
    bare = dataclasses.replace(llama, tokenizer=None)
    with pytest.raises(TokenError, match="no tokenizer"):
        mindshare.measure(bare, "abc")


def test_nan_in_the_weights_is_refused() -> None:
    broken = tiny.llama()
    broken.model.layers[0].self_attn.q_proj.weight.data.fill_(float("nan"))
    with pytest.raises(ExactnessError, match="not a number"):
        mindshare.measure(mindshare.wrap(broken, tiny.tokenizer()), "abc")


def rows_file(folder: Path, count: int) -> Path:
    path = folder / "rows.jsonl"
    rows = ({"prompt": f"{n}: ## **" + " x" * (n % 7), "id": f"p{n}"} for n in range(count))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_data_source_streams_and_gives_what_a_list_gives(
    llama: LoadedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mindshare.study.measurer.WINDOW", 4)
    monkeypatch.setattr("mindshare.study.measurement._PROMPTS", 3)
    path = rows_file(tmp_path, 11)
    source = DataSource(str(path))
    definition = {"classes": {"hash": "#"}, "measures": ["mass", "received", "entropy"]}
    held = mindshare.measure(llama, list(source.open()), **definition)
    streamed = mindshare.measure(llama, source, **definition)
    kept = mindshare.measure(llama, source, **definition, into=tmp_path / "run")
    for name in held.tables:
        assert streamed.table(name).equals(held.table(name)), name
        assert kept.table(name).equals(held.table(name)), name


def test_rows_that_give_no_prompt_are_left_out_and_named(
    llama: LoadedModel, tmp_path: Path
) -> None:
    path = rows_file(tmp_path, 3)
    path.write_text(path.read_text() + '{"prompt": 7}\n')
    source = DataSource(str(path), bad_rows="skip")
    found = mindshare.measure(llama, source, classes={"hash": "#"}, into=tmp_path / "run")
    assert found.prompts.num_rows == 3
    ((place, _),) = found.provenance["left_out"].items()
    assert "line 4" in place


def test_a_chart_of_a_dataset_tokenises_a_prompt_once(
    llama: LoadedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mindshare.study.encoding as module

    seen: list[str] = []
    encode = module.encode

    def counting(prompt: Prompt, *others: Any, **more: Any) -> Any:
        seen.append(prompt.id)
        return encode(prompt, *others, **more)

    monkeypatch.setattr(module, "encode", counting)
    source = DataSource(str(rows_file(tmp_path, 9)))
    chart = mindshare.shares(llama, source, classes={"hash": "#"}, into=tmp_path / "run")
    assert sorted(seen) == sorted(f"p{n}" for n in range(9))
    plain = mindshare.shares(llama, list(source.open()), classes={"hash": "#"})
    for name, table in plain.tables.items():
        assert chart.tables[name].equals(table), name


def test_the_same_text_twice_is_computed_once_in_a_window(llama: LoadedModel) -> None:
    asked: list[int] = []
    twice = [Prompt.from_text("## x", id=name) for name in ("a", "b")]
    found = mindshare.measure(
        llama, twice, classes={"hash": "#"}, progress=lambda done, _: asked.append(done)
    )
    assert asked == [1, 2]
    assert found.prompts["prompt"].to_pylist() == ["a", "b"]


@pytest.fixture(scope="module")
def uneven() -> LoadedModel:
    """Layers of 4, 2 and 4 heads."""
    from transformers import AutoConfig, AutoModelForCausalLM

    settings = {
        **SMALL,
        "vocab_size": tiny.VOCABULARY_SIZE,
        "num_attention_heads_per_layer": [4, 2, 4],
        "layer_types": ["full_attention"] * 3,
        "mlp_layer_types": ["dense"] * 3,
    }
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model("laguna", **settings))
    return mindshare.wrap(sharpen(model), tiny.tokenizer(), name="uneven")


def test_layers_of_different_numbers_of_heads_are_refused_together(uneven: LoadedModel) -> None:
    study = build_insertion_study("/ *3")
    for ask in (
        lambda: mindshare.measure(uneven, TEXT, classes=CLASSES),
        lambda: mindshare.measure(uneven, TEXT, classes=CLASSES, layers=[1, 2], heads="mean"),
        lambda: mindshare.measure(uneven, TEXT, study=study),
        lambda: mindshare.attention_window(uneven, TEXT),
    ):
        with pytest.raises(UnsupportedModelError, match="different numbers of heads"):
            ask()
    with pytest.raises(SelectionError, match="head 3 does not exist"):
        mindshare.measure(uneven, TEXT, classes=CLASSES, layers=[1], heads=[3])


def test_layers_of_as_many_heads_are_measured(uneven: LoadedModel) -> None:
    for layers, heads in (([0, 2], 4), ([1], 2)):
        found = mindshare.measure(uneven, TEXT, classes=CLASSES, layers=layers)
        assert found.mass["head"].unique().to_pylist() == list(range(heads))
    prompt = Prompt.from_text(TEXT, answer=" b")
    chart = mindshare.knockout(uneven, prompt, classes={"hash": "#"}, heads="each")
    assert chart.tables["summary"]["head"].to_pylist() == [*range(4), *range(2), *range(4)]
