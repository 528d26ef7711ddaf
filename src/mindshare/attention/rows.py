"""Many knock-outs of one prompt → rows of one pass over its last tokens, on shared keys and values.

Whatever is hidden from the last queries alone leaves every earlier position as it is, in every
layer. So a clean pass keeps its keys and values, and each knock-out is a row that holds only the
tokens from the first changed query on. No key or value is copied for a row: the scores of all rows
are one product with the clean keys, and each row's own tokens are put in their place.

Until the first layer that it changes, a row is the clean one: rows are added there (`_growing`).
Row 0 stays clean. It must say what the clean pass said, or the model keeps something else than keys
and values of earlier tokens; see `RowMode`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from mindshare.attention.call import AttentionCall
from mindshare.attention.interventions import Edges, Intervention
from mindshare.attention.masks import Visibility
from mindshare.attention.recorder import (
    accepted,
    attended_twice,
    inputs_device,
    layer_of,
    plain,
    recording,
    temporary_hooks,
)
from mindshare.attention.reference import hidden_keys
from mindshare.attention.threads import ROWS, thread_invariant
from mindshare.errors import UnsupportedModelError

_TILE_BYTES = 2**26  # scores of rows that are made at a time


class SharedKeysError(UnsupportedModelError):
    """Rows of this prompt can't share the keys of its earlier tokens."""


@dataclass
class CleanPass:
    """A pass without any knock-out: its attention calls, and what it says at the answer."""

    calls: dict[int, AttentionCall] = field(default_factory=dict)
    modules: dict[int, torch.nn.Module] = field(default_factory=dict)
    masks: list[Visibility] = field(default_factory=list)
    logits: torch.Tensor = field(default_factory=lambda: torch.empty(0))  # [position, vocabulary]

    def see(self, module: torch.nn.Module, call: AttentionCall) -> torch.Tensor:
        layer = layer_of(module)
        if layer in self.calls:
            raise attended_twice(layer, self.modules[layer], module)
        self.calls[layer], self.modules[layer] = call, module
        return plain(call)

    @classmethod
    def of(cls, model: torch.nn.Module, ids: torch.Tensor, positions: int) -> CleanPass:
        """`ids` [token]; logits of the last `positions` tokens."""
        clean = cls()
        with (
            torch.inference_mode(),
            recording(model, clean),
            thread_invariant(model, few_rows=True),
        ):
            clean.logits = logits_of(model, ids[None], positions)[0]
        return clean


def logits_of(
    model: torch.nn.Module, ids: torch.Tensor, positions: int, **options: Any
) -> torch.Tensor:
    """[row, position, vocabulary] at the last positions, by the model's own head."""
    options = accepted(model, {**options, "use_cache": False, "logits_to_keep": positions})
    logits: torch.Tensor = model(input_ids=ids.to(inputs_device(model)), **options).logits
    return logits[:, -positions:]


def fed_options(model: torch.nn.Module, first: int, tokens: int) -> dict[str, Any]:
    """Where the tokens from `first` on stand."""
    if not first:
        return {}
    where = torch.arange(first, tokens, device=inputs_device(model))
    return {"position_ids": where[None], "cache_position": where}


@dataclass(frozen=True)
class RowMode:
    """How rows go through a model; `knockout.row_mode_of` finds it out."""

    name: str
    prefix: bool  # rows hold only the tokens from the first changed one on
    grows: bool  # rows begin at their own layer


ROW_MODES = (
    RowMode("rows", prefix=True, grows=True),
    RowMode("rows from layer 0", prefix=True, grows=False),
    RowMode("whole rows", prefix=False, grows=True),
    RowMode("whole rows from layer 0", prefix=False, grows=False),
)


