"""A reference, or a model in memory, becomes a `LoadedModel`: the model, its tokenizer, who it is.

    resolve ─► (hub ─► folder) ─► (GGUF ─► folder) ─► read the base ─► (merge the adapter) ─► cast

The steps are in the other modules; this one joins them. `load` does not refuse models whose
attention cannot be measured: that is decided where attention is observed. `check` refuses what is
known beforehand.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from mindshare.errors import AdapterError, ModelError, ModelNotFoundError, checked
from mindshare.models.facts import AttentionFacts, attention_facts, context_length_of
from mindshare.models.files import files_fingerprint, sampled_fingerprint, weight_files
from mindshare.models.gguf import (
    convert,
    converted_folder,
    corrected_bos,
    is_whole,
    read_header,
    read_note,
    unreadable,
)
from mindshare.models.pretrained import (
    Options,
    adapter_config,
    adapter_files,
    base_of,
    check_weights,
    checked_device,
    checked_dtype,
    load_pretrained,
    merge_adapter,
    quiet_transformers,
    read_config,
    read_tokenizer,
    require_causal,
    require_measurable,
    require_sane,
    step,
)
from mindshare.models.processor import strict_products, without_gc
from mindshare.models.reference import (
    Reference,
    is_adapter,
    local_path,
    resolve,
)

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


@dataclass(frozen=True, repr=False)
class LoadedModel:
    """A model ready to be measured.

    `fingerprint` says which weights these are: `sha256:…` over the content of the weight files
    (two of them joined by `+` for a base with an adapter), or `sampled:…` for a wrapped model.
    `add_bos` is what the model's own files ask for where transformers does not honour them: True
    means every prompt starts with exactly one BOS, False means none is added, None leaves it to
    the tokenizer.
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase | None
    reference: str
    name: str
    fingerprint: str
    add_bos: bool | None
    context_length: int | None
    dtype: torch.dtype
    device: torch.device
    adapter: str | None = None

    def __repr__(self) -> str:
        kind = type(self.model).__name__
        return f"LoadedModel({self.name}: {kind}, {self.dtype} on {self.device})"


@dataclass(frozen=True)
class ModelTokenizer:
    """A model's tokenizer without its weights: enough to see how the model would read a prompt."""

    tokenizer: PreTrainedTokenizerBase | None
    name: str
    add_bos: bool | None
    context_length: int | None


@dataclass(frozen=True)
class _Parts:
    """A reference taken apart: plain weights (a folder, or a GGUF file that `_unpacked` makes one
    of), and adapters to merge, inner first.
    """

    name: str
    folder: Path
    adapters: tuple[Path, ...]
    trust: bool  # whether Python code that comes with it may be run

    @property
    def folders(self) -> tuple[Path, ...]:
        return self.folder, *self.adapters


@checked
@without_gc()
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
    strict_products()
    options = Options(
        dtype=checked_dtype(dtype),
        device=checked_device(device, device_map),
        device_map=device_map,
        trust_remote_code=trust_remote_code,
    )
    parts = _unpacked(_parts_of(ref, adapter, trust=trust_remote_code), progress=progress)
    with step(f"Loading {parts.name}", show=progress):
        model = _assemble(parts, options)
        tokenizer = _previewed.pop(_tokenizer_key(parts), None)
        if tokenizer is None:
            tokenizer = _tokenizer_of(parts)
    return _loaded(model, tokenizer, parts, str(ref))


@without_gc()
def load_tokenizer(
    ref: str | Path,
    *,
    adapter: str | Path | None = None,
    trust_remote_code: bool = False,
    progress: bool = True,
) -> ModelTokenizer:
    """Only the tokenizer of what `load` would load; no weights are read."""
    parts = _unpacked(_parts_of(ref, adapter, trust=trust_remote_code), progress=progress)
    config = _config_of(parts)
    require_causal(config, where=str(parts.folder))
    tokenizer = _tokenizer_of(parts)
    if tokenizer is not None:
        _previewed[_tokenizer_key(parts)] = tokenizer
    note = read_note(parts.folder)
    return ModelTokenizer(
        tokenizer=tokenizer,
        name=parts.name,
        add_bos=corrected_bos(note["add_bos"] if note else None, tokenizer),
        context_length=context_length_of(config),
    )


