"""A folder in transformers' own layout becomes a model and a tokenizer, or one clear error.

Every weight must come from the files: whatever transformers would fill with random numbers, drop,
or resize is an error here. Does not know about GGUF files, adapters or the hub.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindshare.errors import ModelError, ModelFileError, UnsupportedModelError, nearest
from mindshare.models.narration import quiet_transformers
from mindshare.models.support import ENCODER, ENCODER_DECODER, config_refusal
from mindshare.models.weights import check_safetensors, read_json, weight_files

if TYPE_CHECKING:
    import torch

_TOKENIZER_FILES = (
    *("tokenizer.json", "tokenizer_config.json", "tokenizer.model", "spiece.model"),
    *("vocab.json", "vocab.txt", "tekken.json"),
)
_DTYPES = ("auto", "float32", "bfloat16", "float16", "float64")


@dataclass(frozen=True)
class Options:
    """How a model is to be loaded, checked."""

    dtype: torch.dtype | str
    device: str | torch.device | None = None
    device_map: Any = None
    trust_remote_code: bool = False


def load_pretrained(folder: Path, options: Options) -> tuple[Any, Any]:
    """`(model, tokenizer)`; the tokenizer is None where the folder has none."""
    config = read_config(folder, trust_remote_code=options.trust_remote_code)
    require_causal(config, where=str(folder))
    for file in weight_files(folder):
        if file.suffix == ".safetensors":
            check_safetensors(file)
    model = _load_model(folder, config, options)
    if options.device is not None:
        model.to(options.device)
    return model.eval(), load_tokenizer(folder, trust_remote_code=options.trust_remote_code)


def read_config(folder: Path, *, trust_remote_code: bool = False) -> Any:
    """The folder's config, without reading weights."""
    from transformers import AutoConfig

    stated = read_json(folder / "config.json")
    try:
        with quiet_transformers():
            return AutoConfig.from_pretrained(str(folder), trust_remote_code=trust_remote_code)
    # Config classes validate themselves, each with errors of its own.
    except Exception as error:
        if "trust_remote_code" in str(error):
            raise _needs_trust(folder) from error
        raise _unknown_config(folder, stated, error) from error


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


def load_tokenizer(folder: Path, *, trust_remote_code: bool = False) -> Any:
    """The folder's tokenizer, None where it has no tokenizer files."""
    from transformers import AutoTokenizer

    if not any((folder / name).is_file() for name in _TOKENIZER_FILES):
        return None
    try:
        with quiet_transformers():
            return AutoTokenizer.from_pretrained(str(folder), trust_remote_code=trust_remote_code)
    # The tokenizers library raises plain Exception for a file it cannot parse.
    except Exception as error:
        raise ModelFileError(
            f"the tokenizer cannot be loaded: {_first_line(error)}",
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
    """A device that is really there, or None. Found out before a large model is read."""
    import torch

    if device is None:
        return None
    if device_map is not None:
        raise ModelError("both device and device_map are given", allowed="one of the two")
    try:
        chosen = torch.device(device)
        torch.empty(1, device=chosen)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ModelError(
            f"the device {str(device)!r} is not usable: {_first_line(error)}",
            allowed="cpu, or cuda, cuda:1, mps, … where this torch finds them",
        ) from error
    return chosen


def _load_model(folder: Path, config: Any, options: Options) -> Any:
    try:
        with quiet_transformers():
            model, report = _from_pretrained(folder, config, options)
    except ImportError as error:
        raise ModelError(
            f"a package this model needs is missing: {_first_line(error)}", where=str(folder)
        ) from error
    # Damaged pickles, odd tensors and broken configs each raise something else.
    except (
        ValueError,
        RuntimeError,
        OSError,
        KeyError,
        EOFError,
        AttributeError,
        TypeError,
    ) as error:
        if "trust_remote_code" in str(error):
            raise _needs_trust(folder) from error
        raise ModelFileError(
            f"the weights do not load as a {config.model_type!r} model: {_first_line(error)}",
            where=str(folder),
            next_step="download the folder again; its config and weights must belong together",
        ) from error
    _require_exact_weights(report, folder)
    return model


def _from_pretrained(folder: Path, config: Any, options: Options) -> tuple[Any, dict[str, Any]]:
    from transformers import AutoModelForCausalLM

    def attempt(attention: str) -> Any:
        return AutoModelForCausalLM.from_pretrained(
            str(folder),
            config=config,
            dtype=options.dtype,
            device_map=options.device_map,
            trust_remote_code=options.trust_remote_code,
            attn_implementation=attention,
            ignore_mismatched_sizes=True,  # so that we can name the first one
            output_loading_info=True,
        )

    try:
        loaded = attempt("sdpa")
    except ValueError as error:
        if "scaled_dot_product_attention" not in str(error):
            raise
        loaded = attempt("eager")  # models with softcapping or learned sinks have no sdpa path
    return loaded[0], loaded[1]


def _require_exact_weights(report: dict[str, Any], folder: Path) -> None:
    shapes = sorted(report["mismatched_keys"], key=str)
    troubles = (
        [f"{key} is {tuple(found)} in the file but {tuple(wanted)} by the config"
         for key, found, wanted in shapes],
        [f"{key} is not in the files" for key in sorted(report["missing_keys"])],
        [f"{key} has no place in the model" for key in sorted(report["unexpected_keys"])],
    )  # fmt: skip
    found = [line for lines in troubles for line in lines]
    if found:
        raise ModelFileError(
            f"config and weights do not fit: {found[0]} ({len(found)} such weights)",
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


def _unknown_config(folder: Path, stated: dict[str, Any], error: Exception) -> Exception:
    where, model_type = str(folder / "config.json"), stated.get("model_type")
    if isinstance(model_type, str) and "does not recognize this architecture" in str(error):
        return UnsupportedModelError(
            f"transformers does not know the model type {model_type!r}",
            where=where,
            next_step="upgrade transformers, or check the model_type in config.json",
        )
    return ModelFileError(
        f"config.json does not describe a model: {_first_line(error)}",
        where=where,
        next_step="use the config.json the model was published with",
    )


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
