"""The registry of measures: every entry agrees with the tables, and every formula can be set."""

from __future__ import annotations

import subprocess
import sys
from xml.etree import ElementTree

import pytest
from docs.measures import LEVELS, PAGE, page

from mindshare.measures import MEASURES, SYMBOLS, Measure, at_level, letters
from mindshare.tables import DEFINITIONS, SCHEMAS, table

every = pytest.mark.parametrize("measure", MEASURES.values(), ids=lambda measure: measure.name)


@every
def test_a_measure_is_a_column_of_its_table(measure: Measure) -> None:
    empty = {name: [] for name in (*SCHEMAS[measure.table].names, measure.name)}
    field = table(measure.table, empty, {}).schema.field(measure.name)
    assert (measure.name in SCHEMAS[measure.table].names) is not measure.optional
    assert field.metadata == {b"definition": measure.definition.encode()}
    assert DEFINITIONS[measure.name] == measure.definition


@every
def test_a_formula_names_its_measure(measure: Measure) -> None:
    math = ElementTree.fromstring(measure.mathml)
    assert math.tag == "{http://www.w3.org/1998/Math/MathML}math"
    words = [part.text for part in math.iter() if part.tag.endswith("mtext")]
    assert words[0] == measure.name  # one word, not spelled letter by letter
    assert all(word in MEASURES or "_" not in word for word in words if word)
    assert "\\" not in "".join(math.itertext())  # nothing the converter did not know


@every
def test_words_that_others_rely_on(measure: Measure) -> None:
    assert set(measure.symbols) <= set(SYMBOLS)
    assert set(measure.needs) <= set(MEASURES) - {measure.name}
    assert measure.unit in ("", "tokens", "nats", "bits", "ratio", "per token")
    assert measure.scale in ("zero", "diverging", "falling")
    assert (measure.neutral is not None) >= (measure.scale == "diverging")
    assert not measure.short.endswith(".")
    # Where a definition ends in a unit, that is the unit.
    for unit in {"tokens", "nats", "bits", "ratio", "per token"} - {measure.unit}:
        assert f"; {unit}" not in measure.definition


def test_every_number_of_a_prompt_is_a_measure() -> None:
    """The columns of numbers in the tables of single prompts that are no count and no key."""
    copied = {"received_without", "received_with", "n_tokens"}
    for name in ("mass", "heads", "received", "prompts", "rescaling", "response", "phases"):
        numbers = {f.name for f in SCHEMAS[name] if str(f.type) == "float"}
        assert numbers - copied <= set(MEASURES), name


def test_levels_keep_their_order() -> None:
    assert at_level("class") == ("mass", "share", "density", "expected", "lift", "contribution")
    always = [name for name in at_level("head") if not MEASURES[name].optional]
    assert always == ["entropy", "perplexity", "distance", "first_token"]
    assert set(at_level("response")) < set(SCHEMAS["response"].names)


def test_classes_add_up_only_where_masses_do() -> None:
    additive = {m.name for m in MEASURES.values() if m.additive}
    assert additive == {"mass", "share", "expected", "contribution"}


def test_titles_are_written_for_people() -> None:
    """The names of columns stand only where measures are defined."""
    titles = {name: MEASURES[name].title for name in ("mass", "entropy_change", "peak_shift")}
    assert list(titles.values()) == ["Attention share", "Change in evenness", "Peak shift"]
    assert MEASURES["mass"].heading == "Attention share (mass)"
    assert len({measure.word for measure in MEASURES.values()}) == len(MEASURES)


def test_letters_say_what_the_formulas_use_once() -> None:
    said = letters(("amplitude", "shape"), tokens="all but the first")
    assert said.count("M are all but the first;") == 1
    assert "C the tokens" not in said
    assert "M are" not in letters(("mass",))
    assert "C the tokens of a class" in letters(("mass",))


def test_an_optional_measure_is_a_column_only_where_it_is_given() -> None:
    columns = {name: [None] for name in SCHEMAS["heads"].names}
    assert table("heads", columns, {}).schema.equals(
        SCHEMAS["heads"].with_metadata({}), check_metadata=True
    )
    heads = table("heads", {**columns, "peak": [0.5]}, {})
    assert heads.column_names == [*SCHEMAS["heads"].names, "peak"]
    assert heads["peak"].to_pylist() == [0.5]


def test_the_registry_needs_no_array_library() -> None:
    code = (
        "import sys, importlib.util as u\n"
        "spec = u.spec_from_file_location('measures', sys.argv[1])\n"
        "sys.modules['measures'] = module = u.module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
        "print([n for n in ('numpy', 'pyarrow', 'scipy', 'latex2mathml') if n in sys.modules])"
    )
    source = sys.modules["mindshare.measures"].__file__
    done = subprocess.run([sys.executable, "-c", code, str(source)], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_the_page_of_the_docs_is_the_registry() -> None:
    assert set(LEVELS) == {measure.level for measure in MEASURES.values()}
    assert PAGE.read_text(encoding="utf-8") == page(), "write it anew: make tables"
