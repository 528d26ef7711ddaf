"""Times of TransformerLens, run by the environment it is installed in: see `peers` in __main__.py.

    python bench/peers.py FOLDER TOKENS …

FOLDER holds the converted SmolLM2. Prints {tokens: {way: seconds of every round}} as JSON. The
plain pass is that of the same weights in this environment.
"""

from __future__ import annotations

import json
import sys
import time

import torch
from transformer_lens.model_bridge import TransformerBridge
from transformers import AutoModelForCausalLM, AutoTokenizer

ROUNDS, CLASSES = 5, 4


def main(folder: str, lengths: list[int]) -> dict[str, dict[str, list[float]]]:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    plain = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    eager = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager"
    )
    bridge = TransformerBridge.boot_transformers(
        folder, hf_model=eager, tokenizer=tokenizer, device="cpu"
    )

    def patterns(ids: torch.Tensor, columns: torch.Tensor) -> None:
        """All matrices by name, then the same masses and column sums."""
        _, cache = bridge.run_with_cache(ids, names_filter=lambda name: "hook_pattern" in name)
        for a in cache.values():
            _ = a @ columns
            _ = a.tril(-1).sum(2)

    times: dict[str, dict[str, list[float]]] = {}
    with torch.inference_mode():
        for tokens in lengths:
            ids = torch.randint(3, 49000, (1, tokens))
            columns = torch.eye(CLASSES)[torch.randint(0, CLASSES, (tokens,))]
            ways = {
                "plain": lambda ids=ids: plain.model(input_ids=ids, use_cache=False),
                "TransformerLens": lambda ids=ids, columns=columns: patterns(ids, columns),
            }
            found = times[str(tokens)] = {name: [] for name in ways}
            for turn in range(ROUNDS + 1):
                for name, run in ways.items():
                    started = time.perf_counter()
                    run()
                    if turn:  # the first one warms up
                        found[name].append(time.perf_counter() - started)
    return times


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], [int(word) for word in sys.argv[2:]])))
