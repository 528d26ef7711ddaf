"""`insertion` on tiny models: what is drawn is what was measured; heads as people write them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file

from mindshare.api.charts import Chart
from mindshare.api.insertion import MAPS, insertion
from mindshare.errors import ModelFileError, PromptError, SelectionError
from mindshare.figures import FORMATS
from mindshare.models import LoadedModel, load, wrap
from mindshare.prompts import Prompt
from mindshare.study import build_insertion_study, measure

from ..models import tiny
from .insertions import PROMPTS, QUICK, RUNS, figure, heads_drawn, means, names, two_models

OWN = ("conditions", "places", "sequence", "retained", "rescaling", "response", "phases")
RUN = "/ ×3"
NAMED = r"\bL(\d+)H(\d+)"  # a head in a sentence


@pytest.fixture(scope="module")
def two(folders: dict[str, Path]) -> Chart:
    return two_models(folders)


def test_tables_of_each_model_and_of_both(two: Chart) -> None:
    assert set(two.tables) == {
        "summary",
        "by_layer",
        "overall",
        *(f"{name}_{label}" for name in OWN for label in "AB"),
    }
    assert set(two.tables["summary"]["model"].to_pylist()) == {"A", "B"}
    assert repr(two).endswith("models: A, B)")


def test_each_model_reads_with_its_own_tokenizer(two: Chart, base: LoadedModel) -> None:
    first, second = (two.tables[f"conditions_{label}"].to_pylist() for label in "AB")
    assert [row["n_inserted"] for row in first[:3:2]] == [8, 12]
    assert [row["condition"] for row in first] == [row["condition"] for row in second]
    assert first[2]["n_inserted"] > second[2]["n_inserted"]  # ## is one token there
    study = build_insertion_study("#*8,12", against="random-sentence", at="before:map")
    alone = measure(base, PROMPTS[0], study=study)
    rows = [row for row in two.tables["sequence_A"].to_pylist() if row["prompt"] == "one"]
    assert rows == alone.table("sequence").to_pylist()


def test_heads_by_name_and_heads_that_change_most(two: Chart) -> None:
    assert heads_drawn(two, "profiles_A") == [(0, 1), (1, 2)]
    changes = means(two, "B", RUNS[0], "divergence")
    most = sorted(changes, key=lambda head: -changes[head])[:3]
    assert set(heads_drawn(two, "profiles_top_B")) == set(most)
    (said,) = [one for one in two.findings if len(re.findall(NAMED, one)) == 3]
    assert said.startswith("B: ")
    assert re.findall(NAMED, said) == [(str(layer), str(head)) for layer, head in most]


def test_sentences_count_as_the_pictures_do(base: LoadedModel) -> None:
    heads: list[list[int]] = []
    layers: list[int] = []
    for labels in ("zero-based", "one-based"):
        chart = insertion(base, PROMPTS, insert="/ *3", labels=labels, **QUICK)
        (most,) = [said for said in chart.findings if re.search(NAMED, said)]
        heads.append([int(n) for pair in re.findall(NAMED, most) for n in pair])
        (factor,) = [said for said in chart.findings if "R²" in said]
        layers.append(int(factor.split(" in layer ")[1].split(":")[0].rstrip(".")))
    assert heads[1] == [n + 1 for n in heads[0]]
    assert layers[1] == layers[0] + 1


def test_tokens_that_merge_are_in_the_notes(two: Chart) -> None:
    """Once for all versions, with the numbers of each."""
    (note,) = [note for note in two.notes if "original tokens are tokenized differently" in note]
    assert {number.cell.table for number in note.numbers} == {"conditions_B"}
    lost = sum(two.tables["conditions_B"]["n_unmatched"].to_pylist())
    assert sum(number.value for number in note.numbers) == lost
    assert f": {lost} of " in note


def test_some_maps_on_request(folders: dict[str, Path], prompts: list[Prompt]) -> None:
    few = insertion(folders["base"], prompts, insert="/ *3", maps=("shape",), **QUICK)
    assert [name for name in names(few) if name.startswith("map_")] == ["map_shape"]
    with pytest.raises(SelectionError, match="no map of 'amplitud'; did you mean 'amplitude'"):
        insertion(folders["base"], prompts, insert="/ *3", maps=("amplitud",), **QUICK)


def test_more_or_other_heads_on_request(folders: dict[str, Path], prompts: list[Prompt]) -> None:
    both = insertion(folders["base"], prompts, insert="/ *3", heads="1.3", top=2, **QUICK)
    assert names(both)[:3] == ["profiles", "profiles_top", "map_amplitude"]
    assert heads_drawn(both, "profiles") == [(1, 3)]
    assert len(heads_drawn(both, "profiles_top")) == 2
    by = insertion(folders["base"], prompts, insert="/ *3", top=1, by="retained", **QUICK)
    kept = means(by, "base", RUN, "retained")
    assert heads_drawn(by, "profiles_top") == [min(kept, key=lambda head: kept[head])]
    named = insertion(folders["base"], prompts, insert="/ *3", heads=[(0, 0)], **QUICK)
    assert not any("told apart" in note or "draws the first" in note for note in named.notes)


def test_the_first_token_counts_on_request(folders: dict[str, Path], prompts: list[Prompt]) -> None:
    found = [
        insertion(folders["base"], prompts, insert="/ *3", heads="0.0", count_first=first, **QUICK)
        for first in (False, True)
    ]
    dropped = [one.tables["response"].schema.metadata[b"mindshare.drop_first"] for one in found]
    assert dropped == [b"true", b"false"]
    without, counted = (one.tables["response"]["amplitude"].to_pylist() for one in found)
    assert without != counted


def test_the_prompt_to_show(folders: dict[str, Path], prompts: list[Prompt]) -> None:
    chart = insertion(folders["base"], prompts, insert="/ *3", heads="0.0", show="two", **QUICK)
    assert set(figure(chart, "profiles").table["prompt"].to_pylist()) == {"two"}
    assert set(figure(chart, "text").table["prompt"].to_pylist()) == {"two"}


def test_a_chat_whose_template_takes_no_system_message() -> None:
    tokenizer = tiny.tokenizer()
    tokenizer.chat_template = (
        "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}"
        "{% for m in messages %}[{{ m['content'] }}]{% endfor %}"
    )
    model = wrap(tiny.llama(max_position_embeddings=256), tokenizer, name="tiny")
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why is it?"}]
    chart = insertion(model, chat, insert="/ *3", heads="0.0", **QUICK)
    assert "tiny's chat template takes no system message" in chart.notes[0]
    assert chart.tables["conditions"]["text"][0].as_py() == "[Be brief.\n\n/ / / Why is it?]"


def test_everything_is_written_together(
    folders: dict[str, Path], prompts: list[Prompt], tmp_path: Path
) -> None:
    chart = insertion(folders["base"], prompts, insert="/ *3", layers=[1], top=1, **QUICK)
    place = chart.save(tmp_path / "chart")
    files = {file.name for file in place.iterdir()}
    assert {f"{name}.{end}" for name in names(chart) for end in FORMATS} < files
    assert not any(name.endswith(".html") for name in files)  # only if asked for
    for name, content in chart.tables.items():
        assert pq.read_table(place / f"{name}.parquet").equals(content), name
    assert all((place / name).stat().st_size > 0 for name in files)
    manifest = json.loads((place / "manifest.json").read_text())
    assert manifest["notes"] == list(chart.notes)
    assert manifest["findings"] == list(chart.findings)
    assert len(chart.findings) == 5
    assert manifest["models"]["base"]["study"]["insertions"][0]["name"] == RUN


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"by": "divergense"}, "can't be ranked by 'divergense'; did you mean 'divergence'"),
        ({"show": "three"}, "there is no prompt 'three' to show"),
        ({"palette": "pastel"}, "unknown palette 'pastel'"),
        ({"labels": "two-based"}, "two-based"),
        ({"queries": "last"}, "unknown query set 'last'"),
        ({"insert": "/ *-1"}, "does not say how often"),
        ({"at": "nowhere"}, "'nowhere' is no place"),
        ({"heads": {"bas": "0.0"}}, "'bas', which is none of the models"),
        ({"colour": "red"}, "colour"),
        ({"top": 0}, "top"),
        ({"layers": []}, "layer"),
    ],
)
def test_wrong_words_are_refused_before_any_work(
    parts: dict[str, Any], message: str, prompts: list[Prompt]
) -> None:
    with pytest.raises(SelectionError, match=message):
        insertion({"base": "no-such-model"}, prompts, **parts)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"heads": "2.0"}, "head 2.0 does not exist"),
        ({"layers": [2]}, "layer 2 does not exist"),
        ({"layers": [1], "heads": "0.0"}, "0.0"),
        ({"insert": "/ *40"}, "prompt one has 98 tokens, more than the 64 that base can hold"),
        ({"at": "before:mop"}, "no span 'mop'; did you mean 'map'"),
    ],
)
def test_what_the_model_cannot_do_is_refused_before_its_weights_are_read(
    folders: dict[str, Path],
    tmp_path: Path,
    prompts: list[Prompt],
    parts: dict[str, Any],
    message: str,
) -> None:
    bare = tmp_path / "base"
    bare.mkdir()
    for file in folders["base"].iterdir():
        if file.suffix == ".json":  # the config and the tokenizer
            (bare / file.name).write_bytes(file.read_bytes())
    # A whole file, as its head tells; whoever reads it finds no weight of the model in it.
    save_file({"nothing": np.zeros(1, np.float32)}, bare / "model.safetensors")
    with pytest.raises(ModelFileError, match="config and weights do not fit"):
        load(bare, progress=False)
    with pytest.raises((SelectionError, PromptError), match=message):
        insertion(bare, prompts, **{"insert": "/ *3", **parts}, **QUICK)


# Figures.


def test_figures_of_each_model_and_of_both(two: Chart) -> None:
    maps = {label: [f"map_{measure}_{label}" for measure in MAPS] for label in "AB"}
    assert names(two) == [
        "profiles_A",
        "profiles_top_B",
        "panel",
        *maps["A"],
        "text_A",
        *maps["B"],
        "text_B",
        "retained_by_layer",
        "sweep",
    ]


def test_one_model_and_one_run_need_neither_names_nor_a_sweep(
    folders: dict[str, Path], prompts: list[Prompt]
) -> None:
    chart = insertion(folders["base"], prompts, insert="/ *3", **QUICK)
    assert names(chart) == ["profiles_top", f"map_{MAPS[0]}", "text", "retained_by_layer"]


def test_a_map_draws_the_summary(two: Chart) -> None:
    for label in "AB":
        told = means(two, label, RUNS[0], "amplitude")
        drawn = figure(two, f"map_amplitude_{label}").table.to_pylist()
        assert {(row["layer"], row["head"]): row["mean"] for row in drawn} == told
        assert len(told) == 2 * 4
    layers = [len(figure(two, f"map_{measure}_A").spec["layer"]) for measure in MAPS]
    assert layers == [2, 1, 1, 1, 1, 1]  # labels stand on the first map only


def test_profiles_draw_what_was_received(two: Chart) -> None:
    key = ("condition", "layer", "head", "position")
    measured = {
        tuple(row[name] for name in key): row["received"]
        for row in two.tables["sequence_A"].to_pylist()
        if row["prompt"] == "one"
    }
    rows = figure(two, "profiles_A").table.to_pylist()
    assert {row["condition"] for row in rows} == {"without", RUNS[0]}
    assert len(rows) == 2 * (18 + 26)  # heads, tokens
    for row in rows:
        assert row["received"] == measured[tuple(row[name] for name in key)]


def test_the_panel_shows_the_first_head_of_each_model(two: Chart) -> None:
    rows = figure(two, "panel").table.to_pylist()
    drawn = {row["model"]: (row["layer"], row["head"]) for row in rows}
    assert drawn == {"A": (0, 1), "B": heads_drawn(two, "profiles_top_B")[0]}
    conditions = {row["condition"] for row in rows}
    assert conditions == {RUNS[0], f"random sentence for {RUNS[0]}"}


def test_a_sweep_goes_by_each_models_own_tokens(two: Chart) -> None:
    for label in "AB":
        conditions = two.tables[f"conditions_{label}"].to_pylist()
        counts = {
            name: [row["n_inserted"] for row in conditions if row["condition"] == name]
            for name in RUNS
        }
        drawn = {
            row["condition"]: row["n_inserted"]
            for row in figure(two, "sweep").table.to_pylist()
            if row["model"] == label and row["condition"] in counts
        }
        assert drawn == {name: sum(each) / len(each) for name, each in counts.items()}, label


def test_figures_say_how_and_of_whom(folders: dict[str, Path], prompts: list[Prompt]) -> None:
    asked: dict[str, Any] = {
        "queries": "original",
        "near": 2,
        "labels": "one-based",
        "palette": "safe",
    }
    chart = insertion(folders["base"], prompts, insert="/ *3", heads="0.1", **asked, **QUICK)
    fingerprint = chart.measurements["base"].provenance["model"]["fingerprint"]
    for one in chart.figures:
        assert one.title
        assert one.description
        assert fingerprint in one.definition, one.name
    profiles = figure(chart, "profiles")
    assert "the original tokens, i > j + 2" in profiles.definition
    assert "Layer\xa01, head\xa02" in profiles.description


def test_heads_are_compared_by_the_same_readers(
    folders: dict[str, Path], prompts: list[Prompt]
) -> None:
    """By default the numbers are those of `original`, the source's charts those of `all`."""
    inserted: dict[str, Any] = {"insert": "/ *3", "at": "before:map", **QUICK}
    charts = {
        words: insertion(folders["base"], prompts, queries=words, **inserted)
        for words in ("both", "all", "original")
    }
    response, drawn = (
        {words: content(chart) for words, chart in charts.items()}
        for content in (lambda c: c.tables["response"], lambda c: figure(c, "profiles_top").table)
    )
    numbers = {words: found["amplitude"].to_numpy() for words, found in response.items()}
    assert numbers["both"] == pytest.approx(numbers["original"], rel=1e-5)
    assert numbers["both"] != pytest.approx(numbers["all"], rel=1e-2)
    heads = {words: set(zip(t["layer"], t["head"], strict=True)) for words, t in drawn.items()}
    assert heads["both"] == heads["original"]  # those that change most by the same numbers
    asked = {"heads": "0.1", "maps": ["shape"], **inserted}
    both, every = (
        insertion(folders["base"], prompts, queries=words, **asked) for words in ("both", "all")
    )
    lines = [figure(one, "profiles").table["received"].to_numpy() for one in (both, every)]
    assert lines[0] == pytest.approx(lines[1], abs=1e-6, nan_ok=True)
    said = {name: figure(both, name).definition for name in ("profiles", "map_shape", "text")}
    assert "Query set Q: every token" in said["profiles"]
    assert all("Query set Q: the original tokens" in said[n] for n in ("map_shape", "text"))


def test_drop_first_leaves_the_first_token_out_of_the_picture(
    folders: dict[str, Path], prompts: list[Prompt]
) -> None:
    found = []
    for drop in (False, True):
        chart = insertion(
            folders["base"],
            prompts,
            insert="/ *3",
            at="end",
            heads="0.1",
            drop_first=drop,
            **QUICK,
        )
        rows = figure(chart, "profiles").table.to_pylist()
        found.append({(row["condition"], row["position"]) for row in rows})
    first = {("without", 0), ("/ ×3", 0)}
    assert first < found[0]
    assert found[1] == found[0] - first
