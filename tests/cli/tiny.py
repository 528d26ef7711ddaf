"""Tiny real models in folders: a llama, and one of each kind that is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

LAYERS, HEADS, KV_HEADS, CONTEXT = 3, 4, 2, 64
BOS, EOS = "<s>", "</s>"
TEMPLATE = "{% for m in messages %}[{{ m['role'] }}]{{ m['content'] }}{% endfor %}"


def tokenizer(*, adds_bos: bool = False, strips: bool = False) -> Any:
    """Byte-level, with a few merges; `strips` drops spaces at both ends of a text."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    merges = [("#", "#"), ("Ġ", "##"), ("*", "*"), ("h", "e")]
    names = [BOS, EOS, *sorted(pre_tokenizers.ByteLevel.alphabet()), *(a + b for a, b in merges)]
    ids = {name: i for i, name in enumerate(names)}
    backend = Tokenizer(models.BPE(vocab=ids, merges=merges))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    if strips:
        backend.normalizer = normalizers.Strip()
    if adds_bos:
        backend.post_processor = processors.TemplateProcessing(
            single=f"{BOS} $A", special_tokens=[(BOS, 0)]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token=BOS, eos_token=EOS, chat_template=TEMPLATE
    )


def vocabulary_size() -> int:
    return len(tokenizer())


def save(folder: Path, model: Any) -> Path:
    model.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


def llama(folder: Path, *, seed: int = 0) -> Path:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        max_position_embeddings=CONTEXT,
        vocab_size=vocabulary_size(),
        bos_token_id=0,
        eos_token_id=1,
        initializer_range=0.3,  # so that attention is not uniform
    )
    return save(folder, LlamaForCausalLM(config))


def mamba(folder: Path) -> Path:
    from transformers import MambaConfig, MambaForCausalLM

    config = MambaConfig(
        vocab_size=vocabulary_size(), hidden_size=16, num_hidden_layers=1, state_size=4
    )
    return save(folder, MambaForCausalLM(config))


def bloom(folder: Path) -> Path:
    from transformers import BloomConfig, BloomForCausalLM

    config = BloomConfig(vocab_size=vocabulary_size(), hidden_size=16, n_layer=1, n_head=2)
    return save(folder, BloomForCausalLM(config))


def t5(folder: Path) -> Path:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=vocabulary_size(), d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2
    )
    return save(folder, T5ForConditionalGeneration(config))


def gemma3_config(folder: Path) -> Path:
    """Only a config: describing a model needs no weights."""
    from transformers import Gemma3TextConfig

    Gemma3TextConfig(
        num_hidden_layers=12, sliding_window=512, num_attention_heads=4, num_key_value_heads=1
    ).save_pretrained(folder)
    return folder
