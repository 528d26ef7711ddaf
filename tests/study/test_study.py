from __future__ import annotations

import pytest

from mindshare.errors import ClassRuleError, SelectionError
from mindshare.study import Study, build_study


def test_what_people_write_becomes_one_frozen_object() -> None:
    study = build_study(
        classes={"hash": "#", "space": "whitespace@map"},
        measures="mass",
        layers=[3, 0, 3],
        heads="mean",
        queries=["last", "span:map"],
    )
    assert study.classes == (("hash", "#"), ("space", "whitespace@map"))
    assert study.layers == (3, 0)
    assert study.heads is None
    assert study.mean_over == ("heads",)
    assert study.queries == ("last", "span:map")
    assert study.families() == {"mass"}


def test_the_hash_is_of_everything_that_decides_the_numbers() -> None:
    base = build_study(classes={"hash": "#"})
    assert base.hash == build_study(classes=["hash=#"]).hash
    assert len(base.hash) == 16
    changed = [
        build_study(classes={"hash": "*"}),
        build_study(classes={"hash": "#"}, policy="pure"),
        build_study(classes={"hash": "#"}, queries="last"),
        build_study(classes={"hash": "#"}, near=-1),
        build_study(classes={"hash": "#"}, heads="mean"),
    ]
    assert len({base.hash, *(study.hash for study in changed)}) == 6


@pytest.mark.parametrize(
    ("parts", "error", "words"),
    [
        ({"measures": "mas"}, SelectionError, "did you mean 'mass'"),
        ({"measures": []}, SelectionError, "at least one measure"),
        ({"queries": "lats"}, SelectionError, "did you mean 'last'"),
        ({"layers": "first"}, SelectionError, "layers='first'"),
        ({"heads": []}, SelectionError, "heads"),
        ({"near": -2}, SelectionError, "near=-2"),
        ({"querys": "last"}, SelectionError, "did you mean 'queries'"),
        ({"chunk_tokens": 0}, SelectionError, "chunk_tokens=0"),
        ({"classes": {"a": "digits"}}, ClassRuleError, "digit"),
        ({"classes": {"a": "re:("}}, ClassRuleError, "re"),
        ({"policy": "prioritty"}, ClassRuleError, "priority"),
    ],
)
def test_bad_definitions_are_refused(parts, error, words) -> None:
    with pytest.raises(error, match=words):
        build_study(**parts)


def test_a_study_survives_being_written_down() -> None:
    study = build_study(classes={"hash": "#"}, layers=[1])
    written = study.to_dict()
    assert Study(**written) == study
