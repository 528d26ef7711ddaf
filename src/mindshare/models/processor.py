"""The arithmetic of this machine: what decides the last bits of a model's numbers.

MKL, which computes torch's matrix products on most CPUs, splits long sums among its threads. On
AVX-512 processors one and two threads then give other bits (seen with sums of 1,376 numbers). Its
strict mode does not on Intel's; on AMD's it is accepted, and six threads still differ from five. So
the mode is asked for, and what it is worth is looked at: the identity of a model holds a hash of
products, and two machines or numbers of threads are the same if they compute the same bits.

And what decides nothing but time: whether freed memory is kept for the next pass, and when Python
looks for garbage.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

_AUTO, _STRICT = 2, 0x10000  # of MKL's "conditional numerical reproducibility"
_ALL = -1  # asks for the whole setting, not for the kind of processor alone
# Tokens in the products that are compared: those of a short chunk, a short batch, a prompt.
_ROWS = (7, 16, 61)
_WIDEST = 16_384  # wider weights are embeddings, which are looked up, or heads, which are left out
# glibc's names for what `mallopt` sets, and to what: memory is never mapped for one tensor alone,
# never given back, and asked for in steps of 64 MB.
_KEPT = {-4: 0, -1: 2**31 - 1, -2: 64 * 2**20}  # M_MMAP_MAX, M_TRIM_THRESHOLD, M_TOP_PAD


@cache
def keep_memory() -> bool:
    """Keep freed memory in this process for the next pass; True where that was done.

    Else every pass gives its memory back and asks for it again, page by page. The settings are of
    glibc's allocator: elsewhere, or where MALLOC_… in the environment says otherwise, nothing
    changes. The command line and workers do this when they start.
    """
    if any(name.startswith("MALLOC_") for name in os.environ):  # whoever set it has a reason
        return False
    try:
        library = ctypes.CDLL(None)
        _, mallopt = library.gnu_get_libc_version, library.mallopt
    except (OSError, AttributeError, TypeError):  # another system's library, or none by this way
        return False
    return all(mallopt(name, value) == 1 for name, value in _KEPT.items())


@contextmanager
def without_gc() -> Iterator[None]:
    """Inside, nothing looks for garbage among what is imported or read: nearly all of it stays.

    Importing torch and a model's code makes 600,000 objects, and takes a fifth less time. What is
    there at the end counts as old, so that no search of new objects goes through all of it.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if gc.get_freeze_count() == 0:  # else these are someone's who wants them left alone
            gc.freeze()
            gc.unfreeze()  # into the oldest generation
        if before:
            gc.enable()


@cache
def strict_products() -> None:
    """Ask MKL for products that are the same bits on any number of threads.

    Builds of torch without MKL have nothing to ask.
    """
    import torch

    library = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    try:
        mkl = ctypes.CDLL(str(library))
        choose, chosen = mkl.mkl_serv_cbwr_set, mkl.mkl_serv_cbwr_get
    except (OSError, AttributeError):
        return
    if "MKL_CBWR" not in os.environ:  # whoever set it has a reason
        choose(_AUTO | _STRICT)  # refused, without harm, once a product was computed
        if chosen(_ALL) & _STRICT:
            os.environ["MKL_CBWR"] = "AUTO,STRICT"  # for the processes that this one starts


def processor(model: Any) -> str:
    """The kind of processor, and on a CPU a hash of products as wide as this model's weights.

    The products run on the threads that are set now. MKL has other code for narrow products than
    for wide ones: six threads may agree with one for this model and not for another.
    """
    import torch

    device = next(model.parameters()).device
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    strict_products()
    shapes = {tuple(weight.shape[-2:]) for weight in model.parameters() if weight.dim() >= 2}
    shapes = {shape for shape in shapes if max(shape) <= _WIDEST}
    kind = torch.backends.cpu.get_cpu_capability()
    return f"{kind}, products {_product_bits(tuple(sorted(shapes)), torch.get_num_threads())}"


@cache
def _product_bits(shapes: tuple[tuple[int, int], ...], threads: int) -> str:
    """Eight digits that are the same wherever products of these shapes have the same bits."""
    import torch

    del threads  # those of the process: part of the cache's key
    digest = hashlib.sha256()
    for columns, depth in shapes:
        # No random numbers: their bits are torch's affair. These are exact everywhere.
        rows = torch.arange(max(_ROWS) * depth).mul(7919).remainder(2003).float() / 2003 - 0.5
        weight = torch.arange(columns * depth).mul(104729).remainder(1999).float() / 1999 - 0.5
        for count in _ROWS:
            product = rows.reshape(-1, depth)[:count] @ weight.reshape(columns, depth).T
            digest.update(product.numpy().tobytes())
    return digest.hexdigest()[:8]
