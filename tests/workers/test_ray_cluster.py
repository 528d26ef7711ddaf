from __future__ import annotations

import pytest

from mindshare.workers.ray_cluster import Share, share_out
from mindshare.workers.transport import WorkerError

EIGHT = {"CPU": 8.0}
FOUR_GPUS = {"CPU": 32.0, "GPU": 4.0}


@pytest.mark.parametrize(
    ("nodes", "asked", "found"),
    [
        ([EIGHT, EIGHT], (None, None, 0), (2, Share(8, 0))),
        ([EIGHT, EIGHT], (3, None, 0), (3, Share(4, 0))),
        ([EIGHT, {"CPU": 3.0}], (None, None, 0), (5, Share(2, 0))),
        ([{"CPU": 64.0}], (None, None, 0), (4, Share(16, 0))),
        ([{"CPU": 0.0}, EIGHT], (None, None, 0), (1, Share(8, 0))),
        ([EIGHT], (2, 3, 0), (2, Share(3, 0))),
        ([FOUR_GPUS, FOUR_GPUS], (None, None, 1), (8, Share(8, 1))),
        ([FOUR_GPUS, FOUR_GPUS], (None, None, 2), (4, Share(16, 2))),
        ([FOUR_GPUS], (None, None, 4), (1, Share(32, 4))),
        ([EIGHT], (20, None, 0), (20, Share(1, 0))),  # those without room wait for it
    ],
)
def test_what_each_worker_gets(
    nodes: list[dict[str, float]],
    asked: tuple[int | None, int | None, float],
    found: tuple[int, Share],
) -> None:
    workers, cpus, gpus = asked
    assert share_out(nodes, workers=workers, cpus=cpus, gpus=gpus) == found


def test_a_worker_that_fits_nowhere_is_refused_with_what_there_is() -> None:
    with pytest.raises(WorkerError, match="8 GPUs") as caught:
        share_out([FOUR_GPUS, EIGHT], workers=1, cpus=None, gpus=8)
    assert "32 CPU, 4 GPU; 8 CPU, 0 GPU" in str(caught.value)
