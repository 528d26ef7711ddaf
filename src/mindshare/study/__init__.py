"""One frozen study + a model + prompts → a Measurement: tables with provenance.

study        what to measure: Study, InsertionStudy, KnockoutStudy
encoding     prompts → tokens, classes, query sets, versions with an insertion → jobs
answers      what a knock-out asks of a prompt: answer, choices, queries
backend      who runs the passes
measurer     windows of prompts through a backend and a store of results
rows         results → rows of the tables
measurement  tables and their provenance
run          a run on disk, and the door `measure`
window       a square of the exact attention
"""

from __future__ import annotations

from mindshare.prompts.given import ChosenPrompts, Column, PromptSource, as_prompts
from mindshare.study.backend import Backend, LocalBackend, ModelIdentity
from mindshare.study.encoding import (
    EncodedPrompt,
    PromptEncoder,
    Tokenizer,
    check_selection,
    check_study,
    encode_for,
)
from mindshare.study.measurement import Measurement
from mindshare.study.measurer import Measurer
from mindshare.study.run import OpenRun, RunFolder, measure, write_tables
from mindshare.study.study import (
    AnyStudy,
    InsertionStudy,
    KnockoutStudy,
    Study,
    StudyParts,
    build_insertion_study,
    build_knockout_study,
    build_study,
)
from mindshare.study.window import AttentionWindow, attention_window

__all__ = [
    "AnyStudy",
    "AttentionWindow",
    "Backend",
    "ChosenPrompts",
    "Column",
    "EncodedPrompt",
    "InsertionStudy",
    "KnockoutStudy",
    "LocalBackend",
    "Measurement",
    "Measurer",
    "ModelIdentity",
    "OpenRun",
    "PromptEncoder",
    "PromptSource",
    "RunFolder",
    "Study",
    "StudyParts",
    "Tokenizer",
    "as_prompts",
    "attention_window",
    "build_insertion_study",
    "build_knockout_study",
    "build_study",
    "check_selection",
    "check_study",
    "encode_for",
    "measure",
    "write_tables",
]
