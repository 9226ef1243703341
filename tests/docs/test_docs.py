"""The documents say what the code does: their blocks run, links lead somewhere, the reference follows the code."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cubelane.cli.main import COMMANDS
from tests.docs import reference
from tests.docs.blocks import ROOT, Reader, blocks_of

REFERENCE = ROOT / "docs" / "reference"
READMES = [ROOT / "README.md", ROOT / "README.zh-CN.md"]
PAGES = [*READMES, *sorted(p for p in (ROOT / "docs").rglob("*.md") if p.parent != REFERENCE)]
ALL = [*PAGES, *sorted(REFERENCE.glob("*.md"))]
TRANSLATED = [(page, page.with_suffix(".zh-CN.md")) for page in (ROOT / "README.md", ROOT / "docs" / "tutorial.md")]


def named(page: Path) -> str:
    """A page as a test id."""
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [p for p in PAGES if ".zh-CN" not in p.name], ids=named)
def test_every_block_of_a_page_runs(page: Path, tmp_path: Path):
    """The Chinese pages have the same blocks, which another test compares."""
    Reader(page, tmp_path).read()


@pytest.mark.parametrize("name", ["README.md", "docs/tutorial.md", "docs/guide.md"])
def test_pages_that_must_show_something_running_do(name: str):
    kinds = [block.language for block in blocks_of((ROOT / name).read_text(encoding="utf-8"))]
    assert "python" in kinds and ("console" in kinds or "indented" in kinds or name.endswith("guide.md"))


@pytest.mark.parametrize(
    "text",
    [
        "```python\n1 / 0\n```",
        "```console\n$ cubelane lower no-such-file.py\n```",
        "```console\n$ cubelane lower examples/lora.py --to none\nsomething else\n```",
        "```ruby\nx\n```",
        "    cubelane lower FILE --no-such-option",
        "    make no-such-target",
        '```python title="refused: another-code"\nimport cubelane.language as pl\n```',
    ],
)
def test_a_block_that_does_not_run_is_found(text: str, tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text(text + "\n", encoding="utf-8")
    with pytest.raises(AssertionError, match=r"page\.md:1"):
        Reader(page, tmp_path).read()


@pytest.mark.parametrize("page", ALL, ids=named)
def test_links_lead_somewhere(page: Path):
    for target in re.findall(r"\]\(([\w./:-]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", ALL, ids=named)
def test_commands_in_the_documents_exist(page: Path):
    for command in re.findall(r"^\s*(?:\$ )?cubelane (\w+)", page.read_text(encoding="utf-8"), re.M):
        assert command in COMMANDS, command


@pytest.mark.parametrize("page", ALL, ids=named)
def test_every_file_named_in_the_documents_exists(page: Path):
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"`((?:src|tests|docs|examples|benchmarks)/[\w/.]+\.\w+)`", text):
        assert (ROOT / name).exists(), name


def test_the_readme_opens_with_the_two_commands():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    commands = [line.split("#")[0].strip() for line in lines[:6] if line.startswith("    make")]
    assert commands == ["make demo", "make test"]


# --- translations -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("page", "chinese"), TRANSLATED, ids=lambda page: page.name)
def test_both_languages_have_the_same_blocks(page: Path, chinese: Path):
    one, two = (list(blocks_of(p.read_text(encoding="utf-8"))) for p in (page, chinese))
    facts = [[(block.language, block.title, block.text) for block in blocks] for blocks in (one, two)]
    assert facts[0] == facts[1]


@pytest.mark.parametrize(("page", "chinese"), TRANSLATED, ids=lambda page: page.name)
def test_both_languages_have_the_same_chapters_and_links(page: Path, chinese: Path):
    def facts(path: Path) -> tuple[int, list[str]]:
        text = path.read_text(encoding="utf-8")
        links = [link.replace(".zh-CN", "") for link in re.findall(r"\]\(([\w./:-]+)\)", text)]
        return len(re.findall(r"^#+ ", re.sub(r"```.*?```", "", text, flags=re.S), re.M)), sorted(links)

    assert facts(page) == facts(chinese)


# --- the reference ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return reference.pages()


@pytest.mark.parametrize("name", ["ops.md", "passes.md", "refusals.md", "errors.md"])
def test_the_reference_is_what_the_code_says(made: dict[str, str], name: str):
    assert (REFERENCE / name).read_text(encoding="utf-8") == made[name], "run: python -m tests.docs.reference"


def test_every_op_pass_and_code_is_in_the_reference(made: dict[str, str]):
    from cubelane.passes import pipeline
    from tests.ir.test_declarations import OPS

    headings = {name: set(re.findall(r"^##+ (.*)$", text, re.M)) for name, text in made.items()}
    assert {f"{op.NAMESPACE}.{op.SPELLING}" for op in OPS} <= headings["ops.md"]
    assert {stage.name for stage in pipeline.PASSES} <= headings["passes.md"]
    stated = {
        code
        for path in reference.SOURCE.rglob("*.py")
        if path.relative_to(reference.SOURCE).parts[0] not in ("cli", "report")
        for code in re.findall(r'\bcode="([\w-]+)"', path.read_text(encoding="utf-8"))
    }
    assert len(stated) > 100 and stated - headings["errors.md"] == set()


# --- the site -----------------------------------------------------------------------------------------------


def test_screenshots_are_small_and_made_by_the_browser_tests():
    shots = (ROOT / "tests" / "report" / "test_browser.py").read_text(encoding="utf-8")
    images = list((ROOT / "docs" / "images").iterdir())
    assert 1 <= len(images) <= 4
    for image in images:
        assert image.stat().st_size < 200_000 and f'shot("{image.stem}")' in shots, image.name


def test_every_page_is_in_the_navigation():
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    listed = re.findall(r": ([\w./-]+\.md)", nav)
    assert all((ROOT / "docs" / name).exists() for name in listed)
    written = {str(p.relative_to(ROOT / "docs")) for p in ALL if p.is_relative_to(ROOT / "docs")}
    assert written == set(listed), "a new page goes into the nav of mkdocs.yml"


@pytest.mark.skipif(importlib.util.find_spec("material") is None, reason="the extra `docs` is not installed")
def test_the_site_builds_without_a_warning(tmp_path: Path):
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("index.html", "tutorial.html", "tutorial.zh-CN.html", "reference/ops.html"):
        page = (tmp_path / "site" / name).read_text(encoding="utf-8")
        assert "fonts.googleapis" not in page, "the site asks nobody for fonts"
