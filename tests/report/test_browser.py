"""The report in a real browser: drawn, quiet, self-contained, readable by anyone, at any width."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mindshare.report import browser, html, write_report
from mindshare.report.browser import find_browser, print_page, require_browser

from .browsing import axe_script, missing, require_chromium

DRAWN = "document.documentElement.dataset.drawn === 'all'"
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def report(results: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both kinds of results in one page."""
    out = tmp_path_factory.mktemp("browser") / "report"
    return write_report([results["shares"], results["insert"]], out)[0]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    program = require_chromium()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed")
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=str(program), args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def seen(chromium: Any, report: Path) -> tuple[Open, list[str]]:
    """Pages that stay open for all tests, and what they said or asked for from outside."""
    troubles: list[str] = []
    pages: dict[tuple[Any, ...], Any] = {}

    def open_page(
        *, width: int = 1280, scheme: str = "light", scripts: bool = True, fresh: bool = False
    ) -> Any:
        asked = (width, scheme, scripts)
        if fresh or asked not in pages:
            context = chromium.new_context(
                viewport={"width": width, "height": 900},
                color_scheme=scheme,
                java_script_enabled=scripts,
            )
            context.route(lambda url: not url.startswith("file:"), _refuse(troubles))
            page = context.new_page()
            page.on("console", lambda message: troubles.append(f"{message.type}: {message.text}"))
            page.on("pageerror", lambda error: troubles.append(str(error)))
            page.goto(report.as_uri())
            if scripts:
                page.wait_for_function(DRAWN)
            if fresh:
                return page
            pages[asked] = page
        return pages[asked]

    return open_page, troubles


@pytest.fixture
def opened(seen: tuple[Open, list[str]]) -> Iterator[Open]:
    """Opens the report; the test fails if a page says something or asks for something."""
    open_page, troubles = seen
    yield open_page
    assert troubles == []


def _refuse(troubles: list[str]) -> Callable[[Any], None]:
    def refuse(route: Any) -> None:
        troubles.append(f"asked for {route.request.url}")
        route.abort()

    return refuse


def ground(page: Any) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def test_every_chart_is_drawn(opened: Open, results: dict[str, Path]) -> None:
    page = opened()
    charts = page.locator(".chart")
    assert charts.count() == 1 + len(list(results["insert"].glob("*.svg")))
    assert page.locator(".chart svg.marks").count() == charts.count()
    marks = page.evaluate(
        "[...document.querySelectorAll('.chart svg')].map(s => s.querySelectorAll('path').length)"
    )
    assert min(marks) > 5


