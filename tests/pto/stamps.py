# ruff: noqa: E501  (PTO text has long lines)
"""Random kernels made in memory, so that thousands of them are quick: ops are cloned from samples read once.

The statements are those of `generator.py`; names of operands are looked up among the values of the kernel.
"""

import random
from functools import cache

from xdsl.dialects import scf
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue

from cubelane.ir.pto.text import parse_pto

from .generator import OTHER, PIPES, STATEMENTS
from .snippets import function, module

SAMPLES = {
    "mad": "pto.mad %a, %b, %c, %n, %len, %zero : !pto.ptr<f16, l0a>, !pto.ptr<f16, l0b>, !pto.ptr<f32, l0c>, i64, i64, i64",
    "to_l1": "pto.mte_gm_l1 %x, %l1, %n nburst(%n, %len, %n) : !pto.ptr<f16, gm>, !pto.ptr<f16, l1>, i64, i64, i64, i64",
    "to_l0": "pto.mte_l1_l0a %l1, %a, %n, %len, %zero, %zero : !pto.ptr<f16, l1>, !pto.ptr<f16, l0a>, i64, i64, i64, i64",
    "fix": "pto.mte_l0c_ub %c, %u, %n, %n, %n, %len, nz2nd : !pto.ptr<f32, l0c>, !pto.ptr<f32, ub>, i64, i64, i64, i64",
    "to_ub": "pto.mte_gm_ub %g, %u, %zero, %n nburst(%n, %len, %n) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64",
    "to_gm": "pto.mte_ub_gm %u, %g, %n nburst(%n, %len, %n) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64",
    "mask": '%m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>',
    "load_v": "%v = pto.vlds %u[%i0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>",
    "store_v": "pto.vsts %v, %u[%i0], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>",
    "barrier": "pto.barrier #pto.pipe<PIPE_ALL>",
    "store": "pto.store_scalar %n, %p[%i0] : !pto.ptr<i64, gm>, i64",
    "read": "%s = pto.load_scalar %p[%i0] : !pto.ptr<i64, gm> -> i64",
    "pure": "%s = arith.addi %n, %len : i64",
    "query": "%s = pto.get_block_idx : i64",
    **{
        f"set {a} {b} {e}": f"pto.set_flag[<PIPE_{a}>, <PIPE_{b}>, <EVENT_ID{e}>]"
        for a in PIPES
        for b in PIPES
        for e in (0, 1)
    },
    **{
        f"wait {a} {b} {e}": f"pto.wait_flag[<PIPE_{a}>, <PIPE_{b}>, <EVENT_ID{e}>]"
        for a in PIPES
        for b in PIPES
        for e in (0, 1)
    },
    **{f"signal {a}": f"pto.sync.set <PIPE_{a}>, 3" for a in ("FIX", "MTE1", "MTE2", "MTE3", "V")},
}
NUMBERS = ("n", "len", "zero")
NUMBERED = ("read", "pure", "query")


@cache
def _empty() -> ModuleOp:
    extra = "    %i9 = arith.constant 4 : index\n    %i1 = arith.constant 1 : index\n"
    return parse_pto(module(function(extra)))


@cache
def _samples() -> dict[str, tuple[Operation, tuple[str, ...]]]:
    """The ops to copy, by name, each with the names of its operands; all are read as one text."""
    kernel = next(op for op in parse_pto(module(function(_lines()))).walk() if isinstance(op, FuncOp))
    ops = list(kernel.body.block.ops)[-len(SAMPLES) - 1 : -1]
    names = (tuple(operand.name_hint or "" for operand in op.operands) for op in ops)
    return {name: (op, operands) for name, op, operands in zip(SAMPLES, ops, names, strict=True)}


def _lines() -> str:
    """The samples in order; results that nobody names again get numbers."""
    lines = []
    for number, (name, text) in enumerate(SAMPLES.items()):
        lines.append(f"    {text.replace('%s =', f'%s{number} =') if name in NUMBERED else text}\n")
    return "".join(lines)


@cache
def _place(line: int) -> FileLineColLoc:
    return FileLineColLoc(StringAttr("stamped"), IntAttr(line), IntAttr(1))


