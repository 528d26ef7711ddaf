"""Models + prompts → measurements → statistics → figures; a chart and its tables stay together.

Charts join the two halves of mindshare: they measure with the left one, and hand tables to the
right one.
"""

from __future__ import annotations

from mindshare.api.charts import Chart, head_map, shares
from mindshare.api.insertion import insertion
from mindshare.api.knockout import knockout
from mindshare.api.parts import parts

__all__ = ["Chart", "head_map", "insertion", "knockout", "parts", "shares"]
