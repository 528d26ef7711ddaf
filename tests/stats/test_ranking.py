from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from mindshare.errors import SelectionError
from mindshare.stats import Resampling, contrast, contrast_conditions, ranked

from .insertions import response_table
from .masses import mass_table, random_table

QUICK = Resampling(resamples=500)


def compared() -> pa.Table:
    """Layer 2 has the largest effect, layer 0 the largest difference, layer 3 none at all."""
    rng = np.random.default_rng(0)
    base = rng.normal(0, 1, (40, 4, 1, 1))
    size = np.array([1.0, 0.1, 0.1, 0.0]).reshape(4, 1, 1)
    shift = np.array([0.6, 0.0, -0.3, 0.0]).reshape(4, 1, 1)
    other = base + rng.normal(0, 1, base.shape) * size + shift
    masses = {name: mass_table(v, classes=["hash"]) for name, v in (("a", base), ("b", other))}
    return contrast(masses, a="a", b="b", options=QUICK)


def test_the_largest_come_first_whichever_their_sign() -> None:
    found = ranked(compared())
    assert found["layer"].to_pylist() == [2, 0, 1, 3]
    assert found["rank"].to_pylist() == [1, 2, 3, None]
    assert found["effect"].to_pylist()[0] < 0
    assert ranked(compared(), by="difference")["layer"].to_pylist() == [0, 2, 1, 3]
    assert ranked(compared(), by="difference")["rank"].to_pylist() == [1, 2, 3, 4]


def test_every_row_keeps_its_numbers_and_the_correction_is_stated() -> None:
    content = compared()
    found = ranked(content)
    assert found.drop_columns(["rank"]).sort_by("layer").equals(content.sort_by("layer"))
    assert found.schema.metadata[b"mindshare.ranked_by"] == b"effect"
    assert found.schema.metadata[b"mindshare.correction"] == b"p_family over 4 cells"
    assert found.schema.metadata[b"mindshare.study"] == b"abc"


def test_only_those_found_or_only_the_first() -> None:
    assert ranked(compared(), alpha=0.05)["layer"].to_pylist() == [2, 0]
    first = ranked(compared(), most=1)
    assert first["layer"].to_pylist() == [2]
    assert first.schema.metadata[b"mindshare.correction"] == b"p_family over 4 cells"


def test_conditions_are_ranked_alike() -> None:
    values = np.random.default_rng(1).gamma(4, 0.2, (9, 2, 2, 3))
    found = contrast_conditions(
        response_table(values), model="m", a="run", b="sentence", measures=["shape"], options=QUICK
    )
    sizes = np.abs(ranked(found)["effect"].to_numpy())
    assert (np.diff(sizes) <= 0).all()


def test_what_cannot_be_ranked_is_refused() -> None:
    with pytest.raises(SelectionError, match="did you mean 'effect'"):
        ranked(compared(), by="effects")
    with pytest.raises(SelectionError, match="no column 'effect'"):
        ranked(random_table(2, 1, seed=0))
