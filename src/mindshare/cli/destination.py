"""Where results go: decided and checked before a model is loaded, so that no work is lost.

Leaves nothing behind. What happens between this check and the writing is the writer's to report.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from mindshare.errors import OutputError
from mindshare.prompts import Prompt

RESULTS = Path("results")


def default_folder(model: str, prompts: Sequence[Prompt], **decides: str | None) -> Path:
    """`results/MODEL-HASH`: the same command always names the same folder."""
    name = re.sub(r"[^\w.-]+", "-", Path(model).name).strip("-.") or "model"
    content = [model, [asdict(replace(prompt, place=None)) for prompt in prompts], decides]
    text = json.dumps(content, sort_keys=True, default=str)
    return RESULTS / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def check_folder(path: Path, *, replace: bool) -> None:
    """Refuse a folder that results can't be written to."""
    from mindshare.folders import MANIFEST

    if os.path.lexists(path) and not (path / MANIFEST).is_file():
        raise OutputError(
            f"{path} exists already, and is not a folder of mindshare results to be replaced",
            next_step="choose another folder with --out",
        )
    if os.path.lexists(path) and not replace:
        raise OutputError(
            f"{path} exists already", next_step="add --replace, or choose another folder with --out"
        )
    _require_writable(path)


def _require_writable(path: Path) -> None:
    """Try it in the nearest folder above that exists: permission bits don't tell all."""
    above = next(p for p in path.absolute().parents if os.path.lexists(p))
    try:
        with tempfile.TemporaryDirectory(prefix=".mindshare-", dir=above):
            pass
    except OSError as error:
        raise OutputError(
            f"{path} can't be written: {above}: {error.strerror}",
            next_step="choose another folder with --out",
        ) from error
