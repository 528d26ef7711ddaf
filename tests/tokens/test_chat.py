"""Chats rendered by templates of the kinds models ship, with every message found in them."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindshare.errors import PromptError
from mindshare.prompts import Message, Prompt
from mindshare.tokens import encode
from mindshare.tokens.chat import render_chat

from .conftest import LAW, build, texts

DEFAULT_SYSTEM = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful assistant<|im_end|>\n' }}{% endif %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
NO_SYSTEM = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}"
    "{{ raise_exception('System role not supported') }}{% endif %}"
    "{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate') }}{% endif %}"
    "{{ '<start>' + message['role'] + '\n' + message['content'] | trim + '<end>\n' }}{% endfor %}"
)
SYSTEM_LAST = (
    "{% for message in messages %}{% if message['role'] != 'system' %}"
    "[{{ message['content'] }}]{% endif %}{% endfor %}"
    "{% for message in messages %}{% if message['role'] == 'system' %}"
    "({{ message['content'] }}){% endif %}{% endfor %}"
)
DROPS_THOUGHTS = (
    "{% for message in messages %}{{ '<' + message['role'] + '>' + "
    "message['content'].split('</think>')[-1] + '\n' }}{% endfor %}"
)
JOINS_LINES = "{% for m in messages %}<{{ m['content'] | replace('\n', ' ') }}>{% endfor %}"
SHOUTS = "{% for message in messages %}{{ '<' ~ message['content'] | upper ~ '>' }}{% endfor %}"
DROPS_SYSTEM = (
    "{% for message in messages %}{% if message['role'] != 'system' %}"
    "{{ message['content'] }}{% endif %}{% endfor %}"
)


def with_template(template):
    tokenizer = copy.copy(build("bytes"))
    tokenizer.chat_template = template
    return tokenizer


def render(template, *turns, spans=None, **options):
    chat = Prompt.from_chat([Message(*turn) for turn in turns], spans)
    return render_chat(chat, with_template(template), **options)


def shown(text, spans):
    return {name: [text[start:end] for start, end in ranges] for name, ranges in spans.items()}


def test_a_default_system_message_does_not_confuse():
    text, spans = render(DEFAULT_SYSTEM, ("user", "You"), ("assistant", "are"), ("user", "You"))
    assert shown(text, spans) == {"role:user": ["You", "You"], "role:assistant": ["are"]}
    assert spans["role:user"][0][0] > text.index("<|im_start|>user")
    assert "role:system" not in spans


def test_a_given_system_message_is_a_role():
    text, spans = render(DEFAULT_SYSTEM, ("system", "Be brief."), ("user", "Hi"))
    assert shown(text, spans) == {"role:system": ["Be brief."], "role:user": ["Hi"]}


def test_the_generation_prompt_is_added_on_request():
    text, spans = render(DEFAULT_SYSTEM, ("user", "Hi"), add_generation_prompt=True)
    assert text.endswith("<|im_start|>assistant\n")
    assert shown(text, spans) == {"role:user": ["Hi"]}


def test_trimmed_content_is_found_and_spans_in_it_move_along():
    text, spans = render(NO_SYSTEM, ("user", "  see ### \n"), spans={"map": [0, 6, 9]})
    assert shown(text, spans) == {"role:user": ["see ###"], "map": ["###"]}


def test_a_span_is_cut_where_the_template_trims():
    text, spans = render(NO_SYSTEM, ("user", "  see  "), spans={"x": [0, 0, 5]})
    assert shown(text, spans)["x"] == ["see"]
    with pytest.raises(PromptError, match=r"trimmed the span's characters away .*'x', message 0"):
        render(NO_SYSTEM, ("user", "  see  "), spans={"x": [0, 0, 1]})


def test_messages_may_be_rendered_out_of_order():
    text, spans = render(SYSTEM_LAST, ("system", "a"), ("user", "a"))
    assert text == "[a](a)"
    assert spans == {"role:system": ((4, 5),), "role:user": ((1, 2),)}


def test_what_the_template_kept_of_a_message_is_its_role_span():
    turns = [("user", "Hi"), ("assistant", "<think>hm</think>Hello")]
    text, spans = render(DROPS_THOUGHTS, *turns, spans={"x": [1, 17, 22]})
    assert shown(text, spans) == {"role:user": ["Hi"], "role:assistant": ["Hello"], "x": ["Hello"]}


def test_parts_of_a_rewritten_message_cannot_be_found():
    text, spans = render(JOINS_LINES, ("user", "a\nb"))
    assert shown(text, spans) == {"role:user": ["a b"]}
    with pytest.raises(PromptError, match="changed message 0 to 'a b'"):
        render(JOINS_LINES, ("user", "a\nb"), spans={"x": [0, 0, 1]})


def test_a_message_the_template_rewrites_beyond_recognition_is_named():
    with pytest.raises(PromptError, match=r"changed message 0 \(user\)"):
        render(SHOUTS, ("user", "hello"))


def test_a_message_the_template_leaves_out_is_named():
    with pytest.raises(PromptError, match=r"message 0 \(system\) or left it out"):
        render(DROPS_SYSTEM, ("system", "Be brief."), ("user", "Hi"))


def test_a_template_without_a_system_role_says_what_to_do():
    with pytest.raises(PromptError, match=r"takes no system message[\s\S]*first user message"):
        render(NO_SYSTEM, ("system", "Be brief."), ("user", "Hi"))


def test_a_template_that_refuses_says_why():
    with pytest.raises(PromptError, match=r"must alternate \(in roles user, user\)"):
        render(NO_SYSTEM, ("user", "Hi"), ("user", "Hi"))


def test_no_template_at_all():
    with pytest.raises(PromptError, match="has no chat template"):
        render(None, ("user", "Hi"))


def test_encode_renders_and_places_the_tokens():
    chat = Prompt.from_chat([Message("user", "Hello world")], {"x": [0, 5, 11]})
    result = encode(chat, with_template(DEFAULT_SYSTEM), add_generation_prompt=True)
    assert result.text.endswith("<|im_start|>assistant\n")
    assert shown(result.text, result.spans) == {"role:user": ["Hello world"], "x": [" world"]}
    assert "".join(result.pieces) == result.text
    assert result.special.count(True) == 5


turns = st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), texts()), min_size=1)


@LAW
@given(turns)
def test_every_message_is_found_where_the_template_wrote_it(given_turns):
    text, spans = render(DEFAULT_SYSTEM, *given_turns)
    skeleton, at = [], 0
    if given_turns[0][0] != "system":
        at = text.index("<|im_end|>\n") + len("<|im_end|>\n")
    for role, content in given_turns:
        start = at + len(f"<|im_start|>{role}\n")
        skeleton.append((f"role:{role}", (start, start + len(content))))
        at = start + len(content) + len("<|im_end|>\n")
    for name in spans:
        assert list(spans[name]) == [range_ for role, range_ in skeleton if role == name]