def describe(ref: str | Path, *, trust_remote_code: bool = False) -> AttentionFacts:
    """What the config of this reference says about its attention, without reading weights.

    A hub id that is not in the local cache is downloaded.
    """
    return attention_facts(_config_of(_parts_of(ref, None, trust=trust_remote_code)))


@without_gc()
def check(
    ref: str | Path,
    *,
    adapter: str | Path | None = None,
    dtype: str | torch.dtype = "float32",
    device: str | torch.device | None = None,
    trust_remote_code: bool = False,
) -> AttentionFacts:
    """The same, of a model that is going to be measured: what can't be is refused before any
    weights are read. That is a file that is missing or cut short, an adapter without its base or of
    a kind that can't be merged, a model type known not to be measured exactly, a device that is
    not there.
    """
    checked_device(device, None)
    checked_dtype(dtype)
    parts = _parts_of(ref, adapter, trust=trust_remote_code)
    config = _config_of(parts)
    require_causal(config, where=str(parts.folder))
    require_measurable(config, where=str(parts.folder))
    if os.path.isdir(parts.folder):
        check_weights(parts.folder)
    for folder in parts.adapters:
        adapter_files(folder)
        adapter_config(folder)
    return attention_facts(config)


def wrap(hf_model: Any, tokenizer: Any = None, *, name: str | None = None) -> LoadedModel:
    """A model you already have. Nothing about it is changed, not even its training mode.

    Its fingerprint is a sample (see `sampled_fingerprint`), not a hash of every weight.
    """
    from transformers import PreTrainedModel

    inner = _inner_model(hf_model)
    if not isinstance(inner, PreTrainedModel):
        raise ModelError(
            f"{type(inner).__name__} is not a transformers model",
            allowed="an instance of transformers.PreTrainedModel",
            next_step="load one with mindshare.load(...) or transformers' from_pretrained(...)",
        )
    path = str(getattr(inner.config, "name_or_path", "") or "").replace("\\", "/").rstrip("/")
    name = name or path.rsplit("/", 1)[-1] or type(inner).__name__
    return LoadedModel(
        model=inner,
        tokenizer=tokenizer,
        reference=f"in memory: {name}",
        name=name,
        fingerprint=sampled_fingerprint(inner),
        add_bos=None,
        context_length=context_length_of(inner.config),
        dtype=inner.dtype,
        device=inner.device,
    )


def _inner_model(hf_model: Any) -> Any:
    """A PEFT wrapper holds a transformers model with the adapter inside: measure that one."""
    active = getattr(hf_model, "active_peft_config", None)
    if active is None or not hasattr(hf_model, "get_base_model"):
        return hf_model
    if getattr(active, "is_prompt_learning", False):
        raise ModelError(
            f"a {active.peft_type.value} adapter adds tokens that are not in the prompt",
            allowed="adapters that change weights, such as LoRA",
            next_step="wrap the base model, or one with the adapter merged",
        )
    return hf_model.get_base_model()


def _parts_of(ref: str | Path, adapter: str | Path | None, *, trust: bool) -> _Parts:
    """Find everything; an adapter given beside the model is merged last."""
    parts = _follow(resolve(ref), trust=trust)
    if adapter is None:
        return parts
    on_top = Path(os.path.expanduser(adapter))
    if not os.path.isdir(on_top):
        on_top = local_path(resolve(adapter))
    adapter_files(on_top)  # refuse what is no adapter before the base is read
    return replace(parts, adapters=(*parts.adapters, on_top))


def _follow(reference: Reference, *, trust: bool, above: tuple[Path, ...] = ()) -> _Parts:
    """Follow adapters down to the weights they stand on."""
    folder = local_path(reference, trust_remote_code=trust)
    if reference.kind == "gguf" or not is_adapter(folder):
        return _Parts(reference.name, folder, (), trust)
    config = folder / "adapter_config.json"
    if folder.resolve() in above:
        raise AdapterError(
            "the adapter names itself as its base",
            where=str(config),
            next_step="load its true base and pass this folder as adapter=",
        )
    try:
        base = resolve(base_of(folder))
        below = _follow(base, trust=trust, above=(*above, folder.resolve()))
    except ModelNotFoundError as error:
        raise AdapterError(
            f"the base of the adapter {folder.name!r} is not there: {error.what}",
            where=f"base_model_name_or_path of {config}",
            next_step=f"name the base yourself: BASE --adapter {folder} (in Python adapter=), or "
            "correct that line",
        ) from error
    return replace(below, name=reference.name, adapters=(*below.adapters, folder))


