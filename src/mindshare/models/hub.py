"""A hub id becomes a local folder: from the hub's cache on this machine, else by download.

What is in the local cache is used as it is, without asking the network. The hub is asked once, with
a short timeout, before anything is fetched, so a machine without a network gets its answer in
seconds. `HF_HUB_OFFLINE` is honoured. Imports no torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mindshare.errors import ModelError, ModelNotFoundError
from mindshare.models.reference import is_adapter
from mindshare.models.weights import has_whole_weights

_ANSWER_SECONDS = 5.0
_SMALL_FILES = ("*.json", "*.jinja", "*.txt", "*.model", "*.tiktoken")
_SAFETENSORS = ("model.safetensors", "model-*.safetensors", "adapter_model.safetensors")
_PICKLES = ("pytorch_model.bin", "pytorch_model-*.bin", "adapter_model.bin")


class HubUnreachableError(ModelNotFoundError):
    """The id is not here and the hub did not give it; whoever raised it said why."""


@dataclass(frozen=True)
class CachedModel:
    """One model in the hub's local cache; `size` in bytes."""

    hub_id: str
    folder: Path
    size: int


def folder_of(hub_id: str, *, trust_remote_code: bool = False) -> Path:
    """The model's folder, from the local cache or downloaded."""
    return cached_folder(hub_id) or _download(hub_id, trust_remote_code=trust_remote_code)


def cached_folder(hub_id: str) -> Path | None:
    """The cached snapshot, if it holds a whole model or adapter."""
    from huggingface_hub import constants, try_to_load_from_cache

    for name in ("config.json", "adapter_config.json"):
        found = try_to_load_from_cache(hub_id, name, cache_dir=constants.HF_HUB_CACHE)
        if isinstance(found, str) and _is_loadable(Path(found).parent):
            return Path(found).parent
    return None


def cached_models() -> tuple[CachedModel, ...]:
    """Whole causal models in the hub's local cache. No network."""
    from huggingface_hub import constants, scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        repos = scan_cache_dir(constants.HF_HUB_CACHE).repos
    except CacheNotFound:
        return ()
    here = ((repo, cached_folder(repo.repo_id)) for repo in repos if repo.repo_type == "model")
    found = (CachedModel(r.repo_id, folder, r.size_on_disk) for r, folder in here if folder)
    return tuple(sorted(found, key=lambda model: model.hub_id))


def _is_loadable(folder: Path) -> bool:
    return is_adapter(folder) or has_whole_weights(folder)


def _download(hub_id: str, *, trust_remote_code: bool) -> Path:
    from huggingface_hub import constants, snapshot_download

    if constants.HF_HUB_OFFLINE:
        raise HubUnreachableError(f"{hub_id!r} is not on this machine and HF_HUB_OFFLINE is set")
    names = _files_on_the_hub(hub_id)
    weights = _SAFETENSORS if any(n.endswith(".safetensors") for n in names) else _PICKLES
    code = ("*.py",) if trust_remote_code else ()
    try:
        folder = snapshot_download(
            hub_id,
            cache_dir=constants.HF_HUB_CACHE,
            allow_patterns=[*_SMALL_FILES, *weights, *code],
        )
    except Exception as error:
        raise _explained(hub_id, error) from error
    return Path(folder)


def _files_on_the_hub(hub_id: str) -> tuple[str, ...]:
    from huggingface_hub import HfApi

    try:
        info = HfApi().model_info(hub_id, timeout=_ANSWER_SECONDS)
    # What a dead network raises depends on the HTTP library below the hub's client.
    except Exception as error:
        raise _explained(hub_id, error) from error
    return tuple(file.rfilename for file in info.siblings or ())


def _explained(hub_id: str, error: Exception) -> ModelError:
    from huggingface_hub.errors import GatedRepoError, HFValidationError, RepositoryNotFoundError

    if isinstance(error, GatedRepoError):
        return ModelError(
            f"{hub_id!r} is on the hub, but its owner gives access on request only",
            next_step=f"ask for it at https://huggingface.co/{hub_id}, then `hf auth login`",
        )
    if isinstance(error, RepositoryNotFoundError | HFValidationError):
        return HubUnreachableError(f"the hub has no model {hub_id!r} (or it is private)")
    return HubUnreachableError(
        f"{hub_id!r} is not on this machine and the hub did not answer: {error}"
    )
