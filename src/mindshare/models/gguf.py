"""A GGUF file becomes a folder of float32 safetensors with tokenizer and chat template, once.

Unpacking takes half a minute, reading the result a moment, so the result stays in the cache, under
the file's content hash and the versions that made it. One process converts while others wait on its
lock; it works in a directory beside the target, which takes the target's name when every byte is on
disk. So a folder at the target is whole, and a killed conversion leaves only a directory that the
next one removes.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from mindshare.disk import flush
from mindshare.errors import ModelFileError, UnsupportedModelError
from mindshare.models.files import cache_directory, file_sha256
from mindshare.models.pretrained import quiet_transformers, step

CONVERTER_VERSION = 1
NOTE = "mindshare.json"
_MARK = b"GGUF"
_DAMAGE = (ValueError, LookupError, TypeError, ArithmeticError, RecursionError)
_UNFINISHED = ".unfinished-"
_TOKENIZER_BYTES = 64 * 2**20  # room for tokenizer files beside the weights


@dataclass(frozen=True)
class GgufHeader:
    architecture: str
    licence: str | None
    add_bos: bool | None  # what the file asks for; None: it does not say
    has_tokenizer: bool
    float32_bytes: int  # of its weights once unpacked


def read_header(path: Path) -> GgufHeader:
    """The header, or a `ModelFileError` if the file is not whole."""
    with _naming_damage(path):
        return _header(path, _open(path))


def _header(path: Path, reader: Any) -> GgufHeader:
    def value(key: str) -> Any:
        field = reader.get_field(key)
        return None if field is None else field.contents()

    split_count = value("split.count")
    if split_count is not None and split_count > 1:
        raise ModelFileError(
            f"{path.name} is one of {split_count} parts of a split GGUF",
            where=str(path),
            next_step="join the parts with `llama-gguf-split --merge` and load the result",
        )
    architecture, add_bos = value("general.architecture"), value("tokenizer.ggml.add_bos_token")
    if architecture is None:
        raise _broken(path, "it names no architecture")
    return GgufHeader(
        architecture=str(architecture),
        licence=_text(value("general.license")),
        add_bos=None if add_bos is None else bool(add_bos),
        has_tokenizer="tokenizer.ggml.tokens" in reader.fields,
        float32_bytes=4 * sum(int(tensor.n_elements) for tensor in reader.tensors),
    )


def corrected_bos(asked: bool | None, tokenizer: Any) -> bool | None:
    """The `add_bos` of a loaded model: None where the tokenizer already does as the file asks."""
    if asked is None or tokenizer is None or tokenizer.bos_token_id is None:
        return None
    adds_one = tokenizer("a")["input_ids"][:1] == [tokenizer.bos_token_id]
    # A file that wants none says so even if the tokenizer agrees: chat templates read it too.
    return None if asked and adds_one else asked


def _open(path: Path) -> Any:
    from gguf import GGUFReader

    try:
        with path.open("rb") as stream:
            mark = stream.read(len(_MARK))
    except OSError as error:
        raise _broken(path, error.strerror or "it cannot be read") from error
    if mark != _MARK:
        raise _broken(path, f"its first bytes are {mark!r}, not {_MARK!r}")
    with path.open("rb") as stream:
        _require_lengths(stream, path.stat().st_size)
    return GGUFReader(path)


# Bytes of a value, by its type; the others are a text (8) and a list (9).
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_TEXT, _LIST = 8, 9


def _require_lengths(stream: IO[bytes], size: int) -> None:
    """Refuse fields that are longer than the file: the reader would go on for ever.

    Mark and version, 8 bytes; how many tensors and fields; then of each field its name, its type
    and its value. A text has its length before it, a list the type of its items and their number.
    """

    order = "<"

    def number(form: str) -> int:
        found: int = struct.unpack(order + form, stream.read(struct.calcsize(form)))[0]
        return found

    def skip(length: int) -> None:
        if length > size - stream.tell():
            raise ValueError("a field is longer than the file")
        stream.seek(length, os.SEEK_CUR)

    def value(kind: int) -> None:
        if kind != _LIST:
            skip(number("Q") if kind == _TEXT else _SIZES[kind])
            return
        items, count = number("I"), number("Q")
        if items in _SIZES:
            skip(_SIZES[items] * count)
        else:
            for _ in range(count):
                value(items)

    skip(4)
    order = "<" if number("I") & 0xFFFF else ">"  # its version is a small number
    skip(8)
    for _ in range(number("Q")):
        skip(number("Q"))
        value(number("I"))


@contextmanager
def _naming_damage(path: Path) -> Iterator[None]:
    """What a truncated or changed file raises depends on the byte where it ends or differs."""
    try:
        yield
    except (*_DAMAGE, struct.error) as error:
        size = path.stat().st_size
        detail = f" ({error})" if "version" in str(error) else ""
        raise _broken(path, f"it is truncated or damaged at {size:,} bytes{detail}") from error


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _broken(path: Path, why: str) -> ModelFileError:
    return ModelFileError(
        f"{path.name} is not a whole GGUF file: {why}",
        where=str(path),
        next_step="download or copy the file again and compare its size with the original",
    )


def conversions_directory() -> Path:
    return cache_directory() / "gguf"


def converted_folder(gguf: Path) -> Path:
    """Where this file's conversion is, or will be."""
    made_by = f"transformers{version('transformers')}-v{CONVERTER_VERSION}"
    return conversions_directory() / f"{file_sha256(gguf)[:32]}-{made_by}"


