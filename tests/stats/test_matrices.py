"""Tables of single prompts become matrices, whatever their level; masses are averaged as the
engine would."""

from __future__ import annotations

from math import nan

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from mindshare.errors import SelectionError
from mindshare.models import LoadedModel
from mindshare.stats import averaged
from mindshare.stats.matrices import PromptMatrix, common_metadata, layout_of, read_matrix
from mindshare.study import Study, measure

from .insertions import response_table
from .insertions import shuffled as mixed
from .masses import heads_table, mass_table, random_table, shuffled

VALUES = np.arange(3 * 2 * 2 * 4, dtype=float).reshape(3, 2, 2, 4)  # prompt, condition, layer, head
TABLES = {
    "mass": mass_table(VALUES.reshape(3, 2, 4, 2), heads=range(4)),
    "entropy": heads_table(VALUES.reshape(3, 4, 4)),
    "shape": response_table(VALUES),
}
levels = pytest.mark.parametrize("name", TABLES)


def one_condition(content: pa.Table, name: str = "mass") -> PromptMatrix:
    return read_matrix(content, [name], model="m")


def test_every_number_of_a_mass_table_finds_its_prompt_and_cell() -> None:
    found = one_condition(mass_table(VALUES.reshape(3, 2, 4, 2), heads=(0, 5, 6, 9)))
    assert found.prompts == ("p0000", "p0001", "p0002")
    assert found.values.reshape(3, -1).tolist() == VALUES.reshape(3, -1).tolist()
    assert found.keys[0] == ("all", 0, 0, "hash")
    assert found.keys[-1] == ("all", 1, 9, "star")
    assert found.conditions == (None,)


def test_heads_have_no_class() -> None:
    found = read_matrix(heads_table(VALUES.reshape(3, 4, 4)), ["entropy"], model="m")
    assert found.keys[:2] == (("all", 0, 0), ("all", 0, 1))
    assert found.key_columns([None])["class"] == [None] * 16


def test_every_number_of_a_response_finds_its_place() -> None:
    found = read_matrix(response_table(VALUES, shape=-VALUES), ["amplitude", "shape"], model="m")
    assert found.conditions == ("run", "sentence")
    assert found.values[..., 0].tolist() == VALUES.reshape(3, 2, 8).tolist()
    assert found.values[..., 1].tolist() == (-VALUES).reshape(3, 2, 8).tolist()
    assert found.keys == tuple((layer, head) for layer in range(2) for head in range(4))
    assert found.measured.all()


def test_a_mean_over_heads_stays_a_mean() -> None:
    found = one_condition(mass_table(np.ones((2, 2, 1, 2))))
    assert [key[1:3] for key in found.keys] == [(0, None), (0, None), (1, None), (1, None)]
    assert found.key_columns([None])["head"] == [None] * 4


@levels
def test_the_order_of_the_prompts_decides_nothing(name: str) -> None:
    one, other = (one_condition(t, name) for t in (TABLES[name], shuffled(TABLES[name])))
    assert (one.keys, one.prompts, one.conditions) == (other.keys, other.prompts, other.conditions)
    assert np.array_equal(one.values, other.values)


@levels
def test_a_prompt_that_is_there_twice_is_refused(name: str) -> None:
    with pytest.raises(SelectionError, match="of 'm' has a cell twice for the same prompt"):
        one_condition(pa.concat_tables([TABLES[name], mixed(TABLES[name])]), name)


@levels
def test_what_is_no_such_table_is_refused(name: str) -> None:
    for column in ("prompt", "head", name):
        with pytest.raises(SelectionError, match=f"of 'm' has no column '{column}'") as caught:
            one_condition(TABLES[name].drop_columns([column]), name)
        assert f"`{layout_of([name]).table}` table" in str(caught.value.next_step)
    with pytest.raises(SelectionError, match="table of 'm' has no rows"):
        one_condition(TABLES[name].slice(0, 0), name)


def test_what_is_absent_is_nan() -> None:
    values = np.ones((2, 1, 1, 2))
    values[1, 0, 0, 1] = np.nan
    found = one_condition(mass_table(values), "lift").values.reshape(2, 2)
    assert np.isnan(found).tolist() == [[False, False], [False, True]]
    content = TABLES["shape"]
    lacking = pc.and_(
        pc.equal(content["prompt"], "p0001"), pc.equal(content["condition"], "sentence")
    )
    less = read_matrix(content.filter(pc.invert(lacking)), ["shape"], model="m")
    assert less.measured.tolist() == [[True, True], [True, False], [True, True]]
    assert np.isnan(less.values[1, 1]).all()


