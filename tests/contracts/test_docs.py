"""What the documents tell a reader to type is what the commands and the library understand."""

from __future__ import annotations

import ast
import json
import re
import shlex
from pathlib import Path

import pytest
from bench.page import write_page
from click import Command, Context, Group

import mindshare
from mindshare.cli.app import command as core
from mindshare.measures import MEASURES
from mindshare_recipes.cli import command as recipes

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PROGRAMS = {"mindshare": core, "mindshare-recipes": recipes}


def blocks(language: str) -> list[str]:
    """The fenced blocks of all pages in this language."""
    texts = (page.read_text(encoding="utf-8") for page in PAGES)
    fenced = rf"^```{language}\n(.*?)^```$"
    return [b for text in texts for b in re.findall(fenced, text, re.DOTALL | re.MULTILINE)]


def shell_commands() -> list[str]:
    lines = "\n".join(blocks("")).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.split(" ")[0] in PROGRAMS]


@pytest.mark.parametrize("line", shell_commands())
def test_a_command_is_understood(line: str) -> None:
    program, *words = shlex.split(line, comments=True)
    command: Command = PROGRAMS[program]()
    context = Context(command)
    while isinstance(command, Group):
        name, command, words = command.resolve_command(context, words)
        assert command is not None, name
    command.make_context(command.name, words)  # parses all options, runs nothing


def test_every_name_of_the_library_is_there() -> None:
    python = blocks("python")
    assert len(python) >= 4
    for block in python:
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "mindshare":
                assert node.attr in mindshare.__all__, node.attr


def test_every_measure_of_the_guide_is_in_the_registry() -> None:
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    section = guide.partition("## What the numbers mean")[2].partition("##")[0]
    named = re.findall(r"`(\w+)`", section)
    assert len(named) > 15
    assert set(named) <= set(MEASURES)


def test_every_linked_file_is_there() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), (page.name, link)


def test_the_performance_page_is_written_from_its_results(tmp_path: Path) -> None:
    results = json.loads((ROOT / "bench" / "results.json").read_text(encoding="utf-8"))
    write_page(results, tmp_path / "page.md")
    assert (tmp_path / "page.md").read_text() == (ROOT / "docs" / "performance.md").read_text()
