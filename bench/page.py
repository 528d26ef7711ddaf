"""The results as docs/performance.md. Every figure on the page comes from bench/results.json."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

WATCHED = 400  # prompts of the run whose memory is looked at
LONGER = (800, 1600)  # tokens of prompts whose matrices are not small
TARGETS = {
    "mass": {256: 1.03, 1024: 1.03, 4096: 1.05, 8192: 1.05},
    "mass + received": {256: 1.06, 1024: 1.06, 4096: 1.12, 8192: 1.20},
}
ENTROPY_TARGET, DISTANCE_TARGET = 1.30, 1.12
GRID_TARGET, PREFIXES_TARGET = 0.06, 0.15
LAYER_TARGETS = {"layer 0": 0.03, "layers 0 to 9": 0.38}
BATCH_TARGET = 1.15
MEMORY_TARGET = 1.25
CHART_TARGET = 1.3
INSERTION_TARGET = 1.3
KNOCKOUT_TARGETS = {200: 5.0, 1000: 2.0}
SCREEN_TARGET = 4.0
KNOCKOUT_CELLS = 810  # layers × heads × classes
DATASET_TARGET, EAGER_TARGET = 1.25, 2.0
STATISTICS_TARGET = 5.0
IN_SHORT = {
    *("layers", "grid", "prefixes", "late", "speed", "reported", "batch", "insertion"),
    *("knockouts", "dataset", "longer", "start"),
}


def write_page(results: dict[str, Any], path: Path) -> None:
    parts = [_intro(results["machine"]) + _elsewhere(results)]
    sections = {
        "speed": _speed,
        "layers": _layers,
        "kept": _kept,
        "batch": _batch,
        "insertion": _insertion,
        "grid": _grid,
        "prefixes": _prefixes,
        "late": _late,
        "start": _start,
        "peers": _peers,
        "knockouts": _knockouts,
        "dataset": _dataset,
        "longer": _longer,
        "statistics": _statistics,
        "memory": _memory,
        "beginnings": _beginnings,
        "chart": _chart,
        "long": _long,
    }
    if results.keys() >= IN_SHORT:
        parts.append(_in_short(results))
    parts += [section(results) for name, section in sections.items() if name in results]
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")


def _intro(machine: dict[str, Any]) -> str:
    return f"""# Performance

