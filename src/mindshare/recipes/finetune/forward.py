"""A batch through the model, what its sequences share only once: logits, and the answers' loss.

The keys and values of the shared beginning are repeated for all sequences; gradients add up through
them, so loss and gradients are those of running every sequence whole (there is a test).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindshare.recipes.finetune.batches import IGNORED, Batch

if TYPE_CHECKING:
    import torch


def forward(model: Any, batch: Batch) -> tuple[torch.Tensor, Any]:
    """The logits where an answer may be, [sequence, kept, vocabulary], and the cache."""
    from transformers import DynamicCache

    cache = DynamicCache(config=model.config)
    if batch.prefix.shape[1]:
        model(input_ids=batch.prefix, past_key_values=cache, use_cache=True, logits_to_keep=1)
        cache.batch_repeat_interleave(len(batch.rest))
    found = model(
        input_ids=batch.rest,
        attention_mask=batch.mask,
        position_ids=batch.positions,
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=batch.labels.shape[1],
    )
    return found.logits, cache


def answer_loss(model: Any, batch: Batch) -> torch.Tensor:
    """The mean over the answers' tokens; prompts are left out."""
    from torch.nn.functional import cross_entropy

    logits, _ = forward(model, batch)
    return cross_entropy(logits.flatten(0, 1), batch.labels.flatten(), ignore_index=IGNORED)
