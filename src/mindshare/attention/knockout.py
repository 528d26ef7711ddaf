"""A job with an answer → what the answer loses with each class of keys hidden, layer by layer.

    clean pass ─► interventions ─► rows on the clean keys and values ─► effects

One job is one prompt with all of its knock-outs, and has its passes to itself, so that neither
other prompts nor their order change a bit. Rows go in groups, filled up so that not even the order
of a prompt's knock-outs does, or which of them share a pass. Whole rows, rows of more than 256
tokens and those of very long answers are too large for that; and experts see all rows at once.

How rows go through a model is found out on a short prompt, once per kind of model. Row 0 of every
group is clean: where it does not say what the clean pass said, the prompt is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch

from mindshare.attention.checks import remember, remembered
from mindshare.attention.effects import Effects, Numbers, class_attention, class_outputs
from mindshare.attention.forward import require_layers
from mindshare.attention.interventions import Edges, Intervention, edges_of, interventions, slots
from mindshare.attention.jobs import LOGITS, Job, Knockout, PromptResult, Request
from mindshare.attention.recorder import probe_ids
from mindshare.attention.rows import (
    ROW_MODES,
    CleanPass,
    KnockoutRows,
    RowMode,
    SharedKeysError,
)
from mindshare.attention.screen import first_order
from mindshare.attention.threads import ROWS
from mindshare.errors import ExactnessError, MindshareError, UnsupportedModelError
from mindshare.models.facts import context_length_of

_TOKENS = 4096  # of a group of rows
_TOLERANCE = {torch.bfloat16: 0.1, torch.float16: 0.02}  # of row 0, relative to the largest logit
_PROBE = 40  # tokens


_row_modes: WeakKeyDictionary[torch.nn.Module, RowMode] = WeakKeyDictionary()


def run(model: torch.nn.Module, job: Job, request: Request) -> PromptResult:
    """All knock-outs of one prompt."""
    prompt = _Prompt.of(model, job, request)
    try:
        return prompt.result()
    except SharedKeysError:  # what this prompt holds decides it, so that others change nothing
        return replace(prompt, mode=ROW_MODES[-1]).result()


@dataclass(frozen=True)
class _Prompt:
    """One prompt with its answer, after the clean pass."""

    model: torch.nn.Module
    job: Job
    request: Request
    knockout: Knockout
    mode: RowMode
    fed: torch.Tensor  # [token]: the prompt, and the answer but its last token
    answer: torch.Tensor  # [position]
    clean: CleanPass
    edges: Edges

    @classmethod
    def of(cls, model: torch.nn.Module, job: Job, request: Request) -> _Prompt:
        knockout = request.knockout
        assert knockout is not None
        fed, answer, clean = _answered(model, job, knockout)
        edges = edges_of(job.columns, _queries(job, knockout, len(fed)), len(fed), clean.calls)
        return cls(model, job, request, knockout, row_mode_of(model), fed, answer, clean, edges)

    def result(self) -> PromptResult:
        layers = self._layers()
        if self.knockout.how == "mean" and self.knockout.means is None:
            given = {
                layer: {"output": class_outputs(self.edges, layer)} for layer in self.clean.calls
            }
            return PromptResult(self.job.item, given, dict.fromkeys(given, self.mode.name))
        if self.knockout.screen:
            tokens = {"fed": self.fed, "answer": self.answer}
            prefix = self.mode.prefix
            found = first_order(self.model, self.clean, self.edges, **tokens, prefix=prefix)
            heads = list(self.knockout.heads) if self.knockout.heads else slice(None)
            results = {n: {name: x[heads] for name, x in found[n].items()} for n in layers}
        else:
            results = self._knocked_out(layers)
        baseline = self._effects(self.clean.logits).baseline()
        answer = {"answer": self.answer.numpy(force=True).astype(np.int64)}
        for layer, numbers in results.items():
            numbers |= baseline | answer | self._looked_at(layer)
        return PromptResult(self.job.item, results, dict.fromkeys(results, self.mode.name))

    def _knocked_out(self, layers: Sequence[int]) -> dict[int, Numbers]:
        some = interventions(self.knockout, self.edges, layers)
        baseline = self._effects(self.clean.logits).baseline()
        names = ["delta_logprob", "delta_logit", "kl", "flip"]
        start = dict.fromkeys(names, 0.0)
        if "correct_clean" in baseline:
            start["correct"] = float(baseline["correct_clean"][0])
        results: dict[int, Numbers] = {}
        for layer in layers:
            count = len(slots(self.knockout, self.edges.calls[layer], layer))
            shape = (count, len(self.edges.keys))
            results[layer] = {name: np.full(shape, x, np.float32) for name, x in start.items()}
        size = self._size - 1  # the clean row
        for group in (some[start : start + size] for start in range(0, len(some), size)):
            for name, values in self._of_group(group).items():
                for one, number in zip(group, values, strict=True):
                    results[one.layer][name][one.slot, one.column] = number
        return results

    def _effects(self, clean: torch.Tensor) -> Effects:
        given = None if self.job.answer is None else self.job.answer.rivals
        rivals = None if given is None else torch.from_numpy(given).to(clean.device)
        return Effects(clean, self.answer.to(clean.device), rivals)

    def _of_group(self, group: Sequence[Intervention]) -> Numbers:
        means = {n: torch.from_numpy(x) for n, x in (self.knockout.means or {}).items()}
        even = ROWS if self.mode.prefix and self._size >= ROWS else 1
        rows = KnockoutRows(
            self.clean, self.edges, group, self.knockout.how, means, self.mode, even
        )
        logits = rows.logits(self.model, self.fed)
        apart = difference(logits[0], self.clean.logits)
        if not apart <= tolerance(self.model):
            raise ExactnessError(
                f"a row without any knock-out differs from the clean pass by {apart:.2g} of the "
                "largest logit, so effects would be wrong",
                next_step="measure another model, and please report this one's type and config",
            )
        effects = self._effects(logits[0]).of(logits)  # of all rows, so that their number is even
        return {name: x[1 : 1 + len(group)] for name, x in effects.items()}

    @property
    def _size(self) -> int:
        """Rows of a group: as many as memory holds, if it can be a multiple of `ROWS`."""
        tokens = len(self.fed) - (self.edges.first if self.mode.prefix else 0)
        size = min(LOGITS // (4 * self.clean.logits.numel()), _TOKENS // tokens)
        return size - size % ROWS if size >= ROWS else max(2, size)

    def _layers(self) -> list[int]:
        """Those that effects are filed under; refuses what the model does not have."""
        present = sorted(self.clean.calls)
        if self.knockout.places:
            asked = {layer for layer, _ in self.knockout.places}
            layers = sorted(asked) if self.knockout.each else [min(asked)]
        else:
            asked = set(present if self.request.layers is None else self.request.layers)
            layers = sorted(asked)
        require_layers(asked, present)
        return layers

    def _looked_at(self, layer: int) -> Numbers:
        """Of the clean pass: mass and contribution of each class, and how many keys it hides."""
        if self.knockout.places and not self.knockout.each:
            found = [(class_attention(self.edges, n), head) for n, head in self.knockout.places]
            numbers = {
                name: np.mean([one[name][head] for one, head in found], 0, keepdims=True)
                for name in found[0][0]
            }
            around = [n for n, _ in self.knockout.places]
        else:
            numbers = class_attention(self.edges, layer)
            chosen = slots(self.knockout, self.edges.calls[layer], layer)
            numbers = {
                name: np.stack([x.mean(0) if h is None else x[list(h)].mean(0) for h in chosen])
                for name, x in numbers.items()
            }
            around = [n for n in sorted(self.edges.calls) if n in self.knockout.around(layer)]
        columns = range(len(self.edges.keys))
        hidden = [max(self.edges.n_keys(n, c) for n in around) for c in columns]
        return numbers | {"n_keys": np.array([hidden], np.int64)}


def _answered(
    model: torch.nn.Module, job: Job, knockout: Knockout
) -> tuple[torch.Tensor, torch.Tensor, CleanPass]:
    """(tokens that are fed, answer, the pass over them); without an answer, the model's own."""
    assert job.answer is not None
    prompt, given = torch.from_numpy(job.ids), torch.from_numpy(job.answer.ids)
    if len(given):
        fed = torch.cat([prompt, given[:-1]])
        return fed, given, CleanPass.of(model, fed, len(given))
    ends = _end_tokens(model)
    said: list[int] = []
    while True:
        fed = torch.cat([prompt, torch.tensor(said, dtype=prompt.dtype)])
        clean = CleanPass.of(model, fed, len(said) + 1)
        said.append(int(clean.logits[-1].argmax()))
        if len(said) == knockout.greedy or said[-1] in ends:
            return fed, torch.tensor(said), clean


