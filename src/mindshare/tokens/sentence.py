"""A number of tokens becomes a sentence of random words that brings a prompt to exactly that.

Where a sentence meets its neighbours tokens merge, so the whole prompt is counted each time, by a
function of the caller. A count is a run of the tokenizer, so few are made: first as many words as
about fit, then single words at the end, chosen by what they or words of their length have cost.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mindshare.errors import TokenError

TRIES = 400
TOKENS_PER_WORD = 1.2  # before anything is counted
FIRST_STEP = 4  # words that show what a word costs: a long guess could go beyond a context
MOST_WORDS = 4  # a token: more of them show that counting them leads nowhere
ENDINGS = 8  # words that may be too long in a row before the ones before them are given up
USUAL_LETTERS = 6  # of a word, with its space
LIKELY = 40  # words of about the right length
SHORTEST = 16  # words that may be too long for a sentence of one
SMALL_SHARE = 0.4  # of the words after one that is not small


def random_sentence(n: int, *, count: Callable[[str], int], seed: int, like: str = "") -> str:
    """A capitalised sentence for which `count` is n: the tokens of the whole prompt with it.

    It has the same space in front and behind as the text `like`. The same seed and the same
    counts make the same sentence.
    """
    trial, words = _Trial(n, count, _space_around(like)), _Words(seed)
    start = _first_words(trial, words)
    try:
        found = _exact(trial, words, start)
    except TokenError:  # words may cost what has nothing to do with their length
        words.by_length = False
        found = _exact(trial, words, start)
    return trial.sentence(found)


@dataclass
class _Trial:
    """Counts sentences, each once, and gives up when that was often enough."""

    n: int
    count: Callable[[str], int]
    around: tuple[str, str]
    counted: dict[str, int] = field(default_factory=dict)

    def need(self, words: Sequence[str]) -> int:
        """How many tokens are missing with these words; negative: how many are too much."""
        sentence = self.sentence(words)
        if sentence not in self.counted:
            if len(self.counted) >= TRIES:
                raise self.missed()
            self.counted[sentence] = self.count(sentence)
        return self.n - self.counted[sentence]

    @property
    def per_letter(self) -> float:
        """What a letter costs, in tokens, spaces counted as letters."""
        short, long = min(self.counted, key=len), max(self.counted, key=len)
        tokens = self.counted[long] - self.counted[short]
        if tokens <= 0 or len(short) == len(long):
            return TOKENS_PER_WORD / USUAL_LETTERS
        return tokens / (len(long) - len(short))

    def sentence(self, words: Sequence[str]) -> str:
        front, back = self.around
        text = " ".join(words)
        return f"{front}{text[0].upper()}{text[1:]}.{back}"

    def missed(self) -> TokenError:
        reached = sorted(set(self.counted.values()), key=lambda number: abs(number - self.n))
        missing = min(reached) - self.n
        nearest = " and ".join(map(str, sorted(reached[:2])))
        return TokenError(
            f"no random sentence was found that makes the prompt {self.n} tokens long; "
            f"{len(self.counted)} were tried, the nearest make it {nearest}",
            next_step=f"ask for {missing} token{'s' if missing > 1 else ''} more"
            if missing > 0
            else "choose another seed, or another number of tokens",
        )


class _Words:
    """The random words of a seed, and the tokens that each has cost at the end of a sentence."""

    def __init__(self, seed: int) -> None:
        # Only `random()` is promised to stay the same in later versions of Python.
        self._random = random.Random(seed).random
        self._first: list[str] = []
        self.cost: dict[str, int] = {}
        self.by_length = True  # what the others should cost; else one token each

    def first(self, number: int) -> list[str]:
        """The first words of the sentence; those of a longer one begin with them."""
        while len(self._first) < number:
            last = self._first[-1] if self._first else "a"
            small = last not in SMALL_WORDS and self._random() < SMALL_SHARE
            word = self.any(SMALL_WORDS if small else WORDS)
            if word != last:
                self._first.append(word)
        return self._first[:number]

    def ending(self, need: int, *, per_letter: float, after: str, small: bool) -> str | None:
        """A word that should cost that many tokens, or fewer; None if all should cost more.

        A small one where that is asked for, if any is as good.
        """
        per_letter = per_letter if self.by_length else 0.0
        usual = per_letter * USUAL_LETTERS
        most = need if need <= 1.5 * usual else max(1, round(usual))
        by_cost: dict[int, list[str]] = {}
        for word in (*WORDS, *SMALL_WORDS):
            expected = self.cost.get(word) or max(1, round(per_letter * (len(word) + 1)))
            if expected <= most and word != after:
                by_cost.setdefault(expected, []).append(word)
        if not by_cost:
            return None
        likely = by_cost[max(by_cost)]
        return self.any([word for word in likely if (word in SMALL_WORDS) == small] or likely)

    def any(self, words: Sequence[str]) -> str:
        return words[int(self._random() * len(words))]


def _first_words(trial: _Trial, words: _Words) -> list[str]:
    """As many words as leave a word or so to go, and never too many: a search by bisection."""
    first = need = trial.need(words.first(1))
    if need < 0:
        return _shortest(trial)
    few, many, per_word, step = 1, math.inf, TOKENS_PER_WORD, float(FIRST_STEP)
    while need > per_word + 1 and many - few > 1 and few < MOST_WORDS * first:
        guess = int(min(few + max(1, min(step, round(need / per_word))), many - 1))
        left = trial.need(words.first(guess))
        per_word, step = max(0.5, (first - left) / (guess - 1)), math.inf
        if left < 0:
            many = guess
        else:
            few, need = guess, left
    chosen = words.first(few)
    return chosen[:-1] if chosen[-1] in SMALL_WORDS else chosen  # not a word to end in


def _shortest(trial: _Trial) -> list[str]:
    """One word that is not too long, where the one the seed begins with is."""
    for word in sorted((*SMALL_WORDS, *WORDS), key=len)[:SHORTEST]:
        if trial.need([word]) >= 0:
            return [word]
    raise trial.missed()


def _exact(trial: _Trial, words: _Words, start: Sequence[str]) -> list[str]:
    """These words, changed at the end until no token is missing."""
    chosen, failed, dropped = list(start), 0, 0  # failed: words in a row that were too long
    for _ in range(TRIES):
        need = trial.need(chosen)
        if need == 0:
            return chosen
        # A sentence had better not end in a small word, but those may be the only cheap ones.
        small = failed >= ENDINGS // 2
        word = words.ending(need, per_letter=trial.per_letter, after=chosen[-1], small=small)
        if word is None or failed == ENDINGS:
            failed, dropped = 0, dropped + 1
            chosen = chosen[:-dropped] or _another_start(trial, words, chosen[0])
            continue
        left = trial.need([*chosen, word])
        words.cost[word] = need - left
        chosen, failed = ([*chosen, word], 0) if left >= 0 else (chosen, failed + 1)
    raise trial.missed()


def _another_start(trial: _Trial, words: _Words, last: str) -> list[str]:
    """Another first word, of about the length that this one should have had."""
    letters = len(last) + trial.need([last]) / trial.per_letter
    likely = sorted((*WORDS, *SMALL_WORDS), key=lambda word: abs(len(word) - letters))[:LIKELY]
    for _ in range(ENDINGS):
        word = words.any(likely)
        if trial.need([word]) >= 0:
            return [word]
    return _shortest(trial)


def _space_around(like: str) -> tuple[str, str]:
    inner = like.strip()
    if not inner:  # nothing but space: the last of it keeps the sentence from what follows
        return "", like[-1:]
    at = like.index(inner)
    return like[:at], like[at + len(inner) :]


# The order of the words is part of what a seed means: one put in or taken out changes every
# sentence.
_SMALL = "a an the of in on at by to from with for and or but as near over under its"
SMALL_WORDS = tuple(_SMALL.split())
WORDS = tuple(Path(__file__).with_name("words.txt").read_text(encoding="utf-8").split())
