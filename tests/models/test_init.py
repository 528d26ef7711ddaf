from __future__ import annotations

import subprocess
import sys

_CHECK = """
import sys
import mindshare.models
mindshare.models.available()
mindshare.models.refusal("bloom")
heavy = {"torch", "transformers", "peft", "gguf"} & set(sys.modules)
assert not heavy, heavy
"""


def test_listing_models_imports_nothing_heavy() -> None:
    subprocess.run([sys.executable, "-c", _CHECK], check=True, timeout=600)
