"""The tables: which columns each has, and what every column means.

The two halves of mindshare meet here. The left half (tensors) fills these schemas; the right half
(statistics, figures, reports) reads them and never imports torch. Every Parquet file carries the
definition of each of its columns; nothing in it depends on when or how fast it was made, so the
same study gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mindshare.measures import COMPARED, COMPARED_ANY, MEASURES

DROP_FIRST = (
    "mindshare.drop_first"  # table metadata, "true" or "false": is the first token left out?
)
QUERIES = "mindshare.queries"  # table metadata: the query set, if not that of the whole study
DEPTH = "mindshare.depth"  # table metadata: which layers of two models were compared
LABELS = "mindshare.labels"  # table metadata: how layers and heads are counted, if not from 0
ONE_BASED = "one-based"
_COMPARED = {
    "true": COMPARED.format(", without the prompt's first token"),
    "false": COMPARED.format(", the prompt's first token counted"),
}

# Keys, counts and statistics, by type: column → definition. A column means the same in every table
# that has it. Measures are not here: they are the registry's, and float32.
_COLUMNS: dict[pa.DataType, dict[str, str]] = {
    pa.string(): {
        "prompt": "id of the prompt",
        "queries": "the query set Q that the row averages over",
        "class": "token class of the keys; 'sink_slot' is what learned sinks take",
        "token": "the characters the token covers, or the name of a special token",
        "text": "the exact text that was tokenised",
        "group": "prompts that share one are resampled together; null: the prompt stands for "
        "itself",
        "bos": "whether the prompt starts with a BOS token, and who put it there",
        "model": "label of the model",
        "model_a": "label of the model that is compared with",
        "model_b": "label of the model that is compared",
        "condition": "the version of the prompt: 'without', or the name of what was inserted",
        "condition_a": "the condition that is compared with",
        "condition_b": "the condition that is compared",
        "insertion": "what was inserted, as it was asked for",
        "place": "where it was inserted, as it was asked for",
        "inserted_text": "the exact characters that were inserted",
        "part": "original: matched in both versions; unmatched: original characters that the other "
        "version cuts differently; inserted: inserted characters only; seam: both kinds in one "
        "token",
        "label": "what the insertion does to the head, by thresholds on its response numbers; "
        "'resting': attention_left is below their floor",
        "phase": "before, inside or after the insertion",
        "measure": "the number that the row is about",
        "remark": "looks without using: among the tenth of heads with most mass, its effect below "
        "a twentieth of the largest, or below a tenth and not told from 0; uses without looking: "
        "among the tenth with the largest effect, its mass below the median",
        "answer": "the answer: as given, or what the model itself says (greedily)",
    },
    pa.list_(pa.field("element", pa.string())): {  # the name Parquet gives to elements
        "examples": "tokens of the class, most frequent first",
    },
    pa.list_(pa.field("element", pa.int64())): {
        "answer_ids": "token ids of the answer",
    },
    pa.bool_(): {
        "special": "true for special tokens",
        "reliable": "false: fewer than 20 prompts or groups have a number other than 0, so that "
        "the interval and the p-values are approximate",
    },
    pa.int32(): {
        "layer": "layer, 0-based; null: mean over the layers",
        "head": "query head, 0-based; null: mean over the heads",
        "position": "position of the key token in the prompt, 0-based",
        "position_without": "position of the same token in the version without; null: no partner",
    },
    pa.int64(): {
        "n_queries": "number of queries averaged over; for 'received' those with i > j + near",
        "token_id": "id of the token in the tokenizer's vocabulary",
        "start": "first character of the token in the text",
        "stop": "one past the last character of the token in the text",
        "n_prompt_tokens": "number of tokens of the prompt",
        "n_prompts": "number of prompts that have the number; prompts without it are left out",
        "n_absent": "number of prompts that do not have the number: no token of theirs belongs to "
        "the class",
        "n_groups": "number of groups of prompts, each of which counts as one; without groups, "
        "n_prompts",
        "n_same_sign": "number of prompts whose own difference has the sign of the mean difference",
        "n_inserted": "number of tokens that hold inserted characters only",
        "n_keys": "number of the class's key tokens that any of the queries sees: 0 where nothing "
        "was taken away, and the effect is 0",
        "n_seam": "tokens that hold inserted and original characters, merged at a seam; not "
        "counted as inserted",
        "n_matched": "original tokens that stand in both versions: same characters, same token id",
        "n_unmatched": "original tokens of the version without that have no partner in the other",
        "n_queries_original": "n_queries that were not inserted themselves",
        "n_queries_without": "n_queries of the token in the version without the insertion",
        "n_queries_with": "n_queries of the token in the version with the insertion",
        "rank": "1 = the largest effect or difference, whichever its sign",
    },
    pa.float32(): {
        "n_tokens": "number of key tokens in the class (fractional under the proportional policy)",
        "received_original": "received from the queries that were not inserted alone, the same "
        "readers in every version; 0..1",
        "logprob": "log-probability of the answer, nothing knocked out; nats",
        "greedy": "1 where the answer is what the model itself says, greedily; else 0",
        "correct_clean": "correct with nothing knocked out; null without choices",
        "received_without": "received of the token in the version without the insertion; 0..1",
        "received_with": "received of the token in the version with the insertion; 0..1",
    },
    pa.float64(): {
        "mean": "mean of the measure over the prompts",
        "mean_a": "mean of the measure over the prompts, model a",
        "mean_b": "mean of the measure over the prompts, model b",
        "difference": "mean over the prompts of the measure in model b minus the measure in "
        "model a",
        "sd": "standard deviation over the prompts (n - 1); of the paired differences in a "
        "contrast",
        "se": "standard error of the mean: sd / sqrt(n_prompts), or from the sums of the groups; "
        "null below 2 groups",
        "low": "lower end of the interval of the mean over prompts or groups: Student's t, widened "
        "for skewness (Hall 1992); null where they are too few for the level (below 6 for 95 %) or "
        "all equal",
        "high": "upper end of that interval",
        "margin_family": "how far the true mean may lie from this one, either way, if that is to "
        "hold for all cells of the table at once with 95 % (studentised bootstrap of the largest "
        "|t|): what claims about means rest on; null where fewer than 12 prompts or groups have a "
        "number other than 0",
        "effect": "difference / sd (Cohen's d_z, not corrected for small n); null where sd is 0",
        "detectable": "smallest true difference that another study like this one finds with 80 % "
        "power at p_value < 0.05, in a cell that is looked at alone; null below 30 prompts or "
        "groups, or where fewer than 12 of them differ: the power could not be promised",
        "detectable_family": "the same at p_family of 0.05: in a cell that is picked out of the "
        "table",
        "p_value": "two-sided, of the null that the mean difference is 0, whatever the spreads: "
        "Student's t widened for skewness, below 0.05 where the 95 % interval excludes 0",
        "p_adjusted": "p_value after Benjamini-Hochberg correction over all cells of the table "
        "(false discovery rate)",
        "p_family": "of the null that no mean difference of the table is other than 0 (family-wise "
        "error): share of bootstrap draws around the means in which any cell's |t| reaches this "
        "cell's",
        "p_equivalent": "of the null that mean b is 10 % or more away from mean a: the larger p of "
        "two one-sided tests, of b - 1.1 a and b - 0.9 a; null where reliable is false, "
        "but 1e-15 where every difference of 20 or more prompts or groups is exactly 0",
    },
}

DEFINITIONS: dict[str, str] = {name: measure.definition for name, measure in MEASURES.items()}
_TYPES: dict[str, pa.DataType] = dict.fromkeys(MEASURES, pa.float32())
for _type, _definitions in _COLUMNS.items():
    DEFINITIONS |= _definitions
    _TYPES |= dict.fromkeys(_definitions, _type)


def _schema(*columns: str) -> pa.Schema:
    """Column names, each argument holding one or several, to a schema with their definitions."""
    names = " ".join(columns).split()
    return pa.schema(
        [pa.field(name, _TYPES[name], metadata={"definition": DEFINITIONS[name]}) for name in names]
    )


def _measures(table: str, *, optional: bool = False) -> str:
    """The measures that every table of this name has; or those that it has where asked for."""
    measures = (m for m in MEASURES.values() if m.table == table and m.optional is optional)
    return " ".join(measure.name for measure in measures)


def _optional(table: str) -> list[str]:
    """The columns that a table of this name may have."""
    more = "received_original n_queries_original" if table == "sequence" else ""
    return f"{_measures(table, optional=True)} {more}".split()


_CELL = "prompt queries layer head"
_VERSION = "prompt condition layer head"
_TOKEN = "position token_id token start stop special"
_CLASS_MEAN = "queries layer head class n_prompts n_absent n_groups"
_RESPONSE_MEAN = "model layer head measure n_prompts n_absent n_groups"
_SPREAD = "sd se low high reliable"
_PAIRED = (
    f"mean_a mean_b difference n_same_sign {_SPREAD} effect detectable detectable_family "
    "p_value p_adjusted p_family p_equivalent"
)

SCHEMAS: dict[str, pa.Schema] = {
    "mass": _schema(_CELL, "class", _measures("mass"), "n_tokens n_queries"),
    "heads": _schema(_CELL, _measures("heads"), "n_queries"),
    "received": _schema(_CELL, "position", _measures("received"), "n_queries"),
    "tokens": _schema("prompt", _TOKEN, "class"),
    "classes": _schema("prompt class n_tokens examples"),
    "prompts": _schema("prompt queries n_prompt_tokens", _measures("prompts"), "bos group text"),
    "summary": _schema("model", _CLASS_MEAN, "mean", _SPREAD, "margin_family"),
    "contrast": _schema("model_a model_b", _CLASS_MEAN, _PAIRED),
    # A prompt with and without an insertion: what was measured …
    "conditions": _schema(
        "prompt condition insertion place inserted_text",
        "n_inserted n_seam n_matched n_unmatched n_prompt_tokens text",
    ),
    "places": _schema("prompt condition", _TOKEN, "part position_without"),
    "sequence": _schema(_VERSION, "position received n_queries"),
    "retained": _schema(_VERSION, "position position_without retained"),
    "rescaling": _schema(_VERSION, _measures("rescaling"), "n_queries"),
    # What an answer loses with a class of keys hidden; mass and contribution are of those queries.
    "answers": _schema(
        "prompt n_prompt_tokens answer answer_ids logprob greedy correct_clean group text"
    ),
    "effects": _schema(_CELL, "class", _measures("effects"), "mass contribution n_tokens n_keys"),
    # … and what is computed from it.
    "aligned": _schema(
        _VERSION,
        "position_without position token received_without received_with",
        "n_queries_without n_queries_with",
    ),
    "response": _schema(_VERSION, _measures("response"), _measures("rescaling"), "label"),
    "phases": _schema(_VERSION, "phase n_tokens", _measures("phases"), "received"),
    "uses": _schema(
        "model queries layer head class n_prompts mass contribution mean low high remark"
    ),
    "response_summary": _schema(
        "condition", _RESPONSE_MEAN, "mean", _SPREAD, "margin_family label"
    ),
    "condition_contrast": _schema("condition_a condition_b", _RESPONSE_MEAN, _PAIRED),
}


def class_measures(
    mass: np.ndarray, expected: np.ndarray, tokens: np.ndarray, named: np.ndarray
) -> dict[str, np.ndarray]:
    """All measures that follow from masses of classes; `named`: the mass of all that a rule names.

    NaN where there is nothing to divide by: there is no such number.
    """

    def ratio(bottom: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(bottom > 0, mass / bottom, np.nan)

    return {
        "mass": mass,
        "share": ratio(named),
        "density": ratio(tokens),
        "expected": expected,
        "lift": ratio(expected),
    }


def table(name: str, columns: Mapping[str, Any], about: Mapping[str, str]) -> pa.Table:
    """Columns → an Arrow table of the named schema; `about` becomes its metadata.

    Optional columns of the table come last, where `columns` has them.
    """
    optional = [column for column in _optional(name) if column in columns]
    schema = pa.unify_schemas([SCHEMAS[name], _schema(*optional)])
    if DROP_FIRST in about:
        for i, field in enumerate(schema):
            schema = schema.set(i, _with_compared_tokens(field, about))
    arrays = [_array(columns[field.name], field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema.with_metadata(dict(about)))


def _with_compared_tokens(field: pa.Field, about: Mapping[str, str]) -> pa.Field:
    """The column, its definition saying whether the first token counts."""
    text = defined(field.name, about)
    if field.name == "measure":
        text += f"; those that compare what tokens receive do so over {compared(about)}"
    return field.with_metadata({"definition": text})


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(values, pa.Array) and values.type == kind:
        return values
    # NaN says that there is no such number; a table says it with null.
    return pa.array(values, type=kind, from_pandas=True)


def defined(name: str, about: Mapping[str, str]) -> str:
    """The definition of a column or measure in a table with this metadata."""
    text = DEFINITIONS[name].replace(COMPARED_ANY, compared(about))
    counted = name in ("layer", "head") and about.get(LABELS) == ONE_BASED
    return text.replace("0-based", "1-based") if counted else text


def compared(about: Mapping[str, str]) -> str:
    """Which tokens the response numbers of a table with this metadata compare."""
    return _COMPARED.get(about.get(DROP_FIRST, ""), COMPARED_ANY)


def metadata(content: pa.Table) -> dict[str, str]:
    """What the table says of itself."""
    return {k.decode(): v.decode() for k, v in (content.schema.metadata or {}).items()}


def one_based(content: pa.Table) -> pa.Table:
    """The table for a reader who counts layers and heads from 1; it says so itself."""
    about = metadata(content)
    if about.get(LABELS) == ONE_BASED:
        return content
    about[LABELS] = ONE_BASED
    for i, field in enumerate(content.schema):
        if field.name in ("layer", "head"):
            words = {"definition": defined(field.name, about)}
            counted = pc.add(content[i], pa.scalar(1, field.type))
            content = content.set_column(i, field.with_metadata(words), counted)
    return content.replace_schema_metadata(about)


def joined(parts: Sequence[pa.Table]) -> pa.Table:
    """Rows of several tables, in order, as one table in one piece."""
    return pa.concat_tables(parts).combine_chunks()
