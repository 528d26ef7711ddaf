"""The page is whole, small, and loads nothing from outside."""

from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from mindshare.report import html
from mindshare.report.document import document
from mindshare.report.html import LIMIT, anchors, page, paper
from mindshare.report.parts import Document
from mindshare.report.saved import Saved

VOID = {"meta", "link", "img", "br", "hr", "input"}


class Outline(HTMLParser):
    """Headings, ids, links; and that every tag is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.levels: list[int] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        if re.fullmatch(r"h[1-6]", tag):
            self.levels.append(int(tag[1]))
        found = dict(attrs)
        self.ids += [str(found["id"])] if "id" in found else []
        self.links += [str(found["href"])] if "href" in found else []
        self.loaded += [str(found["src"])] if "src" in found else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def outline(text: str) -> Outline:
    found = Outline()
    found.feed(text)
    found.close()
    return found


@pytest.fixture(scope="module")
def both(saved: dict[str, Saved]) -> Document:
    return document([saved["shares"], saved["insert"]])


def test_every_tag_is_closed_and_headings_follow_each_other(
    saved: dict[str, Saved], both: Document
) -> None:
    for made in (document([saved["single"]]), both):
        found = outline(page(made))
        assert found.open == []
        assert found.levels[0] == 1
        assert found.levels.count(1) == 1
        steps = [b - a for a, b in pairwise(found.levels)]
        assert max(steps) == 1
        assert len(set(found.ids)) == len(found.ids)


def test_every_link_leads_somewhere(both: Document) -> None:
    found = outline(page(both))
    inside = [link[1:] for link in found.links if link.startswith("#")]
    assert len(inside) == 21 + len(both.pictures())  # skip link, 2 chapters, 18 sections, charts
    assert set(inside) <= set(found.ids)
    others = {link for link in found.links if not link.startswith(("#", "data:"))}
    assert others == {f"{p.name}.csv" for p in both.pictures()}


def test_nothing_is_loaded(both: Document) -> None:
    text = page(both)
    assert {one.partition(",")[0] for one in outline(text).loaded} == {"data:image/png;base64"}
    assert "default-src 'none'" in text
    assert "@import" not in html.STYLE
    assert "url(" not in html.STYLE


def test_the_specs_are_those_of_the_results(both: Document) -> None:
    text = page(both)
    found = re.findall(r'<script type="application/json" id="spec-\d+">(.*?)</script>', text)
    assert [json.loads(one) for one in found] == [p.spec for p in both.pictures()]
    assert text.count("window.vegaEmbed = vegaEmbed") <= 1


def test_words_of_a_prompt_cannot_run(both: Document) -> None:
    assert "<script>alert" not in page(both)
    assert "<script>alert" not in paper(both)


def test_a_page_is_small(both: Document) -> None:
    assert len(page(both).encode()) < LIMIT


def test_data_are_packed_and_tables_cut_until_the_page_fits(
    both: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = page(both)
    monkeypatch.setattr(html, "LIMIT", len(whole.encode()))
    cut = page(both)
    assert len(cut) < len(whole)
    packed = re.findall(r'<script type="text/plain" data-packed id="spec-\d+">(.*?)</script>', cut)
    assert [json.loads(gzip.decompress(base64.b64decode(one))) for one in packed] == [
        picture.spec for picture in both.pictures()
    ]
    monkeypatch.setattr(html, "LIMIT", 1)
    smallest = page(both)
    assert re.search(r"The first 30 of \d+ rows", smallest)
    assert "<noscript><img " not in smallest


def test_paper_has_pictures_and_no_script(both: Document) -> None:
    text = paper(both)
    assert "<script" not in text
    assert text.count('src="data:image/svg+xml;base64,') == len(both.pictures())
    assert outline(text).open == []
    pixels = paper(both, vector=False)
    assert pixels.count('src="data:image/png;base64,') == len(both.pictures())


def test_paper_has_contents_with_every_chart(both: Document) -> None:
    text = paper(both)
    contents = text.partition('<nav aria-label="Contents" class="printed">')[2].partition("</nav>")
    for picture in both.pictures():
        assert escape(picture.title) in contents[0]
    assert "<details>" not in contents[0]


def test_a_picture_stands_for_each_chart_where_no_script_runs(both: Document) -> None:
    text = page(both)
    assert text.count("<noscript><img ") == len(both.pictures())


def test_one_folder_has_plain_anchors(saved: dict[str, Saved]) -> None:
    names = anchors(document([saved["single"]]))
    assert names[0, 0] == "the-question"
    assert (0, None) not in names


def test_a_title_is_escaped(saved: dict[str, Saved]) -> None:
    made = replace(document([saved["single"]]), title="<b>&")
    assert "<title>&lt;b&gt;&amp;</title>" in page(made)
