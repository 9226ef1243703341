"""What the two published compilers do with a kernel without a kind (spec/pto.md 1, 4.7, 5.3, 5.4), as small oracles.

They share nothing with the product: they read op names, pipes and register types and predict an outcome in words. The
*baseline* is the tree that the third seed describes, *main* the one after raw sections were added.
"""

import re
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Operation

CUBE = re.compile(r"pto\.(mad|mte_gm_l1|mte_l1_|mte_l0c_|mte_ub_l1)")
VECTOR = re.compile(r"pto\.(v[a-z]|pset_|pge_|plt_|mte_gm_ub|mte_ub_gm|mte_ub_ub|strict_vecscope)")
FLAG = re.compile(r"pto\.(set_flag|wait_flag)\[<PIPE_(\w+)>, <PIPE_(\w+)>")
SIGNAL = re.compile(r"pto\.sync\.(?:set|wait) <PIPE_(\w+)>")
KIND_OF_PIPE = {"M": "C", "MTE1": "C", "FIX": "C", "V": "V", "V2": "V", "MTE3": "V"}
AMBIGUOUS = "?"


@dataclass(frozen=True)
class Outcome:
    """`sections`, or the one `kind` of everything, or an `error`."""

    sections: str = ""
    kind: str = ""
    error: str = ""


def entry_of(program: ModuleOp) -> FuncOp:
    """The kernel."""
    return next(op for op in program.walk() if isinstance(op, FuncOp) and "pto.entry" in op.attributes)


def _evidence(op: Operation) -> str:
    """What main makes of one op: C, V, ? or nothing. Flags ask their own pipe only; `_dyn` forms are no carriers."""
    text = str(op).lstrip()
    text = text.partition(" = ")[2] if text.startswith("%") else text
    flag, signal = FLAG.match(text), SIGNAL.match(text)
    if flag is not None:
        return KIND_OF_PIPE.get(flag[2] if flag[1] == "set_flag" else flag[3], AMBIGUOUS)
    if signal is not None:
        return KIND_OF_PIPE.get(signal[1], AMBIGUOUS)
    return "C" if CUBE.match(op.name) else "V" if VECTOR.match(op.name) else ""


def _below(op: Operation) -> set[str]:
    """The evidence in an op and all its regions; sections are not entered."""
    if op.name.startswith("pto.section"):
        return set()
    found = {_evidence(op)} - {""}
    for region in op.regions:
        for inner in (o for block in region.blocks for o in block.ops):
            found |= _below(inner)
    return found


def baseline(program: ModuleOp) -> Outcome:
    """The default kind is written into the module: a section of the other core conflicts, all else is not seen."""
    body = entry_of(program).body.block
    if any(op.name == "pto.section.cube" for op in body.walk()):
        return Outcome(error="conflicts with explicit pto.kernel_kind on its module")
    return Outcome(kind="vector")


def main(program: ModuleOp) -> Outcome:
    """One kind for all where all evidence agrees, else runs of equal kind; whatever stays ambiguous is an error."""
    ops = [op for op in entry_of(program).body.block.ops if not isinstance(op, ReturnOp | CallOp)]
    found: set[str] = set().union(*map(_below, ops))
    if found in ({"C"}, {"V"}) and not any(op.name.startswith("pto.section") for op in ops):
        return Outcome(kind="cube" if found == {"C"} else "vector")
    sections: list[str] = []
    run = ""
    for op in ops:
        if op.name.startswith("pto.section"):
            sections.append(op.name[len("pto.section.")].upper())
            run = ""
            continue
        kinds = _below(op)
        if AMBIGUOUS in kinds or len(kinds) > 1:
            return Outcome(error="whose section kind cannot be inferred uniquely")
        kind = "".join(kinds)
        if kind and kind != run:
            sections.append(kind)
        run = kind
    return Outcome(sections=" ".join(sections)) if sections else Outcome(error="no kind")
