"""Formulas are written twice, and both ways well-formed."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from mindshare.report.formulas import _MEASURES, formulas, letters
from mindshare.table import DEFINITIONS


def test_every_formula_is_of_a_defined_measure() -> None:
    assert set(_MEASURES) <= set(DEFINITIONS)


@pytest.mark.parametrize("name", list(_MEASURES))
def test_both_ways_are_well_formed(name: str) -> None:
    (formula,) = formulas((name,))
    math = ElementTree.fromstring(formula.mathml)
    assert math.tag.endswith("math")
    words = "".join(math.itertext())
    assert name in words
    assert formula.latex.count("{") == formula.latex.count("}")
    assert "=" in formula.latex


def test_mass_is_the_mean_over_queries_of_the_sum_over_keys() -> None:
    (formula,) = formulas(("mass",))
    assert formula.latex == (
        r"\mathrm{mass}(C) = \frac{1}{| Q |} \sum_{i \in  Q} \sum_{j \in  C} A_{i j}"
    )


def test_no_sign_has_two_superscripts() -> None:
    """A prime is one: KaTeX refuses A'_{i j}^2."""
    (formula,) = formulas(("affine_r2",))
    assert "( A'_{i j} )^2" in formula.latex
    assert "'_{i j}^" not in formula.latex


def test_letters_say_which_tokens_are_compared() -> None:
    assert "M are all but the first;" in letters(("amplitude",), tokens="all but the first")
    assert "M are" not in letters(("mass",))


def test_each_is_written_once_and_unknown_ones_not_at_all() -> None:
    assert len(formulas(("mass", "mass", "peak_shift"))) == 1
