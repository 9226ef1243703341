"""The licences of everything that Cubelane requires: `python -m release.licences` writes docs/licences.md.

Licences are those that the installed distributions state. What the library requires at run time is followed to its end;
extras and tools of development are listed themselves.
"""

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "licences.md"
RUN_TIME = "library"

STATED = {"atheris": "Apache-2.0"}
"""Of distributions whose metadata say nothing: what their licence file says."""

WRITTEN = {
    "Apache License v2.0 with LLVM Exceptions": "Apache-2.0 WITH LLVM-exception",
    "Apache-2.0 with LLVM exception": "Apache-2.0 WITH LLVM-exception",
    "MIT License": "MIT",
    "BSD License": "BSD (see its licence file)",
}
"""Licences in words, by their SPDX names."""


def normal(requirement: str) -> str:
    """The normalized name of a requirement."""
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match is not None, requirement
    return re.sub(r"[-_.]+", "-", match[0]).lower()


def required() -> dict[str, str]:
    """Every requirement that pyproject.toml names, and what needs it: the library, or an extra."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        project: dict[str, Any] = tomllib.load(file)["project"]
    found = {normal(name): RUN_TIME for name in project["dependencies"]}
    for extra, names in project["optional-dependencies"].items():
        for name in names:
            found.setdefault(normal(name), f"extra `{extra}`")
    return found


def behind(name: str, seen: set[str]) -> Iterator[str]:
    """What a distribution requires at run time without extras, and what that requires."""
    for requirement in found(name).requires or ():
        text, _, marker = requirement.partition(";")
        other = normal(text)
        if "extra" in marker or other in seen or not _is_installed(other):
            continue  # for another system or Python, or for an extra
        seen.add(other)
        yield other
        yield from behind(other, seen)


def found(name: str) -> Distribution:
    """The installed distribution of a name."""
    return distribution(name)


def _is_installed(name: str) -> bool:
    try:
        return bool(distribution(name))
    except PackageNotFoundError:
        return False


def licence(name: str) -> str:
    """What a distribution says of its licence."""
    facts = found(name).metadata
    classes = [c.rpartition("::")[2].strip() for c in facts.get_all("Classifier") or () if c.startswith("License ::")]
    words = facts.get("License-Expression") or (facts.get("License") or "").partition("\n")[0] or ", ".join(classes)
    return STATED.get(name) or WRITTEN.get(words, words)


def page() -> str:
    """The page."""
    needs = required()
    core = [name for name, by in needs.items() if by == RUN_TIME]
    seen = set(core)
    further = {name: f"behind {first}" for first in core for name in behind(first, seen)}
    rows = [(name, by) for name, by in (*needs.items(), *further.items()) if _is_installed(name)]
    lines = [f"| {name} | {by} | {licence(name)} |" for name, by in sorted(rows, key=lambda r: (r[1] != RUN_TIME, r))]
    head = "<!-- made by `python -m release.licences`; edits are lost -->\n\n# Licences\n\n"
    about = (
        "Cubelane is published under Apache-2.0. It contains no code of others; what it requires has these licences,\n"
        "as the distributions state them. Only the rows of the library, and what is behind them, come with it.\n\n"
    )
    return head + about + "| distribution | for | licence |\n| --- | --- | --- |\n" + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