What it costs to see where attention goes. SmolLM2-135M (30 layers, 9 heads, 3 KV heads), float32,
all layers and heads, {machine["cores"]} cores ({machine["processor"]}, {machine["instructions"]}),
{machine["memory_gb"]} GB, torch {machine["torch"]}, transformers {machine["transformers"]}, Python
{machine["python"]}. The baseline is the plain forward pass with transformers' `sdpa` attention, of
the base model without its language-model head. Made by `make bench`, which writes this page from
`bench/results.json`; one part can be repeated with `python -m bench speed` (or `layers`, `kept`,
`reported`, `eager`, `batch`, `insertion`, `grid`, `prefixes`, `late`, `start`, `peers`,
`knockouts`, `dataset`, `longer`, `statistics`, `memory`, `beginnings`, `chart`, `long`). Ways are
run in turn, round after round. A ratio is that of the quickest rounds: other work on a shared
machine only ever adds time, and adds more than what is measured here. The median of the rounds' own
ratios stands beside it: what a user sees on a machine as busy as this one was.
"""


def _elsewhere(results: dict[str, Any]) -> str:
    """Which parts were not measured on the machine that the page names."""
    here, kinds = results["machine"]["instructions"], results.get("measured_on", {})
    parts = [name for name in results if isinstance(results[name], dict | list)]
    others = [
        f"`{name}`"
        for name in parts
        if name not in ("machine", "measured_on") and kinds.get(name, "") != here
    ]
    if not others:
        return ""
    return f"Measured earlier, on another machine (AVX2): {', '.join(sorted(others))}.\n"


def _ratio(times: dict[str, list[float]], way: str) -> float:
    """The quickest round of this way to the quickest plain one."""
    return min(times[way]) / min(times["plain"])


def _usual(times: dict[str, list[float]], way: str, base: str = "plain") -> float:
    """The median over the rounds of this way's time to the other's in the same round."""
    return median(a / b for a, b in zip(times[way], times[base], strict=False))


def _judged(times: dict[str, list[float]], way: str, target: float) -> str:
    ratio = _ratio(times, way)
    said = f"target {target:.2f}{'' if ratio <= target else ', missed'}"
    return f"{ratio:.3f} ({said}; median {_usual(times, way):.3f})"


def _in_short(results: dict[str, Any]) -> str:
    """For which questions and lengths we gain, and for which we don't; quickest rounds."""
    first, late, batch = results["layers"]["1024"], results["late"], results["batch"]
    knockouts = {int(t): _ratio(found, "all at once") for t, found in results["knockouts"].items()}
    few, many = min(knockouts), max(knockouts)
    dataset, longer = (_usual(results[name], "eager", "run") for name in ("dataset", "longer"))
    call = min(results["start"]["mindshare measure"])
    less = {
        "the first layer (1,024 tokens)": f"{_ratio(first, 'layer 0'):.3f}",
        "layers 0 to 9 of 30": f"{_ratio(first, 'layers 0 to 9'):.2f}",
        "the first layer of an insertion": f"{_ratio(results['grid'], 'layer 0'):.3f}",
        "100 questions about one document": f"{_ratio(results['prefixes'], 'shared'):.2f}",
        "a late insertion, in chunks": f"{_ratio(late, 'in chunks'):.2f}",
    }
    same = {
        "mass": _range(results["speed"], "mass"),
        "mass + received": _range(results["speed"], "mass + received"),
        "mass + entropy": _range(results["reported"], "mass + entropy"),
        "mass + distance": _range(results["reported"], "mass + distance"),
        "64 short prompts, mass + received": f"{_ratio(batch, 'mass + received'):.2f}",
        "an insertion and its comparison": f"{_ratio(results['insertion'], 'insertion'):.2f}",
    }
    more = {
        f"all {KNOCKOUT_CELLS} knock-outs of a prompt of {few:,} tokens": f"{knockouts[few]:.1f}",
        f"the same at {many:,} tokens": f"{knockouts[many]:.1f}",
    }
    rows = [
        _row([group, what, ratio])
        for group, found in (("less", less), ("about as much", same), ("more", more))
        for what, ratio in found.items()
    ]
    return f"""## In short

Against plain passes over the same tokens; all layers where none are named:

{_table(("costs", "question", "ratio"), rows)}

A loop over `output_attentions` takes {longer:.1f} times as long as a run over prompts of
{LONGER[0]:,} to {LONGER[1]:,} tokens. **Nothing is gained** over prompts of 20 to 400 tokens
({dataset:.2f} times as long: their matrices are small), nor for one short prompt from the shell:
that call takes {call:.1f} s, nearly all of it to import torch and transformers.
"""


def _range(by_length: dict[str, Any], way: str) -> str:
    """The ratios over all lengths, from the least to the largest."""
    ratios = [_ratio(found, way) for found in by_length.values()]
    lengths = sorted(map(int, by_length))
    return f"{min(ratios):.2f} to {max(ratios):.2f} ({lengths[0]:,} to {lengths[-1]:,} tokens)"


def _speed(results: dict[str, Any]) -> str:
    speed = results["speed"]
    rows = []
    for tokens in sorted(int(t) for t in speed):
        found = speed[str(tokens)]
        cells = [f"{tokens:,}", f"{min(found['plain']):.2f} s"]
        cells += [_judged(found, way, TARGETS[way][tokens]) for way in ("mass", "mass + received")]
        cells += [
            _other(results.get(part, {}).get(str(tokens), "not run"), way, target)
            for part, way, target in (
                ("reported", "mass + entropy", ENTROPY_TARGET),
                ("reported", "mass + distance", DISTANCE_TARGET),
                ("eager", "eager", None),
            )
        ]
        rows.append(_row(cells))
    head = (
        "tokens",
        "plain pass",
        "mass",
        "mass + received",
        "mass + entropy",
        "mass + distance",
        "eager with attentions, same reductions",
    )
    few = _counts(results["reported"])
    return f"""## Time, as a ratio to the plain pass

{_counts(speed)} rounds (entropy and distance: {few}; eager: 3, 3, 1 and 1), each group
of columns in a process of its own, with its own plain pass. Four classes, every query. The same
ratio still moves by a few percent from run to run, more where there were few rounds.

{_table(head, rows)}
"""


