"""The door `insertion` on tiny models: what is drawn is what was measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from mindshare.charts import Chart, insertion
from mindshare.errors import PromptError, SelectionError
from mindshare.models import LoadedModel, wrap
from mindshare.prompts import Prompt
from mindshare.study import build_insertion_study, measure_insertion

from ..models import tiny
from .insertions import PROMPTS, QUICK, RUNS, figure, heads_drawn, means, names, two_models

OWN = ("conditions", "places", "sequence", "retained", "rescaling", "response", "phases")
RUN = "/ ×3"


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
    alone = measure_insertion(base, PROMPTS[0], study)
    rows = [row for row in two.tables["sequence_A"].to_pylist() if row["prompt"] == "one"]
    assert rows == alone.table("sequence").to_pylist()


def test_heads_by_name_and_heads_that_change_most(two: Chart) -> None:
    assert heads_drawn(two, "profiles_A") == [(0, 1), (1, 2)]
    changes = means(two, "B", RUNS[0], "divergence")
    most = sorted(changes, key=lambda head: -changes[head])[:3]
    assert set(heads_drawn(two, "profiles_top_B")) == set(most)
    (said,) = [sentence for sentence in two.findings if "change most" in sentence]
    assert said.endswith(f"0-based): B: {', '.join(f'{layer}.{head}' for layer, head in most)}.")


def test_tokens_that_merge_are_in_the_notes(two: Chart) -> None:
    assert not any(note.startswith("A, ") for note in two.notes)
    assert any(
        note.startswith("B, '# ×8': ") and "original tokens have no partner" in note
        for note in two.notes
    )


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
    ends = ("png", "svg", "pdf", "html", "csv", "parquet", "json")
    assert {f"{name}.{end}" for name in names(chart) for end in ends} < files
    for name, content in chart.tables.items():
        assert pq.read_table(place / f"{name}.parquet").equals(content), name
    assert all((place / name).stat().st_size > 0 for name in files)
    manifest = json.loads((place / "manifest.json").read_text())
    assert manifest["notes"] == list(chart.notes)
    assert manifest["findings"] == list(chart.findings)
    assert len(chart.findings) == 4
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
    with pytest.raises((SelectionError, PromptError), match=message):
        insertion(bare, prompts, **{"insert": "/ *3", **parts}, **QUICK)