@dataclass(frozen=True)
class KnockoutRows:
    """Some interventions on one prompt."""

    clean: CleanPass
    edges: Edges
    some: Sequence[Intervention]
    how: str
    means: Mapping[int, torch.Tensor]  # layer → [head, class, value dim]; of `mean`
    mode: RowMode
    even: int = ROWS  # clean rows are added up to a multiple of this

    @property
    def first(self) -> int:
        """The first token of a row."""
        return self.edges.first if self.mode.prefix else 0

    def logits(self, model: torch.nn.Module, ids: torch.Tensor) -> torch.Tensor:
        """[row, position, vocabulary]: row 0 is clean, then one for each intervention, then what
        fills them up, all clean.
        """
        positions = len(self.clean.logits)
        fed = ids[None, self.first :].expand(
            1 if self.mode.grows else self._filled(len(self.some)), -1
        )
        options = fed_options(model, self.first, len(ids))
        watcher = _KnockedOut(self)
        with (
            torch.inference_mode(),
            recording(model, watcher),
            thread_invariant(model, few_rows=True),
            _growing(model, self.clean.modules, self.added if self.mode.grows else {}),
        ):
            return logits_of(model, fed, positions, **options)

    def _filled(self, interventions: int) -> int:
        """Rows in all."""
        return -(-(1 + interventions) // self.even) * self.even

    @property
    def added(self) -> dict[int, int]:
        """How many rows there are more from each of these layers on; one is fed."""
        begin = Counter(one.start for one in self.some)
        counts, begun, rows = {}, 0, 1
        for layer in sorted({min(self.clean.modules), *begin}):
            begun += begin[layer]
            counts[layer], rows = self._filled(begun) - rows, self._filled(begun)
        return {layer: count for layer, count in counts.items() if count}


@contextmanager
def _growing(
    model: torch.nn.Module, modules: Mapping[int, torch.nn.Module], added: Mapping[int, int]
) -> Iterator[None]:
    """Inside, so many copies of row 0 are appended before each of these layers."""
    blocks = _blocks(model, modules)

    def grow(count: int) -> Any:
        def hook(_module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            def more(x: torch.Tensor) -> torch.Tensor:
                return torch.cat([x, x[:1].expand(count, *x.shape[1:])])

            if args:
                return (more(args[0]), *args[1:]), kwargs
            return args, {**kwargs, "hidden_states": more(kwargs["hidden_states"])}

        return hook

    with temporary_hooks(
        blocks[layer].register_forward_pre_hook(grow(count), with_kwargs=True)
        for layer, count in added.items()
    ):
        yield


def _blocks(
    model: torch.nn.Module, modules: Mapping[int, torch.nn.Module]
) -> dict[int, torch.nn.Module]:
    """Layer → the decoder layer around its attention module."""
    layer_by_module = {id(module): layer for layer, module in modules.items()}
    best: dict[int, torch.nn.Module] = {}
    for some in model.modules():
        if isinstance(some, torch.nn.ModuleList):
            found = {
                layer_by_module[id(part)]: block
                for block in some
                for part in block.modules()
                if id(part) in layer_by_module
            }
            if len(found) > len(best):
                best = found
    return best


class _KnockedOut:
    """Answers the attention calls of a pass over rows."""

    def __init__(self, rows: KnockoutRows) -> None:
        self.rows = rows
        self.masks: list[Visibility] = []

    def see(self, module: torch.nn.Module, call: AttentionCall) -> torch.Tensor:
        layer, rows = layer_of(module), self.rows
        clean = rows.clean.calls[layer]
        count, heads, tokens = call.query.shape[:3]
        fed = clean.query.shape[2] - rows.first
        if tokens != fed:
            raise UnsupportedModelError(f"layer {layer} has {tokens} queries where {fed} are fed")
        if rows.mode.prefix and not (_same_in_all(call.bias) and _same_in_all(hidden_of(call))):
            raise SharedKeysError(
                f"layer {layer} decides by what tokens hold which keys are seen, and by how much, "
                "so rows can't share the keys of earlier tokens",
            )
        key, value = (_for_rows(x, count) for x in (call.key, call.value))
        kind = torch.promote_types(call.query.dtype, torch.float32)
        output = torch.empty(
            count, tokens, heads, value.shape[-1], dtype=kind, device=call.query.device
        )
        row_bytes = 4 * heads * tokens * clean.key.shape[2]
        step = rows.even * max(1, _TILE_BYTES // (row_bytes * rows.even))
        for start in range(0, count, step):
            some = slice(start, min(start + step, count))
            own = _Own(call.query[some].to(kind), key[some].to(kind), value[some].to(kind))
            if rows.mode.prefix:
                bias, hidden = clean.bias, rows.edges.hidden(layer, rows.first)[None]
            else:  # some models make masks and biases from what the tokens hold
                bias, hidden = _of_rows(call.bias, some), _of_rows(hidden_of(call), some)
            output[some] = _KnockoutTile(rows, layer, clean, own, some, hidden, bias).output()
        return output.to(call.value.dtype)


def hidden_of(call: AttentionCall) -> torch.Tensor:
    """Bool [row or 1, head or 1, query, key]"""
    return hidden_keys(call, 0, call.query.shape[2])


def _same_in_all(x: torch.Tensor | None) -> bool:
    """Whether all rows of a batch have the same."""
    return x is None or x.dim() < 4 or len(x) == 1 or bool((x == x[:1]).all())


def _of_rows(x: torch.Tensor | None, some: slice) -> Any:
    """Some rows of what may be the same for all."""
    return x if x is None or x.dim() < 4 or len(x) == 1 else x[some]


def _for_rows(x: torch.Tensor, count: int) -> torch.Tensor:
    """Keys that an earlier layer made know no rows that began later: these have the clean ones."""
    missing = count - len(x)
    return torch.cat([x, x[:1].expand(missing, *x.shape[1:])]) if missing else x


@dataclass(frozen=True)
class _Own:
    """What some rows ask for, and the keys and values of their own tokens."""

    query: torch.Tensor  # [row, head, token, dim]
    key: torch.Tensor  # [row, kv head, token, dim]
    value: torch.Tensor


@dataclass(frozen=True)
class _KnockoutTile:
    """Attention of some rows in one layer; A is [kv head, row, group, token, key]."""

    rows: KnockoutRows
    layer: int
    clean: AttentionCall
    own: _Own
    chosen: slice  # of all rows, 0 being the clean one
    unseen: torch.Tensor  # bool [row or 1, head or 1, token, key]: what the model itself hides
    bias: torch.Tensor | None

    def output(self) -> torch.Tensor:
        """[row, token, head, value dim]"""
        attention = self._softmax(self._scores())
        added = self._change(attention)
        first, value = self.rows.first, self.own.value.transpose(0, 1)  # [kv, row, token, …]
        kv, count, group, tokens, _ = attention.shape
        output = attention[..., first:].flatten(2, 3) @ value  # [kv, row, group × token, …]
        if first:
            past = attention.view(kv, -1, attention.shape[-1])[..., :first]
            before = torch.bmm(past, self.clean.value[0, :, :first].to(attention.dtype))
            output += before.view(output.shape)
        output = output.reshape(kv, count, group, tokens, -1)
        for where, mean in added:
            output[where] += mean
        return output.permute(1, 3, 0, 2, 4).flatten(2, 3)

    def _scores(self) -> torch.Tensor:
        """Those of the clean keys at once, then each row's own in their place."""
        query, key, clean, first = self.own.query, self.own.key, self.clean, self.rows.first
        count, heads, tokens, dim = query.shape
        kv, keys = clean.key.shape[1:3]
        query = (query * clean.scale).reshape(count, kv, -1, dim).transpose(0, 1)
        recent = query @ key.permute(1, 0, 3, 2)  # [kv, row, group × token, own key]
        if first:
            past = clean.key[0].to(query.dtype).transpose(1, 2)
            scores = torch.bmm(query.reshape(kv, -1, dim), past).view(kv, count, -1, keys)
            scores[..., first:] = recent
        else:
            scores = recent
        scores = scores.reshape(kv, count, heads // kv, tokens, keys)
        if clean.softcap is not None:
            scores = torch.tanh(scores / clean.softcap) * clean.softcap
        if self.bias is not None:
            fed = clean.query.shape[2]
            whole = self.bias.expand(*self.bias.shape[:-3][-1:] or (1,), heads, fed, keys)
            scores += self._by_kv(whole[:, :, first:]).to(scores)
        if bool(self.unseen.any()):
            hidden = self._by_kv(self.unseen).to(scores.device)
            scores.masked_fill_(hidden, torch.finfo(scores.dtype).min)
        return scores

    def _by_kv(self, x: torch.Tensor) -> torch.Tensor:
        """[row or 1, head or 1, …] → [kv head or 1, row or 1, group or 1, …]"""
        kv = self.clean.key.shape[1] if x.shape[1] > 1 else 1
        by_kv: torch.Tensor = x.unflatten(1, (kv, -1))
        return by_kv.transpose(0, 1)

    def _softmax(self, scores: torch.Tensor) -> torch.Tensor:
        if self.rows.how == "mask":
            least = torch.finfo(scores.dtype).min
            for where, removed, _ in self._active():
                scores[where] = scores[where].masked_fill(removed, least)
        if self.clean.sinks is None:
            return torch.softmax(scores, -1, out=scores)
        kv, count, group, tokens, _ = scores.shape
        sinks = self.clean.sinks.to(scores).view(kv, 1, group, 1, 1)
        joined = torch.cat([scores, sinks.expand(-1, count, -1, tokens, 1)], -1)
        return joined.softmax(-1)[..., :-1].contiguous()

    def _change(self, attention: torch.Tensor) -> list[tuple[Any, torch.Tensor]]:
        """Take the weights away, in place; gives what is added to the output instead."""
        added: list[tuple[Any, torch.Tensor]] = []
        if self.rows.how == "mask":
            return added
        for where, removed, column in self._active():
            weights = attention[where]
            kept = weights.masked_fill(removed, 0.0)
            if self.rows.how == "sink":
                # To the prompt's first token, even if a window hides it from the query.
                kept[..., 0] += (weights - kept).sum(-1)
            elif self.rows.how == "mean":
                means = self.rows.means[self.layer][:, column]  # [head, value dim]
                unseen = self._by_kv(self.unseen).to(attention.device).expand(attention.shape)
                asked = (removed & ~unseen[where]).any(-1, keepdim=True).to(attention)
                added.append((where, self._means(means, where)[..., None, :] * asked))
            attention[where] = kept
        return added

    def _means(self, means: torch.Tensor, where: Any) -> torch.Tensor:
        """[head, value dim] → broadcasts to what stands at these places."""
        by_kv = means.view(self.clean.key.shape[1], -1, means.shape[-1]).to(self.own.query)
        whole_rows = len(where) < 3
        return by_kv[:, None] if whole_rows else by_kv[where[0], where[2]]

    def _active(self) -> Iterator[tuple[Any, torch.Tensor, int]]:
        """Rows of this tile that change this layer, by class: their places in A, edges, class."""
        by_class: dict[int, tuple[list[int], list[int], list[int]]] = {}
        for number, one in enumerate(self.rows.some, 1):
            row = number - self.chosen.start
            if self.layer not in one.heads or not 0 <= row < len(self.own.query):
                continue
            heads = one.heads[self.layer]
            whole, rows, singles = by_class.setdefault(one.column, ([], [], []))
            if heads is None:
                whole.append(row)
            else:
                rows += [row] * len(heads)
                singles += heads
        for column, (whole, rows, singles) in by_class.items():
            removed = self._removed(column)
            if whole:
                yield (slice(None), torch.tensor(whole)), removed, column
            if rows:
                kv, group = torch.tensor(singles) // self.clean.group, self.clean.group
                yield (kv, torch.tensor(rows), torch.tensor(singles) % group), removed, column

    def _removed(self, column: int) -> torch.Tensor:
        """Bool [token, key] of the tokens of a row."""
        removed = self.rows.edges.removed(column)
        before = self.rows.edges.first - self.rows.first
        if before:
            removed = torch.cat([removed.new_zeros(before, removed.shape[1]), removed])
        return removed.to(self.own.query.device)
