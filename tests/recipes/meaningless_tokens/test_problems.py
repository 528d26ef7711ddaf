"""The word problems: enough of them, no two alike, short, asked as the source asks."""

from __future__ import annotations

from mindshare.recipes.meaningless_tokens.problems import PROBLEMS, SYSTEM, problem_prompts


def test_problems_are_many_distinct_and_short() -> None:
    assert len(PROBLEMS) >= 20
    assert len(set(PROBLEMS)) == len(PROBLEMS)
    assert all(problem.endswith("?") and len(problem) < 160 for problem in PROBLEMS)
    assert all(any(c.isdigit() for c in problem) for problem in PROBLEMS if "Half" not in problem)


def test_each_is_a_system_sentence_and_a_question() -> None:
    prompts = problem_prompts(3)
    assert [prompt.id for prompt in prompts] == ["problem-01", "problem-02", "problem-03"]
    for prompt, problem in zip(prompts, PROBLEMS, strict=False):
        assert prompt.messages is not None
        assert [(m.role, m.content) for m in prompt.messages] == [
            ("system", SYSTEM),
            ("user", problem),
        ]
    assert len(problem_prompts()) == len(PROBLEMS)
