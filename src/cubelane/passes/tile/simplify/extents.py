"""Constants in types: an extent that turns out to be known becomes part of the type of its tile or tensor.

A type that meets others, at a carry or at the result of an `if`, is shared with them; an extent that flows there stays
an expression.
"""

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from cubelane.analysis.scalar_folding import DIVISIONS, number_of
from cubelane.ir.narrowing import is_one
from cubelane.ir.surface import SurfaceOp
from cubelane.ir.types import DYNAMIC, TensorType, TileType
from cubelane.passes.tile.placement import retype


def valid_of(value: SSAValue) -> tuple[int, ...]:
    """The valid extents of a tile or tensor, none for anything else."""
    type_ = value.type
    if is_one(type_, TileType):
        return type_.valid
    return tuple(type_.data.valid) if is_one(type_, TensorType) else ()


class Extents:
    """Replaces scalars, and types anew what they are extents of."""

    def replace(self, old: SSAValue, new: SSAValue) -> None:
        """Uses `new` instead of `old`, but for extents that cannot become part of a type.

        A divisor does not become a constant zero: the language refuses that text, and the division may never run.
        """
        number = number_of(new)
        if number is None:
            old.replace_all_uses_with(new)
            return
        for use in list(old.uses):
            if number == 0 and isinstance(use.operation, DIVISIONS) and use.index == 1:
                continue
            states = [r for r in use.operation.results if DYNAMIC in valid_of(r)]
            if states and (self._is_stated(use.operation) or not self._stays(states)):
                continue
            use.operation.operands[use.index] = new
            if states:
                self._narrow(use.operation)

    @staticmethod
    def _is_stated(op: Operation) -> bool:
        """Whether the author writes the type of the result out: no rule could type it anew."""
        return is_one(op, SurfaceOp) and op.STATED

    @staticmethod
    def _stays(values: Sequence[SSAValue]) -> bool:
        """Whether everything computed with the values is typed by a rule: none of it meets other values."""
        todo, seen = list(values), set[SSAValue]()
        while todo:
            value = todo.pop()
            if value in seen:
                continue
            seen.add(value)
            for use in value.uses:
                if not is_one(use.operation, SurfaceOp):
                    return False
                todo += [r for r in use.operation.results if DYNAMIC in valid_of(r)]
        return True

    def _narrow(self, op: Operation) -> None:
        """Gives the result of an op the extents that are known now, and the results of what uses it."""
        todo = [op]
        while todo:
            current = todo.pop()
            if not is_one(current, SurfaceOp) or current.STATED or len(current.results) != 1:
                continue
            result = current.results[0]
            if DYNAMIC not in valid_of(result):
                continue
            known = current.result_type(current.bound())
            stated = result.type
            if is_one(stated, TileType) and is_one(known, TileType):
                wanted = stated.replaced(valid=known.valid)
            elif is_one(stated, TensorType) and is_one(known, TensorType):
                wanted = stated.replaced(valid=known.data.valid)
            else:
                continue
            if wanted != stated:
                todo += [use.operation for use in retype(result, wanted).uses]
