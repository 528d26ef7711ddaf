"""A prompt as tokens: pieces, special tokens, BOS, chats, and what cannot be encoded."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindshare.errors import PromptError, TokenError
from mindshare.prompts import Message, Prompt
from mindshare.tokens import encode
from mindshare.tokens.encoding import BosReport, render_chat, token_mask
from mindshare.tokens.offsets import char_mask

from .conftest import LAW, build, texts

ADDED = "added: the model's own files ask for it"


def encoded(text, name, **options):
    return encode(Prompt.from_text(text), build(name), **options)


def test_a_word_keeps_its_space_though_the_tokenizer_trims_it():
    for name in ("bytes", "bytes-trimmed"):
        result = encoded("Hello world", name)
        assert result.pieces == ("Hello", " world")
        assert result.offsets == ((0, 5), (5, 11))
        assert result.text == "Hello world"
        assert len(result) == 2


def test_tokens_of_one_character_share_its_range():
    result = encoded("a中b", "bytes")
    assert result.offsets == ((0, 1), (1, 2), (1, 2), (1, 2), (2, 3))
    assert result.pieces == ("a", "中", "中", "中", "b")


def test_an_invented_space_has_no_character():
    result = encoded("中", "llama")
    assert result.pieces[:3] == ("<s>", "▁", "中")
    assert result.offsets[:3] == ((0, 0), (0, 0), (0, 1))
    assert result.special[:3] == (True, False, False)


def test_named_spans_come_along():
    prompt = Prompt.from_text("see <<map>>###<</map>>", marked=True)
    assert encode(prompt, build("bytes")).spans == {"map": ((4, 7),)}


def test_special_tokens_in_the_text_have_their_range():
    result = encoded("a<|im_start|>b", "bytes")
    assert result.pieces == ("a", "<|im_start|>", "b")
    assert result.special == (False, True, False)
    assert result.offsets[1] == (1, 13)


def test_an_unknown_token_is_text_unless_it_is_written_out():
    result = encoded("a🙃<unk>", "unigram-unk")
    by_piece = dict(zip(result.pieces, result.special, strict=True))
    assert by_piece["🙃"] is False
    assert by_piece["<unk>"] is True
    assert encoded("a\x1f", "unigram-unk").special[-1] is False  # unknown whitespace is text too


def test_dropped_characters_are_reported():
    result = encoded("the e\u0301nd  ", "stripping")
    assert result.uncovered == ((5, 6), (8, 10))


@pytest.mark.parametrize(
    ("name", "text", "add_bos", "present", "origin"),
    [
        ("bytes", "Hello", None, False, "none asked for"),
        ("bytes", "Hello", False, False, "none asked for"),
        ("bytes", "Hello", True, True, ADDED),
        ("bytes", "<s>Hello", None, True, "in the text"),
        ("bytes", "<s>Hello", True, True, "in the text"),
        ("bytes", "<s>Hello", False, True, "in the text"),
        ("bytes-bos", "Hello", None, True, "tokenizer"),
        ("bytes-bos", "Hello", True, True, "tokenizer"),
        ("bytes-bos", "Hello", False, False, "none asked for"),
        ("bytes-bos", "<s>Hello", None, True, "in the text"),
        ("bytes-bos", "<s>Hello", True, True, "in the text"),
        ("llama", "Hello", None, True, "tokenizer"),
        ("gemma", "Hello", True, True, ADDED),
    ],
)
def test_bos_is_there_once_or_not_at_all(name, text, add_bos, present, origin):
    result = encoded(text, name, add_bos=add_bos)
    assert result.bos == BosReport("<s>", present, origin)
    assert result.ids.count(build(name).bos_token_id) == int(present)
    assert (result.pieces[0] == "<s>") is present
    if present:
        assert result.special[0]
        assert result.offsets[0] == ((0, 3) if origin == "in the text" else (0, 0))


def test_an_end_token_stands_at_the_end():
    result = encoded("Hello", "bytes-bos-eos")
    assert result.pieces == ("<s>", "Hello", "</s>")
    assert result.offsets == ((0, 0), (0, 5), (5, 5))
    assert result.special == (True, False, True)


def test_a_tokenizer_without_bos():
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast(tokenizer_object=build("bytes").backend_tokenizer)
    prompt = Prompt.from_text("Hello")
    assert encode(prompt, tokenizer).bos == BosReport(None, False, "none asked for")
    with pytest.raises(TokenError, match="the tokenizer has none"):
        encode(prompt, tokenizer, add_bos=True)


def test_a_chat_is_given_no_bos_beyond_its_template():
    chat = Prompt.from_chat([Message("user", "Hello")])
    for template, origin in [("{{ bos_token }}", "in the text"), ("", "none asked for")]:
        tokenizer = build("bytes-bos")
        tokenizer.chat_template = template + "{{ messages[0]['content'] }}"
        result = encode(chat, tokenizer)
        assert result.bos.origin == origin
        assert result.ids.count(tokenizer.bos_token_id) == int(origin == "in the text")
    assert encode(chat, tokenizer, add_bos=True).bos.origin == ADDED


def test_a_text_that_makes_no_tokens():
    with pytest.raises(PromptError, match="makes no tokens of"):
        encoded("   ", "stripping")


def test_slow_tokenizers_are_refused():
    from transformers import ByT5Tokenizer

    with pytest.raises(TokenError, match=r"ByT5Tokenizer cannot say which characters[\s\S]*fast"):
        encode(Prompt.from_text("Hello"), ByT5Tokenizer())


def test_a_tokenizer_that_returns_no_offsets():
    class Mute:
        is_fast = True
        bos_token = bos_token_id = chat_template = None
        all_special_ids = ()

        def __call__(self, text, **_options):
            return {"input_ids": [ord(char) for char in text]}

    with pytest.raises(TokenError, match="Mute returned no character offsets"):
        encode(Prompt.from_text("Hello"), Mute())


def test_encoded_prompts_survive_pickling():
    result = encoded("Hello", "llama")
    assert pickle.loads(pickle.dumps(result)) == result


# Chats rendered by templates of the kinds models ship, with every message found in them.


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


# Which tokens and characters lie in ranges.


def test_tokens_without_characters_lie_in_no_range():
    encoded = encode(Prompt.from_text("Hello world"), build("bytes-bos-eos"))
    assert list(token_mask(encoded, [(0, 11)])) == [False, True, True, False]
    assert list(token_mask(encoded, [(0, 1), (5, 6)])) == [False, True, True, False]
    assert not token_mask(encoded, []).any()


def test_characters_in_ranges():
    assert list(char_mask(4, [(0, 1), (2, 4)])) == [True, False, True, True]


@LAW
@given(texts(), st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=3))
def test_a_token_is_in_a_range_when_one_of_its_characters_is(text, ranges):
    encoded = encode(Prompt.from_text(text), build("llama"))
    inside = {at for start, end in ranges for at in range(start, end)}
    expected = [any(at in inside for at in range(*range_)) for range_ in encoded.offsets]
    assert list(token_mask(encoded, [r for r in ranges if r[0] < r[1]])) == expected
