"""Supervised fine-tuning with LoRA: a loaded base and examples → an adapter folder.

The loss is that of the answers only. The same base, examples and settings give the same weights,
also when training was killed and went on from a checkpoint.

    example ─► batch ─► forward ─► answer_loss ─► train ─► adapter
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import takewhile
from math import cos, pi
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindshare.disk import flush
from mindshare.errors import OutputError, PromptError, SelectionError
from mindshare.models import LoadedModel
from mindshare.prompts import Prompt
from mindshare.study import encode_for

if TYPE_CHECKING:
    import torch

CHECKPOINT = "checkpoint.pt"
CHECKPOINT_EVERY = 25  # steps
LOG = "training.json"
IGNORED = -100  # a label that the loss leaves out
_WINDOW = 16  # batches whose examples are sorted by length

Tokens = tuple[int, ...]
Report = Callable[[int, int, float], None]  # steps done, steps in all, last loss


# Examples and batches. A batch keeps what all its sequences begin with apart (chats share their
# system message), so that the model runs it once: its keys and values are repeated for all
# sequences, and gradients add up through them, so loss and gradients are those of running every
# sequence whole. The rest is padded on the left: answers end together, and logits are needed for
# the last few positions only.


@dataclass(frozen=True)
class Example:
    """A prompt as the model reads it, and the answer it should give, end of turn included."""

    prompt: Tokens
    answer: Tokens


@dataclass(frozen=True)
class TrainingBatch:
    """The tokens that all sequences begin with, and the rest of each."""

    prefix: torch.Tensor  # [1, shared]
    rest: torch.Tensor  # [sequence, rest], padded on the left
    mask: torch.Tensor  # [sequence, shared + rest]: 0 for padding
    positions: torch.Tensor  # [sequence, rest]: padding does not count
    labels: torch.Tensor  # [sequence, answer]: of the last positions


def example(loaded: LoadedModel, prompt: Prompt, answer: str) -> Example:
    """Tokenised exactly as the prompt is when it is measured."""
    tokenizer: Any = loaded.tokenizer
    ids = tokenizer(answer, add_special_tokens=False)["input_ids"]
    end = [] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]
    return Example(tuple(encode_for(loaded, prompt).ids), (*ids, *end))


def batch(examples: Sequence[Example]) -> TrainingBatch:
    import torch

    # The last token of a prompt is never shared: its logits are the first of the answer.
    beginnings = [one.prompt[:-1] for one in examples]
    alike = takewhile(lambda tokens: len(set(tokens)) == 1, zip(*beginnings, strict=False))
    shared = len(list(alike))
    # Nothing is predicted after the last token of an answer.
    rests = [(one.prompt + one.answer)[shared:-1] for one in examples]
    longest, answer = max(map(len, rests)), max(len(one.answer) for one in examples)
    padding = [longest - len(rest) for rest in rests]
    real = torch.arange(longest) >= torch.tensor(padding)[:, None]
    return TrainingBatch(
        prefix=torch.tensor([beginnings[0][:shared]], dtype=torch.long),
        rest=torch.tensor([[0] * n + list(rest) for n, rest in zip(padding, rests, strict=True)]),
        mask=torch.nn.functional.pad(real, (shared, 0), value=True).long(),
        positions=(real.cumsum(1) - 1).clamp(min=0) + shared,
        labels=torch.tensor(
            [[IGNORED] * (answer - len(one.answer)) + list(one.answer) for one in examples]
        ),
    )


def forward(model: Any, batch: TrainingBatch) -> tuple[torch.Tensor, Any]:
    """The logits where an answer may be, [sequence, answer, vocabulary], and the cache."""
    from transformers import DynamicCache

    cache = DynamicCache(config=model.config)
    if batch.prefix.shape[1]:
        model(input_ids=batch.prefix, past_key_values=cache, use_cache=True, logits_to_keep=1)
        cache.batch_repeat_interleave(len(batch.rest))
    output = model(
        input_ids=batch.rest,
        attention_mask=batch.mask,
        position_ids=batch.positions,
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=batch.labels.shape[1],
    )
    return output.logits, cache


def answer_loss(model: Any, batch: TrainingBatch) -> torch.Tensor:
    """The mean over the answers' tokens; prompts are left out."""
    from torch.nn.functional import cross_entropy

    logits, _ = forward(model, batch)
    return cross_entropy(logits.flatten(0, 1), batch.labels.flatten(), ignore_index=IGNORED)


# Training.


