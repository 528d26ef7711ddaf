"""Folders become models with every weight from their files, or one clear error."""

from __future__ import annotations

import io
import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from mindshare.errors import (
    AdapterError,
    MindshareError,
    ModelError,
    ModelFileError,
    UnsupportedModelError,
)
from mindshare.models.pretrained import (
    Options,
    adapter_files,
    base_of,
    checked_device,
    checked_dtype,
    load_pretrained,
    merge_adapter,
    quiet_transformers,
    read_tokenizer,
    step,
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
    model, tokenizer = load_pretrained(shared_llama, PLAIN), read_tokenizer(shared_llama)
    assert model.config._attn_implementation == "sdpa"
    assert not model.training
    assert tokenizer("the")["input_ids"] == tiny.tokenizer()("the")["input_ids"]
    for name, weight in tiny.llama().state_dict().items():
        assert torch.equal(model.state_dict()[name], weight)


def test_tied_heads_and_pickled_weights_are_fine(tmp_path: Path) -> None:
    tied = tiny.llama_folder(tmp_path / "tied", tie_word_embeddings=True)
    assert "lm_head.weight" not in load_file(tied / "model.safetensors")
    model = load_pretrained(tied, PLAIN)
    assert model.lm_head.weight is model.model.embed_tokens.weight
    torch.save(load_file(tied / "model.safetensors"), tied / "pytorch_model.bin")
    (tied / "model.safetensors").unlink()
    assert load_pretrained(tied, PLAIN).num_parameters() == model.num_parameters()


def test_a_model_without_sdpa_falls_back_to_eager(tmp_path: Path) -> None:
    from transformers import Gemma2Config, Gemma2ForCausalLM

    config = Gemma2Config(
        hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, head_dim=8, vocab_size=32,
    )  # fmt: skip
    Gemma2ForCausalLM(config).save_pretrained(tmp_path)
    model, tokenizer = load_pretrained(tmp_path, PLAIN), read_tokenizer(tmp_path)
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


def test_weights_with_an_adapter_beside_them(llama_folder: Path, tmp_path: Path) -> None:
    """Transformers would add it without a word, and the weights' hash would stand for both."""
    lora = tiny.lora_folder(tmp_path / "lora", tiny.llama(), base_name=str(llama_folder))
    for file in lora.glob("adapter*"):
        shutil.copy(file, llama_folder)
    with pytest.raises(ModelFileError, match="a model and an adapter in one"):
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


class _RunsCode:
    """What a pickle makes of this is a call."""

    def __init__(self, made: Path) -> None:
        self.made = made

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.made,)


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("name", ["pytorch_model.bin", "adapter_model.bin"])
def test_a_pickle_runs_no_code(
    llama_folder: Path, tmp_path: Path, lora: Path, name: str, zipped: bool
) -> None:
    """Neither of the two ways in which torch wrote pickles; nor is it a traceback."""
    made = tmp_path / "made"
    folder = llama_folder if name.startswith("pytorch") else lora
    for file in folder.glob("*.safetensors"):
        file.unlink()
    torch.save(_RunsCode(made), folder / name, _use_new_zipfile_serialization=zipped)
    with pytest.raises(ModelError, match=r"do not load|is corrupt"):
        load_pretrained(folder, PLAIN) if folder == llama_folder else _merge_onto(folder)
    assert not made.exists()


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
    model = load_pretrained(folder_with_code, trusting)
    assert type(model).__name__ == "MyModel"


def test_a_broken_tokenizer_is_named(llama_folder: Path) -> None:
    (llama_folder / "tokenizer.json").write_text('{"version": ')
    with pytest.raises(ModelFileError, match="the tokenizer cannot be loaded"):
        read_tokenizer(llama_folder)


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
    for device in ("warp", "meta", "hpu", "cpu:-1", ""):
        with pytest.raises(ModelError, match=f"the device '{device}' is not usable"):
            checked_device(device, None)


