"""Tables over prompts → charts that carry their numbers, their definition and their description.

Each kind is a function, for any table that has the columns:

    class_bars(summary)                        by layer, stacked if the measure adds up
    head_map(summary, "hash")                  layer × head of one model
    head_map(contrasted, "hash")               … or the difference between two models
    response_map(response_summary, "shape")    … or what an insertion does to each head
    layer_lines(by_layer, "retained")          a measure by layer, one line per model or condition
    sweep_curves(overall, conditions)          … or by length, text or place of an insertion
    profile_grid(aligned, sequence, places)    what each token receives, one column per head
    family_panel({"m": (sequence, places)})    … one panel per model
    text_strip(aligned)                        the prompt's own text, coloured by a change
    received_strip(received, tokens)           … or by what each token receives
    part_bars(summary, expected)               parts of a prompt, wordings side by side
    use_lines(mass, contribution, effect)      looked at, carried, used, by layer and class
    use_dots(uses, "hash")                     … head by head

    figure.save("results/first")               PNG, SVG, PDF and CSV; HTML, Parquet and JSON too
    redraw("results/first", {"width": "8.5cm"})    the same in another style

What a measure is called, where it is neutral and how its colours run comes from the registry of
measures. Nothing here measures, and nothing is loaded from outside, neither when drawing nor when
looking.
"""

from __future__ import annotations

from mindshare.figures.bars import ClassBarsOptions, class_bars
from mindshare.figures.colours import PALETTES
from mindshare.figures.figure import FORMATS, Figure, check_formats
from mindshare.figures.heat_map import HeadMapOptions, head_map, response_map
from mindshare.figures.lines import LineOptions, layer_lines, sweep_curves
from mindshare.figures.parts import PartBarsOptions, part_bars
from mindshare.figures.profile_panels import ProfileOptions
from mindshare.figures.profiles import family_panel, profile_grid
from mindshare.figures.redraw import check_names, redraw, saved_figure
from mindshare.figures.saving import save_figures
from mindshare.figures.theme import Style
from mindshare.figures.token_strip import TokenStripOptions, received_strip, text_strip
from mindshare.figures.uses import DotOptions, use_dots, use_lines

__all__ = [
    "FORMATS",
    "PALETTES",
    "ClassBarsOptions",
    "DotOptions",
    "Figure",
    "HeadMapOptions",
    "LineOptions",
    "PartBarsOptions",
    "ProfileOptions",
    "Style",
    "TokenStripOptions",
    "check_formats",
    "check_names",
    "class_bars",
    "family_panel",
    "head_map",
    "layer_lines",
    "part_bars",
    "profile_grid",
    "received_strip",
    "redraw",
    "response_map",
    "save_figures",
    "saved_figure",
    "sweep_curves",
    "text_strip",
    "use_dots",
    "use_lines",
]