def _counts(speed: dict[str, Any]) -> str:
    rounds = [str(len(speed[t]["plain"])) for t in sorted(speed, key=int)]
    return f"{', '.join(rounds[:-1])} and {rounds[-1]}"


def _other(found: dict[str, list[float]] | str, way: str, target: float | None) -> str:
    if isinstance(found, str):
        return found
    return f"{_ratio(found, way):.2f}" if target is None else _judged(found, way, target)


def _layers(results: dict[str, Any]) -> str:
    found = results["layers"]["1024"]
    said = ", ".join(f"{way} {_judged(found, way, LAYER_TARGETS[way])}" for way in LAYER_TARGETS)
    return f"""## The first layers alone

A pass ends after the last layer that is asked for. 1,024 tokens, mass + received, against the plain
pass over all layers ({min(found["plain"]):.2f} s): {said}.
{len(found["plain"])} rounds.
"""


def _kept(results: dict[str, Any]) -> str:
    freed, kept = (results["kept"][name] for name in ("given back", "kept"))
    return f"""## Memory that stays

The command line and workers keep freed memory for the next pass, with glibc's allocator; in Python
`mindshare.keep_memory()` does. Page faults of {len(kept)} passes in a row over 1,024 tokens, mass +
received: {", ".join(f"{n:,}" for n in freed)} where memory is given back,
{", ".join(f"{n:,}" for n in kept)} where it is kept. How much is given back depends on what was
allocated before, so some processes have few faults without it, too.
"""


def _batch(results: dict[str, Any]) -> str:
    found = results["batch"]
    mass, both = (_judged(found, way, BATCH_TARGET) for way in ("mass", "mass + received"))
    return f"""## A batch

64 prompts of 80 to 120 tokens, padded on the right, against the plain padded batch
({min(found["plain"]):.2f} s): mass {mass}, mass + received {both}. {len(found["plain"])} rounds.
"""


def _insertion(results: dict[str, Any]) -> str:
    found = results["insertion"]
    said = _judged(found, "insertion", INSERTION_TARGET)
    return f"""## An insertion

20 word problems, each without and with 55 meaningless tokens and with a random sentence of the same
length: tokenising, aligning, received attention of every token in every head of each version, and
the comparison of the two attention matrices, against the 60 plain passes
({min(found["plain"]):.1f} s): {said}. {len(found["plain"])} rounds.
"""


def _grid(results: dict[str, Any]) -> str:
    found = results["grid"]
    return f"""## The first layer of an insertion

One word problem with and without its 55 tokens, layer 0 of all heads, both passes and their
comparison, against the two plain passes ({min(found["plain"]):.2f} s):
{_judged(found, "layer 0", GRID_TARGET)}. {len(found["plain"])} rounds.
"""


def _prefixes(results: dict[str, Any]) -> str:
    found = results["prefixes"]
    return f"""## One document, many questions

100 prompts of 2,000 tokens in common and 100 of their own, mass + received, `--chunk-tokens 100`,
against plain passes over each whole prompt ({min(found["plain"]):.0f} s: 100 times one of them):
{_judged(found, "shared", PREFIXES_TARGET)}. {len(found["plain"])} rounds. Without `--chunk-tokens`
nothing is shared.
"""


