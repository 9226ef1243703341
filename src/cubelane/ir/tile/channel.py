"""Ops that cross between the cores, and those that set up and free their rings (spec/passes.md 3, front.md 2.6)."""

from typing import ClassVar

from xdsl.dialects.builtin import IndexType, i32
from xdsl.ir import Attribute, OpTraits
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, OpTrait, Pure
from xdsl.utils.exceptions import VerifyException

from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.surface import Bound, Kind, Parameter, SurfaceOp, a_value, keyword, python_value
from cubelane.ir.tile.base import TileOp, need_rank, wrong
from cubelane.ir.traits import (
    Cost,
    CostClass,
    Crosses,
    Meaning,
    OnBoth,
    OnCube,
    OnVector,
    PtoSpelling,
    Spaces,
    Split,
    Splits,
)
from cubelane.ir.types import DTYPES, DYNAMIC, MemorySpace, TileType

VEC, MAT, ACC = MemorySpace.VEC, MemorySpace.MAT, MemorySpace.ACC


def half(extent: int) -> int:
    """Lane box of an extent: the larger half; a run-time extent stays one."""
    return DYNAMIC if extent == DYNAMIC else (extent + 1) // 2


def _boundary_traits(meaning: str, accepts: MemorySpace, output: MemorySpace) -> list[OpTrait]:
    return [
        Pure(),
        Crosses,
        Splits(Split.BOUNDARY),
        Meaning(meaning),
        PtoSpelling(None),
        Cost(CostClass.CHANNEL),
        Spaces(output, {"tile": (accepts,)}),
    ]


@irdl_op_definition
class ShardOp(TileOp):
    """Hands each lane its part of a cube tile: `split` 1 rows, 2 columns, 0 the whole tile.

    Both lanes get the box of the larger half. Lane i starts at cell `i * lane_stride` of the split axis
    (default: the box) and its valid extent there is `min(max(V, i*S) - i*S, S)` of the operand's extent V.
    """

    name = "tile.aiv_shard"
    SPELLING: ClassVar[str] = "aiv_shard"
    tile = operand_def(TileType)
    split = prop_def()
    lane_stride = opt_prop_def()
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("tile"),
        keyword("split", Kind.INT),
        keyword("lane_stride", Kind.INT, None),
    )
    traits = traits_def(*_boundary_traits("shard({tile}, {split}, {lane_stride})", ACC, VEC))

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        tile, split = call.tile("tile"), call["split"]
        if split == 0:
            return TileType.make(tile.shape, tile.dtype, VEC, tile.valid)
        axis = _split_axis(tile, split)
        cls._check_columns(tile, split)
        box, valid = list(tile.shape), list(tile.valid)
        stride = call.get("lane_stride")
        if stride is not None and not 0 < stride <= half(box[axis]):
            raise wrong(f"the lane stride {stride} is not within 1 and {half(box[axis])}")
        box[axis], valid[axis] = half(box[axis]), half(valid[axis])
        return TileType.make(box, tile.dtype, VEC, valid)

    @staticmethod
    def _check_columns(tile: TileType, split: int) -> None:
        if tile.valid[1] == tile.shape[1]:
            return
        partial = (
            f"{tile.valid[1]} of {tile.shape[1]} columns" if tile.valid[1] != DYNAMIC else "a run-time column count"
        )
        ways = "split by rows (UP_DOWN), widen the columns with set_validshape, or move the tail out"
        if split == 2:
            raise wrong(
                f"LEFT_RIGHT cannot share out a tile of which only {partial} are valid",
                "a column extent per lane has no carrier on the way between the cores",
                instead=ways,
                code="partial-columns",
            )
        if tile.valid[1] == DYNAMIC or tile.valid[0] != tile.shape[0]:
            raise wrong(
                f"a tile with partial rows and {partial} cannot be shared out between the lanes",
                instead=ways,
                code="partial-columns",
            )


def _split_axis(tile: TileType, split: int) -> int:
    if split not in (1, 2):
        raise wrong(f"`split` is 0 (whole), 1 (rows) or 2 (columns), not {split}")
    need_rank(tile, 2, "tile")
    return split - 1


