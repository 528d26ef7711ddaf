"""Prompts hold exactly what they were given, or say what is wrong with it."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindshare.errors import PromptError
from mindshare.prompts import Message, Prompt
from mindshare.prompts.prompt import parse_marks


def test_a_text_prompt_keeps_text_spans_and_id():
    prompt = Prompt.from_text("look: ###", {"map": [6, 9]}, id="one")
    assert (prompt.text, prompt.messages, prompt.id) == ("look: ###", None, "one")
    assert prompt.spans == {"map": ((6, 9),)}


def test_a_name_may_have_several_ranges_in_any_order():
    prompt = Prompt.from_text("abcdef", {"x": [[4, 6], (0, 1)]})
    assert prompt.spans["x"] == ((0, 1), (4, 6))


def test_a_chat_prompt_takes_messages_or_mappings():
    prompt = Prompt.from_chat(
        [Message("system", "Be brief."), {"role": "user", "content": "Hi"}], {"x": [1, 0, 2]}
    )
    assert prompt.text is None
    assert prompt.messages == (Message("system", "Be brief."), Message("user", "Hi"))
    assert prompt.spans == {"x": ((1, 0, 2),)}


def test_marks_in_text_and_in_messages_become_spans():
    assert Prompt.from_text("a<<x>>b<</x>>", marked=True).spans == {"x": ((1, 2),)}
    chat = Prompt.from_chat(
        [
            {"role": "user", "content": "<<x>>a<</x>>b"},
            {"role": "assistant", "content": "c<<x>>d<</x>>"},
        ],
        marked=True,
    )
    assert [message.content for message in chat.messages or ()] == ["ab", "cd"]
    assert chat.spans == {"x": ((0, 0, 1), (1, 1, 2))}


def test_without_marked_marks_are_text():
    assert Prompt.from_text("a<<x>>b<</x>>").text == "a<<x>>b<</x>>"


def test_the_default_id_follows_from_the_content():
    one, same = Prompt.from_text("hello"), Prompt.from_text("hello")
    assert one.id == same.id
    assert len(one.id) == 12
    assert int(one.id, 16) >= 0
    others = [
        Prompt.from_text("hello!"),
        Prompt.from_text("hello", {"x": [0, 1]}),
        Prompt.from_chat([Message("user", "hello")]),
        Prompt.from_chat([Message("system", "hello")]),
    ]
    assert len({one.id, *(other.id for other in others)}) == 5


def test_group_and_answer_are_kept_and_change_no_id():
    plain = Prompt.from_text("hello")
    text = Prompt.from_text("hello", group="g", answer="")
    assert (text.group, text.answer, text.id) == ("g", "", plain.id)
    assert (plain.group, plain.answer) == (None, None)
    chat = Prompt.from_chat([Message("user", "hi")], group="g", answer="42")
    assert (chat.group, chat.answer) == ("g", "42")
    assert chat.id == Prompt.from_chat([Message("user", "hi")]).id
    assert text != plain


def test_prompts_survive_pickling():
    prompt = Prompt.from_text("hello", {"x": [0, 1]})
    assert pickle.loads(pickle.dumps(prompt)) == prompt


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Prompt.from_text(""), "the prompt is empty"),
        (lambda: Prompt.from_text(3), "is int, not text"),
        (lambda: Prompt(), "either a text or a chat"),
        (lambda: Prompt(text="a", messages=(Message("user", "b"),)), "either a text or a chat"),
        (lambda: Prompt.from_chat([]), "no messages"),
        (lambda: Prompt.from_chat([Message("user", "")]), "the chat is empty"),
        (lambda: Prompt.from_chat([{"role": "user"}]), "message 0 needs .* found: role"),
        (lambda: Prompt.from_chat(["hi"]), "message 0 needs .* found: str"),
        (
            lambda: Prompt.from_chat([{"role": "user", "content": ["a"]}]),
            r"content is list, not text \(in message 0\)",
        ),
        (lambda: Message("", "x"), "empty role"),
        (lambda: Prompt.from_text("a\ud800b"), "character 1 .*surrogate"),
        (lambda: Prompt.from_text("a", id="\ud800"), r"surrogate pair \(in the id\)"),
        (lambda: Prompt.from_text("a", answer="\udfff"), r"surrogate pair \(in the answer\)"),
        (lambda: Prompt.from_text("a", choices=("b", "\udfff")), r"pair \(in the choice\)"),
        (lambda: Prompt.from_text("a", choices=(3,)), "the prompt's choice is int, not text"),
        (lambda: Prompt.from_text("a", group=3), "the prompt's group is int, not text"),
        (lambda: Prompt.from_text("a", group=""), "the prompt's group is empty"),
        (lambda: Prompt.from_text("abc", {"1x": [0, 1]}), "'1x' cannot name a span"),
        (lambda: Prompt.from_text("abc", {"x": [0, 4]}), r"'x' \(0, 4\) is outside; .* 3 char"),
        (lambda: Prompt.from_text("abc", {"x": [-1, 2]}), r"'x' \(-1, 2\) is outside"),
        (lambda: Prompt.from_text("abc", {"x": [2, 2]}), r"'x' \(2, 2\) is empty"),
        (lambda: Prompt.from_text("abc", {"x": [2, 1]}), r"'x' \(2, 1\) is reversed"),
        (lambda: Prompt.from_text("abc", {"x": []}), "not a character range"),
        (lambda: Prompt.from_text("abc", {"x": "ab"}), "not a character range"),
        (lambda: Prompt.from_text("abc", {"x": [0, 1.5]}), "not a character range"),
        (lambda: Prompt.from_text("abc", {"x": [0, 1, 2]}), r"\[start, end\]"),
        (
            lambda: Prompt.from_chat([Message("user", "abc")], {"x": [0, 1]}),
            r"\[message, start, end\]",
        ),
        (lambda: Prompt.from_chat([Message("user", "abc")], {"x": [1, 0, 1]}), "names message 1"),
        (
            lambda: Prompt.from_text("<<x>>a<</x>>", {"x": [0, 1]}, marked=True),
            "both given and marked",
        ),
    ],
)
def test_bad_input_is_named(build, message):
    with pytest.raises(PromptError, match=message):
        build()


def test_importing_prompts_and_tokens_loads_no_model_library():
    code = (
        "import sys, mindshare.prompts, mindshare.tokens;"
        "print([m for m in ('torch', 'transformers', 'tokenizers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# Marks come out of the text, and what they enclosed is found again.


def test_marks_nest_and_repeat():
    text, spans = parse_marks("a<<x>>b<<y>>c<</y>><</x>>d<<x>>e<</x>>")
    assert text == "abcde"
    assert spans == {"x": ((1, 3), (4, 5)), "y": ((2, 3),)}


def test_a_name_may_nest_in_itself():
    assert parse_marks("<<x>>a<<x>>b<</x>>c<</x>>") == ("abc", {"x": ((0, 3), (1, 2))})


@pytest.mark.parametrize("text", ["a << b >> c", "<<1>>", "<< x>>", "<x>", "<<>>", "1 <<2", ""])
def test_what_is_no_mark_stays(text):
    assert parse_marks(text) == (text, {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ab<<x>>c", r"<<x>> is never closed, at character 2 \(line 1, column 3\)"),
        ("a\nb<</x>>", r"<</x>> closes nothing, at character 3 \(line 2, column 2\)"),
        ("<<x>>a<<y>>b<</x>>", "<</x>> stands where <</y>> is due, at character 12"),
        ("a<<x>><</x>>", "<<x>> encloses nothing, at character 1"),
    ],
)
def test_broken_marks_name_their_position(text, message):
    with pytest.raises(PromptError, match=message):
        parse_marks(text)


plain = st.text(st.characters(exclude_characters="<>", exclude_categories=["Cs"]), min_size=1)


@given(st.lists(st.tuples(st.sampled_from(["a", "b-2", ""]), plain), min_size=1))
def test_marking_pieces_and_parsing_gives_the_pieces_back(pieces):
    marked = "".join(f"<<{name}>>{part}<</{name}>>" if name else part for name, part in pieces)
    text, spans = parse_marks(marked)
    assert text == "".join(part for _, part in pieces)
    for name in {name for name, _ in pieces if name}:
        assert [text[start:end] for start, end in spans[name]] == [
            part for given_name, part in pieces if given_name == name
        ]
