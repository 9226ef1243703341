"""Which tiles of an emitted program need no statement, or another element type (for `numpy_tile`)."""

from collections.abc import Sequence

from xdsl.ir import Block, Operation, SSAValue, Use
from xdsl.traits import Pure

from cubelane.ir.surface import SurfaceOp
from cubelane.ir.traits import Split, Splits
from cubelane.ir.types import TileType, bit_width, is_float

_HANDS_ON = frozenset({Split.MOVES, Split.RESHAPES, Split.TRANSPOSES, Split.SLICES, Split.SETS_VALID})
"""What hands a tile on with its values as they are, whatever array holds them."""


class Views:
    """The reshapes of one function that repeat or undo another, and the windows that only products read."""

    def __init__(self) -> None:
        self._reshaped: dict[tuple[SSAValue, tuple[int, ...], Block | None], SSAValue] = {}

    def before(self, op: SurfaceOp) -> SSAValue | None:
        """The value a reshape gives again: its source's source, or an earlier result; only for wholly valid tiles."""
        back = _reshaped_back(op)
        result = op.results[0]
        if back is not None or not isinstance(result.type, TileType) or not result.type.fully_valid:
            return back
        first = self._reshaped.setdefault((op.operands[0], result.type.shape, op.parent), result)
        return None if first is result else first

    def unread(self, op: SurfaceOp) -> bool:
        """Whether a reshape is there only to be undone."""
        if _behaviour(op) is not Split.RESHAPES:
            return False
        users = [use.operation for use in op.results[0].uses]
        return all(_behaviour(u) is Split.RESHAPES and _reshaped_back(u) is not None for u in users)

    def wide_window(self, op: SurfaceOp) -> str | None:
        """The element type in which products compute with a window, if it is a narrow one and nobody else reads it."""
        type_ = op.results[0].type
        if not isinstance(type_, TileType) or bit_width(type_.dtype) >= 32 or not _feeds_products(op.results[0]):
            return None
        return "np.float32" if is_float(type_.dtype) else "np.int32"


def _behaviour(op: Operation) -> Split | None:
    splits = op.get_trait(Splits)
    return None if splits is None else splits.behaviour


def _feeds_products(value: SSAValue) -> bool:
    """Whether every use of a tile is a factor of a product, if need be by way of moves and views."""
    return all(_is_factor(use) or _handed_on(use) for use in value.uses)


def _is_factor(use: Use) -> bool:
    op = use.operation
    return _behaviour(op) is Split.CUBE and all(
        name in ("lhs", "rhs") for name in _names_of(op, op.operands[use.index])
    )


def _names_of(op: Operation, value: SSAValue) -> list[str]:
    """The parameters through which an op takes a value."""
    assert isinstance(op, SurfaceOp)
    return [p.name for p in op.PARAMETERS if getattr(op, p.name, None) is value]


def _handed_on(use: Use) -> bool:
    op = use.operation
    return _behaviour(op) in _HANDS_ON and op.has_trait(Pure) and all(_feeds_products(r) for r in op.results)


def _reshaped_back(op: Operation) -> SSAValue | None:
    """What was reshaped before, if this reshape gives its shape back; only for tiles that are wholly valid."""
    owner, type_ = op.operands[0].owner, op.results[0].type
    if not isinstance(owner, SurfaceOp) or not isinstance(type_, TileType):
        return None
    if _behaviour(owner) is not Split.RESHAPES:
        return None
    source = owner.operands[0]
    old = source.type
    same = isinstance(old, TileType) and old.shape == type_.shape and old.fully_valid and type_.fully_valid
    return source if same else None


def only_lends_memory(op: SurfaceOp) -> bool:
    """Whether the op makes a tile whose cells nobody reads: scratch memory."""
    if not op.results or not op.has_trait(Pure) or not isinstance(op.results[0].type, TileType):
        return False
    for use in op.results[0].uses:
        splits = use.operation.get_trait(Splits)
        lent = splits.scratch if splits is not None else ()
        if not any(getattr(use.operation, name) is op.results[0] for name in lent) or _reads(use.operation, lent, op):
            return False
    return True


def _reads(user: Operation, lent: Sequence[str], op: SurfaceOp) -> bool:
    """Whether a value is an operand besides being lent."""
    times = sum(o is op.results[0] for o in user.operands)
    return times > sum(getattr(user, name) is op.results[0] for name in lent)
