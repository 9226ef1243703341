"""What the PTO tests share: run the stages on a text and look at the result."""

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from cubelane.emit.vpto import Job, StageFailure
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.pto.attrs import kind_of
from cubelane.ir.pto.regions import SectionOp


def normalized(text: str) -> ModuleOp:
    """The program after the normalization group; raises the diagnostic of a refusal."""
    try:
        return Job(text, "t.pto").normalized()
    except StageFailure as failure:
        raise failure.diagnostic from None


def assembled(text: str) -> ModuleOp:
    """The VPTO program; raises the diagnostic of a refusal."""
    try:
        return Job(text, "t.pto").vpto()
    except StageFailure as failure:
        raise failure.diagnostic from None


def children(program: ModuleOp) -> dict[str, ModuleOp]:
    """The child modules by kind; two of one kind are an error."""
    found: dict[str, ModuleOp] = {}
    for op in program.body.block.ops:
        assert isinstance(op, ModuleOp)
        kind = kind_of(op.attributes)
        assert kind is not None and kind.value not in found
        found[kind.value] = op
    return found


def kinds(text: str) -> list[str]:
    """The kinds of the children of an assembled text, in order."""
    return list(children(assembled(text)))


def shape(text: str) -> str:
    """The sections of the first function in order, e.g. `V C`, or `module vector` / `function cube`."""
    program = normalized(text)
    for op in program.walk():
        if isinstance(op, ModuleOp) and (kind := kind_of(op.attributes)) is not None:
            return f"module {kind.value}"
    sections = [op.kind.value[0].upper() for op in program.walk() if isinstance(op, SectionOp)]
    return " ".join(sections)


def names(child: ModuleOp) -> list[str]:
    """The op names in a child, in order."""
    return [op.name for op in child.walk() if not isinstance(op, ModuleOp | FuncOp)]


def refusal(text: str, stage: Callable[[str], object] = assembled) -> Diagnostic:
    """The diagnostic that a text is refused with."""
    with pytest.raises(Diagnostic) as caught:
        stage(text)
    return caught.value


def line_of(text: str, part: str, occurrence: int = 1) -> int:
    """The line (from 1) of the nth line that contains `part`."""
    hits = [number for number, line in enumerate(text.splitlines(), 1) if part in line]
    return hits[occurrence - 1]
