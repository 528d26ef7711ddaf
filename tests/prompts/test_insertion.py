"""What people write as insertions, and prompts with a text inserted: nothing else changes."""

from __future__ import annotations

import json
import pickle
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindshare.errors import PromptError, SelectionError
from mindshare.prompts import (
    Insertion,
    Message,
    Prompt,
    fold_system_message,
    insert,
    parse_insertions,
)

CHAT = [Message("system", "Be brief."), Message("user", "What is it?")]


def written(text, **options):
    return [(one.name, one.text) for one in parse_insertions(text, **options)]


def shown(prompt):
    """What each span covers."""
    contents = [m.content for m in prompt.messages] if prompt.messages else [prompt.text]
    return {
        name: [contents[r[0] if len(r) == 3 else 0][r[-2] : r[-1]] for r in ranges]
        for name, ranges in prompt.spans.items()
    }


# What people write.


def test_a_text_is_repeated():
    assert written("/ *3") == [("/ ×3", "/ / / ")]
    assert written("he*2") == [("he ×2", "hehe")]
    assert written("/ * 2 ") == [("/ ×2", "/ / ")]
    assert written("2 * 3*2") == [("2 * 3 ×2", "2 * 32 * 3")]


def test_a_sweep_of_counts_may_begin_with_nothing():
    assert written("/*0, 1,3") == [("/ ×0", ""), ("/ ×1", "/"), ("/ ×3", "///")]


def test_random_sentences_have_no_text_yet():
    assert parse_insertions("random-sentence", seed=4) == [
        Insertion(None, "random sentence", "between", 4, None)
    ]
    assert parse_insertions("random-sentence*0,55") == [
        Insertion("", "random sentence ×0", tokens=0),
        Insertion(None, "random sentence ×55", tokens=55),
    ]


def test_a_file_is_taken_character_for_character(tmp_path):
    (tmp_path / "notes.txt").write_text("a * 3\n", encoding="utf-8")
    assert written(f"file:{tmp_path}/notes.txt") == [("file notes.txt", "a * 3\n")]
    with pytest.raises(PromptError, match="no such file"):
        parse_insertions(f"file:{tmp_path}/none.txt")


def test_anything_else_is_the_text_itself():
    assert written("hello world") == [("hello world", "hello world")]
    assert written("a * b") == [("a * b", "a * b")]
    assert written("**bold** text") == [("**bold** text", "**bold** text")]
    assert written("one\ntwo  three") == [("one two three", "one\ntwo  three")]
    assert written("\n") == [("'\\n'", "\n")]
    long = "The quick brown fox jumps over the lazy dog."
    assert written(long) == [("The quick brown fox jump…", long)]


def test_every_insertion_at_every_place():
    found = parse_insertions(["/ *2", "he"], places=["start", "after:map"], seed=3)
    assert [(one.name, one.place) for one in found] == [
        ("/ ×2 at start", "start"),
        ("/ ×2 at after:map", "after:map"),
        ("he at start", "start"),
        ("he at after:map", "after:map"),
    ]
    assert {one.seed for one in found} == {3}
    assert [one.name for one in parse_insertions("/", places=["end"])] == ["/"]


def test_names_are_unique(tmp_path):
    assert [n for n, _ in written(["/ *2", " /*2", "?*2"])] == ["'/ ' ×2", "' /' ×2", "? ×2"]
    assert [n for n, _ in written("without")] == ["'without'"]
    long = "The quick brown fox jumps over the lazy dog, "
    names = [n for n, _ in written([long + "again.", long + "twice.", "x"])]
    assert names == ["The quick brown fox jump… (1)", "The quick brown fox jump… (2)", "x"]
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.txt").write_text(folder)
    two = written([f"file:{tmp_path}/a/x.txt", f"file:{tmp_path}/b/x.txt"])
    assert len({name for name, _ in two}) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ([], "there is no text to insert"),
        ("*5", "no text before"),
        ("/ *", "does not say how often"),
        ("/ *-3", "'-3' does not say how often"),
        ("/ *1.5", "does not say how often"),
        ("/ *5x", "does not say how often"),
        ("/ *5,,6", "does not say how often"),
        ("/ *5,-6", "does not say how often"),
        ("/ *99999999999", r"0 to 1,000,000"),
        ("random-sentence*-1", "does not say how often"),
        (["/ *2", "/ *2"], "'/ ' ×2 is given twice"),
        ("/ *2,2", "given twice"),
    ],
)
def test_what_cannot_be_inserted_is_refused_with_the_forms(text, message):
    with pytest.raises(SelectionError, match=message) as refused:
        parse_insertions(text)
    assert "random-sentence" in (refused.value.allowed or "") or "twice" in message


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("betwen", "did you mean 'between'"),
        ("befor:map", "did you mean 'before'"),
        ("before:", r"'before:' is no place to insert at\n"),
        ("after:a b", "no place"),
        ("", "no place"),
        ([], "there is no place"),
        (["start", "start"], "start is given twice"),
    ],
)
def test_unknown_places_are_refused(place, message):
    with pytest.raises(SelectionError, match=message) as refused:
        parse_insertions("/", places=place)
    assert "before:SPAN" in (refused.value.allowed or "") or "twice" in message


