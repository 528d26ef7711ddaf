"""What a study found: Arrow tables with full provenance, kept in memory or in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindshare.errors import MindshareError, SelectionError, nearest
from mindshare.folders import read_folder, write_folder
from mindshare.table import DEFINITIONS

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


@dataclass(frozen=True, repr=False)
class Measurement:
    """Tables by name, each also an attribute: `.mass`, `.received`, `.heads`, `.tokens`, …"""

    tables: Mapping[str, pa.Table]
    provenance: Mapping[str, Any]

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {table.num_rows:,}" for name, table in self.tables.items())
        return f"Measurement({self.provenance['model']['name']}; rows: {sizes})"

    @property
    def mass(self) -> pa.Table:
        return self.table("mass")

    @property
    def heads(self) -> pa.Table:
        return self.table("heads")

    @property
    def received(self) -> pa.Table:
        return self.table("received")

    @property
    def tokens(self) -> pa.Table:
        return self.table("tokens")

    @property
    def classes(self) -> pa.Table:
        return self.table("classes")

    @property
    def prompts(self) -> pa.Table:
        return self.table("prompts")

    def table(self, name: str) -> pa.Table:
        if name not in self.tables:
            raise SelectionError(
                f"there is no table {name!r} in this measurement{nearest(name, self.tables)}",
                allowed=", ".join(self.tables),
                next_step="ask for it when measuring, e.g. measures=['mass', 'received']",
            )
        return self.tables[name]

    def to_pandas(self, name: str = "mass") -> pd.DataFrame:
        """One table as a DataFrame; its definitions are in `.attrs`."""
        try:
            import pandas  # noqa: F401
        except ImportError as error:
            raise MindshareError(
                "pandas is not installed", next_step="pip install 'mindshare[pandas]'"
            ) from error
        frame: pd.DataFrame = self.table(name).to_pandas()
        frame.attrs["definitions"] = {c: DEFINITIONS[c] for c in frame.columns}
        return frame

    def save(
        self,
        path: str | Path,
        *,
        replace: bool = False,
        beside: Mapping[str, str] | None = None,
    ) -> Path:
        """A folder of Parquet files and a manifest, whole or not at all.

        `beside` are further text files, by name.
        """
        manifest = {**self.provenance, "tables": sorted(self.tables)}
        return write_folder(Path(path), self.tables, manifest, replace=replace, beside=beside)

    @classmethod
    def read(cls, path: str | Path) -> Measurement:
        tables, manifest = read_folder(Path(path))
        return cls(tables, manifest)


def read(path: str | Path) -> Measurement:
    """A saved measurement, with its tables and provenance; needs no model."""
    return Measurement.read(path)
