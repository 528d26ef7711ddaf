"""A reference becomes a loaded model: the one pipeline behind `load`.

    resolve ─► (hub ─► folder) ─► (GGUF ─► folder) ─► read the base ─► (merge the adapter) ─► cast

Each step lives in a module of its own; this one only joins them and keeps the record. It does not
refuse models whose attention cannot be measured: that is decided where attention is observed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindshare.errors import AdapterError, ModelNotFoundError, nearest
from mindshare.models.adapter import adapter_files, base_of, merge_adapter
from mindshare.models.catalogue import EMBEDDED_HINT, names_here
from mindshare.models.conversion import convert, converted_folder, is_whole, read_note
from mindshare.models.facts import AttentionFacts, attention_facts, context_length_of
from mindshare.models.fingerprint import files_fingerprint
from mindshare.models.gguf_file import corrected_bos
from mindshare.models.hub import HubUnreachableError, folder_of
from mindshare.models.loaded import LoadedModel, Reader
from mindshare.models.narration import quiet_transformers, step
from mindshare.models.pretrained import (
    Options,
    checked_device,
    checked_dtype,
    load_pretrained,
    load_tokenizer,
    read_config,
    require_causal,
)
from mindshare.models.reference import Reference, is_adapter, resolve
from mindshare.models.weights import weight_files

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class _Parts:
    """A reference taken apart: a folder of plain weights, and adapters to merge, inner first."""

    name: str
    folder: Path
    adapters: tuple[Path, ...]


def load(
    ref: str | Path,
    *,
    adapter: str | Path | None = None,
    dtype: str | torch.dtype = "float32",
    device: str | torch.device | None = None,
    device_map: Any = None,
    trust_remote_code: bool = False,
    progress: bool = True,
) -> LoadedModel:
    """Load a model for measuring.

    `ref` is `smollm2` (the embedded model), a hub id, a folder, a `.gguf` file, or a folder that is
    a PEFT adapter; `adapter` is a PEFT folder (or hub id) to merge on top. Weights are float32
    unless `dtype` says otherwise (`"auto"`: as stored). Without `device` or `device_map` the model
    stays on the CPU. `trust_remote_code` runs Python code that comes with the model.
    """
    options = Options(
        dtype=checked_dtype(dtype),
        device=checked_device(device, device_map),
        device_map=device_map,
        trust_remote_code=trust_remote_code,
    )
    parts = _take_apart(resolve(ref), options, progress=progress)
    if adapter is not None:
        parts = replace(parts, adapters=(*parts.adapters, _adapter_folder(adapter)))
    with step(f"Loading {parts.name}", show=progress):
        model, tokenizer = _assemble(parts, options)
    return _on_record(model, tokenizer, parts, str(ref))


def load_reader(
    ref: str | Path, *, trust_remote_code: bool = False, progress: bool = True
) -> Reader:
    """Only the tokenizer of what `load` would load; no weights are read."""
    options = Options(dtype=checked_dtype("float32"), trust_remote_code=trust_remote_code)
    parts = _take_apart(resolve(ref), options, progress=progress)
    config = read_config(parts.folder, trust_remote_code=trust_remote_code)
    require_causal(config, where=str(parts.folder))
    found = [load_tokenizer(folder) for folder in (parts.folder, *parts.adapters)]
    tokenizer = next((one for one in reversed(found) if one is not None), None)
    note = read_note(parts.folder)
    return Reader(
        tokenizer=tokenizer,
        name=parts.name,
        add_bos=corrected_bos(note["add_bos"] if note else None, tokenizer),
        context_length=context_length_of(config),
    )


def describe(ref: str | Path, *, trust_remote_code: bool = False) -> AttentionFacts:
    """What the config of this reference says about its attention, without reading weights.

    A hub id that is not in the local cache is downloaded.
    """
    reference = resolve(ref)
    if reference.kind == "adapter":
        return describe(base_of(_path(reference)), trust_remote_code=trust_remote_code)
    if reference.kind == "gguf":
        return attention_facts(_gguf_config(_path(reference)))
    folder = _folder(reference, trust_remote_code=trust_remote_code)
    if is_adapter(folder):
        return describe(base_of(folder), trust_remote_code=trust_remote_code)
    return attention_facts(read_config(folder, trust_remote_code=trust_remote_code))


def _take_apart(
    reference: Reference, options: Options, *, progress: bool, above: tuple[Path, ...] = ()
) -> _Parts:
    """Follow adapters down to the weights they stand on."""
    if reference.kind == "gguf":
        return _Parts(reference.name, convert(_path(reference), progress=progress), ())
    folder = _folder(reference, trust_remote_code=options.trust_remote_code)
    if not is_adapter(folder):
        return _Parts(reference.name, folder, ())
    if folder.resolve() in above:
        raise AdapterError(
            "the adapter names itself as its base",
            where=str(folder / "adapter_config.json"),
            next_step="load its true base and pass this folder as adapter=",
        )
    base = resolve(base_of(folder))
    below = _take_apart(base, options, progress=progress, above=(*above, folder.resolve()))
    return replace(below, name=reference.name, adapters=(*below.adapters, folder))


def _assemble(parts: _Parts, options: Options) -> tuple[Any, Any]:
    if not parts.adapters:
        return load_pretrained(parts.folder, options)
    import torch

    # Merged in float32, cast afterwards: rounding the sum once loses less than rounding its terms.
    model, tokenizer = load_pretrained(parts.folder, replace(options, dtype=torch.float32))
    below = str((read_note(parts.folder) or {}).get("source", parts.folder.name))
    for folder in parts.adapters:
        model = merge_adapter(model, folder, base_name=below)
        tokenizer = load_tokenizer(folder) or tokenizer
        below = f"{below} + {folder.name}"
    return model.to(_final_dtype(parts.folder, options)).eval(), tokenizer


def _final_dtype(folder: Path, options: Options) -> Any:
    if options.dtype != "auto":
        return options.dtype
    stated = read_config(folder, trust_remote_code=options.trust_remote_code).dtype
    return checked_dtype(stated or "float32")


def _on_record(model: Any, tokenizer: Any, parts: _Parts, reference: str) -> LoadedModel:
    note = read_note(parts.folder)  # a conversion loaded by its own path is still that GGUF file
    asked = note["add_bos"] if note else None
    prints = [_base_fingerprint(parts.folder, note)]
    prints += [files_fingerprint(adapter_files(adapter)) for adapter in parts.adapters]
    top = parts.adapters[-1].name if parts.adapters else None
    return LoadedModel(
        model=model,
        tokenizer=tokenizer,
        reference=reference,
        name=parts.name if top in (None, parts.name) else f"{parts.name} + {top}",
        fingerprint="+".join(prints),
        add_bos=corrected_bos(asked, tokenizer),
        context_length=context_length_of(model.config),
        dtype=model.dtype,
        device=model.device,
        adapter=" + ".join(str(a) for a in parts.adapters) or None,
    )


def _base_fingerprint(folder: Path, note: dict[str, Any] | None) -> str:
    """The GGUF file's own hash for a conversion; else over the weights and the config they obey."""
    if note is not None:
        return f"sha256:{note['sha256']}"
    return files_fingerprint([*weight_files(folder), folder / "config.json"])


