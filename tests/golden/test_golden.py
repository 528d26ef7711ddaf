"""What every journey gives is what it gave when it was pinned: tables, figures, facts.

A failure names the journey and the table. Values are always compared, within a tolerance; exact
bytes where this kind of machine has written them before. See `write` for what to do if a change is
intended.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from tests.facts.forty import sentences
from tests.facts.reading import is_carried, looked_up, stated, told

from .found import Found, Tables
from .journeys import JOURNEYS, SLOW, Travels
from .pins import close, differences, pin_figure, pin_table
from .write import EXPECTED, KINDS, expected


@pytest.fixture(scope="session")
def travels(tmp_path_factory: pytest.TempPathFactory) -> Travels:
    return Travels.begin(tmp_path_factory.mktemp("golden"))


def marked(journey: str, *values: Any) -> Any:
    marks = [pytest.mark.slow] if journey in SLOW else []
    return pytest.param(journey, *values, marks=marks, id=": ".join([journey, *map(str, values)]))


def each_pinned(*kinds: str) -> Iterator[Any]:
    """Every (journey, name) of these kinds that was written."""
    for journey in JOURNEYS:
        for name in (name for kind in kinds for name in expected(journey)[kind]):
            yield marked(journey, name)


def every_table(found: Found) -> dict[str, pa.Table]:
    return found.tables | found.plain


def test_every_journey_is_pinned() -> None:
    assert {file.stem for file in EXPECTED.glob("*.json")} == set(JOURNEYS)
    assert all(any(expected(journey).values()) for journey in JOURNEYS)


@pytest.mark.parametrize("journey", [marked(name) for name in JOURNEYS])
def test_the_same_tables_and_figures_are_there(travels: Travels, journey: str) -> None:
    found = travels.of(journey)
    for kind in KINDS:
        assert sorted(getattr(found, kind)) == sorted(expected(journey)[kind]), kind


@pytest.mark.parametrize("journey", [marked(name) for name in JOURNEYS])
def test_what_must_hold_holds(travels: Travels, journey: str) -> None:
    found = travels.of(journey)
    assert [what for what, holds in found.holds.items() if not holds] == []


@pytest.mark.parametrize("journey", [marked(name) for name in JOURNEYS])
def test_every_column_has_a_definition(travels: Travels, journey: str) -> None:
    found = travels.of(journey)
    for name, table in (found.tables | found.figures).items():
        for column in table.schema:
            definition = (column.metadata or {}).get(b"definition", b"")
            assert definition.strip(), f"{name}: {column.name}"


@pytest.mark.parametrize(("journey", "name"), each_pinned("tables", "plain"))
def test_table(travels: Travels, journey: str, name: str) -> None:
    found = travels.of(journey)
    pins = expected(journey)
    old = (pins["tables"] | pins["plain"])[name]
    new = pin_table(every_table(found)[name])
    assert list(differences(old, new, rtol=found.rtol, atol=found.atol)) == []


@pytest.mark.parametrize(("journey", "name"), each_pinned("figures"))
def test_figure(travels: Travels, journey: str, name: str) -> None:
    found = travels.of(journey)
    old = expected(journey)["figures"][name]
    new = pin_figure(found.figures[name], old)
    assert list(differences(old, new, rtol=found.rtol, atol=found.atol)) == []


@pytest.mark.parametrize(("journey", "name"), each_pinned("facts"))
def test_fact(travels: Travels, journey: str, name: str) -> None:
    found = travels.of(journey)
    old, new = expected(journey)["facts"][name], found.facts[name]
    assert close(old, new, rtol=found.rtol, atol=found.atol), f"{old} was, {new} is"


SAID = ("shares", "shares_measures", "head_map", "insert", "insert_pair", "knockout")


@pytest.mark.parametrize("journey", SAID)
def test_every_sentence_is_short_and_its_numbers_are_in_their_cells(
    travels: Travels, journey: str
) -> None:
    folders: dict[str, Tables] = {}
    for path, table in travels.of(journey).tables.items():
        folder, _, name = path.rpartition("/")
        folders.setdefault(folder, {})[name] = table
    for tables in folders.values():
        for _, text in sentences(tables):
            words, numbers = told(text)
            assert words <= 30, text
            assert numbers <= 3, text
            assert [word for word in stated(text) if not is_carried(word, text)] == [], text
            for number in text.numbers:
                assert number.cell is not None, text
                if number.cell.column in ("mean", "difference") and number.cell.table in tables:
                    assert looked_up(number, tables) == number.value, text
