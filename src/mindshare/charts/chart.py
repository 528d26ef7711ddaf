"""A finished chart: its figures, the tables behind them, how they were made, what to know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindshare.figures import Figure, save_figures

if TYPE_CHECKING:
    import pyarrow as pa

    from mindshare.study import Measurement


@dataclass(frozen=True, repr=False)
class Chart:
    """`figures` to look at, `tables` to compute with, `notes` to read before either."""

    figures: tuple[Figure, ...]
    tables: Mapping[str, pa.Table]  # summary, B_minus_A, mass_…, tokens_…, classes_…
    measurements: Mapping[str, Measurement]  # by model label
    notes: tuple[str, ...]
    findings: tuple[str, ...] = ()  # what the numbers say, in sentences

    def __repr__(self) -> str:
        models = ", ".join(self.measurements)
        return f"Chart({', '.join(figure.name for figure in self.figures)}; models: {models})"

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        """A notebook shows the first figure."""
        return self.figures[0]._repr_mimebundle_(**options)

    def save(
        self,
        folder: str | Path,
        *,
        replace: bool = False,
        progress: Callable[[int, int], None] | None = None,
        beside: Mapping[str, str] | None = None,
        command: str | None = None,
    ) -> Path:
        """Every figure as PNG, SVG, PDF, HTML and JSON, all tables, a manifest; or nothing.

        `beside` are further text files, by name; `command` is what makes the same results again.
        """
        made = {label: dict(found.provenance) for label, found in self.measurements.items()}
        hashes = sorted({found["study_hash"] for found in made.values()})
        return save_figures(
            self.figures,
            folder,
            tables=self.tables,
            manifest={
                "models": made,
                "notes": list(self.notes),
                "findings": list(self.findings),
                "study": {
                    "hash": "+".join(hashes),
                    **({} if command is None else {"command": command}),
                },
            },
            replace=replace,
            progress=progress,
            beside=beside,
        )
