"""Who answers, without the weights: what tables and manifests say of a model, as plain values.

A model may be in this process, in another or on another machine; this is what comes from there.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Protocol

from mindshare.models import AttentionFacts, LoadedModel, attention_facts
from mindshare.study.passes import Answering


@dataclass(frozen=True)
class Respondent:
    reference: str
    name: str
    fingerprint: str
    adapter: str | None
    dtype: str
    device: str
    facts: AttentionFacts
    verdict: dict[str, Any]  # of the self-check
    processor: str = ""  # its kind: the last digits depend on it

    @classmethod
    def of(cls, loaded: LoadedModel) -> Respondent:
        """Raises for a model that is not measured exactly."""
        from mindshare.attention.selfcheck import verify

        return cls(
            reference=loaded.reference,
            name=loaded.name,
            fingerprint=loaded.fingerprint,
            adapter=loaded.adapter,
            dtype=str(loaded.dtype).removeprefix("torch."),
            device=str(loaded.device),
            facts=attention_facts(loaded.model),
            verdict=asdict(verify(loaded.model)),
            processor=_processor(loaded.device),
        )

    @property
    def identity(self) -> str:
        """What decides its numbers."""
        device = self.device.partition(":")[0]
        return f"{self.fingerprint} {self.dtype} {device} {self.processor}"


def _processor(device: Any) -> str:
    import torch

    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return torch.backends.cpu.get_cpu_capability()


class Answerer(Answering, Protocol):
    """Someone who answers, and who that is."""

    @property
    def respondent(self) -> Respondent: ...
