from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

import mindshare
from mindshare.errors import SelectionError
from mindshare.prompts import Prompt
from mindshare.study import LocalBackend, Measurer, PromptEncoder, build_study
from mindshare.study.measurement import TableMaker
from mindshare.tables import DEFINITIONS


def test_saved_and_read_back(llama, tmp_path) -> None:
    found = mindshare.measure(llama, "ab ##", classes={"hash": "#"})
    folder = found.save(tmp_path / "results")
    again = mindshare.read(folder)
    assert sorted(again.tables) == sorted(found.tables)
    for name, table in found.tables.items():
        assert again.table(name).equals(table, check_metadata=True), name
    assert again.provenance["study_hash"] == found.provenance["study_hash"]


def test_columns_carry_their_definitions(llama, tmp_path) -> None:
    folder = mindshare.measure(llama, "ab ##", classes={"hash": "#"}).save(tmp_path / "r")
    schema = mindshare.read(folder).mass.schema
    assert schema.field("lift").metadata[b"definition"].decode() == DEFINITIONS["lift"]
    frame = mindshare.read(folder).to_pandas()
    assert frame.attrs["definitions"]["mass"] == DEFINITIONS["mass"]


def test_a_table_that_was_not_measured_is_named(llama) -> None:
    found = mindshare.measure(llama, "ab", measures="mass")
    with pytest.raises(SelectionError, match="no table 'received'"):
        _ = found.received
    with pytest.raises(SelectionError, match="did you mean 'tokens'"):
        found.to_pandas("token")


def test_a_saved_table_is_streamed_without_being_read(
    llama, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = mindshare.measure(llama, ["ab ##", "##"], classes={"hash": "#"})
    again = mindshare.read(found.save(tmp_path / "r"))

    def whole(*_: object) -> None:
        raise AssertionError("the whole table was read")

    monkeypatch.setattr("pyarrow.parquet.read_table", whole)
    assert "mass" in again.tables
    batches = list(again.batches("mass", ["mass", "layer"]))
    expected = found.mass.select(["mass", "layer"])
    assert pa.Table.from_batches(batches).equals(expected)


def test_a_manifest_names_the_kernels_of_all_prompts(llama) -> None:
    study, backend = build_study(classes={"hash": "#"}), LocalBackend(llama)
    prompts = [Prompt.from_text(text) for text in ("a #", "b ##", "#")]
    results = list(Measurer(PromptEncoder(llama, study), backend).results(prompts))
    names = ["x", "y+z", "x"]
    changed = [
        (prompt, [replace(result, kernels=dict.fromkeys(result.layers, name))])
        for (prompt, (result,)), name in zip(results, names, strict=True)
    ]
    run = TableMaker(backend.identity, study).collect(changed).provenance["run"]
    assert run["kernels"] == ["x", "y", "z"]
    assert run["layers_seen"] == [0, 1]


def test_a_manifest_lists_the_first_prompts_and_counts_all(
    llama, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mindshare.study.measurement.LISTED", 2)
    record = mindshare.measure(llama, ["a", "bbb", "cc"]).provenance
    assert [prompt["tokens"] for prompt in record["prompts"]] == [1, 3]
    assert record["all_prompts"] == {"count": 3, "tokens": [1, 3]}