def _unpacked(parts: _Parts, *, progress: bool) -> _Parts:
    """With a folder in place of a GGUF file, converted now if it is not yet."""
    if os.path.isdir(parts.folder):
        return parts
    return replace(parts, folder=convert(parts.folder, progress=progress))


def _config_of(parts: _Parts) -> Any:
    if os.path.isdir(parts.folder):
        return read_config(parts.folder, trust_remote_code=parts.trust)
    return _gguf_config(parts.folder)


# What `load_tokenizer` gave and someone still has, for the model that is loaded next: a command
# reads its prompts before the weights, and reading 49,000 tokens again takes 0.3 s.
_previewed: WeakValueDictionary[tuple[Any, ...], Any] = WeakValueDictionary()


def _tokenizer_key(parts: _Parts) -> tuple[Any, ...]:
    """All files that a tokenizer may be made of, chat templates among them, as they are now."""
    kinds = ("*.json", "*.jinja", "*.model", "*.txt")
    files = [one for folder in parts.folders for kind in kinds for one in Path(folder).glob(kind)]
    stats = [(file, file.stat()) for file in sorted(files)]
    return parts.trust, *((file, x.st_size, x.st_mtime_ns) for file, x in stats)


def _tokenizer_of(parts: _Parts) -> Any:
    """The last that there is: an adapter may bring one of its own."""
    every = [read_tokenizer(folder, trust_remote_code=parts.trust) for folder in parts.folders]
    return next((one for one in reversed(every) if one is not None), None)


def _assemble(parts: _Parts, options: Options) -> Any:
    if not parts.adapters:
        return load_pretrained(parts.folder, options)
    import torch

    # Merged in float32, cast afterwards: rounding the sum once loses less than rounding its terms.
    model = load_pretrained(parts.folder, replace(options, dtype=torch.float32))
    below = str((read_note(parts.folder) or {}).get("source", parts.folder.name))
    for folder in parts.adapters:
        model = merge_adapter(model, folder, base_name=below)
        below = f"{below} + {folder.name}"
    dtype = options.dtype
    if dtype == "auto":
        dtype = checked_dtype(_config_of(parts).dtype or "float32")
    return model.to(dtype).eval()


def _loaded(model: Any, tokenizer: Any, parts: _Parts, reference: str) -> LoadedModel:
    note = read_note(parts.folder)  # a conversion loaded by its own path is still that GGUF file
    if note is not None:
        base = f"sha256:{note['sha256']}"
    else:  # the weights, and the config that says how they are used
        base = files_fingerprint([*weight_files(parts.folder), parts.folder / "config.json"])
    fingerprints = [base, *(files_fingerprint(adapter_files(folder)) for folder in parts.adapters)]
    top = parts.adapters[-1].name if parts.adapters else None
    return LoadedModel(
        model=model,
        tokenizer=tokenizer,
        reference=reference,
        name=parts.name if top in (None, parts.name) else f"{parts.name} + {top}",
        fingerprint="+".join(fingerprints),
        add_bos=corrected_bos(note["add_bos"] if note else None, tokenizer),
        context_length=context_length_of(model.config),
        dtype=model.dtype,
        device=model.device,
        adapter=" + ".join(str(a) for a in parts.adapters) or None,
    )


def _gguf_config(file: Path) -> Any:
    folder = converted_folder(file)
    if is_whole(folder):
        return read_config(folder)
    from transformers import AutoConfig

    header = read_header(file)  # a broken file is named before transformers trips over it
    try:
        with quiet_transformers():
            config = AutoConfig.from_pretrained(str(file.parent), gguf_file=file.name)
    except Exception as error:  # by the field that is odd
        raise unreadable(file, header, error) from error
    require_sane(config.to_dict(), file)
    return config