def test_a_device_without_numbers_of_64_bits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As mps is, which raises this; the kernels sum in 64 bits."""
    zeros = torch.zeros

    def short(*sizes: int, dtype: torch.dtype = torch.float32, **rest: Any) -> torch.Tensor:
        if dtype is torch.float64:
            raise TypeError("Cannot convert a MPS Tensor to float64 dtype")
        return zeros(*sizes, dtype=dtype, **rest)

    monkeypatch.setattr(torch, "zeros", short)
    with pytest.raises(ModelError, match="not usable: Cannot convert"):
        checked_device("cpu", None)


# Adapters.


@pytest.fixture(scope="module")
def shared_lora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.lora_folder(tmp_path_factory.mktemp("lora") / "tiny-lora", tiny.llama())


@pytest.fixture
def lora(tmp_path: Path, shared_lora: Path) -> Path:
    return Path(shutil.copytree(shared_lora, tmp_path / "tiny-lora"))


def _merge_onto(folder: Path, **changes: int) -> None:
    merge_adapter(tiny.llama(**changes), folder, base_name="the-base")


def test_merged_equals_the_adapter_on_its_base(lora: Path) -> None:
    from peft import PeftModel

    ids = torch.arange(2, 20)[None]
    merged = merge_adapter(tiny.llama(), lora, base_name="tiny")
    assert type(merged).__name__ == "LlamaForCausalLM"
    with torch.no_grad():
        plain = tiny.llama()(ids).logits
        beside = PeftModel.from_pretrained(tiny.llama(), lora).eval()(ids).logits
        together = merged(ids).logits
    torch.testing.assert_close(together, beside, atol=1e-5, rtol=1e-4)
    assert (together - plain).abs().max() > 0.01


def test_another_width(lora: Path) -> None:
    with pytest.raises(
        AdapterError, match=r"'tiny-lora' does not fit the base 'the-base'"
    ) as caught:
        _merge_onto(lora, hidden_size=64)
    assert "layers.0.self_attn.q_proj.lora_A.weight is (4, 32) in the adapter" in str(caught.value)


def test_another_depth(lora: Path) -> None:
    with pytest.raises(AdapterError, match=r"it has no .*layers\.2.*which this base needs"):
        _merge_onto(lora, num_hidden_layers=3)
    with pytest.raises(AdapterError, match=r"layers\.1.* has no place in this base"):
        _merge_onto(lora, num_hidden_layers=1)


def test_another_architecture(lora: Path) -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    gpt2 = GPT2LMHeadModel(GPT2Config(n_embd=16, n_layer=1, n_head=2, vocab_size=32))
    with pytest.raises(AdapterError, match="does not fit the base 'gpt2': Target modules"):
        merge_adapter(gpt2, lora, base_name="gpt2")


def test_weights_that_are_not_numbers(lora: Path) -> None:
    from safetensors.torch import load_file, save_file

    file = lora / "adapter_model.safetensors"
    weights = load_file(file)
    next(iter(weights.values())).fill_(float("nan"))
    save_file(weights, file)
    with pytest.raises(AdapterError, match="NaN"):
        _merge_onto(lora)


def test_an_adapter_that_adds_tokens(tmp_path: Path) -> None:
    from peft import PrefixTuningConfig, get_peft_model

    config = PrefixTuningConfig(num_virtual_tokens=2, task_type="CAUSAL_LM")
    get_peft_model(tiny.llama(), config).save_pretrained(tmp_path)
    with pytest.raises(AdapterError, match="PREFIX_TUNING adapter adds tokens"):
        _merge_onto(tmp_path)


def test_damaged_files_are_named(lora: Path) -> None:
    file = lora / "adapter_model.safetensors"
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(ModelFileError, match=r"adapter_model\.safetensors is corrupt"):
        adapter_files(lora)
    file.unlink()
    with pytest.raises(AdapterError, match="is not a PEFT adapter"):
        adapter_files(lora)
    (lora / "adapter_model.bin").write_bytes(b"junk")
    with pytest.raises(AdapterError, match=r"adapter_model\.bin is corrupt"):
        _merge_onto(lora)


def test_an_adapter_of_an_unknown_kind(lora: Path) -> None:
    (lora / "adapter_config.json").write_text('{"peft_type": "MAGIC"}')
    with pytest.raises(AdapterError, match=r"adapter_config\.json cannot be used"):
        _merge_onto(lora)


def test_pickled_adapters_merge_too(lora: Path) -> None:
    from safetensors.torch import load_file

    file = lora / "adapter_model.safetensors"
    torch.save(load_file(file), lora / "adapter_model.bin")
    file.unlink()
    _merge_onto(lora)


def test_which_base(lora: Path) -> None:
    with pytest.raises(AdapterError, match="does not say which model"):
        base_of(lora)
    config = lora / "adapter_config.json"
    stated = json.loads(config.read_text())
    config.write_text(json.dumps({**stated, "base_model_name_or_path": "smollm2"}))
    assert base_of(lora) == "smollm2"
    (lora / "base").mkdir()
    config.write_text(json.dumps({**stated, "base_model_name_or_path": "base"}))
    assert base_of(lora) == str(lora / "base")


# Quiet.


def test_nothing_is_said_where_nobody_watches(capfd: pytest.CaptureFixture[str]) -> None:
    with step("Working", show=True):
        pass
    assert capfd.readouterr() == ("", "")


def test_transformers_speaks_again_afterwards() -> None:
    from transformers.utils import logging

    def settings() -> tuple[bool, int]:
        return logging.is_progress_bar_enabled(), logging.get_verbosity()

    before = settings()
    inside = []

    def fail() -> None:
        with quiet_transformers():
            inside.append(settings())
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert inside == [(False, logging.ERROR)]
    assert settings() == before


class _Heard(io.StringIO):
    """A stream that is no terminal, and tells when something was written."""

    def __init__(self) -> None:
        super().__init__()
        self.said = threading.Event()

    def write(self, text: str) -> int:
        self.said.set()
        return super().write(text)


def test_a_name_is_no_markup(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with step("Loading [/x]\x1b]0;a", show=True):
        pass
    assert "[/x]\\x1b]0;a" in capsys.readouterr().err


def test_slow_steps_say_so_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = _Heard()
    monkeypatch.setattr("sys.stderr", heard)
    monkeypatch.setattr("mindshare.models.pretrained.SLOW", 0.0)
    with step("Converting a.gguf", show=True):
        assert heard.said.wait(60)
    assert heard.getvalue().startswith("mindshare: Converting a.gguf")
    heard.said.clear()
    with step("Converting b.gguf", show=False):
        assert not heard.said.is_set()
