from __future__ import annotations

from mindshare.figures import ClassBarsOptions, class_bars

from .samples import made_up, reading


def test_the_description_is_the_picture_in_words() -> None:
    text = class_bars(reading()).description
    for sentence in (
        "Stacked bars of 2 models (Qwen-Phys and Qwen-Instruct), over 100 prompts.",
        "Horizontal: 4 layers (0, 16, 20 and 27, zero-based).",
        "Each bar stacks, from the bottom: space, star and hash.",
        "Qwen-Phys: highest total 0.098 (layer 0), lowest 0.065 (layer 27).",
        "Qwen-Instruct: highest total 0.112 (layer 0), lowest 0.021 (layer 20).",
        "Layer 16, Qwen-Phys: space 0.012, star 0.055, hash 0.008; total 0.075.",
    ):
        assert sentence in text, sentence


def test_it_stands_in_the_spec_for_screen_readers() -> None:
    figure = class_bars(reading())
    assert figure.spec["description"] == figure.description


def test_layers_are_counted_as_they_are_labelled() -> None:
    text = class_bars(reading(), ClassBarsOptions(labels="one-based")).description
    assert "(1, 17, 21 and 28, one-based)" in text
    assert "lowest 0.021 (layer 21)" in text


def test_many_bars_are_not_listed_one_by_one() -> None:
    text = class_bars(made_up(["a", "b"], 30)).description
    assert "30 layers (0 to 29, zero-based)" in text
    assert len(text) < 500


def test_totals_that_say_nothing_are_not_said() -> None:
    text = class_bars(made_up(["a"], 20, measure="share")).description
    assert "highest total" not in text
    assert "a: highest hash" in text


def test_single_heads_are_named() -> None:
    text = class_bars(made_up(["a"], 3, heads=[0, 5])).description
    assert "head 5" in text


def test_the_definition_says_what_whiskers_show() -> None:
    text = class_bars(reading()).definition
    assert (
        "Whiskers: 95\xa0% t-widened percentile bootstrap over prompts (10,000 resamples, seed 0)"
        in text
    )
    assert "not an interval of the total" in text
    assert "No intervals: too few prompts." in class_bars(reading(n_prompts=1)).definition
    quiet = class_bars(reading(), ClassBarsOptions(whiskers=False)).definition
    assert "Whiskers" not in quiet
    assert "No intervals" not in quiet


def test_the_title_names_layers_that_were_chosen() -> None:
    assert class_bars(reading()).title == "Mass by token class and layer"
    some = class_bars(reading(), ClassBarsOptions(layers=(0, 27)))
    assert some.title == "Mass by token class in layers 0 and 27"
    one = ClassBarsOptions(layers=(16,), labels="one-based")
    assert class_bars(reading(), one).title == "Mass by token class in layer 17"


def test_a_share_says_that_its_top_class_has_no_whisker() -> None:
    figure = class_bars(made_up(["a"], 3, measure="share"))
    text = " ".join(figure.spec["title"]["subtitle"])
    assert "bootstrap interval of each class but the top one." in text
    assert "the top segment, which ends there, has none" in figure.definition


def test_the_caption_stands_under_the_title() -> None:
    figure = class_bars(reading(), about={"heads": "mean of 12 heads"})
    text = " ".join(figure.spec["title"]["subtitle"])
    assert "queries: all; mean of 12 heads; 100 prompts" in text
    assert "Whiskers: 95\xa0% bootstrap interval of each class." in text


def test_what_is_not_stacked_says_why() -> None:
    figure = class_bars(made_up(["a"], 3, measure="lift"))
    assert "Lift does not add up over classes, so the bars are not stacked." in figure.definition
    assert "A dashed line marks 1, no preference." in figure.description


def test_rows_are_named_from_the_top_as_they_are_drawn() -> None:
    options = ClassBarsOptions(class_order=("hash", "star", "space"))
    figure = class_bars(made_up(["m"], 3, measure="lift"), options)
    assert "A row for each token class: hash, star and space." in figure.description
    rows = [value["panel"] for value in figure.spec["data"]["values"] if value["layer"] == 0]
    assert rows == ["hash", "star", "space"]


def test_numbers_from_one_are_said_in_the_picture() -> None:
    figure = class_bars(made_up(["m"], 3), ClassBarsOptions(labels="one-based"))
    assert "numbers one-based" in " ".join(figure.spec["title"]["subtitle"])
