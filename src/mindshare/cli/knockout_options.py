"""What `knockout` hides from whom: the options of its study."""

from __future__ import annotations

from typing import Any

from mindshare.cli.groups import option
from mindshare.cli.options import WHAT, ClassOptions, LayerOptions, parse_selection
from mindshare.measures import at_level


class KnockoutOptions(LayerOptions, ClassOptions, panel=WHAT):
    """What is hidden from whom: keywords of `knockout`."""

    measure: str = option("delta_logprob", f"What is drawn: {', '.join(at_level('effect'))}.")
    answer: str = option(
        "given",
        "The answer that is looked at: given (the column answer of the data), another COLUMN of "
        "--data, greedy (what the model itself says), or greedy:5 (up to 5 tokens of it).",
        metavar="COLUMN|greedy",
    )
    choice: tuple[str, ...] = option(
        (),
        "An answer that the right one is told from, repeatable: accuracy among these. (default: "
        "the column choices)",
        metavar="TEXT",
    )
    heads: str = option(
        "together",
        "All heads of a layer together, each by itself, or some by number; 17.4,18.6 are these "
        "heads (LAYER.HEAD) together and no others.",
        metavar="together|each|0,5-9|LAYER.HEAD,…",
    )
    window: int = option(1, "Hide in K layers at once, around each layer.", min=1, metavar="K")
    how: str = option(
        "mask",
        "mask: the rest of the row is renormalised; zero: nothing is; sink: the first token gets "
        "what was taken away; mean: the class's mean output of all prompts takes its place.",
    )
    queries: str = option(
        "last",
        "From whom: last (token of the prompt), answer (it and the answer's tokens), later (every "
        "token after the class), all, span:NAME, class:NAME or after:SPAN.",
        metavar="SET",
    )
    screen: int = option(
        0,
        "With --heads each: estimate all effects from one pass and its gradient, and knock out "
        "only the N largest. (default: knock out all)",
        min=0,
        metavar="N",
    )

    def definition(self) -> dict[str, Any]:
        heads: Any = self.heads
        if "." not in heads and heads not in ("together", "each"):
            heads = parse_selection(heads, "--heads")
        named = self.answer != "given" and not self.answer.startswith("greedy")
        return {
            "measure": self.measure,
            "classes": list(self.class_) or None,
            "policy": self.policy,
            "answer": "given" if named else self.answer,
            "choices": self.choice or None,
            "layers": parse_selection(self.layers, "--layers"),
            "heads": heads,
            "window": self.window,
            "how": self.how,
            "queries": self.queries,
            "screen": self.screen,
        }

    @property
    def answer_column(self) -> str | None:
        return None if self.answer == "given" or self.answer.startswith("greedy") else self.answer
