"""The tables: what every column means.

Two halves of mindshare meet only here. The left half (tensors) fills these schemas; the right half
(statistics, figures, reports) reads them and never imports torch. Every Parquet file carries the
definition and the unit of each of its columns; nothing in it depends on when or how fast it was
made, so the same study gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

DROP_FIRST = "mindshare.drop_first"  # in a table's metadata: is the first token left out?
# Whose numbers a response compares. A table that knows whether the first token counts says so.
_COMPARED = "the compared tokens (matched in both versions{})"
_FIRST = {
    None: "; without the prompt's first token unless it is counted",
    "true": ", without the prompt's first token",
    "false": ", the prompt's first token counted",
}
_ANY = _COMPARED.format(_FIRST[None])

DEFINITIONS: dict[str, str] = {
    "prompt": "id of the prompt",
    "queries": "the query set Q that the row averages over",
    "layer": "layer, 0-based; null: mean over the layers",
    "head": "query head, 0-based; null: mean over the heads",
    "class": "token class of the keys; 'sink_slot' is what learned sinks take",
    "mass": "mean over Q of the sum over the class's keys j of A[i,j]; 0..1, the classes sum to 1",
    "share": "mass / sum of mass over the classes that were named (not 'other'); 0..1",
    "density": "mass / number of key tokens in the class; per token",
    "expected": "mass that uniform attention over the visible keys would give the class; 0..1",
    "lift": "mass / expected; ratio, 1 = no preference",
    "entropy": "mean over Q of -sum over j of A[i,j] log A[i,j]; nats",
    "perplexity": "exp(entropy); tokens",
    "distance": "mean over Q of the sum over j of A[i,j] (i - j); tokens",
    "first_token": "mean over Q of A[i,0]: what the first token gets, diagonal included; 0..1",
    "position": "position of the key token in the prompt, 0-based",
    "received": "mean of A[i,j] over the queries i of Q with i > j + near (near in the study: "
    "0 = below the diagonal, -1 = with it); 0..1",
    "n_queries": "number of queries averaged over; for 'received' those with i > j + near",
    "n_tokens": "number of key tokens in the class (fractional under the proportional policy)",
    "token_id": "id of the token in the tokenizer's vocabulary",
    "token": "the characters the token covers, or the name of a special token",
    "start": "first character of the token in the text",
    "stop": "one past the last character of the token in the text",
    "special": "true for special tokens",
    "examples": "tokens of the class, most frequent first",
    "text": "the exact text that was tokenised",
    "n_prompt_tokens": "number of tokens of the prompt",
    "group": "prompts that share one are resampled together; null: the prompt stands for itself",
    "sink_rate": "share of the measured (layer, head) with first_token above 0.3; 0..1",
    "bos": "whether the prompt starts with a BOS token, and who put it there",
    "model": "label of the model",
    "model_a": "label of the model that is compared with",
    "model_b": "label of the model that is compared",
    "n_prompts": "number of prompts that have the number; prompts without it are left out",
    "mean": "mean of the measure over the prompts",
    "mean_a": "mean of the measure over the prompts, model a",
    "mean_b": "mean of the measure over the prompts, model b",
    "difference": "mean over the prompts of the measure in model b minus the measure in model a",
    "n_groups": "number of groups of prompts that are resampled as one; without groups, n_prompts",
    "sd": "standard deviation over the prompts (n - 1); of the paired differences in a contrast",
    "se": "standard error of the mean: sd / sqrt(n_prompts), or from the sums of the groups; null "
    "below 2 groups",
    "low": "lower end of the bootstrap interval over prompts or groups, widened as Student's t "
    "asks for so few; null where they are too few for the level (below 6 for 95 %)",
    "high": "upper end of that interval",
    "effect": "difference / sd (Cohen's d_z, not corrected for small n); null where sd is 0",
    "detectable": "smallest true difference that is found with 80 % power at 0.05, two-sided, with "
    "this se and n_groups (Student's t), in a cell that is looked at alone; null below 8 groups",
    "detectable_family": "the same at p_family of 0.05: in a cell that is picked out of the table",
    "condition": "the version of the prompt: 'without', or the name of what was inserted",
    "condition_a": "the condition that is compared with",
    "condition_b": "the condition that is compared",
    "insertion": "what was inserted, as it was asked for",
    "place": "where it was inserted, as it was asked for",
    "inserted_text": "the exact characters that were inserted",
    "n_inserted": "number of tokens that hold inserted characters only",
    "n_seam": "tokens that hold inserted and original characters, merged at a seam; not counted as "
    "inserted",
    "n_matched": "original tokens that stand in both versions: same characters, same token id",
    "n_unmatched": "original tokens of the version without that have no partner in the other",
    "part": "original: matched in both versions; unmatched: original characters that the other "
    "version cuts differently; inserted: inserted characters only; seam: both kinds in one token",
    "position_without": "position of the same token in the version without; null: no partner",
    "received_without": "received of the token in the version without the insertion; 0..1",
    "received_with": "received of the token in the version with the insertion; 0..1",
    "n_queries_without": "n_queries of the token in the version without the insertion",
    "n_queries_with": "n_queries of the token in the version with the insertion",
    "retained": "1 - sum over inserted tokens j of A'[i,j], for an original query i after the "
    "insertion; a head's is the mean over these queries; 0..1",
    "factor": "mean over these queries i of c[i], the one factor that brings A[i,j] closest to "
    "A'[i,j] over the matched keys j (least squares); the theory says it is 'retained'",
    "affine_r2": "1 - sum of (A'[i,j] - c[i] A[i,j])^2 / sum of A'[i,j]^2 over these queries and "
    "the matched keys: how much of A' is A times one factor a query; 1 = all",
    "affine_r2_after": "affine_r2 with c and the sums over matched keys after the insertion only",
    "value_evenness": "squared length of the mean value vector of the inserted tokens / mean of "
    "their squared lengths; 1 = all alike",
    "weight_evenness": "entropy of 'received' over the inserted tokens, normalised to sum to 1, / "
    "log of their number; 1 = all get the same",
    "amplitude": f"sum of received_with / sum of received_without over {_ANY}; ratio",
    "shape": f"Pearson correlation of received_with and received_without over {_ANY}",
    "entropy_change": "entropy of received_with minus that of received_without, each normalised to "
    f"sum to 1 over {_ANY}; nats",
    "divergence": "Jensen-Shannon divergence of received_with and received_without, each "
    f"normalised to sum to 1 over {_ANY}; bits, 0..1",
    "peak_shift": "place of the largest received_with minus that of the largest received_without "
    f"among {_ANY}, counted in them; above 0 = later in the prompt",
    "peak_ratio": f"largest received_with / largest received_without over {_ANY}; ratio",
    "attention_left": f"share of the queries' attention that goes to {_ANY}: sum over them of "
    "received times n_queries, / the largest n_queries, in the version where it is more; 0..1. "
    "Below the floor of the thresholds the head rests: that is too little to be compared, so its "
    "amplitude, shape, entropy_change, divergence and peaks are null",
    "label": "what the insertion does to the head, by thresholds on its response numbers; "
    "'resting': attention_left is below their floor",
    "phase": "before, inside or after the insertion",
    "received_sum": "sum of 'received' over the tokens of the phase",
    "measure": "the number that the row is about",
    "p_value": "paired sign-flip permutation over prompts or groups, two-sided; every flip up to "
    "12 of them in the table",
    "p_adjusted": "p_value after Benjamini-Hochberg correction over all cells of the table (false "
    "discovery rate)",
    "p_family": "p corrected for all cells of the table at once (family-wise error, max-T): share "
    "of the same flips in which any cell's |sum| / root of the sum of squares reaches this cell's",
    "rank": "1 = the largest effect or difference, whichever its sign",
}


def _schema(**columns: pa.DataType) -> pa.Schema:
    return pa.schema(
        [
            pa.field(name, kind, metadata={"definition": DEFINITIONS[name]})
            for name, kind in columns.items()
        ]
    )


_CELL = {"prompt": pa.string(), "queries": pa.string(), "layer": pa.int32(), "head": pa.int32()}
_OVER_PROMPTS = {
    "queries": pa.string(),
    "layer": pa.int32(),
    "head": pa.int32(),
    "class": pa.string(),
    "n_prompts": pa.int64(),
    "n_groups": pa.int64(),
}
_SPREAD = {name: pa.float64() for name in ("sd", "se", "low", "high")}
_PAIRED = {
    "mean_a": pa.float64(),
    "mean_b": pa.float64(),
    "difference": pa.float64(),
    **_SPREAD,
    "effect": pa.float64(),
    "detectable": pa.float64(),
    "detectable_family": pa.float64(),
    "p_value": pa.float64(),
    "p_adjusted": pa.float64(),
    "p_family": pa.float64(),
}
_VERSION = {
    "prompt": pa.string(),
    "condition": pa.string(),
    "layer": pa.int32(),
    "head": pa.int32(),
}
_RESCALING = {
    name: pa.float32()
    for name in ("retained", "factor", "affine_r2", "affine_r2_after", "value_evenness")
}
_RESPONSE = {
    "model": pa.string(),
    "layer": pa.int32(),
    "head": pa.int32(),
    "measure": pa.string(),
    "n_prompts": pa.int64(),
    "n_groups": pa.int64(),
}

SCHEMAS: dict[str, pa.Schema] = {
    "mass": _schema(
        **_CELL,
        **{"class": pa.string()},
        mass=pa.float32(),
        share=pa.float32(),
        density=pa.float32(),
        expected=pa.float32(),
        lift=pa.float32(),
        n_tokens=pa.float32(),
        n_queries=pa.int64(),
    ),
    "heads": _schema(
        **_CELL,
        entropy=pa.float32(),
        perplexity=pa.float32(),
        distance=pa.float32(),
        first_token=pa.float32(),
        n_queries=pa.int64(),
    ),
    "received": _schema(**_CELL, position=pa.int32(), received=pa.float32(), n_queries=pa.int64()),
    "tokens": _schema(
        prompt=pa.string(),
        position=pa.int32(),
        token_id=pa.int64(),
        token=pa.string(),
        start=pa.int64(),
        stop=pa.int64(),
        special=pa.bool_(),
        **{"class": pa.string()},
    ),
    "classes": _schema(
        prompt=pa.string(),
        **{"class": pa.string()},
        n_tokens=pa.float32(),
        examples=pa.list_(pa.field("element", pa.string())),  # the name Parquet gives it
    ),
    "prompts": _schema(
        prompt=pa.string(),
        queries=pa.string(),
        n_prompt_tokens=pa.int64(),
        sink_rate=pa.float32(),
        bos=pa.string(),
        group=pa.string(),
        text=pa.string(),
    ),
    "summary": _schema(
        model=pa.string(),
        **_OVER_PROMPTS,
        mean=pa.float64(),
        **_SPREAD,
    ),
    "contrast": _schema(
        model_a=pa.string(),
        model_b=pa.string(),
        **_OVER_PROMPTS,
        **_PAIRED,
    ),
    # A prompt with and without an insertion: what was seen …
    "conditions": _schema(
        prompt=pa.string(),
        condition=pa.string(),
        insertion=pa.string(),
        place=pa.string(),
        inserted_text=pa.string(),
        n_inserted=pa.int64(),
        n_seam=pa.int64(),
        n_matched=pa.int64(),
        n_unmatched=pa.int64(),
        n_prompt_tokens=pa.int64(),
        text=pa.string(),
    ),
    "places": _schema(
        prompt=pa.string(),
        condition=pa.string(),
        position=pa.int32(),
        token_id=pa.int64(),
        token=pa.string(),
        start=pa.int64(),
        stop=pa.int64(),
        special=pa.bool_(),
        part=pa.string(),
        position_without=pa.int32(),
    ),
    "sequence": _schema(
        **_VERSION, position=pa.int32(), received=pa.float32(), n_queries=pa.int64()
    ),
    "retained": _schema(
        **_VERSION, position=pa.int32(), position_without=pa.int32(), retained=pa.float32()
    ),
    "rescaling": _schema(**_VERSION, **_RESCALING, n_queries=pa.int64()),
    # … and what follows from it.
    "aligned": _schema(
        **_VERSION,
        position_without=pa.int32(),
        position=pa.int32(),
        token=pa.string(),
        received_without=pa.float32(),
        received_with=pa.float32(),
        n_queries_without=pa.int64(),
        n_queries_with=pa.int64(),
    ),
    "response": _schema(
        **_VERSION,
        amplitude=pa.float32(),
        shape=pa.float32(),
        entropy_change=pa.float32(),
        divergence=pa.float32(),
        peak_shift=pa.float32(),
        peak_ratio=pa.float32(),
        attention_left=pa.float32(),
        weight_evenness=pa.float32(),
        **_RESCALING,
        label=pa.string(),
    ),
    "phases": _schema(
        **_VERSION,
        phase=pa.string(),
        n_tokens=pa.float32(),
        received_sum=pa.float32(),
        received=pa.float32(),
    ),
    "response_summary": _schema(
        condition=pa.string(), **_RESPONSE, mean=pa.float64(), **_SPREAD, label=pa.string()
    ),
    "condition_contrast": _schema(
        condition_a=pa.string(),
        condition_b=pa.string(),
        **_RESPONSE,
        **_PAIRED,
    ),
}


def table(name: str, columns: Mapping[str, Any], about: Mapping[str, str]) -> pa.Table:
    """Columns → an Arrow table of the named schema; `about` goes into its metadata."""
    schema = _told(SCHEMAS[name], about).with_metadata(dict(about))
    # NaN says that there is no such number; a table says it with null.
    arrays = [_array(columns[f.name], f.type) for f in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def defined(name: str, about: Mapping[str, str]) -> str:
    """What a column or measure is in a table that says this about itself."""
    return DEFINITIONS[name].replace(_ANY, compared(about))


def compared(about: Mapping[str, str]) -> str:
    """Which tokens the response numbers of such a table compare."""
    return _COMPARED.format(_FIRST.get(about.get(DROP_FIRST), _FIRST[None]))


def _told(schema: pa.Schema, about: Mapping[str, str]) -> pa.Schema:
    """The schema whose columns say whether the first token counts, if the table knows."""
    if DROP_FIRST not in about:
        return schema
    for i, field in enumerate(schema):
        text = defined(field.name, about)
        if field.name == "measure":
            text += f"; those that compare what tokens receive do so over {compared(about)}"
        schema = schema.set(i, field.with_metadata({"definition": text}))
    return schema


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(values, pa.Array) and values.type == kind:
        return values
    return pa.array(values, type=kind, from_pandas=True)


def joined(parts: Sequence[pa.Table]) -> pa.Table:
    """Rows of several prompts, in order."""
    return pa.concat_tables(parts).combine_chunks()
