"""The report in a real browser: drawn, quiet, self-contained, readable by anyone, at any width."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mindshare.report import write_report
from tests.browser import axe_script

DRAWN = "document.documentElement.dataset.drawn === 'all'"
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def report(results: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both kinds of results in one page."""
    out = tmp_path_factory.mktemp("browser") / "report"
    return write_report([results["shares"], results["insert"]], out)[0]


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
    pictures = [file for name in ("shares", "insert") for file in results[name].glob("*.svg")]
    assert charts.count() == len(pictures)
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
    page.locator("figure[data-shown] .chart").last.scroll_into_view_if_needed()
    shown = "[...document.querySelectorAll('figure[data-shown] .chart')]"
    page.wait_for_function(f"{shown}.at(-1).dataset.state === 'drawn'")
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


def test_a_chart_that_cannot_be_drawn_says_so(chromium: Any, report: Path, tmp_path: Path) -> None:
    broken = tmp_path / "report.html"
    text = report.read_text()
    broken.write_text(re.sub(r'id="spec-1">[^<]*<', 'id="spec-1">bm8gSlNPTg==<', text))
    page = chromium.new_page()
    page.goto(broken.as_uri())
    page.wait_for_function(DRAWN)
    assert page.locator(".chart[data-state=failed]").count() == 1
    assert "could not be drawn" in page.locator(".chart").first.inner_text()
    page.close()


def test_dark_follows_the_system_and_the_button(opened: Open) -> None:
    page = opened(scheme="dark", fresh=True)
    dark = ground(page)
    page.get_by_role("button", name="Light").click()  # says what it does
    assert ground(page) == "rgb(255, 255, 255)" != dark
    page.get_by_role("button", name="Dark").click()
    assert ground(page) == dark
    assert ground(opened(scheme="light")) == "rgb(255, 255, 255)"


def brightness(page: Any, selector: str) -> float:
    """The mean of what is seen of an element, 0 to 1, read back from a screenshot."""
    shot = base64.b64encode(page.locator(selector).first.screenshot()).decode()
    return float(
        page.evaluate(
            """async (data) => {
                const image = new Image(); image.src = `data:image/png;base64,${data}`;
                await image.decode();
                const canvas = new OffscreenCanvas(image.width, image.height);
                const context = canvas.getContext("2d"); context.drawImage(image, 0, 0);
                const pixels = context.getImageData(0, 0, image.width, image.height).data;
                let sum = 0;
                for (let i = 0; i < pixels.length; i += 1) if (i % 4 < 3) sum += pixels[i];
                return sum / (pixels.length * .75) / 255; }""",
            shot,
        )
    )


def test_in_the_dark_charts_and_prompts_are_dark(opened: Open) -> None:
    for selector in ("figure .paper", ".prompt"):
        light, dark = (opened(scheme=one, fresh=True) for one in ("light", "dark"))
        for page in (light, dark):
            page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        assert brightness(light, selector) > 0.7
        assert brightness(dark, selector) < 0.3


def test_the_first_chart_is_near_the_top_and_large_enough_to_read(opened: Open) -> None:
    top = "document.querySelector('.chart').getBoundingClientRect().top + scrollY"
    assert opened(fresh=True).evaluate(top) < 300
    smallest = """(() => { const svg = document.querySelector('.main svg');
        const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
        return scale * Math.min(...[...svg.querySelectorAll('text')].map(
            t => parseFloat(t.getAttribute('font-size')))); })()"""
    assert opened().evaluate(smallest) >= 12
    assert opened(width=390).evaluate(smallest) >= 11.9


def test_few_words_are_seen(opened: Open) -> None:
    """Each of two studies has its share of the 900 words of a report of three."""
    page = opened(fresh=True)
    words = page.evaluate(
        """(() => { document.querySelectorAll('svg').forEach(s => { s.style.display = 'none'; });
            return document.body.innerText.split(/\\s+/)
                .filter(word => /[\\p{L}\\d]/u.test(word)); })()"""
    )
    assert 100 < len(words) <= 600
    assert page.evaluate("document.querySelectorAll('details[open]').length") == 0


@pytest.mark.parametrize("width", [390, 900, 1280])
def test_charts_are_laid_out_for_the_screen_and_none_is_cut(opened: Open, width: int) -> None:
    page = opened(width=width)
    found = page.evaluate(
        """[...document.querySelectorAll('figure[data-shown] .chart')].map(chart => {
            const box = chart.parentElement, svg = chart.querySelector('svg');
            const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
            return [chart.clientWidth, box.clientWidth, box.dataset.more || '', scale]; })"""
    )
    for shown, room, more, scale in found:
        assert shown <= room
        assert not more
        assert 0.99 <= scale <= 1.26


def test_a_chart_is_laid_out_anew_when_the_screen_changes(opened: Open) -> None:
    page = opened(fresh=True)
    units = "document.querySelector('.main .chart').dataset.units"
    assert page.evaluate(units) == "890"
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_function(f"{units} === '326'")
    assert page.locator(".main .chart svg").first.bounding_box()["width"] <= 358


def test_words_of_a_text_chart_keep_to_their_boxes(opened: Open) -> None:
    """Whatever font the browser has. Not `getBBox`: ink that leans out of a letter is in it."""
    page = opened()
    widths = page.evaluate(
        """[...document.querySelectorAll('.chart text')].filter(t => t.__data__?.datum?.room)
            .map(t => [t.getComputedTextLength(), t.__data__.datum.room])"""
    )
    assert len(widths) > 5
    assert all(wide <= room + 0.6 for wide, room in widths)


