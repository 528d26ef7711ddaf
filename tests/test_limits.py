"""Patterns and templates that run away are stopped; others do what they always did."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from mindshare.limits import (
    are_matches,
    bounded,
    is_match,
    matches,
    pattern_problem,
    try_template,
)


@pytest.mark.parametrize("pattern", [r"(a|b)+c", r"\w+\s*", r"(?=a)a|x", r"a*", r"#", r"(\w)\1+"])
def test_a_pattern_matches_as_it_does_in_python(pattern: str) -> None:
    text = "aabac xx abc é́ # ## aa \x1c"
    assert matches(pattern, text) == [match.span() for match in re.finditer(pattern, text)]
    assert is_match(pattern, text) == (re.search(pattern, text) is not None)


def test_a_pattern_that_runs_away_is_stopped_in_any_thread() -> None:
    with ThreadPoolExecutor(1) as pool, pytest.raises(TimeoutError):
        pool.submit(matches, r"(a+)+$", "a" * 50 + "b").result()
    assert matches(r"(a+)+$", "aaa") == [(0, 3)]  # the next one is matched as ever


@pytest.mark.parametrize("pattern", ["(", "a{99999999999999999999}", "(" * 3000 + ")" * 3000])
def test_what_is_no_pattern_is_told(pattern: str) -> None:
    assert pattern_problem(pattern)
    assert pattern_problem("a+") is None


def test_python_code_is_stopped_in_any_thread() -> None:
    def endless() -> None:
        while True:
            pass

    def run() -> None:
        with bounded(0.05):
            endless()

    with ThreadPoolExecutor(1) as pool, pytest.raises(TimeoutError):
        pool.submit(run).result()


def test_many_texts_are_matched_as_each_alone() -> None:
    texts = ["aabac", "", "x" * 200, "é a"] * 100
    for pattern in (r"(a|b)+c", r"\w+\s*a", "a"):
        assert are_matches(pattern, texts) == [is_match(pattern, text) for text in texts]
    with pytest.raises(TimeoutError):
        are_matches(r"(a+)+$", ["a", "a" * 50 + "b"])


def test_templates_that_run_away_are_stopped_and_others_are_not() -> None:
    chat = {"messages": [{"role": "user", "content": "a"}], "bos_token": "<s>"}
    for good in (
        "{{ bos_token }}{{ messages | tojson }}",
        "{{ raise_exception('no') }}",
        "{% x %}",
    ):
        try_template(good, chat)  # what is wrong with it shows when it is rendered
    with pytest.raises(MemoryError):
        try_template("{{ 'x' * 8000000000 }}", chat)
    try_template("{{ messages[0].content }}", chat)  # the next one is tried as ever
