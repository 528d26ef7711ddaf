"""Two tiny models that differ, a third with another tokenizer and more layers, and two prompts."""

from __future__ import annotations

from pathlib import Path

import pytest

from mindshare.models import LoadedModel, load
from mindshare.prompts import Prompt

from ..cli.tiny import tokenizer as merging_tokenizer
from ..models import tiny

CLASSES = {"hash": "#", "star": "*", "space": "whitespace"}


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """`base` and `tuned` read alike; `deeper` has one layer more, `other` merges ##."""
    place = tmp_path_factory.mktemp("charts")
    base = tiny.llama_folder(place / "base", initializer_range=0.3)
    tuned = tiny.lora_folder(place / "tuned", tiny.llama(), base_name=str(base))
    deeper = tiny.llama_folder(place / "deeper", num_hidden_layers=3)
    other = tiny.llama_folder(place / "other", vocab_size=300)
    merging_tokenizer().save_pretrained(other)
    return {"base": base, "tuned": tuned, "deeper": deeper, "other": other}


@pytest.fixture(scope="session")
def base(folders: dict[str, Path]) -> LoadedModel:
    return load(folders["base"], progress=False)


@pytest.fixture
def prompts() -> list[Prompt]:
    return [
        Prompt.from_text("map: # ** #\n * end", {"map": (5, 13)}, id="one"),
        Prompt.from_text("see ## and * here", {"map": (4, 12)}, id="two"),
    ]