@irdl_op_definition
class GatherOp(TileOp):
    """Joins the parts of the two lanes to the tile the cube expects: `split` 1 rows, 2 columns, 0 the whole tile."""

    name = "tile.aic_gather"
    SPELLING: ClassVar[str] = "aic_gather"
    tile = operand_def(TileType)
    split = prop_def()
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("tile"), keyword("split", Kind.INT))
    traits = traits_def(*_boundary_traits("gather({tile}, {split})", VEC, MAT))

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        tile, split = call.tile("tile"), call["split"]
        if split == 0:
            return TileType.make(tile.shape, tile.dtype, MAT, tile.valid)
        axis = _split_axis(tile, split)
        box, valid = list(tile.shape), list(tile.valid)
        box[axis] *= 2
        valid[axis] = DYNAMIC if valid[axis] == DYNAMIC else valid[axis] * 2
        return TileType.make(box, tile.dtype, MAT, valid)


class PushOp(TileOp):
    """Writes a tile to the next free slot of the ring to the other side; waits while none is free.

    `split` is the transport code 0..4 (spec/passes.md 3.1), `lane_stride` the partition stride in cells,
    `id` the pipe.
    """

    tile = operand_def(TileType)
    split = prop_def()
    lane_stride = opt_prop_def()
    id = opt_prop_def()
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("tile"),
        keyword("split", Kind.INT),
        keyword("lane_stride", Kind.INT, None),
        keyword("id", Kind.INT, None),
    )
    TO_LANES: ClassVar[bool]

    @classmethod
    def result_type(cls, call: Bound) -> None:
        call.tile("tile")
        check_code(call["split"], cls.TO_LANES)


class PopOp(TileOp):
    """Takes the tile of the oldest full slot; waits while there is none. The slot stays taken until it is freed.

    The type of the result is stated, not inferred; `valid` gives its run-time extents, in axis order.
    """

    valid = var_operand_def(IndexType)
    split = prop_def()
    lane_stride = opt_prop_def()
    id = opt_prop_def()
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        keyword("split", Kind.INT),
        keyword("lane_stride", Kind.INT, None),
        keyword("id", Kind.INT, None),
        Parameter("valid", Kind.EXTENTS, None, keyword=True),
    )
    TO_LANES: ClassVar[bool]
    STATED: ClassVar[bool] = True

    @classmethod
    def from_call(cls, call: Bound, result_type: Attribute | None = None) -> SurfaceOp:
        check_code(call["split"], cls.TO_LANES)
        space = VEC if cls.TO_LANES else MAT
        if isinstance(result_type, TileType) and result_type.memory not in (None, space):
            raise wrong(
                f"`{cls.SPELLING}` pops into {space.dsl}, not {result_type.memory.dsl}",
                instead=f"annotate the variable with pl.Tile[..., pl.Mem.{space.dsl}]",
            )
        return super().from_call(call, result_type)

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        raise wrong("the type of a popped tile must be written out", instead="annotate the variable with pl.Tile[...]")

    def verify_(self) -> None:
        """The slot must fit its side, and every run-time extent must be given."""
        type_ = self.results[0].type
        assert isinstance(type_, TileType)
        try:
            check_code(transport_code(self), self.TO_LANES)
        except Diagnostic as problem:
            raise VerifyException(problem.message) from problem
        if type_.memory not in (None, VEC if self.TO_LANES else MAT):
            raise VerifyException(f"{self.name} pops into {'vec' if self.TO_LANES else 'mat'}, not {type_.memory}")
        if len(self.valid) != type_.valid.count(DYNAMIC):
            raise VerifyException(f"{self.name} needs one extent for every run-time axis of {type_}")


class FreeOp(SurfaceOp):
    """Gives the slot of a popped tile back to the producer."""

    NAMESPACE: ClassVar[str] = "system"
    tile = operand_def(TileType)
    split = opt_prop_def()
    id = opt_prop_def()
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("tile"),
        keyword("split", Kind.INT, None),
        keyword("id", Kind.INT, None),
    )
    TO_LANES: ClassVar[bool]

    @classmethod
    def result_type(cls, call: Bound) -> None:
        call.tile("tile")


