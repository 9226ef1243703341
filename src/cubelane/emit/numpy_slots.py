"""Which tiles of an emitted program share memory with a slot of a ring, and for how long (for `numpy_tile`)."""

from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from cubelane.ir.surface import SurfaceOp
from cubelane.ir.tile.channel import FreeOp, PopOp
from cubelane.ir.traits import InPlace
from cubelane.ir.types import TileType


def slot_of(value: SSAValue) -> SSAValue | None:
    """The popped tile that a value is (a view of); None for a buffer of its own, and for what cannot be told."""
    while isinstance(value.owner, Operation) and not isinstance(value.owner, PopOp):
        trait = value.owner.get_trait(InPlace)
        if trait is None:
            return None
        value = getattr(value.owner, trait.operand)
    return value if isinstance(value.owner, PopOp) else None


class Slots:
    """Answers about the popped tiles of one function."""

    def __init__(self) -> None:
        self._places: dict[Block, dict[Operation, int]] = {}
        self._outlived: dict[PopOp, bool] = {}

    def outlived(self, pop: PopOp) -> bool:
        """Whether a popped tile, or a view of it, may be read after its slot was given back.

        False where the slot is freed in the block of its pop and no use stands behind that, or where it is never freed.
        """
        known = self._outlived.get(pop)
        if known is None:
            known = self._outlived[pop] = self._find(pop)
        return known

    def _find(self, pop: PopOp) -> bool:
        block = pop.parent
        assert block is not None
        frees: list[int] = []
        reads: list[int] = []
        views: list[SSAValue] = [pop.result]
        for value in views:
            for use in value.uses:
                user = use.operation
                if user.has_trait(IsTerminator) or user.regions:
                    return True
                if isinstance(user, FreeOp):
                    if user.parent is not block:
                        return True
                    frees.append(self._place(block, user))
                    continue
                outer = block.find_ancestor_op_in_block(user)
                assert outer is not None
                reads.append(self._place(block, outer))
                trait = user.get_trait(InPlace)
                if trait is not None and getattr(user, trait.operand) is value:
                    views += user.results
        return bool(frees and reads) and max(reads) > min(frees)

    def _place(self, block: Block, op: Operation) -> int:
        """The position of an op in its block."""
        places = self._places.get(block)
        if places is None:
            places = self._places[block] = {o: i for i, o in enumerate(block.ops)}
        return places[op]

    def may_be_taken_away(self, op: SurfaceOp) -> bool:
        """Whether the first tile operand may be (a view of) a slot whose cells are needed after it is freed."""
        value: SSAValue | None = next((o for o in op.operands if isinstance(o.type, TileType)), None)
        while value is not None:
            owner = value.owner
            if isinstance(owner, PopOp):
                return self.outlived(owner)
            if not isinstance(owner, Operation) or owner.regions:
                return True
            trait = owner.get_trait(InPlace)
            value = None if trait is None else getattr(owner, trait.operand)
        return False
