"""The explorer in Chromium: how soon a page is there, and how soon it answers, at 8,000 tokens.

`python -m bench explorer` prints the table of docs/explorer.md, with what was promised beside it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

LONG, SHORT = 8_000, 64  # tokens
HEADS = "table.heads tbody tr"
LINES = 10  # tokens that are hovered and clicked
# Seconds, megabytes.
TARGETS = {
    "results: command to page": 2.0,
    "64 tokens: typing to picture": 2.0,
    "first paint": 1.0,
    "hover to colours, slowest": 0.1,
    "click to row, slowest": 0.3,
    "click to column, slowest": 0.3,
    "sent until the chart stands": 6.0,
}
# From a pointer event to the frame after its line was drawn, in milliseconds.
_WATCH = """() => {
  window.waits = [];
  let since = null;
  for (const kind of ["pointerover", "click"])
    document.addEventListener(kind, (e) => {
      if (e.target.closest?.(".token")) since = performance.now();
    }, true);
  document.querySelector("mind-explorer").data.addEventListener("line", () => {
    if (since === null) return;
    const begun = since; since = null;
    requestAnimationFrame(() => setTimeout(() => window.waits.push(performance.now() - begun), 0));
  });
}"""


def times() -> dict[str, Any]:
    """All cases, by name; seconds, megabytes and gigabytes."""
    from playwright.sync_api import sync_playwright

    from mindshare.report.writing import find_browser

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        program = find_browser()
        browser = driver.chromium.launch(executable_path=str(program), args=["--no-sandbox"])
        try:
            found = _results(browser, Path(folder))
            with started("smollm2", "--keep", f"{folder}/kept") as (address, process, _):
                found |= _short(browser, address)
                found |= _long(browser, address, process)
        finally:
            browser.close()
    return found


def table(found: dict[str, Any]) -> str:
    """Markdown: each case, its figure, and whether it keeps its promise."""
    rows = ["| case | measured | promised |", "| --- | --- | --- |"]
    for name, value in found.items():
        target = TARGETS.get(name)
        verdict = "" if target is None else f"{target:g}: {'kept' if value <= target else 'MISSED'}"
        rows.append(f"| {name} | {value:.3g} | {verdict} |")
    return "\n".join(rows)


@contextmanager
def started(*words: str) -> Iterator[tuple[str, subprocess.Popen[str], float]]:
    """(address, process, when it was started) of `mindshare explore`; ended afterwards."""
    program = str(Path(sys.executable).parent / "mindshare")
    begun = time.perf_counter()
    command = [program, "explore", *words, "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            found = re.search(r"http://\S+", said)
            assert found is not None, said
            yield found[0], process, begun
        finally:
            process.kill()


def _results(browser: Any, folder: Path) -> dict[str, float]:
    """From the command's start to the heads of a folder of results."""
    import mindshare

    prompts = [f"map {n}: ##**##" for n in range(3)]
    chart = mindshare.head_map("smollm2", prompts, classes={"star": "*"}, cls="star")
    saved = chart.save(folder / "results", formats=["svg"])
    with started(str(saved)) as (address, _, begun):
        page = browser.new_page()
        page.goto(address)
        page.locator(HEADS).first.wait_for()
        there = time.perf_counter() - begun
        page.close()
    return {"results: command to page": there}


def _text(tokens: int) -> str:
    """A prompt with stars of so many tokens, or a few less."""
    import mindshare

    line = "Here is one more line of the map: ##*# and then some words about it.\n"
    count = len(mindshare.load("smollm2").tokenizer(line)["input_ids"])
    return line * (tokens // count)


def _measure(page: Any, text: str, *, seconds: float = 600) -> float:
    """Type a prompt and measure it; seconds until its chart stands."""
    page.evaluate("document.querySelectorAll('.chart svg').forEach((one) => one.remove())")
    begun = time.perf_counter()
    page.locator("prompt-panel textarea").first.fill(text)
    page.keyboard.press("Control+Enter")
    page.locator(".chart svg").wait_for(timeout=1000 * seconds)
    return time.perf_counter() - begun


def _short(browser: Any, address: str) -> dict[str, float]:
    page = browser.new_page()
    page.goto(address)
    page.locator(".token").first.wait_for()
    _measure(page, "the model is loaded with the first # one *")
    text = _text(SHORT)
    took = median(_measure(page, f"{n} {text}") for n in range(5))
    page.close()
    return {"64 tokens: typing to picture": took}


def _long(browser: Any, address: str, process: subprocess.Popen[str]) -> dict[str, float]:
    import psutil

    page = browser.new_page()
    page.goto(address)
    page.locator(".token").first.wait_for()
    took = _measure(page, _text(LONG), seconds=3600)
    link = page.url
    page.close()
    page = browser.new_page()
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    sent: list[int] = []
    network.on("Network.loadingFinished", lambda one: sent.append(one["encodedDataLength"]))
    begun = time.perf_counter()
    page.goto(link)
    page.locator(".chart svg").wait_for()
    chart = time.perf_counter() - begun
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    total = sum(sent) / 1e6
    tokens = page.locator(".token").count()
    page.evaluate(_WATCH)
    hover = _waits(page, tokens, click=False)
    row = _waits(page, tokens, click=True)
    page.get_by_label("is looked at by").check()
    column = _waits(page, tokens, click=True)
    page.close()
    memory = psutil.Process(process.pid).memory_info().rss / 1e9
    return {
        "tokens of the long prompt": tokens,
        "measuring it": took,
        "first paint": paint / 1000,
        "chart": chart,
        "hover to colours, median": median(hover),
        "hover to colours, slowest": max(hover),
        "click to row, median": median(row),
        "click to row, slowest": max(row),
        "click to column, median": median(column),
        "click to column, slowest": max(column),
        "sent until the chart stands": total,
        "sent in all": sum(sent) / 1e6,
        "memory of the server (GB)": memory,
    }


def _waits(page: Any, tokens: int, *, click: bool) -> list[float]:
    """Seconds from each event to the coloured text, on tokens all over the prompt."""
    if click:  # while a token is chosen, hovering asks for nothing
        page.locator("#t0").click()
        page.wait_for_timeout(1000)
    page.evaluate("window.waits.length = 0")
    for n in range(LINES):
        token = page.locator(f"#t{(2 * n + 1) * tokens // (2 * LINES)}")
        token.scroll_into_view_if_needed()
        page.wait_for_timeout(300)  # what scrolling asks for is not what is timed
        if click:
            token.click()
        else:
            token.hover()
        for _ in range(400):
            if page.evaluate("window.waits.length") > n:
                break
            page.wait_for_timeout(10)
    found: list[float] = page.evaluate("window.waits")
    page.keyboard.press("Escape")
    assert len(found) >= LINES, found
    return [wait / 1000 for wait in found]
