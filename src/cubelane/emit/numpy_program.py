"""A function of the final program as readable Python over NumPy: a generator that pauses where it may block.

Tiles become arrays of the physical box in their real element type. A tile whose valid extent is known at run time
only has a companion `<name>_valid`; where the type states the extent it is written out. The formulas are the
`Meaning` of the ops with variable names filled in; the names they call are the primitives of the tile machine
(`sim/primitives.py`, `sim/core.py`). Every line knows the place in the user's file it stands for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from cubelane.emit.numpy_scalar import bare, may_fail, scalar_text
from cubelane.emit.numpy_slots import slot_of
from cubelane.emit.numpy_text import Names, needs_companion, tuple_text
from cubelane.emit.numpy_tile import TileText
from cubelane.emit.numpy_views import only_lends_memory
from cubelane.ir.calls import KernelCallOp
from cubelane.ir.diagnostic import Location, refuse
from cubelane.ir.kernel import FunctionKind, YieldOp, functions_of, kind_of
from cubelane.ir.surface import SurfaceOp, constant_of
from cubelane.ir.types import TileType


@dataclass(frozen=True)
class Line:
    """Where an emitted line comes from: the place, the op's name, the user's variable (if it defines one), the op."""

    location: Location = field(default_factory=Location)
    op: str = ""
    variable: str | None = None
    operation: Operation | None = field(default=None, compare=False, repr=False)


@dataclass
class EmittedFunction:
    """One function as Python: its text, and for every line of it (1-based) where it comes from."""

    name: str
    kind: FunctionKind
    text: str
    lines: list[Line]
    parameters: tuple[str, ...]
    blocks: bool
    """Whether the function may wait, that is, whether it is a generator."""

    def line(self, number: int) -> Line:
        """The origin of a line; an empty one for a number out of range."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else Line()


def emit_module(module: ModuleOp) -> dict[str, EmittedFunction]:
    """All functions of a program, by name. A Diagnostic for what has no executable form after the last pass."""
    kinds = {f.sym_name.data: kind_of(f) for f in functions_of(module)}
    return {f.sym_name.data: emit_function(f, kinds) for f in functions_of(module) if not f.is_declaration}


def emit_function(
    function: FuncOp, kinds: dict[str, FunctionKind] | None = None, paired: bool = False
) -> EmittedFunction:
    """One function as Python. `kinds` gives the kind of every function that may be called.

    `paired`: for both lanes side by side, tiles with a lane axis in front; only where `runs_side_by_side` holds.
    """
    return _Emitter(function, kinds or {}, paired).run()


