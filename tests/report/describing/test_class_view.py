from __future__ import annotations

from mindshare.report.describing.class_view import ClassView
from mindshare.report.describing.numbers import numbers_of

from .made import Made, class_tables


def view(made: Made, measure: str = "mass") -> ClassView:
    return ClassView(numbers_of(class_tables(made, measure)))


def test_what_a_chart_shows() -> None:
    found = view(Made(layers=(5, 2), heads=(1, 0)))
    assert found.places == [(2, 0), (2, 1), (5, 0), (5, 1)]
    assert found.by_head
    assert found.several
    assert found.classes == ["hash", "star", "space"]
    assert list(found.series("Base", "hash")) == found.places
    assert not view(Made(prompts=1)).several


def test_a_lift_stands_beside_a_mass() -> None:
    found = view(Made())
    mass, lift = found.at("Base", "hash", (0, None)), found.lift("Base", "hash", (0, None))
    assert mass is not None
    assert lift is not None
    assert abs(lift.value - mass.value / 0.02) < 1e-5  # what is expected of the first class


def test_the_largest_difference_is_looked_at_closely() -> None:
    found = view(Made(layers=range(30)))
    changes = found.differences(("Base", "Tuned"), "hash")
    assert max(changes, key=lambda p: abs(changes[p].value)) in found.closely
    assert 2 < len(found.closely) <= 12
    assert sum(map(len, found.groups)) == 30 - len(found.closely)
