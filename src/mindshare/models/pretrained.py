"""A folder in transformers' own layout becomes a model and a tokenizer, or one clear error; a PEFT
adapter folder is merged into it.

Every weight must come from the files: whatever transformers would fill with random numbers, drop,
or resize is an error here, and a missing or truncated file is named before transformers trips
over it. Merging (in float32, before any cast) leaves the base's own modules and attention path, so
that a merged model is measured exactly like a plain one, at the same speed.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindshare.errors import (
    AdapterError,
    ModelError,
    ModelFileError,
    UnsupportedModelError,
    first_line,
    harmless,
    nearest,
)
from mindshare.models.facts import ENCODER, ENCODER_DECODER, config_refusal
from mindshare.models.files import check_safetensors, read_json, weight_files

if TYPE_CHECKING:
    import torch

_TOKENIZER_FILES = (
    *("tokenizer.json", "tokenizer_config.json", "tokenizer.model", "spiece.model"),
    *("vocab.json", "vocab.txt", "tekken.json"),
)
# Far more than any model has; beyond that, building one takes hours or all memory.
MOST = {
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers"), 10_000),
    **dict.fromkeys(("num_attention_heads", "n_head", "num_heads", "num_key_value_heads"), 100_000),
    **dict.fromkeys(("hidden_size", "n_embd", "d_model", "head_dim"), 1_000_000),
    **dict.fromkeys(("intermediate_size", "n_inner", "ffn_dim"), 10_000_000),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 100_000),
    "vocab_size": 100_000_000,
}
_ADAPTER_WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")
_DTYPES = ("auto", "float32", "bfloat16", "float16", "float64")
SLOW = 5.0  # seconds


@dataclass(frozen=True)
class Options:
    """How a model is to be loaded, checked."""

    dtype: torch.dtype | str
    device: str | torch.device | None = None
    device_map: Any = None
    trust_remote_code: bool = False


def load_pretrained(folder: Path, options: Options) -> Any:
    """The model of a folder."""
    config = read_config(folder, trust_remote_code=options.trust_remote_code)
    require_causal(config, where=str(folder))
    check_weights(folder)
    model = _load_model(folder, config, options)
    if options.device is not None:
        model.to(options.device)
    return model.eval()


def check_weights(folder: Path) -> None:
    """Refuse a folder whose weights are missing or cut short, by the heads of its files.

    Weights with an adapter beside them are refused: transformers would put the two together, and
    the weights' hash would stand for both.
    """
    if os.path.lexists(folder / "adapter_config.json"):
        raise ModelFileError(
            "the folder holds weights and adapter_config.json: a model and an adapter in one",
            where=str(folder),
            next_step="move the adapter's files to a folder of their own, and name it with "
            "--adapter",
        )
    for file in weight_files(folder):
        if file.suffix == ".safetensors":
            check_safetensors(file)


def read_config(folder: Path, *, trust_remote_code: bool = False) -> Any:
    """The folder's config, without reading weights."""
    from transformers import AutoConfig

    written = read_json(folder / "config.json")
    require_sane(written, folder / "config.json")
    try:
        with quiet_transformers():
            return AutoConfig.from_pretrained(str(folder), trust_remote_code=trust_remote_code)
    # Config classes validate themselves, each with errors of its own.
    except Exception as error:
        if "trust_remote_code" in str(error):
            raise _needs_trust(folder) from error
        where, model_type = str(folder / "config.json"), written.get("model_type")
        if isinstance(model_type, str) and "does not recognize this architecture" in str(error):
            raise UnsupportedModelError(
                f"transformers does not know the model type {model_type!r}",
                where=where,
                next_step="upgrade transformers, or check the model_type in config.json",
            ) from error
        raise ModelFileError(
            f"config.json does not describe a model: {first_line(error)}",
            where=where,
            next_step="use the config.json the model was published with",
        ) from error


def require_sane(written: dict[str, Any], file: Path) -> None:
    """Refuse numbers of which a model would be built for hours, before anything is built."""
    for name, value in written.items():
        if isinstance(value, dict):
            require_sane(value, file)
        most = MOST.get(name)
        if most is not None and isinstance(value, int) and value > most:
            raise ModelFileError(
                f"{name} is {value:,}",
                where=str(file),
                allowed=f"at most {most:,}",
                next_step=f"use {file.name} as the model was published with",
            )


def require_causal(config: Any, *, where: str) -> None:
    """Refuse what is no causal language model, saying what it is."""
    from transformers import AutoModelForCausalLM

    why = config_refusal(config)
    if why in (ENCODER, ENCODER_DECODER):
        raise UnsupportedModelError(
            f"{config.model_type!r} cannot be loaded as a causal language model: {why.reason}",
            where=where,
            allowed=why.instead,
            next_step="choose a decoder model; `mindshare models` lists some",
        )
    by_own_code = "AutoModelForCausalLM" in (getattr(config, "auto_map", None) or {})
    if type(config) not in AutoModelForCausalLM._model_mapping and not by_own_code:
        raise UnsupportedModelError(
            f"{config.model_type!r} has no causal language model in transformers",
            where=where,
            next_step="choose a decoder model; `mindshare models` lists some",
        )


