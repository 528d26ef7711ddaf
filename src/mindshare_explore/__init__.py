"""The explorer: a page on which a person types a prompt, paints what matters, and finds heads.

    mindshare explore smollm2          a server on this machine, and its page in the browser
    mindshare.explore(model, "text")   the same page in a notebook

Uses mindshare like anyone. How it is built stands in docs/explorer.md.
"""

from __future__ import annotations

from mindshare_explore.server import explore

__all__ = ["explore"]
