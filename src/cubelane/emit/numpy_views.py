"""Which tiles of an emitted program need no statement, or another element type (for `numpy_tile`)."""

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue, Use
from xdsl.traits import Pure

from cubelane.ir.surface import SurfaceOp
from cubelane.ir.traits import Meaning, Split, Splits
from cubelane.ir.types import TileType, bit_width, is_float

_HANDS_ON = frozenset({Split.MOVES, Split.RESHAPES, Split.TRANSPOSES, Split.SLICES, Split.SETS_VALID})
"""What hands a tile on with its values as they are, whatever array holds them."""


class Shapes:
    """The shapes of the arrays of one function.

    A reshape of a wholly valid tile makes no new array, and neither it nor an op that works cell by cell need say so:
    the reshape is written where somebody needs the new shape. So those that only lay a column out as a row vanish.
    """

    def __init__(self) -> None:
        self._held: dict[SSAValue, tuple[int, ...]] = {}

    def of(self, tile: SSAValue) -> tuple[int, ...]:
        """The shape of the array of a tile."""
        assert isinstance(tile.type, TileType)
        return self._held.get(tile, tile.type.shape)

    def keeps_array(self, reshape: SurfaceOp) -> bool:
        """Whether the result of a reshape is the array of its source."""
        source, result = reshape.operands[0], reshape.results[0]
        if not isinstance(source.type, TileType) or not isinstance(result.type, TileType):
            return False
        if not (source.type.fully_valid and result.type.fully_valid):
            return False
        self._held[result] = self.of(source)
        return True

    def passes_on(self, op: SurfaceOp, behaviour: Splits, meaning: Meaning) -> bool:
        """Whether an op works on its operands in the shape they have, which its result then has as well."""
        if behaviour.behaviour is not Split.ELEMENTWISE or "{shape}" in meaning.value:
            return False
        result = op.results[0]
        if not isinstance(result.type, TileType):
            return False
        lent = [getattr(op, name) for name in behaviour.scratch]
        tiles = [o for o in op.operands if isinstance(o.type, TileType) and not any(o is each for each in lent)]
        types = {result.type.shape, *(o.type.shape for o in tiles if isinstance(o.type, TileType))}
        arrays = {self.of(o) for o in tiles}
        if len(types) != 1 or len(arrays) != 1:
            return False
        self._held[result] = arrays.pop()
        return True


def wide_window(load: SurfaceOp) -> str | None:
    """The element type in which products compute with a window, if it is a narrow one and nobody else reads it."""
    type_ = load.results[0].type
    if not isinstance(type_, TileType) or bit_width(type_.dtype) >= 32 or not _feeds_products(load.results[0]):
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
