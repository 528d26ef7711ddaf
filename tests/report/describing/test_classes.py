from __future__ import annotations

from mindshare.report.describing import check_description, describe
from mindshare.report.describing.classes import describe_classes
from mindshare.report.describing.numbers import numbers_of
from tests.figures.samples import INSTRUCT, PHYS, reading

from .made import Made, class_tables


def test_the_published_chart_in_words() -> None:
    description = describe_classes(numbers_of(reading()))
    details = description.details.sentences
    assert details[0] == (
        f"Layer 0, {PHYS}: hash 0.0260 [0.0239, 0.0281], star 0.0420 [0.0389, 0.0451], space "
        "0.0300 [0.0276, 0.0323]; together 0.0980."
    )
    assert len(details) == 8
    assert (
        f"{INSTRUCT}, of the named classes: star has the most mass in layers 0" in description.text
    )
    assert all(one.holds for one in check_description(description.text, reading()))


def test_a_mean_over_layers() -> None:
    description = describe(class_tables(Made(layers=(None,))), kind="classes")
    assert "in the mean of the layers of 2 models" in description.text
    assert description.details.sentences[0].startswith("All layers, Base: hash ")


def test_one_class_one_layer_one_model() -> None:
    made = Made(models=("Base",), classes=("hash",), layers=(7,))
    description = describe(class_tables(made), kind="classes")
    assert "1 token class (hash) in 1 layer (7)" in description.text
    assert len(description.details.sentences) == 1
