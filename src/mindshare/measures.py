"""The registry of measures: the name, definition, formula, unit and scale of every number.

Column definitions, flags, axis titles, captions, formulas, reports and docs/measures.md read it;
nothing restates it. To add a measure: an entry here, and the code that computes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

# The tokens whose numbers a response compares. Whether the first token is one of them is an option
# of the study, so a table replaces the general wording by its own: see `tables.defined`.
COMPARED = "the compared tokens (matched in both versions{})"
COMPARED_ANY = COMPARED.format("; without the prompt's first token unless it is counted")


@dataclass(frozen=True)
class Measure:
    """One measure: a column of a table, and the value of flags such as `--measure`."""

    name: str  # of its column; what people read is its `word`
    level: str  # what a number belongs to: class, head, key, prompt, response (a head's), phase,
    # effect (an intervention's)
    table: str  # whose column it is
    statistic: str  # what the attention kernels must compute for it
    definition: str  # goes into the metadata of every column of this name
    short: str  # one line for captions, to follow the title and a colon
    latex: str  # one equation
    called: str = ""  # what a reader calls it; "": as its column
    symbols: tuple[str, ...] = ()  # keys of `SYMBOLS`: letters of the equation beside A, Q and C
    unit: str = ""  # tokens, nats, bits, ratio, per token; "": a fraction of 1
    neutral: float | None = None  # the value of no effect: 1 for ratios, 0 for changes
    additive: bool = False  # sums to a whole over the classes, so that bars may be stacked
    scale: str = "zero"  # of colours: from zero, diverging (around neutral) or falling (from 1)
    needs: tuple[str, ...] = ()  # measures that its definition refers to
    optional: bool = False  # a column only where the study asks for it
    known_as: tuple[str, float] | None = None  # what a head is called from this value on
    below: str = ""  # what a number below neutral says

    @property
    def word(self) -> str:
        """`mass` → `attention share`, `peak_shift` → `peak shift`"""
        return self.called or self.name.replace("_", " ")

    @property
    def title(self) -> str:
        """In titles, along axes and in captions: `Attention share`"""
        return f"{self.word[0].upper()}{self.word[1:]}"

    @property
    def heading(self) -> str:
        """Over its definition, with the name that others use: `Attention share (mass)`"""
        return f"{self.title} ({self.name})" if self.called else self.title

    @property
    def mathml(self) -> str:
        """The equation as a `<math>` element."""
        from latex2mathml.converter import convert

        # The converter sets \mathrm letter by letter, which screen readers spell out, and puts
        # limits beside sums.
        words = re.sub(r"\\mathrm\{(.*?)\}", lambda m: rf"\text{{{m[1]}}}", self.latex)
        limits = re.sub(r"\\(sum|max)_", r"\\\1\\limits_", words.replace(r"\_", "_"))
        return convert(limits, display="block")


_of_class = partial(Measure, level="class", table="mass", statistic="mass")
_of_head = partial(Measure, level="head", table="heads")
_of_response = partial(
    Measure, level="response", table="response", statistic="insertion", needs=("received",)
)
_of_effect = partial(
    Measure, level="effect", table="effects", statistic="effect", symbols=("K",), neutral=0.0
)
_of_rescaling = partial(Measure, level="response", table="rescaling", statistic="insertion")

_REGISTRY = (
    # What a set of queries gives to a class of keys: one number per layer, head and class.
    _of_class(
        "mass",
        called="attention share",
        definition="mean over Q of the sum over the class's keys j of A[i,j]; 0..1, the classes "
        "sum to 1",
        short="attention to the class's tokens, mean over the query set",
        latex=r"\mathrm{mass}(C) = \frac{1}{|Q|} \sum_{i \in Q} \sum_{j \in C} A_{ij}",
        additive=True,
    ),
    _of_class(
        "share",
        called="relative share",
        definition="mass / sum of mass over the classes that were named (not 'other'); 0..1",
        short="attention to the class's tokens / to those of all named classes",
        latex=r"\mathrm{share}(C) = \frac{\mathrm{mass}(C)}{\sum_{D} \mathrm{mass}(D)}",
        symbols=("D",),
        additive=True,
        needs=("mass",),
    ),
    _of_class(
        "density",
        called="attention per token",
        definition="mass / number of key tokens in the class; per token",
        short="attention share / number of tokens in the class",
        latex=r"\mathrm{density}(C) = \frac{\mathrm{mass}(C)}{|C|}",
        unit="per token",
        needs=("mass",),
    ),
    _of_class(
        "expected",
        called="uniform share",
        definition="mass that uniform attention over the visible keys would give the class; 0..1",
        short="attention share if attention were uniform over the visible tokens",
        latex=r"\mathrm{expected}(C) = \frac{1}{|Q|} \sum_{i \in Q} \frac{|C \cap V_i|}{|V_i|}",
        symbols=("V",),
        additive=True,
    ),
    _of_class(
        "lift",
        called="relative attention",
        definition="mass / expected; ratio, 1 = no preference",
        short="attention share / that under uniform attention; 1 = no preference",
        latex=r"\mathrm{lift}(C) = \frac{\mathrm{mass}(C)}{\mathrm{expected}(C)}",
        unit="ratio",
        neutral=1.0,
        needs=("mass", "expected"),
    ),
    _of_class(
        "contribution",
        statistic="contribution",
        definition="mean over Q of <o_C, o> / |o|^2, o being the head's output and o_C the part of "
        "it that the class's keys gave: sum over j in C of A[i,j] v_j; the classes sum to 1",
        short="share of the heads' output that came from the class's tokens",
        latex=r"\mathrm{contribution}(C) = \frac{1}{|Q|} \sum_{i \in Q} "
        r"\frac{\langle o_{i,C}, o_i \rangle}{\| o_i \|^2} , \quad "
        r"o_{i,C} = \sum_{j \in C} A_{ij} v_j",
        symbols=("v", "o"),
        additive=True,
        optional=True,
    ),
    # How a set of queries attends: one number per layer and head.
    _of_head(
        "entropy",
        statistic="entropy",
        definition="mean over Q of -sum over j of A[i,j] log A[i,j]; nats",
        short="how widely a query spreads its attention, mean over the query set, in nats",
        latex=r"\mathrm{entropy} = -\frac{1}{|Q|} \sum_{i \in Q} \sum_{j} A_{ij} \log A_{ij}",
        unit="nats",
    ),
    _of_head(
        "perplexity",
        statistic="entropy",
        definition="exp(entropy); tokens",
        short="over how many tokens a query spreads its attention: exp(entropy)",
        latex=r"\mathrm{perplexity} = \exp(\mathrm{entropy})",
        unit="tokens",
        needs=("entropy",),
    ),
    _of_head(
        "distance",
        statistic="distance",
        definition="mean over Q of the sum over j of A[i,j] (i - j); tokens",
        short="how far back a query attends, mean over the query set, in tokens",
        latex=r"\mathrm{distance} = \frac{1}{|Q|} \sum_{i \in Q} \sum_{j} A_{ij} (i - j)",
        unit="tokens",
    ),
    _of_head(
        "peak",
        statistic="peak",
        definition="mean over Q of the largest A[i,j] of the query; 0..1",
        short="the largest weight of a query, mean over the query set",
        latex=r"\mathrm{peak} = \frac{1}{|Q|} \sum_{i \in Q} \max_{j} A_{ij}",
        optional=True,
    ),
    _of_head(
        "previous",
        statistic="previous",
        definition="mean over Q of A[i,i-1], the weight on the token before; 0 for the first; 0..1",
        short="the weight on the token before, mean over the query set",
        latex=r"\mathrm{previous} = \frac{1}{|Q|} \sum_{i \in Q} A_{i,i-1}",
        optional=True,
        known_as=("previous token", 0.5),
    ),
    _of_head(
        "induction",
        statistic="induction",
        definition="mean over Q of the sum of A[i,j+1] over the earlier tokens j that are the same "
        "as token i: the weight on what followed it before; 0..1",
        short="the weight on what followed the same token before, mean over the query set",
        latex=r"\mathrm{induction} = \frac{1}{|Q|} \sum_{i \in Q} "
        r"\sum_{j < i, \, x_j = x_i} A_{i,j+1}",
        symbols=("x",),
        optional=True,
        known_as=("induction", 0.3),
    ),
    _of_head(
        "duplicate",
        statistic="duplicate",
        definition="mean over Q of the sum of A[i,j] over the earlier tokens j that are the same "
        "as token i; 0..1",
        short="the weight on earlier occurrences of the same token, mean over the query set",
        latex=r"\mathrm{duplicate} = \frac{1}{|Q|} \sum_{i \in Q} "
        r"\sum_{j < i, \, x_j = x_i} A_{ij}",
        symbols=("x",),
        optional=True,
    ),
    _of_head(
        "first_token",
        statistic="mass",
        definition="mean over Q of A[i,0]: what the first token gets, diagonal included; 0..1",
        short="attention to the first token, mean over the query set",
        latex=r"\mathrm{first\_token} = \frac{1}{|Q|} \sum_{i \in Q} A_{i0}",
        known_as=("sink", 0.3),
    ),
    # What one key receives from the queries after it.
    Measure(
        "received",
        called="attention received",
        level="key",
        table="received",
        statistic="received",
        definition="mean of A[i,j] over the queries i of Q with i > j + near (near in the study: "
        "0 = below the diagonal, -1 = with it); 0..1",
        short="attention that a token gets from the queries after it, mean over these",
        latex=r"\mathrm{received}(j) = \frac{1}{n_j} \sum_{i \in Q, \, i > j} A_{ij}",
        symbols=("n",),
    ),
    Measure(
        "sink_rate",
        level="prompt",
        table="prompts",
        statistic="mass",
        definition="share of all heads of the measured layers, whichever heads were asked for, "
        "with first_token above 0.3; 0..1",
        short="share of the heads that give the first token more than 0.3",
        latex=r"\mathrm{sink\_rate} = \frac{1}{|L|} "
        r"\left| \{ l \in L : \mathrm{first\_token}_l > 0.3 \} \right|",
        symbols=("L",),
        needs=("first_token",),
    ),
    # A head's response to an insertion, from what the same tokens receive without and with it …
    _of_response(
        "amplitude",
        called="attention level",
        definition=f"sum of received_with / sum of received_without over {COMPARED_ANY}; ratio",
        short="what the original tokens receive in all, with the insertion / without",
        latex=r"\mathrm{amplitude} = \frac{\sum_{j \in M} b_j}{\sum_{j \in M} a_j}",
        symbols=("M",),
        unit="ratio",
        neutral=1.0,
        scale="diverging",
    ),
    _of_response(
        "shape",
        definition=f"Pearson correlation of received_with and received_without over {COMPARED_ANY}",
        short="correlation of what the original tokens receive without and with the insertion",
        latex=r"\mathrm{shape} = \mathrm{corr}(a, b)",
        symbols=("M",),
        scale="falling",
    ),
    _of_response(
        "entropy_change",
        called="change in evenness",
        definition="entropy of received_with minus that of received_without, each normalised to "
        f"sum to 1 over {COMPARED_ANY}; nats",
        short="how much more evenly original tokens are attended to with the insertion, in nats",
        latex=r"\mathrm{entropy\_change} = H\left(\frac{b}{\sum_{j \in M} b_j}\right) "
        r"- H\left(\frac{a}{\sum_{j \in M} a_j}\right)",
        symbols=("M", "H"),
        unit="nats",
        neutral=0.0,
        scale="diverging",
    ),
    _of_response(
        "divergence",
        called="attention shift",
        definition="Jensen-Shannon divergence of received_with and received_without, each "
        f"normalised to sum to 1 over {COMPARED_ANY}; bits, 0..1",
        short="Jensen–Shannon divergence of what the original tokens receive without and with "
        "the insertion, in bits",
        latex=r"\mathrm{divergence} = \mathrm{JS}\left(\frac{a}{\sum_{j \in M} a_j}, "
        r"\frac{b}{\sum_{j \in M} b_j}\right)",
        symbols=("M", "JS"),
        unit="bits",
    ),
    _of_response(
        "peak_shift",
        definition="place of the largest received_with minus that of the largest received_without "
        f"among {COMPARED_ANY}, counted in them; above 0 = later in the prompt",
        short="by how many original tokens the highest peak moves; above 0 = later",
        latex=r"\mathrm{peak\_shift} = \mathrm{argmax}_{j \in M} \, b_j "
        r"- \mathrm{argmax}_{j \in M} \, a_j",
        symbols=("M",),
        unit="tokens",
        neutral=0.0,
        scale="diverging",
    ),
    _of_response(
        "peak_ratio",
        called="highest peak",
        definition=f"largest received_with / largest received_without over {COMPARED_ANY}; ratio",
        short="highest peak of the original tokens, with the insertion / without",
        latex=r"\mathrm{peak\_ratio} = \frac{\max_{j \in M} b_j}{\max_{j \in M} a_j}",
        symbols=("M",),
        unit="ratio",
        neutral=1.0,
        scale="diverging",
    ),
    _of_response(
        "attention_left",
        definition=f"share of the queries' attention that goes to {COMPARED_ANY}: sum over them of "
        "received times n_queries, / the largest n_queries, in the version where it is more; 0..1. "
        "Below the floor of the thresholds the head rests: that is too little to be compared, so "
        "its amplitude, shape, entropy_change, divergence and peaks are null",
        short="share of the attention of later tokens that goes to the compared original tokens",
        latex=r"\mathrm{attention\_left} = \frac{1}{\max n} "
        r"\sum_{j \in M} n_j \, \mathrm{received}(j)",
        symbols=("M", "n", "left"),
    ),
    _of_response(
        "weight_evenness",
        called="evenness of attention inside",
        definition="entropy of 'received' (inserted queries counted, unless queries are "
        "original) over the inserted tokens, normalised to sum to 1, / "
        "log of their number; 1 = all get the same",
        short="how evenly the inserted tokens are attended to; 1 = all alike",
        latex=r"\mathrm{weight\_evenness} = \frac{1}{\log |I|} "
        r"H\left(\frac{\mathrm{received}}{\sum_{j \in I} \mathrm{received}(j)}\right)",
        symbols=("I", "H"),
        scale="falling",
    ),
    # … and from its weights: is what was there before only scaled?
    _of_rescaling(
        "retained",
        called="attention retained",
        definition="1 - sum over inserted tokens j of A'[i,j], for an original query i after the "
        "insertion; a head's is the mean over these queries; 0..1",
        short="share of the attention of later tokens that does not go to the inserted ones",
        latex=r"\mathrm{retained}_i = 1 - \sum_{j \in I} A'_{ij}",
        symbols=("I",),
        scale="falling",
    ),
    _of_rescaling(
        "factor",
        definition="mean over these queries i of c[i], the one factor that brings A[i,j] closest "
        "to A'[i,j] over the matched keys j (least squares); the theory says it is 'retained'",
        short="the one factor a query that brings the old weights closest to the new ones",
        latex=r"\mathrm{factor} = \frac{1}{|R|} \sum_{i \in R} c_i , \quad "
        r"c_i = \frac{\sum_{j} A_{ij} A'_{ij}}{\sum_{j} A_{ij}^2}",
        symbols=("I", "R", "c"),
        neutral=1.0,
        scale="diverging",
    ),
    _of_rescaling(
        "affine_r2",
        called="attention explained by rescaling",
        definition="1 - sum of (A'[i,j] - c[i] A[i,j])^2 / sum of A'[i,j]^2 over these queries and "
        "the matched keys: how much of A' is A times one factor a query; uncentred (no intercept, "
        "no mean is taken away); 1 = all",
        short="how much of the new weights is old weights times one factor a query; 1 = all",
        # A prime is a superscript, so a square needs brackets: KaTeX refuses A'_{ij}^2.
        latex=r"\mathrm{affine\_r2} = 1 - \frac{\sum_{ij} (A'_{ij} - c_i A_{ij})^2}"
        r"{\sum_{ij} (A'_{ij})^2}",
        symbols=("I", "c"),
        scale="falling",
    ),
    _of_rescaling(
        "affine_r2_after",
        called="attention explained by rescaling after the insertion",
        definition="affine_r2 with c and the sums over matched keys after the insertion only",
        short="how much of the new weights after the insertion is old weights times one factor a "
        "query; 1 = all",
        latex=r"\mathrm{affine\_r2\_after} = 1 - \frac{\sum_{i, \, j \in F} "
        r"(A'_{ij} - c_i A_{ij})^2}{\sum_{i, \, j \in F} (A'_{ij})^2}",
        symbols=("I", "F"),
        scale="falling",
        needs=("affine_r2",),
    ),
    _of_rescaling(
        "value_evenness",
        called="evenness of values inside",
        definition="squared length of the mean value vector of the inserted tokens / mean of "
        "their squared lengths; 1 = all alike",
        short="how alike the values of the inserted tokens are; 1 = all alike",
        latex=r"\mathrm{value\_evenness} = \frac{\left\| \frac{1}{|I|} \sum_{j \in I} v_j "
        r"\right\|^2}{\frac{1}{|I|} \sum_{j \in I} \| v_j \|^2}",
        symbols=("I", "v"),
        scale="falling",
    ),
    # What an answer y loses with a class of keys hidden from the queries.
    _of_effect(
        "delta_logprob",
        called="change in log-probability",
        definition="log-probability of the answer with the class hidden from Q minus that without "
        "any knock-out, summed over the answer's tokens, each after the true ones; nats, below 0 = "
        "the answer needs what was hidden",
        short="change of the answer's log-probability when the class is hidden, in nats",
        latex=r"\mathrm{delta\_logprob}(C) = \sum_{t} \log p'(y_t) - \log p(y_t)",
        unit="nats",
        scale="diverging",
        below="the answer needs it",
    ),
    _of_effect(
        "delta_logit",
        called="change in lead",
        definition="change of logit(y) - logit(r) at the answer's first token y, r being the "
        "likeliest other token without any knock-out",
        short="change of the answer's lead over its best rival, in logits",
        latex=r"\mathrm{delta\_logit}(C) = (z'_{y_1} - z'_{r}) - (z_{y_1} - z_{r})",
        symbols=("K", "z"),
        scale="diverging",
        below="the answer needs it",
    ),
    _of_effect(
        "kl",
        called="shift of the prediction",
        definition="Kullback-Leibler divergence of the distributions without and with the class "
        "hidden, summed over the positions of the answer; nats",
        short="how far the model's next-token distribution moves when the class is hidden, in nats",
        latex=r"\mathrm{kl}(C) = \sum_{t} \sum_{w} p_t(w) \log \frac{p_t(w)}{p'_t(w)}",
        unit="nats",
        neutral=None,
    ),
    _of_effect(
        "flip",
        called="share of changed answers",
        definition="1 where the likeliest token changes at any position of the answer, else 0; the "
        "mean is the share of prompts",
        short="share of prompts whose likeliest answer changes when the class is hidden",
        latex=r"\mathrm{flip}(C) = [\mathrm{argmax} \, p'_t \neq \mathrm{argmax} \, p_t "
        r"\text{ for some } t]",
        neutral=None,
    ),
    _of_effect(
        "correct",
        called="accuracy",
        definition="1 where the answer is said with the class hidden if only the choices may be "
        "said, each token the likeliest of theirs, else 0; the mean is the accuracy; null without "
        "choices",
        short="accuracy among the choices when the class is hidden",
        latex=r"\mathrm{correct}(C) = [p'_t(y_t) > p'_t(w) \text{ for every other choice } w]",
        neutral=None,
    ),
    _of_effect(
        "first_order",
        called="first-order effect",
        definition="delta_logprob to first order: gradient of the answer's log-probability at the "
        "head's output o, times the change of o that hiding the class brings, (o - o_C) / "
        "(1 - m_C) - o; nats. An estimate: too small, too large or of the wrong sign where the "
        "answer is not linear in o, most of all where the model is sure of it",
        short="change of the answer's log-probability to first order, in nats",
        latex=r"\mathrm{first\_order}(C) = \sum_{i \in Q} \left\langle "
        r"\frac{\partial \log p(y)}{\partial o_i} , "
        r"\frac{o_i - o_{i,C}}{1 - m_{i,C}} - o_i \right\rangle",
        symbols=("K", "o"),
        unit="nats",
        scale="diverging",
        below="the answer needs it",
        optional=True,
    ),
    # Before, inside and after an insertion.
    Measure(
        "received_sum",
        level="phase",
        table="phases",
        statistic="insertion",
        definition="sum of 'received' over the tokens of the phase",
        short="what the tokens before, inside and after the insertion receive in all",
        latex=r"\mathrm{received\_sum}(P) = \sum_{j \in P} \mathrm{received}(j)",
        symbols=("P",),
        needs=("received",),
    ),
)

MEASURES: dict[str, Measure] = {measure.name: measure for measure in _REGISTRY}

# What the letters of the formulas stand for; {tokens} are those that the table compares.
SYMBOLS = {
    "D": "D is every class that was named",
    "V": "V are the tokens that query i can see",
    "n": "n is the number of queries after token j",
    "L": "L are all heads of the measured layers",
    "M": "M are {tokens}; a and b are what they receive without and with the insertion",
    "left": "attention_left is that of the version where it is larger",
    "H": "H is the entropy",
    "JS": "JS is the Jensen–Shannon divergence",
    "I": "A′ is A with the insertion, and I are the inserted tokens",
    "R": "R are the original queries after the insertion",
    "c": "c is one factor for each original query i after the insertion, and here j are all keys "
    "that are matched, the first token too",
    "F": "F are the matched tokens after the insertion, and c is one factor for each query over "
    "these",
    "v": "v is the value vector of a token",
    "x": "x are the token ids",
    "o": "o is the output of the head",
    "K": "p′ is p with the keys of class C hidden from the queries, and t are the answer's tokens",
    "z": "z are the logits",
    "P": "P are the tokens before, inside or after the insertion",
}
_ATTENTION = (
    "A is the attention that query token i gives to key token j, after softmax, as the model uses "
    "it"
)


def at_level(level: str) -> tuple[str, ...]:
    """The names of all measures of a level, in the registry's order."""
    return tuple(name for name, measure in MEASURES.items() if measure.level == level)


def of_knockouts() -> tuple[str, ...]:
    """What knock-outs measure of an answer: all effects but those that a screen estimates."""
    return tuple(name for name in at_level("effect") if not MEASURES[name].optional)


def letters(names: Iterable[str], *, tokens: str = "the matched tokens") -> str:
    """Sentences that explain the letters of these measures' formulas; `tokens` are M."""
    measures = [MEASURES[name] for name in names if name in MEASURES]
    by_class = any(measure.level == "class" for measure in measures)
    sets = "Q is the query set, C the tokens of a class" if by_class else "Q is the query set"
    symbols = dict.fromkeys(symbol for measure in measures for symbol in measure.symbols)
    explained = (SYMBOLS[symbol].format(tokens=tokens) for symbol in symbols)
    return " ".join(f"{sentence}." for sentence in (_ATTENTION, sets, *explained))
