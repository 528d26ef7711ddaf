"""File names and ranges."""

from __future__ import annotations

from mindshare.naming import file_word, layer_ranges


def test_layer_ranges() -> None:
    assert layer_ranges([]) == ""
    assert layer_ranges([3]) == "3"
    assert layer_ranges([4, 0, 1, 2, 6, 7]) == "0–2, 4, 6–7"


def test_a_label_in_a_file_s_name() -> None:
    assert file_word("Qwen/Qwen2.5 (2)") == "Qwen-Qwen2.5--2"
    assert file_word("/ ") == "model"
