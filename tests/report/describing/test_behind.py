from __future__ import annotations

import pytest

from mindshare.report.describing.behind import named_behind
from mindshare.report.describing.tokens import Lexer
from mindshare.report.describing.vocabulary import Name, Vocabulary

LEXER = Lexer(Vocabulary({"Base": Name("model", "Base"), "hash": Name("kind", "hash")}))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("0.5 for hash in layer 3", ["hash", "layer 3"]),
        ("0.5 (Base) and hash", ["Base"]),
        ("0.5 (layer 3, head 5), lowest", ["layer 3", "head 5"]),
        ("0.5, hash", []),
        ("0.5 and hash 0.6", []),
        ("0.5 (hash 0.6)", []),
    ],
)
def test_names_behind_a_number(text: str, named: list[str]) -> None:
    tokens = LEXER.tokens(text)
    assert [tokens[j].text for j in named_behind(text, tokens, 0)] == named
