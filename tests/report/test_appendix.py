"""What is folded away: definitions from the registry, tokens from the tables, origin, commands."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pytest

from mindshare.facts.words import ASKED
from mindshare.figures import redraw
from mindshare.figures.colours import PALETTES
from mindshare.measures import MEASURES
from mindshare.report import appendix
from mindshare.report.appendix import (
    again,
    measures_of,
    methods,
    origin,
    prompts_shown,
    shipped_card,
    visible,
)
from mindshare.report.blocks import (
    Attached,
    Block,
    Bullets,
    Code,
    ColouredText,
    Details,
    Pairs,
    Paragraph,
    Term,
)
from mindshare.report.saved import SavedResults, read_saved
from mindshare.stats import LABELS

from .conftest import NASTY, PROMPTS


def words(parts: list[Block]) -> str:
    found = [part.text for part in parts if isinstance(part, Paragraph)]
    found += [part.words for part in parts if isinstance(part, Term)]
    found += [item for part in parts if isinstance(part, Bullets) for item in part.items]
    return "\n".join(found)


def texts(parts: list[Block]) -> list[ColouredText]:
    return [part for part in parts if isinstance(part, ColouredText)]


def pairs(parts: list[Block]) -> dict[str, str]:
    return dict(pair for part in parts if isinstance(part, Pairs) for pair in part.items)


def attached(parts: list[Block]) -> dict[str, str]:
    return {part.name: part.text for part in parts if isinstance(part, Attached)}


def with_intervals(saved: SavedResults, unit: str = "prompt") -> SavedResults:
    """As if there had been enough prompts."""
    summary = saved.summary
    column = summary.column_names.index("low")
    numbers = pa.array([0.1] * summary.num_rows, pa.float64())
    about = {**summary.schema.metadata, b"mindshare.unit": unit}
    filled = summary.set_column(column, "low", numbers).replace_schema_metadata(about)
    return replace(saved, tables={**saved.tables, "summary": filled})


def test_definitions_and_formulas_are_those_of_the_registry(saved: dict[str, SavedResults]) -> None:
    (only,) = [part for part in methods(saved["shares"]) if isinstance(part, Term)]
    assert only.latex == MEASURES["mass"].latex
    assert only.words == f"{MEASURES['mass'].definition}."
    of_insertion = [part for part in methods(saved["insert"]) if isinstance(part, Term)]
    assert [part.latex for part in of_insertion] == [
        MEASURES[name].latex for name in measures_of(saved["insert"])
    ]
    for part in of_insertion:
        assert ElementTree.fromstring(part.mathml).tag.endswith("math")


def test_a_measure_stands_after_what_it_rests_on(saved: dict[str, SavedResults]) -> None:
    names = measures_of(saved["insert"])
    assert names.index("received") < names.index("amplitude")
    about = {**saved["shares"].summary.schema.metadata, b"mindshare.measure": b"lift"}
    summary = saved["shares"].summary.replace_schema_metadata(about)
    lift = replace(saved["shares"], tables={**saved["shares"].tables, "summary": summary})
    assert measures_of(lift) == ("mass", "expected", "lift")


def test_choices_are_said(saved: dict[str, SavedResults]) -> None:
    text = words(methods(saved["shares"]))
    assert "hash = #; star = *; space = whitespace; other" in text
    assert "the mean over the heads" in text
    assert "resamples" not in text  # two prompts have no intervals
    enough = words(methods(with_intervals(saved["shares"])))
    assert (
        "95 % skewness-widened t interval over the prompts; p_family by 200 resamples, seed 0"
        in enough
    )
    grouped = words(methods(with_intervals(saved["shares"], "group")))
    assert "over the groups of prompts; p_family by 200" in grouped


def test_the_query_set_is_that_of_the_figures(saved: dict[str, SavedResults]) -> None:
    """Responses compare the original queries of an insertion, whatever else was measured."""
    one = saved["insert"]
    assert one.study_definition["queries"] == "both"
    assert any("Query set Q: the original tokens" in figure["definition"]
               for figure in one.manifest["figures"].values())  # fmt: skip
    said = "Query set Q: the original tokens; all tokens for whole sequences and inside insertions."
    assert said in words(methods(one))


@pytest.mark.parametrize("queries", ["answer", "later"])
def test_the_query_sets_of_knock_outs_are_said_in_words(
    saved: dict[str, SavedResults], queries: str
) -> None:
    one = saved["single"]
    ((label, known),) = one.models.items()
    models = {label: {**known, "study": {**known["study"], "queries": queries}}}
    text = words(methods(replace(one, manifest={**one.manifest, "models": models})))
    assert f"Query set Q: {ASKED[queries]}." in text


@pytest.mark.parametrize(("counted", "without"), [("true", True), ("false", False)])
def test_whether_the_first_token_counts_is_said(
    saved: dict[str, SavedResults], counted: str, without: bool
) -> None:
    one = saved["insert"]
    about = {**(one.summary.schema.metadata or {}), b"mindshare.drop_first": counted.encode()}
    summary = one.summary.replace_schema_metadata(about)
    text = words(methods(replace(one, tables={**one.tables, "summary": summary})))
    assert (text.count("without the prompt's first token") >= 5) is without
    assert (text.count("the prompt's first token counted") >= 5) is not without


def test_every_label_has_a_sentence(saved: dict[str, SavedResults]) -> None:
    text = words(methods(saved["insert"]))
    for label in LABELS:
        assert f"{label.capitalize()}: " in text
    assert "Amplified: " not in words(methods(saved["shares"]))


def test_every_token_and_its_class_is_there(saved: dict[str, SavedResults]) -> None:
    """Once, since both models read alike."""
    first, second = texts(prompts_shown(saved["shares"]))
    assert "".join(token for token, _ in first.tokens) == PROMPTS[0].text.replace("\n", "↵\n")
    assert "".join(token for token, _ in second.tokens) == NASTY
    assert {name for token, name in first.tokens if token == "#"} == {"hash"}
    assert {name for token, name in first.tokens if token == " "} == {"space"}
    notes = {colour.name: colour.note for colour in first.legend}
    assert notes["hash"] == "2 tokens"
    assert notes["star"] == "3 tokens"
    assert [c.name for c in first.legend][:3] == ["hash", "star", "space"]
    assert first.legend[0].colour == "#d63333"  # as in the chart


def test_prompts_are_coloured_as_the_charts_were_drawn(
    results: dict[str, Path], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(results["shares"], tmp_path / "copy"))
    redraw(folder, {"palette": "safe", "colour": {"hash": "#123456"}})
    first, _ = texts(prompts_shown(read_saved(folder)))
    colours = {one.name: one.colour for one in first.legend}
    assert colours["hash"] == "#123456"
    assert colours["star"] == PALETTES["safe"].classes[1] != PALETTES["seed"].classes[1]


def test_a_model_that_reads_differently_is_shown_too(saved: dict[str, SavedResults]) -> None:
    tokens = saved["shares"].tables["tokens_Tuned"]
    other = tokens.filter(pa.compute.greater(tokens["position"], 0))
    found = texts(
        prompts_shown(
            replace(saved["shares"], tables={**saved["shares"].tables, "tokens_Tuned": other})
        )
    )
    assert [text.label.endswith("of Tuned") for text in found] == [False, False, True, True]


def test_inserted_tokens_are_marked(saved: dict[str, SavedResults]) -> None:
    first = texts(prompts_shown(saved["insert"]))[0]
    assert [token for token, name in first.tokens if name == "inserted"] == ["#"] * 8
    assert "with “# ×8”" in first.label


def test_long_prompts_are_cut_and_say_so(
    saved: dict[str, SavedResults], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(appendix, "TOKENS", 5)
    monkeypatch.setattr(appendix, "SHOWN", 1)
    parts = prompts_shown(saved["shares"])
    (only,) = texts(parts)
    assert len(only.tokens) == 5
    assert only.left_out == len(PROMPTS[0].text) - 5
    assert "The first 1 of 2 prompts" in words(parts)


def test_results_without_tokens_say_so(saved: dict[str, SavedResults]) -> None:
    bare = replace(saved["shares"], tables={"summary": saved["shares"].summary})
    (only,) = prompts_shown(bare)
    assert isinstance(only, Paragraph)


def test_control_characters_become_visible() -> None:
    assert visible("a\tb\r\n\x1b[31m\u00a0") == "a⇥b␍↵\n\\x1b[31m⍽"


def test_origin_names_study_weights_check_and_versions(saved: dict[str, SavedResults]) -> None:
    parts = origin(saved["single"])
    found = pairs(parts)
    assert found["Study"] == saved["single"].manifest["study"]["hash"]
    assert found["Seed of the resampling"] == "0"
    model = saved["single"].models["Base"]["model"]
    assert found["Fingerprint of the weights"] == model["fingerprint"]
    assert found["Arithmetic"] == "float32 on cpu"
    assert found["Layers"] == "2, all of them measured"
    assert found["Checked against eager attention"].startswith("agrees")
    assert "Heads measured one by one" not in found
    assert pairs(origin(saved["insert"]))["Heads measured one by one"] == "4"
    versions = next(part for part in parts if isinstance(part, Details))
    assert "transformers" in pairs(list(versions.parts))


def test_the_one_command_and_its_files(saved: dict[str, SavedResults]) -> None:
    parts = again(saved["shares"])
    assert Code("mindshare run study.toml --out results/again", "sh") in parts
    known = saved["shares"]
    assert attached(parts) == {"study.toml": known.study, "prompts.jsonl": known.prompts}
    second = attached(again(known, number=2))
    assert set(second) == {"study-2.toml", "prompts-2.jsonl"}
    assert 'data = "prompts-2.jsonl"' in second["study-2.toml"]
    long = replace(known, prompts="x" * 200_001)
    assert set(attached(again(long))) == {"study.toml"}  # the prompts are named, not attached


def test_results_without_a_study_file_show_their_definition(saved: dict[str, SavedResults]) -> None:
    parts = again(replace(saved["shares"], study=None))
    assert isinstance(parts[-1], Details)
    assert "whitespace" in pairs(list(parts[-1].parts))["classes"]
    named = {**saved["shares"].manifest, "study": {"hash": "x", "command": "mindshare demo"}}
    parts = again(replace(saved["shares"], study=None, manifest=named))
    assert Code("mindshare demo", "sh") in parts


def test_the_card_of_the_shipped_adapter_is_found(saved: dict[str, SavedResults]) -> None:
    assert "held-out maps" in str(shipped_card("smollm2-phys"))
    one = saved["single"]
    base = one.models["Base"]
    models = {"Base": {**base, "model": {**base["model"], "name": "smollm2-phys"}}}
    parts = origin(replace(one, manifest={**one.manifest, "models": models}))
    assert isinstance(parts[-1], Details)
    assert parts[-1].parts == (Code(str(shipped_card("smollm2-phys")), "markdown"),)


@pytest.mark.parametrize("name", ["smollm2", "no-such", "../../etc", "a/b", "."])
def test_other_names_have_no_card(name: str) -> None:
    assert shipped_card(name) is None
