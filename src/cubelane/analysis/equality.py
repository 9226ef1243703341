"""Structural equality of programs: the same statements up to the names of variables (spec/front.md 8.2).

Statements are compared in order: ops, what they state, types, control flow. Scalar arithmetic is compared as
expression trees, so where a pure scalar op stands and how often it is repeated does not matter.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from xdsl.dialects import scf
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp, UnrealizedConversionCastOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from cubelane.ir import kernel
from cubelane.ir.diagnostic import Location
from cubelane.ir.kernel import BodyOp, YieldOp
from cubelane.ir.narrowing import is_one
from cubelane.ir.surface import PROPERTY_KINDS, SurfaceOp


@dataclass(frozen=True)
class Difference:
    """The first difference of two programs: what differs, and the statements (or headers) as printed."""

    reason: str
    left: str = ""
    right: str = ""
    function: str = ""

    def __str__(self) -> str:
        where = f"in {self.function}: " if self.function else ""
        return f"{where}{self.reason}\n  left:  {self.left}\n  right: {self.right}"


class _Unequal(Exception):
    """Carries the first difference out of the comparison."""

    def __init__(self, difference: Difference):
        super().__init__(difference.reason)
        self.difference = difference


def structurally_equal(left: Operation, right: Operation) -> Difference | None:
    """None if two modules, or two functions, are the same up to names; else the first difference."""
    try:
        if is_one(left, ModuleOp) and is_one(right, ModuleOp):
            _modules(left, right)
        elif is_one(left, FuncOp) and is_one(right, FuncOp):
            _Comparison(left, right).functions()
        else:
            return Difference("only two modules or two functions can be compared", left.name, right.name)
    except _Unequal as unequal:
        return unequal.difference
    return None


def _modules(left: ModuleOp, right: ModuleOp) -> None:
    a, b = ({f.sym_name.data: f for f in kernel.functions_of(m)} for m in (left, right))
    if a.keys() != b.keys():
        raise _Unequal(Difference("the programs have different functions", ", ".join(sorted(a)), ", ".join(sorted(b))))
    for name, function in a.items():
        _Comparison(function, b[name]).functions()


def is_scalar_op(op: Operation) -> bool:
    """Whether an op is pure scalar arithmetic."""
    return op.name.startswith("arith.") or is_one(op, UnrealizedConversionCastOp)


def _facts(op: Operation) -> dict[str, Attribute]:
    """The attributes that matter."""
    return {name: value for name, value in op.attributes.items() if name.startswith("kernel.")}


def _shown(op: Operation | None) -> str:
    """An op on one line, without its regions."""
    if op is None:
        return "(nothing)"
    place = Location.of(op)
    text = str(op).splitlines()[0]
    return f"{text}  ({place})" if place.line else text


class _Comparison:
    """Compares two functions. Equal values get equal numbers; scalar expressions are numbered by their trees."""

    def __init__(self, left: FuncOp, right: FuncOp):
        self.left, self.right = left, right
        self.numbers: dict[SSAValue, int] = {}
        self.trees: dict[tuple[Any, ...], int] = {}
        self.count = 0

    def _fail(self, reason: str, left: Operation | None, right: Operation | None) -> _Unequal:
        return _Unequal(Difference(reason, _shown(left), _shown(right), self.left.sym_name.data))

    def functions(self) -> None:
        """Headers and bodies."""
        a, b = self.left, self.right
        if a.function_type != b.function_type:
            raise self._fail(f"the types are {a.function_type} and {b.function_type}", a, b)
        if _facts(a) != _facts(b):
            raise self._fail(f"the attributes differ: {_changed(_facts(a), _facts(b))}", a, b)
        for position in range(len(a.function_type.inputs)):
            if kernel.direction_of(a, position) != kernel.direction_of(b, position):
                raise self._fail(f"parameter {position} has another direction", a, b)
        if bool(a.body.blocks) != bool(b.body.blocks):
            raise self._fail("one has no body", a, b)
        if a.body.blocks:
            self._blocks(a.body.block, b.body.block, a, b)

    # numbers of values

    def _leaf(self, left: SSAValue, right: SSAValue) -> None:
        self.count += 1
        self.numbers[left] = self.numbers[right] = self.count

    def _number_scalar(self, op: Operation) -> None:
        if is_one(op, ConstantOp):
            key: tuple[Any, ...] = ("constant", op.result.type, _constant(op.value))
        else:
            operands = tuple(self.numbers.get(o, -1) for o in op.operands)
            key = (op.name, op.properties.get("predicate"), op.results[0].type, operands)
        number = self.trees.get(key)
        if number is None:
            self.count += 1
            number = self.trees[key] = self.count
        self.numbers[op.results[0]] = number

    def _statements(self, block: Block) -> Iterator[Operation]:
        """The ops that are statements; scalar ops on the way are numbered."""
        for op in block.ops:
            if is_scalar_op(op):
                self._number_scalar(op)
            elif not is_one(op, YieldOp):
                yield op

    def _blocks(self, left: Block, right: Block, a: Operation, b: Operation) -> None:
        if [v.type for v in left.args] != [v.type for v in right.args]:
            raise self._fail("the blocks take other values", a, b)
        for x, y in zip(left.args, right.args, strict=True):
            self._leaf(x, y)
        for x, y in zip_longest(self._statements(left), self._statements(right)):
            if x is None or y is None or x.name != y.name:
                raise self._fail("the statements differ", x, y)
            self._operations(x, y)

    def _operations(self, a: Operation, b: Operation) -> None:
        self._operands(a, b)
        if [r.type for r in a.results] != [r.type for r in b.results] and not is_one(a, BodyOp):
            types = f"{[str(r.type) for r in a.results]} and {[str(r.type) for r in b.results]}"
            raise self._fail(f"the results have the types {types}", a, b)
        if is_one(a, CallOp) and is_one(b, CallOp) and a.callee != b.callee:
            raise self._fail("they call different functions", a, b)
        said_a, said_b = _stated(a), _stated(b)
        if said_a != said_b:
            raise self._fail(f"they state different things: {_changed(said_a, said_b)}", a, b)
        self._regions(a, b)
        if is_one(a, BodyOp) and is_one(b, BodyOp):
            for op in (a, b):
                for result, inner in zip(op.results, op.yielded.arguments, strict=True):
                    self.numbers[result] = self.numbers.get(inner, -1)
            return
        for x, y in zip(a.results, b.results, strict=True):
            self._leaf(x, y)

    def _operands(self, a: Operation, b: Operation) -> None:
        if len(a.operands) != len(b.operands):
            raise self._fail("they take other numbers of operands", a, b)
        for position, (x, y) in enumerate(zip(a.operands, b.operands, strict=True)):
            if self.numbers.get(x) != self.numbers.get(y):
                raise self._fail(f"operand {position} is another value", a, b)

    def _regions(self, a: Operation, b: Operation) -> None:
        for x, y in zip(a.regions, b.regions, strict=True):
            empty = [not region.blocks or _is_empty(region.block) for region in (x, y)]
            if is_one(a, scf.IfOp) and all(empty):
                continue
            if bool(x.blocks) != bool(y.blocks):
                raise self._fail("one of them has another branch", a, b)
            if x.blocks:
                self._blocks(x.block, y.block, a, b)


def _is_empty(block: Block) -> bool:
    """Whether a block does nothing and yields nothing."""
    return all(is_scalar_op(op) or (is_one(op, scf.YieldOp) and not op.operands) for op in block.ops)


def _constant(value: Attribute) -> Any:
    if isinstance(value, FloatAttr):
        return repr(value.value.data)
    if isinstance(value, IntegerAttr):
        return value.value.data
    return value


def _stated(op: Operation) -> dict[str, Any]:
    """What an op says besides operands and types; a parameter left out counts as its default."""
    said: dict[str, Any] = dict(_facts(op))
    if is_one(op, SurfaceOp):
        bound = op.bound()
        for parameter in op.PARAMETERS:
            if parameter.kind in PROPERTY_KINDS:
                value = bound.values[parameter.name]
                default = getattr(parameter.default, "value", parameter.default)
                said[parameter.name] = default if value is None else value
        said["segments"] = op.properties.get("operandSegmentSizes")
    elif is_one(op, BodyOp):
        said.update({name: value for name, value in op.properties.items() if name != "operandSegmentSizes"})
    return said


def _changed(a: dict[str, Any], b: dict[str, Any]) -> str:
    names = sorted(name for name in {*a, *b} if a.get(name) != b.get(name))
    return ", ".join(f"{name} is {a.get(name)} and {b.get(name)}" for name in names)
