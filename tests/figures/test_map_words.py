from __future__ import annotations

from mindshare.figures import HeadMapOptions, head_map

from .samples import contrasted, made_up, summary

ROWS = [
    ("m", "all", layer, head, "a b", x)
    for (layer, head), x in {(0, 0): 0.1, (0, 1): 0.4, (1, 0): 0.02, (1, 1): 0.2}.items()
]


def test_the_description_is_the_picture_in_words() -> None:
    figure = head_map(summary(ROWS), "a b", HeadMapOptions(labels="one-based"))
    assert figure.description == (
        "Map of 2 layers (vertical, layer 1 at the bottom) and 2 heads (horizontal), one-based, "
        "over 100 prompts. "
        "Colour: mass of a b in m, from 0 (light) to 0.4 (dark). "
        "Highest 0.4 (layer 1, head 2), lowest 0.02 (layer 2, head 1), mean over the heads 0.18."
    )
    assert figure.spec["description"] == figure.description
    assert figure.name == "head_map_mass_a_b"


def test_a_difference_says_which_way() -> None:
    figure = head_map(contrasted(4, 3), "star")
    assert figure.title == "Mass of star by layer and head: Qwen-Phys minus Qwen-Instruct"
    assert figure.name == "head_map_difference_mass_star"
    assert "(blue) over 0 (white)" in figure.description


def test_the_definition_says_how_the_dots_were_found() -> None:
    text = head_map(contrasted(4, 3), "star").definition
    for part in (
        "sign-flip permutation",
        "family-wise error, max-T",
        "p_family < 0.05",
        "model b minus",
    ):
        assert part in text, part


def test_the_query_set_and_the_class_are_named() -> None:
    figure = head_map(made_up(["m"], 2, heads=range(2)), "hash")
    assert "Query set Q: all." in figure.definition
    assert "Token class shown: hash." in figure.definition


def test_too_few_prompts_for_a_test_is_said_instead_of_none_found() -> None:
    """Five prompts have 32 flips of sign: no p-value can be below 2/32."""
    table = contrasted(2, 2)
    column = table.column_names.index("n_groups")
    few = table.set_column(column, table.field(column), [[5] * table.num_rows])
    figure = head_map(few, "star")
    assert "too few prompts to test" in figure.description
    assert "Too few prompts for a test" in " ".join(figure.spec["title"]["subtitle"])
    six = table.set_column(column, table.field(column), [[6] * table.num_rows])
    assert "p_family < 0.05" in head_map(six, "star").description
