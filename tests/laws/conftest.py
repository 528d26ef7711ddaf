from __future__ import annotations

from tests.study.conftest import llama

__all__ = ["llama"]
