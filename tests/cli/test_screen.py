"""Errors, warnings, progress and numbers: wrapped on a terminal, one line each in a file."""

from __future__ import annotations

import io
import json
from contextlib import suppress
from pathlib import Path

import pytest
from rich.console import Console

import mindshare as package
from mindshare.cli.screen import (
    LAYERS,
    ClassNumber,
    Summary,
    caption,
    count_text,
    duration_text,
    left_text,
    lift_text,
    mass_tables,
    mass_text,
    pace_text,
    progress_bar,
    run_progress,
    summaries,
    tell_error,
    warn,
)
from mindshare.errors import PromptError
from mindshare.study import Measurement

ERROR = PromptError(
    "there is no such file",
    where="/a/folder/with-a-name-that/must-not-be-cut/although-it-is-longer-than-a-line/prompt.txt",
    allowed="a text file",
    next_step="check the path, and then check it again because this sentence is a long one, too",
)


def test_in_a_file_each_part_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    tell_error(ERROR)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        f"mindshare: there is no such file (in {ERROR.where})",
        "  Allowed: a text file",
        f"  Next: {ERROR.next_step}",
    ]


def test_on_a_terminal_words_are_coloured_and_wrapped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    tell_error(ERROR)
    err = capsys.readouterr().err
    assert "\x1b[1;31mmindshare:\x1b[0m" in err
    assert str(ERROR.where) in err, "a path stays whole"
    assert all(len(line) <= 80 + 20 for line in err.splitlines() if str(ERROR.where) not in line)


def test_warnings_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    warn("beware")
    assert capsys.readouterr() == ("", "mindshare: warning: beware\n")


def test_no_progress_bar_in_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar(show=True) as progress:
        assert progress is None
    assert capsys.readouterr() == ("", "")


def test_a_progress_bar_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress_bar(show=True) as progress:
        assert progress is not None
        progress(0, 2)
        progress(2, 2)
    out, err = capsys.readouterr()
    assert out == ""
    assert "2/2" in err


def test_json_lines_go_to_stderr_and_end_with_the_last(capsys: pytest.CaptureFixture[str]) -> None:
    with run_progress("json") as progress:
        for done in range(5):
            progress.update(done, 5, tokens=done * 100, failed=1)
    out, err = capsys.readouterr()
    assert out == ""
    lines = [json.loads(line) for line in err.splitlines()]
    assert [(line["done"], line["finished"]) for line in lines] == [(0, False), (4, True)]
    assert {"done", "total", "failed", "tokens", "tokens_per_second", "seconds_left"} < set(
        lines[0]
    )


def test_json_says_when_the_work_broke_off(capsys: pytest.CaptureFixture[str]) -> None:
    with suppress(ValueError), run_progress("json") as progress:
        progress.update(1, 2)
        raise ValueError
    last = json.loads(capsys.readouterr().err.splitlines()[-1])
    assert (last["done"], last["seconds_left"], last["finished"]) == (1, None, False)


def test_whoever_stops_is_told_that_nothing_is_lost(capsys: pytest.CaptureFixture[str]) -> None:
    with suppress(KeyboardInterrupt), run_progress("quiet") as progress:
        progress.update(1, 2)
        raise KeyboardInterrupt
    assert "the same command goes on from there" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["auto", "quiet"])
def test_nothing_is_written_to_a_file(capsys: pytest.CaptureFixture[str], form: str) -> None:
    with run_progress(form) as progress:
        progress.update(1, 2)
    assert capsys.readouterr() == ("", "")


def test_a_bar_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with run_progress("auto") as progress:
        progress.update(0, 4)
        progress._every = 0
        progress.update(1, 4, tokens=100, failed=2)
    out, err = capsys.readouterr()
    assert out == ""
    assert "3/4" in err
    assert "2 failed" in err
    assert "tokens/s" in err


def test_times_as_people_say_them() -> None:
    seconds = (0.4, 89, 91, 5300, 5400, 86_400, 300_000)
    assert [duration_text(s) for s in seconds] == [
        *("0 s", "89 s", "2 min", "88 min", "1 h 30 min", "24 h 0 min", "3 d 11 h")
    ]
    assert left_text(120) == "about 2 min left"
    assert left_text(None) == pace_text(None) == ""
    assert pace_text(1234.5) == "1,234 tokens/s"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.004, "×0.00"),
        (1.234, "×1.23"),
        (9.996, "×10.0"),
        (12.34, "×12.3"),
        (123.4, "×123"),
        (9999.6, "×10k"),
    ],
)
def test_lift(value: float | None, text: str) -> None:
    assert lift_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (2 / 3, "0.67"),
        (19.0, "19"),
        (123.45, "123.5"),
        (1234.5, "1234"),
        (131_072, "131k"),
    ],
)
def test_count(value: float, text: str) -> None:
    assert count_text(value) == text


@pytest.mark.parametrize("exponent", range(-6, 5))
def test_widths(exponent: int) -> None:
    value = 9.99996 * 10.0**exponent
    assert len(lift_text(value)) <= 5
    assert len(count_text(value)) <= 5
    assert len(mass_text(min(value, 1.0))) == 6


# The table of `measure`.

