"""`mindshare.explore(...)`: the page in a frame of a notebook, and a static copy that is saved."""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mindshare_explore.server import Server
    from mindshare_explore.session import Explorer


class ExplorerFrame:
    """Shows itself in a notebook. The server ends with `close`, or with the process."""

    def __init__(self, explorer: Explorer, server: Server, prompt: str | None, height: int) -> None:
        self.explorer, self.server = explorer, server
        self._prompt, self._height = prompt, height

    @property
    def address(self) -> str:
        return self.server.address + (f"#prompt={self._prompt}" if self._prompt else "")

    def __repr__(self) -> str:
        return f"ExplorerFrame({self.address})"

    def _repr_html_(self) -> str:
        """The live page; below it, folded, the page as it was when the cell ran."""
        size = f'style="width:100%;height:{self._height}px;border:0"'
        live = (
            f'<iframe src="{html.escape(self.address)}" {size} title="mindshare explorer"></iframe>'
        )
        saved = self._saved()
        if saved is None:
            return live
        kept = f'<iframe srcdoc="{html.escape(saved)}" {size} title="saved explorer"></iframe>'
        words = "As it was when this cell ran: works without a server"
        return f"{live}<details><summary>{words}</summary>{kept}</details>"

    def _saved(self) -> str | None:
        from mindshare_explore.bundle import one_page

        sources = list(self.explorer.results.values())
        if self._prompt is not None:
            sources = [self.explorer.source(self._prompt)]
        return one_page(self.explorer, sources) if sources else None

    def close(self) -> None:
        self.server.stop()
        self.explorer.close()


def explore(*what: Any, prompt: Any = None, height: int = 760) -> ExplorerFrame:
    """Models (loaded, or by reference) and folders of results, in a frame.

        mindshare.explore("smollm2", prompt="Draw: ##**")
        mindshare.explore("results/maps")

    With a `prompt`, a text or a list of messages, it is measured in the first model first.
    """
    from mindshare.errors import MindshareError
    from mindshare_explore.command import opened
    from mindshare_explore.server import Server
    from mindshare_explore.session import body_of

    explorer = opened([str(one) if isinstance(one, Path) else one for one in what or ("smollm2",)])
    found: str | None = None
    if prompt is not None and explorer.models:
        from mindshare.prompts.given import as_prompts

        label = next(iter(explorer.models))
        (single,) = as_prompts(prompt)
        job = explorer.jobs.wait(explorer.measure(body_of(label, single)))
        if job.problem is not None:
            problem = {k: v for k, v in job.problem.items() if k != "what"}
            raise MindshareError(str(job.problem["what"]), **problem)
        found = job.result
    elif explorer.results:
        found = next(iter(explorer.results))
    server = Server.bind(explorer)
    server.start()
    return ExplorerFrame(explorer, server, found, height)