def test_an_insertion_is_frozen_plain_data():
    one = parse_insertions("/ *2", places="random", seed=9)[0]
    assert Insertion(**json.loads(json.dumps(asdict(one)))) == one
    assert pickle.loads(pickle.dumps(one)) == one
    assert hash(one) == hash(Insertion("/ / ", "/ ×2", "random", 9))
    for wrong in ({"place": "nowhere"}, {"name": ""}, {"tokens": -1}):
        with pytest.raises(SelectionError):
            Insertion(**{"text": "/", "name": "/", **wrong})


# Where it goes.


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("between", "see [!]### and ## now"),
        ("start", "[!]see ### and ## now"),
        ("end", "see ### and ## now[!]"),
        ("before:map", "see [!]### and ## now"),
        ("after:map", "see ### and ##[!] now"),
    ],
)
def test_places_in_a_text(place, text):
    prompt = Prompt.from_text(
        "see ### and ## now", {"map": [[4, 7], [12, 14]], "question": [4, 18]}
    )
    found = insert(prompt, "[!]", place)
    assert found.text == text
    assert shown(found)["inserted"] == ["[!]"]
    assert shown(found)["map"] == ["###", "##"]
    assert "".join(shown(found)["question"]) == "### and ## now"
    assert found.id == prompt.id


def test_without_a_question_a_text_is_all_question():
    assert insert(Prompt.from_text("What?"), "/ ", "between").text == "/ What?"


@pytest.mark.parametrize(
    ("place", "contents"),
    [
        ("between", ["Be brief.", "What is it?", "/Wait."]),
        ("start", ["/Be brief.", "What is it?", "Wait."]),
        ("end", ["Be brief.", "What is it?", "Wait./"]),
        ("before:verb", ["Be brief.", "What /is it?", "Wait."]),
        ("after:verb", ["Be brief.", "What is/ it?", "Wait."]),
    ],
)
def test_places_in_a_chat(place, contents):
    prompt = Prompt.from_chat([*CHAT, Message("user", "Wait.")], {"verb": [1, 5, 7]}, id="x")
    found = insert(prompt, "/", place)
    assert [message.content for message in found.messages] == contents
    assert [message.role for message in found.messages] == ["system", "user", "user"]
    assert shown(found) == {"verb": ["is"], "inserted": ["/"]}
    assert found.id == "x"


def test_the_question_span_of_a_chat_goes_first():
    prompt = Prompt.from_chat(CHAT, {"question": [1, 8, 11]})
    assert insert(prompt, "/", "between").messages[1].content == "What is /it?"
    only = Prompt.from_chat([Message("system", "Be brief.")])
    assert insert(only, "/", "between").messages[0].content == "/Be brief."


def test_after_a_span_is_after_all_of_it():
    prompt = Prompt.from_text("abcdef", {"x": [[0, 5], [1, 2]]})
    assert insert(prompt, "/", "after:x").text == "abcde/f"


def test_a_span_around_the_place_is_split():
    prompt = Prompt.from_text(
        "abcdef", {"all": [0, 6], "left": [0, 3], "right": [3, 6], "m": [3, 4]}
    )
    found = insert(prompt, "//", "before:m")
    assert found.spans["all"] == ((0, 3), (5, 8))
    assert found.spans["left"] == ((0, 3),)
    assert found.spans["right"] == ((5, 8),)


def test_nothing_inserted_is_the_prompt_itself():
    prompt = Prompt.from_text("abc")
    assert insert(prompt, "", "end") == prompt
    with pytest.raises(PromptError):
        insert(prompt, "", "before:map")


def test_a_span_that_is_not_there_is_named():
    prompt = Prompt.from_text("see ###", {"map": [4, 7], "verb": [0, 3]})
    with pytest.raises(PromptError, match=r"no span 'mapp'; did you mean 'map'\?") as refused:
        insert(prompt, "/", "before:mapp")
    assert refused.value.allowed == "map, verb"
    with pytest.raises(PromptError, match="has no spans"):
        insert(Prompt.from_text("see"), "/", "after:map")


