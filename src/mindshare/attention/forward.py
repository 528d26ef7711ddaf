"""Jobs → batches → one forward pass each → every job's numbers, the same whatever shares its pass.

A prompt is padded on the right to the next multiple of 16 tokens and shares a pass only with
prompts of the same padded length, so every shape it meets follows from itself. What is left to
chance is whether the vendor's matrix products give a row the same bits whatever rows stand beside
it. `checks.may_share` asks this model on this machine; where the answer is no, or cannot be
trusted, every prompt has a pass of its own, without padding.

In a pass the language-model head is left out: the logits of a long prompt are larger than
everything else here. Right padding needs no mask under causal attention; any other padding goes to
the model as it is. A prompt may be fed in chunks, through the model's own cache, where `chunks`
found that this changes nothing; chunks that an earlier prompt began with come from there, too.

A pass ends after the last layer that was asked for, but only of a model that has been seen whole:
that a layer attends twice shows later than its first call.

Every number is a ratio of sums over queries; sums are float64, what comes of them float32, as in
the tables.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

import numpy as np
import torch

from mindshare.attention.call import (
    AttentionCall,
    LayerStats,
    Observer,
    TokenBatch,
    query_counts,
    received_means,
)
from mindshare.attention.chunks import (
    PromptPrefix,
    empty_cache,
    require_chunkable,
    restore,
    resumable,
)
from mindshare.attention.jobs import Job, PromptResult, Request
from mindshare.attention.recorder import (
    LastLayerSeen,
    Recorder,
    accepted,
    inputs_device,
    recording,
    temporary_hooks,
)
from mindshare.attention.rescaling import Calls, Rescaling, keep_calls
from mindshare.attention.threads import thread_invariant
from mindshare.errors import SelectionError, UnsupportedModelError
from mindshare.models.facts import context_length_of
from mindshare.models.pretrained import require_measurable
from mindshare.naming import layer_ranges

TOKENS = 1024  # of one batch, padding included: larger ones are up to a tenth slower on two cores

_seen_whole: WeakSet[torch.nn.Module] = WeakSet()


def batches(
    jobs: Iterable[Job], *, together: bool, tokens: Callable[[], int]
) -> Iterator[list[Job]]:
    """Jobs by length, as many of one shape as fit into a pass; or one by one.

    `tokens` is asked anew for every batch, since there may turn out to be less memory.
    """
    waiting: list[Job] = []
    for job in sorted(jobs, key=lambda job: (_shape(job), -len(job), job.item)):
        fits = together and waiting and _shape(waiting[0]) == _shape(job)
        if waiting and not (fits and (len(waiting) + 1) * job.padded <= tokens()):
            yield waiting
            waiting = []
        waiting.append(job)
    if waiting:
        yield waiting


def _shape(job: Job) -> tuple[int, int, int]:
    """What the tensors of one pass have in common; longest first."""
    sets = 0 if job.queries is None else len(job.queries)
    return -job.padded, job.columns.shape[1], sets


def run_batch(
    model: torch.nn.Module,
    jobs: Sequence[Job],
    request: Request,
    *,
    padded: bool,
    kept: Mapping[str, Calls] | None = None,
    prefix: PromptPrefix | None = None,
) -> list[PromptResult]:
    """One pass over jobs of one shape; without padding, over a single one.

    `kept` holds queries and keys by item: those of references are put there, and what is compared
    with a reference finds them there. `prefix` is that of a single job.
    """
    room = context_length_of(getattr(model, "config", None))  # learned positions end there
    length = min(jobs[0].padded, room or jobs[0].padded) if padded else len(jobs[0])
    observers = [_observer(job, kept or {}) for job in jobs]

    def observe(layer: int, call: AttentionCall) -> None:
        for row, observer in enumerate(observers):
            if observer is not None:
                observer(layer, call.row(row))

    batch = _batch(jobs, length, request)
    observer = observe if any(observers) else None
    recorder = run_pass(model, batch, request, observer=observer, prefix=prefix)
    layers = dict(sorted(recorder.layers.items()))
    kernels = {layer: stats.kernel for layer, stats in layers.items()}
    results = []
    for row, job in enumerate(jobs):
        of_row = _Row.of(job, row, batch, request)
        numbers = {layer: of_row.numbers(stats) for layer, stats in layers.items()}
        rescaling = observers[row]
        if isinstance(rescaling, Rescaling):
            numbers = {layer: x | rescaling.numbers(layer) for layer, x in numbers.items()}
        results.append(PromptResult(job.item, numbers, kernels, recorder.shared))
    return results


def _observer(job: Job, kept: Mapping[str, Calls]) -> Observer | Rescaling | None:
    if job.reference is not None and job.positions is not None:
        return Rescaling(kept[job.reference.item], job.positions)
    return keep_calls(kept[job.item]) if job.item in kept else None


def _batch(jobs: Sequence[Job], length: int, request: Request) -> TokenBatch:
    columns = [job.columns for job in jobs]
    if "mass" in request.statistics:  # one more column, the first token: the sink statistic
        first = [np.arange(len(job))[:, None] == 0 for job in jobs]
        columns = [np.hstack(both, dtype=np.float32) for both in zip(columns, first, strict=True)]
    queries = None
    if jobs[0].queries is not None:
        masks = [_filled(job.query_sets.T, length, 0).T for job in jobs]
        queries = torch.from_numpy(np.stack(masks)).float()
    return TokenBatch(
        # The last token again in place of an id, as it is known to the model.
        ids=torch.from_numpy(np.stack([_filled(job.ids, length, job.ids[-1]) for job in jobs])),
        columns=torch.from_numpy(np.stack([_filled(x, length, 0.0) for x in columns])),
        valid=torch.arange(length) < torch.tensor([len(job) for job in jobs])[:, None],
        queries=queries,
    )


def _filled(rows: np.ndarray, length: int, filling: float) -> np.ndarray:
    """[token, …] → [length, …]"""
    whole = np.full((length, *rows.shape[1:]), filling, rows.dtype)
    whole[: len(rows)] = rows
    return whole


@dataclass(frozen=True)
class _Row:
    """One job's row of a pass: statistics of a layer → its numbers, by name."""

    row: int
    tokens: int
    weights: torch.Tensor  # [1, set, query]
    counts: torch.Tensor  # [1, set, key]
    statistics: frozenset[str]

    @classmethod
    def of(cls, job: Job, row: int, batch: TokenBatch, request: Request) -> _Row:
        weights = batch.query_weights()[row : row + 1, :, : len(job)]
        counts = query_counts(weights, request.near)
        return cls(row, len(job), weights, counts, request.statistics)

    def numbers(self, stats: LayerStats) -> dict[str, np.ndarray]:
        """Axes: query set, head (1 where all share a mask), then class or key."""
        numbers = {name: self._mean(x) for name, x in stats.per_query.items()}
        if "mass" in self.statistics and stats.given is not None and stats.expected is not None:
            given = self._mean(stats.given)
            mass, first = given[..., :-1], given[..., -1]
            numbers |= {"mass": mass, "first_token": first}
            numbers["expected"] = self._mean(stats.expected)[..., :-1]
            if stats.carried is not None:
                numbers["contribution"] = self._mean(stats.carried)[..., :-1]
            # Σ_j A: 1 unless learned sinks take a part
            numbers["attended"] = mass.sum(-1, dtype=np.float64).astype(np.float32)
        elif stats.given is not None:  # [head, query, column]
            numbers["given"] = stats.given[self.row, :, : self.tokens].cpu().numpy()
        if stats.received is not None:  # NaN where no query counts
            sums = stats.received[self.row : self.row + 1, ..., : self.tokens]
            numbers["received"] = received_means(sums, self.counts)[0].float().cpu().numpy()
        return numbers

    def _mean(self, values: torch.Tensor) -> np.ndarray:
        """[batch, head, query(, column)] → [set, head(, column)], the mean over each query set."""
        whole = values[self.row, :, : self.tokens].double().cpu()
        weights = self.weights[0].double()
        sums = torch.einsum("si,hi...->sh...", weights, whole)
        total = weights.sum(-1).view(-1, *[1] * (sums.dim() - 1))
        mean: np.ndarray = (sums / total).float().numpy()
        return mean


