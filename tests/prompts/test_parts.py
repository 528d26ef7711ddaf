"""`divided`: the parts of a prompt are found where a reader sees them."""

from __future__ import annotations

import pytest

from mindshare.prompts import Prompt, divided, paired
from mindshare.prompts.parts import MOST


def texts(prompt: Prompt) -> dict[str, str]:
    """Part → its characters."""
    found = divided(prompt).prompt
    contents = [found.text] if found.messages is None else [m.content for m in found.messages]
    return {
        name: " | ".join(str(contents[r[0] if len(r) == 3 else 0])[r[-2] : r[-1]] for r in ranges)
        for name, ranges in found.spans.items()
    }


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("# A\nAdd.\n\n# B\n1 + 1?", {"A": "# A\nAdd.", "B": "# B\n1 + 1?"}),
        ("Hi.\nText: a\nAsk: c", {"before-Text": "Hi.", "Text": "Text: a", "Ask": "Ask: c"}),
        ("Q: a\nA: b\nQ: c", {"Q-1": "Q: a", "A": "A: b", "Q-2": "Q: c"}),
        ("One.\nStill one.\n \nTwo.", {"part-1": "One.\nStill one.", "part-2": "Two."}),
        ("first line\nsecond line", {"part-1": "first line", "part-2": "second line"}),
        ("nothing to divide", {"text": "nothing to divide"}),
        ("Other: a\nQuestion: b", {"Other": "Other: a", "Question": "Question: b"}),
        ("# Other\na\n# other\nb", {"Other": "# Other\na", "other-2": "# other\nb"}),
        ("Hi.\nEx:\nQ: a\n\nDo: c", {"before-Ex": "Hi.", "Ex": "Ex:\nQ: a", "Do": "Do: c"}),
        ("Ex:\nQ: a\nA: b", {"Ex": "Ex:", "Q": "Q: a", "A": "A: b"}),
        ("Ex:\n\nQ: a\nA: b", {"Ex": "Ex:", "Q": "Q: a", "A": "A: b"}),
        ("# Überblick\na\n# 2nd\nb", {"part-Überblick": "# Überblick\na", "part-2nd": "# 2nd\nb"}),
    ],
)  # fmt: skip
def test_a_text_is_divided_by_headings_else_paragraphs_else_lines(
    text: str, parts: dict[str, str]
) -> None:
    assert texts(Prompt.from_text(text)) == parts


def test_marks_are_parts_and_what_is_outside_of_them_is_one_too() -> None:
    marked = Prompt.from_text("Look: <<map>># <<hole>>o<</hole>><</map>> Where?", marked=True)
    assert texts(marked) == {"unmarked": "Look: | Where?", "map": "# o", "hole": "o"}
    chat = [("system", "Be <<rule>>brief<</rule>>."), ("user", "Hello")]
    messages = [{"role": role, "content": content} for role, content in chat]
    found = texts(Prompt.from_chat(messages, marked=True))
    assert found == {"system": "Be | .", "rule": "brief", "user": "Hello"}


def test_a_chat_is_divided_by_messages_and_by_headings_within_them() -> None:
    chat = [("system", "Be brief."), ("user", "Hi"), ("assistant", "Yes?"), ("user", "A: 1\nB: 2")]
    prompt = Prompt.from_chat([{"role": role, "content": content} for role, content in chat])
    assert texts(prompt) == {
        "system": "Be brief.",
        "user-1": "Hi",
        "assistant": "Yes?",
        "user-2-A": "A: 1",
        "user-2-B": "B: 2",
    }
    assert divided(prompt).labels["user-2-A"] == "user 2: A"
    alone = Prompt.from_chat([{"role": "user", "content": "Rule one.\n\nRule two."}])
    assert texts(alone) == {"part-1": "Rule one.", "part-2": "Rule two."}


def test_many_messages_go_by_role_and_many_paragraphs_stay_one_text() -> None:
    turns = [
        {"role": ("user", "assistant")[i % 2], "content": f"turn {i}"} for i in range(MOST + 2)
    ]
    assert set(texts(Prompt.from_chat(turns))) == {"user", "assistant"}
    long = divided(Prompt.from_text("\n\n".join(f"paragraph {i}" for i in range(MOST + 1))))
    assert set(long.labels) == {"text"}
    assert "one part" in str(long.note)


def test_a_long_heading_gets_a_short_name() -> None:
    first, second = (f"{'long ' * 500}{word}" for word in ("one", "two"))
    found = divided(Prompt.from_text(f"# {first}\na\n# {second}\nb"))
    assert list(found.labels.values()) == [first, second]
    assert len(set(found.labels)) == 2
    assert max(map(len, found.labels)) <= 110


def test_marks_that_were_not_read_are_spoken_of() -> None:
    note = divided(Prompt.from_text("a <<map>>#<</map>> b\n\nc")).note
    assert "--marked" in str(note)


def test_parts_of_the_same_text_have_the_same_name_wherever_they_stand() -> None:
    first, second, third = "Be kind.\n\nIs it up?", "Hi.\n\nBe kind.\n\nIs it down?", "a\n\na"
    texts = {"A": first, "B": second, "C": third, "D": third}
    found = paired({label: divided(Prompt.from_text(text)) for label, text in texts.items()})
    names = {
        label: {text: part for part, text in one.texts.items()} for label, one in found.items()
    }
    assert names["A"] == {"Be kind.": "part-1", "Is it up?": "part-2"}
    assert names["B"]["Be kind."] == "part-1"
    assert len({"part-1", *names["B"].values()}) == 3  # none is taken for another
    assert found["C"].labels == found["D"].labels == {"part-1": "1 a", "part-2": "2 a"}
    for label, one in found.items():
        assert list(one.labels) == list(one.prompt.spans), label
