"""The law of the zoo: every model type is measured exactly, or refused with the reason.

Expected numbers come from each model's own eager attention; see zoo.py for how the models are made
and write_table.py for how they are compared.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
import torch
import transformers
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from mindshare.attention.capture import Capture, CaptureOptions, capture
from mindshare.errors import UnsupportedModelError
from tests.laws.write_table import (
    CLASSES,
    EVERYTHING,
    attention_layers,
    compare,
    configured_layers,
    eager_attention,
    expected,
    implementations,
    key_weights,
    prompt,
)
from tests.laws.zoo import (
    ATTENTION_LAYERS,
    CHANGED_BY_CHUNKS,
    EXACT,
    REFUSED,
    TRANSFORMERS,
    UNBUILDABLE,
    build,
)

pytestmark = pytest.mark.usefixtures("quiet_and_small")

LIMITS = {"mass": 2e-4, "received": 2e-4, "entropy": 1e-3, "distance": 1e-2}
PAGE = Path(__file__).parents[2] / "docs" / "models.md"

# One of each kind of attention there is.
_KINDS = """
    cohere2 deepseek_v3 doge gemma2 gemma3_text gemma3n_text gpt2 gpt_neox gpt_oss inkling_text
    jamba lfm2 llama llama4_text mistral nemotron_h qwen3 qwen3_next
