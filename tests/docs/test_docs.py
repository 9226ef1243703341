"""The documents say what the code does: kernels in them compile, links lead somewhere, commands exist."""

import re
from pathlib import Path

import pytest

from cubelane import language
from cubelane.check.compiled import compile_program
from cubelane.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
KERNELS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S))
    if "@pl.program" in block
]


def test_the_readme_holds_a_kernel():
    assert any(param.id and param.id.startswith("README") for param in KERNELS)


@pytest.mark.parametrize("text", KERNELS)
@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_kernels_in_the_documents_compile_and_are_equal(text, target):
    assert compile_program(language.parse(text), target).judge().equal


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([\w./:-]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_in_the_documents_exist(page):
    for command in re.findall(r"^\s*(?:\$ )?cubelane (\w+)", page.read_text(encoding="utf-8"), re.M):
        assert command in COMMANDS, command


def test_the_readme_opens_with_the_two_commands():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    commands = [line.split("#")[0].strip() for line in lines[:6] if line.startswith("    make")]
    assert commands == ["make demo", "make test"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_named_in_the_documents_exists(page):
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"`((?:src|tests|docs|examples|benchmarks)/[\w/.]+\.\w+)`", text):
        assert (ROOT / name).exists(), name
