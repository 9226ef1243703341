"""What all tensor-level ops share."""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.traits import OpTrait, Pure

from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.surface import (
    Bound,
    SurfaceOp,
)
from cubelane.ir.tile.base import need_integers
from cubelane.ir.traits import (
    Cost,
    CostClass,
    Meaning,
    OnVector,
    PtoSpelling,
    Spaces,
    Split,
    Splits,
    TileForm,
)
from cubelane.ir.types import MemorySpace, TensorType

DDR = MemorySpace.DDR
Dim = int | str


class TensorOp(SurfaceOp):
    """An op of the DSL namespace `pl.tensor`."""

    NAMESPACE: ClassVar[str] = "tensor"
    INTEGER_ONLY: ClassVar[bool] = False

    @classmethod
    def check_integers(cls, call: Bound, *names: str) -> None:
        """Refuses operands of floats where the op works on bits."""
        for name in names if cls.INTEGER_ONLY else ():
            need_integers(cls.SPELLING, tensor(call, name).dtype, name)


def wrong(message: str, *notes: str, instead: str | None = None, code: str = "wrong-type") -> Diagnostic:
    """A type error; the caller that knows the place adds it."""
    return Diagnostic(message, notes=notes, instead=instead, code=code)


def tensor(call: Bound, name: str) -> TensorType:
    """The type of a tensor operand."""
    type_ = call.type(name)
    if not isinstance(type_, TensorType):
        raise wrong(f"`{name}` must be a tensor")
    return type_


def broadcast(lhs: Sequence[Dim], rhs: Sequence[Dim]) -> tuple[Dim, ...]:
    """NumPy broadcasting; a symbol fits itself and 1."""
    rank = max(len(lhs), len(rhs))
    a, b = (1,) * (rank - len(lhs)) + tuple(lhs), (1,) * (rank - len(rhs)) + tuple(rhs)
    if any(x != y and 1 not in (x, y) for x, y in zip(a, b, strict=True)):
        raise wrong(f"the shapes {list(lhs)} and {list(rhs)} do not fit together", code="wrong-shape")
    return tuple(y if x == 1 else x for x, y in zip(a, b, strict=True))


def tensor_traits(
    behaviour: Split,
    meaning: str,
    core: OpTrait = OnVector,
    *,
    axis: int | None = None,
    tile_form: str | None = None,
    cost: CostClass = CostClass.VECTOR,
    valid: str | None = None,
) -> list[OpTrait]:
    """The traits of an op on tensors."""
    traits: list[OpTrait] = [
        Pure(),
        core,
        Splits(behaviour, axis),
        Meaning(meaning, valid),
        PtoSpelling(None),
        Cost(cost),
        Spaces(DDR),
    ]
    return [*traits, TileForm(tile_form)] if tile_form else traits
