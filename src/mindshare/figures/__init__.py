"""Tables over prompts → charts that carry their numbers, their definition and their description.

    figure = class_bars(summarise(masses))       token classes per layer, stacked, one bar a model
    figure = head_map(summary, "hash")           layer × head, one class of one model
    figure = head_map(contrasted, "hash")        … or the difference between two models
    figure.save("results/first")                 PNG, SVG, PDF, HTML, CSV, Parquet, Vega-Lite JSON

What an insertion does to attention, from the tables without and with it:

    profile_grid(aligned, sequence, places, …)   what each token receives, one column a head
    family_panel({"m": (sequence, places)}, …)   two insertions, one panel a model
    response_map(summary, "amplitude", …)        layer × head, one response number and a label
    layer_lines(by_layer, "retained")            one response number by layer
    text_strip(aligned, …)                       the prompt's own text, coloured by the change
    sweep_curves(overall, conditions)            response numbers by length, text or place

A chart kind is one module: a table goes in, a `Figure` with a Vega-Lite spec comes out. Nothing
here measures, and nothing is loaded from outside, neither when drawing nor when looking.
"""

from __future__ import annotations

from mindshare.figures.bars import ClassBarsOptions
from mindshare.figures.class_bars import class_bars
from mindshare.figures.figure import Figure, save_figures
from mindshare.figures.head_map import head_map
from mindshare.figures.heads import HeadMapOptions
from mindshare.figures.insertion.family_panel import FamilyPanelOptions, family_panel
from mindshare.figures.insertion.layer_lines import LayerLinesOptions, layer_lines
from mindshare.figures.insertion.profiles import ProfileGridOptions, profile_grid
from mindshare.figures.insertion.response_cells import ResponseMapOptions
from mindshare.figures.insertion.response_map import response_map
from mindshare.figures.insertion.strip import TextStripOptions
from mindshare.figures.insertion.sweep import sweep_curves
from mindshare.figures.insertion.sweep_points import SweepOptions
from mindshare.figures.insertion.text_strip import text_strip
from mindshare.figures.theme import PALETTES, Style

__all__ = [
    "PALETTES",
    "ClassBarsOptions",
    "FamilyPanelOptions",
    "Figure",
    "HeadMapOptions",
    "LayerLinesOptions",
    "ProfileGridOptions",
    "ResponseMapOptions",
    "Style",
    "SweepOptions",
    "TextStripOptions",
    "class_bars",
    "family_panel",
    "head_map",
    "layer_lines",
    "profile_grid",
    "response_map",
    "save_figures",
    "sweep_curves",
    "text_strip",
]
