from __future__ import annotations

from pathlib import Path

import pytest

from mindshare.errors import ModelFileError
from mindshare.models import LoadedModel
from mindshare.models.gguf_file import corrected_bos, read_header
from mindshare.models.reference import embedded_file

from . import tiny


def test_the_header_of_a_tiny_file(shared_gguf: Path) -> None:
    header = read_header(shared_gguf)
    assert (header.architecture, header.title, header.licence) == ("llama", "tiny", "apache-2.0")
    assert (header.add_bos, header.bos_id, header.has_tokenizer) == (True, 0, True)
    weights = tiny.llama(tie_word_embeddings=True).num_parameters()
    assert header.float32_bytes == 4 * weights


@pytest.mark.parametrize("asked", [True, False, None])
def test_the_wish_for_a_bos_is_read_as_written(tmp_path: Path, asked: bool | None) -> None:
    assert read_header(tiny.gguf_file(tmp_path / "x.gguf", add_bos=asked)).add_bos is asked


def test_the_embedded_file_asks_for_no_bos(smollm2: LoadedModel) -> None:
    header = read_header(embedded_file())
    assert (header.add_bos, header.bos_id) == (False, 1)
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