def _end_tokens(model: torch.nn.Module) -> frozenset[int]:
    config: Any = getattr(model, "generation_config", None)
    ends = getattr(config, "eos_token_id", None)
    return frozenset([ends] if isinstance(ends, int) else ends or ())


def _queries(job: Job, knockout: Knockout, fed: int) -> np.ndarray:
    """Bool [class, token] of all that is fed."""
    queries = np.zeros((job.columns.shape[1], fed), bool)
    queries[:, : len(job)] = job.query_sets
    queries[:, len(job) :] = knockout.while_answering
    return queries


# ── how rows go through a model ───────────────────────────────────────────────────────────────────


def row_mode_of(model: torch.nn.Module) -> RowMode:
    """The quickest one in which a clean row says what a whole pass says; remembered on disk."""
    if model not in _row_modes:
        known = (remembered(model, "rows") or {}).get("mode")
        mode = next((one for one in ROW_MODES if one.name == known), None)
        if mode is None:
            mode = _find_row_mode(model)
            remember(model, "rows", {"mode": mode.name})
        _row_modes[model] = mode
    return _row_modes[model]


def _find_row_mode(model: torch.nn.Module) -> RowMode:
    tokens = min(_PROBE, context_length_of(getattr(model, "config", None)) or _PROBE)
    ids = probe_ids(model, tokens)
    clean = CleanPass.of(model, ids, 2)
    if not clean.calls:
        raise UnsupportedModelError(
            "no layer of this model attended through transformers' attention interface, so there "
            "is nothing to knock out",
            next_step="choose a model with standard attention; `mindshare models` lists some",
        )
    place = np.arange(tokens)
    edges = edges_of((place == 0)[:, None], (place >= tokens - 2)[None], tokens, clean.calls)
    some = interventions(Knockout(how="zero"), edges, sorted(clean.calls))

    def said(mode: RowMode) -> torch.Tensor | str:
        # Not filled up, or none of the few rows would begin at a layer of its own.
        return _said(model, ids, KnockoutRows(clean, edges, some, "zero", {}, mode, even=1))

    # The last that goes through assumes least, so it says what the others must say of every row.
    for i, last in reversed([*enumerate(ROW_MODES)]):
        least = said(last)
        if isinstance(least, str):
            continue
        for mode in ROW_MODES[:i]:
            logits = said(mode)
            if not isinstance(logits, str) and difference(logits, least) <= tolerance(model):
                return mode
        return last
    raise UnsupportedModelError(
        f"attention of {type(model).__name__} can't be taken away: rows of several knock-outs do "
        f"not go through it ({least})",
        next_step="measure where it looks (mindshare measure), or choose another model",
    )


def _said(model: torch.nn.Module, ids: torch.Tensor, rows: KnockoutRows) -> torch.Tensor | str:
    """The logits of rows of which the first is clean, or why they can't be right."""
    try:
        logits = rows.logits(model, ids)
    except (MindshareError, RuntimeError, TypeError, ValueError, IndexError, KeyError) as error:
        return str(error).splitlines()[0]
    apart = difference(logits[0], rows.clean.logits)
    if len(logits) == 1 + len(rows.some) and apart <= tolerance(model):
        return logits
    return f"the logits of a row without any knock-out move by {apart:.2g} of their size"


def difference(a: torch.Tensor, b: torch.Tensor) -> float:
    """The largest, relative to the largest logit."""
    return float((a.float() - b.float()).abs().max() / b.float().abs().max().clamp(min=1.0))


def tolerance(model: torch.nn.Module) -> float:
    return _TOLERANCE.get(next(model.parameters()).dtype, 1e-4)
