"""Which model, in words that travel: what `load` takes, without the model.

Knows nothing about who is going to load it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mindshare.models import LoadedModel, Reader


@dataclass(frozen=True)
class ModelSpec:
    """Plain values only, so that it can be sent to a worker."""

    reference: str
    adapter: str | None = None
    dtype: str = "float32"
    device: str | None = None
    device_map: Any = None
    trust_remote_code: bool = False

    def load(self, *, progress: bool = False) -> LoadedModel:
        from mindshare.models import load

        return load(
            self.reference,
            adapter=self.adapter,
            dtype=self.dtype,
            device=self.device,
            device_map=self.device_map,
            trust_remote_code=self.trust_remote_code,
            progress=progress,
        )

    def reader(self) -> Reader:
        """Its tokenizer, for whoever makes the jobs; no weights are read."""
        from mindshare.models.loading import load_reader
        from mindshare.models.pretrained import load_tokenizer

        reader = load_reader(
            self.reference, trust_remote_code=self.trust_remote_code, progress=False
        )
        own = None if self.adapter is None else load_tokenizer(_folder(self.adapter))
        return reader if own is None else replace(reader, tokenizer=own)

    @property
    def on_gpu(self) -> bool:
        """Whether it is going to need one."""
        return self.device_map is not None or (self.device or "cpu").startswith("cuda")


def _folder(adapter: str) -> Path:
    from mindshare.models.hub import folder_of
    from mindshare.models.reference import resolve

    path = Path(adapter).expanduser()
    return path if path.is_dir() else (resolve(adapter).path or folder_of(adapter))