def require_measurable(config: Any, *, where: str | None = None) -> None:
    """Refuse a model type that is known not to be measured exactly."""
    known = config_refusal(config)
    if known is not None:
        raise UnsupportedModelError(
            f"{config.model_type} can't be measured: {known.reason}",
            where=where,
            allowed=known.instead,
        )


def read_tokenizer(folder: Path, *, trust_remote_code: bool = False) -> Any:
    """The folder's tokenizer, None where it has no tokenizer files."""
    from transformers import AutoTokenizer

    if not any(os.path.isfile(folder / name) for name in _TOKENIZER_FILES):
        return None
    try:
        with quiet_transformers():
            tokenizer = AutoTokenizer.from_pretrained(
                str(folder), trust_remote_code=trust_remote_code
            )
            tokenizer("a")  # settings of a wrong type show when they are used
            return tokenizer
    # The tokenizers library raises plain Exception for a file it cannot parse, or panics.
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise ModelFileError(
            f"the tokenizer cannot be loaded: {first_line(error)}",
            where=str(folder),
            next_step="download its tokenizer files again, or remove them and bring your own",
        ) from error


def checked_dtype(dtype: Any) -> Any:
    """`"auto"` or a floating torch dtype, from its name or itself."""
    import torch

    if isinstance(dtype, torch.dtype) and dtype.is_floating_point:
        return dtype
    if dtype not in _DTYPES:
        raise ModelError(
            f"unknown dtype {str(dtype)!r}{nearest(str(dtype), _DTYPES)}",
            allowed=", ".join(_DTYPES),
        )
    return dtype if dtype == "auto" else getattr(torch, dtype)


def checked_device(device: Any, device_map: Any) -> Any:
    """A device that torch can use, or None; checked before a large model is read."""
    import torch

    if device is None:
        return None
    if device_map is not None:
        raise ModelError("both device and device_map are given", allowed="one of the two")
    try:
        chosen = torch.device(device)
        # Some devices, such as meta, hold no numbers; others, such as mps, none of 64 bits.
        torch.zeros(1, dtype=torch.float64, device=chosen).item()
    except (RuntimeError, AssertionError, TypeError, ValueError, ImportError) as error:
        raise ModelError(
            f"the device {str(device)!r} is not usable: {first_line(error)}",
            allowed="cpu, or cuda, cuda:1, … where this torch finds them",
        ) from error
    return chosen


def _load_model(folder: Path, config: Any, options: Options) -> Any:
    from transformers import AutoModelForCausalLM

    def attempt(attention: str) -> Any:
        return AutoModelForCausalLM.from_pretrained(
            str(folder),
            config=config,
            dtype=options.dtype,
            device_map=options.device_map,
            trust_remote_code=options.trust_remote_code,
            attn_implementation=attention,
            ignore_mismatched_sizes=True,  # so that the error can name the first one
            output_loading_info=True,
        )

    try:
        with quiet_transformers():
            try:
                model, report = attempt("sdpa")
            except ValueError as error:
                if "scaled_dot_product_attention" not in str(error):
                    raise
                model, report = attempt("eager")  # softcapping or learned sinks: no sdpa path
    except ImportError as error:
        raise ModelError(
            f"a package this model needs is missing: {first_line(error)}", where=str(folder)
        ) from error
    # Damaged pickles, odd tensors and broken configs each raise something else.
    except Exception as error:
        if "trust_remote_code" in str(error):
            raise _needs_trust(folder) from error
        raise ModelFileError(
            f"the weights do not load as a {config.model_type!r} model: {first_line(error)}",
            where=str(folder),
            next_step="download the folder again; its config and weights must belong together",
        ) from error
    _require_exact_weights(report, folder)
    return model


def _require_exact_weights(report: dict[str, Any], folder: Path) -> None:
    mismatched = sorted(report["mismatched_keys"], key=str)
    problems = [
        *(f"{key} is {tuple(stored)} in the file but {tuple(wanted)} by the config"
          for key, stored, wanted in mismatched),
        *(f"{key} is not in the files" for key in sorted(report["missing_keys"])),
        *(f"{key} has no place in the model" for key in sorted(report["unexpected_keys"])),
    ]  # fmt: skip
    if problems:
        raise ModelFileError(
            f"config and weights do not fit: {problems[0]} ({len(problems)} such weights)",
            where=str(folder),
            next_step="use the config.json these weights were saved with",
        )


def _needs_trust(folder: Path) -> ModelError:
    return ModelError(
        "this model brings its own Python code, which is not run unless you ask for it",
        where=str(folder),
        next_step="read that code; if you trust it, pass trust_remote_code=True"
        " (on the command line --trust-remote-code)",
    )


