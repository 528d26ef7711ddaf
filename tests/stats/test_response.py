from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial import distance

from mindshare.errors import SelectionError
from mindshare.stats import LABELS, RESPONSE, Thresholds, meanings, respond, thresholds_of
from mindshare.stats.response import compare, evenness, label
from mindshare.tables import SCHEMAS

from .insertions import RESCALING, RUN, as_it_is, one_prompt, random_prompts, tables, with_run

PROFILE = RESPONSE[:6]
USUAL = Thresholds()
X = np.arange(60.0)
profiles = st.lists(st.floats(2**-13, 1, width=32), min_size=3, max_size=40)


def one(a: Any, b: Any) -> dict[str, float]:
    """The numbers of a single head."""
    found = compare(np.array([a], float), np.array([b], float))
    return {name: float(values[0]) for name, values in found.items()}


def drawn(heads: int, tokens: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.random.default_rng(seed).gamma(0.5, 0.05, (2, heads, tokens))
    return a, a * 0.5 + b


def test_scipy_finds_the_same_numbers() -> None:
    a, b = drawn(8, 60)
    a[:, 5] = b[:, 7] = 0  # tokens that get nothing
    found = compare(a, b)
    for i in range(8):
        assert found["shape"][i] == pytest.approx(stats.pearsonr(a[i], b[i]).statistic)
        assert found["divergence"][i] == pytest.approx(distance.jensenshannon(a[i], b[i], 2) ** 2)
        change = stats.entropy(b[i]) - stats.entropy(a[i])  # scipy normalises
        assert found["entropy_change"][i] == pytest.approx(change)
        assert found["amplitude"][i] == pytest.approx(b[i].sum() / a[i].sum())


def test_numbers_made_by_hand() -> None:
    found = one([0.2, 0.1, 0.1], [0.1, 0.1, 0.4])
    assert found["amplitude"] == pytest.approx(1.5)
    assert found["peak_ratio"] == pytest.approx(2)
    assert found["peak_shift"] == 2
    assert found["shape"] == pytest.approx(-0.5)
    before, after = 1.5 * np.log(2), np.log(6) - 4 / 6 * np.log(4)
    assert found["entropy_change"] == pytest.approx(after - before)


def test_profiles_that_share_no_token_are_one_bit_apart() -> None:
    found = one([1, 0, 0.5, 0], [0, 1, 0, 0.5])
    assert found["divergence"] == pytest.approx(1)
    assert one([1, 2, 3], [1, 2, 3])["divergence"] == 0


@given(profiles, st.floats(0.05, 20))
def test_a_profile_times_a_number_changes_its_amplitude_only(a: list[float], c: float) -> None:
    found = one(a, np.array(a) * c)
    assert found["amplitude"] == pytest.approx(c)
    assert found["peak_ratio"] == pytest.approx(c)
    assert found["divergence"] == pytest.approx(0, abs=1e-9)
    assert found["entropy_change"] == pytest.approx(0, abs=1e-9)
    if max(a) > min(a) * (1 + 1e-4):
        assert found["shape"] == pytest.approx(1)
        assert found["peak_shift"] == 0


@given(st.data())
def test_exchanging_the_versions_turns_the_numbers_round(data: Any) -> None:
    a = data.draw(profiles)
    b = data.draw(st.lists(st.floats(2**-13, 1, width=32), min_size=len(a), max_size=len(a)))
    there, back = one(a, b), one(b, a)
    assert there["amplitude"] * back["amplitude"] == pytest.approx(1)
    assert there["peak_ratio"] * back["peak_ratio"] == pytest.approx(1)
    assert there["entropy_change"] == pytest.approx(-back["entropy_change"], abs=1e-12)
    for name in ("shape", "divergence"):
        assert there[name] == pytest.approx(back[name], nan_ok=True)
    assert 0 <= there["divergence"] <= 1
    assert np.isnan(there["peak_shift"]) or there["peak_shift"] == -back["peak_shift"]


@given(st.data())
def test_the_order_of_the_tokens_matters_to_the_place_of_the_peak_only(data: Any) -> None:
    a = data.draw(profiles)
    b = data.draw(st.permutations(a))
    order = data.draw(st.permutations(range(len(a))))
    ours, theirs = one(a, b), one(np.array(a)[order], np.array(b)[order])
    for name in set(PROFILE) - {"peak_shift"}:
        assert ours[name] == pytest.approx(theirs[name], abs=1e-9, nan_ok=True)


def test_what_does_not_exist_is_nan_and_no_warning() -> None:
    flat, empty, usual = [0.1, 0.1, 0.1], [0, 0, 0], [0.1, 0.3, 0.2]
    rounding = np.float32([0.1, 0.1, 0.1]) * np.float32([1, 1 + 1e-6, 1 - 1e-6])
    for a in (flat, rounding):
        found = one(a, usual)
        assert {name for name, x in found.items() if np.isnan(x)} == {"shape", "peak_shift"}
    assert {name for name, x in one(usual, empty).items() if not np.isnan(x)} == {
        "amplitude",
        "peak_ratio",
    }
    assert all(np.isnan(x) for x in one(empty, usual).values())
    assert all(np.isnan(x) for x in one([0.1], [0.2]).values())
    assert all(np.isnan(x) for x in one([], []).values())


def test_evenness_is_entropy_against_its_largest_value() -> None:
    uneven = np.array([[0.5, 0.1, 0.1], [0.2, 0.2, 0.2], [0.3, 0, 0]])
    expected = [stats.entropy(uneven[0], base=3), 1, 0]
    assert evenness(uneven).tolist() == pytest.approx(expected)
    last = np.array([[0.4, 0.1, np.nan]])  # no query after it
    assert evenness(last).tolist() == pytest.approx([stats.entropy([0.4, 0.1], base=2)])
    assert np.isnan(evenness(np.array([[0.4], [0.0]]))).all()
    assert np.isnan(evenness(np.zeros((2, 4)))).all()


def test_one_row_per_prompt_condition_and_head() -> None:
    prompts = random_prompts(2)
    found = respond(*tables(prompts))
    assert found.schema.equals(SCHEMAS["response"])
    assert found.num_rows == 2 * 2 * 6
    row = found.to_pylist()[6 + 4]
    assert [row[n] for n in ("prompt", "condition", "layer", "head")] == ["p0", "sentence", 1, 1]
    assert row["amplitude"] == pytest.approx(0.5)  # the sentence halves every weight
    assert row["shape"] == pytest.approx(1)
    assert row["label"] == "damped"
    ours = found.to_pylist()[4]
    a = prompts["p0"]["without"].received[1, 1, :-1]
    b = np.delete(prompts["p0"][RUN].received[1, 1], [4, 5, 6])[:-1]
    assert [ours[name] for name in PROFILE] == pytest.approx(
        [one(a, b)[name] for name in PROFILE], rel=1e-5
    )


def test_matched_tokens_are_compared_and_no_others() -> None:
    cut = replace(
        as_it_is([0.3, 9.0, 9.0, 0.1, 0.2]),
        parts=["original", "seam", "unmatched", "original", "original"],
        partners=[0, None, None, 2, 3],
    )
    prompts = {"p": {"without": as_it_is([0.6, 9.0, 0.2, 0.4]), "x": cut}}
    (row,) = respond(*tables(prompts)).to_pylist()
    assert row["amplitude"] == pytest.approx(0.5)
    assert row["shape"] == pytest.approx(1)


def test_the_inserted_tokens_have_their_evenness() -> None:
    even = respond(*tables(one_prompt([0.1, 0.2], [0.1, 0.2], run=[0.1] * 4)))
    assert even["weight_evenness"].to_pylist() == pytest.approx([1])
    seam = replace(
        with_run([0.1, 0.2], [0.9, 0.3, 0.1], 1),
        parts=["original", "seam", "inserted", "inserted", "original"],
    )
    found = respond(*tables({"p": {"without": as_it_is([0.1, 0.2]), "x": seam}}))
    uneven = -(0.75 * np.log2(0.75) + 0.25 * np.log2(0.25))
    assert found["weight_evenness"].to_pylist() == pytest.approx([uneven])
    single = respond(*tables(one_prompt([0.1, 0.2], [0.1, 0.2], run=[0.1])))
    assert single["weight_evenness"].to_pylist() == [None]


def test_the_first_token_can_be_left_out() -> None:
    a, b = [0.9, 0.1, 0.2, 0.3], [0.3, 0.2, 0.4, 0.6]
    sequence, places, rescaling = tables(one_prompt(a, b))
    (whole,) = respond(sequence, places, rescaling).to_pylist()
    assert whole["amplitude"] == pytest.approx(1)
    found = respond(sequence, places, rescaling, drop_first=True)
    (row,) = found.to_pylist()
    assert (row["amplitude"], row["shape"]) == (pytest.approx(2), pytest.approx(1))
    assert row["label"] == "amplified"
    assert found.schema.metadata[b"mindshare.drop_first"] == b"true"


def test_keys_without_queries_are_left_out() -> None:
    a, b = [0.1, 0.2, 0.3, np.nan], [0.1, 0.2, np.nan, np.nan]
    (row,) = respond(*tables(one_prompt(a, b))).to_pylist()
    assert row["amplitude"] == pytest.approx(1)
    assert row["peak_shift"] == 0


def test_each_head_has_its_own_rescaling() -> None:
    sequence, places, rescaling = tables(random_prompts(1))
    turned = rescaling.take(np.arange(rescaling.num_rows)[::-1])
    found = respond(sequence, places, turned)
    heads = np.array([0.0, 0.1, 0.2, 1.0, 1.1, 1.2] * 2)
    for i, name in enumerate(RESCALING):
        assert found[name].to_pylist() == pytest.approx((heads + 100 * i).tolist())
    fewer = respond(sequence, places, rescaling.filter(pc.equal(rescaling["layer"], 1)))
    assert fewer["retained"].to_pylist()[:3] == [None] * 3
    assert fewer["retained"].to_pylist()[3] == 1


def test_degenerate_heads_have_no_label() -> None:
    flat = respond(*tables(one_prompt([0.1, 0.1], [0.1, 0.2]))).to_pylist()[0]
    assert (flat["shape"], flat["peak_shift"], flat["label"]) == (None, None, None)
    nobody = replace(with_run([0.1, 0.2], [0.3, 0.1], 1), partners=[None] * 4)
    prompts = {"p": {"without": as_it_is([0.1, 0.2]), "x": nobody}}
    (row,) = respond(*tables(prompts)).to_pylist()
    assert [row[name] for name in (*PROFILE, "label")] == [None] * 7
    assert row["weight_evenness"] is not None


def test_a_head_that_gives_the_tokens_next_to_nothing_rests() -> None:
    """All but a millionth goes to the first token: how the rest is spread is chance."""
    rest = np.array([0.999998, 5e-7, 1e-7, 2e-7])
    usual = np.array([0.4, 0.3, 0.2, 0.1])
    prompts = one_prompt([rest, usual], [rest[[0, 3, 1, 2]], usual / 2])
    found = respond(*tables(prompts), drop_first=True)
    resting, other = found.to_pylist()
    assert [resting[name] for name in PROFILE] == [None] * 6
    assert resting["label"] == "resting"
    assert resting["attention_left"] == pytest.approx((5e-7 * 2 + 1e-7) / 3)
    assert (resting["retained"], resting["weight_evenness"]) == (0, 1)  # not of the profile
    assert (other["label"], other["amplitude"]) == ("damped", pytest.approx(0.5))
    assert other["attention_left"] == pytest.approx((0.3 * 2 + 0.2 * 1) / 3)


def test_no_head_rests_where_the_first_token_counts_or_the_floor_is_0() -> None:
    rest = [0.999998, 5e-7, 1e-7, 2e-7]
    content = tables(one_prompt(rest, rest[::-1]))
    assert respond(*content)["label"].to_pylist() == ["reconfigured"]
    found = respond(*content, drop_first=True, thresholds=Thresholds(floor=0))
    assert found["label"].to_pylist() != ["resting"]
    assert None not in found["amplitude"].to_pylist()


@pytest.mark.parametrize(("tokens", "word"), [(2, None), (3, "reconfigured")])
def test_two_compared_tokens_have_no_shape_and_no_label(tokens: int, word: str | None) -> None:
    """The correlation of two is ±1, whatever happened."""
    usual = np.array([0.4, 0.3, 0.2])[:tokens]
    (row,) = respond(*tables(one_prompt(usual, usual[::-1]))).to_pylist()
    assert (row["shape"] is None) == (word is None)
    assert row["label"] == word
    assert row["amplitude"] == pytest.approx(1)


def test_what_the_insertion_takes_away_is_no_rest() -> None:
    """Much without it and nothing with it is an answer: the larger of both counts."""
    usual = np.array([0.4, 0.3, 0.2, 0.1])
    for a, b in ((usual, usual * 1e-6), (usual * 1e-6, usual)):
        (row,) = respond(*tables(one_prompt(a, b)), drop_first=True).to_pylist()
        assert row["label"] in ("damped", "amplified")
        assert row["attention_left"] > 0.1


def test_the_columns_say_whether_the_first_token_counts() -> None:
    content = tables(random_prompts(1))
    for drop_first, words in ((True, "without the prompt's first"), (False, "first token counted")):
        found = respond(*content, drop_first=drop_first)
        for name in (*PROFILE, "attention_left"):
            definition = found.schema.field(name).metadata[b"definition"].decode()
            assert words in definition, definition
        other = found.schema.field("retained").metadata[b"definition"].decode()
        assert "first token" not in other


def test_nothing_inserted_changes_nothing() -> None:
    same = as_it_is(drawn(4, 20)[0])
    found = respond(*tables({"p": {"without": same, "/ ×0": same}}))
    assert found["label"].to_pylist() == ["unchanged"] * 4
    assert found["amplitude"].to_pylist() == [1.0] * 4
    assert found["divergence"].to_pylist() == [0.0] * 4
    assert found["weight_evenness"].to_pylist() == [None] * 4


def test_the_table_says_how_it_was_made() -> None:
    given_ = Thresholds(shape=0.9, amplitude=3)
    found = respond(*tables(random_prompts(1)), thresholds=given_)
    about = {k.decode(): v.decode() for k, v in found.schema.metadata.items()}
    assert json.loads(about.pop("mindshare.thresholds")) == asdict(given_)
    assert about == {"mindshare.study": "abc", "mindshare.drop_first": "false"}
    assert "damped" not in found["label"].to_pylist()  # halved, but 3 is asked for


def test_anyone_comes_to_the_same_labels_from_the_table() -> None:
    mine = Thresholds(amplitude=1.5)
    found = respond(*tables(random_prompts(4)), thresholds=mine)
    names = (*PROFILE, "attention_left")
    again = label({name: found[name].to_numpy() for name in names}, mine)
    assert found["label"].to_pylist() == again.tolist()
    assert len(set(again)) > 1


def test_what_is_no_rescaling_table_is_refused() -> None:
    sequence, places, rescaling = tables(random_prompts(1))
    with pytest.raises(SelectionError, match="no column 'factor'"):
        respond(sequence, places, rescaling.drop_columns(["factor"]))
    with pytest.raises(SelectionError, match="give the `sequence` table"):
        respond(pa.table({"prompt": ["p"]}), places, rescaling)


# Labels.


def called(
    *, shape: float = 1, entropy_change: float = 0, peak_ratio: float = 1, amplitude: float = 1
) -> str | None:
    """The label of one head with these numbers."""
    numbers = {
        "shape": np.array([shape]),
        "entropy_change": np.array([entropy_change]),
        "peak_ratio": np.array([peak_ratio]),
        "amplitude": np.array([amplitude]),
    }
    (word,) = label(numbers, USUAL)
    return word  # type: ignore[no-any-return]


def compared(a: np.ndarray, b: np.ndarray) -> str | None:
    (word,) = label(compare(a[None], b[None]), USUAL)
    return word  # type: ignore[no-any-return]


def peak(place: float, height: float, width: float = 0.7) -> np.ndarray:
    found: np.ndarray = height * np.exp(-0.5 * ((X - place) / width) ** 2)
    return found


def noise(seed: int, size: float) -> np.ndarray:
    return np.abs(np.random.default_rng(seed).normal(0, size, len(X)))


def head_1(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Sharp peaks at 15, 25 and 30 (0.175) become broad, lower humps, the highest 0.10 near 25."""
    a = 0.008 + noise(seed, 0.008) + peak(15, 0.16) + peak(25, 0.13) + peak(30, 0.12)
    b = 0.01 + noise(seed + 99, 0.006) + peak(15, 0.05, 2.5) + peak(25, 0.08, 2.5)
    return a, b + peak(30, 0.05, 2.5)


def head_2(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Low for 20 tokens, then a noisy rise to 0.08 near 50; with the run the same up to 0.12."""
    rough = np.exp(noise(seed, 0.25))
    a = (0.012 + 0.05 * np.clip((X - 20) / 30, 0, 1)) * rough
    return a, a * (1.2 + 0.3 * (X > 30)) * np.exp(noise(seed + 99, 0.15))


def head_8(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A flat floor with peaks of 0.08 after 40; with the run a jagged rise from 30 to 0.20."""
    a = 0.006 + noise(seed, 0.003) + peak(43, 0.08) + peak(49, 0.05) + peak(54, 0.06)
    rise = np.clip((X - 30) / 30, 0, 1) * 0.09 * np.exp(noise(seed + 99, 0.5))
    return a, 0.03 + noise(seed + 7, 0.01) + rise + peak(58, 0.08)


@pytest.mark.parametrize(
    ("head", "word"), [(head_1, "smoothed"), (head_2, "amplified"), (head_8, "reconfigured")]
)
def test_the_three_heads_of_the_published_picture(
    head: Callable[[int], tuple[np.ndarray, np.ndarray]], word: str
) -> None:
    for seed in range(20):
        a, b = head(seed)
        assert compared(a, b) == word


def test_what_was_smoothed_is_sharpened_the_other_way() -> None:
    smooth, sharp = head_1(0)[::-1]
    assert compared(smooth, sharp) == "sharpened"


@given(
    st.floats(-1, 1), st.floats(-1, 1), st.floats(0.2, 5), st.floats(0.2, 5)
)  # fmt: skip
def test_exchanging_the_versions_turns_the_label_round(
    shape: float, entropy: float, ratio: float, amplitude: float
) -> None:
    for moved, line in ((ratio, 1.2), (amplitude, 1.2), (ratio / amplitude, 1.2)):
        assume(abs(abs(np.log(moved)) - np.log(line)) > 1e-9)  # rounding decides on the line
    there = called(shape=shape, entropy_change=entropy, peak_ratio=ratio, amplitude=amplitude)
    back = called(
        shape=shape, entropy_change=-entropy, peak_ratio=1 / ratio, amplitude=1 / amplitude
    )
    other = {"smoothed": "sharpened", "amplified": "damped"}
    other |= {right: left for left, right in other.items()}
    assert there is not None
    assert back == other.get(there, there)


@given(st.lists(st.floats(0.01, 1), min_size=5, max_size=60), st.floats(0.1, 10))
def test_a_profile_times_a_number_is_amplified_damped_or_unchanged(
    profile: list[float], c: float
) -> None:
    assume(max(profile) > 1.01 * min(profile))
    assume(abs(abs(np.log(c)) - np.log(1.2)) > 1e-6)
    expected = "amplified" if c > 1.2 else "damped" if c < 1 / 1.2 else "unchanged"
    assert compared(np.array(profile), np.array(profile) * c) == expected


def test_each_rule_on_its_line() -> None:
    assert called() == "unchanged"
    assert called(amplitude=1.2) == "amplified"
    assert called(amplitude=1.19) == "unchanged"
    assert called(amplitude=0.83, peak_ratio=0.83) == "damped"
    assert called(shape=0.8) == "unchanged"
    assert called(shape=0.79) == "reconfigured"
    assert called(entropy_change=0.1, peak_ratio=0.83) == "smoothed"
    assert called(entropy_change=0.09, peak_ratio=0.83) == "unchanged"
    assert called(entropy_change=0.1, peak_ratio=0.84) == "unchanged"
    assert called(entropy_change=-0.1, peak_ratio=1.2) == "sharpened"


def test_smoothing_may_cost_some_of_the_shape_but_not_all() -> None:
    assert called(shape=0.5, entropy_change=0.3, peak_ratio=0.5) == "smoothed"
    assert called(shape=0.49, entropy_change=0.3, peak_ratio=0.5) == "reconfigured"
    assert called(shape=0.5, entropy_change=-0.3, peak_ratio=2) == "sharpened"


def test_a_peak_that_falls_with_everything_else_is_damped() -> None:
    assert called(entropy_change=0.15, peak_ratio=0.6, amplitude=0.6) == "damped"
    assert called(entropy_change=0.15, peak_ratio=0.45, amplitude=0.6) == "smoothed"


def test_a_profile_that_rises_everywhere_is_not_smoothed() -> None:
    assert called(entropy_change=0.4, peak_ratio=1.5, amplitude=3) == "amplified"
    assert called(shape=0.6, entropy_change=0.4, peak_ratio=1.5, amplitude=3) == "reconfigured"


@pytest.mark.parametrize("name", ["shape", "entropy_change", "peak_ratio", "amplitude"])
def test_a_missing_number_is_no_label(name: str) -> None:
    assert called(**{name: np.nan}) is None


def test_many_heads_at_once() -> None:
    numbers = {
        "shape": np.array([1, 1, 0.2, np.nan]),
        "entropy_change": np.zeros(4),
        "peak_ratio": np.ones(4),
        "amplitude": np.array([2, 0.0, 1, 1]),
    }
    assert label(numbers, USUAL).tolist() == ["amplified", "damped", "reconfigured", None]
    assert set(label(numbers, USUAL).tolist()) <= {*LABELS, None}


def test_below_the_floor_a_head_rests_whatever_its_numbers() -> None:
    numbers = {
        "shape": np.array([1, np.nan, 1]),
        "entropy_change": np.zeros(3),
        "peak_ratio": np.ones(3),
        "amplitude": np.array([2.0, 2, 2]),
        "attention_left": np.array([0.0199, 0.001, 0.02]),
    }
    assert label(numbers, USUAL).tolist() == ["resting", "resting", "amplified"]


def test_every_label_has_a_sentence_with_its_thresholds() -> None:
    told = meanings(Thresholds(amplitude=1.5, floor=0.03))
    assert set(told) == set(LABELS)
    assert "1.5 times as much" in told["amplified"]
    assert "less than 0.03 of its attention" in told["resting"]


def test_thresholds_travel_with_the_table() -> None:
    mine = Thresholds(shape=0.9, entropy=0.25)
    content = pa.table({"x": [1]})
    assert thresholds_of(content.replace_schema_metadata(mine.metadata())) == mine
    assert thresholds_of(content) == USUAL


@pytest.mark.parametrize(
    "wrong",
    [
        {"shape": 1.5},
        {"lost": 0.9},
        {"amplitude": 1},
        {"peak": 0.8},
        {"entropy": 0},
        {"entropy": float("nan")},
        {"shape": float("nan")},
        {"floor": -0.1},
        {"floor": 1},
    ],
)
def test_thresholds_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(SelectionError, match=f"{next(iter(wrong))}="):
        Thresholds(**wrong)
