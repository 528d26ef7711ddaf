"""Models + prompts → measurements → statistics → figures; a chart and its tables stay together.

The doors `shares`, `head_map` and `insertion`. Charts join the two halves of mindshare: they
measure with the left one, and hand tables to the right one.
"""

from __future__ import annotations

from mindshare.charts.chart import Chart
from mindshare.charts.doors import head_map, shares
from mindshare.charts.insertion import insertion

__all__ = ["Chart", "head_map", "insertion", "shares"]
