"""Where a language model's attention goes, exactly, at nearly the price of a forward pass.

    import mindshare

    model = mindshare.load("smollm2")
    found = mindshare.measure(model, "Draw:\\n##\\n**\\n", classes={"hash": "#", "star": "*"})
    found.to_pandas()            # mass, share, density, expected, lift per layer, head and class
    found.save("results/first")  # Parquet tables and a manifest that says how they were made

Doors: `load` / `wrap` a model, `measure` prompts by token class, `shares` and `head_map` draw and
compare models, `insertion` shows what an inserted run of tokens does, `capture` takes tensors of
your own, `read` opens saved results. Names arrive on first use: importing mindshare imports neither
torch nor transformers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mindshare.attention.capture import Capture, CaptureOptions, capture
    from mindshare.charts import Chart, head_map, insertion, shares
    from mindshare.errors import MindshareError
    from mindshare.models import LoadedModel, load, wrap
    from mindshare.prompts import Message, Prompt
    from mindshare.study import Measurement, Study, attention_window, measure
    from mindshare.study.measurement import read
    from mindshare.tokens import Classes, TokenClass

__version__ = "0.1.0"

_HOME = {
    "Capture": "attention.capture",
    "CaptureOptions": "attention.capture",
    "Chart": "charts",
    "Classes": "tokens",
    "LoadedModel": "models",
    "Measurement": "study",
    "Message": "prompts",
    "MindshareError": "errors",
    "Prompt": "prompts",
    "Study": "study",
    "TokenClass": "tokens",
    "attention_window": "study",
    "capture": "attention.capture",
    "head_map": "charts",
    "insertion": "charts",
    "load": "models",
    "measure": "study",
    "read": "study.measurement",
    "shares": "charts",
    "wrap": "models",
}

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
    "head_map",
    "insertion",
    "load",
    "measure",
    "read",
    "shares",
    "wrap",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
