"""A base model and a PEFT adapter folder become one plain model: the adapter is merged into it.

Merging (in float32, before any cast) leaves the base's own modules and attention path, so a merged
model is measured exactly like a plain one, at the same speed. What was merged stays on record in
the reference and the fingerprint. Does not know where base and adapter come from.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from mindshare.errors import AdapterError
from mindshare.models.weights import check_safetensors, read_json

_WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")


def adapter_files(folder: Path) -> tuple[Path, ...]:
    """The adapter's config and weights, checked to be whole."""
    config = folder / "adapter_config.json"
    weights = [folder / name for name in _WEIGHTS if (folder / name).is_file()]
    if not config.is_file() or not weights:
        raise AdapterError(
            f"the folder {str(folder)!r} is not a PEFT adapter",
            allowed="a folder with adapter_config.json and adapter_model.safetensors",
            next_step="point to the folder that peft's save_pretrained() wrote",
        )
    if weights[0].suffix == ".safetensors":
        check_safetensors(weights[0])
    return config, weights[0]


def base_of(folder: Path) -> str:
    """The base model the adapter names: as written, or relative to the adapter's own folder."""
    base = read_json(folder / "adapter_config.json").get("base_model_name_or_path")
    if not isinstance(base, str) or not base:
        raise AdapterError(
            "the adapter does not say which model it was trained on",
            where=str(folder / "adapter_config.json"),
            next_step="load its base and pass this folder as adapter=",
        )
    beside = folder / base
    return str(beside) if not Path(base).expanduser().exists() and beside.is_dir() else base


def merge_adapter(base: Any, folder: Path, *, base_name: str) -> Any:
    """The base with the adapter merged in. The base model object is used up."""
    _, weights_file = adapter_files(folder)
    stored = _stored_shapes(weights_file)
    fit = f"the adapter {folder.name!r} does not fit the base {base_name!r}"
    try:
        adapted = _adapted(base, folder)
        _require_same_shapes(adapted, stored, fit=fit, where=str(folder))
        # Merged in place and checked afterwards: peft's own check would copy every weight.
        changed = [m.base_layer for m in adapted.modules() if hasattr(m, "base_layer")]
        _own_memory(changed)
        merged = adapted.merge_and_unload()
        _require_finite(changed, fit=fit, where=str(folder))
        return merged
    except (ValueError, RuntimeError, KeyError, NotImplementedError, AttributeError) as error:
        raise AdapterError(
            f"{fit}: {_first_sentence(error)}",
            where=str(folder),
            next_step="load it on the base it was trained on",
        ) from error


def _adapted(base: Any, folder: Path) -> Any:
    from peft import PeftModel

    config = _adapter_config(folder)
    # It warns about weights it could not place; each of them is an error a moment later.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PeftModel.from_pretrained(
            base, str(folder), config=config, ignore_mismatched_sizes=True, low_cpu_mem_usage=True
        )


def _adapter_config(folder: Path) -> Any:
    from peft import PeftConfig

    try:
        config = PeftConfig.from_pretrained(str(folder))
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise AdapterError(
            f"adapter_config.json cannot be used: {_first_sentence(error)}",
            where=str(folder),
            next_step="upgrade peft, or save the adapter again",
        ) from error
    if config.is_prompt_learning:
        raise AdapterError(
            f"a {config.peft_type.value} adapter adds tokens that are not in the prompt",
            where=str(folder),
            allowed="adapters that change weights and can be merged, such as LoRA",
        )
    return config


def _stored_shapes(file: Path) -> dict[str, tuple[int, ...]]:
    if file.suffix == ".safetensors":
        from safetensors import safe_open

        with safe_open(file, framework="np") as stored:
            return {key: tuple(stored.get_slice(key).get_shape()) for key in stored.keys()}  # noqa: SIM118
    import torch

    try:
        content = torch.load(file, map_location="meta", weights_only=True)
    except Exception as error:  # a damaged pickle can raise anything
        raise AdapterError(f"{file.name} is corrupt: {error}", where=str(file)) from error
    return {key: tuple(tensor.shape) for key, tensor in content.items()}


def _require_same_shapes(
    adapted: Any, stored: dict[str, tuple[int, ...]], *, fit: str, where: str
) -> None:
    from peft import get_peft_model_state_dict

    state = get_peft_model_state_dict(adapted, save_embedding_layers=False)
    wanted = {key: tuple(tensor.shape) for key, tensor in state.items()}
    for key in sorted(wanted.keys() | stored.keys()):
        if key not in stored:
            detail = f"it has no {key}, which this base needs"
        elif key not in wanted and not _is_saved_embedding(key):
            detail = f"{key} has no place in this base"
        elif key in wanted and wanted[key] != stored[key]:
            detail = f"{key} is {stored[key]} in the adapter but {wanted[key]} for this base"
        else:
            continue
        raise AdapterError(
            f"{fit}: {detail}", where=where, next_step="load it on the base it was trained on"
        )


def _own_memory(modules: list[Any]) -> None:
    """Weights that are mapped from a file, in memory of their own.

    Writing to mapped pages copies them one by one, which took five times as long.
    """
    for module in modules:
        for parameter in module.parameters(recurse=False):
            parameter.data = parameter.data.clone()


def _require_finite(modules: list[Any], *, fit: str, where: str) -> None:
    import torch

    if all(bool(torch.isfinite(x).all()) for module in modules for x in module.parameters()):
        return
    raise AdapterError(
        f"{fit}: merging it gives weights that are not numbers",
        where=where,
        next_step="look for NaN or overflow in the adapter's training",
    )


def _is_saved_embedding(key: str) -> bool:
    """peft may store whole embeddings along with an adapter whose training changed them."""
    return "lora_" not in key and ("embed" in key or "lm_head" in key)


def _first_sentence(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
