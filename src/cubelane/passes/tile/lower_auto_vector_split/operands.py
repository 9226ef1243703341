"""Lists of operands by name, read and written back; an op whose list grows keeps its segment sizes right."""

from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import AttrSizedOperandSegments, IRDLOperation

from cubelane.ir.narrowing import is_value


def operands(op: Operation, name: str) -> list[SSAValue]:
    """The values of a variadic operand; none where the op has no operand of that name."""
    return list(cast("tuple[SSAValue, ...]", getattr(op, name, ())))


def set_operands(op: Operation, name: str, values: list[SSAValue]) -> None:
    """Replaces the values of a variadic operand."""
    assert isinstance(op, IRDLOperation)
    groups: list[list[SSAValue]] = []
    for field, _ in op.get_irdl_definition().operands:
        held = cast("SSAValue | tuple[SSAValue, ...] | None", getattr(op, field))
        group = [held] if is_value(held) else list(held or ())
        groups.append(values if field == name else group)
    op.operands = [value for group in groups for value in group]
    sizes = AttrSizedOperandSegments.attribute_name
    if sizes in op.properties:
        op.properties[sizes] = DenseArrayBase.from_list(i32, [len(group) for group in groups])