def test_a_prompt_takes_one_inserted_text():
    once = insert(Prompt.from_text("abc"), "/", "start")
    with pytest.raises(PromptError, match="has a span 'inserted' already"):
        insert(once, "/", "end")
    with pytest.raises(SelectionError, match="no place"):
        insert(Prompt.from_text("abc"), "/", "middle")


def test_a_random_place_is_before_a_word_and_follows_from_seed_and_content():
    prompt = Prompt.from_chat(CHAT)

    def place(seed, of=prompt, text="_"):
        return insert(of, text, "random", seed=seed).spans["inserted"][0][:2]

    assert {place(seed) for seed in range(60)} == {(0, 0), (0, 3), (1, 0), (1, 5), (1, 8)}
    assert [place(seed) for seed in range(9)] == [place(seed) for seed in range(9)]
    named = Prompt.from_chat(CHAT, id="another")
    assert [place(s, of=named, text="longer ") for s in range(9)] == [place(s) for s in range(9)]
    spaces = insert(Prompt.from_text("  \n"), "/", "random")
    assert spaces.text == "/  \n"


marks = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=4)
places = st.sampled_from(["between", "start", "end", "random", "before:s0", "after:s0"])


@given(st.text("ab \n中", min_size=1, max_size=30), marks, st.text("/ ", min_size=1), places)
def test_nothing_but_the_inserted_text_is_new(text, ranges, inserted, place):
    inside = [(a % len(text), b % len(text)) for a, b in ranges]
    spans = {f"s{i}": [min(r), max(r) + 1] for i, r in enumerate(inside)} or {"s0": [0, 1]}
    prompt = Prompt.from_text(text, spans)
    found = insert(prompt, inserted, place, seed=1)
    ((start, end),) = found.spans["inserted"]
    assert found.text[start:end] == inserted
    assert found.text[:start] + found.text[end:] == text
    for name, was in prompt.spans.items():
        before = [at for a, b in was for at in range(a, b)]
        after = [at for a, b in found.spans[name] for at in range(a, b)]
        assert [at if at < start else at - len(inserted) for at in after] == before
        assert not set(after) & set(range(start, end))


# Chats for templates that take no system message.


def test_a_system_message_goes_to_the_start_of_the_first_user_message():
    prompt = Prompt.from_chat(
        [*CHAT, Message("assistant", "A map."), Message("user", "Sure?")],
        {"brief": [0, 3, 8], "it": [1, 8, 10], "map": [2, 2, 5], "sure": [3, 0, 4]},
        id="x",
    )
    found = fold_system_message(prompt)
    assert found.messages == (
        Message("user", "Be brief.\n\nWhat is it?"),
        Message("assistant", "A map."),
        Message("user", "Sure?"),
    )
    assert shown(found) == {
        "system": ["Be brief."],
        "question": ["What is it?"],
        "brief": ["brief"],
        "it": ["it"],
        "map": ["map"],
        "sure": ["Sure"],
    }
    assert found.id == "x"
    between = insert(found, "/ ", "between")
    assert between.messages[0].content == "Be brief.\n\n/ What is it?"


def test_names_that_are_taken_stay():
    prompt = Prompt.from_chat(CHAT, {"question": [1, 5, 7], "system": [1, 0, 4]})
    assert shown(fold_system_message(prompt)) == {"question": ["is"], "system": ["What"]}


def test_several_system_messages_keep_their_order():
    turns = [Message("system", "A"), Message("user", "U"), Message("system", "B")]
    found = fold_system_message(Prompt.from_chat(turns, {"b": [2, 0, 1]}))
    assert found.messages == (Message("user", "A\n\nB\n\nU"),)
    assert shown(found) == {"system": ["A", "B"], "question": ["U"], "b": ["B"]}


def test_empty_messages_leave_no_gap_and_no_span():
    found = fold_system_message(Prompt.from_chat([Message("system", ""), Message("user", "U")]))
    assert (found.messages, shown(found)) == ((Message("user", "U"),), {"question": ["U"]})
    found = fold_system_message(Prompt.from_chat([Message("system", "S"), Message("user", "")]))
    assert (found.messages, shown(found)) == ((Message("user", "S"),), {"system": ["S"]})


def test_what_has_no_system_message_comes_back_unchanged():
    for prompt in (
        Prompt.from_text("abc"),
        Prompt.from_chat(CHAT[1:]),
        fold_system_message(Prompt.from_chat(CHAT)),
    ):
        assert fold_system_message(prompt) is prompt


def test_a_system_message_alone_cannot_be_folded():
    with pytest.raises(PromptError, match="no user message"):
        fold_system_message(Prompt.from_chat(CHAT[:1]))
