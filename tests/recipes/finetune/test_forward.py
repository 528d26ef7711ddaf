from __future__ import annotations

import torch

from mindshare.recipes.finetune.batches import Example, batch
from mindshare.recipes.finetune.forward import answer_loss

from .conftest import Fresh


def whole_loss(model: torch.nn.Module, examples: list[Example]) -> torch.Tensor:
    """Every sequence by itself, whole, by the definition."""
    logs = []
    for one in examples:
        ids = torch.tensor([one.tokens])
        said = model(input_ids=ids).logits[0].log_softmax(-1)
        first = len(one.prompt)
        logs += [said[first + i - 1, token] for i, token in enumerate(one.answer)]
    return -torch.stack(logs).mean()


def test_the_loss_and_its_gradients_are_those_of_whole_sequences(
    fresh: Fresh, examples: list[Example]
) -> None:
    ours, theirs = fresh().model, fresh().model
    loss, expected = answer_loss(ours, batch(examples)), whole_loss(theirs, examples)
    torch.testing.assert_close(loss, expected, atol=1e-5, rtol=1e-5)
    loss.backward()
    expected.backward()
    pairs = zip(ours.named_parameters(), theirs.named_parameters(), strict=True)
    for (name, mine), (_, other) in pairs:
        torch.testing.assert_close(mine.grad, other.grad, atol=2e-5, rtol=1e-3, msg=name)


def test_sequences_that_share_nothing_work_too(fresh: Fresh) -> None:
    apart = [Example((5, 6, 7), (9, 1)), Example((8, 9), (10, 1))]
    model = fresh().model
    torch.testing.assert_close(
        answer_loss(model, batch(apart)), whole_loss(model, apart), atol=1e-5, rtol=1e-5
    )
