from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from mindshare.errors import ExactnessError
from mindshare.study.passes import Passes
from mindshare.workers.credentials import Credentials, require_same
from tests.workers.asking import spec


@pytest.fixture(scope="module")
def credentials(folder: Path) -> Credentials:
    return _of(spec(folder).load())


def _of(loaded: object) -> Credentials:
    return Credentials.of(loaded, Passes(loaded.model))  # type: ignore[attr-defined, arg-type]


def test_the_same_model_again_is_the_same(credentials: Credentials, folder: Path) -> None:
    again = _of(spec(folder).load())
    assert again == credentials
    require_same(credentials, replace(again, host="elsewhere", pid=1))


def test_the_number_of_threads_changes_nothing(credentials: Credentials, folder: Path) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(1 if before > 1 else 2)
    try:
        require_same(credentials, _of(spec(folder).load()))
    finally:
        torch.set_num_threads(before)


def test_a_weight_that_differs_by_one_digit_shows_in_the_numbers(
    credentials: Credentials, folder: Path
) -> None:
    loaded = spec(folder).load()
    with torch.no_grad():
        weight = loaded.model.model.layers[0].self_attn.q_proj.weight
        weight[0, 0] = torch.nextafter(weight[0, 0], torch.tensor(10.0))
    with pytest.raises(ExactnessError, match="come out with other numbers"):
        require_same(credentials, _of(loaded))


def test_another_precision_is_another_respondent(credentials: Credentials, folder: Path) -> None:
    other = _of(replace(spec(folder), dtype="float64").load())
    with pytest.raises(ExactnessError, match="weights, precision, device"):
        require_same(credentials, other)