def _late(results: dict[str, Any]) -> str:
    found = results["late"]
    whole, chunks = (
        f"{_ratio(found, way):.2f} (median {_usual(found, way):.2f})"
        for way in ("whole", "in chunks")
    )
    return f"""## An insertion late in a long prompt

2,000 tokens, then 55 meaningless ones or a random sentence of the same length, then 100 more:
the three versions and their comparison, against three plain passes ({min(found["plain"]):.1f} s):
{whole} in whole passes, {chunks} with `--chunk-tokens 100`, where the 2,000 tokens are computed
once. {len(found["plain"])} rounds.
"""


def _start(results: dict[str, Any]) -> str:
    found = results["start"]
    said = {way: f"{min(times):.2f} s (median {median(times):.2f})" for way, times in found.items()}
    return f"""## A call from the shell

`mindshare measure smollm2 --text …` once the model was converted: {said["mindshare measure"]}. To
import torch and transformers' llama in a bare process takes {said["imports"]}. While mindshare
imports, nothing searches for garbage and SciPy, if it is there, is passed over; at the end nothing
is freed object by object. A bare process that does the same takes {said["imports alone"]}: the
least that any such call can take.
"""


def _peers(results: dict[str, Any]) -> str:
    found = results["peers"]
    said = "; ".join(
        f"{int(tokens):,} tokens {_ratio(times, 'TransformerLens'):.2f} "
        f"(median {_usual(times, 'TransformerLens'):.2f})"
        for tokens, times in sorted(found.items(), key=lambda item: int(item[0]))
    )
    return f"""## TransformerLens

Version 4.3.0 (`run_with_cache` of all attention patterns, then the same masses and column sums),
in an environment of its own, against the plain pass there: {said}. It keeps every matrix: memory
grows with the square of the length.
"""


def _knockouts(results: dict[str, Any]) -> str:
    rows = []
    for tokens, found in sorted(results["knockouts"].items(), key=lambda item: int(item[0])):
        all_at_once = _judged(found, "all at once", KNOCKOUT_TARGETS[int(tokens)])
        times = KNOCKOUT_CELLS * min(found["one cell"]) / min(found["all at once"])
        cells = [f"{int(tokens):,}", all_at_once, _judged(found, "screen", SCREEN_TARGET)]
        rows.append(_row([*cells, f"{times:,.0f} times as long"]))
    head = ("tokens", "all knock-outs", "first-order screen", "one pass a cell (extrapolated)")
    return f"""## Knock-outs of the last token

{KNOCKOUT_CELLS} of them: 30 layers × 9 heads × 3 classes, with all their logits, as a ratio to one
plain pass without its head; on one thread. One pass a cell is extrapolated from one plain pass with
its head.

{_table(head, rows)}
"""


def _dataset(results: dict[str, Any]) -> str:
    found = results["dataset"]
    run, plain = sum(found["run"]), sum(found["plain"])
    ratio, faster = _usual(found, "run"), _usual(found, "eager", "run")
    judged = f"{ratio:.3f} (target {DATASET_TARGET:.2f}{', missed' * (ratio > DATASET_TARGET)})"
    memory = found["memory_gb"]
    return f"""## A thousand prompts

{found["prompts"]:,} prompts of 20 to 400 tokens ({found["tokens"]:,} tokens, written by a seeded
generator), mass and received of all heads, from texts to Parquet tables with everything kept in the
run's store: {run:.0f} s, {found["tokens"] / run:,.0f} tokens a second. Plain passes over the same
prompts in length-sorted batches of {found["plain_tokens"]:,} tokens, which suit them best:
{plain:.0f} s. In {len(found["run"])} interleaved slices, median of their ratios:
{judged}. The best batched loop over `output_attentions`
(batches of {found["eager_tokens"]:,} tokens; it only computes masses and column sums) took
{faster:.2f} times as long as the run (target: at least {EAGER_TARGET:.0f}{
        "" if faster >= EAGER_TARGET else ", missed"
    }), and {
        _usual(found, "eager"):.2f} times as long as the plain passes: at these lengths the matrices
are small beside the rest of the model, so not even the plain passes are twice as fast. Largest
resident memory in each fifth of a run over {WATCHED} of them: {
        ", ".join(f"{x:.2f}" for x in memory)
    } GB.
"""


