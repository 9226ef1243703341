"""A text with one fault in it never passes: it is refused, its run finds something, or its numbers differ.

In these two kernels every line counts; where a softmax is shifted or a tile loaded twice, some faults are none.
"""

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from cubelane.check.compare import compare
from cubelane.check.compiled import compile_program
from cubelane.check.execute import run_group
from cubelane.check.kernel_file import read_judge, read_program
from cubelane.check.pto_text import PtoExecutable
from cubelane.emit.pto_program import pto_texts
from cubelane.ir.diagnostic import Diagnostic
from tests.examples.files import FOLDER

EFFECT = re.compile(r"^\s*pto\.(?!barrier|set_validshape)\w+")
NOT_SYMMETRIC = re.compile(r"pto\.(tsub|tdiv|trowexpandsub|trowexpanddiv|tmatmul) ins\((%[\w$.-]+), (%[\w$.-]+) :")


def faults(text: str) -> Iterator[tuple[str, str]]:
    """Texts with one line changed, and the kind of change."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        for kind, changed in changes(line, text):
            yield kind, "\n".join([*lines[:number], *changed, *lines[number + 1 :]]) + "\n"


def changes(line: str, text: str) -> Iterator[tuple[str, list[str]]]:
    if EFFECT.match(line):
        yield f"{line.split('pto.')[1].split(' ')[0].split('(')[0]} dropped", []
    if match := NOT_SYMMETRIC.search(line):
        left, right = match.span(2), match.span(3)
        yield (
            "operands exchanged",
            [line[: left[0]] + match[3] + line[left[1] : right[0]] + match[2] + line[right[1] :]],
        )
    written = "pto.alloc_tile" in line and f"outs({line.split()[0]} :" in text
    if written and "valid_row = %c1_index" not in line:
        yield "fewer rows valid", [re.sub(r"valid_row = %\w+", "valid_row = %c1_index", line)]
    if "split = 1" in line:
        yield "another transport code", [line.replace("split = 1", "split = 2")]
    if "pto.partition_view" in line and "offsets = [%c0_index, %c0_index]" in line:
        yield "another place in global memory", [line.replace("offsets = [%c0_index,", "offsets = [%c1_index,")]
    if "pto.make_tensor_view" in line:
        yield "another layout in global memory", [re.sub(r"strides = \[(%\w+), (%\w+)\]", r"strides = [\2, \1]", line)]
    if "base = 0" in line:
        yield "ring elsewhere", [line.replace("base = 0", "base = 4096")]
    if match := re.search(r"rmode = #pto<round_mode (\w+)>", line):
        yield "another element type", [line.replace("dtype=bf16", "dtype=f16")]


@pytest.mark.parametrize(("name", "target"), [("rope_scores", "a2a3"), ("cross_entropy", "a5")])
def test_every_fault_of_the_text_is_caught(name, target):
    path = FOLDER / f"{name}.py"
    judge = read_judge(path)
    inputs = judge.inputs()
    golden = judge.golden(inputs)
    module = compile_program(read_program(str(path)), target).module
    ((key, text),) = pto_texts(module).items()
    clean = run_group(PtoExecutable(module, {key: text}), inputs)
    assert not clean.findings and compare(clean.outputs, golden, rtol=judge.rtol, atol=judge.atol).equal
    caught: Counter[str] = Counter()
    missed: list[str] = []
    for kind, changed in faults(text):
        try:
            run = run_group(PtoExecutable(module, {key: changed}), inputs)
        except Diagnostic:
            caught[kind] += 1
            continue
        if run.findings or not compare(run.outputs, golden, rtol=judge.rtol, atol=judge.atol).equal:
            caught[kind] += 1
        else:
            first = next(a for a, b in zip(text.splitlines(), changed.splitlines(), strict=False) if a != b)
            missed.append(f"{kind}: {first.strip()[:100]}")
    print(f"\n{name} {target}: {sum(caught.values())} caught of {sum(caught.values()) + len(missed)} tried")
    assert not missed, "\n".join(missed)
    assert len(caught) >= 15