class _Emitter:
    """Walks one function and writes its lines."""

    def __init__(self, function: FuncOp, kinds: dict[str, FunctionKind], paired: bool):
        self.function = function
        self.kinds = kinds
        self.names = Names()
        self.text: dict[SSAValue, str] = {}
        self.extent: dict[SSAValue, str] = {}
        self.tiles = TileText(self.text, self.extent, paired)
        self.out: list[str] = []
        self.lines: list[Line] = []
        self.depth = 0
        self.blocks = False
        self.members: list[func.CallOp] = []
        self.copied: set[SSAValue] = set()
        self.statements: dict[type[Operation], Callable[[Any], None]] = {
            scf.ForOp: self._for,
            scf.WhileOp: self._while,
            scf.IfOp: self._if,
            func.ReturnOp: self._return,
            KernelCallOp: self._call,
        }

    def run(self) -> EmittedFunction:
        name = self.function.sym_name.data
        arguments = self.function.body.block.args
        parameters = tuple(self._define(a, self.function) for a in arguments)
        hints = tuple(a.name_hint or p for a, p in zip(arguments, parameters, strict=True))
        self._line(f"def {name}({', '.join(parameters)}):", self.function)
        self._body(self.function.body.block)
        return EmittedFunction(name, kind_of(self.function), "\n".join(self.out) + "\n", self.lines, hints, self.blocks)

    # --- lines and names -------------------------------------------------------------------------------------

    def _line(self, text: str, op: Operation, variable: str | None = None) -> None:
        location = Location.of(op)
        remark = f"  # {PurePath(location.file).name}:{location.line}" if location.line else ""
        self.out.append("    " * self.depth + text + remark)
        self.lines.append(Line(location, op.name, variable, op))

    def _define(self, value: SSAValue, op: Operation) -> str:
        """Gives a value its variable; a parameter with run-time extents is taken as whole."""
        name = self.names.of(value)
        self._bind(value, name)
        if isinstance(op, FuncOp) and isinstance(value.type, TileType) and needs_companion(value.type):
            self.extent[value] = tuple_text(value.type.shape)
        return name

    def _bind(self, value: SSAValue, name: str) -> None:
        self.text[value] = name
        if isinstance(value.type, TileType):
            self.extent[value] = f"{name}_valid" if needs_companion(value.type) else tuple_text(value.type.valid)

    def _alias(self, value: SSAValue, other: SSAValue) -> None:
        self.text[value] = self.text[other]
        if isinstance(value.type, TileType) and not needs_companion(value.type):
            self.extent[value] = tuple_text(value.type.valid)
        elif other in self.extent:
            self.extent[value] = self.extent[other]

    def _assign(self, targets: Sequence[SSAValue], sources: Sequence[SSAValue], op: Operation) -> None:
        """`targets = sources` at once, with the companions that the targets need."""
        left: list[str] = []
        right: list[str] = []
        for target, source in zip(targets, sources, strict=True):
            left.append(self.text[target])
            text = self.tiles.shaped(source)
            right.append(f"{text}.copy()" if source in self.copied else bare(text))
            if needs_companion(target.type):
                left.append(self.extent[target])
                right.append(self.extent[source])
        pairs = [(a, b) for a, b in zip(left, right, strict=True) if a != b]
        if pairs:
            self._line(f"{', '.join(a for a, _ in pairs)} = {', '.join(b for _, b in pairs)}", op)

    def _body(self, block: Block) -> None:
        """The statements of a block, one level deeper; `pass` if there is none."""
        self.depth += 1
        before = len(self.out)
        for op in block.ops:
            self._statement(op)
        if len(self.out) == before:
            parent = block.parent_op()
            assert parent is not None
            self._line("pass", parent)
        self.depth -= 1

    # --- statements ------------------------------------------------------------------------------------------

    def _statement(self, op: Operation) -> None:
        if isinstance(op, scf.YieldOp | scf.ConditionOp | YieldOp):
            return
        if (write := self.statements.get(type(op))) is not None:
            write(op)
            return
        self._flush_if_used(op)
        if isinstance(op, SurfaceOp):
            self._surface(op)
            return
        expression = scalar_text(op, [self.text[o] for o in op.operands])
        if expression is None:
            raise refuse(op, f"{op.name} has no executable form here; run the passes first", code="not-executable")
        self._scalar(op, expression)

    def _scalar(self, op: Operation, expression: str) -> None:
        """A constant or an expression used once nearby is written in place; else it gets a variable."""
        result = op.results[0]
        uses = list(result.uses)
        nearby = len(uses) <= 1 and all(u.operation.parent is op.parent for u in uses) and not may_fail(op)
        if op.name == "arith.constant" or (nearby and len(expression) < 72):
            self.text[result] = expression
            return
        name = self._define(result, op)
        self._line(f"{name} = {bare(expression)}", op, name)

    def _surface(self, op: SurfaceOp) -> None:
        if only_lends_memory(op):
            return
        statement = self.tiles.of(op)
        self.blocks |= statement.blocks
        expression = statement.value
        if statement.same_as is not None:
            if statement.effect:
                self._line(expression, op)
            self._alias(op.results[0], statement.same_as)
            return
        if not op.results:
            self._line(f"while not {expression}: yield" if statement.blocks else expression, op)
            return
        result = op.results[0]
        name = self._define(result, op)
        companion = statement.valid if needs_companion(result.type) else None
        if companion is not None:
            self._line(f"{name}_valid = {companion}", op, name)
            expression = expression.replace(companion, f"{name}_valid")
        if statement.blocks:
            self._line(f"while ({name} := {expression}) is None: yield", op, name)
        else:
            self._line(f"{name} = {expression}", op, name)

    def _for(self, op: scf.ForOp) -> None:
        index, *carried = op.body.block.args
        for value in (index, *carried):
            self._define(value, op)
        self._assign(carried, op.iter_args, op)
        lb, ub, step = (bare(self.text[v]) for v in (op.lb, op.ub, op.step))
        if (constant_of(op.step) or 0) < 1:
            step = f"rising({step})"
        bounds = ub if (lb, step) == ("0", "1") else (f"{lb}, {ub}" if step == "1" else f"{lb}, {ub}, {step}")
        self._line(f"for {self.text[index]} in range({bounds}):", op)
        self._body(op.body.block)
        self._tail(op.body.block, carried)
        for result, value in zip(op.results, carried, strict=True):
            self._alias(result, value)

    def _tail(self, block: Block, targets: Sequence[SSAValue]) -> None:
        """The assignments a block's terminator makes, at the end of its body."""
        last = block.last_op
        if last is None or not targets:
            return
        self.depth += 1
        self._assign(targets, last.operands, last)
        self.depth -= 1

    def _while(self, op: scf.WhileOp) -> None:
        before, after = op.before_region.block, op.after_region.block
        for value in before.args:
            self._define(value, op)
        self._assign(before.args, op.arguments, op)
        for value in after.args:
            self._define(value, op)
        self._line("while True:", op)
        if len(before.ops) > 1:
            self._body(before)
        condition = before.last_op
        assert isinstance(condition, scf.ConditionOp)
        self.depth += 1
        self._assign(after.args, condition.args, condition)
        self._line(f"if not {self.text[condition.condition]}:", op)
        self.depth += 1
        self._line("break", op)
        self.depth -= 2
        self._body(after)
        self._tail(after, before.args)
        for result, value in zip(op.results, after.args, strict=True):
            self._alias(result, value)

    def _if(self, op: scf.IfOp) -> None:
        for result in op.results:
            self._define(result, op)
        if op.results:
            self._leave_slots(op)
        self._line(f"if {bare(self.text[op.cond])}:", op)
        self._branch(op.true_region.block, op)
        if op.false_region.blocks and (len(op.false_region.block.ops) > 1 or op.results):
            self._line("else:", op)
            self._branch(op.false_region.block, op)

    def _leave_slots(self, op: scf.IfOp) -> None:
        """A result that is another popped tile (or none) in the other branch is a buffer of its own: a copy."""
        ends = [r.block.last_op for r in (op.true_region, op.false_region) if r.blocks]
        for values in zip(*[e.operands for e in ends if e is not None], strict=True):
            slots = [slot_of(v) for v in values]
            for value, slot in zip(values, slots, strict=True):
                if slot is not None and any(other is not slot for other in slots):
                    self.copied.add(value)

    def _branch(self, block: Block, op: scf.IfOp) -> None:
        if len(block.ops) > 1 or not op.results:
            self._body(block)
        self._tail(block, op.results)

    def _return(self, op: func.ReturnOp) -> None:
        self._flush(op)
        values = ", ".join(bare(self.tiles.shaped(v)) for v in op.operands)
        self._line(f"return {values}".rstrip(), op)

    # --- calls (host side) -----------------------------------------------------------------------------------

    def _call(self, op: func.CallOp) -> None:
        kind = self.kinds.get(op.callee.string_value(), FunctionKind.OPAQUE)
        if kind_of(self.function).in_core:
            raise refuse(op, "a program of one core calls no function", code="not-executable")
        if kind_of(self.function) is FunctionKind.GROUP and kind.in_core:
            self._flush_if_used(op)
            self.members.append(op)
            return
        self._flush(op)
        self._results(op.results, f"call({self._callee(op)})", op)

    def _callee(self, op: func.CallOp) -> str:
        arguments = tuple_text([bare(self.tiles.shaped(a)) for a in op.operands])
        return f"{op.callee.string_value()!r}, {arguments}"

    def _results(self, results: Sequence[SSAValue], expression: str, op: Operation) -> None:
        names = [self._define(r, self.function) for r in results]
        self._line(f"{', '.join(names)} = {expression}" if names else expression, op)

    def _flush_if_used(self, op: Operation) -> None:
        """Members of a group run together as soon as somebody needs a result of one."""
        if self.members and any(o.owner in self.members for o in op.operands):
            self._flush(op)

    def _flush(self, op: Operation) -> None:
        if not self.members:
            return
        calls = ", ".join(f"({self._callee(m)})" for m in self.members)
        targets: list[str] = []
        for member in self.members:
            names = [self._define(r, self.function) for r in member.results]
            targets.append(names[0] if len(names) == 1 else (f"({', '.join(names)})" if names else "_"))
        left = ", ".join(targets) + ("," if len(targets) == 1 else "")
        self._line(f"{left} = together({calls})", self.members[0])
        self.members = []


def print_numpy(module: ModuleOp) -> str:
    """The executable form of a whole program, for reading."""
    return "\n\n".join(f.text for f in emit_module(module).values())


__all__ = ["EmittedFunction", "Line", "emit_function", "emit_module", "print_numpy"]