def run_pass(
    model: torch.nn.Module,
    batch: TokenBatch,
    request: Request,
    *,
    observer: Observer | None = None,
    prefix: PromptPrefix | None = None,
) -> Recorder:
    """Run the model over a batch and return the recorder that saw it."""
    require_decoder(model)
    recorder = Recorder(batch, request, observer)
    recorder.ends = model in _seen_whole
    decoder = without_head(model)
    device = inputs_device(model)
    ids, tokens = batch.ids.to(device), batch.ids.shape[1]
    mask = None if batch.right_padded else batch.valid.to(device)
    chunk = request.chunk_tokens or tokens
    if chunk < tokens:
        require_chunkable(model, decoder)
        if prefix is not None and not resumable(model, decoder):
            prefix = None
    alike = thread_invariant(model, few_rows=request.chunk_tokens is not None)  # not padded
    with torch.inference_mode(), recording(model, recorder), alike, _hooks_left(model):
        if chunk >= tokens:
            _until_seen(decoder, ids, mask, use_cache=False)
        else:
            cache = empty_cache(model, decoder)
            recorder.ends &= cache is not None  # what the model returns is lost with the rest
            _run_chunks(decoder, recorder, ids, mask, cache, prefix)
    require_seen(model, recorder.calls)
    require_layers(request.layers or (), recorder.calls, seen=recorder.layers)
    recorder.require_finite()
    if not recorder.ends:
        may_end_early(model)
    return recorder


