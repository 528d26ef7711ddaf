"""A GGUF file becomes what its header says: architecture, size, and whether it asks for a BOS.

Also the check that a tokenizer made from it honours that wish. Reads the header, not the weights.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mindshare.errors import ModelFileError

_MARK = b"GGUF"
_FLOAT32_BYTES = 4


@dataclass(frozen=True)
class GgufHeader:
    """`add_bos` is the file's own wish, None where it says nothing. `float32_bytes` is what its
    weights take once unpacked.
    """

    architecture: str
    title: str | None
    licence: str | None
    add_bos: bool | None
    bos_id: int | None
    has_tokenizer: bool
    float32_bytes: int


def read_header(path: Path) -> GgufHeader:
    """The header, or a `ModelFileError` if the file is not whole."""
    reader = _open(path)
    split_count = _value(reader, "split.count")
    if split_count is not None and split_count > 1:
        raise ModelFileError(
            f"{path.name} is one of {split_count} parts of a split GGUF",
            where=str(path),
            next_step="join the parts with `llama-gguf-split --merge` and load the result",
        )
    architecture = _value(reader, "general.architecture")
    if architecture is None:
        raise _broken(path, "it names no architecture")
    add_bos = _value(reader, "tokenizer.ggml.add_bos_token")
    return GgufHeader(
        architecture=str(architecture),
        title=_value(reader, "general.name"),
        licence=_value(reader, "general.license"),
        add_bos=None if add_bos is None else bool(add_bos),
        bos_id=_value(reader, "tokenizer.ggml.bos_token_id"),
        has_tokenizer="tokenizer.ggml.tokens" in reader.fields,
        float32_bytes=_FLOAT32_BYTES * sum(int(t.n_elements) for t in reader.tensors),
    )


def corrected_bos(asked: bool | None, tokenizer: Any) -> bool | None:
    """What is left to do about the BOS: None where the tokenizer already does as the file asks."""
    if asked is None or tokenizer is None or tokenizer.bos_token_id is None:
        return None
    adds_one = tokenizer("a")["input_ids"][:1] == [tokenizer.bos_token_id]
    # A file that wants none says so even if the tokenizer agrees: chat templates read it too.
    return None if asked and adds_one else asked


def _open(path: Path) -> Any:
    from gguf import GGUFReader

    try:
        with path.open("rb") as stream:
            mark, size = stream.read(len(_MARK)), path.stat().st_size
    except OSError as error:
        raise _broken(path, error.strerror or "it cannot be read") from error
    if mark != _MARK:
        raise _broken(path, f"its first bytes are {mark!r}, not {_MARK!r}")
    try:
        return GGUFReader(path)
    # What a truncated file raises depends on the byte where it ends.
    except (ValueError, IndexError, KeyError, TypeError, OverflowError, struct.error) as error:
        detail = f" ({error})" if "version" in str(error) else ""
        raise _broken(path, f"it is truncated or damaged at {size:,} bytes{detail}") from error


def _value(reader: Any, key: str) -> Any:
    field = reader.get_field(key)
    return None if field is None else field.contents()


def _broken(path: Path, why: str) -> ModelFileError:
    return ModelFileError(
        f"{path.name} is not a whole GGUF file: {why}",
        where=str(path),
        next_step="download or copy the file again and compare its size with the original",
    )
