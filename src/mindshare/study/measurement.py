"""What a study found: Arrow tables with full provenance, kept in memory or in a folder.

What decides the numbers stands in the tables' metadata too; what merely happened (time, machine)
only in the manifest, so that the tables of the same study are the same bytes.
"""

from __future__ import annotations

import json
import mmap
import platform
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindshare.attention.jobs import PromptResult
from mindshare.errors import MindshareError, PromptError, SelectionError, checked, nearest
from mindshare.folders import Texts, read_folder, write_folder
from mindshare.store.database import package_versions
from mindshare.study.backend import ModelIdentity
from mindshare.study.effect_rows import Rows
from mindshare.study.encoding import EncodedPrompt
from mindshare.study.rows import joined_rows, rows_of
from mindshare.study.study import AnyStudy, InsertionStudy
from mindshare.tables import DEFINITIONS, joined, table

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_ROWS = 65_536  # of a table that are made into Arrow at once …
_PROMPTS = 256  # … or the rows of so many prompts
_SHOWN = 1_000_000  # rows of a table that are averaged to be shown in a notebook
LISTED = 10_000  # prompts that a manifest lists; the table `prompts` has all of them


@dataclass(frozen=True, repr=False)
class Measurement:
    """Tables by name, each also an attribute: `.mass`, `.received`, `.heads`, `.tokens`, …"""

    tables: Mapping[str, pa.Table]
    provenance: Mapping[str, Any]

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {table.num_rows:,}" for name, table in self.tables.items())
        one = self.provenance.get("model")  # a folder of charts has several
        models = self.provenance.get("models", ()) if one is None else [one["name"]]
        return f"Measurement({', '.join(models)}; rows: {sizes})"

    def _repr_html_(self) -> str:
        """A notebook shows the mean of each class, and how to go on."""
        lines = [escape(repr(self))]
        mass = self.tables.get("mass")
        if mass is not None and 0 < mass.num_rows <= _SHOWN:
            asked = [("mass", "mean"), ("lift", "mean")]
            means = mass.group_by("class", use_threads=False).aggregate(asked).to_pylist()
            cells = (
                f"<tr><td>{escape(row['class'])}</td><td>{row['mass_mean']:.4f}</td>"
                f"<td>{row['lift_mean'] or float('nan'):.2f}</td></tr>"
                for row in means
            )
            head = "<tr><th>class</th><th>mass</th><th>lift</th></tr>"
            lines.append(f"<table>{head}{''.join(cells)}</table>means over all rows")
        doors = (".to_pandas()", ".table('tokens')", ".save(DIR)")
        more = ", ".join(f"<code>{door}</code>" for door in doors)
        return "<br>".join([*lines, f"go on: {more}"])

    def __getattr__(self, name: str) -> pa.Table:
        if name not in _ORDER:
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        return self.table(name)

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

    @checked
    def save(
        self,
        path: str | Path,
        *,
        replace: bool = False,
        beside: Texts | None = None,
    ) -> Path:
        """A folder of Parquet files and a manifest, whole or not at all.

        `beside` are further text files, by name.
        """
        manifest = {**self.provenance, "tables": sorted(self.tables)}
        return write_folder(Path(path), self.tables, manifest, replace=replace, beside=beside)

    def batches(self, name: str, columns: Iterable[str] | None = None) -> Iterator[pa.RecordBatch]:
        """One table a piece at a time: a table of a folder is not read as a whole."""
        chosen = None if columns is None else list(columns)
        stream = getattr(self.tables, "batches", None)
        if stream is not None and name in self.tables:
            yield from stream(name, chosen)
            return
        whole = self.table(name)
        yield from (whole if chosen is None else whole.select(chosen)).to_batches()


@checked
def read(path: str | Path) -> Measurement:
    """A saved measurement, with its tables and provenance; needs no model."""
    return Measurement(*read_folder(Path(path)))


