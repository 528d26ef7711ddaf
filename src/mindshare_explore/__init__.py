"""The explorer: a page on which a person types a prompt, paints what matters, and finds heads.

    mindshare explore smollm2          a server on this machine, and its page in the browser
    mindshare.explore(model, "text")   the same page in a notebook

Uses mindshare like anyone. How it is built stands in docs/explorer.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mindshare_explore.server import explore

__all__ = ["explore"]


def __getattr__(name: str) -> Any:
    """The server is loaded when it is asked for: `mindshare --help` imports this package, too."""
    if name != "explore":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mindshare_explore.server import explore

    return explore
