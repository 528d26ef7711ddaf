"""Journeys on the page in a real browser: each thing a person can do, by mouse and by keyboard."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import mindshare
from mindshare.measures import MEASURES
from mindshare_explore.page import write_bundle
from mindshare_explore.server import Server, opened
from mindshare_explore.session import Explorer
from tests.browser import axe_script

from .conftest import MAP, STARS

Open = Callable[..., Any]
HEADS = "table.heads tbody tr"
HOSTILE = '<img src=x onerror="window.hit=1">'


@pytest.fixture(scope="module")
def server(explorer: Explorer) -> Iterator[Server]:
    made = Server.bind(explorer)
    thread = made.start()
    yield made
    made.stop()
    thread.join(10)


@pytest.fixture
def page(chromium: Any, server: Server) -> Iterator[Open]:
    """Opens pages; the test fails if one says something, or asks for something outside."""
    troubles: list[str] = []
    contexts: list[Any] = []

    def open_page(
        hash_: str = "",
        *,
        width: int = 1280,
        scheme: str = "light",
        address: str | None = None,
        refused: str = "the server responded with a status of 4",
    ) -> Any:
        """`refused`: what the browser calls a failure, and the page says in words."""
        size = {"width": width, "height": 900}
        context = chromium.new_context(viewport=size, color_scheme=scheme, accept_downloads=True)
        contexts.append(context)
        own = ("http://127.0.0.1", "data:", "blob:", "file:")
        context.route(lambda url: not url.startswith(own), lambda route: route.abort())
        one = context.new_page()
        one.set_default_timeout(60_000)
        one.on("console", lambda m: None if refused in m.text else troubles.append(m.text))
        one.on("pageerror", lambda error: troubles.append(str(error)))
        one.on("requestfailed", lambda r: None if r.url.startswith(own) else troubles.append(r.url))
        one.goto((address or server.address) + hash_)
        return one

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []


def until(page: Any, condition: str) -> None:
    """Wait for an expression; asked from outside, as the page's policy allows no `eval`."""
    end = time.monotonic() + 60
    while not page.evaluate(f"() => Boolean({condition})"):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(15)


def settle(page: Any) -> None:
    """Until the line that was asked for last is shown."""
    until(page, "!document.querySelector('mind-explorer').data.busy")


def measure(page: Any, text: str = MAP) -> None:
    page.locator("prompt-panel textarea").first.fill(text)
    until(page, f"document.querySelectorAll('.token').length >= {min(len(text) // 8, 3)}")
    page.get_by_role("button", name="Measure", exact=True).click()
    until(page, "document.querySelector('prompt-panel .said').textContent.startsWith('measured')")
    page.locator(HEADS).first.wait_for()


def hash_of(id_: str, **more: Any) -> str:
    from urllib.parse import urlencode

    values = {"prompt": id_, "classes": json.dumps(STARS, separators=(",", ":")), **more}
    return "#" + urlencode(values)


def backgrounds(page: Any) -> list[str]:
    found: list[str] = page.eval_on_selector_all(
        ".token", "all => all.map(one => one.style.backgroundColor)"
    )
    return found


def line(page: Any) -> list[float]:
    """The numbers that the text is coloured by now."""
    script = "() => { const l = document.querySelector('mind-explorer').data.line;"
    found: list[float] = page.evaluate(script + " return l ? [...l.values] : []; }")
    return found


def wait_line(page: Any) -> None:
    until(page, "document.querySelector('mind-explorer').data.line !== null")


# ── 1, 2: type, see classes, measure, hover, choose ──────────────────────────────────────────────


def test_type_measure_and_look(page: Open, door: TestClient) -> None:
    one = page()
    one.locator(".token").first.wait_for()
    before = backgrounds(one)
    assert any(before), "classes are coloured before anything is measured"
    measure(one)
    one.locator(".token").nth(20).hover()
    wait_line(one)
    id_ = one.evaluate("document.querySelector('mind-explorer').data.a.id")
    layer = one.evaluate("document.querySelector('mind-explorer').data.view.layer")
    row = door.get(f"/api/prompts/{id_}/row?layer={layer}&token=20").json()["values"]
    assert line(one) == pytest.approx(row, rel=1e-5)
    one.locator(".token").nth(9).click()
    one.get_by_label("is looked at by").check()
    one.get_by_label("head", exact=True).select_option("2")
    until(one, "document.querySelector('mind-explorer').data.view.head === 2")
    settle(one)
    column = door.get(f"/api/prompts/{id_}/column?layer={layer}&head=2&token=9").json()["values"]
    assert line(one) == pytest.approx(column, rel=1e-5)
    assert "A[i, 9]" in one.locator(".words").first.text_content()


