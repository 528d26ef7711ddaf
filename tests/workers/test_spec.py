from __future__ import annotations

import pickle
from pathlib import Path

from mindshare.workers.spec import ModelSpec
from tests.models import tiny
from tests.workers.asking import spec


def test_a_spec_travels_and_loads_what_it_names(folder: Path) -> None:
    there = pickle.loads(pickle.dumps(spec(folder)))
    assert there == spec(folder)
    assert there.load().name == "tiny-llama"


def test_the_reader_reads_like_the_model(folder: Path, tmp_path: Path) -> None:
    adapter = tiny.lora_folder(tmp_path / "lora", spec(folder).load().model)
    tiny.tokenizer().save_pretrained(adapter)
    for one in (spec(folder), ModelSpec(str(folder), adapter=str(adapter))):
        loaded, reader = one.load(), one.reader()
        assert reader.tokenizer.get_vocab() == loaded.tokenizer.get_vocab()  # type: ignore[union-attr]
        assert reader.context_length == loaded.context_length
        assert reader.add_bos == loaded.add_bos


def test_what_needs_a_gpu() -> None:
    assert not ModelSpec("m").on_gpu
    assert not ModelSpec("m", device="cpu").on_gpu
    assert ModelSpec("m", device="cuda:1").on_gpu
    assert ModelSpec("m", device_map="auto").on_gpu