def _run_chunks(
    decoder: torch.nn.Module,
    recorder: Recorder,
    ids: torch.Tensor,
    mask: torch.Tensor | None,
    cache: Any,
    prefix: PromptPrefix | None,
) -> None:
    chunk = recorder.request.chunk_tokens or ids.shape[1]
    if prefix is not None:
        known = prefix.known((ids.shape[1] - 1) // chunk)  # the last one is always computed
        restore(cache, known)
        for one in known:
            for layer, stats in one.stats.items():
                recorder.join(layer, stats)
        recorder.shared = len(known) * chunk
    for start in range(recorder.shared, ids.shape[1], chunk):
        recorder.begin_chunk()
        so_far = None if mask is None else mask[:, : start + chunk]
        options = {"use_cache": True, "past_key_values": cache}
        result = _until_seen(decoder, ids[:, start : start + chunk], so_far, **options)
        cache = cache if result is None else result.past_key_values
        if prefix is not None:
            prefix.keep(start // chunk, recorder.chunk, cache, start)


def may_end_early(model: torch.nn.Module) -> None:
    """From now on passes of this model end after the last layer that was asked for.

    For models of which a whole pass was seen, here or by a self-check that is remembered.
    """
    _seen_whole.add(model)


def _until_seen(
    decoder: torch.nn.Module, ids: torch.Tensor, mask: torch.Tensor | None, **options: Any
) -> Any:
    """A forward pass; None where it ended after the last layer that was asked for."""
    try:
        return forward(decoder, ids, mask, **options)
    except LastLayerSeen:
        return None


@contextmanager
def _hooks_left(model: torch.nn.Module) -> Iterator[None]:
    """Inside, modules that an exception leaves put their weights back.

    accelerate's hooks bring offloaded weights before a module runs, and take them away only after
    one that ran to its end.
    """

    def leave(module: Any, _inputs: Any, output: Any) -> None:
        if output is None:
            module._hf_hook.post_forward(module, None)

    hooked = [module for module in model.modules() if "_hf_hook" in vars(module)]
    with temporary_hooks(x.register_forward_hook(leave, always_call=True) for x in hooked):
        yield


def forward(
    decoder: torch.nn.Module, input_ids: torch.Tensor, mask: torch.Tensor | None, **options: Any
) -> Any:
    if "logits_to_keep" in inspect.signature(decoder.forward).parameters:
        options["logits_to_keep"] = 1  # no separate decoder: at least keep the logits small
    if mask is not None:
        options["attention_mask"] = mask.long()
    options = {name: value for name, value in options.items() if value is not None}
    return decoder(input_ids=input_ids, **accepted(decoder, options))


def without_head(model: torch.nn.Module) -> torch.nn.Module:
    inner: Any = model
    if hasattr(inner, "get_base_model"):  # an unmerged PEFT model
        inner = inner.get_base_model()
    decoder: torch.nn.Module = getattr(inner, "base_model", inner)
    return decoder


def require_decoder(model: torch.nn.Module) -> None:
    """Refuse what is no model that can be measured."""
    config: Any = getattr(model, "config", None)
    if config is None:
        raise UnsupportedModelError(
            f"{type(model).__name__} is not a transformers model (it has no config)",
            next_step="pass a model made by transformers, or use mindshare.load",
        )
    require_measurable(config)


def require_seen(model: torch.nn.Module, calls: Collection[int]) -> None:
    """Refuse a model of which no layer was seen to attend."""
    config: Any = getattr(model, "config", None)
    if not calls:
        raise UnsupportedModelError(
            f"no layer of {config.model_type} attended through transformers' attention interface, "
            "so there is nothing to measure",
            next_step="choose a model with standard attention; `mindshare models` lists some",
        )


def require_layers(
    asked: Collection[int], present: Collection[int], *, seen: Collection[int] | None = None
) -> None:
    """Refuse the first layer that has no attention; `present` are those that attend."""
    missing = sorted(set(asked) - set(present if seen is None else seen))
    if missing:
        why = "has no attention" if 0 <= missing[0] <= max(present) else "does not exist"
        raise SelectionError(
            f"layer {missing[0]} {why} in this model",
            allowed=f"layers {layer_ranges(sorted(present))}",
            next_step="choose among the layers that attend",
        )
