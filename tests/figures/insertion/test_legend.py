from __future__ import annotations

from mindshare.figures.insertion.legend import Entry, legend_view
from mindshare.figures.theme import text_width


def test_entries_go_to_the_next_line_when_the_width_is_used_up() -> None:
    entries = [Entry(f"entry {i}", "line", "#2f6fc4") for i in range(8)]
    view = legend_view(entries, 200)
    rows = view["data"]["values"]
    assert max(row["line"] for row in rows) > 0
    assert all(row["at"] + text_width(row["words"]) <= 200 for row in rows)
    assert view["height"] == 15 * (1 + max(row["line"] for row in rows))


def test_words_longer_than_a_line_are_wrapped_beside_their_sample() -> None:
    view = legend_view([Entry("one two three four five six seven", "box", "#222222")], 90)
    rows = view["data"]["values"]
    assert [row["kind"] for row in rows] == ["box"] + ["none"] * (len(rows) - 1)
    assert len({row["at"] for row in rows}) == 1
    assert " ".join(row["words"] for row in rows) == "one two three four five six seven"


def test_only_the_samples_that_are_used_are_drawn() -> None:
    view = legend_view(
        [Entry("a", "line", "#000000"), Entry("b", "symbol", "#000000", "M-1,0L1,0")], 300
    )
    marks = [layer["mark"]["type"] for layer in view["layer"]]
    assert marks == ["rule", "point", "text"]