"""
REPRESENTATIVES = _KINDS.split()

FEATURES = {
    "deepseek_v3": "latent keys",
    "gemma2": "softcap",
    "gemma3_text": "window",
    "gpt_oss": "learned sinks",
    "inkling_text": "score bias",
    "llama": "grouped queries",
    "llama4_text": "chunks",
    "mixtral": "experts",
    "qwen3": "QK norm",
    "qwen3_next": "hybrid",
}


def known(model_type: str) -> str:
    if model_type not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        pytest.skip(f"transformers {transformers.__version__} does not know {model_type}")
    return model_type


# The zoo itself


def test_every_causal_type_is_in_exactly_one_table() -> None:
    if transformers.__version__ != TRANSFORMERS:
        pytest.skip(f"the tables are for transformers {TRANSFORMERS}: {transformers.__version__}")
    listed = [*EXACT, *REFUSED, *UNBUILDABLE]
    twice = sorted({name for name in listed if listed.count(name) > 1})
    missing = sorted(set(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES) - set(listed))
    gone = sorted(set(listed) - set(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES))
    assert not twice, f"in more than one table of zoo.py: {twice}"
    assert not missing, f"new in transformers, add to a table of zoo.py: {missing}"
    assert not gone, f"no longer in transformers, take out of zoo.py: {gone}"


@pytest.mark.parametrize(("model_type", "feature"), FEATURES.items())
def test_the_zoo_has_the_feature(model_type: str, feature: str) -> None:
    assert feature in compare(known(model_type)).features


@pytest.mark.parametrize("model_type", EXACT)
def test_attention_is_far_enough_from_uniform_to_show_errors(model_type: str) -> None:
    assert compare(known(model_type)).peaked < 0.95


@pytest.mark.parametrize("model_type", UNBUILDABLE)
def test_the_unbuildable_can_not_be_built(model_type: str) -> None:
    if model_type == "gemma3n" and importlib.util.find_spec("timm"):
        pytest.skip("timm is installed here, so gemma3n can be built after all")
    with pytest.raises((AttributeError, ImportError)):
        build(known(model_type))


# Exact types


@pytest.mark.parametrize("model_type", EXACT)
def test_statistics_equal_those_of_eager_attention(model_type: str) -> None:
    found = compare(known(model_type))
    errors = {name: getattr(found, name) for name in LIMITS}
    assert all(errors[name] <= limit for name, limit in LIMITS.items()), errors


@pytest.mark.parametrize("model_type", EXACT)
def test_masses_of_a_partition_sum_to_one(model_type: str) -> None:
    found = compare(known(model_type))
    smallest, largest = found.row_sums
    assert largest <= 1 + 1e-5
    if "learned sinks" in found.features:
        assert smallest < 0.9  # the rest went to the sink slot
    else:
        assert smallest >= 1 - 1e-5


@pytest.mark.parametrize("model_type", EXACT)
def test_the_model_says_the_same_while_it_is_watched(model_type: str) -> None:
    assert compare(known(model_type)).output <= 1e-3


@pytest.mark.parametrize("model_type", EXACT)
def test_the_attention_implementation_is_put_back(model_type: str) -> None:
    assert compare(known(model_type)).restored


@pytest.mark.parametrize("model_type", EXACT)
def test_every_attention_layer_is_seen(model_type: str) -> None:
    assert compare(known(model_type)).layers == attention_layers(model_type)


@pytest.mark.parametrize("model_type", sorted(set(ATTENTION_LAYERS) - {"mllama"}))
def test_a_hybrid_shows_the_attention_layers_of_its_config(model_type: str) -> None:
    config = build(known(model_type)).config.get_text_config()
    assert compare(model_type).layers == configured_layers(config)


# Ways of feeding a prompt


def assert_same(left: Capture, right: Capture) -> None:
    """In the layers of `left`."""
    for name, limit in LIMITS.items():
        for layer, values in getattr(left, name).items():
            apart = (getattr(right, name)[layer] - values).abs()
            assert float(apart.max()) <= limit, (name, layer)


@pytest.mark.parametrize("model_type", sorted(set(REPRESENTATIVES) - set(CHANGED_BY_CHUNKS)))
def test_a_prompt_in_chunks_equals_the_whole(model_type: str) -> None:
    model, ids, columns = build(known(model_type)), prompt(), key_weights()
    whole = capture(model, ids, columns, options=EVERYTHING)
    chunked = CaptureOptions(entropy=True, distance=True, chunk_tokens=13)
    in_chunks = capture(model, ids, columns, options=chunked)
    assert in_chunks.layers == whole.layers
    assert_same(in_chunks, whole)


@pytest.mark.parametrize("model_type", CHANGED_BY_CHUNKS)
def test_some_models_are_themselves_changed_by_chunks(model_type: str) -> None:
    model, ids = build(known(model_type)), prompt()[None]
    with torch.inference_mode():
        whole = model(input_ids=ids, use_cache=False).logits[:, 13:26]
        first = model(input_ids=ids[:, :13], use_cache=True)
        cache = getattr(first, "past_key_values", None)
        second = model(input_ids=ids[:, 13:26], past_key_values=cache, use_cache=True).logits
    assert float((second - whole).abs().max() / whole.abs().max()) > 0.01
    options = CaptureOptions(chunk_tokens=13, self_check=False)
    with pytest.raises(UnsupportedModelError, match="something else when it is fed in chunks"):
        capture(model, prompt(), key_weights(), options=options)


@pytest.mark.parametrize("model_type", REPRESENTATIVES)
def test_some_layers_equal_the_same_layers_of_the_whole(model_type: str) -> None:
    model, ids, columns = build(known(model_type)), prompt(), key_weights()
    chosen = attention_layers(model_type)[-1]
    whole = capture(model, ids, columns, options=EVERYTHING)
    some = capture(model, ids, columns, layers=[chosen], options=EVERYTHING)
    assert some.layers == (chosen,)
    assert_same(some, whole)


@pytest.mark.parametrize("model_type", REPRESENTATIVES)
def test_a_right_padded_batch_equals_each_prompt_alone(model_type: str) -> None:
    model, lengths = build(known(model_type)), (45, 31, 12)
    ids = torch.zeros(3, 45, dtype=torch.long)
    mask = torch.zeros(3, 45, dtype=torch.long)
    for row, length in enumerate(lengths):
        ids[row, :length], mask[row, :length] = prompt(length, seed=row), 1
    together = capture(model, ids, key_weights(), attention_mask=mask, options=EVERYTHING)
    for row, length in enumerate(lengths):
        alone = capture(model, ids[row, :length], key_weights()[:length], options=EVERYTHING)
        for name, limit in LIMITS.items():
            for layer, values in getattr(alone, name).items():
                batched = getattr(together, name)[layer][row][:, :length]
                assert float((batched - values).abs().max()) <= limit, (name, layer, row)


@pytest.mark.parametrize("model_type", REPRESENTATIVES)
def test_left_padding_equals_what_eager_attention_gives(model_type: str) -> None:
    model, padding = build(known(model_type)), 14
    ids, columns = torch.stack([prompt(), prompt(seed=3)]), key_weights()
    mask = torch.ones_like(ids)
    ids[1, :padding], mask[1, :padding] = 0, 0
    seen = capture(model, ids, columns, attention_mask=mask, options=EVERYTHING)
    matrices, _ = eager_attention(model, ids, mask)
    for layer, batch in zip(attention_layers(model_type), matrices, strict=True):
        for row in (0, 1):
            wanted = expected(batch[row], columns, valid=mask[row])
            real = mask[row].bool()
            for name, limit in LIMITS.items():
                apart = (getattr(seen, name)[layer][row] - getattr(wanted, name)).abs()
                assert float(apart[:, real].max()) <= limit, (name, layer, row)


# Refused types


@pytest.mark.parametrize("model_type", REFUSED)
def test_a_refused_type_says_why(model_type: str) -> None:
    model, why = build(known(model_type)), REFUSED[model_type]
    before = implementations(model)
    with pytest.raises(why.error, match=re.escape(why.says)):
        capture(model, prompt(), key_weights()[:, :CLASSES])
    assert implementations(model) == before


# The page


def test_the_page_lists_the_types_of_the_zoo() -> None:
    sections = PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
    listed = {
        section.split("\n", 1)[0]: re.findall(r"^\| (?!type |---)(\S+) \|", section, re.MULTILINE)
        for section in sections
    }
    assert listed == {
        "Exact": sorted(EXACT),
        "Refused": sorted(REFUSED),
        "Not built": sorted(UNBUILDABLE),
    }
    assert f"**{len(EXACT)} types are exact**" in PAGE.read_text(encoding="utf-8")
