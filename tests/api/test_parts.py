"""`parts`: every part once, with what it gets; wordings side by side; sentences of its cells."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import mindshare
from mindshare.api.candidates import Loading
from mindshare.errors import PromptError, SelectionError
from mindshare.facts.parts import times
from mindshare.facts.sentences import Sentence

TEXT = "Task: add the two.\n\nNotes: # # # ** ** no\n\nQuestion: 1 + 1?"
OTHER = "Question: 1 + 1?\n\nTask: add the two."
QUICK = {"loading": Loading(progress=False)}


def test_parts_get_what_the_same_classes_get(folders: dict[str, Path]) -> None:
    chart = mindshare.parts(folders["base"], TEXT, **QUICK)
    names = ["Task", "Notes", "Question"]
    ends = [0, TEXT.index("\n\nNotes"), TEXT.index("\n\nQ")]
    spans = dict(
        zip(names, [(0, ends[1]), (ends[1] + 2, ends[2]), (ends[2] + 2, len(TEXT))], strict=True)
    )
    by_hand = mindshare.measure(
        str(folders["base"]),
        mindshare.Prompt.from_text(TEXT, spans=spans),
        classes={"head": "first"} | {name: f"span:{name}" for name in names},
        layers="mean",
        heads="mean",
        queries="last",
    )
    expected = {row["class"]: row["mass"] for row in by_hand.mass.to_pylist()}
    expected["first-token"] = expected.pop("head")
    found = {row["class"]: row["mass"] for row in chart.figures[0].table.to_pylist()}
    assert list(found) == [*names, "first-token", "other"]
    assert found == pytest.approx(expected)
    assert sum(found.values()) == pytest.approx(1, abs=1e-5)


def test_every_token_is_drawn_with_what_it_receives(folders: dict[str, Path]) -> None:
    chart = mindshare.parts(folders["base"], TEXT, **QUICK)
    bars, text = chart.figures
    assert (bars.name, text.name) == ("parts", "text")
    received = text.table["received"].to_pylist()
    assert sum(received) == pytest.approx(1, abs=1e-5)  # what the query gives itself counts
    assert text.table["n_queries"].unique().to_pylist() == [1]
    assert "last, i ≥ j" in text.definition
    assert text.table.column_names[0] == "model"
    assert "".join(text.table["token"].to_pylist()) == TEXT
    # The same tokens add up to the bars.
    classes = next(iter(chart.measurements.values())).table("tokens")["class"].to_pylist()
    for bar in bars.table.to_pylist():
        own = [x for x, part in zip(received, classes, strict=True) if part == bar["class"]]
        assert sum(own) == pytest.approx(bar["mass"], abs=1e-5)
    boxes = text.spec["data"]["values"]
    assert {box["kind"] for box in boxes} == {"change"}
    shown = "".join(box["text"] for box in boxes)
    assert re.sub(r"\W", "", shown) == re.sub(r"\W", "", TEXT)


def test_two_wordings_stand_side_by_side_with_the_difference(folders: dict[str, Path]) -> None:
    chart = mindshare.parts(folders["base"], {"long": TEXT, "short": OTHER}, **QUICK)
    rows = {(r["model"], r["class"]): r for r in chart.figures[0].table.to_pylist()}
    for part in ("Task", "Question"):
        pair = [rows[label, part] for label in ("long", "short")]
        assert pair[0]["difference"] == pytest.approx(pair[1]["mass"] - pair[0]["mass"])
    assert ("short", "Notes") not in rows
    assert rows["long", "Notes"]["difference"] is None
    assert {figure.name for figure in chart.figures} == {"parts", "text_long", "text_short"}
    assert any(
        "only “long” has the part “notes”" in sentence.lower() for sentence in chart.findings
    )


@pytest.mark.parametrize("prompts", [TEXT, {"long": TEXT, "short": OTHER}])
@pytest.mark.parametrize("queries", ["last", "all"])
def test_sentences_are_short_and_their_numbers_are_those_of_their_cells(
    folders: dict[str, Path], prompts: object, queries: str
) -> None:
    chart = mindshare.parts(folders["base"], prompts, queries=queries, **QUICK)
    assert chart.findings
    for sentence in chart.findings:
        assert isinstance(sentence, Sentence)
        shown = [float(x) for x in re.findall(r"([\d.]+)\u00a0%", sentence)]
        match = re.search(r": ([\d.]+)(?: against ([\d.]+))? times", sentence)
        lifts = [float(x) for x in match.groups() if x] if match else []
        assert len(sentence.split()) <= 25
        assert len(shown + lifts) == len(sentence.numbers) <= 2
        for number, written in zip(sentence.numbers, [*shown, *lifts], strict=True):
            assert number.cell is not None
            assert (number.cell.table == "lift") == bool(lifts)
            rows = chart.tables[number.cell.table].to_pylist()
            (row,) = [r for r in rows if all(r[k] == v for k, v in number.cell.keys)]
            factor = 1 if lifts else 100
            assert factor * row[number.cell.column] == pytest.approx(written, rel=0.06)


def test_one_figure_holds_a_few_wordings(folders: dict[str, Path]) -> None:
    many = {f"w{i}": f"Task: {i}\nQuestion: {i}" for i in range(5)}
    with pytest.raises(PromptError, match="too many"):
        mindshare.parts(folders["base"], many, **QUICK)
    two = mindshare.parts([folders["base"], folders["tuned"]], TEXT, **QUICK)
    assert len(two.measurements) == 2
    assert np.isfinite([r["difference"] for r in two.figures[0].table.to_pylist()]).all()


@pytest.mark.parametrize("columns", [{"prompt": [TEXT, OTHER]}, {"a": [TEXT], "b": [OTHER]}])
def test_columns_are_no_wordings(columns: dict[str, list[str]], folders: dict[str, Path]) -> None:
    with pytest.raises(PromptError, match="list is no prompt"):
        mindshare.parts(folders["base"], columns, **QUICK)


def test_no_wording_takes_the_place_of_another(folders: dict[str, Path]) -> None:
    """One without a name gets a letter that no other is called by."""
    wordings = [mindshare.Prompt.from_text(TEXT, id="A"), OTHER, f"{OTHER} too"]
    chart = mindshare.parts(folders["base"], wordings, **QUICK)
    assert list(chart.measurements) == ["A", "B", "C"]
    lengths = [one.table("tokens").num_rows for one in chart.measurements.values()]
    assert lengths[1] < lengths[2] != lengths[0]


def test_parts_and_wordings_are_called_as_asked(folders: dict[str, Path]) -> None:
    words = {"Task": "The task", "A": "first one"}
    given = {"A": TEXT, "B": f"{TEXT} more"}
    figure = mindshare.parts(folders["base"], given, label=words, **QUICK).figures[0]
    assert set(words.values()) <= set(re.findall(r">([^<>]+)</text>", figure.svg()))
    assert "The task" in figure.table["part"].to_pylist()
    with pytest.raises(SelectionError, match=r"a label is given for 'Tusk'.*did you mean 'Task'"):
        mindshare.parts(folders["base"], given, label={"Tusk": "x"}, **QUICK)


def test_reworded_parts_are_told_from_those_whose_text_is_the_same(
    folders: dict[str, Path],
) -> None:
    a, b = "Rules: be kind.\n\nTask: 1 + 1?", "Task: 1 + 1?\n\nRules: # # be kind, and be brief."
    chart = mindshare.parts(folders["base"], {"A": a, "B": b}, **QUICK)
    bars = chart.figures[0]
    rows = {(r["model"], r["class"]): r for r in bars.table.to_pylist()}
    assert rows["B", "Rules"]["difference"] is None
    assert rows["B", "Task"]["difference"] is not None
    lifts = [rows[label, "Rules"]["lift"] for label in "AB"]
    more = "more" if lifts[1] > lifts[0] else "less"
    assert bars.title == f"“Rules” is read {more} for its length in “B” than in “A”"
    shown = f"{times(lifts[1])} against {times(lifts[0])} times its even share"
    assert chart.findings[0] == f"{bars.title}: {shown}."
    shares = [f"{100 * rows[label, 'Rules']['expected']:.0f}" for label in "AB"]
    assert chart.findings[1].startswith("“Rules” is not the same text")
    assert re.findall(r"(\d+)\u00a0%", chart.findings[1]) == shares


def test_a_moved_part_is_compared_with_itself(folders: dict[str, Path]) -> None:
    a, b = "Be kind.\n\nIs it up?", "Hello there.\n\nBe kind.\n\nIs it up?"
    chart = mindshare.parts(folders["base"], {"A": a, "B": b}, **QUICK)
    rows = chart.figures[0].table.to_pylist()
    kind = [r for r in rows if "Be kind." in r["part"]]
    assert [r["model"] for r in kind] == ["A", "B"]
    assert kind[0]["difference"] == pytest.approx(kind[1]["mass"] - kind[0]["mass"])
    assert any("Only “B” has the part “1 Hello there.”" in s for s in chart.findings)
    assert any("mark it in each" in note for note in chart.notes)
