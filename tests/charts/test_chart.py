from __future__ import annotations

import json
from pathlib import Path

import pytest

from mindshare.charts import shares
from mindshare.charts.candidates import Loading
from mindshare.errors import OutputError
from mindshare.models import LoadedModel
from mindshare.prompts import Prompt


def test_a_chart_says_what_it_is_and_keeps_what_is_there(
    base: LoadedModel, prompts: list[Prompt], tmp_path: Path
) -> None:
    chart = shares(base, prompts, classes={"hash": "#"}, loading=Loading(progress=False))
    assert "models: base" in repr(chart)
    assert "image/svg+xml" in chart._repr_mimebundle_()
    place = chart.save(tmp_path / "chart")
    before = {file.name: file.read_bytes() for file in place.iterdir()}
    with pytest.raises(OutputError, match="exists already") as refused:
        chart.save(place)
    assert "--replace" in str(refused.value)
    assert {file.name: file.read_bytes() for file in place.iterdir()} == before
    chart.save(place, replace=True)
    tables = [name for name in before if name.endswith((".parquet", ".csv", ".json"))]
    assert all(
        (place / name).read_bytes() == before[name] for name in tables if "manifest" not in name
    )


def test_the_command_that_makes_it_again_is_kept(
    base: LoadedModel, prompts: list[Prompt], tmp_path: Path
) -> None:
    chart = shares(base, prompts, classes={"hash": "#"}, loading=Loading(progress=False))
    for command in (None, "mindshare shares base --text 'a #'"):
        place = chart.save(tmp_path / "chart", replace=True, command=command)
        study = json.loads((place / "manifest.json").read_text())["study"]
        assert study.get("command") == command
        assert study["hash"]
