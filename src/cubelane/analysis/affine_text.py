"""Index expressions of a body as text for integer sets: loop variables, parameters, the lane index (islpy notation)."""

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.dialects.scf import ForOp, IfOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from cubelane.ir.diagnostic import Location
from cubelane.ir.narrowing import is_one
from cubelane.ir.surface import constant_of
from cubelane.ir.tile.channel import SubblockIdxOp

LANE = "LANE"
"""Stands for the lane index; replaced by 0 or 1."""

COMPUTED = "value"
"""Names of symbols that are no parameters start with this; they mean something within one function only."""

_LINEAR: dict[type[Operation], str] = {arith.AddiOp: "({} + {})", arith.SubiOp: "({} - {})"}
_BOUNDED: dict[type[Operation], str] = {
    arith.MinSIOp: "min({}, {})",
    arith.MaxSIOp: "max({}, {})",
    arith.MinUIOp: "min({}, {})",
    arith.MaxUIOp: "max({}, {})",
}
_DIVIDING: dict[type[Operation], str] = {arith.FloorDivSIOp: "floor(({})/{})"}
_PREDICATES = {0: "=", 1: "!=", 2: "<", 3: "<=", 4: ">", 5: ">=", 6: "<", 7: "<=", 8: ">", 9: ">="}
_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class AffineText:
    """The variables that one access needs, and the constraints on them.

    `symbols` are values fixed for the whole run (scalar parameters and what is computed from them), shared by all
    accesses of a function; `variables` run over loops or are not known. `reasons` say what was not affine; where there
    is one, the text allows too much.
    """

    def __init__(self, symbols: dict[SSAValue, str]) -> None:
        self.symbols = symbols
        self.variables: dict[SSAValue, str] = {}
        self.constraints: list[str] = []
        self.reasons: list[str] = []

    @property
    def exact(self) -> bool:
        """Whether the text says neither too much nor too little."""
        return not self.reasons

    def text(self, value: SSAValue | int) -> str:
        """The expression of an index value."""
        if isinstance(value, int):
            return str(value)
        known = constant_of(value)
        if known is not None:
            return str(known)
        owner = value.owner
        if is_one(owner, SubblockIdxOp):
            return LANE
        if isinstance(owner, Block):
            return self._argument(value, owner)
        return self._computed(value, owner)

    def _computed(self, value: SSAValue, op: Operation) -> str:
        kind = type(op)
        form = _LINEAR.get(kind) or _BOUNDED.get(kind)
        if form is not None:
            return form.format(self.text(op.operands[0]), self.text(op.operands[1]))
        if is_one(op, arith.IndexCastOp):
            return self.text(op.operands[0])
        if is_one(op, arith.MuliOp):
            left, right = constant_of(op.lhs), constant_of(op.rhs)
            if right is not None or left is not None:
                factor, other = (right, op.lhs) if right is not None else (left, op.rhs)
                return f"({factor} * {self.text(other)})"
        divisor = constant_of(op.operands[1]) if kind in _DIVIDING else None
        if divisor is not None and divisor > 0:
            return _DIVIDING[kind].format(self.text(op.operands[0]), divisor)
        if is_one(op, arith.RemSIOp) and (divisor := constant_of(op.rhs)) is not None and divisor > 0:
            return self._remainder(value, self.text(op.lhs), divisor)
        return self._opaque(value)

    def _remainder(self, value: SSAValue, number: str, divisor: int) -> str:
        """A remainder that truncates, as `arith.remsi` does; the `mod` of integer sets floors."""
        if value not in self.variables:
            name = self.variables[value] = f"r{len(self.variables)}"
            self.constraints.append(f"(({number}) - {name}) mod {divisor} = 0")
            self.constraints.append(
                f"((({number}) >= 0 and 0 <= {name} and {name} < {divisor})"
                f" or (({number}) < 0 and -{divisor} < {name} and {name} <= 0))"
            )
        return self.variables[value]

    def _argument(self, value: SSAValue, block: Block) -> str:
        loop = block.parent_op()
        if not is_one(loop, ForOp) or value is not block.args[0]:
            return self._opaque(value)
        if value not in self.variables:
            name = self.variables[value] = f"i{len(self.variables)}"
            step = constant_of(loop.step)
            low, high = self.text(loop.lb), self.text(loop.ub)
            self.constraints.append(f"{low} <= {name} and {name} < {high}")
            if step is None or step < 1:
                self.reasons.append(f"the step of the loop at {Location.of(loop)} is no positive number")
            elif step > 1:
                self.constraints.append(f"({name} - {low}) mod {step} = 0")
        return self.variables[value]

    def _opaque(self, value: SSAValue) -> str:
        """A value of its own: a symbol when it is the same throughout the run, else a variable of unknown range."""
        if _fixed(value):
            name = f"arg{value.index}" if is_one(value, BlockArgument) else f"{COMPUTED}{len(self.symbols)}"
            return self.symbols.setdefault(value, name)
        self.reasons.append(f"{_described(value)} is no affine expression of loop counters and parameters")
        return self.variables.setdefault(value, f"u{len(self.variables)}")

    def conditions_of(self, op: Operation) -> None:
        """Adds the conditions under which an op runs: the branches around it and the loops it stands in."""
        block, parent = op.parent, op.parent_op()
        while parent is not None and block is not None:
            if is_one(parent, ForOp):
                self.text(parent.body.block.args[0])
            elif is_one(parent, IfOp):
                self._branch(parent, block)
            elif parent.regions and parent.parent_op() is not None and len(parent.regions) > 1:
                self.reasons.append(f"how often the while loop at {Location.of(parent)} runs is not known")
            block, parent = parent.parent, parent.parent_op()

    def _branch(self, branch: IfOp, block: Block) -> None:
        test = branch.cond.owner
        if not is_one(test, arith.CmpiOp):
            self.reasons.append(f"the condition at {Location.of(branch)} is no comparison of affine expressions")
            return
        sign = _PREDICATES[test.predicate.value.data]
        if branch.true_region.blocks and block is not branch.true_region.block:
            sign = _OPPOSITE[sign]
        left, right = self.text(test.lhs), self.text(test.rhs)
        self.constraints.append(f"({left} < {right} or {left} > {right})" if sign == "!=" else f"{left} {sign} {right}")


def _described(value: SSAValue) -> str:
    """A value in the user's words: its name, or the place where it is computed."""
    if value.name_hint:
        return f"`{value.name_hint}`"
    owner = value.owner
    op = owner if isinstance(owner, Operation) else owner.parent_op()
    return "a value" if op is None else f"what is computed at {Location.of(op)}"


def _fixed(value: SSAValue) -> bool:
    """Whether a value is the same throughout the run and on both lanes: it derives from parameters only."""
    return _all_sources(value, lambda source: is_one(source, BlockArgument) and _outermost(source.owner))


def _outermost(block: Block) -> bool:
    function = block.parent_op()
    return function is not None and function.name == "func.func"


def _all_sources(value: SSAValue, good: Callable[[SSAValue], bool]) -> bool:
    seen: set[SSAValue] = set()
    stack = [value]
    while stack:
        current = stack.pop()
        if current in seen:
            continue
        seen.add(current)
        owner = current.owner
        if isinstance(owner, Block):
            if not good(current):
                return False
        elif is_one(owner, SubblockIdxOp) or owner.regions or not owner.name.startswith("arith."):
            return False
        else:
            stack.extend(owner.operands)
    return True
