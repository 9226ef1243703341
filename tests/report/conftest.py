"""Kernels compiled once, and pages opened in a real browser."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cubelane.check.compiled import CompiledKernel, compile_program
from cubelane.check.kernel_file import Judge, read_judge, read_program

EXAMPLES = Path(__file__).parents[2] / "examples"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SHOTS = Path(os.environ.get("CUBELANE_SHOTS", Path(__file__).parents[2] / "build" / "screenshots"))
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


def example(name: str, target: str = "a2a3", mode: str | None = None) -> tuple[CompiledKernel, Judge, str]:
    """An example, compiled with all stages kept, its judge and its path."""
    path = EXAMPLES / f"{name}.py"
    return compile_program(read_program(str(path)), target, mode, keep_stages=True), read_judge(path), str(path)


class Opened:
    """A page in the browser, and what it did that it should not."""

    def __init__(self, page: Any):
        self.page, self.errors, self.requests = page, list[str](), list[str]()
        page.on("console", lambda m: self.errors.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: self.errors.append(str(e)))
        page.on("request", lambda r: self.requests.append(r.url))

    def shot(self, name: str) -> None:
        """Keeps a screenshot as an artifact."""
        SHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=str(SHOTS / f"{name}.png"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A headless Chromium; tests that need it are skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield running
        running.close()


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Opens HTML text as a file; checks at the end that it was quiet and stayed at home."""
    opened: list[Opened] = []

    def open_(html: str, width: int = 1280, height: int = 900, scheme: str = "light") -> Opened:
        file = tmp_path / f"page{len(opened)}.html"
        file.write_text(html, encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        result = Opened(context.new_page())
        opened.append(result)
        result.page.goto(file.as_uri())
        result.page.wait_for_selector("html[data-ready=yes]")
        return result

    yield open_
    for result in opened:
        assert result.errors == []
        assert [u for u in result.requests if not u.startswith(("file:", "data:"))] == []
        result.page.context.close()