def test_a_link_opens_what_it_leads_to(opened: Open) -> None:
    page = opened(fresh=True)
    page.get_by_role("link", name="Methods").click()
    page.wait_for_function("document.getElementById('methods').open")
    hidden = page.locator(".gallery figure:not([data-shown])").last
    name = hidden.get_attribute("id")
    assert not hidden.is_visible()
    page.evaluate("name => { location.hash = name; }", name)
    page.wait_for_function("name => document.getElementById(name).offsetHeight > 0", arg=name)
    assert page.locator(".gallery figure[data-shown]").count() == 1


def test_a_switch_shows_one_map_at_a_time(opened: Open) -> None:
    page = opened(fresh=True)
    choices = page.locator(".switch label")
    assert choices.count() == page.locator(".gallery figure").count() > 3
    page.get_by_role("radio").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.querySelectorAll('.switch input')[1].checked")
    shown = page.locator(".gallery figure[data-shown]")
    assert shown.count() == 1
    assert shown.get_attribute("id") == page.locator(".switch input").nth(1).get_attribute("value")
    assert shown.locator("svg.marks").is_visible()


@pytest.mark.parametrize("ending", ["png", "svg", "csv"])
def test_a_figure_is_downloaded(opened: Open, results: dict[str, Path], ending: str) -> None:
    page = opened(fresh=True)
    with page.expect_download() as started:
        page.locator(f"figure [data-do={ending}]").first.click()
    download = started.value
    assert download.suggested_filename == f"class_bars_mass.{ending}"
    content = Path(download.path()).read_bytes()
    if ending == "csv":
        assert content == (results["shares"] / "class_bars_mass.csv").read_bytes()
    else:
        assert content.startswith(b"<svg" if ending == "svg" else b"\x89PNG")
    if ending == "svg":
        assert b"Attention share by token class" in content  # with its title
        assert b'fill="white"' in content  # light, whatever the page is


def test_a_chart_is_enlarged_and_put_back(opened: Open) -> None:
    page = opened(fresh=True)
    chart = page.locator(".chart").first
    before = chart.bounding_box()["width"]
    page.get_by_role("button", name="Larger").first.click()
    assert page.locator("dialog[open] .chart svg").is_visible()
    page.keyboard.press("Escape")
    page.locator("figure").first.locator(".chart").wait_for()
    assert page.locator("dialog[open]").count() == 0
    assert chart.bounding_box()["width"] == before
    chart.click()
    assert page.locator("dialog[open]").count() == 1
    page.get_by_role("button", name="Close").click()
    assert page.locator("dialog[open]").count() == 0


def test_values_are_read_by_keyboard(opened: Open) -> None:
    page = opened(fresh=True)
    page.locator(".chart").first.focus()
    said = []
    for key in ("ArrowRight", "ArrowRight", "ArrowUp", "End", "Home"):
        page.keyboard.press(key)
        said.append(page.locator("figure output").first.inner_text())
        assert page.locator(".chart [data-current]").count() == 1
    assert said[0] == said[-1]
    assert len(set(said)) >= 4
    assert all(re.search(r"layer.*\d", one) for one in said)
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")  # in the large one too
    assert page.locator("dialog output").inner_text()


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
    reached = page.evaluate("[...document.querySelectorAll('.chart')].map(c => c.tabIndex)")
    assert set(reached) == {0}
    closed = page.evaluate(
        """[...document.querySelectorAll('.scroll')].filter(
            b => b.scrollWidth > b.clientWidth && b.tabIndex < 0
                && !b.querySelector('.chart')).length"""
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
    assert page.locator("#methods").count() == 1
    stills = page.locator("figure img")
    assert stills.count() == page.locator(".chart").count() > 5
    assert all(stills.nth(i).is_visible() for i in range(stills.count()))
    assert not page.locator(".chart").first.is_visible()
    assert not page.locator("button").first.is_visible()
    sizes = page.evaluate("[...document.querySelectorAll('figure img')].map(i => i.naturalWidth)")
    assert min(sizes) > 200


def test_print_shows_stills_and_what_is_to_be_read_on_paper(opened: Open) -> None:
    """The same without a script: what `--format pdf` prints."""
    for scripts in (True, False):
        page = opened(scheme="dark", fresh=scripts, scripts=scripts)
        page.emulate_media(media="print", color_scheme="dark")
        assert not page.locator("nav").is_visible()
        assert not page.locator(".tools").first.is_visible()
        assert not page.locator(".chart").first.is_visible()
        shown = [still.is_visible() for still in page.locator(".gallery .still").all()]
        assert shown == [True] + [False] * (len(shown) - 1)  # paper has no switch
        assert page.locator("figure:not(.gallery *) .still").first.is_visible()
        folded = {one.get_attribute("id") for one in page.locator(".behind > details").all()}
        read = {name for name in folded if page.locator(f"#{name}").is_visible()}
        assert read == {"methods", "again"}
        assert page.locator("#methods .definition").first.is_visible()  # though it is closed
        assert ground(page) == "rgb(255, 255, 255)"
        page.emulate_media(media="screen")
