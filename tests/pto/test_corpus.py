"""Every file of the corpus: parse, verify, round trip, and what its header expects.

Header lines: `sections:` the sections after normalization (or `module vector`), `children:` the kinds of the VPTO
children in order, `refused:` a part of the message, `at:` a part of the line it points to (`occurrence:` the nth).
"""

from pathlib import Path

import pytest

from cubelane.ir.pto.text import all_op_names, parse_pto, print_pto, read_pto

from .stages import assembled, children, line_of, refusal, shape

CORPUS = Path(__file__).parent / "corpus"
FILES = sorted(CORPUS.rglob("*.pto"))
ACCEPTED = [path for path in FILES if path.parent.name != "refused"]


def header(text: str) -> dict[str, str]:
    """The `// key: value` lines at the top."""
    lines = [line[3:] for line in text.splitlines() if line.startswith("// ")]
    return dict(line.split(": ", 1) for line in lines[1:] if ": " in line)


def name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@pytest.mark.parametrize("path", FILES, ids=name)
def test_the_file_does_what_its_header_says(path: Path):
    text = path.read_text()
    wanted = header(text)
    if "refused" in wanted:
        problem = refusal(text)
        assert wanted["refused"] in str(problem)
        body = "\n".join("" if line.startswith("//") else line for line in text.splitlines())
        if "at" in wanted:
            assert problem.location.line == line_of(body, wanted["at"], int(wanted.get("occurrence", "1")))
        assert problem.location.line > 0
        return
    if "sections" in wanted:
        assert shape(text) == wanted["sections"]
    if "children" in wanted:
        program = assembled(text)
        assert " ".join(children(program)) == wanted["children"]
        assert print_pto(read_pto(print_pto(program))) == print_pto(program)
        assert "pto.section" not in print_pto(program).replace("pto.section.simt", "")


@pytest.mark.parametrize("path", ACCEPTED, ids=name)
def test_print_then_parse_is_the_identity(path: Path):
    program = read_pto(path.read_text())
    text = print_pto(program)
    again = parse_pto(text)
    assert print_pto(again) == text
    assert again.is_structurally_equivalent(program)


def test_the_corpus_is_large_and_uses_every_op_of_the_table():
    assert len(FILES) >= 150
    used = {op.name for path in ACCEPTED for op in parse_pto(path.read_text()).walk()}
    assert set(all_op_names()) - used == set()
