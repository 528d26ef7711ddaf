"""Which kernel runs a call. Decided by measurement, the same for the same call, and recorded.

The choice is a fixed table rather than a race at run time: two runs of one study must take the same
path, or their last digits differ. It was made from timings of single attention calls (9 heads of 64
over 3 KV heads, 2 cores); `make bench` times whole passes with the kernels it chooses.
"""

from __future__ import annotations

from mindshare.attention import blockwise, fused, reference
from mindshare.attention.call import AttentionCall, Kernel, Wanted
from mindshare.errors import SelectionError, nearest

KERNELS: dict[str, Kernel] = {
    "reference": reference.run,
    "fused": fused.run,
    "blockwise": blockwise.run,
}


def choose(call: AttentionCall, wanted: Wanted, *, kernel: str = "auto") -> str:
    """The name of the kernel for this call; a kernel asked for by name must be able to run it."""
    if kernel == "auto":
        return _measured_best(call, wanted)
    if kernel not in KERNELS:
        raise SelectionError(
            f"unknown kernel {kernel!r}{nearest(kernel, KERNELS)}",
            allowed=", ".join(("auto", *KERNELS)),
        )
    if kernel == "fused" and not fused.supports(call):
        return "blockwise"  # the fused kernel knows only plain causal attention
    return kernel


def _measured_best(call: AttentionCall, wanted: Wanted) -> str:
    # Masses alone add 0.4 to 0.7 times as much to a call in the fused kernel as in row blocks
    # (256, 1,024 and 4,096 tokens, and 64 prompts of 120).
    only_masses = not (wanted.received or wanted.entropy or wanted.distance)
    if only_masses and fused.supports(call):
        return "fused"
    return "blockwise"