class InitializePipeOp(SurfaceOp):
    """Opens the rings of one core: `dir_mask` 1 cube to lanes, 2 lanes to cube, 3 both; slot size in bytes."""

    NAMESPACE: ClassVar[str] = "system"
    c2v_buffer = operand_def(i32)
    v2c_buffer = operand_def(i32)
    dir_mask = prop_def()
    slot_size = prop_def()
    slot_num = opt_prop_def()
    local_slot_num = opt_prop_def()
    id = opt_prop_def()
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        Parameter("c2v_buffer", Kind.SCALAR),
        Parameter("v2c_buffer", Kind.SCALAR),
        keyword("dir_mask", Kind.INT),
        keyword("slot_size", Kind.INT),
        keyword("slot_num", Kind.INT, None),
        keyword("local_slot_num", Kind.INT, None),
        keyword("id", Kind.INT, None),
    )

    @classmethod
    def result_type(cls, call: Bound) -> None:
        if call["dir_mask"] not in (1, 2, 3) or call["slot_size"] <= 0:
            raise wrong("a pipe needs dir_mask 1, 2 or 3 and a positive slot_size")


def check_code(code: int, to_lanes: bool) -> None:
    """Refuses a transport code that the direction does not have: the odd ones exist from cube to lanes only."""
    if code not in range(5):
        raise wrong(f"the transport code is 0 to 4, not {code}", instead="split=1 for rows, split=2 for columns")
    if code > 2 and not to_lanes:
        raise wrong(
            f"the transport code {code} exists from the cube to the lanes only",
            "the lanes join equal halves; the odd codes place a lane 1 that has one cell fewer",
            instead=f"split={code - 2}, with halves of the same size",
        )


def transport_code(op: IRDLOperation) -> int:
    """The transport code of a push, pop or free; 0 where it is absent."""
    return int(python_value(op.properties.get("split")) or 0)


def _channel(meaning: str, pto: str, core: OpTrait) -> OpTraits:
    return traits_def(
        MemoryReadEffect(),
        MemoryWriteEffect(),
        core,
        Splits(Split.CHANNEL),
        Meaning(meaning),
        PtoSpelling(pto),
        Cost(CostClass.CHANNEL),
        Spaces(),
    )


@irdl_op_definition
class PushToLanesOp(PushOp):
    """AIC to AIV: see `PushOp`."""

    name = "tile.tpush_to_aiv"
    SPELLING: ClassVar[str] = "tpush_to_aiv"
    TO_LANES: ClassVar[bool] = True
    traits = _channel("push({tile}, {split}, {lane_stride}, {id})", "pto.tpush_to_aiv", OnCube)


@irdl_op_definition
class PushToCubeOp(PushOp):
    """AIV to AIC: see `PushOp`."""

    name = "tile.tpush_to_aic"
    SPELLING: ClassVar[str] = "tpush_to_aic"
    TO_LANES: ClassVar[bool] = False
    traits = _channel("push({tile}, {split}, {lane_stride}, {id})", "pto.tpush_to_aic", OnVector)


@irdl_op_definition
class PopFromCubeOp(PopOp):
    """On a lane: see `PopOp`."""

    name = "tile.tpop_from_aic"
    SPELLING: ClassVar[str] = "tpop_from_aic"
    TO_LANES: ClassVar[bool] = True
    traits = _channel("pop({split}, {lane_stride}, {id})", "pto.tpop_from_aic", OnVector)


@irdl_op_definition
class PopFromLanesOp(PopOp):
    """On the cube: see `PopOp`."""

    name = "tile.tpop_from_aiv"
    SPELLING: ClassVar[str] = "tpop_from_aiv"
    TO_LANES: ClassVar[bool] = False
    traits = _channel("pop({split}, {lane_stride}, {id})", "pto.tpop_from_aiv", OnCube)


@irdl_op_definition
class FreeToCubeOp(FreeOp):
    """A lane frees a slot of the ring from the cube."""

    name = "system.tfree_to_aic"
    SPELLING: ClassVar[str] = "tfree_to_aic"
    TO_LANES: ClassVar[bool] = True
    traits = _channel("free({tile}, {split}, {id})", "pto.tfree_from_aic", OnVector)


