"""Who was measured, how, with what: the record that stands beside every table.

What decides the numbers goes into the tables' metadata too; what merely happened (time, machine)
only into the manifest, so that the tables of the same study are the same bytes.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

from mindshare.models import LoadedModel
from mindshare.table import DEFINITIONS
from mindshare.tokens import Encoded

_PACKAGES = ("mindshare", "torch", "transformers", "tokenizers", "peft", "pyarrow", "numpy")


class Defined(Protocol):
    """What says what was measured: any kind of study."""

    @property
    def hash(self) -> str: ...
    def to_dict(self) -> dict[str, Any]: ...


def table_metadata(loaded: LoadedModel, study: Defined) -> dict[str, str]:
    """Goes into each table: enough to know what the numbers are."""
    return {
        "mindshare.model": loaded.name,
        "mindshare.fingerprint": loaded.fingerprint,
        "mindshare.dtype": str(loaded.dtype).removeprefix("torch."),
        "mindshare.study": study.hash,
        "mindshare.definition": json.dumps(study.to_dict(), sort_keys=True),
    }


def describe_run(
    loaded: LoadedModel, study: Defined, encoded: Sequence[Encoded], run: Mapping[str, Any]
) -> dict[str, Any]:
    """The manifest of a measurement."""
    return {
        "model": {
            "reference": loaded.reference,
            "name": loaded.name,
            "fingerprint": loaded.fingerprint,
            "adapter": loaded.adapter,
            "dtype": str(loaded.dtype).removeprefix("torch."),
            "device": str(loaded.device),
        },
        "study": study.to_dict(),
        "study_hash": study.hash,
        "definitions": DEFINITIONS,
        "prompts": [
            {
                "id": item.prompt.id,
                "tokens": len(item),
                "bos": {"present": item.bos.present, "origin": item.bos.origin},
            }
            for item in encoded
        ],
        "seed": None,  # nothing here is random
        "versions": _versions(),
        "run": dict(run),
    }


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
