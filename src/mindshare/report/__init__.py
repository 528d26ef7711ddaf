"""Saved results → a report to read.

    write_report([Path("results/maps")], Path("report"))   one HTML page; also Markdown and PDF
    prepare(Path("results/maps"))                          a chapter ahead of its report

Made from tables, figures and manifests only: no model, no tensors.
"""

from __future__ import annotations

from mindshare.report.writing import prepare, write_report

__all__ = ["prepare", "write_report"]
