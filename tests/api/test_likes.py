"""One word gives the published chart's own picture, and other options win."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mindshare.api.candidates import Loading
from mindshare.api.charts import Chart, shares
from mindshare.api.insertion import insertion
from mindshare.api.likes import LIKES
from mindshare.errors import SelectionError
from mindshare.prompts import Prompt
from mindshare.stats import Resampling

from ..models import tiny

QUICK: dict[str, Any] = {
    "loading": Loading(progress=False),
    "resampling": Resampling(resamples=200),
}
PROMPT = Prompt.from_text("Look. ## ** what is it?", {"question": (12, 23)}, id="one")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.llama_folder(tmp_path_factory.mktemp("models") / "base", initializer_range=0.3)


def spec(chart: Chart) -> str:
    (figure,) = chart.figures  # the one that it is called after
    return json.dumps(figure.spec, ensure_ascii=False)


def titles(found: Any) -> list[Any]:
    """Every title in a spec, of axes and panels."""
    if isinstance(found, list):
        return [title for part in found for title in titles(part)]
    if not isinstance(found, dict):
        return []
    own = [found["title"]] if "title" in found else []
    return [*own, *(title for part in found.values() for title in titles(part))]


def test_bars_of_three_classes_in_four_layers(model: Path) -> None:
    chart = shares({"Phys": model, "Instruct": model}, PROMPT, like="seed-000", **QUICK)
    (figure,) = chart.figures
    assert {"Total Attention (Sum)"} <= {t for t in titles(figure.spec) if isinstance(t, str)}
    assert not figure.spec.get("title")
    for words in ("# (Hash)", "* (Star)", "Whitespace"):
        assert words in spec(chart)
    order = {v["class"]: v["order"] for v in figure.spec["data"]["values"]}
    assert order == {"space": 0, "star": 1, "hash": 2}  # from the bottom
    assert {v["kind"] for v in figure.spec["data"]["values"]} == {"bar"}  # no whiskers
    assert LIKES["seed-000"].layers(28) == (0, 16, 20, 27)
    assert LIKES["seed-000"].layers(30) == (0, 17, 21, 29)


def test_three_heads_without_and_with_the_run(model: Path) -> None:
    asked: dict[str, Any] = {"like": "seed-003", "heads": "0.0,0.1,1.2", **QUICK}
    chart = insertion({"Math": model}, PROMPT, insert="/ *12", **asked)
    rows = chart.figures[0].spec["vconcat"]
    assert [len(row["hconcat"]) for row in rows] == [3, 3]
    heads = ["Math Layer 1 Head 1", "Math Layer 1 Head 2", "Math Layer 2 Head 3"]
    for row in rows:
        assert [" ".join(panel["title"]["text"]) for panel in row["hconcat"]] == heads
    said = spec(chart)
    assert "w/o Meaningless tokens" in said
    assert "w/ Meaningless tokens" in said
    assert said.count('"Average Attention Weight"') == 6
    legends = [
        [one["encoding"]["color"]["legend"]["values"] for one in row["hconcat"][0]["layer"][-2:-1]]
        for row in rows
    ]
    assert [len(names) for (names,) in legends] == [2, 1]


def test_a_run_and_a_random_sentence_in_one_head_a_model(model: Path) -> None:
    asked: dict[str, Any] = {"like": "seed-004", "insert": "/ *12", **QUICK}
    chart = insertion({"A": model, "B": model}, PROMPT, heads={"A": "0.0", "B": "1.3"}, **asked)
    (row,) = chart.figures[0].spec["vconcat"]
    shown = [" ".join(panel["title"]["text"]) for panel in row["hconcat"]]
    assert shown == ["A Layer 1 Head 1", "B Layer 2 Head 4"]
    said = spec(chart)
    assert '"Meaningless tokens"' in said
    assert '"Random sentence"' in said
    assert '"rect"' not in said  # nothing is shaded


def test_what_is_given_wins(model: Path) -> None:
    given = {"y_title": "Mine", "label": {"hash": "signs"}, "layers": [1], "bare": False}
    chart = shares({"A": model}, PROMPT, like="seed-000", title="T", **given, **QUICK)
    (figure,) = chart.figures
    assert figure.title == "T"
    assert {row["layer"] for row in figure.table.to_pylist()} == {1}
    assert "Mine" in spec(chart)
    assert "signs" in spec(chart)
    assert "# (Hash)" not in spec(chart)


def test_a_chart_of_another_command_is_refused(model: Path) -> None:
    with pytest.raises(SelectionError, match="mindshare insert --like seed-003"):
        shares(model, PROMPT, like="seed-003")
    with pytest.raises(SelectionError, match="did you mean 'seed-000'"):
        shares(model, PROMPT, like="seed-00")
