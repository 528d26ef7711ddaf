"""How many actions a model names correctly, by action, with 95 % intervals; and an adapter's card.

`exact`: the model's own answer, to the end of its turn, is the action and nothing else. `choice`:
the answer when only the nine actions can be said, which is fair to a model that was never told how
to answer; guessing gives 1/9. Both are greedy, and continue one pass over the prompts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from mindshare.errors import OutputError
from mindshare.models import LoadedModel
from mindshare_recipes.finetune import LOG, Example, Tokens, TrainingBatch, batch, example, forward
from mindshare_recipes.maps import ACTIONS, GRIDS, SHAPES, TEST_SHARE, Sample, prompt

if TYPE_CHECKING:
    import torch

FILE = "accuracy.json"
BATCH = 32  # prompts
_Z = 1.959964  # two-sided 95 % of a normal distribution

Report = Callable[[int, int], None]  # prompts done, prompts in all


@dataclass(frozen=True)
class Score:
    """How many of n were correct."""

    right: int
    n: int

    @property
    def share(self) -> float:
        return self.right / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's, which keeps its coverage near 0 and 1."""
        n, p, z = self.n, self.share, _Z
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        return max(0.0, middle - half), min(1.0, middle + half)

    def __str__(self) -> str:
        """`71.5 % [67, 75]`"""
        low, high = self.interval
        return f"{100 * self.share:.1f} % [{100 * low:.0f}, {100 * high:.0f}]"


@dataclass(frozen=True)
class Accuracy:
    """Scores by action, then over all of them under the name `all`."""

    exact: dict[str, Score]
    choice: dict[str, Score]


def accuracy(
    loaded: LoadedModel, samples: Sequence[Sample], *, report: Report | None = None
) -> Accuracy:
    """Ask the model about every sample."""
    examples = [example(loaded, prompt(sample), sample.action) for sample in samples]
    allowed = [example(loaded, prompt(samples[0]), action).answer for action in ACTIONS]
    given = answers(loaded, [one.prompt for one in examples], allowed, report=report)

    def scores(replies: Sequence[Tokens]) -> dict[str, Score]:
        right: dict[str, list[bool]] = {action: [] for action in [*ACTIONS, "all"]}
        for sample, one, reply in zip(samples, examples, replies, strict=True):
            for name in (sample.action, "all"):
                right[name].append(reply[: len(one.answer)] == one.answer)
        return {name: Score(sum(each), len(each)) for name, each in right.items() if each}

    return Accuracy(scores([one.free for one in given]), scores([one.chosen for one in given]))


@dataclass(frozen=True)
class ModelAnswer:
    """What a model says to one prompt, in tokens, the end of the turn included if it came."""

    free: Tokens
    chosen: Tokens  # the only tokens allowed are those that continue an allowed answer


def answers(
    loaded: LoadedModel,
    prompts: Sequence[Tokens],
    allowed: Sequence[Tokens],
    *,
    report: Report | None = None,
) -> list[ModelAnswer]:
    """One per prompt, in the prompts' order, at most as long as the longest allowed one."""
    import torch

    order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))  # like lengths together
    steps = max(map(len, allowed))
    by_prompt: dict[int, ModelAnswer] = {}
    for first in range(0, len(order), BATCH):
        chosen = order[first : first + BATCH]
        questions = batch([Example(prompts[i], (0,)) for i in chosen])
        with torch.no_grad():
            logits, cache = forward(loaded.model, questions)
            copy = deepcopy(cache)  # decoding extends the cache, and both start from the prompts
            free = _decode(loaded.model, questions, (logits[:, -1], cache), steps, None)
            among = _decode(loaded.model, questions, (logits[:, -1], copy), steps, allowed)
        by_prompt.update(zip(chosen, map(ModelAnswer, free, among), strict=True))
        if report is not None:
            report(len(by_prompt), len(prompts))
    return [by_prompt[i] for i in range(len(prompts))]


def _decode(
    model: Any,
    questions: TrainingBatch,
    state: tuple[torch.Tensor, Any],
    steps: int,
    allowed: Sequence[Tokens] | None,
) -> list[Tokens]:
    """`state`: the logits of the next token, [sequence, vocabulary], and the prompts' cache."""
    import torch
    from torch.nn.functional import pad

    logits, cache = state
    replies: list[Tokens] = [()] * len(logits)
    for step in range(steps):
        replies = [
            (*reply, _next_token(row, reply, allowed))
            for row, reply in zip(logits, replies, strict=True)
        ]
        if step < steps - 1:
            output = model(
                input_ids=torch.tensor([reply[-1:] for reply in replies]),
                attention_mask=pad(questions.mask, (0, step + 1), value=1),
                position_ids=questions.positions[:, -1:] + step + 1,
                past_key_values=cache,
                use_cache=True,
            )
            logits = output.logits[:, -1]
    return replies