@dataclass(frozen=True)
class Settings:
    """What decides the weights that come out, together with the base and the examples."""

    steps: int
    batch: int = 16
    learning_rate: float = 1e-3
    warmup: int = 20  # steps
    rank: int = 8
    alpha: int = 16
    targets: str = "all-linear"  # which modules get an adapter: peft's word for all, or a regex
    clip: float = 1.0  # largest norm of the gradient
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "rank", "alpha"):
            if getattr(self, name) < 1:
                raise SelectionError(f"{name}={getattr(self, name)}", allowed="1, 2, 3, …")
        if self.warmup < 0 or not 0 < self.learning_rate < 1:
            raise SelectionError(
                f"warmup={self.warmup}, learning_rate={self.learning_rate}",
                allowed="warmup from 0, a learning rate between 0 and 1",
            )

    def rate(self, step: int) -> float:
        """Linear warm-up, then a cosine down to a tenth."""
        if step < self.warmup:
            return self.learning_rate * (step + 1) / self.warmup
        done = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.learning_rate * (0.55 + 0.45 * cos(pi * done))

    def chosen(self, lengths: Sequence[int], step: int) -> list[int]:
        """The examples of a step: a new random order every time all have been seen.

        Examples of like length make a batch: less padding, fewer tokens to compute.
        """
        epoch, place = divmod(step, -(-len(lengths) // self.batch))  # so many steps see all once
        rng = random.Random(f"{self.seed} {epoch}")
        order = list(range(len(lengths)))
        rng.shuffle(order)
        for first in range(0, len(order), self.batch * _WINDOW):
            window = slice(first, first + self.batch * _WINDOW)
            order[window] = sorted(order[window], key=lambda i: lengths[i])
        batches = [order[first : first + self.batch] for first in range(0, len(order), self.batch)]
        rng.shuffle(batches)
        return batches[place]


@dataclass
class TrainingState:
    """All that decides how training goes on: order and learning rate follow from the step."""

    run: dict[str, Any]  # base, examples and settings, which a checkpoint must agree with
    losses: list[float] = field(default_factory=list)  # one per step done
    seconds: float = 0.0
    adapter: dict[str, Any] = field(default_factory=dict)  # weights by name
    optimizer: dict[str, Any] = field(default_factory=dict)

    def save(self, folder: Path) -> None:
        """Written beside the earlier checkpoint, then renamed: a kill never leaves half of one."""
        import torch

        building = folder / f"{CHECKPOINT}.building"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            torch.save(vars(self), building)
            flush(building)
            building.replace(folder / CHECKPOINT)
        except (OSError, RuntimeError) as error:  # torch reports a full disk as a RuntimeError
            raise OutputError(
                f"can't write a checkpoint to {folder}: {error}",
                next_step="free some space and start again: it goes on from the last checkpoint",
            ) from error

    @classmethod
    def load(cls, folder: Path, run: dict[str, Any]) -> TrainingState:
        """The folder's checkpoint, which must be of the same run; a new state without one."""
        import torch

        path = folder / CHECKPOINT
        if not os.path.exists(path):
            return cls(run)
        try:
            state = cls(**torch.load(path, weights_only=True))
        except Exception as error:  # torch.load raises many kinds for a damaged file
            raise OutputError(
                f"the checkpoint {path} can't be read ({type(error).__name__})",
                next_step="remove it to start from the beginning",
            ) from error
        different = _difference(state.run, run)
        if different is not None:
            raise OutputError(
                f"{folder} holds a checkpoint of another run: {different}",
                next_step="choose another folder, or remove the checkpoint to start again",
            )
        return state


def _difference(before: dict[str, Any], now: dict[str, Any]) -> str | None:
    """The first thing that is not the same in two runs, in words."""
    for name, value in now["settings"].items():
        earlier = before["settings"].get(name)
        if earlier != value:
            return f"{name} was {earlier!r} and is now {value!r}"
    if before["base"] != now["base"]:
        return "the base is another model"
    return None if before["examples"] == now["examples"] else "the examples are not the same"


def train(
    base: LoadedModel,
    examples: Sequence[Example],
    settings: Settings,
    *,
    out: Path,
    report: Report | None = None,
) -> Path:
    """Train an adapter into `out`; goes on where an earlier run of the same settings stopped.

    The base's weights stay as they are; its model object is used up (it carries the adapter).
    """
    import torch

    if not examples:
        raise PromptError("there is no example to train on")
    if os.path.exists(out / "adapter_config.json"):
        raise OutputError(
            f"{out} holds a finished adapter", next_step="choose another folder, or remove it"
        )
    ids = json.dumps([[one.prompt, one.answer] for one in examples])
    run = {
        "base": base.fingerprint,
        "examples": hashlib.sha256(ids.encode()).hexdigest()[:16],
        "settings": asdict(settings),
    }
    state = TrainingState.load(out, run)
    model = _with_adapter(base, settings)
    weights = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    optimizer = torch.optim.AdamW(weights.values(), lr=settings.learning_rate, weight_decay=0.0)
    if state.losses:
        model.load_state_dict(state.adapter, strict=False)
        optimizer.load_state_dict(state.optimizer)
    lengths = [len(one.prompt) + len(one.answer) for one in examples]
    started = time.monotonic() - state.seconds
    for step in range(len(state.losses), settings.steps):
        for group in optimizer.param_groups:
            group["lr"] = settings.rate(step)
        loss = answer_loss(model, batch([examples[i] for i in settings.chosen(lengths, step)]))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights.values(), settings.clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        state.losses.append(float(loss.detach()))
        state.seconds = time.monotonic() - started
        if report is not None:
            report(step + 1, settings.steps, state.losses[-1])
        if (step + 1) % CHECKPOINT_EVERY == 0 and step + 1 < settings.steps:
            state.adapter, state.optimizer = weights, optimizer.state_dict()
            state.save(out)
    _save_adapter(model, weights, state, out)
    return out


def _with_adapter(base: LoadedModel, settings: Settings) -> Any:
    import torch
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(settings.seed)
    config = LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        target_modules=settings.targets,
        task_type="CAUSAL_LM",
    )
    model = get_peft_model(base.model, config)
    model.peft_config["default"].base_model_name_or_path = base.reference
    return model.train()


def _save_adapter(model: Any, weights: dict[str, Any], state: TrainingState, out: Path) -> None:
    """In bfloat16: half the size, and the weights that are measured are those that are kept."""
    import torch

    for weight in weights.values():
        weight.data = weight.data.to(torch.bfloat16)
    out.mkdir(parents=True, exist_ok=True)
    log = {**state.run, "seconds": state.seconds, "losses": state.losses}
    (out / LOG).write_text(json.dumps(log, indent=1) + "\n", encoding="utf-8")
    model.save_pretrained(str(out), save_embedding_layers=False)
    (out / "README.md").unlink(missing_ok=True)  # peft's empty form of a model card
    for checkpoint in out.glob(f"{CHECKPOINT}*"):  # also one that a kill left half-written
        checkpoint.unlink()
