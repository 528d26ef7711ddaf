"""Results as mindshare saves them: two tiny models on two prompts, an insertion, one prompt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mindshare.api.candidates import Loading
from mindshare.api.charts import shares
from mindshare.api.insertion import MAPS, insertion
from mindshare.prompts import Prompt
from mindshare.report.saved import SavedResults, read_saved
from mindshare.stats import Resampling

from ..models import tiny

CLASSES = {"hash": "#", "star": "*", "space": "whitespace"}
QUICK = {"loading": Loading(progress=False), "resampling": Resampling(resamples=200)}
NASTY = "see <script>alert(1)</script> ## * `a` |"
PROMPTS = [
    Prompt.from_text("map: # ** #\n * end", {"map": (5, 13)}, id="one"),
    Prompt.from_text(NASTY, {"map": (4, 12)}, id="two <b>"),
]


def beside(command: str, prompts: list[Prompt]) -> dict[str, str]:
    """The two files that say how to make results again."""
    rows = [json.dumps({"id": p.id, "text": p.text}, ensure_ascii=False) for p in prompts]
    return {
        "study.toml": f'command = "{command}"\nmodels = ["Base=base"]\ndata = "prompts.jsonl"\n',
        "prompts.jsonl": "\n".join(rows) + "\n",
    }


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("models")
    base = tiny.llama_folder(place / "base", initializer_range=0.3)
    tuned = tiny.lora_folder(place / "tuned", tiny.llama(), base_name=str(base))
    return {"Base": base, "Tuned": tuned}


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory, models: dict[str, Path]) -> dict[str, Path]:
    """`shares`, `insert` and `single`, each a folder."""
    place = tmp_path_factory.mktemp("results")
    one = {"Base": models["Base"]}
    charts = {
        "shares": (shares(models, PROMPTS, classes=CLASSES, **QUICK), PROMPTS),
        "single": (shares(one, PROMPTS[:1], classes=CLASSES, **QUICK), PROMPTS[:1]),
        "insert": (
            insertion(one, PROMPTS, insert="#*8", at="before:map", maps=MAPS, **QUICK),
            PROMPTS,
        ),
    }
    return {
        name: chart.save(place / name, beside=beside(name, prompts))
        for name, (chart, prompts) in charts.items()
    }


@pytest.fixture(scope="session")
def saved(results: dict[str, Path]) -> dict[str, SavedResults]:
    return {name: read_saved(folder) for name, folder in results.items()}
