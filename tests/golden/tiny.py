"""A pair of tiny llamas in folders, the same bits on every machine, and a small tokenizer.

The weights come from Python's own Mersenne Twister, whose stream is guaranteed: 16 random bits a
weight, scaled by powers of two, so that every weight is exact in float32. Knows nothing of
mindshare.
"""

from __future__ import annotations

import hashlib
import random
from pathlib import Path
from typing import Any

LAYERS, HEADS, KV_HEADS, HIDDEN, FEED_FORWARD, CONTEXT = 2, 4, 2, 32, 48, 320
BOS, EOS = "<s>", "</s>"
MERGES = [("#", "#"), ("Ġ", "##"), ("*", "*"), ("h", "e"), ("Ġ", "/"), ("t", "he")]
TEMPLATE = "{% for m in messages %}[{{ m['role'] }}]{{ m['content'] }}{% endfor %}"
_BITS, _UNIT = 16, 2.0**-15  # a weight is an integer of this many bits, in units of this


def build_pair(folder: Path) -> None:
    """`base` and `tuned`: the second is the first with a little added to its attention."""
    base = _model(seed=20)
    _save(base, folder / "base")
    _perturb(base, seed=21)
    _save(base, folder / "tuned")


def weights_hash(model: Any) -> str:
    """SHA-256 of every weight, by name."""
    digest = hashlib.sha256()
    for name, weight in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(weight.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def tokenizer() -> Any:
    """Byte-level, with a few merges, and a chat template."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    names = [BOS, EOS, *sorted(pre_tokenizers.ByteLevel.alphabet()), *(a + b for a, b in MERGES)]
    backend = Tokenizer(models.BPE(vocab={name: i for i, name in enumerate(names)}, merges=MERGES))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token=BOS, eos_token=EOS, chat_template=TEMPLATE
    )


def _model(seed: int) -> Any:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=HIDDEN,
        intermediate_size=FEED_FORWARD,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        max_position_embeddings=CONTEXT,
        vocab_size=len(tokenizer()),
        bos_token_id=0,
        eos_token_id=1,
        tie_word_embeddings=False,
    )
    model = LlamaForCausalLM(config).float().eval()
    drawn = random.Random(seed)
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            if "norm" in name:
                weight.fill_(1.0)
            else:  # uniform, wide enough for attention that is not uniform
                weight.copy_(_noise(drawn, tuple(weight.shape), scale=0.5))
    return model


def _perturb(model: Any, seed: int) -> None:
    import torch

    drawn = random.Random(seed)
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            if "q_proj" in name or "v_proj" in name:
                weight += _noise(drawn, tuple(weight.shape), scale=0.25)


def _noise(drawn: random.Random, shape: tuple[int, ...], *, scale: float) -> Any:
    """Uniform in ±`scale`, a power of two, exact in float32."""
    import torch

    count = int(torch.Size(shape).numel())
    numbers = [drawn.getrandbits(_BITS) for _ in range(count)]
    centred = torch.tensor(numbers, dtype=torch.float32) - 2.0 ** (_BITS - 1)
    return (centred * (_UNIT * scale)).reshape(shape)


def _save(model: Any, folder: Path) -> None:
    model.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
