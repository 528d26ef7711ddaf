"""A GGUF file is read, converted once, whole, and by one process."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from mindshare.errors import ModelFileError, UnsupportedModelError
from mindshare.models import LoadedModel
from mindshare.models.gguf import (
    convert,
    converted_folder,
    corrected_bos,
    is_whole,
    read_header,
    require_space,
)
from mindshare.models.reference import embedded_file

from . import tiny


def test_the_header_of_a_tiny_file(shared_gguf: Path) -> None:
    header = read_header(shared_gguf)
    assert (header.architecture, header.licence) == ("llama", "apache-2.0")
    assert (header.add_bos, header.has_tokenizer) == (True, True)
    weights = tiny.llama(tie_word_embeddings=True).num_parameters()
    assert header.float32_bytes == 4 * weights


@pytest.mark.parametrize("asked", [True, False, None])
def test_the_wish_for_a_bos_is_read_as_written(tmp_path: Path, asked: bool | None) -> None:
    assert read_header(tiny.gguf_file(tmp_path / "x.gguf", add_bos=asked)).add_bos is asked


def test_the_embedded_file_asks_for_no_bos(smollm2: LoadedModel) -> None:
    header = read_header(embedded_file())
    assert header.add_bos is False
    assert smollm2.tokenizer is not None
    assert smollm2.tokenizer.bos_token_id == 1


@pytest.mark.parametrize("kept", [0.01, 0.1, 0.5, 0.999])
def test_a_truncated_file(tmp_path: Path, shared_gguf: Path, kept: float) -> None:
    content = shared_gguf.read_bytes()
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(content[: int(len(content) * kept)])
    with pytest.raises(ModelFileError, match=r"cut\.gguf .* truncated or damaged") as caught:
        read_header(cut)
    assert "download or copy" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 something else entirely"])
def test_not_a_gguf_at_all(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "odd.gguf"
    file.write_bytes(content)
    with pytest.raises(ModelFileError, match="its first bytes are"):
        read_header(file)


def test_a_part_of_a_split_file(tmp_path: Path) -> None:
    import gguf

    writer = gguf.GGUFWriter(tmp_path / "part.gguf", "llama")
    writer.add_uint16("split.count", 3)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(ModelFileError, match="one of 3 parts"):
        read_header(tmp_path / "part.gguf")


def test_what_is_left_to_do_about_the_bos() -> None:
    from tokenizers.processors import TemplateProcessing

    plain, adding = tiny.tokenizer(), tiny.tokenizer()
    adding.backend_tokenizer.post_processor = TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 0)]
    )
    assert corrected_bos(True, plain) is True  # the file asks, the tokenizer forgets
    assert corrected_bos(True, adding) is None  # the tokenizer already does it
    assert corrected_bos(False, adding) is False
    assert corrected_bos(None, plain) is None
    assert corrected_bos(True, None) is None


# Conversion.


_CONVERT = """
import sys
from pathlib import Path
from mindshare.models.gguf import convert
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


@pytest.mark.parametrize("length", [2**40, 2**63])
def test_a_list_longer_than_the_file_is_refused_at_once(tmp_path: Path, length: int) -> None:
    """The reader alone goes on for ever, and fills the memory."""
    key, uint8, list_ = b"general.x", 0, 9
    field = struct.pack("<Q", len(key)) + key + struct.pack("<IIQ", list_, uint8, length)
    file = tmp_path / "long.gguf"
    file.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + field)
    with pytest.raises(ModelFileError, match="truncated or damaged"):
        read_header(file)


def test_two_processes_at_once(shared_gguf: Path) -> None:
    both = [_run(_CONVERT, shared_gguf), _run(_CONVERT, shared_gguf)]
    said = [process.communicate(timeout=600) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert said[0][0] == said[1][0]
    assert "model.safetensors" in said[0][0]
    # Where stderr is no terminal there is no bar, but a line about what takes long.
    assert all(line.startswith("mindshare: ") for _, err in said for line in err.splitlines())
    assert _leftovers() == []


# The kernel refuses to let any file grow past 16 kB, as a full disk would. In a process of its own:
# the limit would hold for the file the tests' own output may go to.
_CONVERT_ON_A_FULL_DISK = """
import resource, sys
from pathlib import Path
from mindshare.errors import ModelFileError
from mindshare.models.gguf import convert
resource.setrlimit(resource.RLIMIT_FSIZE, (16_384, 16_384))
try:
    convert(Path(sys.argv[1]))
except ModelFileError as error:
    print(error)
"""


def test_a_disk_that_fills_up_leaves_nothing(shared_gguf: Path) -> None:
    done = _run(_CONVERT_ON_A_FULL_DISK, shared_gguf)
    said, _ = done.communicate(timeout=600)
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
