from __future__ import annotations

from mindshare.models import LoadedModel
from mindshare.prompts import Prompt
from mindshare.recipes.finetune.batches import IGNORED, Example, batch, example
from mindshare.study import encode_for


def test_what_all_begin_with_is_kept_once_and_the_rest_ends_together() -> None:
    found = batch([Example((1, 2, 3, 4), (9, 0)), Example((1, 2, 5, 6, 7), (8, 8, 0))])
    assert found.prefix.tolist() == [[1, 2]]
    assert found.rest.tolist() == [[0, 0, 3, 4, 9], [5, 6, 7, 8, 8]]
    assert found.labels.tolist() == [[IGNORED, 9, 0], [8, 8, 0]]
    assert found.mask.tolist() == [[1, 1, 0, 0, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1]]
    assert found.positions[0, 2:].tolist() == [2, 3, 4]
    assert found.positions[1].tolist() == [2, 3, 4, 5, 6]


def test_the_last_token_of_a_prompt_is_never_shared() -> None:
    """Its logits are the first of the answer, so it must be among the rest."""
    found = batch([Example((1, 2), (9,)), Example((1, 2), (8,))])
    assert found.prefix.tolist() == [[1]]
    assert found.rest.tolist() == [[2], [2]]


def test_a_prompt_is_tokenised_as_it_is_measured(smollm2: LoadedModel) -> None:
    prompt = Prompt.from_chat([{"role": "user", "content": "Left or right?"}])
    found = example(smollm2, prompt, "left")
    assert found.prompt == encode_for(smollm2, prompt).ids
    assert smollm2.tokenizer is not None
    assert smollm2.tokenizer.decode(found.answer) == "left<|im_end|>"
