"""InferTileMemorySpace: every tile gets a memory space, every operand comes from where its op reads (front.md 3.8).

A tile that an op cannot read where it is gets moved right before its first reader in a sequence of statements. A move
between the cube core and the lanes is a crossing; inside explicit lane regions crossings must be written by the user.
"""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from cubelane.analysis.memory_spaces import STORED_FROM_ACC, constraints, space_of
from cubelane.analysis.placed_tiles import unplaceable
from cubelane.analysis.tile_lifetimes import is_view, same_order
from cubelane.ir.diagnostic import Diagnostic, refuse
from cubelane.ir.kernel import SplitRegionOp, functions_of, kind_of
from cubelane.ir.narrowing import is_one
from cubelane.ir.tile.movement import MoveOp, StoreOp
from cubelane.ir.traits import Split, Splits, trait_of
from cubelane.ir.types import MemorySpace, TensorType, TileType, dtype_name, implicit_layout
from cubelane.ir.walk import ops_of
from cubelane.passes.tile.forward import ForwardRewrite
from cubelane.passes.tile.placement import base_name, build, replace

VEC, MAT, ACC, DDR = MemorySpace.VEC, MemorySpace.MAT, MemorySpace.ACC, MemorySpace.DDR

FROM_L1 = frozenset({MemorySpace.LEFT, MemorySpace.RIGHT, MemorySpace.BIAS, MemorySpace.LEFT_SCALE})
"""Spaces that are filled from L1."""

STRAIGHT = frozenset({MemorySpace.LEFT, MemorySpace.RIGHT})
"""Spaces of the cube core that a tile of the lanes crosses to without a stop in L1."""


def enclosing_region(op: Operation | None) -> SplitRegionOp | None:
    """The split region around an op."""
    while op is not None and not is_one(op, SplitRegionOp):
        op = op.parent_op()
    return op


def region_of(value: SSAValue) -> SplitRegionOp | None:
    """The split region that a value is made in or handed out of."""
    owner = value.owner
    if is_one(owner, SplitRegionOp):
        return owner
    return enclosing_region(owner if isinstance(owner, Operation) else owner.parent_op())


class Inference(ForwardRewrite):
    """Decides the spaces in one function and inserts the moves."""

    def __init__(self, function: FuncOp):
        super().__init__(function.body.block)
        self._has_regions = bool(ops_of(function, SplitRegionOp))
        self._moved: list[dict[tuple[SSAValue, MemorySpace], SSAValue]] = []

    def enter_block(self, block: Block) -> None:
        self._moved.append({})

    def leave_block(self, block: Block) -> None:
        self._moved.pop()

    def visit(self, op: Operation) -> None:
        """Brings the operands to where the op reads them, and types the result by them."""
        if is_one(op, MoveOp) and self.was_retyped(op.tile) and op.tile.type == op.result.type:
            self.note_retyped(op.tile)
            replace(op, op.tile)
            return
        for index, allowed in constraints(type(op)):
            if index >= len(op.operands):
                break  # the last ones may be left out
            operand = op.operands[index]
            tile = operand.type
            if isinstance(tile, TileType) and tile.memory not in allowed:
                op.operands[index] = moved = self._move(operand, allowed[0], op)
                self.note_retyped(moved)
        self._leave_accumulator(op)
        if is_one(op, StoreOp):
            self._check_store(op)
        if len(op.results) == 1 and isinstance(tile := op.results[0].type, TileType) and tile.memory is None:
            self.retype(op.results[0], _placed(tile, space_of(op)))
        self.follow(op)

    def _leave_accumulator(self, op: Operation) -> None:
        """A reshape that would have to move cells is done on the lanes: the accumulator cannot copy within itself."""
        trait = trait_of(op, Splits)
        if trait is None or trait.behaviour is not Split.RESHAPES or not is_view(op):
            return
        source, result = op.operands[0].type, op.results[0].type
        if isinstance(source, TileType) and source.memory is ACC and isinstance(result, TileType):
            if not same_order(source, _placed(result, ACC)):
                op.operands[0] = moved = self._move(op.operands[0], VEC, op)
                self.note_retyped(moved)

    @staticmethod
    def _check_store(op: StoreOp) -> None:
        tile, target = op.tile.type, op.target.type
        assert isinstance(tile, TileType) and isinstance(target, TensorType)
        if tile.memory is ACC and target.dtype not in STORED_FROM_ACC:
            name, dtype = base_name(op.tile), dtype_name(target.dtype)
            raise refuse(
                op,
                f"`{name}` is in Acc and cannot be stored to a tensor of {dtype}",
                "the way from the accumulator to global memory writes INT32, FP32, FP16 or BF16",
                instead=f"convert it on the lanes: pl.cast({name}, target_type=pl.{dtype})",
                code="acc-store-type",
            )

    def _move(self, value: SSAValue, space: MemorySpace, reader: Operation) -> SSAValue:
        for known in reversed(self._moved):
            if (moved := known.get((value, space))) is not None:
                return moved
        tile = value.type
        assert isinstance(tile, TileType)
        self._check(value, tile, space, reader)
        source = value
        if space in FROM_L1 and not (tile.memory is MAT or (tile.memory is VEC and space in STRAIGHT)):
            source = self._move(value, MAT, reader)
        arguments = {"tile": source, "target_memory": space}
        if space is VEC:
            blayout, slayout, _ = implicit_layout(tile.shape, VEC)
            arguments |= {"blayout": blayout, "slayout": slayout}
        name = f"{value.name_hint or 't'}_{space.dsl}"
        moved = build(MoveOp, reader, name, arguments)
        self._moved[-1][value, space] = moved
        return moved

    def _check(self, value: SSAValue, tile: TileType, space: MemorySpace, reader: Operation) -> None:
        if tile.memory is None:
            raise refuse(
                reader,
                f"the memory space of `{base_name(value)}` is not known",
                instead="state it in the type: pl.Tile[[..], .., pl.Mem.Vec]",
                code="unknown-memory-space",
            )
        if space is ACC:
            raise _no_way_into_acc(reader, value, tile)
        if self._has_regions and tile.memory.is_cube != space.is_cube:
            problem = _unmarked_crossing(reader, value, to_lanes=space is VEC)
            if problem is not None:
                raise problem


