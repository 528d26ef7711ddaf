"""References and models in memory become loaded models."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path

import pytest
import torch

from mindshare.errors import AdapterError, ModelError, ModelFileError, ModelNotFoundError
from mindshare.models import LoadedModel, attention_facts, describe, load, load_tokenizer, wrap
from mindshare.models.gguf import converted_folder

from . import tiny


def test_the_embedded_model(smollm2: LoadedModel) -> None:
    assert (smollm2.reference, smollm2.name) == ("smollm2", "smollm2")
    assert smollm2.fingerprint.startswith("sha256:b179c9523d0e6a0f")
    assert (smollm2.context_length, smollm2.dtype) == (8192, torch.float32)
    assert smollm2.add_bos is False
    assert smollm2.model.config._attn_implementation == "sdpa"
    assert not smollm2.model.training
    facts = attention_facts(smollm2)
    assert (facts.layers, facts.heads, facts.kv_heads, facts.head_dim) == (30, 9, 3, 64)


def test_the_embedded_model_answers(smollm2: LoadedModel) -> None:
    assert smollm2.tokenizer is not None
    asked = [{"role": "user", "content": "What is the capital of France?"}]
    prompt = smollm2.tokenizer.apply_chat_template(
        asked, add_generation_prompt=True, return_tensors="pt", return_dict=True
    )
    said = smollm2.model.generate(**prompt, max_new_tokens=8, do_sample=False)
    assert "Paris" in smollm2.tokenizer.decode(said[0, prompt["input_ids"].shape[1] :])


def test_a_folder(shared_llama: Path) -> None:
    loaded = load(shared_llama)
    assert (loaded.reference, loaded.name) == (str(shared_llama), "tiny-llama")
    assert loaded.tokenizer is not None
    assert (loaded.add_bos, loaded.adapter, loaded.context_length) == (None, None, tiny.CONTEXT)
    assert load(shared_llama).fingerprint == loaded.fingerprint


def test_the_fingerprint_follows_the_config(llama_folder: Path) -> None:
    before = load(llama_folder).fingerprint
    config = llama_folder / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "rms_norm_eps": 1e-3}))
    assert load(llama_folder).fingerprint != before


def test_a_gguf_file(shared_gguf: Path) -> None:
    loaded = load(str(shared_gguf))
    assert (loaded.name, loaded.add_bos) == ("tiny", True)
    assert loaded.fingerprint == f"sha256:{sha256(shared_gguf.read_bytes()).hexdigest()}"
    assert loaded.tokenizer is not None
    assert loaded.tokenizer("the")["input_ids"][0] != loaded.tokenizer.bos_token_id == 0
    assert loaded.tokenizer.apply_chat_template([{"role": "user", "content": "hi"}], tokenize=False)
    again = load(converted_folder(shared_gguf))  # the conversion by its own path
    assert (again.add_bos, again.fingerprint) == (True, loaded.fingerprint)


def test_a_file_that_wants_no_bos(tmp_path: Path) -> None:
    assert load(tiny.gguf_file(tmp_path / "no.gguf", add_bos=False)).add_bos is False
    assert load(tiny.gguf_file(tmp_path / "silent.gguf", add_bos=None)).add_bos is None


def test_a_truncated_gguf(shared_gguf: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(shared_gguf.read_bytes()[:-100])
    with pytest.raises(ModelFileError, match=r"cut\.gguf is not a whole GGUF file"):
        load(cut)


@pytest.mark.parametrize("kind", ["folder", "gguf"])
def test_other_dtypes_are_cast_at_load(shared_llama: Path, shared_gguf: Path, kind: str) -> None:
    loaded = load(shared_llama if kind == "folder" else shared_gguf, dtype="bfloat16")
    assert loaded.dtype is torch.bfloat16
    assert all(weight.dtype is torch.bfloat16 for weight in loaded.model.parameters())


def test_auto_is_the_dtype_of_the_files(tmp_path: Path) -> None:
    tiny.llama().to(torch.bfloat16).save_pretrained(tmp_path / "half")
    assert load(tmp_path / "half", dtype="auto").dtype is torch.bfloat16
    assert load(tmp_path / "half").dtype is torch.float32
    lora = tiny.lora_folder(tmp_path / "lora", tiny.llama())
    assert load(tmp_path / "half", adapter=lora, dtype="auto").dtype is torch.bfloat16


def test_device_and_device_map(shared_llama: Path) -> None:
    assert load(shared_llama, device="cpu").device == torch.device("cpu")
    assert load(shared_llama, device_map={"": "cpu"}).device == torch.device("cpu")
    with pytest.raises(ModelError, match="both device and device_map"):
        load(shared_llama, device="cpu", device_map="auto")


def test_an_adapter_on_top_and_an_adapter_folder_are_the_same(
    shared_llama: Path, tmp_path: Path
) -> None:
    lora = tiny.lora_folder(tmp_path / "lora", tiny.llama(), base_name=str(shared_llama))
    on_top, alone = load(shared_llama, adapter=lora), load(lora)
    assert on_top.name == "tiny-llama + lora"
    assert alone.name == "lora"
    assert on_top.adapter == alone.adapter == str(lora)
    assert on_top.fingerprint == alone.fingerprint
    assert on_top.fingerprint.startswith(load(shared_llama).fingerprint + "+sha256:")
    for name, weight in on_top.model.state_dict().items():
        assert torch.equal(alone.model.state_dict()[name], weight)
    assert alone.tokenizer is not None  # the base's own
    assert not alone.model.training


def test_an_adapter_on_a_gguf_base(shared_gguf: Path, tmp_path: Path) -> None:
    plain = load(shared_gguf)
    lora = tiny.lora_folder(tmp_path / "lora", tiny.llama(), base_name=str(shared_gguf))
    loaded = load(lora)
    assert loaded.add_bos is True
    moved = loaded.model.model.layers[0].self_attn.q_proj.weight
    assert not torch.equal(moved, plain.model.model.layers[0].self_attn.q_proj.weight)


def test_adapters_can_stand_on_adapters(shared_llama: Path, tmp_path: Path) -> None:
    first = tiny.lora_folder(tmp_path / "first", tiny.llama(), base_name=str(shared_llama))
    second = tiny.lora_folder(tmp_path / "second", tiny.llama(), base_name=str(first))
    assert load(second).adapter == f"{first} + {second}"
    assert load(second).fingerprint.count("sha256:") == 3


def test_an_adapter_that_is_its_own_base(tmp_path: Path) -> None:
    lora = tiny.lora_folder(tmp_path / "loop", tiny.llama(), base_name=str(tmp_path / "loop"))
    with pytest.raises(AdapterError, match="names itself as its base"):
        load(lora)


def test_an_adapter_that_does_not_fit(shared_gguf: Path, tmp_path: Path) -> None:
    lora = tiny.lora_folder(tmp_path / "wide", tiny.llama(hidden_size=64))
    with pytest.raises(AdapterError, match=r"'wide' does not fit the base 'tiny\.gguf'"):
        load(shared_gguf, adapter=lora)


def test_an_adapter_that_is_none(shared_llama: Path, tmp_path: Path) -> None:
    with pytest.raises(AdapterError, match="is not a PEFT adapter"):
        load(shared_llama, adapter=shared_llama)
    with pytest.raises(ModelNotFoundError, match="no model at"):
        load(shared_llama, adapter=tmp_path / "nowhere")


def test_describe_reads_no_weights(llama_folder: Path, shared_gguf: Path, cache: Path) -> None:
    (llama_folder / "model.safetensors").unlink()
    assert describe(llama_folder).heads == tiny.HEADS
    facts = describe(shared_gguf)
    assert (facts.model_type, facts.layers, facts.kv_heads) == ("llama", 2, 2)
    assert not (cache / "gguf").exists()  # nothing was converted for it
    load(shared_gguf)
    assert describe(shared_gguf) == facts


def test_describe_an_adapter_is_its_base(shared_llama: Path, tmp_path: Path) -> None:
    lora = tiny.lora_folder(tmp_path / "lora", tiny.llama(), base_name=str(shared_llama))
    assert describe(lora) == describe(shared_llama)


def test_models_without_measurable_attention_still_load(tmp_path: Path) -> None:
    from transformers import MambaConfig, MambaForCausalLM

    MambaForCausalLM(
        MambaConfig(hidden_size=16, num_hidden_layers=1, vocab_size=32)
    ).save_pretrained(tmp_path)
    assert "state-space" in str(attention_facts(load(tmp_path)).reason_unsupported)


def test_a_reader_reads_as_the_model_does_without_its_weights(llama_folder: Path) -> None:
    loaded = load(llama_folder)
    for file in llama_folder.glob("*.safetensors"):
        file.unlink()
    reader = load_tokenizer(llama_folder)
    assert reader.tokenizer is not None
    assert reader.tokenizer("a ##")["input_ids"] == loaded.tokenizer("a ##")["input_ids"]
    assert (reader.name, reader.add_bos) == (loaded.name, loaded.add_bos)
    assert reader.context_length == loaded.context_length


def test_a_tokenizer_is_read_once_for_the_prompts_and_the_model(llama_folder: Path) -> None:
    """And anew for every other model, or once its files have changed."""
    reader = load_tokenizer(llama_folder)
    assert load(llama_folder).tokenizer is reader.tokenizer
    assert load(llama_folder).tokenizer is not reader.tokenizer
    reader = load_tokenizer(llama_folder)
    os.utime(llama_folder / "tokenizer.json", ns=(1, 1))
    assert load(llama_folder).tokenizer is not reader.tokenizer
    reader = load_tokenizer(llama_folder)
    (llama_folder / "chat_template.jinja").write_text("{{ messages[0].content }}")
    assert load(llama_folder).tokenizer is not reader.tokenizer


def test_a_reader_of_a_gguf_file_corrects_its_bos(shared_gguf: Path) -> None:
    assert load_tokenizer(shared_gguf).add_bos == load(shared_gguf).add_bos is True


# Models in memory.


def test_wrapping_changes_nothing() -> None:
    model = tiny.llama().train()
    before = (model.training, model.config._attn_implementation, model.device)
    wrapped = wrap(model, tiny.tokenizer(), name="mine")
    assert wrapped.model is model
    assert (model.training, model.config._attn_implementation, model.device) == before
    assert (wrapped.name, wrapped.reference) == ("mine", "in memory: mine")
    assert (wrapped.dtype, wrapped.context_length) == (torch.float32, tiny.CONTEXT)
    assert wrapped.add_bos is None
    assert wrapped.adapter is None


def test_the_name_comes_from_where_the_model_came_from(shared_llama: Path) -> None:
    from transformers import LlamaForCausalLM

    assert wrap(tiny.llama()).name == "LlamaForCausalLM"
    assert wrap(LlamaForCausalLM.from_pretrained(shared_llama)).name == "tiny-llama"


def test_a_peft_model_is_measured_with_its_adapter_inside() -> None:
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(r=2, target_modules=["q_proj"], task_type="CAUSAL_LM")
    wrapped = wrap(get_peft_model(tiny.llama(), config))
    assert type(wrapped.model).__name__ == "LlamaForCausalLM"
    assert any("lora_A" in name for name, _ in wrapped.model.named_parameters())


def test_an_adapter_that_adds_tokens_is_refused() -> None:
    from peft import PrefixTuningConfig, get_peft_model

    adapted = get_peft_model(
        tiny.llama(), PrefixTuningConfig(num_virtual_tokens=2, task_type="CAUSAL_LM")
    )
    with pytest.raises(ModelError, match="PREFIX_TUNING adapter adds tokens"):
        wrap(adapted)


def test_something_else_is_refused() -> None:
    with pytest.raises(ModelError, match="Linear is not a transformers model"):
        wrap(torch.nn.Linear(2, 2))
