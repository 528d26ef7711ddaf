"""One frozen Study → a Measurement: encode, classify, one forward pass, tables with provenance.

An `InsertionStudy` compares a prompt with versions of it: insert, align, one pass a version.
"""

from __future__ import annotations

from mindshare.study.answers import Progress, Shelf
from mindshare.study.encoding import as_prompts, check_selection, check_spans, encode_for
from mindshare.study.inserting import WITHOUT, InsertionStudy, build_insertion_study
from mindshare.study.insertion import measure_insertion
from mindshare.study.insertion_storing import fixed_insertion
from mindshare.study.measurement import Measurement
from mindshare.study.pipeline import Asking, measure
from mindshare.study.reading import fixed_parts
from mindshare.study.storing import Into, Keeping, Stored, write_tables
from mindshare.study.study import MEASURES, Study, build_study
from mindshare.study.versions import Version, Versions, read_versions
from mindshare.study.window import AttentionWindow, attention_window

__all__ = [
    "MEASURES",
    "WITHOUT",
    "Asking",
    "AttentionWindow",
    "InsertionStudy",
    "Into",
    "Keeping",
    "Measurement",
    "Progress",
    "Shelf",
    "Stored",
    "Study",
    "Version",
    "Versions",
    "as_prompts",
    "attention_window",
    "build_insertion_study",
    "build_study",
    "check_selection",
    "check_spans",
    "encode_for",
    "fixed_insertion",
    "fixed_parts",
    "measure",
    "measure_insertion",
    "read_versions",
    "write_tables",
]
