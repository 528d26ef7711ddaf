"""Supervised fine-tuning with LoRA: a loaded base and examples → an adapter folder.

Loss on the answers only. The same base, examples and settings give the same weights, also when the
run was killed and went on from a checkpoint. Knows nothing of what the examples are about.
"""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mindshare.errors import OutputError, PromptError
from mindshare.models import LoadedModel
from mindshare.recipes.finetune import checkpoint
from mindshare.recipes.finetune.batches import Example, batch
from mindshare.recipes.finetune.checkpoint import Progress
from mindshare.recipes.finetune.forward import answer_loss
from mindshare.recipes.finetune.settings import Settings

CHECKPOINT_EVERY = 25  # steps
LOG = "training.json"
_WINDOW = 16  # batches whose examples are sorted by length

Report = Callable[[int, int, float], None]  # steps done, steps in all, last loss


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
    if not examples:
        raise PromptError("there is no example to train on")
    run = _Run.begin(base, examples, settings, out)
    for step in range(run.progress.step, settings.steps):
        loss = run.step(step)
        if report is not None:
            report(step + 1, settings.steps, loss)
        if (step + 1) % CHECKPOINT_EVERY == 0 and step + 1 < settings.steps:
            run.keep()
    return run.finish()


@dataclass
class _Run:
    model: Any  # the base with a fresh or restored adapter
    optimizer: Any
    examples: Sequence[Example]
    settings: Settings
    out: Path
    about: dict[str, Any]  # what a checkpoint must agree with
    progress: Progress
    started: float

    @classmethod
    def begin(
        cls, base: LoadedModel, examples: Sequence[Example], settings: Settings, out: Path
    ) -> _Run:
        import torch

        if (out / "adapter_config.json").exists():
            raise OutputError(
                f"{out} holds a finished adapter", next_step="choose another folder, or remove it"
            )
        about = {
            "base": base.fingerprint,
            "examples": _digest(examples),
            "settings": settings.to_dict(),
        }
        model = _with_adapter(base, settings)
        weights = [p for p in model.parameters() if p.requires_grad]
        optimizer = torch.optim.AdamW(weights, lr=settings.learning_rate, weight_decay=0.0)
        run = cls(
            model, optimizer, examples, settings, out, about, Progress(0, [], 0.0), time.monotonic()
        )
        run._resume()
        return run

    def _resume(self) -> None:
        found = checkpoint.load(self.out)
        if found is None:
            return
        self.progress, about, tensors = found
        _require_same_run(about, self.about, self.settings, self.out)
        self.model.load_state_dict(tensors["adapter"], strict=False)
        self.optimizer.load_state_dict(tensors["optimizer"])

    def step(self, step: int) -> float:
        import torch

        chosen = _chosen([len(e.tokens) for e in self.examples], self.settings, step)
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.rate(step)
        loss = answer_loss(self.model, batch([self.examples[i] for i in chosen]))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(_trained(self.model).values(), self.settings.clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        now = time.monotonic()
        self.progress = Progress(
            step + 1,
            [*self.progress.losses, float(loss.detach())],
            self.progress.seconds + now - self.started,
        )
        self.started = now
        return self.progress.losses[-1]

    def keep(self) -> None:
        state = {"adapter": _trained(self.model), "optimizer": self.optimizer.state_dict()}
        checkpoint.save(self.out, self.progress, self.about, state)

    def finish(self) -> Path:
        """The adapter in bfloat16: half the size, and what is measured is what is kept."""
        import shutil

        import torch

        for weight in _trained(self.model).values():
            weight.data = weight.data.to(torch.bfloat16)
        self.out.mkdir(parents=True, exist_ok=True)
        log = {**self.about, "seconds": self.progress.seconds, "losses": self.progress.losses}
        (self.out / LOG).write_text(json.dumps(log, indent=1) + "\n", encoding="utf-8")
        self.model.save_pretrained(str(self.out), save_embedding_layers=False)
        (self.out / "README.md").unlink(missing_ok=True)  # peft's empty form of a model card
        shutil.rmtree(self.out / "checkpoint", ignore_errors=True)
        return self.out


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


def _trained(model: Any) -> dict[str, Any]:
    return {name: weight for name, weight in model.named_parameters() if weight.requires_grad}


def _chosen(lengths: Sequence[int], settings: Settings, step: int) -> list[int]:
    """The examples of a step: a new random order every time all have been seen."""
    steps = -(-len(lengths) // settings.batch)  # to see all once
    return _batches(lengths, settings.batch, f"{settings.seed} {step // steps}")[step % steps]


def _batches(lengths: Sequence[int], size: int, seed: str) -> list[list[int]]:
    """Random batches of examples of like length: less padding, fewer tokens to compute."""
    chance = random.Random(seed)
    order = list(range(len(lengths)))
    chance.shuffle(order)
    window = size * _WINDOW
    for first in range(0, len(order), window):
        order[first : first + window] = sorted(
            order[first : first + window], key=lambda i: lengths[i]
        )
    batches = [order[first : first + size] for first in range(0, len(order), size)]
    chance.shuffle(batches)
    return batches


def _digest(examples: Sequence[Example]) -> str:
    text = json.dumps([[one.prompt, one.answer] for one in examples])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _require_same_run(
    theirs: dict[str, Any], mine: dict[str, Any], settings: Settings, out: Path
) -> None:
    what = settings.difference(theirs["settings"])
    if what is None and theirs["base"] != mine["base"]:
        what = "the base is another model"
    if what is None and theirs["examples"] != mine["examples"]:
        what = "the examples are not the same"
    if what is not None:
        raise OutputError(
            f"{out} holds a checkpoint of another run: {what}",
            next_step="choose another folder, or remove the checkpoint to start again",
        )