def _next_token(logits: torch.Tensor, reply: Tokens, allowed: Sequence[Tokens] | None) -> int:
    """The likeliest token; with `allowed`, of those that continue one of these answers."""
    if allowed is None:
        return int(logits.argmax())
    depth = len(reply)
    following = sorted({a[depth] for a in allowed if len(a) > depth and a[:depth] == reply})
    if not following:  # the answer is complete: what comes after does not matter
        return 0
    return following[int(logits[following].argmax())]


def write_accuracy(accuracies: Mapping[str, Accuracy], path: Path, *, seed: int) -> None:
    """Scores by model name, as JSON."""
    content = {
        "samples": next(iter(accuracies.values())).exact["all"].n,
        "seed": seed,
        "models": {name: asdict(one) for name, one in accuracies.items()},
    }
    try:
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"can't write {path}: {error.strerror}") from error


# The model card of an adapter: every figure is read from the files beside it, training.json (by the
# training) and accuracy.json (by `building-blocks accuracy --out`).


def write_card(folder: Path) -> Path:
    path = folder / "README.md"
    path.write_text(card(folder), encoding="utf-8")
    return path


def card(folder: Path) -> str:
    """Markdown: what it is, how it was made, how good it is."""
    log, measured = _read(folder / LOG), _read(folder / FILE)
    settings, last_losses = log["settings"], log["losses"][-25:]
    texts = {
        f"# {folder.name}": f"""A LoRA adapter for SmolLM2-135M-Instruct (Apache-2.0, and so is the
        adapter) that names the action between two ASCII maps: a shape drawn in `#` before, in `*`
        after. It exists to be compared with its base: where do the two look? Load it with
        `mindshare.load("{folder.name}")`.""",
        "## Data": f"""Synthetic, made by `mindshare-recipes building-blocks data`: {len(SHAPES)}
        shapes on square grids of {", ".join(map(str, GRIDS))} cells, {len(ACTIONS)} actions
        ({", ".join(ACTIONS)}), equally frequent. Moves shift by one cell; turns, double and half
        keep the upper left corner. A turn by 45 degrees is left out: on a grid of characters it
        would be another shape. {100 * TEST_SHARE:.0f} % of all (shape, position) pairs are held
        out, whatever the grid or the action; duplicates are excluded.""",
        "## Training": f"""Loss on the answer only. {settings["steps"]:,} steps of
        {settings["batch"]} samples, LoRA of rank {settings["rank"]} (alpha {settings["alpha"]}) on
        all linear layers, AdamW, learning rate {settings["learning_rate"]:g} after
        {settings["warmup"]} steps of warm-up with a cosine down to a tenth, seed
        {settings["seed"]}. {log["seconds"] / 60:.0f} minutes on two CPU cores. Mean loss of the
        last {len(last_losses)} steps: {sum(last_losses) / len(last_losses):.3f} a token. Weights
        are stored in bfloat16. {log.get("note", "")}""",
        "## Accuracy on held-out maps": f"""{measured["samples"]} held-out maps (seed
        {measured["seed"]}), greedy decoding, 95 % Wilson intervals. Exact: the answer is the action
        and nothing else. Among nine: only the nine actions can be said; guessing gives
        {100 / len(ACTIONS):.1f} %. Measured again by
        `mindshare-recipes building-blocks accuracy`.""",
    }
    how: dict[str, Any] = {"width": 100, "break_long_words": False, "break_on_hyphens": False}
    parts = [f"{title}\n\n{fill(' '.join(text.split()), **how)}\n" for title, text in texts.items()]
    return "\n".join([*parts, _score_table(measured["models"])])


def _score_table(models: Mapping[str, Any]) -> str:
    titles = {"exact": "exact", "choice": "among nine"}
    head = ["action", "n", *(f"{name}, {title}" for name in models for title in titles.values())]
    rows = [head, ["---"] * len(head)]
    for action in [*ACTIONS, "all"]:
        scores = [Score(**models[name][way][action]) for name in models for way in titles]
        rows.append([action, str(scores[0].n), *map(str, scores)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _read(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise OutputError(
            f"{path} can't be read ({type(error).__name__})",
            next_step="train the adapter, then run `mindshare-recipes building-blocks accuracy`",
        ) from error
    return content
