from __future__ import annotations

import shlex

import pytest

from mindshare.cli.app import command
from mindshare.cli.charting import MEASURES, command_line, labelled, one_class
from mindshare.errors import ClassRuleError
from mindshare.stats import MEASURES as KNOWN


def test_the_words_are_those_of_the_statistics() -> None:
    assert set(MEASURES) == set(KNOWN)


def test_names_are_read_and_paths_with_an_equals_sign_are_not_names() -> None:
    assert labelled(["smollm2", "org/name"]) == ["smollm2", "org/name"]
    assert labelled(["Base=smollm2", "org/x"]) == {"Base": "smollm2", "x": "org/x"}
    assert labelled(["runs/lr=3/model"]) == ["runs/lr=3/model"]


def test_a_map_needs_a_class() -> None:
    assert one_class(["hash=#"], None) == "hash"
    with pytest.raises(ClassRuleError, match="0 classes are given"):
        one_class(None, None)


def test_the_command_line_can_be_typed_again() -> None:
    typed = (
        "shares smollm2 'Phys=smollm2-phys' --text 'two words' --class 'hash=#' --class 'star=*' "
        "--layers 0,5-9 --quiet --out x"
    )
    name, *words = shlex.split(typed)
    shares = command().commands[name]
    first = shares.make_context(name, list(words))
    _, _, *again = shlex.split(command_line(first))
    assert sorted(again) == sorted(w for w in words if w not in ("--quiet", "--out", "x"))
    same = {k: v for k, v in first.params.items() if k not in ("quiet", "out")}
    assert same.items() <= shares.make_context(name, again).params.items()
