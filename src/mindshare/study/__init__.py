"""One frozen Study → a Measurement: encode, classify, one forward pass, tables with provenance."""

from __future__ import annotations

from mindshare.study.measurement import Measurement
from mindshare.study.pipeline import (
    as_prompts,
    check_selection,
    check_spans,
    encode_for,
    measure,
)
from mindshare.study.study import MEASURES, Study, build_study

__all__ = [
    "MEASURES",
    "Measurement",
    "Study",
    "as_prompts",
    "build_study",
    "check_selection",
    "check_spans",
    "encode_for",
    "measure",
]
