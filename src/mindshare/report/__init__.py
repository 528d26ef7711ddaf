"""Saved results → a report to read, and descriptions whose numbers can be checked.

    write_report([Path("results/maps")], Path("report"))   one HTML page; also Markdown and PDF
    describe(tables, kind="classes")                       the tables in words, five sections
    check_description(text, table)                         does a text say what the table says?
    compare_texts({"a": text, "b": text})                  where do texts contradict each other?
    read_numbers(path)                                     the table that a text is about

Made from tables, figures and manifests only: no model, no tensors.
"""

from __future__ import annotations

from mindshare.report.describing import (
    Description,
    check_description,
    compare_texts,
    describe,
    read_numbers,
)
from mindshare.report.writing import write_report

__all__ = [
    "Description",
    "check_description",
    "compare_texts",
    "describe",
    "read_numbers",
    "write_report",
]
