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

from mindshare.study.respondent import Respondent
from mindshare.table import DEFINITIONS
from mindshare.tokens import Encoded

_PACKAGES = ("mindshare", "torch", "transformers", "tokenizers", "peft", "pyarrow", "numpy")


class Defined(Protocol):
    """What says what was measured: any kind of study."""

    @property
    def hash(self) -> str: ...
    def to_dict(self) -> dict[str, Any]: ...


def table_metadata(model: Respondent, study: Defined) -> dict[str, str]:
    """Goes into each table: enough to know what the numbers are."""
    return {
        "mindshare.model": model.name,
        "mindshare.fingerprint": model.fingerprint,
        "mindshare.dtype": model.dtype,
        "mindshare.study": study.hash,
        "mindshare.definition": json.dumps(study.to_dict(), sort_keys=True),
    }


def prompt_facts(encoded: Encoded) -> dict[str, Any]:
    bos = encoded.bos
    return {
        "id": encoded.prompt.id,
        "tokens": len(encoded),
        "bos": {"present": bos.present, "origin": bos.origin},
    }


def describe_run(
    model: Respondent, study: Defined, prompts: Sequence[dict[str, Any]], run: Mapping[str, Any]
) -> dict[str, Any]:
    """The manifest of a measurement; `prompts` are their facts."""
    return {
        "model": {
            "reference": model.reference,
            "name": model.name,
            "fingerprint": model.fingerprint,
            "adapter": model.adapter,
            "dtype": model.dtype,
            "device": model.device,
        },
        "study": study.to_dict(),
        "study_hash": study.hash,
        "definitions": DEFINITIONS,
        "prompts": list(prompts),
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
