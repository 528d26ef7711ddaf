"""Tiny real models for these tests: a llama folder, a tokenizer, a GGUF file, a LoRA adapter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

HIDDEN, FEED_FORWARD, LAYERS, HEADS, KV_HEADS, CONTEXT = 32, 64, 2, 4, 2, 64
BOS, EOS = "<s>", "</s>"


def vocabulary() -> list[str]:
    """Two special tokens, then the 256 symbols of a byte-level alphabet."""
    from tokenizers.pre_tokenizers import ByteLevel

    return [BOS, EOS, *sorted(ByteLevel.alphabet()), "Ġt", "he"]


MERGES = ["Ġ t", "h e"]
VOCABULARY_SIZE = 260


def llama_config(**changes: Any) -> Any:
    from transformers import LlamaConfig

    stated = {
        "hidden_size": HIDDEN,
        "intermediate_size": FEED_FORWARD,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "max_position_embeddings": CONTEXT,
        "vocab_size": VOCABULARY_SIZE,
        "bos_token_id": 0,
        "eos_token_id": 1,
    }
    return LlamaConfig(**{**stated, **changes})


def llama(**changes: Any) -> Any:
    import torch
    from transformers import LlamaForCausalLM

    torch.manual_seed(0)
    return LlamaForCausalLM(llama_config(**changes)).eval()


def tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocab = {token: i for i, token in enumerate(vocabulary())}
    backend = Tokenizer(models.BPE(vocab=vocab, merges=[tuple(m.split()) for m in MERGES]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token=BOS, eos_token=EOS)


def llama_folder(folder: Path, **changes: Any) -> Path:
    llama(**changes).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


def lora_folder(folder: Path, base: Any, *, base_name: str = "", **changes: Any) -> Path:
    """A LoRA whose weights are not zero, so that merging it shows."""
    import torch
    from peft import LoraConfig, get_peft_model

    stated = {"r": 4, "target_modules": ["q_proj", "v_proj"], "task_type": "CAUSAL_LM"}
    adapted = get_peft_model(base, LoraConfig(**{**stated, **changes}))
    torch.manual_seed(1)
    for name, weight in adapted.named_parameters():
        if "lora_" in name:
            torch.nn.init.normal_(weight, std=0.2)
    adapted.peft_config["default"].base_model_name_or_path = base_name
    adapted.save_pretrained(folder, save_embedding_layers=False)
    return folder


def gguf_file(path: Path, *, add_bos: bool | None = None, without: str | None = None) -> Path:
    """A llama of this size with random weights and a byte-level tokenizer, as one GGUF file."""
    import gguf

    writer = gguf.GGUFWriter(path, "llama")
    _add_shape(writer)
    _add_tokenizer(writer, add_bos)
    for name, shape in _tensor_shapes().items():
        if name != without:
            noise = np.random.default_rng(len(name)).normal(0, 0.2, shape)
            writer.add_tensor(name, noise.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_shape(writer: Any) -> None:
    writer.add_name("tiny")
    writer.add_license("apache-2.0")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_dimension_count(HIDDEN // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(VOCABULARY_SIZE)


def _add_tokenizer(writer: Any, add_bos: bool | None) -> None:
    tokens = vocabulary()
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_types([3, 3] + [1] * (len(tokens) - 2))  # control, then normal
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_chat_template("{% for m in messages %}{{ m['content'] }}{% endfor %}")
    if add_bos is not None:
        writer.add_add_bos_token(add_bos)


def _tensor_shapes() -> dict[str, tuple[int, ...]]:
    keys = HIDDEN // HEADS * KV_HEADS
    block = {
        "attn_norm": (HIDDEN,),
        "ffn_norm": (HIDDEN,),
        "attn_q": (HIDDEN, HIDDEN),
        "attn_k": (keys, HIDDEN),
        "attn_v": (keys, HIDDEN),
        "attn_output": (HIDDEN, HIDDEN),
        "ffn_gate": (FEED_FORWARD, HIDDEN),
        "ffn_up": (FEED_FORWARD, HIDDEN),
        "ffn_down": (HIDDEN, FEED_FORWARD),
    }
    blocks = {f"blk.{i}.{k}.weight": s for i in range(LAYERS) for k, s in block.items()}
    ends = {"token_embd.weight": (VOCABULARY_SIZE, HIDDEN), "output_norm.weight": (HIDDEN,)}
    return {**ends, **blocks}