class TableMaker:
    """Results of one model → rows of its tables, and what a manifest says of the whole."""

    def __init__(self, model: ModelIdentity, study: AnyStudy) -> None:
        self.model, self.study = model, study
        self.prompts: list[dict[str, Any]] = []  # the first `LISTED` ones
        self.count, self.tokens = 0, [0, 0]  # prompts; the fewest and most tokens of one
        self._kernels: dict[int, set[str]] = {}  # by layer, of all prompts
        self._shared = 0  # tokens that were computed for an earlier prompt
        self._beginning: tuple[int, ...] | None = None  # the token ids that all prompts begin with
        self._notes: set[str] = set()
        self._started = time.perf_counter()
        self._about = {
            "mindshare.model": model.name,
            "mindshare.fingerprint": model.fingerprint,
            "mindshare.dtype": model.dtype,
            "mindshare.study": study.hash,
            "mindshare.definition": json.dumps(study.to_dict(), sort_keys=True),
        }

    def pieces(
        self, results: Iterable[tuple[EncodedPrompt, list[PromptResult]]]
    ) -> Iterator[tuple[str, pa.Table]]:
        """(name, some more rows of that table), prompt after prompt."""
        waiting: dict[str, list[Rows]] = {}
        sizes: dict[str, int] = {}
        for prompt, of_jobs in results:
            self._count(prompt, of_jobs)
            for name, rows in rows_of(prompt, of_jobs, self.study).items():
                waiting.setdefault(name, []).append(rows)
                sizes[name] = sizes.get(name, 0) + len(rows["prompt"])
                if sizes[name] >= _ROWS or len(waiting[name]) >= _PROMPTS:
                    yield name, table(name, joined_rows(waiting[name]), self._about)
                    waiting[name], sizes[name] = [], 0
        for name, parts in waiting.items():
            if parts:
                yield name, table(name, joined_rows(parts), self._about)
        if not self.count:
            raise PromptError("none of the prompts can be measured", next_step="see the failures")

    def _count(self, prompt: EncodedPrompt, results: list[PromptResult]) -> None:
        tokens, bos = len(prompt.encoded), prompt.encoded.bos
        self.tokens = [min(self.tokens[0] or tokens, tokens), max(self.tokens[1], tokens)]
        self.count += 1
        self._notes.update(prompt.notes)
        ids = prompt.encoded.ids
        begin = ids if self._beginning is None else self._beginning
        differs = (n for n, pair in enumerate(zip(begin, ids, strict=False)) if len({*pair}) > 1)
        self._beginning = begin[: next(differs, len(ids))]
        for result in results:
            for layer, kernel in result.kernels.items():
                self._kernels.setdefault(layer, set()).add(kernel)
            self._shared += result.shared
        if self.count <= LISTED:
            facts = {"present": bos.present, "origin": bos.origin}
            self.prompts.append({"id": prompt.prompt.id, "tokens": tokens, "bos": facts})

    def collect(
        self,
        results: Iterable[tuple[EncodedPrompt, list[PromptResult]]],
        *,
        folder: Path | None = None,
    ) -> Measurement:
        """All tables: in memory, or in nameless files of a folder, from which they are mapped."""
        parts: dict[str, list[pa.Table] | _MappedTable] = {}
        for name, rows in self.pieces(results):
            if name not in parts:
                parts[name] = [] if folder is None else _MappedTable(folder, rows.schema)
            parts[name].append(rows)
        found = {name: parts[name] for name in _ORDER if name in parts}
        return Measurement(
            {name: x.table() if isinstance(x, _MappedTable) else joined(x)
             for name, x in found.items()},
            self.provenance(),
        )  # fmt: skip

    def provenance(self) -> dict[str, Any]:
        """The manifest of a measurement."""
        used = (one for of_layer in self._kernels.values() for one in of_layer)
        kernels = {name for one in used for name in one.split("+")}
        run: dict[str, Any] = {"kernels": sorted(kernels), "self_check": self.model.verdict}
        if isinstance(self.study, InsertionStudy):
            run["notes"] = sorted(self._notes)
        else:
            run["layers_seen"] = sorted(self._kernels)
        if getattr(self.study, "chunk_tokens", None) is not None:
            run["shared_tokens"] = self._shared
        elif hasattr(self.study, "chunk_tokens") and self.count > 1:  # what chunks would share
            run["common_tokens"] = len(self._beginning or ())
        run["wall_seconds"] = round(time.perf_counter() - self._started, 3)
        manifest = {
            "model": {
                "reference": self.model.reference,
                "name": self.model.name,
                "fingerprint": self.model.fingerprint,
                "adapter": self.model.adapter,
                "dtype": self.model.dtype,
                "device": self.model.device,
                "layers": self.model.facts.layers,
            },
            "study": self.study.to_dict(),
            "study_hash": self.study.hash,
            "definitions": DEFINITIONS,
            "prompts": self.prompts,
            "versions": package_versions()
            | {"platform": platform.platform(), "pyarrow": version("pyarrow")},
            "run": run,
        }
        if self.count > LISTED:
            manifest["all_prompts"] = {"count": self.count, "tokens": self.tokens}
        return manifest


class _MappedTable:
    """A table in a file without a name, which is freed with the last reader of the table.

    Pages of a mapped file are the operating system's to drop, so a table may exceed memory.
    """

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        import pyarrow as pa

        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self._writer = pa.ipc.new_file(self._file, schema)

    def append(self, rows: pa.Table) -> None:
        self._writer.write_table(rows)

    def table(self) -> pa.Table:
        import pyarrow as pa

        self._writer.close()
        self._file.flush()
        mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        self._file.close()
        return pa.ipc.open_file(pa.py_buffer(mapped)).read_all()


# As people meet them: what was measured, then the numbers, the largest table last.
_ORDER = (
    *("prompts", "tokens", "classes", "mass", "heads", "received"),
    *("conditions", "places", "sequence", "retained", "rescaling"),
    *("answers", "effects"),
)
