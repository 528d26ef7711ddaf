from __future__ import annotations

from mindshare.report.describing.insertion_view import InsertionView, Told
from mindshare.report.describing.numbers import numbers_of

from .made import Made, insertion_tables

MADE = Made(models=("m",), layers=range(20), heads=(0, 1, 2))


def view(made: Made = MADE, *conditions: str) -> InsertionView:
    return InsertionView(numbers_of(insertion_tables(made, conditions or ("a1", "b1", "c1"))))


def test_the_layers_of_two_conditions_are_described() -> None:
    found = view()
    assert [one.condition for one in found.every] == ["a1", "b1", "c1"]
    assert [one.condition for one in found.layered] == ["a1", "b1"]


def test_series_over_layers_and_heads() -> None:
    found, told = view(), Told("m", "a1")
    assert list(found.series(told, "retained")) == [(n, None) for n in range(20)]
    assert len(found.series(told, "retained", heads=True)) == 60
    assert found.at(told, "retained") is not None
    assert 2 < len(found.closely(told)) <= 12
    assert sum(map(len, found.groups(told))) == 20 - len(found.closely(told))


def test_labels_count_heads_not_rows() -> None:
    found = view()
    assert sum(found.labels(Told("m", "a1")).values()) == 60


def test_noisy_heads_do_not_respond_more_than_others() -> None:
    found = view(Made(models=("m",), layers=range(8), heads=range(6), noise=0.3), "a1")
    told = found.every[0]
    assert len(found.top(told)) == 6
    assert found.responding(told) == []


def test_heads_that_respond_are_found() -> None:
    made = Made(models=("m",), layers=range(8), heads=(0, 1), noise=0.01, trend={"x": 0.1})
    found = view(made, "a1")
    assert {layer for layer, _ in found.responding(found.every[0])} == {5, 6, 7}
