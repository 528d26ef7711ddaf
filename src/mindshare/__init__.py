"""Where a language model's attention goes, exactly, at nearly the price of a forward pass.

    import mindshare

    model = mindshare.load("smollm2")
    found = mindshare.measure(model, "Draw:\\n##\\n**\\n", classes={"hash": "#", "star": "*"})
    found.to_pandas()            # mass, share, density, expected, lift per layer, head and class
    found.save("results/first")  # Parquet tables and a manifest that says how they were made

Doors: `load` / `wrap` a model, `measure` prompts by token class, `shares` and `head_map` draw and
compare models, `parts` shows which part of a prompt gets how much, `insertion` what an inserted run
of tokens does, `knockout` what an answer loses without some tokens, `explore` opens a page to look
around on, `capture` takes tensors of your own, `read` opens saved results, `keep_memory` keeps
freed memory for the next pass. Names arrive on first use: importing mindshare imports neither torch
nor transformers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mindshare.api.charts import Chart, head_map, shares
    from mindshare.api.insertion import insertion
    from mindshare.api.knockout import knockout
    from mindshare.api.parts import parts
    from mindshare.attention.capture import Capture, CaptureOptions, capture
    from mindshare.errors import MindshareError
    from mindshare.models import LoadedModel, load, wrap
    from mindshare.models.processor import keep_memory
    from mindshare.prompts import Message, Prompt
    from mindshare.study import Measurement, Study, attention_window, measure
    from mindshare.study.measurement import read
    from mindshare.tokens import Classes, TokenClass

__version__ = "0.1.0"

_NAMES = {
    "api.charts": ("Chart", "head_map", "shares"),
    "api.insertion": ("insertion",),
    "api.knockout": ("knockout",),
    "api.parts": ("parts",),
    "attention.capture": ("Capture", "CaptureOptions", "capture"),
    "errors": ("MindshareError",),
    "models": ("LoadedModel", "load", "wrap"),
    "models.processor": ("keep_memory",),
    "prompts": ("Message", "Prompt"),
    "study": ("Measurement", "Study", "attention_window", "measure"),
    "study.measurement": ("read",),
    "tokens": ("Classes", "TokenClass"),
}
_HOME = {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names}
_HOME["explore"] = "mindshare_explore"  # a package of its own

__all__ = [
    "Capture",
    "CaptureOptions",
    "Chart",
    "Classes",
    "LoadedModel",
    "Measurement",
    "Message",
    "MindshareError",
    "Prompt",
    "Study",
    "TokenClass",
    "__version__",
    "attention_window",
    "capture",
    "explore",
    "head_map",
    "insertion",
    "keep_memory",
    "knockout",
    "load",
    "measure",
    "parts",
    "read",
    "shares",
    "wrap",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
