"""Every kind of chart, drawn from made-up tables in any style: what holds for all is tested."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from mindshare.figures import (
    ClassBarsOptions,
    DotOptions,
    Figure,
    HeadMapOptions,
    LineOptions,
    PartBarsOptions,
    ProfileOptions,
    TokenStripOptions,
    class_bars,
    family_panel,
    head_map,
    layer_lines,
    part_bars,
    profile_grid,
    received_strip,
    response_map,
    sweep_curves,
    text_strip,
    use_dots,
    use_lines,
)
from mindshare.stats import estimate, uses
from mindshare.tables import table

from .insertions import Inserted, Made, condition_rows, made, summarised
from .samples import contrasted, made_up, reading, summary

MODELS = ("SmolLM2-135M-Instruct", "Tuned")
CLASSES = ("hash", "star", "space")
SLASHES, RANDOM = "/ ×55", "random sentence ×55"
CELLS = [(i, j) for i in range(30) for j in range(9)]
PARTS = {"p1": "System message", "p2": "Examples", "p3": "Question of the user"}
Look = Any  # fields of `Style`


def _bars(**look: Look) -> Figure:
    return class_bars(reading(), ClassBarsOptions(**look))


def _layers(**look: Look) -> Figure:
    return class_bars(made_up(MODELS, 30), ClassBarsOptions(**look))


def _unstacked(**look: Look) -> Figure:
    return class_bars(made_up(MODELS, 30, measure="lift"), ClassBarsOptions(**look))


def _two_shares(**look: Look) -> Figure:
    content = made_up(MODELS, 30, measure="share", classes=("system", "maps"))
    return class_bars(content, ClassBarsOptions(**look))


def _difference_map(**look: Look) -> Figure:
    return head_map(contrasted(30, 9), "hash", HeadMapOptions(**look))


def _difference_lines(**look: Look) -> Figure:
    return layer_lines(contrasted(30, None), options=LineOptions(**look))


def _head_map(**look: Look) -> Figure:
    content = made_up(MODELS, 30, heads=range(9))
    return head_map(content, "hash", HeadMapOptions(model=MODELS[0], **look))


def _response_map(**look: Look) -> Figure:
    return response_map(summarised(CELLS), "amplitude", HeadMapOptions(**look))


def _conditions(**look: Look) -> Figure:
    layers = [(i, None) for i in range(30)]
    content = summarised(layers, conditions=(SLASHES, RANDOM))
    return layer_lines(content, "retained", LineOptions(**look))


def _sweep(**look: Look) -> Figure:
    lengths = [(f"/ ×{n}", "between", n) for n in (0, 10, 25, 40, 55)]
    content = summarised([(None, None)], conditions=[name for name, _, _ in lengths])
    return sweep_curves(content, condition_rows(lengths), LineOptions(**look))


def _inserted() -> Made:
    return made(conditions=(Inserted(merged=1), Inserted(RANDOM, token=" word")))


def _profiles(**look: Look) -> Figure:
    content = _inserted()
    chosen = {"model": "m", "prompt": "p1", "condition": SLASHES, "heads": [(0, 0), (0, 1), (0, 7)]}
    tables = (content.aligned, content.sequence, content.places)
    return profile_grid(*tables, ProfileOptions(**look), **chosen)


def _family(**look: Look) -> Figure:
    tables = {model: (_inserted().sequence, _inserted().places) for model in MODELS}
    return family_panel(
        tables,
        ProfileOptions(**look),
        prompt="p1",
        conditions=(SLASHES, RANDOM),
        heads=dict.fromkeys(MODELS, (0, 1)),
    )


def _text(**look: Look) -> Figure:
    content = made(62, conditions=(Inserted(merged=1),), cells=[(None, None)])
    return text_strip(
        content.aligned,
        TokenStripOptions(**look),
        model="m",
        prompt="p1",
        condition=SLASHES,
        places=content.places,
    )


def _received(**look: Look) -> Figure:
    places = made(62, cells=[(None, None)]).places.slice(0, 62)
    rng = np.random.default_rng(5)
    got = pa.table(
        {
            "queries": ["last"] * 62,
            "layer": pa.array([None] * 62, pa.int16()),
            "head": pa.array([None] * 62, pa.int16()),
            "position": list(range(62)),
            "received": rng.gamma(0.6, 0.03, 62),
            "n_queries": [61 - i for i in range(62)],
        }
    )
    return received_strip(got, places, TokenStripOptions(**look), model="m")


def _parts(**look: Look) -> Figure:
    masses = {"p1": 0.2, "p2": 0.1, "p3": 0.35, "other": 0.05, "first-token": 0.3}
    rows = [
        (wording, "last", None, None, part, share * (1.1 if wording == "B" else 1))
        for wording in ("A", "B")
        for part, share in masses.items()
    ]
    even = [(*row[:5], 0.2) for row in rows]
    options = PartBarsOptions(parts=PARTS, **look)
    return part_bars(summary(rows), summary(even, measure="expected"), options)


def _effects(scale: float) -> pa.Table:
    """What knocking out each class in each head takes away, in six prompts."""
    cells = list(itertools.product(range(6), range(12), range(6), CLASSES))
    rng = np.random.default_rng(6)
    mass = scale * rng.gamma(1, 0.05, len(cells))
    nothing = np.full(len(cells), np.nan)
    columns = dict(zip(("prompt", "layer", "head", "class"), zip(*cells, strict=True), strict=True))
    columns |= {"prompt": [f"p{i}" for i in columns["prompt"]], "queries": ["last"] * len(cells)}
    columns |= dict.fromkeys(("delta_logit", "kl", "flip", "correct", "n_tokens"), nothing)
    columns |= {"delta_logprob": -mass * rng.gamma(2, 0.5, len(cells)), "mass": mass}
    columns |= {"contribution": 0.8 * mass, "n_keys": [3] * len(cells)}
    return table("effects", columns, {})


def three_uses(*over: str) -> list[pa.Table]:
    """Mass, contribution and effect of two models, the second one looking three times as much."""
    tables = {model: _effects(scale) for model, scale in zip(MODELS, (1, 3), strict=True)}
    return [estimate(tables, n, over=over) for n in ("mass", "contribution", "delta_logprob")]


def _use_lines(**look: Look) -> Figure:
    return use_lines(*three_uses("heads"), LineOptions(**look))


def _use_dots(**look: Look) -> Figure:
    mass, contribution, effect = three_uses()
    return use_dots(uses(effect, mass, contribution), "star", DotOptions(model=MODELS[0], **look))


KINDS: dict[str, Callable[..., Figure]] = {
    "bars": _bars,
    "bars_all_layers": _layers,
    "bars_unstacked": _unstacked,
    "two_shares": _two_shares,
    "head_map": _head_map,
    "difference_map": _difference_map,
    "difference_by_layer": _difference_lines,
    "response_map": _response_map,
    "conditions_by_layer": _conditions,
    "sweep": _sweep,
    "profiles": _profiles,
    "family": _family,
    "text": _text,
    "received": _received,
    "parts": _parts,
    "use_lines": _use_lines,
    "use_dots": _use_dots,
}
