from __future__ import annotations

from mindshare.report.describing.outline import Line, outline, plain
from mindshare.report.describing.tokens import Lexer
from mindshare.report.describing.vocabulary import Name, Vocabulary

LEXER = Lexer(
    Vocabulary(
        {name: Name("model", name) for name in ("Phys", "Instruct")}
        | {"hash": Name("kind", "hash")}
    )
)


def lines(text: str) -> list[Line]:
    return list(outline(text, LEXER))


def given(text: str) -> list[dict]:
    return [line.given for line in lines(text)]


def test_a_bullet_under_a_layer_is_about_that_layer() -> None:
    assert given("#### Layer 16\n- a\n#### Layer 20\n- b") == [{"layer": 16}, {"layer": 20}]
    assert given("**Layer 16:**\n* a") == [{"layer": 16}]


def test_a_bold_label_holds_until_the_next_and_a_new_layer_forgets_it() -> None:
    text = "**Layer 0:**\n* **Phys:** a\n* b\n* **Instruct**:\n* c\n**Layer 1:**\n* d"
    assert given(text) == [
        {"layer": 0, "model": "Phys"},
        {"layer": 0, "model": "Phys"},
        {"layer": 0, "model": "Instruct"},
        {"layer": 0, "model": "Instruct"},
        {"layer": 1},
    ]


def test_models_above_layers() -> None:
    text = "## Phys\n### Layer 0\n- a\n### Layer 1\n- b\n## Instruct\n- c"
    assert given(text) == [
        {"model": "Phys", "layer": 0},
        {"model": "Phys", "layer": 1},
        {"model": "Instruct"},
    ]


def test_a_plain_label_holds_for_what_is_indented_below_it() -> None:
    assert given("- Phys: a\n  - b\n- c") == [{"model": "Phys"}, {"model": "Phys"}, {}]


def test_a_class_is_named_for_its_own_line() -> None:
    assert given("* **hash:** a\n* b") == [{"kind": "hash"}, {}]


def test_labels_with_more_than_names_name_nothing() -> None:
    assert given("1. **Layer 20 Drop**: a\n2. b") == [{}, {}]
    assert given("* **Layer 1 Head 8 (Top-Right):** a") == [{"layer": 1, "head": 8}]


def test_a_heading_about_two_models_is_about_neither() -> None:
    assert given("## Layers of Phys and Instruct\n- a\n## Results for Phys\n- b") == [
        {},
        {"model": "Phys"},
    ]


def test_titles_end_what_was_named_and_are_remembered() -> None:
    found = lines("**Layer 3:**\n* a\n### Key Observations\n* b\nInterpretation\nc")
    assert [(line.given, line.title) for line in found] == [
        ({"layer": 3}, ""),
        ({}, "Key Observations"),
        ({}, "Interpretation"),
    ]
    assert [line.number for line in found] == [2, 4, 6]


def test_tables_code_and_where_it_comes_from_are_no_description() -> None:
    text = "a\n| b | 1 |\n```\nc\n```\n## Models\n### Card\nd\n## Charts\n$$ e $$\n<details>\nf"
    assert [line.text for line in lines(text)] == ["a", "f"]


def test_markup_goes_and_words_stay() -> None:
    assert plain(r"**a** `b` and c\_d \*e") == 'a "b" and c_d *e'
    assert plain(r"hash 0.2 \[0.1, 0.3\], \~0.4 \\ x") == r"hash 0.2 [0.1, 0.3], ~0.4 \ x"
    assert plain("see [layer 3](a_b.png) and ![hash 0.5](x.png)") == "see layer 3 and hash 0.5"
