"""Knock-outs tell the truth: what an answer needs is found, what it does not need is not.

A model is trained on the spot to repeat the one marked token of a prompt; and classes drawn at
random differ no more often than the stated rate.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from mindshare.attention import knockout
from mindshare.attention.jobs import Answer, Job, Knockout, Request
from mindshare.facts.cells import charts_of
from mindshare.facts.find import facts_of
from mindshare.stats import contrast, estimate
from mindshare.tables import table
from tests.attention import tiny

MARKED, FILLER = range(4, 12), range(12, 40)  # token ids
TOKENS, LAST = 14, 3  # the last token asks
MEASURES = ("delta_logprob", "delta_logit", "kl", "flip")


def draw(random: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(token ids [prompt, token], where the marked token stands, which it is)"""
    ids = random.choice(list(FILLER), (count, TOKENS))
    where = random.integers(1, TOKENS - 1, count)
    which = random.choice(list(MARKED), count)
    ids[np.arange(count), where] = which
    ids[:, -1] = LAST
    return ids, where, which


@pytest.fixture(scope="module")
def trained() -> Any:
    """Repeats the marked token."""
    model = tiny.llama(vocab_size=40, num_hidden_layers=2, max_position_embeddings=32)
    torch.manual_seed(0)
    for weight in model.parameters():
        if weight.dim() > 1:
            torch.nn.init.normal_(weight, std=0.15)
    random = np.random.default_rng(0)
    optimiser = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(250):
        ids, _, which = draw(random, 64)
        logits = model(input_ids=torch.from_numpy(ids)).logits[:, -1]
        loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(which))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if loss.item() < 0.02:
            break
    assert loss.item() < 0.1
    return model.eval()


def effects(model: Any, jobs: list[Job], classes: tuple[str, ...], asked: Knockout) -> pa.Table:
    """A table `effects`, without what it is not asked for here."""
    rows: dict[str, list[Any]] = {}
    for number, job in enumerate(jobs):
        found = knockout.run(model, job, Request(frozenset(), knockout=asked)).layers
        for layer, numbers in found.items():
            for head in range(len(numbers["kl"])):
                for column, name in enumerate(classes):
                    row = {"prompt": f"p{number}", "queries": "last", "layer": layer}
                    row |= {"head": head if asked.each else None, "class": name}
                    row |= {m: numbers[m][head, column] for m in MEASURES} | {"correct": None}
                    row |= {m: numbers[m][head, column] for m in ("mass", "contribution")}
                    row |= {"n_tokens": job.columns[:, column].sum(), "n_keys": 1}
                    for key, value in row.items():
                        rows.setdefault(key, []).append(value)
    return table("effects", rows, {})


def jobs_of(seed: int, count: int) -> list[Job]:
    """Columns: the marked token; as many others as that, drawn at random, twice."""
    random = np.random.default_rng(seed)
    made = []
    for ids, where, which in zip(*draw(random, count), strict=True):
        columns = np.zeros((TOKENS, 3), np.float32)
        others = random.permutation([i for i in range(1, TOKENS - 1) if i != where])
        for column, place in enumerate((where, *others[:2])):
            columns[place, column] = 1
        last = np.repeat((np.arange(TOKENS) == TOKENS - 1)[None], 3, 0)
        made.append(Job("x", ids, columns, last, answer=Answer(np.array([which]))))
    return made


def test_the_token_that_the_answer_needs_is_found_and_nothing_else(trained: Any) -> None:
    names = ("marked", "one", "another")
    found = effects(trained, jobs_of(1, 40), names, Knockout(window=4))
    summary = estimate({"m": found}, "delta_logprob")
    means: dict[str, float] = dict.fromkeys(names, 0.0)
    for row in summary.to_pylist():
        means[row["class"]] = min(means[row["class"]], row["mean"])
    assert means["marked"] < -2.0
    assert max(abs(means["one"]), abs(means["another"])) < 0.05 * abs(means["marked"])
    facts = facts_of(charts_of({"summary": summary})[0])
    lost = [f.subject.token_class for f in facts if f.kind == "effect" and f.side < 0]
    assert lost[0] == "marked"


def test_classes_drawn_at_random_differ_at_the_stated_rate(trained: Any) -> None:
    """Two random tokens of every prompt, one hidden in each of two `models`: 40 studies of 12."""
    studies, each = 40, 12
    names = ("marked", "one", "another")
    found = effects(trained, jobs_of(2, studies * each), names, Knockout(each=True))
    frame = found.to_pandas()
    rejected = 0
    for study in range(studies):
        some = frame[frame["prompt"].isin({f"p{study * each + i}" for i in range(each)})]
        tables = {}
        for name in names[1:]:
            rows = some[some["class"] == name].assign(**{"class": "random"})
            tables[name] = pa.Table.from_pandas(rows, schema=found.schema, preserve_index=False)
        p_values = contrast(tables, a="one", b="another", measure="delta_logprob")["p_family"]
        rejected += min(p for p in p_values.to_pylist() if p is not None) < 0.05
    assert rejected <= 6  # 5 % of 40 are 2; more than 6 come in one case of 300
