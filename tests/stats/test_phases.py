from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mindshare.stats import phases
from mindshare.table import SCHEMAS

from .insertions import RUN, as_it_is, one_prompt, random_prompts, tables, with_run


def test_a_run_has_a_before_an_inside_and_an_after() -> None:
    prompts = one_prompt([0.0] * 4, [0.1, 0.2, 0.3, 0.4], run=[0.5, 0.7], at=1)
    found = phases(*tables(prompts)[:2])
    assert found.schema.equals(SCHEMAS["phases"])
    assert found["phase"].to_pylist() == ["before", "inside", "after"]
    assert found["condition"].to_pylist() == [RUN] * 3
    assert found["n_tokens"].to_pylist() == [1, 2, 3]
    assert found["received_sum"].to_pylist() == pytest.approx([0.1, 1.2, 0.9])
    assert found["received"].to_pylist() == pytest.approx([0.1, 0.6, 0.3])


def test_a_seam_and_what_was_cut_differently_have_a_phase_too() -> None:
    cut = replace(
        as_it_is([0.1, 0.2, 0.3, 0.4, 0.5]),
        parts=["original", "seam", "inserted", "unmatched", "original"],
        partners=[0, None, None, None, 2],
    )
    prompts = {"p": {"without": as_it_is([0.1, 0.2, 0.3]), "x": cut}}
    found = phases(*tables(prompts)[:2])
    assert found["n_tokens"].to_pylist() == [2, 1, 2]
    assert found["received_sum"].to_pylist() == pytest.approx([0.3, 0.3, 0.9])


def test_keys_without_queries_are_not_counted() -> None:
    prompts = one_prompt([0.0] * 3, [0.1, 0.2, np.nan], run=[0.3], at=1)
    found = phases(*tables(prompts)[:2])
    assert found["n_tokens"].to_pylist() == [1, 1, 1]
    assert found["received_sum"].to_pylist() == pytest.approx([0.1, 0.3, 0.2])


@pytest.mark.parametrize(("at", "empty"), [(0, "before"), (2, "after")])
def test_a_phase_without_tokens_has_no_mean(at: int, empty: str) -> None:
    found = phases(*tables(one_prompt([0.1, 0.2], [0.1, 0.2], at=at))[:2])
    rows = {row["phase"]: row for row in found.to_pylist()}
    assert (rows[empty]["n_tokens"], rows[empty]["received_sum"]) == (0, 0)
    assert rows[empty]["received"] is None
    assert rows["inside"]["received"] == pytest.approx(0.1)


def test_nothing_inserted_is_no_phase() -> None:
    same = as_it_is([0.1, 0.2])
    assert phases(*tables({"p": {"without": same, "/ ×0": same}})[:2]).num_rows == 0
    both = {"p": {"without": same, "/ ×0": same, "/ ×1": with_run([0.1, 0.2], [0.3], 1)}}
    found = phases(*tables(both)[:2])
    assert found["condition"].to_pylist() == ["/ ×1"] * 3


def test_one_row_per_condition_head_and_phase() -> None:
    prompts = random_prompts(2)
    found = phases(*tables(prompts)[:2])
    assert found.num_rows == 2 * 2 * 6 * 3
    assert found.schema.metadata == {b"mindshare.study": b"abc"}
    row = found.to_pylist()[2 * 6 * 3 + 6 * 3 + 3 * 4 + 2]
    assert [row[n] for n in ("prompt", "condition", "layer", "head", "phase")] == [
        "p1", "sentence", 1, 1, "after",
    ]  # fmt: skip
    profile = prompts["p1"]["sentence"].received[1, 1]
    assert row["received_sum"] == pytest.approx(np.nansum(profile[6:]))
    assert row["n_tokens"] == 7
