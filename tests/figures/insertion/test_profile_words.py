from __future__ import annotations

from mindshare.figures import profile_grid

from .insertions import Inserted, made


def test_the_description_tells_peaks_sums_and_phases() -> None:
    content = made(20, conditions=[Inserted(n=5, at=8)], cells=[(0, 3)])
    figure = profile_grid(
        content.aligned,
        content.sequence,
        content.places,
        model="m",
        prompt="p1",
        condition="/ ×55",
        heads=[(0, 3)],
    )
    rows = [r for r in content.aligned.to_pylist() if r["received_without"] is not None]
    high = max(rows, key=lambda r: r["received_without"])
    total = sum(r["received_without"] for r in rows)
    assert (
        f"highest {high['received_without']:.3g} at position {high['position_without']}"
        in figure.description
    )
    assert f"sum {total:.3g}" in figure.description
    inside = [
        r["received"]
        for r in content.sequence.to_pylist()
        if r["condition"] == "/ ×55" and 8 <= r["position"] <= 12
    ]
    assert f"{sum(inside) / 5:.3g} inside" in figure.description
    assert "positions 8 to 12" in figure.description


def test_the_definition_and_the_caption_say_how_it_was_measured() -> None:
    content = made(20)
    given = {"queries": "only the last token", "models": "m = a model"}
    for about, asked in (({}, "every token, i > j"), (given, "only the last token")):
        figure = profile_grid(
            content.aligned,
            content.sequence,
            content.places,
            model="m",
            prompt="p1",
            condition="/ ×55",
            heads=[(0, 0)],
            about=about,
        )
        assert f"Query set Q: {asked}." in figure.definition
        assert f"(queries: {asked}; prompt: p1)" in " ".join(figure.spec["title"]["subtitle"])
    assert figure.definition.endswith("Models: m = a model.")
    assert figure.name == "profiles_55"