def adapter_files(folder: Path) -> tuple[Path, ...]:
    """The adapter's config and weights, checked to be whole."""
    config = folder / "adapter_config.json"
    weights = [folder / name for name in _ADAPTER_WEIGHTS if os.path.isfile(folder / name)]
    if not os.path.isfile(config) or not weights:
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
    beside, written = folder / base, os.path.expanduser(base)
    return str(beside) if not os.path.exists(written) and os.path.isdir(beside) else base


def merge_adapter(base: Any, folder: Path, *, base_name: str) -> Any:
    """The base with the adapter merged in. The base model object is used up."""
    import torch
    from peft import PeftModel

    stored = _stored_shapes(adapter_files(folder)[1])
    config = adapter_config(folder)
    fit = f"the adapter {folder.name!r} does not fit the base {base_name!r}"
    try:
        # peft warns about weights it could not place; each of them is an error a moment later.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            adapted = PeftModel.from_pretrained(
                base,
                str(folder),
                config=config,
                ignore_mismatched_sizes=True,
                low_cpu_mem_usage=True,
            )
        _require_same_shapes(adapted, stored)
        layers = [m.base_layer for m in adapted.modules() if hasattr(m, "base_layer")]
        # Their weights are mapped from a file. Writing to mapped pages copies them one by one,
        # which took five times as long as copying them first.
        for layer in layers:
            for parameter in layer.parameters(recurse=False):
                parameter.data = parameter.data.clone()
        merged = adapted.merge_and_unload()
    except Exception as error:  # by the field that is odd
        raise AdapterError(
            f"{fit}: {first_line(error)}",
            where=str(folder),
            next_step="load it on the base it was trained on",
        ) from error
    # Checked after merging in place: peft's own check would copy every weight.
    if not all(bool(torch.isfinite(x).all()) for layer in layers for x in layer.parameters()):
        raise AdapterError(
            f"{fit}: merging it gives weights that are not numbers",
            where=str(folder),
            next_step="look for NaN or overflow in the adapter's training",
        )
    return merged


def adapter_config(folder: Path) -> Any:
    """peft's own reading of it; refuses a kind that can't be merged."""
    from peft import PeftConfig

    try:
        config = PeftConfig.from_pretrained(str(folder))
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise AdapterError(
            f"adapter_config.json cannot be used: {first_line(error)}",
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


def _require_same_shapes(adapted: Any, stored: dict[str, tuple[int, ...]]) -> None:
    """Raise a `ValueError` about the first weight that base and adapter file disagree on."""
    from peft import get_peft_model_state_dict

    state = get_peft_model_state_dict(adapted, save_embedding_layers=False)
    wanted = {key: tuple(tensor.shape) for key, tensor in state.items()}
    for key in sorted(wanted.keys() | stored.keys()):
        # peft may store whole embeddings along with an adapter whose training changed them.
        embedding = "lora_" not in key and ("embed" in key or "lm_head" in key)
        if key not in stored:
            raise ValueError(f"it has no {key}, which this base needs")
        if key not in wanted and not embedding:
            raise ValueError(f"{key} has no place in this base")
        if key in wanted and wanted[key] != stored[key]:
            shapes = f"{stored[key]} in the adapter but {wanted[key]} for this base"
            raise ValueError(f"{key} is {shapes}")


@contextmanager
def step(text: str, *, show: bool) -> Iterator[None]:
    """Show `text` while the block runs: with a spinner, or once where there is no terminal."""
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stderr)  # bound now: the block may redirect sys.stderr
    bar = console.status(Text(harmless(text))) if show and console.is_terminal else None
    with bar or line_if_slow(text, show=show):
        yield


@contextmanager
def line_if_slow(text: str, *, show: bool) -> Iterator[None]:
    """Say `text` on stderr if the block takes more than a few seconds and there is no terminal."""
    if not show or sys.stderr.isatty():
        yield
        return
    line = {"file": sys.stderr, "flush": True}
    late = threading.Timer(SLOW, print, [harmless(f"mindshare: {text} …")], line)
    late.daemon = True
    late.start()
    try:
        yield
    finally:
        late.cancel()


_quiet_lock = threading.Lock()
_quiet: list[tuple[bool, int]] = []  # one entry per block that runs: bars and verbosity before


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """No progress bars and no remarks from transformers inside the block; its settings afterwards
    are what they were before. Errors still raise: what it would only remark on, we check.

    The settings are the process's: they come back when the last thread has left its block.
    """
    from transformers.utils import logging

    def switch_bars(*, on: bool) -> None:
        # It warns when an environment variable has already settled the hub's own bars.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (logging.enable_progress_bar if on else logging.disable_progress_bar)()

    with _quiet_lock:
        bars, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
        _quiet.append(_quiet[0] if _quiet else (bars, level))
        logging.set_verbosity_error()
        switch_bars(on=False)
    try:
        yield
    finally:
        with _quiet_lock:
            bars, level = _quiet.pop()
            if not _quiet:
                logging.set_verbosity(level)
                if bars:
                    switch_bars(on=True)