def _path(reference: Reference) -> Path:
    assert reference.path is not None, "only a hub id has no path"
    return reference.path


def _folder(reference: Reference, *, trust_remote_code: bool) -> Path:
    if reference.path is not None:
        return reference.path
    try:
        return folder_of(reference.text, trust_remote_code=trust_remote_code)
    except HubUnreachableError as error:
        here = names_here()
        raise ModelNotFoundError(
            f"{error.what}{nearest(reference.text, here)}",
            allowed=f"on this machine: {', '.join(here) or 'none'}; or a folder, or a .gguf file",
            next_step="check the name and the network" + ("" if here else f"; {EMBEDDED_HINT}"),
        ) from error


def _adapter_folder(adapter: str | Path) -> Path:
    path = Path(adapter).expanduser()
    if not path.is_dir():
        reference = resolve(adapter)
        path = reference.path or _folder(reference, trust_remote_code=False)
    adapter_files(path)
    return path


def _gguf_config(file: Path) -> Any:
    folder = converted_folder(file)
    if is_whole(folder):
        return read_config(folder)
    from transformers import AutoConfig

    from mindshare.models.gguf_file import read_header

    read_header(file)  # a broken file is named before transformers trips over it
    with quiet_transformers():
        return AutoConfig.from_pretrained(str(file.parent), gguf_file=file.name)
