"""Reports are written whole or not at all; nothing that someone wrote becomes markup."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
import socket
import zlib
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mindshare.errors import OutputError, SelectionError
from mindshare.figures import render
from mindshare.figures.theme import text_width
from mindshare.report import write_report, writing
from mindshare.report.blocks import (
    Attached,
    Block,
    Bullets,
    Code,
    Colour,
    ColouredText,
    Column,
    Details,
    Heading,
    NumberTable,
    Pairs,
    Paragraph,
    Term,
)
from mindshare.report.document import Chapter, Claim, Document, document
from mindshare.report.saved import Picture, SavedResults
from mindshare.report.writing import (
    LIMIT,
    fenced,
    file_names,
    find_browser,
    markdown,
    page,
    plain,
    print_page,
    require_browser,
    write_pdf,
)
from tests.browser import require_chromium

VOID = {"meta", "link", "img", "br", "hr", "input"}
BAD = '</script><img src=x onerror="alert(1)"> </math> ](http://x) `'
TABLE = NumberTable(
    "Numbers",
    (Column("layer", "a layer"), Column("class", numeric=False), Column("mean")),
    tuple((str(i), "hash|x", "0.5") for i in range(70)),
    csv=Path("/results/a/numbers.csv"),
)


class Outline(HTMLParser):
    """Headings, ids, links, what is loaded; and that every tag is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def all(self, attribute: str) -> list[str]:
        return [str(found[attribute]) for _, found in self.tags if attribute in found]


def outline(text: str) -> Outline:
    found = Outline()
    found.feed(text)
    found.close()
    assert found.open == []
    return found


@pytest.fixture(scope="module")
def both(saved: dict[str, SavedResults]) -> Document:
    return document([saved["shares"], saved["insert"]])


@pytest.fixture(scope="module")
def html(both: Document) -> str:
    return page(both)


def of(part: Block, picture: Picture, words: str = "x") -> Document:
    """A document with this one part, and these words everywhere else."""
    spec = {**picture.spec, "title": {"subtitle": [words]}}  # its caption
    told = replace(picture, title=words, description=words, label=words, spec=spec)
    chapter = Chapter(
        name=words,
        title=words,
        question=words,
        claims=(Claim(words, words), Claim(f"{words} 2", words, words, words)),
        main=told,
        supporting=(),
        gallery=(replace(told, anchor="a"), replace(told, anchor="b")),
        limits=(words,),
        notes=(words,),
        n_prompts=1,
        models=(words,),
        date=date(2026, 1, 2),
        folded={"numbers": (part,)},
    )
    return Document(words, (chapter, chapter), (words,))


def test_headings_follow_each_other_and_names_are_there_once(
    saved: dict[str, SavedResults], html: str
) -> None:
    for text in (page(document([saved["single"]])), html):
        found = outline(text)
        levels = [int(tag[1]) for tag, _ in found.tags if re.fullmatch(r"h[1-6]", tag)]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert max(b - a for a, b in pairwise(levels)) == 1
        assert len(set(found.all("id"))) == len(found.all("id"))


def test_every_link_leads_somewhere(html: str, both: Document) -> None:
    found = outline(html)
    inside = {link[1:] for link in found.all("href") if link.startswith("#")}
    assert {"study-1", "study-2", "methods", "again", "content"} <= inside <= set(found.all("id"))
    others = {link for link in found.all("href") if not link.startswith(("#", "data:"))}
    assert others == {f"{picture.name}.csv" for picture in both.pictures}


def test_the_main_chart_comes_before_any_study(html: str, both: Document) -> None:
    order = [both.answer[:30], both.chapters[0].main.anchor, 'class="study"', 'class="behind"']
    places = [html.index(one, html.index("<main")) for one in order]
    assert places == sorted(places)


def test_nothing_is_loaded(html: str) -> None:
    kinds = {one.partition(",")[0] for one in outline(html).all("src")}
    assert kinds == {"data:image/svg+xml;base64"}
    assert "default-src 'none'" in html
    style = html.partition("<style>")[2].partition("</style>")[0]
    assert "@import" not in style
    assert "url(" not in style


