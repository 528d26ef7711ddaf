"""Machines and numbers of threads have the same name if their products have the same bits."""

from __future__ import annotations

import gc
import os
import platform
import subprocess
import sys
import weakref

import pytest

from mindshare.models.processor import without_gc

SAME = """
import torch
from mindshare.models.processor import processor, strict_products
{before}
strict_products()
torch.manual_seed(0)
bits = dict()
for depth, width in ((1376, 64), (32, 48), (576, 192)):
    layer = torch.nn.Linear(depth, width, bias=False)
    tokens = torch.randn(61, depth)
    for threads in range(1, 9):
        torch.set_num_threads(threads)
        with torch.no_grad():
            found = [layer(tokens[:count]).numpy().tobytes() for count in (7, 16, 61)]
        bits.setdefault((depth, processor(layer)), set()).add(b"".join(found))
print([len(found) for found in bits.values()])
"""


@pytest.mark.parametrize("before", ["", "torch.randn(9, 9) @ torch.randn(9, 9)"])
def test_numbers_of_threads_that_share_a_name_share_every_bit(before: str) -> None:
    """Also where a product was computed first, after which strict products can't be had."""
    code = SAME.format(before=before)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(run.stdout.strip("[]\n").split(", ")) == {"1"}


FREED = """
import psutil
import torch
from mindshare.models.processor import keep_memory

kept = {keep}
memory = psutil.Process().memory_info
tensor = torch.ones(12 * 2**20)  # 48 MB: glibc maps so much by itself, and gives it back
before = memory().rss
del tensor
print(kept, (before - memory().rss) // 2**20)
"""


def freed(keep: str, **environment: str) -> tuple[bool, int]:
    """Whether memory is kept, and how many MB of a tensor of 48 the process gave back."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    run = subprocess.run(
        [sys.executable, "-c", FREED.format(keep=keep)],
        env=others | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    kept, megabytes = run.stdout.split()
    return kept == "True", int(megabytes)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc's")
def test_memory_of_a_tensor_stays_with_the_process() -> None:
    _, usually = freed("False")
    kept, after = freed("keep_memory()")
    assert kept
    assert usually >= 40
    assert after <= 8


def test_settings_of_the_environment_are_left_alone() -> None:
    kept, _ = freed("keep_memory()", MALLOC_ARENA_MAX="2")
    assert not kept


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_is_looked_for_afterwards_as_before(enabled: bool) -> None:
    class Cycle:
        def __init__(self) -> None:
            self.itself = self

    made: list[weakref.ref[Cycle]] = []

    @without_gc()
    def fail() -> None:
        assert not gc.isenabled()
        made.append(weakref.ref(Cycle()))
        raise ZeroDivisionError

    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        with pytest.raises(ZeroDivisionError):
            fail()
        assert gc.isenabled() == enabled
        assert gc.get_freeze_count() == 0
        gc.collect()
        assert made[0]() is None
    finally:
        (gc.enable if before else gc.disable)()


def test_what_someone_froze_stays_frozen() -> None:
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with without_gc():
            pass
        # Not all of them: what is frozen may still be freed, by other threads too.
        assert gc.get_freeze_count() > frozen / 2
    finally:
        gc.unfreeze()
