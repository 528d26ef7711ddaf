"""A prompt + a tokenizer + a Study → what the model is going to be asked, as plain arrays.

The name of a job is a hash of all that decides its numbers: token ids, class weights, query sets,
the model, and the parts of the definition that no selection of layers or heads can change.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mindshare.models import LoadedModel, Reader
from mindshare.prompts import Prompt
from mindshare.study.encoding import check_spans, encode_for
from mindshare.study.study import Study
from mindshare.tokens import Classed, Encoded, classify, parse_queries, query_mask

if TYPE_CHECKING:
    from mindshare.attention.batches import Asked, Job

LAYOUT = 1  # of what is stored under a job's name


@dataclass(frozen=True)
class Read:
    """One prompt as a model is asked about it."""

    encoded: Encoded
    classed: Classed
    job: Job

    @property
    def prompt(self) -> Prompt:
        return self.encoded.prompt


@dataclass(frozen=True)
class Reading:
    """How prompts become jobs, for one model and one study."""

    reader: LoadedModel | Reader
    study: Study
    model: str  # who answers: `Respondent.identity`

    def read(self, prompt: Prompt) -> Read:
        from mindshare.attention.batches import Job

        encoded = encode_for(self.reader, prompt)
        check_spans(self.study, [encoded])
        classed = classify(encoded, self.study.token_classes())
        masks = [query_mask(parse_queries(x), encoded, classed) for x in self.study.queries]
        job = Job(
            item="",
            ids=np.array(encoded.ids, np.int64),
            columns=classed.weights.astype(np.float32),
            queries=np.stack(masks),
        )
        return Read(encoded, classed, Job(self._name(job), job.ids, job.columns, job.queries))

    def _name(self, job: Job) -> str:
        decides = json.dumps([LAYOUT, self.model, fixed_parts(self.study)], sort_keys=True)
        name = hashlib.sha256(decides.encode())
        for part in (job.ids, job.columns, job.queries):
            name.update(str(part.shape).encode())
            name.update(np.ascontiguousarray(part).tobytes())
        return name.hexdigest()[:32]


def fixed_parts(study: Study) -> dict[str, Any]:
    """The definition without what only selects among the numbers of a pass."""
    parts = study.to_dict()
    return {k: v for k, v in parts.items() if k not in ("layers", "heads", "mean_over")}


def asked_of(study: Study) -> Asked:
    from mindshare.attention.batches import Asked

    families = study.families()
    return Asked(
        all_queries=study.queries == ("all",),
        received="received" in families,
        near=study.near,
        entropy="entropy" in families,
        distance="distance" in families,
        layers=None if study.layers is None else frozenset(study.layers),
        kernel=study.kernel,
        chunk_tokens=study.chunk_tokens,
    )