@irdl_op_definition
class FreeToLanesOp(FreeOp):
    """The cube frees a slot of the ring from the lanes."""

    name = "system.tfree_to_aiv"
    SPELLING: ClassVar[str] = "tfree_to_aiv"
    TO_LANES: ClassVar[bool] = False
    traits = _channel("free({tile}, {split}, {id})", "pto.tfree_from_aiv", OnCube)


@irdl_op_definition
class InitializeCubePipeOp(InitializePipeOp):
    """The cube's side of the rings."""

    name = "system.aic_initialize_pipe"
    SPELLING: ClassVar[str] = "aic_initialize_pipe"
    traits = _channel("open_pipe({dir_mask}, {slot_size}, {slot_num}, {id})", "pto.aic_initialize_pipe", OnCube)


@irdl_op_definition
class InitializeLanePipeOp(InitializePipeOp):
    """A lane's side of the rings."""

    name = "system.aiv_initialize_pipe"
    SPELLING: ClassVar[str] = "aiv_initialize_pipe"
    traits = _channel("open_pipe({dir_mask}, {slot_size}, {slot_num}, {id})", "pto.aiv_initialize_pipe", OnVector)


@irdl_op_definition
class ReserveBufferOp(SurfaceOp):
    """Bytes for a ring in the consumer's memory; `base` -1 lets the allocator choose the address."""

    name = "system.reserve_buffer"
    NAMESPACE: ClassVar[str] = "system"
    SPELLING: ClassVar[str] = "reserve_buffer"
    buffer_name = prop_def()
    size = prop_def()
    base = prop_def()
    result = result_def(i32)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        Parameter("buffer_name", Kind.TEXT, keyword=True, spelled="name"),
        keyword("size", Kind.INT),
        keyword("base", Kind.INT, -1),
    )
    traits = _channel("0", "pto.reserve_buffer", OnBoth)

    @classmethod
    def result_type(cls, call: Bound) -> Attribute:
        return DTYPES["INT32"]


@irdl_op_definition
class ImportPeerBufferOp(SurfaceOp):
    """The address of a ring that the peer function reserved."""

    name = "system.import_peer_buffer"
    NAMESPACE: ClassVar[str] = "system"
    SPELLING: ClassVar[str] = "import_peer_buffer"
    buffer_name = prop_def()
    peer_func = prop_def()
    result = result_def(i32)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        Parameter("buffer_name", Kind.TEXT, keyword=True, spelled="name"),
        keyword("peer_func", Kind.TEXT),
    )
    traits = _channel("0", "pto.import_reserved_buffer", OnBoth)

    @classmethod
    def result_type(cls, call: Bound) -> Attribute:
        return DTYPES["INT32"]


class IndexOp(TileOp):
    """A number that says where the program runs."""

    result = result_def(IndexType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = ()

    @classmethod
    def result_type(cls, call: Bound) -> Attribute:
        return DTYPES["INDEX"]


def _index_op(spelling: str, meaning: str, core: OpTrait, doc: str) -> type[IndexOp]:
    traits = (Pure(), core, Splits(Split.NONE), Meaning(meaning), PtoSpelling(None), Cost(CostClass.FREE), Spaces())
    body = {"__doc__": doc, "__module__": __name__, "name": f"tile.{spelling}", "traits": traits_def(*traits)}
    op: type[IndexOp] = irdl_op_definition(type(spelling.title().replace("_", "") + "Op", (IndexOp,), body))
    op.SPELLING = spelling
    return op


SubblockIdxOp = _index_op("get_subblock_idx", "lane()", OnVector, "The lane this program runs on: 0 or 1.")
BlockIdxOp = _index_op("get_block_idx", "block()", OnBoth, "The number of this core group.")
BlockNumOp = _index_op("get_block_num", "blocks()", OnBoth, "How many core groups run the kernel.")


CHANNEL_OPS: tuple[type[SurfaceOp], ...] = (
    ShardOp,
    GatherOp,
    PushToLanesOp,
    PushToCubeOp,
    PopFromCubeOp,
    PopFromLanesOp,
    FreeToCubeOp,
    FreeToLanesOp,
    InitializeCubePipeOp,
    InitializeLanePipeOp,
    ReserveBufferOp,
    ImportPeerBufferOp,
    SubblockIdxOp,
    BlockIdxOp,
    BlockNumOp,
)
