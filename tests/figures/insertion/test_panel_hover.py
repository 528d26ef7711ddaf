from __future__ import annotations

import numpy as np

from mindshare.figures.insertion.panel_hover import Series, hover
from mindshare.figures.insertion.versions import Profile


def series(received: list[float], token: str = "t") -> Series:
    n = len(received)
    tokens = tuple(f"{token}{i}" for i in range(n))
    counts = np.arange(n)[::-1]
    return Series("s", "#000000", Profile("c", np.arange(n), np.array(received), counts, tokens))


def test_a_bar_over_each_token_that_has_a_number() -> None:
    (layer,) = hover([series([0.1, np.nan, 0.3])], 100, shared=True)
    rows = layer["data"]["values"]
    assert [(row["from"], row["to"], row["token"]) for row in rows] == [
        (-0.5, 0.5, "t0"),
        (1.5, 2.5, "t2"),
    ]
    assert rows[1]["received0"] == "0.3"


def test_what_one_series_lacks_is_a_dash() -> None:
    (layer,) = hover([series([0.1]), series([0.2, 0.4], "u")], 100, shared=False)
    rows = layer["data"]["values"]
    assert (rows[0]["token0"], rows[0]["token1"]) == ("t0", "u0")
    assert (rows[1]["token0"], rows[1]["received0"], rows[1]["token1"]) == ("–", "–", "u1")


def test_below_a_pixel_the_highest_token_is_told() -> None:
    values = np.random.default_rng(0).random(1_000)
    values[777] = 5.0
    (layer,) = hover([series(values.tolist())], 50, shared=True)
    rows = layer["data"]["values"]
    assert len(rows) == 50
    assert "t777" in [row["token"] for row in rows]
    assert rows[0]["from"] == -0.5
    assert rows[-1]["to"] == 999.5


def test_no_number_no_layer() -> None:
    assert hover([series([np.nan])], 50, shared=True) == []
