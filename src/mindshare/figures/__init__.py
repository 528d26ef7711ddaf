"""Tables over prompts → charts that carry their numbers, their definition and their description.

    figure = class_bars(summarise(masses))       token classes per layer, stacked, one bar a model
    figure = head_map(summary, "hash")           layer × head, one class of one model
    figure = head_map(contrasted, "hash")        … or the difference between two models
    figure.save("results/first")                 PNG, SVG, PDF, HTML, CSV, Parquet, Vega-Lite JSON

A chart kind is one module: a table goes in, a `Figure` with a Vega-Lite spec comes out. Nothing
here measures, and nothing is loaded from outside, neither when drawing nor when looking.
"""

from __future__ import annotations

from mindshare.figures.bars import ClassBarsOptions
from mindshare.figures.class_bars import class_bars
from mindshare.figures.figure import Figure, save_figures
from mindshare.figures.head_map import head_map
from mindshare.figures.heads import HeadMapOptions
from mindshare.figures.theme import PALETTES, Style

__all__ = [
    "PALETTES",
    "ClassBarsOptions",
    "Figure",
    "HeadMapOptions",
    "Style",
    "class_bars",
    "head_map",
    "save_figures",
]