def test_charts_out_of_sight_are_drawn_later(chromium: Any, report: Path) -> None:
    """The first look needs not wait for them."""
    page = chromium.new_page(viewport={"width": 1280, "height": 700})
    page.add_init_script("window.requestIdleCallback = () => 0;")  # never idle
    page.goto(report.as_uri())
    page.wait_for_timeout(300)
    states = "[...document.querySelectorAll('.chart')].map(c => c.dataset.state || '')"
    assert page.evaluate(states)[-1] == ""
    page.locator(".chart").last.scroll_into_view_if_needed()
    page.wait_for_function(f"{states}.at(-1) === 'drawn'")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")  # paper shows all of them
    page.wait_for_function(DRAWN)
    assert set(page.evaluate(states)) == {"drawn"}
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_sticks_out(opened: Open, width: int, scheme: str) -> None:
    page = opened(width=width, scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_words_of_a_chart_are_not_cut_off(opened: Open) -> None:
    page = opened()
    beyond = page.evaluate(
        """[...document.querySelectorAll('.chart svg')].map(svg =>
            svg.getBBox().x + svg.getBBox().width - svg.width.baseVal.value)"""
    )
    assert max(beyond) <= 0


def test_packed_charts_are_drawn_too(
    chromium: Any, results: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html, "LIMIT", 1)
    packed = write_report([results["single"]], tmp_path / "report")[0]
    assert "data-packed id=" in packed.read_text()
    page = chromium.new_page()
    page.goto(packed.as_uri())
    page.wait_for_function(DRAWN)
    assert page.locator(".chart[data-state=drawn] svg.marks").count() == 1
    page.close()


def test_a_chart_that_cannot_be_drawn_says_so(chromium: Any, report: Path, tmp_path: Path) -> None:
    broken = tmp_path / "report.html"
    text = report.read_text().replace('id="spec-1">{', 'id="spec-1">no JSON {')
    broken.write_text(text)
    page = chromium.new_page()
    page.goto(broken.as_uri())
    page.wait_for_function(DRAWN)
    assert page.locator(".chart[data-state=failed]").count() == 1
    assert "could not be drawn" in page.locator(".chart").first.inner_text()
    page.close()


def test_dark_follows_the_system_and_the_button(opened: Open) -> None:
    page = opened(scheme="dark", fresh=True)
    dark = ground(page)
    page.get_by_role("button", name="Light colours").click()  # says what it does
    assert ground(page) == "rgb(255, 255, 255)" != dark
    page.get_by_role("button", name="Dark colours").click()
    assert ground(page) == dark
    assert ground(opened(scheme="light")) == "rgb(255, 255, 255)"


def test_in_the_dark_charts_are_dimmed_and_prompts_are_dark(opened: Open) -> None:
    """A chart's words speak of white, so its paper stays white below the dimming."""
    page = opened(scheme="dark")
    every = "[...document.querySelectorAll(name)]"
    look = f"(name, what) => {every}.map(p => getComputedStyle(p)[what])"
    colours = page.evaluate(f"({look})('.paper', 'backgroundColor')")
    assert set(colours) == {"rgb(255, 255, 255)"}
    assert set(page.evaluate(f"({look})('.paper', 'filter')")) == {"brightness(0.84)"}
    assert set(opened().evaluate(f"({look})('.paper', 'filter')")) == {"none"}
    assert set(page.evaluate(f"({look})('.prompt', 'backgroundColor')")) == {"rgba(0, 0, 0, 0)"}


def test_on_a_phone_charts_shrink_and_then_fade_where_there_is_more(opened: Open) -> None:
    page = opened(width=390)
    found = page.evaluate(
        """[...document.querySelectorAll('.chart')].map(chart => {
            const box = chart.parentElement, svg = chart.querySelector('svg');
            return [svg.width.baseVal.value, chart.clientWidth, box.clientWidth,
                    box.dataset.more || '', getComputedStyle(box).maskImage, box.tabIndex]; })"""
    )
    for natural, shown, room, more, mask, tab in found:
        assert shown >= 0.69 * natural
        assert (more == "right") == (shown > room)
        assert (mask != "none") == (tab == 0) == (more == "right")
    assert {more for _, _, _, more, _, _ in found} == {"", "right"}


def test_words_of_a_text_chart_keep_to_their_boxes(opened: Open) -> None:
    """Whatever font the browser has."""
    page = opened()
    widths = page.evaluate(
        """[...document.querySelectorAll('.chart text')].filter(t => t.__data__?.datum?.room)
            .map(t => [t.getBBox().width, t.__data__.datum.room])"""
    )
    assert len(widths) > 5
    assert all(wide <= room + 0.6 for wide, room in widths)


def test_contents_lead_to_every_chart(opened: Open) -> None:
    page = opened()
    links = page.evaluate(
        """[...document.querySelectorAll('nav a')].map(a =>
            document.getElementById(a.hash.slice(1))?.textContent === a.textContent)"""
    )
    assert all(links)
    assert len(links) > page.locator(".chart").count()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_serious(opened: Open, width: int, scheme: str) -> None:
    script = axe_script()
    page = opened(width=width, scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    page.evaluate(script.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run().then(r => [r.passes.length, r.violations])")
    assert found[0] > 20
    serious = [v for v in found[1] if v["impact"] in ("serious", "critical")]
    told = [(v["id"], [node["html"][:200] for node in v["nodes"][:3]]) for v in serious]
    assert told == []
    assert [v["id"] for v in found[1]] == [], "something moderate or minor"


def test_the_keyboard_reaches_everything(opened: Open) -> None:
    page = opened(width=390, fresh=True)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    outline = page.evaluate(
        """(() => { const s = document.querySelector('main summary'); s.focus();
            return getComputedStyle(s).outlineStyle; })()"""
    )
    assert outline != "none"
    page.keyboard.press("Enter")
    assert page.evaluate("document.querySelector('main details').open")
    closed = page.evaluate(
        """[...document.querySelectorAll('.scroll')].filter(
            b => b.scrollWidth > b.clientWidth && b.tabIndex < 0).length"""
    )
    assert closed == 0


def test_tooltips_answer(opened: Open) -> None:
    page = opened()
    bar = page.locator(".chart").first.locator("g.mark-rect path").first
    bar.scroll_into_view_if_needed()
    bar.hover()
    page.wait_for_selector("#vg-tooltip-element.visible")
    assert page.locator("#vg-tooltip-element").inner_text().strip()


def test_without_scripts_all_words_are_there(opened: Open) -> None:
    page = opened(scripts=False)
    assert page.locator("h2").count() == 2
    stills = page.locator("figure img")
    assert stills.count() == page.locator(".chart").count() > 5
    assert stills.first.is_visible()
    assert not page.locator(".chart").first.is_visible()
    sizes = page.evaluate("[...document.querySelectorAll('figure img')].map(i => i.naturalWidth)")
    assert min(sizes) > 200


def test_print_shows_no_tools(opened: Open) -> None:
    page = opened(scheme="dark", fresh=True)
    page.emulate_media(media="print", color_scheme="dark")
    assert not page.locator("nav").is_visible()
    assert not page.locator("#theme").is_visible()
    assert ground(page) == "rgb(255, 255, 255)"


def test_a_browser_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser, "_PLACES", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_browser() is None
    with pytest.raises(Exception, match="there is none here"):
        require_browser()
    program = tmp_path / "google-chrome"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert find_browser() == program


def test_a_browser_that_prints_nothing_is_told(tmp_path: Path) -> None:
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    with pytest.raises(Exception, match="it gave no reason"):
        print_page(tmp_path / "x.html", tmp_path / "x.pdf", browser=program)
