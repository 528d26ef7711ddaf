from __future__ import annotations

import pickle

from mindshare import errors


def test_a_message_says_what_where_allowed_and_next() -> None:
    error = errors.SelectionError(
        "layer 40 does not exist", where="study.toml", allowed="0 to 29", next_step="choose one"
    )
    assert str(error) == (
        "layer 40 does not exist (in study.toml)\nAllowed: 0 to 29\nNext: choose one"
    )
    assert str(errors.PromptError("it is empty")) == "it is empty"


def test_an_error_of_another_process_says_the_same_here() -> None:
    error = errors.PromptError("it is empty", where="row 3", allowed="text")
    error.item = "abc"
    here = pickle.loads(pickle.dumps(error))
    assert (str(here), here.where, here.item) == (str(error), "row 3", "abc")


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    drawn = errors.__doc__ or ""
    for name, value in vars(errors).items():
        if isinstance(value, type) and issubclass(value, errors.MindshareError):
            assert name in drawn, name


def test_nearest_suggests_only_what_is_near() -> None:
    assert errors.nearest("whitespce", ["whitespace", "digit"]) == "; did you mean 'whitespace'?"
    assert errors.nearest("xyzzy", ["whitespace", "digit"]) == ""


def test_a_message_is_at_most_a_screenful() -> None:
    text = str(errors.MindshareError("x" * 789_070, where="y" * 10_000, allowed="a, " * 50_000))
    assert len(text) < 4000
    assert "characters" in text
    assert len(str(errors.MindshareError("line\n" * 50_000)).splitlines()) < 20
    assert errors.some(range(50_000)).endswith("(50,000 in all)")
    assert errors.some("ab") == "a, b"