def test_a_chat_is_pasted_and_a_file_opened(page: Open, tmp_path: Path) -> None:
    one = page()
    one.locator(".token").first.wait_for()
    chat = tmp_path / "chat.json"
    chat.write_text(json.dumps([{"role": "user", "content": "## ** hello"}]), encoding="utf-8")
    one.set_input_files("input[type=file]", chat)
    one.locator(".message textarea").wait_for()
    until(one, "document.querySelector('token-view').textContent.startsWith('[user]')")
    text = tmp_path / "plain.txt"
    text.write_text("plain ## text", encoding="utf-8")
    one.set_input_files("input[type=file]", text)
    until(one, "document.querySelector('token-view').textContent.startsWith('plain')")


def test_cancel_in_the_middle(page: Open, explorer: Explorer) -> None:
    one = page()
    one.locator(".token").first.wait_for()
    import threading

    blocked = threading.Event()
    explorer.jobs.submit("in the way", lambda _: blocked.wait(10) and None)
    one.get_by_role("button", name="Measure", exact=True).click()
    one.get_by_role("button", name="Cancel").click()
    one.get_by_text("the job was cancelled").wait_for()
    blocked.set()
    measure(one, "and now ## this **")


# ── 3: paint ──────────────────────────────────────────────────────────────────────────────────────


def test_paint_a_stretch_by_mouse(page: Open, map_id: str) -> None:
    one = page(hash_of(map_id))
    one.locator(HEADS).first.wait_for()
    tokens = one.locator(".token")
    last = tokens.count() - 1
    a, b = tokens.nth(last - 6).bounding_box(), tokens.nth(last).bounding_box()
    one.mouse.move(a["x"] + 1, a["y"] + 8)
    one.mouse.down()
    one.mouse.move(b["x"] + b["width"] - 1, b["y"] + 8, steps=4)
    one.mouse.up()
    one.get_by_label("name of the painted class").fill("asked")
    one.get_by_role("button", name="Paint as a class").click()
    one.get_by_role("button", name="remove class asked").wait_for()
    one.locator(".chart svg").wait_for()
    row = one.locator("table.classes tbody tr").first.inner_text().split()
    assert row[0] == "asked"
    assert 5 <= float(row[3]) <= 8
    assert float(row[4]) > 0


def test_a_rule_is_a_class_at_once(page: Open, map_id: str) -> None:
    one = page(f"#prompt={map_id}")
    one.locator(HEADS).first.wait_for()
    one.get_by_label("name of the class").fill("hash")
    one.get_by_label("rule of the class").fill("#")
    one.get_by_role("button", name="Add class").click()
    one.get_by_role("button", name="remove class hash").wait_for()
    one.get_by_label("name of the class").fill("bad")
    one.get_by_label("rule of the class").fill("nonsense")
    one.get_by_role("button", name="Add class").click()
    one.locator(".notice", has_text="'nonsense' is no rule").wait_for()
    assert one.locator("table.classes tbody tr").count() == 2  # hash and other


# ── 4: find heads ─────────────────────────────────────────────────────────────────────────────────


def test_find_a_head_in_the_map_and_in_the_list(page: Open, map_id: str) -> None:
    one = page(hash_of(map_id, cls="star"))
    one.locator(HEADS).first.wait_for()
    values = [float(text) for text in one.locator(f"{HEADS} td.number").all_inner_texts()]
    assert values == sorted(values, reverse=True)
    best = one.locator(f"{HEADS} button").first.inner_text()
    one.locator(f"{HEADS} button").first.click()
    layer, head = (int(part.split()[-1]) for part in best.split(","))
    view = one.evaluate("document.querySelector('mind-explorer').data.view")
    assert (view["layer"], view["head"]) == (layer, head)
    canvas = one.locator("head-map canvas")
    canvas.hover(position={"x": 40, "y": 24})
    said = one.locator("head-map .said")
    before = said.inner_text()
    assert before.startswith("layer 0, head 0: ")
    one.get_by_label("measure of the map").select_option("entropy")
    assert said.inner_text().startswith("layer 0, head 0: ")
    assert said.inner_text() != before  # the number of the measure that is shown now
    assert "Entropy: mean over Q of -sum" in one.locator(".right > .words").text_content()
    one.get_by_label("layers that are listed").fill("1-1")
    assert all("layer 1" in text for text in one.locator(f"{HEADS} button").all_inner_texts())
    canvas.focus()
    one.keyboard.press("ArrowUp")
    one.keyboard.press("ArrowRight")
    moved = one.evaluate("document.querySelector('mind-explorer').data.view")
    assert (moved["layer"], moved["head"]) != (layer, head)