class Stamper:
    """Writes one kernel into a copy of the empty one."""

    def __init__(self, source: random.Random):
        self.random = source
        self.program = _empty().clone()
        (self.kernel,) = (op for op in self.program.walk() if isinstance(op, FuncOp))
        self.values = {v.name_hint: v for v in self.kernel.body.block.args}
        self.values |= {r.name_hint: r for op in self.kernel.body.block.ops for r in op.results}
        self.numbers = [self.values[name] for name in NUMBERS]
        self.registers: list[SSAValue] = []
        self.count = 0

    def program_of_stretches(self) -> ModuleOp:
        """Stretches that lean to one core, so that many kernels are accepted."""
        block = self.kernel.body.block
        end = block.last_op
        assert end is not None
        end.detach()
        for _ in range(self.random.randint(1, 4)):
            numbers = list(self.numbers)
            self.fill(block, 5, 0, self.random.choice(("cube", "vector", "cube", "vector", "any")))
            self.numbers = numbers
        block.add_op(end)
        return self.program

    def fill(self, block: Block, size: int, depth: int, bias: str) -> None:
        numbers, registers = list(self.numbers), list(self.registers)
        pool = STATEMENTS if bias == "any" else [s for s in STATEMENTS if s not in OTHER[bias]]
        for _ in range(self.random.randint(1, size)):
            kind = self.random.choice(pool)
            if kind in ("loop", "if"):
                if depth < 3:
                    self.nest(kind, block, depth, bias)
            else:
                self.statement(kind, block)
        self.numbers, self.registers = numbers, registers

    def nest(self, kind: str, block: Block, depth: int, bias: str) -> None:
        bodies = [Block(arg_types=[self.values["i0"].type] if kind == "loop" else [])]
        if kind == "if" and self.random.random() < 0.5:
            bodies.append(Block())
        for body, size in zip(bodies, (3, 2), strict=False):
            self.fill(body, size, depth + 1, bias)
            body.add_op(scf.YieldOp())
        if kind == "loop":
            bounds = (self.values[name] for name in ("i0", "i9", "i1"))
            self.append(scf.ForOp(*bounds, [], Region(bodies[0])), block)
        else:
            other = Region(bodies[1]) if len(bodies) > 1 else Region()
            self.append(scf.IfOp(self.values["no"], [], Region(bodies[0]), other), block)

    def statement(self, kind: str, block: Block) -> None:
        if kind in ("set", "wait"):
            pipes = self.random.choice(PIPES), self.random.choice(PIPES), self.random.choice((0, 1))
            kind = " ".join((kind, *map(str, pipes)))
        elif kind == "signal":
            kind = f"signal {self.random.choice(('FIX', 'MTE1', 'MTE2', 'MTE3', 'V'))}"
        if kind == "vector":
            self.stamp("mask", block)
            self.stamp("load_v", block)
            self.stamp("store_v", block)
        elif kind == "use_v":
            if self.registers:
                self.stamp("mask", block)
                self.stamp("store_v", block)
        else:
            self.stamp(kind, block)

    def stamp(self, name: str, block: Block) -> None:
        """Appends a copy of a sample; number operands are drawn anew, ops that run once get an id of their own."""
        sample, names = _samples()[name]
        self.count += 1
        op = type(sample).create(
            operands=[self.operand(n) for n in names],
            result_types=sample.result_types,
            properties=sample.properties.copy(),
            attributes={} if name in NUMBERED[1:] else {"id": IntegerAttr(self.count, i64)},
            location=_place(self.count),
        )
        block.add_op(op)
        for result in op.results:
            if name in NUMBERED:
                self.numbers.append(result)
            elif name == "load_v":
                self.registers.append(result)
            else:
                self.values["m"] = result

    def append(self, op: Operation, block: Block) -> None:
        self.count += 1
        op.location = _place(self.count)
        block.add_op(op)

    def operand(self, name: str) -> SSAValue:
        if name in NUMBERS:
            return self.random.choice(self.numbers[-6:])
        return self.registers[-1] if name == "v" else self.values[name]


def stamped(seed: int) -> ModuleOp:
    """The random kernel of a seed."""
    return Stamper(random.Random(seed)).program_of_stretches()
