"""One explorer: its models, folders of results, measured prompts and jobs. Knows no HTTP.

Models are loaded when the first job needs them, and stay. Queries and keys are kept for the prompts
that were looked at last, as far as the memory allows; sums are small and written to `folder`, so
that a server that was killed finds them again.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindshare import __version__
from mindshare.errors import MindshareError, SelectionError, nearest
from mindshare.measures import MEASURES
from mindshare_explore.jobs import JobQueue, QueuedJob
from mindshare_explore.source import (
    MOST_CHARACTERS,
    EffectBody,
    ExplorerSource,
    InsertBody,
    TokensBody,
)

if TYPE_CHECKING:
    from mindshare.api.candidates import Candidate
    from mindshare.models import LoadedModel
    from mindshare.prompts import Prompt
    from mindshare.tokens import Encoded
    from mindshare_explore.live import MeasuredPrompt

MEMORY = 2 * 2**30  # bytes of queries and keys that are kept
MOST_TOKENS = 16_384  # of one prompt
MOST_EFFECTS = 20  # of one prompt
MOST_PROMPTS = 200  # whose sums are kept in memory
_LEVELS = ("class", "head", "key", "response", "effect")  # of measures that the page shows
_OF_MEASURES = ("name", "title", "level", "definition", "short", "unit", "neutral", "scale")
_ID = re.compile(r"[0-9a-f]{12}")


class NotFound(MindshareError):  # noqa: N818
    pass


@dataclass
class ExplorerModel:
    """A model by its label; weights arrive with the first job."""

    candidate: Candidate
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def label(self) -> str:
        return self.candidate.label

    @property
    def ready(self) -> bool:
        return "loaded" in vars(self)

    @cached_property
    def loaded(self) -> LoadedModel:
        """Loaded and checked against its own eager attention."""
        from mindshare.attention.selfcheck import verify
        from mindshare.models import LoadedModel

        model = self.candidate.model
        if not isinstance(model, LoadedModel):
            model = self.candidate.loading.spec(model).load(progress=False)
        verify(model.model)
        return model

    def encode(self, prompt: Prompt) -> Encoded:
        from mindshare.errors import SystemRoleError
        from mindshare.prompts import fold_system_message
        from mindshare.study.encoding import encode_for

        with self._lock:  # tokenizers are not made for several threads
            tokenizer = self.loaded if self.ready else self.candidate.tokenizer
            try:
                encoded = encode_for(tokenizer, prompt)
            except SystemRoleError:
                encoded = encode_for(tokenizer, fold_system_message(prompt))
        if len(encoded) > MOST_TOKENS:
            raise SelectionError(
                f"the prompt has {len(encoded):,} tokens", allowed=f"up to {MOST_TOKENS:,}"
            )
        return encoded


class Explorer:
    """All that one server shows."""

    def __init__(
        self,
        models: Sequence[Candidate] = (),
        results: Sequence[Path] = (),
        *,
        folder: Path | None = None,
        memory: int = MEMORY,
    ) -> None:
        self.models = {one.label: ExplorerModel(one) for one in models}
        self.folder, self.memory = folder, memory
        self.jobs = JobQueue()
        self._prompts: OrderedDict[str, MeasuredPrompt] = OrderedDict()  # the last used one last
        self._lock = threading.RLock()
        self.results: dict[str, ExplorerSource] = {}
        if results:
            from mindshare_explore.results import sources_of

            self.results = {
                one.id: one for n, path in enumerate(results) for one in sources_of(path, n)
            }

    def model(self, label: str) -> ExplorerModel:
        if label not in self.models:
            raise NotFound(
                f"there is no model {label!r} here{nearest(label, self.models)}",
                allowed=", ".join(self.models) or "none: only results were opened",
                next_step="start the explorer with it: mindshare explore MODEL",
            )
        return self.models[label]

    def state(self) -> dict[str, Any]:
        """What there is: models, prompts, the registry of measures, limits."""
        shown = [one for one in MEASURES.values() if one.level in _LEVELS]
        return {
            "version": __version__,
            "models": [{"label": one.label, "ready": one.ready} for one in self.models.values()],
            "prompts": self.listed(),
            "measures": [{name: getattr(one, name) for name in _OF_MEASURES} for one in shown],
            "limits": {"tokens": MOST_TOKENS, "characters": MOST_CHARACTERS},
        }

    # ── before measuring ──────────────────────────────────────────────────────────────────────────

    def preview(self, body: TokensBody) -> dict[str, Any]:
        """The tokens by class; nothing is measured."""
        from mindshare_explore.live import class_view, classed_by, encoded_json

        encoded = self.model(body.model).encode(body.prompt())
        return {
            "tokens": encoded_json(encoded),
            "classes": class_view(classed_by(encoded, body)).to_json(),
            "bos": {"present": encoded.bos.present, "token": encoded.bos.token},
        }

    # ── measuring ─────────────────────────────────────────────────────────────────────────────────

    def load(self, label: str) -> QueuedJob:
        """Load a model's weights, before anyone waits for them."""
        model = self.model(label)

        def work(job: QueuedJob) -> None:
            job.step(f"loading {label}")
            model.loaded  # noqa: B018

        return self.jobs.submit(f"Load {label}", work)

    def measure(self, label: str, prompt: Prompt) -> QueuedJob:
        """A job whose result is the id of the measured prompt."""
        model = self.model(label)
        encoded = model.encode(prompt)  # what is wrong with the prompt is said at once

        def work(job: QueuedJob) -> str:
            from mindshare_explore.live import MeasuredPrompt, prompt_id, write
            from mindshare_explore.rows import measure

            job.step(f"loading {model.label}" if not model.ready else "starting")
            loaded = model.loaded
            id_ = prompt_id(loaded.fingerprint, model.label, encoded)
            with self._lock:
                known = self._prompts.get(id_)
            if known is not None and known.kept is not None:
                return id_
            layers, coming = _expected(loaded, len(encoded))
            self._make_room(coming)
            sums, kept = measure(
                loaded, encoded, watch=lambda done: job.step("measuring", done, layers)
            )
            one = MeasuredPrompt(id_, model.label, encoded.prompt, encoded, sums, kept)
            one.effects = self._effects(id_)
            if self.folder is not None:
                with suppress(OSError):  # a full disk costs a pass after a restart, nothing now
                    write(self.folder, one)
            self._keep(one)
            return id_

        return self.jobs.submit(f"Measure {len(encoded):,} tokens with {label}", work)

    def again(self, id_: str, *, model: str | None = None) -> QueuedJob:
        """Bring the queries and keys of a prompt back, or measure it in another model."""
        one = self._measured(id_)
        return self.measure(model or one.model, one.prompt)

    def insert(self, id_: str, body: InsertBody) -> QueuedJob:
        """The prompt with a text put in before a character of what the model reads."""
        from mindshare_explore.versions import with_insertion

        one = self._measured(id_)
        return self.measure(one.model, with_insertion(one, body.at, body.text))

    def knock_out(self, id_: str, body: EffectBody) -> QueuedJob:
        """Hide a class: a job whose result is the prompt's id; the prompt has one more effect."""
        prompts = [self._measured(one) for one in dict.fromkeys([id_, *body.also])]
        if len({one.model for one in prompts}) > 1:
            raise SelectionError("an effect is one model's", next_step="leave the others out")
        painted = {f"span:{name}" for name in body.spans}
        if len(prompts) > 1 and any(c.name == body.cls and c.rule in painted for c in body.classes):
            raise SelectionError(
                "painted ranges are of one prompt, and others are asked for, too",
                next_step="choose a class by a rule, or leave the others out",
            )
        model = self.model(prompts[0].model)

        def work(job: QueuedJob) -> str:
            from mindshare_explore.effects import knock_out
            from mindshare_explore.live import write_effects

            job.step(f"loading {model.label}" if not model.ready else "starting")
            effect = knock_out(
                model.loaded, prompts, body, lambda *done: job.step(f"hiding {body.cls}", *done)
            )
            first = self._measured(id_)  # another pass may have taken its place
            others = [one for one in first.effects if one["asked"] != effect["asked"]]
            first.effects = [*others, effect][-MOST_EFFECTS:]
            if self.folder is not None:
                with suppress(OSError):
                    write_effects(self.folder, first)
            return id_

        return self.jobs.submit(f"Hide {body.cls} from {model.label}", work)

    def _measured(self, id_: str) -> MeasuredPrompt:
        one = self.source(id_)
        if not one.capabilities()["rows"]:
            raise SelectionError(
                "results hold no prompt that can be measured",
                next_step="open a model beside them: mindshare explore MODEL RESULTS",
            )
        return one  # type: ignore[return-value]

    def _keep(self, one: MeasuredPrompt) -> None:
        with self._lock:
            self._prompts[one.id] = one
            self._prompts.move_to_end(one.id)
            self._make_room(0)
            while len(self._prompts) > MOST_PROMPTS:
                self._prompts.popitem(last=False)

    def _make_room(self, coming: int) -> None:
        """Give up the queries and keys that were not looked at for longest."""
        with self._lock:
            kept = [one for one in self._prompts.values() if one.kept is not None]
            total = coming + self.kept_bytes
            for one in kept[: len(kept) if coming else -1]:
                if total <= self.memory:
                    break
                assert one.kept is not None
                total -= one.kept.nbytes
                one.kept = None

    @property
    def kept_bytes(self) -> int:
        with self._lock:
            kept = [one.kept for one in self._prompts.values()]
        return sum(one.nbytes for one in kept if one is not None)

    # ── looking ───────────────────────────────────────────────────────────────────────────────────

    def source(self, id_: str) -> ExplorerSource:
        if id_ in self.results:
            return self.results[id_]
        with self._lock:
            if id_ in self._prompts:
                self._prompts.move_to_end(id_)
                return self._prompts[id_]
        found = self._from_disk(id_)
        if found is None:
            raise NotFound(
                f"there is no prompt {id_!r} here", next_step="measure it, or open its results"
            )
        self._keep(found)
        return found

    def _from_disk(self, id_: str) -> MeasuredPrompt | None:
        if self.folder is None or not _ID.fullmatch(id_):
            return None
        from mindshare_explore.live import MeasuredPrompt, read

        written = read(self.folder, id_)
        if written is None or written[0] not in self.models:
            return None
        label, prompt, sums = written
        encoded = self.models[label].encode(prompt)
        if len(encoded) != sums.tokens:
            return None  # by another tokenizer of that name
        return MeasuredPrompt(id_, label, prompt, encoded, sums, effects=self._effects(id_))

    def _effects(self, id_: str) -> list[dict[str, Any]]:
        """Those that were asked for before, here or by a server that was stopped."""
        from mindshare_explore.live import read_effects

        with self._lock:
            if id_ in self._prompts:
                return self._prompts[id_].effects
        return [] if self.folder is None else read_effects(self.folder, id_)

    def compare(self, a: str, b: str) -> dict[str, Any]:
        """Which tokens of two prompts are the same ones."""
        sources = self.source(a), self.source(b)
        if all(one.capabilities()["rows"] for one in sources):
            from mindshare_explore.versions import compared

            return compared(self, *sources)  # type: ignore[arg-type]
        same = len({(one.layers, one.heads_known) for one in sources}) == 1
        return {"kind": "classes", "heads": same, "pairs": None, "parts": None}

    def listed(self) -> list[Mapping[str, Any]]:
        """What can be opened, the newest prompt first."""
        with self._lock:
            prompts = list(reversed(self._prompts.values()))
        everything: list[ExplorerSource] = [*prompts, *self.results.values()]
        return [
            {
                "id": one.id,
                "model": one.model,
                "title": one.title,
                "live": one.id not in self.results,
            }
            for one in everything
        ]

    def close(self) -> None:
        self.jobs.close()


def _expected(loaded: LoadedModel, tokens: int) -> tuple[int, int]:
    """How many layers attend, and how many bytes their queries and keys take."""
    from mindshare.models import attention_facts

    facts = attention_facts(loaded.model)
    layers = len(facts.attention_layers)
    numbers = layers * (facts.heads + facts.kv_heads) * facts.head_dim * tokens
    return layers, numbers * loaded.dtype.itemsize
