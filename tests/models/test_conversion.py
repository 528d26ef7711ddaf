from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from mindshare.errors import ModelFileError, UnsupportedModelError
from mindshare.models.conversion import convert, converted_folder, is_whole, require_space

from . import tiny

_CONVERT = """
import sys
from pathlib import Path
from mindshare.models.conversion import convert
folder = convert(Path(sys.argv[1]))
from hashlib import sha256
for file in sorted(folder.iterdir()):
    print(file.name, sha256(file.read_bytes()).hexdigest())
"""


def _run(script: str, gguf: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, str(gguf)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _leftovers() -> list[Path]:
    directory = Path(os.environ["MINDSHARE_CACHE"]) / "gguf"
    return list(directory.glob("*.unfinished-*"))


def _logits(model: Any) -> torch.Tensor:
    with torch.no_grad():
        return model(torch.arange(2, 20)[None]).logits  # type: ignore[no-any-return]


def _straight_from(gguf: Path) -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, dtype=torch.float32, attn_implementation="sdpa"
    )


def _from(folder: Path) -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder, attn_implementation="sdpa")


def test_the_converted_model_is_the_gguf_model(shared_gguf: Path) -> None:
    folder = convert(shared_gguf)
    assert torch.equal(_logits(_from(folder)), _logits(_straight_from(shared_gguf)))
    names = {file.name for file in folder.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "chat_template.jinja"} <= names
    note = json.loads((folder / "mindshare.json").read_text())
    assert (note["source"], note["add_bos"], note["architecture"]) == ("tiny.gguf", True, "llama")
    assert _leftovers() == []


def test_a_conversion_is_made_once(shared_gguf: Path, tmp_path: Path) -> None:
    first = convert(shared_gguf)
    made = (first / "model.safetensors").stat().st_mtime_ns
    elsewhere = Path(shutil.copy(shared_gguf, tmp_path / "other-name.gguf"))
    assert convert(elsewhere) == first  # the same content under another name
    assert (first / "model.safetensors").stat().st_mtime_ns == made


def test_a_damaged_conversion_is_made_again(shared_gguf: Path) -> None:
    folder = convert(shared_gguf)
    (folder / "model.safetensors").write_bytes(b"short")
    assert not is_whole(folder)
    assert is_whole(convert(shared_gguf))
    (folder / "mindshare.json").write_text("{")
    assert is_whole(convert(shared_gguf))


def _wait_for(process: subprocess.Popen[str], pattern: str) -> None:
    """Until something of that name is in the cache, or the process has ended."""
    directory = Path(os.environ["MINDSHARE_CACHE"]) / "gguf"
    deadline = time.monotonic() + 60
    while process.poll() is None and not list(directory.glob(pattern)):
        assert time.monotonic() < deadline
        time.sleep(0.0005)


# Killed when the work has begun, when the first file is there, and when the weights are there.
@pytest.mark.parametrize("moment", ["", "/config.json", "/model.safetensors"])
def test_a_killed_conversion_leaves_nothing_broken(shared_gguf: Path, moment: str) -> None:
    process = _run(_CONVERT, shared_gguf)
    _wait_for(process, f"*.unfinished-*{moment}")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    target = converted_folder(shared_gguf)
    assert is_whole(target) or (not target.exists() and len(_leftovers()) == 1)

    folder = convert(shared_gguf)
    assert torch.equal(_logits(_from(folder)), _logits(_straight_from(shared_gguf)))
    assert _leftovers() == []


def test_leftovers_of_other_files_go_too_unless_someone_is_at_work(
    shared_gguf: Path, cache: Path
) -> None:
    from filelock import FileLock

    dead, busy = (cache / "gguf" / f"{name}.unfinished-x" for name in ("dead", "busy"))
    dead.mkdir(parents=True)
    busy.mkdir()
    with FileLock(cache / "gguf" / "busy.lock"):
        convert(shared_gguf)
    assert _leftovers() == [busy]


def test_two_processes_at_once(shared_gguf: Path) -> None:
    both = [_run(_CONVERT, shared_gguf), _run(_CONVERT, shared_gguf)]
    said = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert said[0][0] == said[1][0]
    assert "model.safetensors" in said[0][0]
    assert said[0][1] == ""  # silent where stderr is no terminal
    assert _leftovers() == []


# The kernel refuses to let any file grow past 16 kB, as a full disk would. In a process of its own:
# the limit would hold for the file the tests' own output may go to.
_CONVERT_ON_A_FULL_DISK = """
import resource, sys
from pathlib import Path
from mindshare.errors import ModelFileError
from mindshare.models.conversion import convert
resource.setrlimit(resource.RLIMIT_FSIZE, (16_384, 16_384))
try:
    convert(Path(sys.argv[1]))
except ModelFileError as error:
    print(error)
"""


def test_a_disk_that_fills_up_leaves_nothing(shared_gguf: Path) -> None:
    done = _run(_CONVERT_ON_A_FULL_DISK, shared_gguf)
    said, _ = done.communicate(timeout=120)
    assert re.search(r"could not be converted.* MB are free", said, re.DOTALL), said
    assert "MINDSHARE_CACHE" in said
    assert _leftovers() == []
    assert not converted_folder(shared_gguf).exists()


def test_a_disk_too_small_is_refused_before_the_work(tmp_path: Path) -> None:
    require_space(tmp_path, 1, what="x.gguf")
    with pytest.raises(ModelFileError, match=r"it needs 1,000,000,000,000 MB"):
        require_space(tmp_path, 10**18, what="x.gguf")


def test_a_cache_that_cannot_be_made(
    shared_gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("MINDSHARE_CACHE", str(tmp_path / "file"))
    with pytest.raises(ModelFileError, match="cache directory cannot be made"):
        convert(shared_gguf)


def test_a_missing_weight_is_not_made_up(tmp_path: Path) -> None:
    lacking = tiny.gguf_file(tmp_path / "lacking.gguf", without="blk.1.ffn_up.weight")
    with pytest.raises(ModelFileError, match=r"lacks 1 weights.*layers\.1\.mlp\.up_proj"):
        convert(lacking)
    assert _leftovers() == []


def test_an_architecture_transformers_cannot_read(tmp_path: Path) -> None:
    import gguf

    writer = gguf.GGUFWriter(tmp_path / "odd.gguf", "clip")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(UnsupportedModelError, match="cannot read a 'clip' GGUF file"):
        convert(tmp_path / "odd.gguf")