# ── 5: compare ────────────────────────────────────────────────────────────────────────────────────


def test_two_models_and_their_difference(page: Open, map_id: str, door: TestClient) -> None:
    one = page(hash_of(map_id))
    one.locator(HEADS).first.wait_for()
    one.get_by_role("button", name="measure in tuned").click()
    until(one, "document.querySelector('mind-explorer').data.comparison?.kind === 'models'")
    until(one, "document.querySelector('mind-explorer').data.classesB !== null")
    grids = one.evaluate(
        "() => { const d = document.querySelector('mind-explorer').data;"
        " return [d.grid('a'), d.grid('b'), d.map().values]; }"
    )
    for a, b, shown in zip(*grids, strict=True):
        assert shown == pytest.approx([y - x for x, y in zip(a, b, strict=True)], abs=1e-9)
    one.locator(".token").nth(12).click()
    wait_line(one)
    other = one.evaluate("document.querySelector('mind-explorer').data.b.id")
    layer = one.evaluate("document.querySelector('mind-explorer').data.view.layer")
    path = f"row?layer={layer}&token=12"
    a, b = (door.get(f"/api/prompts/{i}/{path}").json()["values"] for i in (map_id, other))
    assert line(one) == pytest.approx([y - x for x, y in zip(a, b, strict=True)], abs=1e-6)


def test_an_insertion_typed_where_it_goes(page: Open, map_id: str) -> None:
    one = page(hash_of(map_id))
    one.locator(HEADS).first.wait_for()
    one.locator(".token").nth(14).click()
    one.get_by_label("text to insert before the chosen token").fill("/ / / /")
    one.get_by_role("button", name="Measure with it").click()
    until(one, "document.querySelector('mind-explorer').data.comparison?.kind === 'versions'")
    one.locator(".token.new").first.wait_for()
    assert "".join(one.locator(".token.new").all_inner_texts()).count("/") == 4


# ── 6: long prompts ───────────────────────────────────────────────────────────────────────────────


def test_a_long_prompt_folds_and_has_a_minimap(page: Open) -> None:
    one = page()
    one.locator(".token").first.wait_for()
    measure(one, "\n".join(f"{n} ## ** x" for n in range(36)))
    folds = one.locator(".fold")
    assert folds.count() >= 2
    folds.first.click()
    assert one.locator(".tokens").first.is_hidden()
    assert "folded" in one.url
    box = one.locator("mini-map canvas").bounding_box()
    one.mouse.click(box["x"] + box["width"] - 3, box["y"] + 10)
    top = "[...document.querySelectorAll('.token')].at(-1).getBoundingClientRect().top"
    until(one, f"{top} >= 0 && {top} <= 900")
    last = one.locator(".token").last.bounding_box()
    assert 0 <= last["y"] <= 900
    folds.first.click()
    assert one.locator(".tokens").first.is_visible()


# ── 7, 8: take away, links, bundles ───────────────────────────────────────────────────────────────


def test_everything_can_be_taken_away(page: Open, map_id: str, tmp_path: Path) -> None:
    one = page(hash_of(map_id, token=14))
    one.locator(".chart svg").wait_for()
    wait_line(one)

    def saved(row: int, name: str) -> bytes:
        with one.expect_download() as download:
            one.locator("export-panel .row").nth(row).get_by_role("button", name=name).click()
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        return path.read_bytes()

    assert saved(0, "PNG")[:8] == saved(1, "PNG")[:8] == saved(2, "PNG")[:8] == b"\x89PNG\r\n\x1a\n"
    assert saved(0, "SVG").startswith(b"<svg")
    assert b"#d63333" in saved(2, "SVG")
    titles, *rows = csv.reader(io.StringIO(saved(0, "CSV").decode(), newline=""))
    assert titles == ["position", "token", "class", "row"]
    assert "".join(row[1].removeprefix("'") for row in rows) == MAP
    assert [float(row[3]) for row in rows] == pytest.approx(line(one), rel=1e-6)
    heads = saved(1, "CSV").decode().splitlines()
    assert heads[0].startswith("layer,head,mass of")
    assert len(heads) == 1 + 2 * 4
    assert saved(3, "Page without a server")[:2] == b"PK"
    assert one.locator(".command").inner_text().startswith("mindshare shares base")