def _longer(results: dict[str, Any]) -> str:
    found = results["longer"]
    return f"""## Longer prompts

{found["prompts"]} prompts of {LONGER[0]:,} to {LONGER[1]:,} tokens, in {len(found["run"])} slices:
the loop over `output_attentions` took {_usual(found, "eager", "run"):.2f} times as long as the run
with its store and tables (median of the slices).
"""


def _statistics(results: dict[str, Any]) -> str:
    found = dict(results["statistics"])
    shape = found.pop("shape")
    rows = "\n".join(f"- {name}: {seconds:.2f} s" for name, seconds in found.items())
    return f"""## Statistics

{shape}, the quickest of several rounds (target: under {STATISTICS_TARGET:.0f} s):

{rows}
"""


def _memory(results: dict[str, Any]) -> str:
    rows = []
    lengths = sorted((k for k in results["memory"] if not k.startswith("eager")), key=int)
    for key in lengths:
        found = results["memory"][key]
        plain = found["plain"]
        cells = [f"{int(key):,}", f"{plain:.2f} GB"]
        for way in ("mass", "mass + received"):
            cells.append(f"{found[way]:.2f} GB ({found[way] / plain:.2f} ×)")
        eager = results["memory"].get(f"eager {key}")
        if eager is None:
            eager = results.get("eager", {}).get(key)
            eager = eager if isinstance(eager, str) else None
        cells.append(f"{eager:.2f} GB" if isinstance(eager, float) else eager or "–")
        rows.append(_row(cells))
    head = ("tokens", "plain pass", "mass", "mass + received", "eager with attentions")
    return f"""## Peak memory

Resident set of a process that loads the model and runs one pass. Target at 4,096 and 8,192 tokens:
at most {MEMORY_TARGET:.2f} × the plain pass.

{_table(head, rows)}
"""


def _beginnings(results: dict[str, Any]) -> str:
    without, *kept = results["beginnings"].items()
    said = "; ".join(f"{budget} MB: {1000 * (peak - without[1]):+.0f} MB" for budget, peak in kept)
    return f"""## Memory of kept beginnings

12 documents of 1,000 tokens with two questions each, `--chunk-tokens 100`: all their chunks would
take more than 550 MB. Peak memory above that of a run that keeps none ({without[1]:.2f} GB), by
the budget for what is kept: {said}.
"""


def _chart(results: dict[str, Any]) -> str:
    found = results["chart"]
    ratio = found["chart"] / found["plain"]
    said = "" if ratio < CHART_TARGET else ", missed"
    return f"""## A chart of two models

Peak memory of `mindshare.shares` for smollm2 and smollm2-phys on one prompt of {found["tokens"]:,}
tokens, from loading to the saved PNG, SVG, PDF and HTML: {found["chart"]:.2f} GB, {ratio:.2f} × the
plain pass of one model ({found["plain"]:.2f} GB; target below {CHART_TARGET:.1f}{said}). Only one
model is in memory at a time.
"""


def _long(results: dict[str, Any]) -> str:
    found = sorted(results["long"].items(), key=lambda item: int(item[0]))
    rows = [_row([f"{int(t):,}", f"{gb:.2f} GB"]) for t, gb in found]
    first, last = min(results["long"], key=int), max(results["long"], key=int)
    growth = (results["long"][last] - results["long"][first]) / (int(last) - int(first)) * 1e6
    return f"""## Long contexts

A llama of 2 layers and 2 heads, mass + received over the whole prompt at once, in a process of its
own. Memory grows by {growth:.1f} kB a token from {int(first):,} to {int(last):,} tokens.

{_table(("tokens", "peak memory"), rows)}
"""


def _table(head: tuple[str, ...], rows: list[str]) -> str:
    return "\n".join([_row(list(head)), _row(["---"] * len(head)), *rows])


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