def _placed(tile: TileType, space: MemorySpace | None) -> TileType:
    """The tile in a space, with the layout of that space unless it states another one."""
    if space is None:
        return tile
    stated = (tile.data.blayout, tile.data.slayout, tile.data.fractal)
    if stated == implicit_layout(tile.shape, None):
        return tile.in_memory(space)
    return tile.replaced(memory=space)


def _no_way_into_acc(reader: Operation, value: SSAValue, tile: TileType) -> Diagnostic:
    assert tile.memory is not None
    name = base_name(value)
    return refuse(
        reader,
        f"`{name}` is in {tile.memory.dsl} and the product adds to an accumulator in Acc",
        "no machine moves a tile into the accumulator: it is only filled by a product",
        instead=f"start with {name} = pl.matmul(...) of the first block, or add the product on the lanes: "
        f"pl.add({name}, pl.matmul(...))",
        code="no-way-into-acc",
    )


def _unmarked_crossing(reader: Operation, value: SSAValue, to_lanes: bool) -> Diagnostic | None:
    """In a kernel with lane regions: what is wrong with an implicit crossing."""
    name = base_name(value)
    inside = enclosing_region(reader)
    if to_lanes and inside is not None:
        return refuse(
            reader,
            f"`{name}` is a value of the cube core and is read on the lanes without aiv_shard",
            "inside `pl.split_aiv` each lane works on its own part, so the part must be taken",
            instead=f"pl.aiv_shard({name})",
            code="missing-shard",
        )
    if to_lanes:
        return refuse(
            reader,
            f"`{name}` is a value of the cube core and is read on the lanes outside of a `pl.split_aiv` region",
            "a kernel with regions does all its work on the lanes inside of them",
            instead=f"move the statement into a region and take each lane's part: pl.aiv_shard({name})",
            code="vector-work-outside-region",
        )
    if region_of(value) is not None:
        return refuse(
            reader,
            f"`{name}` is a value of the lanes and is read on the cube core without aic_gather",
            "each lane holds its own part; the cube core needs the whole tile",
            instead=f"hand pl.aic_gather({name}) out of the region",
            code="missing-gather",
        )
    return None


class InferTileMemorySpace(ModulePass):
    """Memory spaces for all tiles of InCore functions, and moves where an op reads from another space."""

    name = "infer-tile-memory-space"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            if kind_of(function).in_core:
                Inference(function).run(function.body.block)
                for problem in unplaceable(function):
                    raise problem