def convert(gguf: Path, *, progress: bool = True) -> Path:
    """The converted folder of this GGUF file, made now if it is not there yet."""
    target = converted_folder(gguf)
    if is_whole(target):
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelFileError(
            f"the cache directory cannot be made: {error.strerror}",
            where=str(target.parent),
            next_step="set MINDSHARE_CACHE to a directory you can write to",
        ) from error
    with step(f"Waiting for another process to convert {gguf.name}", show=progress):
        lock = _lock_of(target)
        lock.acquire()
    try:
        if not is_whole(target):
            with step(f"Converting {gguf.name} (once, about half a minute)", show=progress):
                _convert_into(target, gguf)
    finally:
        lock.release()
    return target


def read_note(folder: Path) -> dict[str, Any] | None:
    """What the conversion wrote about itself, or None where there is no finished conversion."""
    try:
        note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return note if isinstance(note, dict) and isinstance(note.get("files"), dict) else None


def is_whole(folder: Path) -> bool:
    """Whether each file that the conversion wrote is still there in its full length."""
    note = read_note(folder)
    return note is not None and all(
        os.path.isfile(folder / name) and (folder / name).stat().st_size == size
        for name, size in note["files"].items()
    )


def require_space(directory: Path, needed: int, *, what: str, problem: str = "") -> None:
    """Refuse what the disk cannot hold, or did not hold (`problem`); `needed` is in bytes."""
    free = shutil.disk_usage(directory).free
    if free < needed or problem:
        raise ModelFileError(
            f"{what} could not be converted{problem}; it needs {needed / 1e6:,.0f} MB"
            f" and {free / 1e6:,.0f} MB are free",
            where=str(directory),
            next_step="free some space, or set MINDSHARE_CACHE to a directory on a larger disk",
        )


def _convert_into(target: Path, gguf: Path) -> None:
    from safetensors import SafetensorError

    _remove_leftovers(target)
    header = read_header(gguf)
    needed = header.float32_bytes + _TOKENIZER_BYTES
    require_space(target.parent, needed, what=gguf.name)
    unfinished = Path(tempfile.mkdtemp(prefix=f"{target.name}{_UNFINISHED}", dir=target.parent))
    try:
        model, tokenizer = _read(gguf, header)
        _write(unfinished, model, tokenizer)
        _write_note(unfinished, gguf, header)
        for file in (*unfinished.iterdir(), unfinished):
            flush(file)
        shutil.rmtree(target, ignore_errors=True)  # only ever a damaged one, see is_whole
        os.rename(unfinished, target)
        flush(target.parent)
    except (OSError, SafetensorError) as error:
        require_space(target.parent, needed, what=gguf.name, problem=f": {error}")
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _read(gguf: Path, header: GgufHeader) -> tuple[Any, Any]:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    place = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    try:
        with quiet_transformers(), redirect_stderr(io.StringIO()):  # a bar it has no switch for
            model, report = AutoModelForCausalLM.from_pretrained(
                **place,
                dtype=torch.float32,
                attn_implementation="eager",  # named, or the model may fetch a kernel from the hub
                quantization_config=GgufConfig(dequantize=True),
                output_loading_info=True,
            )
            tokenizer = AutoTokenizer.from_pretrained(**place) if header.has_tokenizer else None
    except OSError:  # a full disk: the caller says how much is needed
        raise
    except Exception as error:  # by the field that is odd
        raise unreadable(gguf, header, error) from error
    missing = sorted(report["missing_keys"])
    if missing:
        raise ModelFileError(
            f"{gguf.name} lacks {len(missing)} weights of its architecture, first {missing[0]!r}",
            where=str(gguf),
            next_step="get a complete GGUF file; made-up weights are never used",
        )
    return model, tokenizer


def unreadable(gguf: Path, header: GgufHeader, error: Exception) -> UnsupportedModelError:
    """What transformers makes of an architecture, or of a field, that it does not know."""
    return UnsupportedModelError(
        f"transformers cannot read a {header.architecture!r:.80} GGUF file: {error!s:.300}",
        where=str(gguf),
        next_step="load the original model by its hub id or folder instead",
    )


def _write(folder: Path, model: Any, tokenizer: Any) -> None:
    # transformers refuses to save while it believes the weights are still packed.
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.hf_quantizer = None
    model.is_quantized = False
    with quiet_transformers():
        model.save_pretrained(folder)
        if tokenizer is not None:
            tokenizer.save_pretrained(folder)


def _write_note(folder: Path, gguf: Path, header: GgufHeader) -> None:
    note = {
        "source": gguf.name,
        "sha256": file_sha256(gguf),
        "licence": header.licence,
        "architecture": header.architecture,
        "add_bos": header.add_bos,
        "transformers": version("transformers"),
        "gguf": version("gguf"),
        "converter": CONVERTER_VERSION,
        "files": {file.name: file.stat().st_size for file in sorted(folder.iterdir())},
    }
    (folder / NOTE).write_text(json.dumps(note, indent=2), encoding="utf-8")


def _lock_of(target: Path) -> Any:
    from filelock import FileLock

    return FileLock(target.with_name(f"{target.name}.lock"))


def _remove_leftovers(target: Path) -> None:
    """Remove what dead conversions left: a directory whose lock nobody holds has no owner.

    Called with the target's own lock held, so its own leftovers have none.
    """
    from filelock import Timeout

    for leftover in target.parent.glob(f"*{_UNFINISHED}*"):
        owner = target.with_name(leftover.name.split(_UNFINISHED)[0])
        try:
            with nullcontext() if owner == target else _lock_of(owner).acquire(timeout=0):
                shutil.rmtree(leftover, ignore_errors=True)
        except Timeout:
            continue
