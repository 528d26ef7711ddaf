from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from mindshare.errors import MindshareError, ModelError, ModelFileError, UnsupportedModelError
from mindshare.models.pretrained import (
    Options,
    checked_device,
    checked_dtype,
    load_pretrained,
    load_tokenizer,
)

from . import tiny

PLAIN = Options(dtype=torch.float32)


def _edit_config(folder: Path, **changes: Any) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def _edit_weights(folder: Path, change: Any) -> None:
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def test_a_folder_loads_as_it_was_saved(shared_llama: Path) -> None:
    model, tokenizer = load_pretrained(shared_llama, PLAIN)
    assert model.config._attn_implementation == "sdpa"
    assert not model.training
    assert tokenizer("the")["input_ids"] == tiny.tokenizer()("the")["input_ids"]
    for name, weight in tiny.llama().state_dict().items():
        assert torch.equal(model.state_dict()[name], weight)


def test_tied_heads_and_pickled_weights_are_fine(tmp_path: Path) -> None:
    tied = tiny.llama_folder(tmp_path / "tied", tie_word_embeddings=True)
    assert "lm_head.weight" not in load_file(tied / "model.safetensors")
    model, _ = load_pretrained(tied, PLAIN)
    assert model.lm_head.weight is model.model.embed_tokens.weight
    torch.save(load_file(tied / "model.safetensors"), tied / "pytorch_model.bin")
    (tied / "model.safetensors").unlink()
    assert load_pretrained(tied, PLAIN)[0].num_parameters() == model.num_parameters()


def test_a_model_without_sdpa_falls_back_to_eager(tmp_path: Path) -> None:
    from transformers import Gemma2Config, Gemma2ForCausalLM

    config = Gemma2Config(
        hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, head_dim=8, vocab_size=32,
    )  # fmt: skip
    Gemma2ForCausalLM(config).save_pretrained(tmp_path)
    model, tokenizer = load_pretrained(tmp_path, PLAIN)
    assert model.config._attn_implementation == "eager"
    assert tokenizer is None


def test_a_missing_weight_is_not_made_up(llama_folder: Path) -> None:
    _edit_weights(llama_folder, lambda w: w.pop("model.layers.1.mlp.up_proj.weight"))
    with pytest.raises(ModelFileError, match=r"layers\.1\.mlp\.up_proj\.weight is not in the"):
        load_pretrained(llama_folder, PLAIN)


def test_a_weight_without_a_place(llama_folder: Path) -> None:
    _edit_weights(llama_folder, lambda w: w.update(stray=torch.ones(2)))
    with pytest.raises(ModelFileError, match="stray has no place in the model"):
        load_pretrained(llama_folder, PLAIN)


def test_a_weight_of_another_shape(llama_folder: Path) -> None:
    _edit_weights(llama_folder, lambda w: w.update({"model.norm.weight": torch.ones(9)}))
    with pytest.raises(ModelFileError, match=r"model\.norm\.weight is \(9,\) in the file but"):
        load_pretrained(llama_folder, PLAIN)


def test_truncated_weights(llama_folder: Path) -> None:
    file = llama_folder / "model.safetensors"
    # Copies: tensors mapped from a file must not outlive its bytes.
    weights = {name: weight.clone() for name, weight in load_file(file).items()}
    file.write_bytes(file.read_bytes()[:5000])
    with pytest.raises(ModelFileError, match=r"model\.safetensors is corrupt or truncated"):
        load_pretrained(llama_folder, PLAIN)
    file.unlink()
    pickled = llama_folder / "pytorch_model.bin"
    torch.save(weights, pickled)
    pickled.write_bytes(pickled.read_bytes()[:5000])
    with pytest.raises(ModelFileError, match="do not load as a 'llama' model"):
        load_pretrained(llama_folder, PLAIN)


@pytest.mark.parametrize(
    ("content", "kind", "why"),
    [
        ("{not json", ModelFileError, r"config\.json cannot be read as JSON"),
        ("{}", ModelFileError, "does not describe a model"),
        ('{"model_type": "lama"}', UnsupportedModelError, "does not know the model type 'lama'"),
        ('{"model_type": "llama", "hidden_size": "x"}', ModelFileError, "not describe a model"),
    ],
)
def test_broken_configs(
    llama_folder: Path, content: str, kind: type[MindshareError], why: str
) -> None:
    (llama_folder / "config.json").write_text(content)
    with pytest.raises(kind, match=why) as caught:
        load_pretrained(llama_folder, PLAIN)
    assert "config.json" in str(caught.value)


def test_encoders_and_encoder_decoders_say_what_they_are(tmp_path: Path) -> None:
    from transformers import BertConfig, T5Config, ViTConfig

    T5Config().save_pretrained(tmp_path)
    with pytest.raises(UnsupportedModelError, match=r"'t5' .* is an encoder-decoder"):
        load_pretrained(tmp_path, PLAIN)
    BertConfig().save_pretrained(tmp_path)
    with pytest.raises(UnsupportedModelError, match=r"'bert' .* nothing in it is causal"):
        load_pretrained(tmp_path, PLAIN)
    ViTConfig().save_pretrained(tmp_path)
    with pytest.raises(UnsupportedModelError, match="'vit' has no causal language model"):
        load_pretrained(tmp_path, PLAIN)


_OWN_CODE = """
from transformers import LlamaConfig, LlamaForCausalLM
class MyConfig(LlamaConfig):
    model_type = "my-llama"
class MyModel(LlamaForCausalLM):
    config_class = MyConfig
"""


@pytest.fixture
def folder_with_code(llama_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import transformers.dynamic_module_utils as dynamic

    monkeypatch.setattr(dynamic, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    (llama_folder / "own_code.py").write_text(_OWN_CODE)
    places = {"AutoConfig": "own_code.MyConfig", "AutoModelForCausalLM": "own_code.MyModel"}
    _edit_config(llama_folder, model_type="my-llama", auto_map=places)
    return llama_folder


def test_own_code_runs_only_when_asked_for(folder_with_code: Path) -> None:
    with pytest.raises(ModelError, match="trust_remote_code=True"):
        load_pretrained(folder_with_code, PLAIN)
    trusting = Options(dtype=torch.float32, trust_remote_code=True)
    model, _ = load_pretrained(folder_with_code, trusting)
    assert type(model).__name__ == "MyModel"


def test_a_broken_tokenizer_is_named(llama_folder: Path) -> None:
    (llama_folder / "tokenizer.json").write_text('{"version": ')
    with pytest.raises(ModelFileError, match="the tokenizer cannot be loaded"):
        load_tokenizer(llama_folder)


def test_dtypes() -> None:
    assert checked_dtype("bfloat16") is torch.bfloat16
    assert checked_dtype(torch.float16) is torch.float16
    assert checked_dtype("auto") == "auto"
    with pytest.raises(ModelError, match="did you mean 'float32'"):
        checked_dtype("flaot32")
    with pytest.raises(ModelError, match="unknown dtype"):
        checked_dtype(torch.int8)


def test_devices() -> None:
    assert checked_device(None, "auto") is None
    assert checked_device("cpu", None) == torch.device("cpu")
    with pytest.raises(ModelError, match="both device and device_map"):
        checked_device("cpu", "auto")
    with pytest.raises(ModelError, match="the device 'warp' is not usable"):
        checked_device("warp", None)
