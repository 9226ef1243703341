"""What is published: contents of wheel and sdist, metadata; dependencies have a reason and a licence."""

import email
import re
import tomllib
import zipfile
from pathlib import Path

import pytest

from release import licences
from release.build import ROOT, Built, build, contents, wanted_in_sdist, wanted_in_wheel
from release.tryout import steps

pytest.importorskip("hatchling")


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Built:
    return build(tmp_path_factory.mktemp("dist"))


def test_the_wheel_holds_the_package_and_the_examples_and_nothing_else(built):
    files = contents(built.wheel)
    assert wanted_in_wheel() - files == set()
    extra = {name for name in files - wanted_in_wheel() if ".dist-info/" not in name}
    assert extra == set()
    assert {"cubelane/py.typed", "cubelane/language/__init__.pyi", "cubelane/examples/flash_attention.py"} <= files
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in files)


def test_the_sdist_holds_what_it_takes_to_build_and_test(built):
    files = contents(built.sdist)
    assert wanted_in_sdist() - files == set()
    assert not [
        name for name in files if name.startswith((".git/", ".venv", "build/", "dist/")) or "__pycache__" in name
    ]


def test_the_metadata_say_what_the_project_says(built):
    with zipfile.ZipFile(built.wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith("/METADATA")]
        facts = email.message_from_bytes(archive.read(name))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert facts["Version"] == project["version"] and facts["License-Expression"] == "Apache-2.0"
    assert facts["Requires-Python"] == project["requires-python"]
    assert "# Cubelane" in str(facts.get_payload())
    supported = {c.rpartition("::")[2].strip() for c in facts.get_all("Classifier") if "Python :: 3." in c}
    assert min(supported) == project["requires-python"].strip(">=")
    assert "Typing :: Typed" in facts.get_all("Classifier")


def test_the_version_stands_in_one_place():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    package = (ROOT / "src" / "cubelane").rglob("*.py")
    assert [path for path in package if f'"{version}"' in path.read_text(encoding="utf-8")] == []


def test_every_command_is_tried_out():
    from cubelane.cli.main import COMMANDS

    tried = {step.words[0] for step in steps(Path("examples"))}
    assert set(COMMANDS) <= tried


# --- dependencies ----------------------------------------------------------------------------------------------------


def rows(page: str) -> list[list[str]]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]


def test_every_dependency_has_a_line_that_says_why():
    told = {(row[0], row[1]): row[2] for row in rows("architecture.md") if len(row) == 3}
    for name, needed_by in licences.required().items():
        assert len(told.get((name, needed_by), "")) > 10, name
    lines = {name for name, by in told if by == "library" or by.startswith("extra")}
    assert lines == set(licences.required())


def test_every_dependency_has_a_licence_on_the_page():
    told = {row[0]: row[2] for row in rows("licences.md")}
    for name in licences.required():
        assert re.search(r"MIT|BSD|Apache|PSF|MPL", told.get(name, "")), name


def test_the_page_is_what_the_distributions_say():
    """Where they are installed; versions of others may state another licence or require something else."""
    told = {row[0]: row[2] for row in rows("licences.md")[2:]}
    now = {row[0]: row[2] for row in made_rows()}
    for name in now.keys() & told.keys():
        assert now[name] == told[name], name
    assert {name for name, by in licences.required().items() if by == licences.RUN_TIME} <= now.keys() & told.keys()


def made_rows() -> list[list[str]]:
    lines = [line for line in licences.page().splitlines() if line.startswith("| ")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
