"""Functions and their statements as text."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from xdsl.dialects import scf
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, OpResult, SSAValue

from cubelane.ir import kernel
from cubelane.ir.diagnostic import refuse
from cubelane.ir.kernel import BodyOp, Direction, LoopAttr, LoopFlavour, ScopeOp, SplitRegionOp, YieldOp
from cubelane.ir.narrowing import is_one
from cubelane.ir.surface import SurfaceOp
from cubelane.language.attributes import PREFIX, as_text
from cubelane.language.functions import IMPLIED
from cubelane.language.printing.literals import Namer
from cubelane.language.printing.operations import CallText
from cubelane.language.printing.scalars import ScalarText, is_in_remainder, is_scalar_op, is_written_twice
from cubelane.language.printing.types import type_text

INDENT = "    "
MAX_INLINE_DEPTH = 12
DECORATED = ("level", "role", "auto_scope", "external_source")
"""Facts of a function that stand in its decorator."""


class FunctionText:
    """Writes one function. `concise` leaves types out where the expression gives one."""

    def __init__(self, function: FuncOp, symbols: frozenset[str] = frozenset(), concise: bool = False):
        self.function = function
        self._concise = concise
        self.namer = Namer(symbols)
        self.scalars = ScalarText(self._name_of)
        self.calls = CallText(self.scalars)
        self.lines: list[str] = []
        self._indent = 0
        self._comments: list[str] = []
        self._condition: Block | None = None
        self._depths: dict[SSAValue, int] = {}

    def text(self) -> list[str]:
        """The lines of the function, without indentation of their own."""
        self._header()
        with self._indented():
            before = len(self.lines)
            attributes = self._func_attr()
            if attributes:
                self._line(attributes)
            self._block(self.function.body.block)
            if len(self.lines) == before:
                self._line("pass")
            self._flush()
        return self.lines

    def _line(self, text: str) -> None:
        self._flush()
        self.lines.append(INDENT * self._indent + text)

    def _flush(self) -> None:
        """Writes the comments that wait for the next line."""
        for comment in self._comments:
            self.lines.append(f"{INDENT * self._indent}# {comment}".rstrip())
        self._comments = []

    @contextmanager
    def _indented(self) -> Generator[None]:
        self._indent += 1
        try:
            yield
        finally:
            self._indent -= 1

    # the header

    def _header(self) -> None:
        kind = kernel.kind_of(self.function)
        attributes = self.function.attributes
        words: list[str] = []
        level, role = IMPLIED.get(kind, (None, None))
        if kernel.KIND in attributes:
            words.append(f"type=pl.FunctionType.{kind.dsl}")
        for name, implied, word in (("level", level, "Level"), ("role", role, "Role")):
            value = attributes.get(PREFIX + name)
            shown = implied if value is None else getattr(value, "data", None)
            if shown is not None:
                words.append(f"{name}=pl.{word}.{shown}")
        for name in ("auto_scope", "external_source"):
            if PREFIX + name in attributes:
                words.append(f"{name}={as_text(attributes[PREFIX + name])}")
        self._line(f"@pl.function({', '.join(words)})" if words else "@pl.function")
        parameters = [] if role == "SubWorker" else ["self"]
        for position, argument in enumerate(self.function.body.block.args):
            name = self.namer.name(argument, "arg")
            form = type_text(argument.type)
            direction = kernel.direction_of(self.function, position)
            if direction is not Direction.IN:
                form = f"pl.{'Out' if direction is Direction.OUT else 'InOut'}[{form}]"
            parameters.append(f"{name}: {form}")
        self._line(f"def {self.function.sym_name.data}({', '.join(parameters)}){self._returns()}:")

    def _returns(self) -> str:
        outputs = [type_text(t) for t in self.function.function_type.outputs]
        if not outputs:
            return ""
        return f" -> {outputs[0]}" if len(outputs) == 1 else f" -> tuple[{', '.join(outputs)}]"

    def _func_attr(self) -> str | None:
        hidden = {kernel.KIND, *(PREFIX + name for name in DECORATED)}
        entries: list[str] = []
        for name, value in self.function.attributes.items():
            text = as_text(value)
            if name.startswith(PREFIX) and name not in hidden and text is not None:
                entries.append(f'"{name.removeprefix(PREFIX)}": {text}')
        return f"pl.func_attr({{{', '.join(entries)}}})" if entries else None

    # names and inlining

    def _name_of(self, value: SSAValue) -> str | None:
        """The name of a value; None for one that is written where it is used."""
        known = self.namer.names.get(value)
        if known is None and not is_one(value, OpResult):
            return self.namer.name(value, "arg")
        return known

    def _inlined(self, op: Operation) -> bool:
        """Whether a scalar op is written where its result is used."""
        if is_one(op, ConstantOp):
            return True
        if not is_scalar_op(op):
            return False
        result = op.results[0]
        depth = 1 + max((self._depths.get(o, 0) for o in op.operands), default=0)
        self._depths[result] = depth
        if result.first_use is None:
            return result.name_hint is None
        if is_in_remainder(op):
            self._depths[result] = depth - 1
            return True
        if result.name_hint is not None or is_written_twice(result) or depth > MAX_INLINE_DEPTH:
            self._depths[result] = 0
            return False
        return True

    # statements

    def _block(self, block: Block) -> None:
        for op in block.ops:
            self._statement(op)

    def _nested(self, block: Block) -> None:
        with self._indented():
            before = len(self.lines)
            self._block(block)
            if len(self.lines) == before:
                self._line("pass")

    def _statement(self, op: Operation) -> None:
        self._comments += kernel.comments_of(op)
        match op:
            case SurfaceOp():
                call = self.calls.call(op)
                self._assign(op, call.text, [call.type or ""])
            case CallOp():
                arguments = [self.scalars.text(o) for o in op.operands]
                text = f"self.{op.callee.root_reference.data}({', '.join(arguments)})"
                self._assign(op, text, [type_text(r.type) for r in op.results])
            case scf.ForOp():
                self._for(op)
            case scf.WhileOp():
                self._while(op)
            case scf.IfOp():
                self._if(op)
            case ScopeOp() | SplitRegionOp():
                self._scope(op)
            case ReturnOp():
                if op.operands:
                    self._line(f"return {', '.join(self.scalars.text(o) for o in op.operands)}")
                elif self._comments:
                    self._line("return")
            case YieldOp() | scf.YieldOp() | scf.ConditionOp():
                pass
            case _ if is_scalar_op(op):
                if not self._inlined(op):
                    text = self.scalars.text(op.results[0])
                    self._assign(op, text, [type_text(op.results[0].type)])
            case _:
                raise refuse(op, f"`{op.name}` cannot be written in the language", code="cannot-print")

    def _assign(self, op: Operation, text: str, types: Sequence[str]) -> None:
        if not op.results:
            self._line(text)
        elif len(op.results) == 1:
            stated = not self._concise or (is_one(op, SurfaceOp) and op.STATED)
            form = f": {types[0]}" if stated else ""
            self._line(f"{self.namer.name(op.results[0])}{form} = {text}")
        else:
            self._line(f"{', '.join(self.namer.name(r) for r in op.results)} = {text}")

    def _yield(self, results: Sequence[SSAValue], values: Sequence[SSAValue]) -> None:
        if not results:
            return
        texts = ", ".join(self.scalars.text(v) for v in values)
        names = [self.namer.name(r) for r in results]
        form = f": {type_text(results[0].type)}" if len(results) == 1 and not self._concise else ""
        self._line(f"{', '.join(names)}{form} = pl.yield_({texts})")

    def _if(self, op: scf.IfOp) -> None:
        self._line(f"if {self.scalars.text(op.cond)}:")
        for result in op.results:
            self.namer.name(result)
        self._arm(op, op.true_region.block)
        other = op.false_region.blocks.first
        if other is not None:
            self._line("else:")
            self._arm(op, other)

    def _arm(self, op: scf.IfOp, block: Block) -> None:
        with self._indented():
            before = len(self.lines)
            self._block(block)
            last = block.last_op
            if is_one(last, scf.YieldOp):
                self._yield(op.results, last.arguments)
            if len(self.lines) == before:
                self._line("pass")

    def _carries(self, arguments: Sequence[SSAValue]) -> str:
        names = [self.namer.name(a) for a in arguments]
        return f"({', '.join(names)}{',' if len(names) == 1 else ''})"

    def _inits(self, values: Sequence[SSAValue]) -> str:
        texts = [self.scalars.text(v) for v in values]
        return f"init_values=({', '.join(texts)}{',' if len(texts) == 1 else ''})"

    def _for(self, op: scf.ForOp) -> None:
        flavour = op.attributes.get(kernel.LOOP)
        word = flavour.data.value if isinstance(flavour, LoopAttr) else LoopFlavour.RANGE.value
        arguments = self._bounds(op)
        stage = kernel.int_attribute(op, kernel.STAGE)
        if stage is not None:
            arguments.append(f"stage={stage}")
        if op.iter_args:
            arguments.append(self._inits(op.iter_args))
        entries = [
            f'"{name.removeprefix(PREFIX)}": {as_text(value)}'
            for name, value in op.attributes.items()
            if name.startswith(PREFIX) and name not in (kernel.LOOP, kernel.STAGE) and as_text(value) is not None
        ]
        if entries:
            arguments.append(f"attrs={{{', '.join(entries)}}}")
        variable, *carried = op.body.block.args
        target = self.namer.name(variable, "i")
        if carried:
            target += f", {self._carries(carried)}"
        self._line(f"for {target} in pl.{word}({', '.join(arguments)}):")
        self._loop_body(op.body.block, op.results)

    def _bounds(self, op: scf.ForOp) -> list[str]:
        start, stop, step = (self.scalars.text(b) for b in (op.lb, op.ub, op.step))
        if step != "1":
            return [start, stop, step]
        return [stop] if start == "0" else [start, stop]

    def _loop_body(self, block: Block, results: Sequence[SSAValue], first: str | None = None) -> None:
        with self._indented():
            before = len(self.lines)
            if first is not None:
                self._line(first)
            self._block(block)
            last = block.last_op
            if is_one(last, scf.YieldOp):
                self._yield(results, last.arguments)
            if len(self.lines) == before:
                self._line("pass")

    def _while(self, op: scf.WhileOp) -> None:
        before, after = op.before_region.block, op.after_region.block
        condition = before.last_op
        assert isinstance(condition, scf.ConditionOp)
        if list(condition.args) != list(before.args):
            raise refuse(op, "a while loop that computes new values in its condition cannot be written")
        carried = self._carries(after.args) if after.args else ""
        for outer, inner in zip(before.args, after.args, strict=True):
            self.namer.alias(outer, self.namer.name(inner))
        text = self._condition_text(before, condition.condition)
        if not after.args:
            self._line(f"while {text}:")
            self._loop_body(after, ())
            return
        self._line(f"for {carried} in pl.while_({self._inits(op.arguments)}):")
        self._loop_body(after, op.results, f"pl.cond({text})")

    def _condition_text(self, block: Block, condition: SSAValue) -> str:
        """A condition as one expression; ops of the block that are no arithmetic become nested calls."""
        for inner in block.ops:
            if is_one(inner, SurfaceOp):
                self.namer.alias(inner.results[0], self.calls.call(inner).text)
            elif not is_scalar_op(inner) and not is_one(inner, scf.ConditionOp):
                raise refuse(inner, f"`{inner.name}` in the condition of a while loop cannot be written")
        return self.scalars.text(condition)

    def _scope(self, op: BodyOp) -> None:
        block = op.body.block
        if is_one(op, SplitRegionOp):
            lane = block.first_op
            assert lane is not None
            name = self.namer.name(lane.results[0], "lane") if lane.results else self.namer.fresh("lane")
            self._line(f"for {name} in pl.split_aiv(2, mode=pl.SplitMode.{op.mode.mode.name}):")
            with self._indented():
                before = len(self.lines)
                for inner in list(block.ops)[1:]:
                    self._statement(inner)
                if len(self.lines) == before:
                    self._line("pass")
        else:
            assert isinstance(op, ScopeOp)
            self._line(f"with pl.at({', '.join(_options(op))}):")
            self._nested(block)
        for result, inner in zip(op.results, op.yielded.arguments, strict=True):
            self.namer.alias(result, self.scalars.text(inner))


def _options(op: ScopeOp) -> list[str]:
    words = [f"level=pl.Level.{op.level.data}"]
    optimizations: list[str] = []
    if op.split is not None:
        optimizations.append(f"pl.split(pl.SplitMode.{op.split.mode.name})")
    if op.slot_num is not None:
        optimizations.append(f"pl.cross_core_slot(slot_num={op.slot_num.value.data})")
    if optimizations:
        words.append(f"optimizations=[{', '.join(optimizations)}]")
    if op.name_hint is not None:
        words.append(f'name_hint="{op.name_hint.data}"')
    if f"{PREFIX}windowize" in op.attributes:
        words.append("windowize=True")
    return words


__all__ = ["FunctionText"]
