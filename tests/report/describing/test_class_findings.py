"""What is planted is found; what is flat, noisy or alone supports nothing."""

from __future__ import annotations

import pytest

from mindshare.report.describing.cells import Number
from mindshare.report.describing.class_findings import Findings, ends, find
from mindshare.report.describing.class_view import ClassView
from mindshare.report.describing.numbers import numbers_of

from .made import Made, class_tables

NOTHING = Findings()


def found(made: Made, measure: str = "mass") -> Findings:
    return find(ClassView(numbers_of(class_tables(made, measure))))


@pytest.mark.parametrize("prompts", [1, 2, 5])
def test_a_few_prompts_support_nothing(prompts: int) -> None:
    assert not found(Made(prompts=prompts, effect={"star": 0.5}, trend={"hash": 0.5})).anything


@pytest.mark.parametrize("layers", [4, 30])
def test_noise_supports_hardly_anything(layers: int) -> None:
    noisy = [
        found(Made(layers=range(layers), noise=0.3, layered=False, seed=seed)) for seed in range(20)
    ]
    assert sum(one.anything for one in noisy) <= 3
    assert not any(one.trends or one.leads[0].by_class for one in noisy)


def test_flat_numbers_support_only_that_nothing_differs() -> None:
    flat = found(Made(noise=0.0, layered=False))
    assert (flat.extremes, flat.trends) == ([], [])
    assert not any(lead.by_class for lead in flat.leads)
    assert not any(change.more or change.less for change in flat.changes)


def test_a_planted_difference_is_found_where_it_is() -> None:
    changes = {one.kind: one for one in found(Made(effect={"star": 0.1})).changes}
    assert len(changes["star"].more) == 4
    assert not changes["star"].less
    assert not changes["hash"].more
    assert not changes["hash"].less


def test_a_model_and_itself_differ_by_less_than_a_tenth() -> None:
    tables = class_tables(Made(noise=0.05))
    same = class_tables(Made(noise=0.0))
    assert all(len(one.close) == 4 for one in find(ClassView(numbers_of(same))).changes)
    noisy = find(ClassView(numbers_of(tables))).changes
    assert all(one.undecided or one.close for one in noisy)


def test_a_planted_trend_is_found() -> None:
    trends = found(Made(layers=range(12), trend={"hash": 0.5})).trends
    assert {(one.model, one.kind) for one in trends} >= {("Base", "hash"), ("Tuned", "hash")}
    assert all(one.trend.correlation > 0.7 for one in trends if one.kind == "hash")
    assert not found(Made(layers=range(4), trend={"hash": 0.5})).trends  # too few layers


def test_the_highest_and_the_lowest_layer() -> None:
    made = Made(models=("Base",), layers=range(4), noise=0.02, trend={"hash": 0.5})
    one = next(one for one in found(made).extremes if one.kind == "hash")
    assert (one.highest.place, one.lowest.place[0]) == ((3, None), 0)
    assert one.highest.beside == []


def test_the_highest_is_tested_against_the_runner_up() -> None:
    """Two layers that are alike are both higher than the third; neither is the highest."""
    series = {
        (layer, None): Number(x, x - 0.02, x + 0.02, 12, se=0.01)
        for layer, x in enumerate((0.1, 0.505, 0.5))
    }
    high, low = ends(series, 3) or pytest.fail("the lowest differs")
    assert (high.place, high.beside) == ((1, None), [(2, None)])
    assert (low.place, low.beside) == ((0, None), [])
    assert ends({place: series[place] for place in ((1, None), (2, None))}, 1) is None


def test_a_class_of_many_tokens_can_lead_by_their_number() -> None:
    """The third class is expected to get 0.22; it leads with 0.15 here."""
    made = Made(models=("Base",), layered=False, noise=0.02, effect={"space": 0.1})
    (one,) = [one for one in found(made).misleading if one.most]
    assert (one.kind, len(one.places)) == ("space", 4)
    assert all(lift.value < 1 for lift in one.places.values())
    assert not found(made, "share").misleading  # there is no lift beside a share