TEXTS = ["a ## b ** ##", "** he said # **"]


@pytest.fixture(scope="module")
def both_sets(llama: Path) -> Measurement:
    return package.measure(
        str(llama), TEXTS, classes={"hash": "#", "star": "*"}, queries=["all", "last"]
    )


def test_one_summary_per_query_set(both_sets: Measurement) -> None:
    both = summaries(both_sets)
    assert [summary.queries for summary in both] == ["all", "last"]
    for summary in both:
        assert summary.classes == ("hash", "star", "other")
        assert summary.layers == (0, 1, 2)
        assert summary.prompts == 2


def test_cells_are_means_over_heads_and_prompts(both_sets: Measurement) -> None:
    frame = both_sets.to_pandas()
    for summary in summaries(both_sets):
        rows = frame[frame["queries"] == summary.queries]
        for (layer, name), cell in summary.cells.items():
            here = rows[(rows["layer"] == layer) & (rows["class"] == name)]
            assert cell.mass == pytest.approx(here["mass"].mean(), abs=1e-6)
            lift = here["mass"].mean() / here["expected"].mean()
            assert cell.lift == pytest.approx(lift, rel=1e-5)


def test_masses_sum_to_one(both_sets: Measurement) -> None:
    for summary in summaries(both_sets):
        for layer in summary.layers:
            total = sum(summary.cells[layer, name].mass for name in summary.classes)
            assert total == pytest.approx(1, abs=1e-5)


def test_mean_and_peak(both_sets: Measurement) -> None:
    summary = summaries(both_sets)[0]
    masses = [summary.cells[layer, "hash"].mass for layer in summary.layers]
    assert summary.mean("hash").mass == pytest.approx(sum(masses) / 3)
    assert summary.cells[summary.peak("hash"), "hash"].mass == max(masses)


def test_tokens_are_counted_per_prompt(both_sets: Measurement) -> None:
    counts = both_sets.to_pandas("classes").groupby("class")["n_tokens"].mean()
    assert summaries(both_sets)[0].tokens == pytest.approx(counts.to_dict())


def test_averaged_layers_are_one_row(llama: Path) -> None:
    found = package.measure(str(llama), "a ##", classes={"hash": "#"}, layers="mean", heads="mean")
    assert summaries(found)[0].layers == (None,)


def test_no_lift_without_an_expectation() -> None:
    assert ClassNumber(0.2, None).lift is None
    assert ClassNumber(0.0, 0.0).lift is None


def summary_of(*names: str, layers: int = 4) -> Summary:
    cells = {
        (layer, name): ClassNumber(
            (layer * len(names) + i) / 10_000, None if name == "sink_slot" else 0.01
        )
        for layer in range(layers)
        for i, name in enumerate(names)
    }
    counts: dict[str, float | None] = dict.fromkeys(names, 12.5)
    if "sink_slot" in counts:
        counts["sink_slot"] = None
    present = dict.fromkeys(names, 1)
    return Summary(
        "all", names, tuple(range(layers)), counts, present, cells, prompts=1, sink_rate=0.5
    )


def shown(summary: Summary, *, width: int = 80) -> list[str]:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    for table in mass_tables(summary, summary.layers, width, colour=False):
        console.print(table)
    written: str = console.file.getvalue()  # type: ignore[attr-defined]
    return written.splitlines()


@pytest.mark.parametrize("classes", [1, 2, 5, 6, 11])
@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_row_is_wrapped(classes: int, width: int) -> None:
    names = [f"a_rather_long_class_name_{i}" for i in range(classes - 1)]
    summary = summary_of(*names, "other")
    lines = shown(summary, width=width)
    assert max(map(len, lines)) <= width
    tables = sum("layer" in line for line in lines)
    # names, counts, rule, four layers, a gap, the mean
    assert len(lines) == tables * 9
    text = "\n".join(lines)
    for cell in summary.cells.values():
        assert str(cell) in text


def test_learned_sinks_have_no_lift() -> None:
    lines = shown(summary_of("hash", "other", "sink_slot"))
    assert "learned" in lines[1]
    assert lines[3].rstrip().endswith("–")


def test_one_layer_has_no_mean_row() -> None:
    assert not any("mean" in line for line in shown(summary_of("hash", "other", layers=1)))


def test_caption_says_what_is_averaged() -> None:
    summary = summary_of("hash", "other", layers=30)
    for layers in (summary.layers, summary.chosen_layers()):
        text = caption(summary, layers)
        assert "mean over heads)" in text
        assert "queries: all" in text
        assert ("6 of 30 layers" in text) == (len(layers) < 30)
        assert max(map(len, text.splitlines())) <= 80


def test_six_layers_tell_where_the_classes_peak() -> None:
    few = summary_of("hash", "other", layers=LAYERS)
    assert few.chosen_layers() == few.layers
    summary = summary_of("hash", "other", layers=30)
    summary.cells[17, "hash"] = ClassNumber(0.9, 0.01)  # type: ignore[index]
    layers = summary.chosen_layers()
    assert len(layers) == LAYERS
    assert list(layers) == sorted(layers)  # type: ignore[type-var]
    assert {0, 17, 29} <= set(layers)  # both ends, too