def test_specs_and_tables_are_those_of_the_results(html: str, both: Document) -> None:
    packed = re.findall(r'<script type="text/plain" id="(\w+)-\d+">(.*?)</script>', html)
    texts = [(name, gzip.decompress(base64.b64decode(one)).decode()) for name, one in packed]
    assert [json.loads(text) for name, text in texts if name == "spec"] == [
        picture.spec for picture in both.pictures
    ]
    assert [text for name, text in texts if name == "csv"] == [
        picture.file("csv").read_text() for picture in both.pictures
    ]
    assert html.count("window.vegaEmbed = vegaEmbed") <= 1  # the library is there once


def test_the_long_description_is_there_but_not_shown(html: str, both: Document) -> None:
    hidden = [found for tag, found in outline(html).tags if tag == "p" and "hidden" in found]
    assert len(hidden) == len(both.pictures) + 1  # and how the keyboard works


def test_a_page_is_small_and_cut_until_it_fits(
    html: str, both: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(html.encode()) < LIMIT
    stills = [one for one in outline(html).all("src") if one.startswith("data:image/svg")]
    assert len(stills) == len(both.pictures)  # for paper, and where no script runs
    monkeypatch.setattr(writing, "LIMIT", 1)
    smallest = page(both)
    assert len(smallest) < len(html)
    assert re.search(r"The first 30 of \d+ rows", smallest)
    assert not outline(smallest).all("src")


@pytest.mark.parametrize(
    "part",
    [
        Heading(BAD),
        Paragraph(BAD),
        Bullets((BAD,)),
        Term(BAD, BAD, "<math></math>", "x"),
        NumberTable(BAD, (Column(BAD, BAD),), ((BAD,),), Path(f"/x/{BAD.replace('/', '')}")),
        ColouredText(BAD, ((BAD, BAD), (BAD, "other")), (Colour(BAD, "#ffffff", BAD),)),
        Code(BAD),
        Attached(BAD, BAD),
        Pairs(((BAD, BAD),)),
        Details(BAD, (Paragraph(BAD),)),
    ],
    ids=lambda part: type(part).__name__,
)
def test_words_stay_words(part: Block, both: Document) -> None:
    made = of(part, both.chapters[0].main, BAD)
    found = outline(page(made))
    assert not [tag for tag, attributes in found.tags if "onerror" in attributes]
    assert all(one.startswith("data:image/") for one in found.all("src"))
    links = tuple(found.all("href"))  # inside, attached, or files beside the page
    assert all(one.startswith(("#", "data:text/plain", "%", "class_bars")) for one in links)
    told = re.sub(r"(?ms)^(`{3,}).*?^\1$", "", markdown(made))
    told = re.sub(r"\]\(<.*?>\)", "", told)  # names of files
    assert not re.search(r"(?<!\\)<(?!/?(details|summary)>)", told)
    assert not re.search(r"(?<!\\)\]\(http", re.sub(r"<summary>.*?</summary>", "", told))


def test_hostile_prompts_do_not_run(html: str) -> None:
    assert "<script>alert" not in html


def test_a_table_says_what_its_cells_are_and_where_the_rest_is(both: Document) -> None:
    made = of(TABLE, both.chapters[0].main)
    found = outline(page(made, file_name=lambda path: f"2-{path.name}"))
    assert found.all("scope").count("col") == 2 * 3  # in both chapters
    assert found.all("scope").count("row") == 2 * 70
    assert "a layer" in found.all("title")
    assert "2-numbers.csv" in found.all("href")
    text = markdown(made)
    assert "| ---: | --- | ---: |" in text
    assert r"| 0 | hash\|x | 0.5 |" in text
    assert "| 60 |" not in text
    assert "The first 60 of 70 rows" in text
    assert "[numbers.csv](<numbers.csv>)" in text


def test_tokens_carry_their_class_not_only_a_colour(both: Document) -> None:
    part = ColouredText(
        "Prompt a",
        (("a", "other"), ("#↵\n", "hash"), ("#", "hash")),
        (Colour("hash", "#d63333", "2 tokens"), Colour("other", "#ffffff", "1 token")),
        left_out=3,
    )
    made = of(part, both.chapters[0].main)
    text = page(made)
    assert '<span class="k1">a</span><span class="k0">#↵\n</span>' in text
    assert "--k0:#d63333;--i0:#ffffff" in text
    assert "\n… and 3 more tokens" in text
    assert "```\na[hash:#↵]\n[hash:#]\n… and 3 more tokens\n```" in markdown(made)


def test_stills_are_the_drawn_files_without_what_no_eye_sees(both: Document, html: str) -> None:
    stills = [base64.b64decode(one.partition(",")[2]).decode() for one in outline(html).all("src")]
    for picture, still in zip(both.pictures, stills, strict=True):
        drawn = picture.text("svg")
        assert len(still) < 0.8 * len(drawn)
        for one in (still, drawn):
            ElementTree.fromstring(one)
        words = [re.findall(r"<(?:text|tspan)[^>]*>([^<]+)<", one) for one in (still, drawn)]
        assert words[0] == words[1] != []
        assert "aria-" not in still
    assert "<script" not in page(both, scripts=False)


def test_texts_of_stills_are_as_wide_as_they_were_laid_out(html: str) -> None:
    """Whatever font the browser has: no word is cut off, none covers its neighbour."""
    for still in outline(html).all("src"):
        picture = ElementTree.fromstring(base64.b64decode(still.partition(",")[2]))
        lines = [e for e in picture.iter() if e.tag.endswith(("}text", "}tspan")) and e.text]
        assert lines
        for line in lines:
            assert float(line.attrib["textLength"]) == pytest.approx(
                text_width(line.text or "", 12), rel=0.3
            )
            assert "font-family" not in line.attrib
        assert "Liberation Sans" in picture.attrib["font-family"]


def test_charts_are_laid_out_for_screens_too(html: str, both: Document) -> None:
    """Wide ones for pages and phones, the others for half a page; text keeps its size."""
    packed = re.findall(r'<script type="text/plain" id="layouts-\d+">(.*?)</script>', html)
    for one, picture in zip(packed, both.pictures, strict=True):
        layouts = json.loads(gzip.decompress(base64.b64decode(one)))
        column = [470] if picture.is_map else [890, 470]
        assert [int(units) for units in layouts] == ([890, 326] if picture.wide else column)
        for units, spec in layouts.items():
            assert "usermeta" not in spec
            drawn = render.draw(spec).bare
            width = float(re.search(r'viewBox="0 0 ([\d.]+)', drawn)[1])  # type: ignore[index]
            assert 0.75 * int(units) < width < 1.1 * int(units)
            assert min(float(size) for size in re.findall(r'font-size="([\d.]+)px"', drawn)) >= 12


def test_markdown_has_everything_the_document_has(both: Document) -> None:
    text = markdown(both)
    for part in both.parts:
        if isinstance(part, Heading | Paragraph):
            assert plain(part.text) in text
        if isinstance(part, Bullets):
            assert all(plain(item) in text for item in part.items)
        if isinstance(part, Term):
            assert f"$$\n{part.latex}\n$$" in text
    pictures = re.findall(r"!\[[^\n]*\]\(<(\w+)\.png>\)", text)
    assert pictures == [picture.name for picture in both.pictures]  # in this order
    code = re.sub(r"(?ms)^```.*?^```", "", text)
    levels = [len(found) for found in re.findall(r"^(#+) ", code, re.MULTILINE)]
    assert levels[0] == 1
    assert max(b - a for a, b in pairwise(levels)) == 1


@pytest.mark.parametrize("text", ["# x", "*a* _b_", "<b>", "a | b", "[a](b)", "`x`", "$x$", "&lt;"])
def test_markdown_takes_no_word_for_markup(text: str) -> None:
    escaped = plain(text)
    assert re.sub(r"\\(.)", r"\1", escaped) == text
    assert not re.search(r"(?<!\\)[#*_<|\[`$&]", escaped)


def test_a_fence_is_longer_than_any_inside() -> None:
    assert fenced("a ``` b", "sh") == "````sh\na ``` b\n````"


# Files.


def test_html_is_one_file_with_its_tables_beside(results: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "deep" / "report"
    assert write_report([results["shares"]], out) == [out / "report.html"]
    names = sorted(file.name for file in out.iterdir())
    tables = sorted(file.name for file in results["shares"].glob("*.csv"))
    assert len(tables) == 2  # of the bars, and of the difference by layer
    assert names == [*tables, "manifest.json", "report.html"]
    assert json.loads((out / "manifest.json").read_text())["report"]["files"] == ["report.html"]


def test_markdown_has_its_pictures_beside(results: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "report"
    write_report([results["shares"], results["single"]], out, formats=("md",))
    names = {file.name for file in out.iterdir()}
    assert {"class_bars_mass.png", "class_bars_mass-2.png", "study-1.toml", "study-2.toml"} <= names
    text = (out / "report.md").read_text()
    assert "(<class_bars_mass-2.png>)" in text
    same = (out / "class_bars_mass-2.png").read_bytes()
    assert same == (results["single"] / "class_bars_mass.png").read_bytes()


def test_every_linked_file_is_there(results: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "report"
    write_report([results["insert"]], out, formats=("html", "md"))
    links = re.findall(r'href="([^"#:]+)"', (out / "report.html").read_text())
    links += re.findall(r"\]\(<([^>]+)>\)", (out / "report.md").read_text())
    csv = {link for link in links if link.endswith(".csv")}
    assert len(csv) == len(list(results["insert"].glob("*.csv")))
    for link in links:
        assert (out / link).is_file(), link


def test_the_same_results_give_the_same_report(results: dict[str, Path], tmp_path: Path) -> None:
    a, b = (write_report([results["insert"]], tmp_path / name)[0] for name in "ab")
    assert a.read_bytes() == b.read_bytes()


def test_nothing_of_the_folder_but_its_charts_is_written(
    results: dict[str, Path], tmp_path: Path
) -> None:
    out = tmp_path / "report"
    write_report([results["insert"]], out, formats=("html", "md"))
    names = {file.name for file in out.iterdir()}
    own = {f"{file.stem}{e}" for file in results["insert"].glob("*.svg") for e in (".png", ".csv")}
    assert names == own | {
        "report.html",
        "report.md",
        "description.md",
        "manifest.json",
        "study.toml",
        "prompts.jsonl",
    }


def test_a_report_is_replaced_only_if_asked(results: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "report"
    write_report([results["single"]], out)
    with pytest.raises(OutputError, match="exists already"):
        write_report([results["single"]], out)
    write_report([results["single"]], out, title="Again", replace=True)
    assert "<h1>Again</h1>" in (out / "report.html").read_text()


def test_a_folder_of_something_else_is_never_replaced(
    results: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(OutputError, match="is not a folder of mindshare results"):
        write_report([results["single"]], tmp_path, replace=True)
    assert (tmp_path / "mine.txt").read_text() == "x"


def test_the_results_themselves_are_not_overwritten(results: dict[str, Path]) -> None:
    with pytest.raises(OutputError, match="the results"):
        write_report([results["single"]], results["single"], replace=True)
    assert (results["single"] / "summary.parquet").is_file()


def test_wrong_words_are_refused_before_anything_is_written(
    results: dict[str, Path], tmp_path: Path
) -> None:
    out = tmp_path / "report"
    with pytest.raises(SelectionError, match="unknown format 'htlm'; did you mean 'html'"):
        write_report([results["single"]], out, formats=("htlm",))
    with pytest.raises(SelectionError, match="no format"):
        write_report([results["single"]], out, formats=())
    with pytest.raises(SelectionError, match="no results"):
        write_report([], out)
    assert not out.exists()


@pytest.mark.parametrize("word", ["html", "md", "pdf"])
def test_no_format_asks_for_what_a_picture_names(
    results: dict[str, Path], tmp_path: Path, word: str
) -> None:
    if word == "pdf":
        require_chromium()
    folder = Path(shutil.copytree(results["shares"], tmp_path / "foreign"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        image = f'<image href="http://127.0.0.1:{server.getsockname()[1]}/x.png" width="9"/>'
        for file in folder.glob("*.svg"):
            file.write_text(file.read_text().replace("</svg>", f"{image}</svg>"))
        with pytest.raises(OutputError, match="is not a chart that mindshare drew"):
            write_report([folder], tmp_path / "report", formats=(word,))
        with pytest.raises(BlockingIOError):
            server.accept()
    assert not (tmp_path / "report").exists()


def test_without_a_browser_there_is_no_pdf_and_nothing_else(
    results: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(writing, "_PLACES", ())
    with pytest.raises(OutputError, match="there is none here") as caught:
        write_report([results["single"]], tmp_path / "report", formats=("html", "pdf"))
    assert "--format html" in str(caught.value)
    assert not (tmp_path / "report").exists()


def test_a_failure_leaves_nothing_behind(
    results: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bin" / "chromium"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho no display >&2\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:/bin:/usr/bin")
    with pytest.raises(OutputError, match="chromium could not print the report: no display"):
        write_report([results["single"]], tmp_path / "out" / "report", formats=("html", "pdf"))
    assert list((tmp_path / "out").iterdir()) == []


def test_names_that_meet_are_numbered(saved: dict[str, SavedResults]) -> None:
    made = document([saved["shares"], saved["single"]])
    names = file_names(made)
    assert len(set(names.values())) == len(names) == 2 * len(made.pictures)
    assert {"class_bars_mass.csv", "class_bars_mass-2.csv"} < set(names.values())


@pytest.fixture(scope="module")
def pdf(saved: dict[str, SavedResults], tmp_path_factory: pytest.TempPathFactory) -> bytes:
    require_chromium()
    path = tmp_path_factory.mktemp("pdf") / "report.pdf"
    write_pdf(document([saved["shares"]]), path)
    return path.read_bytes()


def streams(pdf: bytes) -> bytes:
    found = re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL)
    return b"".join(_inflated(one) for one in found)


def _inflated(stream: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(stream)
    except zlib.error:
        return stream


def test_a_pdf_has_a_few_pages_and_is_tagged_with_the_title(pdf: bytes) -> None:
    assert pdf.startswith(b"%PDF-")
    pages = re.search(rb"/Type\s*/Pages\b.*?/Count (\d+)", pdf, re.DOTALL)
    assert pages is not None
    assert 2 <= int(pages[1]) <= 12
    assert b"/StructTreeRoot" in pdf
    assert b"Attention of Base and Tuned" in pdf


def test_its_charts_are_there(pdf: bytes) -> None:
    red = rb"\.8392\d* \.2\d* \.2\d* rg"  # of the first class
    assert re.search(red, streams(pdf)), "no bar of the chart was painted"


def test_study_files_stand_beside_a_pdf(results: dict[str, Path], tmp_path: Path) -> None:
    require_chromium()
    write_report([results["shares"], results["single"]], tmp_path / "report", formats=("pdf",))
    names = {file.name for file in (tmp_path / "report").iterdir()}
    assert {"study-1.toml", "study-2.toml", "prompts-1.jsonl", "report.pdf"} <= names


def test_a_pdf_that_cannot_be_written_is_told(
    saved: dict[str, SavedResults], tmp_path: Path
) -> None:
    require_chromium()
    with pytest.raises(OutputError, match="could not print the report"):
        write_pdf(document([saved["single"]]), tmp_path / "no" / "such" / "report.pdf")


def test_a_browser_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "_PLACES", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_browser() is None
    with pytest.raises(OutputError, match="there is none here"):
        require_browser()
    program = tmp_path / "google-chrome"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert find_browser() == program


def test_a_browser_that_prints_nothing_is_told(tmp_path: Path) -> None:
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    with pytest.raises(OutputError, match="it gave no reason"):
        print_page(tmp_path / "x.html", tmp_path / "x.pdf", browser=program)
