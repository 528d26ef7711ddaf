from __future__ import annotations

import torch

from mindshare.recipes.finetune.answering import answers
from mindshare.recipes.finetune.batches import Example

from .conftest import Fresh


def test_free_answers_are_what_transformers_generates(
    fresh: Fresh, examples: list[Example]
) -> None:
    loaded = fresh()
    given = answers(loaded, [one.prompt for one in examples], [(3, 4, 5)])
    for one, answer in zip(examples, given, strict=True):
        ids = torch.tensor([one.prompt])
        grown = loaded.model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=3,
            do_sample=False,
            eos_token_id=None,
            pad_token_id=0,
        )
        assert answer.free == tuple(grown[0, len(one.prompt) :].tolist())


def test_chosen_answers_are_allowed_ones(fresh: Fresh, examples: list[Example]) -> None:
    allowed = [(50, 1), (51, 52, 1), (51, 53, 1)]
    given = answers(fresh(), [one.prompt for one in examples], allowed)
    for answer in given:
        assert any(answer.chosen[: len(one)] == one for one in allowed)


def test_the_order_is_kept_and_progress_is_told(fresh: Fresh, examples: list[Example]) -> None:
    loaded, seen = fresh(), []
    prompts = [one.prompt for one in examples]
    given = answers(loaded, prompts, [(3,)], report=lambda done, total: seen.append((done, total)))
    alone = [answers(loaded, [prompt], [(3,)])[0] for prompt in prompts]
    assert given == alone
    assert seen == [(6, 6)]
