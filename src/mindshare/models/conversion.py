"""A GGUF file becomes a folder of float32 safetensors with tokenizer and chat template, once.

Unpacking takes half a minute, reading the result a moment, so the result is kept in the cache,
under the file's content hash and the versions that made it. One process converts while others
wait on its lock; the work happens in a directory beside the target that takes the target's name
only when every byte is on disk. So whatever is at the target is whole, and a killed conversion
leaves only a directory that the next one sweeps away. Does not know how folders are loaded.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mindshare.errors import ModelFileError, UnsupportedModelError
from mindshare.models.cache import cache_directory, file_sha256
from mindshare.models.gguf_file import GgufHeader, read_header
from mindshare.models.narration import quiet_transformers, step

CONVERTER_VERSION = 1
NOTE = "mindshare.json"
_UNFINISHED = ".unfinished-"
_TOKENIZER_BYTES = 64 * 2**20  # room for tokenizer files beside the weights


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
    _make_directory(target.parent)
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
        (folder / name).is_file() and (folder / name).stat().st_size == size
        for name, size in note["files"].items()
    )


def require_space(directory: Path, needed: int, *, what: str) -> None:
    """Refuse before starting what the disk cannot hold."""
    free = shutil.disk_usage(directory).free
    if free < needed:
        raise _no_space(directory, needed, what)


def _convert_into(target: Path, gguf: Path) -> None:
    _sweep(target)
    header = read_header(gguf)
    needed = header.float32_bytes + _TOKENIZER_BYTES
    require_space(target.parent, needed, what=gguf.name)
    unfinished = Path(tempfile.mkdtemp(prefix=f"{target.name}{_UNFINISHED}", dir=target.parent))
    try:
        model, tokenizer = _read(gguf, header)
        with _disk_trouble(target.parent, needed, gguf):
            _write(unfinished, model, tokenizer)
            _write_note(unfinished, gguf, header)
            _sync(unfinished)
            shutil.rmtree(target, ignore_errors=True)  # only ever a damaged one, see is_whole
            os.rename(unfinished, target)
            _sync_directory(target.parent)
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
    except (ValueError, KeyError, NotImplementedError, AttributeError) as error:
        raise UnsupportedModelError(
            f"transformers cannot read a {header.architecture!r} GGUF file: {error}",
            where=str(gguf),
            next_step="load the original model by its hub id or folder instead",
        ) from error
    _require_all_weights(report, gguf)
    return model, tokenizer


def _require_all_weights(report: dict[str, Any], gguf: Path) -> None:
    missing = sorted(report["missing_keys"])
    if missing:
        raise ModelFileError(
            f"{gguf.name} lacks {len(missing)} weights of its architecture, first {missing[0]!r}",
            where=str(gguf),
            next_step="get a complete GGUF file; made-up weights are never used",
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
        "title": header.title,
        "licence": header.licence,
        "architecture": header.architecture,
        "add_bos": header.add_bos,
        "bos_id": header.bos_id,
        "transformers": version("transformers"),
        "gguf": version("gguf"),
        "converter": CONVERTER_VERSION,
        "files": {file.name: file.stat().st_size for file in sorted(folder.iterdir())},
    }
    (folder / NOTE).write_text(json.dumps(note, indent=2), encoding="utf-8")


def _lock_of(target: Path) -> Any:
    from filelock import FileLock

    return FileLock(target.with_name(f"{target.name}.lock"))


def _sweep(target: Path) -> None:
    """Remove what dead conversions left: a directory whose lock nobody holds has no owner.

    Called with the target's own lock held, so its own leftovers have none.
    """
    from filelock import Timeout

    for leftover in target.parent.glob(f"*{_UNFINISHED}*"):
        owner = target.with_name(leftover.name.split(_UNFINISHED)[0])
        if owner == target:
            shutil.rmtree(leftover, ignore_errors=True)
            continue
        try:
            with _lock_of(owner).acquire(timeout=0):
                shutil.rmtree(leftover, ignore_errors=True)
        except Timeout:
            continue


def _sync(folder: Path) -> None:
    for file in folder.iterdir():
        with file.open("rb+") as stream:
            os.fsync(stream.fileno())
    _sync_directory(folder)


def _sync_directory(folder: Path) -> None:
    if os.name != "posix":  # elsewhere a directory cannot be opened
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _make_directory(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelFileError(
            f"the cache directory cannot be made: {error.strerror}",
            where=str(directory),
            next_step="set MINDSHARE_CACHE to a directory you can write to",
        ) from error


@contextmanager
def _disk_trouble(directory: Path, needed: int, gguf: Path) -> Iterator[None]:
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, SafetensorError) as error:
        raise _no_space(directory, needed, gguf.name, f": {error}") from error


def _no_space(directory: Path, needed: int, what: str, detail: str = "") -> ModelFileError:
    free = shutil.disk_usage(directory).free
    return ModelFileError(
        f"{what} could not be converted{detail}; it needs {needed / 1e6:,.0f} MB"
        f" and {free / 1e6:,.0f} MB are free",
        where=str(directory),
        next_step="free some space, or set MINDSHARE_CACHE to a directory on a larger disk",
    )
