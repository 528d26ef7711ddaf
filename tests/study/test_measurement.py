from __future__ import annotations

import pytest

import mindshare
from mindshare.errors import SelectionError
from mindshare.table import DEFINITIONS


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