def test_a_link_opens_the_same_view(page: Open, map_id: str) -> None:
    one = page(hash_of(map_id))
    one.locator(HEADS).first.wait_for()
    one.locator(".token").nth(11).click()
    one.get_by_label("log scale").check()
    one.get_by_label("first token").uncheck()
    one.get_by_label("head", exact=True).select_option("3")
    one.wait_for_timeout(200)
    here, coloured = line(one), backgrounds(one)
    other = page(one.url[one.url.index("#") :])
    wait_line(other)
    other.locator(HEADS).first.wait_for()
    other.wait_for_timeout(200)
    there = line(other)
    assert [n for n in there if n == n] == [n for n in here if n == n]
    assert backgrounds(other) == coloured
    assert other.get_by_label("log scale").is_checked()


def test_a_bundle_works_from_a_file(page: Open, results: Path, tmp_path: Path) -> None:
    file = write_bundle(opened([str(results)]), tmp_path / "page")
    one = page(address=file.as_uri())
    one.locator(HEADS).first.wait_for()
    one.locator(".chart svg").wait_for()
    listed = one.get_by_label("open what was measured").locator("option").count()
    assert listed == 1 + 8
    one.get_by_label("open what was measured").select_option("r0.0.1")
    one.locator(".token").first.wait_for()


def test_means_over_the_heads_are_not_called_head_0(page: Open, pair: Path, tmp_path: Path) -> None:
    classes = {one["name"]: one["rule"] for one in STARS}
    found = mindshare.measure(str(pair / "base"), MAP, classes=classes, heads="mean")
    found.save(tmp_path / "means")
    one = page(address=write_bundle(opened([str(tmp_path / "means")]), tmp_path / "page").as_uri())
    one.locator(HEADS).first.wait_for()
    one.locator("head-map canvas").hover(position={"x": 40, "y": 24})
    assert one.locator("head-map .said").inner_text().startswith("layer 0, all heads: ")
    assert sorted(one.locator(f"{HEADS} button").all_inner_texts()) == ["layer 0", "layer 1"]


# ── 9, 10: scales, lift, maps ─────────────────────────────────────────────────────────────────────


def test_log_scale_lift_and_no_first_token(page: Open, map_id: str) -> None:
    one = page(hash_of(map_id, token=20))
    wait_line(one)
    plain, before = line(one), backgrounds(one)
    one.get_by_label("log scale").check()
    settle(one)
    assert line(one) == plain
    assert backgrounds(one) != before
    assert "logarithmic" in one.locator(".words").first.text_content()
    one.get_by_label("lift").check()
    settle(one)
    assert line(one) == pytest.approx([21 * value for value in plain], rel=1e-4)
    one.get_by_label("first token").uncheck()
    settle(one)
    assert line(one)[0] != line(one)[0]  # not a number: it is not drawn
    assert "sums keep it" in one.locator(".words").first.text_content()


def test_a_map_in_characters_becomes_a_picture(page: Open, map_id: str) -> None:
    one = page(hash_of(map_id))
    one.locator(HEADS).first.wait_for()
    one.get_by_label("as a map").check()
    canvas = one.locator("map-view canvas")
    canvas.wait_for()
    box = canvas.bounding_box()
    assert box["width"] / box["height"] == pytest.approx(2, rel=0.05)  # six by three
    one.mouse.click(box["x"] + box["width"] * 0.25, box["y"] + box["height"] / 2)  # row 1, column 1
    until(one, "document.querySelector('mind-explorer').data.view.token !== null")
    chosen = one.evaluate("document.querySelector('mind-explorer').data.view.token")
    assert "*" in one.locator(".token").nth(chosen).text_content()


