"""Where numbers come from is said from the manifest, and how to make them again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mindshare.report.origin import (
    card_parts,
    model_cards,
    provenance,
    reproduction,
    shipped_card,
)
from mindshare.report.parts import Attached, Code, Details, Facts, NumberTable, Paragraph
from mindshare.report.saved import Saved


def facts(parts: list) -> dict[str, str]:
    return dict(pair for part in parts if isinstance(part, Facts) for pair in part.items)


def test_a_card_names_the_weights_and_the_check(saved: dict[str, Saved]) -> None:
    found = facts(model_cards(saved["single"]))
    model = saved["single"].models["Base"]["model"]
    assert found["Fingerprint of the weights"] == model["fingerprint"]
    assert found["Arithmetic"] == "float32 on cpu"
    assert found["Layers"] == "2, all of them measured"
    assert found["Checked against eager attention"].startswith("agrees")


def test_heads_are_counted_where_they_were_measured(saved: dict[str, Saved]) -> None:
    assert facts(model_cards(saved["insert"]))["Heads measured one by one"] == "4"
    assert "Heads measured one by one" not in facts(model_cards(saved["single"]))


def test_provenance_has_the_study_and_the_seeds(saved: dict[str, Saved]) -> None:
    parts = provenance(saved["shares"])
    found = facts(parts)
    assert found["Study"] == saved["shares"].manifest["study"]["hash"]
    assert found["Seed of the resampling"] == "0"
    folded = next(part for part in parts if isinstance(part, Details))
    assert "transformers" in facts(list(folded.parts))


def test_the_one_command_and_its_files(saved: dict[str, Saved]) -> None:
    parts = reproduction(saved["shares"])
    assert Code("mindshare run study.toml --out results/again", "sh") in parts
    files = {part.name: part.text for part in parts if isinstance(part, Attached)}
    assert files == {"study.toml": saved["shares"].study, "prompts.jsonl": saved["shares"].prompts}


def test_several_results_keep_their_files_apart(saved: dict[str, Saved]) -> None:
    parts = reproduction(saved["shares"], number=2)
    files = {part.name: part.text for part in parts if isinstance(part, Attached)}
    assert set(files) == {"study-2.toml", "prompts-2.jsonl"}
    assert 'data = "prompts-2.jsonl"' in files["study-2.toml"]


def test_results_without_a_study_file_show_their_definition(saved: dict[str, Saved]) -> None:
    parts = reproduction(replace(saved["shares"], study=None))
    assert isinstance(parts[0], Paragraph)
    assert "without a study file" in parts[0].text
    assert isinstance(parts[-1], Details)
    assert "whitespace" in facts(parts[-1].parts)["classes"]
    named = {**saved["shares"].manifest, "study": {"hash": "x", "command": "mindshare demo"}}
    parts = reproduction(replace(saved["shares"], study=None, manifest=named))
    assert Code("mindshare demo", "sh") in parts


def test_long_prompts_are_named_not_attached(saved: dict[str, Saved]) -> None:
    long = replace(saved["shares"], prompts="x" * 200_001)
    names = [part.name for part in reproduction(long) if isinstance(part, Attached)]
    assert names == ["study.toml"]


def test_the_card_of_the_shipped_adapter_is_found() -> None:
    text = shipped_card("smollm2-phys")
    assert text is not None
    parts = list(card_parts(text))
    table = next(part for part in parts if isinstance(part, NumberTable))
    assert [column.name for column in table.columns][:2] == ["action", "n"]
    assert len(table.rows) == 10
    starts = [part.text.partition(":")[0] for part in parts if isinstance(part, Paragraph)]
    assert starts[1:] == ["Data", "Training", "Accuracy on held-out maps"]


@pytest.mark.parametrize("name", ["smollm2", "no-such", "../../etc", "a/b", "."])
def test_other_names_have_no_card(name: str) -> None:
    assert shipped_card(name) is None