def test_measures_are_known_and_of_one_table() -> None:
    with pytest.raises(SelectionError, match="did you mean 'share'"):
        layout_of(["shares"])
    with pytest.raises(SelectionError, match="mass, shape are not of one table"):
        layout_of(["mass", "shape"])
    with pytest.raises(SelectionError, match="unknown measure 'received'"):
        layout_of(["received"])


def test_means_over_heads_layers_and_both() -> None:
    found = read_matrix(response_table(VALUES), ["shape"], model="m")
    heads = found.averaged(["heads"])
    assert heads.keys == ((0, None), (1, None))
    assert heads.values[..., 0].tolist() == VALUES.mean(3).tolist()
    layers = found.averaged(["layers"])
    assert layers.keys == ((None, 0), (None, 1), (None, 2), (None, 3))
    assert layers.values[..., 0].tolist() == VALUES.mean(2).tolist()
    both = found.averaged(["layers", "heads"])
    assert both.values[..., 0, 0].tolist() == VALUES.mean((2, 3)).tolist()
    assert both.key_columns(["run"])["layer"] == [None]
    assert found.averaged([]) is found


def test_cells_stay_sorted_where_a_layer_lacks_heads() -> None:
    content = response_table(VALUES)
    gone = pc.and_(pc.equal(content["layer"], 0), pc.less(content["head"], 2))
    found = read_matrix(content.filter(pc.invert(gone)), ["shape"], model="m").averaged(["layers"])
    assert found.keys == ((None, 0), (None, 1), (None, 2), (None, 3))


def test_layers_count_alike_whatever_their_heads_have() -> None:
    values = np.ones((1, 1, 2, 4))
    values[0, 0, 1] = [3, np.nan, np.nan, np.nan]
    found = read_matrix(response_table(values, conditions=["run"]), ["shape"], model="m")
    assert found.averaged(["heads", "layers"]).values.tolist() == [[[[2.0]]]]


def test_only_what_all_tables_say_is_carried_on() -> None:
    one = random_table(2, 1, seed=0).replace_schema_metadata({"a": "1", "b": "2"})
    other = one.replace_schema_metadata({"a": "1", "b": "3"})
    assert common_metadata([one, other]) == {"a": "1"}


# Averages of masses, against the engine's own.

COLUMNS = ("mass", "share", "density", "expected", "lift")


def measured(model: LoadedModel, **parts: object) -> pa.Table:
    classes = (("hash", "#"), ("star", "*"))
    study = Study(classes=classes, measures=("mass",), **parts)  # type: ignore[arg-type]
    return measure(model, ["# ** and # so on", "a * b ## c"], study=study).mass


def same(ours: pa.Table, theirs: pa.Table) -> None:
    def numbers(table: pa.Table) -> dict[tuple[object, ...], list[float]]:
        keys = ("prompt", "queries", "layer", "head", "class")
        return {
            tuple(r[k] for k in keys): [nan if r[c] is None else r[c] for c in COLUMNS]
            for r in table.to_pylist()
        }

    assert numbers(ours).keys() == numbers(theirs).keys()
    for key, expected in numbers(theirs).items():
        assert numbers(ours)[key] == pytest.approx(expected, rel=1e-5, nan_ok=True), key


def test_averages_are_those_of_the_engine(smollm2: LoadedModel) -> None:
    kept = {"layers": (0, 3, 7), "queries": ("all", "last")}
    whole = measured(smollm2, **kept)
    same(averaged(whole), measured(smollm2, mean_over=("heads",), **kept))
    both = measured(smollm2, mean_over=("heads", "layers"), **kept)
    same(averaged(whole, layers=[0, 3, 7]), both)
    assert averaged(whole).schema.equals(whole.schema, check_metadata=True)


def test_only_the_layers_asked_for_count(smollm2: LoadedModel) -> None:
    whole = measured(smollm2, layers=(0, 3, 7))
    band = measured(smollm2, layers=(3, 7), mean_over=("heads", "layers"))
    same(averaged(whole, layers=[7, 3]), band)
    with pytest.raises(SelectionError, match="no layer 5 in the table"):
        averaged(whole, layers=[3, 5])


def test_single_heads_and_their_mean_are_not_averaged() -> None:
    single, mean = mass_table(np.ones((2, 1, 2, 2)), heads=(0, 1)), random_table(2, 1, seed=0)
    with pytest.raises(SelectionError, match="single heads and their mean"):
        averaged(pa.concat_tables([single, mean]))