# ── everyone, everywhere ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_no_serious_findings_of_axe(page: Open, map_id: str, width: int, scheme: str) -> None:
    one = page(hash_of(map_id, token=14), width=width, scheme=scheme)
    one.locator(".chart svg").wait_for()
    wait_line(one)
    wide = one.evaluate("document.documentElement.scrollWidth")
    assert wide <= width
    one.evaluate(axe_script().read_text(encoding="utf-8"))
    found = one.evaluate("axe.run()")
    serious = [
        (v["id"], [node["html"][:120] for node in v["nodes"][:3]])
        for v in found["violations"]
        if v["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_all_by_keyboard(page: Open) -> None:
    one = page()
    one.locator(".token").first.wait_for()
    one.locator("prompt-panel textarea").first.focus()
    one.keyboard.press("Control+A")
    one.keyboard.type("a ## b ** c")
    one.keyboard.press("Control+Enter")
    one.locator(HEADS).first.wait_for()
    until(one, "document.querySelector('mind-explorer').data.a.tokens.text === 'a ## b ** c'")
    one.locator(".tokens").first.focus()
    for key in ("ArrowRight", "ArrowRight", "Enter"):
        one.keyboard.press(key)
    wait_line(one)
    assert one.evaluate("document.querySelector('mind-explorer').data.view.token") == 2
    one.keyboard.press("Shift+ArrowRight")
    one.keyboard.press("Shift+ArrowRight")
    one.get_by_label("name of the painted class").focus()
    one.keyboard.type("mine")
    one.keyboard.press("Enter")
    one.get_by_role("button", name="remove class mine").wait_for()
    one.locator(".tokens").first.focus()
    one.keyboard.press("Escape")
    until(one, "document.querySelector('mind-explorer').data.view.token === null")


def test_token_text_never_becomes_html(page: Open) -> None:
    one = page()
    one.locator(".token").first.wait_for()
    measure(one, f"{HOSTILE} ## {HOSTILE}")
    one.locator(".token").nth(3).click()
    one.wait_for_timeout(200)
    assert one.evaluate("window.hit") is None
    assert one.locator("token-view img").count() == 0


def test_the_page_is_small(door: TestClient) -> None:
    from mindshare_explore.page import STATIC

    served = [
        one for one in STATIC.iterdir() if one.name.rpartition(".")[2] in ("js", "css", "html")
    ]
    assert sum(len(one.read_bytes()) for one in served) < 300_000
    assert door.get("/static/vega.js").status_code == 200


# ── 11: does it matter? ───────────────────────────────────────────────────────────────────────────


def test_does_it_matter(page: Open, pair: Path) -> None:
    """Of a class in a head, of a token in whole layers: the numbers of `mindshare knockout`."""
    one = page()
    one.locator(".token").first.wait_for()
    measure(one, "which ## of ** these")
    one.get_by_role("button", name="star", exact=True).click()
    one.get_by_label("head", exact=True).select_option("2")
    panel = one.locator("matter-panel")
    panel.get_by_role("button", name="Does it matter?").click()
    panel.locator("tbody tr").first.wait_for()
    assert "the answer is" in panel.inner_text()
    layer = one.evaluate("document.querySelector('mind-explorer').data.view.layer")
    study = mindshare.knockout(
        str(pair / "base"), "which ## of ** these", classes={"star": "*"}, answer="greedy",
        heads="each",
    )  # fmt: skip
    rows = [r for r in study.tables["summary"].to_pylist() if (r["layer"], r["head"]) == (layer, 2)]
    said = panel.locator("tbody tr").first.locator("td.number").inner_text().replace("−", "-")
    assert float(said) == pytest.approx(rows[0]["mean"], rel=0.01)
    panel.get_by_role("button", name="Show it in the map of heads").click()
    assert one.locator(f"{HEADS} td.number").count() == 8
    assert f"Heads: {MEASURES['delta_logprob'].word} of star" in one.locator(".right").inner_text()
    one.get_by_label("head", exact=True).select_option("")
    assert "choose one" in panel.inner_text()
    one.locator(".token").nth(3).click()
    one.locator(".bar").get_by_role("button", name="Does it matter?").click()
    one.get_by_text("token-3 hidden in all heads").wait_for()
    again = page(one.url[one.url.index("#") :])
    again.get_by_text("token-3 hidden in all heads").wait_for()  # the link keeps it


def test_what_matters_over_several_prompts_has_an_interval(page: Open) -> None:
    one = page()
    one.locator(".token").first.wait_for()
    for text in (f"{n} ## of ** these {n * n}" for n in range(8)):
        measure(one, text)
        until(one, f"document.querySelector('mind-explorer').data.a.tokens.text === '{text}'")
    one.get_by_role("button", name="star", exact=True).click()
    panel = one.locator("matter-panel")
    panel.get_by_label("over all").check()
    panel.get_by_role("button", name="Does it matter?").click()
    panel.get_by_text("with 95 % intervals").wait_for()
    assert re.search(r"\[.*, .*\]", panel.locator("td.number").first.inner_text())


def test_saved_knock_outs_are_shown(page: Open, pair: Path, tmp_path: Path) -> None:
    prompts = [f"{n} ## of ** these" for n in range(8)]
    classes = {one["name"]: one["rule"] for one in STARS}
    chart = mindshare.knockout(
        str(pair / "base"), prompts, classes=classes, answer="greedy", heads="each"
    )
    chart.save(tmp_path / "hidden", formats=["svg"])
    file = write_bundle(opened([str(tmp_path / "hidden")]), tmp_path / "page")
    one = page(address=file.as_uri())
    one.locator(HEADS).first.click()
    one.locator(f"{HEADS} button").first.click()
    one.get_by_text("mean over 8 prompts, with 95 % intervals").wait_for()
    view = one.evaluate("document.querySelector('mind-explorer').data.view")
    rows = chart.tables["summary"].to_pylist()
    keys = (view["layer"], view["head"], view["cls"])
    (row,) = [r for r in rows if (r["layer"], r["head"], r["class"]) == keys]
    said = one.locator("matter-panel td.number").first.inner_text().replace("−", "-")
    numbers = [float(part) for part in re.findall(r"-?[\d.]+(?:e-?\d+)?", said)]
    assert numbers == pytest.approx([row["mean"], row["low"], row["high"]], rel=0.01)


# ── a newcomer's question, several tabs, a server that goes and comes back ───────────────────────


def test_which_head_looks_most_at_the_stars_and_does_tuning_change_it(page: Open) -> None:
    """The list of heads has the answer: the first row, and the same row with both models."""
    one = page()
    one.locator(".token").first.wait_for()
    one.get_by_role("button", name="Measure", exact=True).click()
    one.locator(HEADS).first.wait_for()
    assert one.locator(".right h2").first.inner_text() == f"Heads: {MEASURES['mass'].word} of star"
    best, value = one.locator(f"{HEADS} td").all_inner_texts()[:2]
    one.get_by_role("button", name="measure in tuned").click()
    until(one, "document.querySelector('mind-explorer').data.classesB !== null")
    one.locator("table.heads").get_by_role("button", name="A", exact=True).click()
    head, *numbers = one.locator(f"{HEADS} td").all_inner_texts()[:4]
    a, b, change = (float(number.replace("−", "-")) for number in numbers)
    assert (head, a) == (best, float(value))
    assert change == pytest.approx(b - a, abs=2e-3)
    assert one.get_by_label("B: tuned").count() == 1


def test_two_tabs_two_models_one_cancels(page: Open, explorer: Explorer) -> None:
    import threading

    first, second = page(), page()
    for tab in (first, second):
        tab.locator(".token").first.wait_for()
    blocked = threading.Event()
    explorer.jobs.submit("in the way", lambda _: blocked.wait(10) and None)
    second.get_by_label("model", exact=True).select_option("tuned")
    for tab in (first, second):
        tab.locator("prompt-panel textarea").first.fill("two tabs ## and **")
        tab.get_by_role("button", name="Measure", exact=True).click()
        tab.get_by_text("waiting for another job").wait_for()
    first.get_by_role("button", name="Cancel").click()
    first.get_by_text("the job was cancelled").wait_for()
    blocked.set()
    second.locator(HEADS).first.wait_for()
    assert second.evaluate("document.querySelector('mind-explorer').data.a.model") == "tuned"
    measure(first, "two tabs ## and **")
    assert first.evaluate("document.querySelector('mind-explorer').data.a.model") == "base"


def test_a_server_that_stops_is_told_and_one_that_starts_is_used(
    page: Open, explorer: Explorer, map_id: str
) -> None:
    before = Server.bind(explorer)
    thread = before.start()
    port = before.port
    one = page(hash_of(map_id), address=before.address, refused="ERR_CONNECTION_REFUSED")
    one.locator(HEADS).first.wait_for()
    before.stop()
    thread.join(10)
    before.socket.close()
    one.locator(".token").nth(7).click()
    one.locator(".notice", has_text="the server does not answer").wait_for()
    after = Server.bind(explorer, port=port, token=before.token)
    after.start()
    one.locator(".token").nth(9).click()
    wait_line(one)
    after.stop()
