"""AutoTileMatmulL0: a product too large for L0A, L0B or L0C becomes blocks that fit (spec/front.md 3.7).

The depth is cut into a pipelined loop that accumulates; rows or columns are cut when the accumulator is too large.
Unlike the reference, the first step of the depth stands before the loop, so no step asks which one it is.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from cubelane.analysis.matmul_blocks import Blocks, Product
from cubelane.ir.diagnostic import refuse
from cubelane.ir.kernel import (
    LOOP,
    STAGE,
    LoopAttr,
    LoopFlavour,
    functions_of,
    kind_of,
    split_of,
    target_name,
)
from cubelane.ir.narrowing import is_one
from cubelane.ir.tile.making import CreateOp
from cubelane.ir.tile.matrix import MatmulAccOp, MatmulOp
from cubelane.ir.tile.movement import MoveOp, StoreOp
from cubelane.ir.tile.shaping import AssembleOp, ExtractOp
from cubelane.ir.types import Layout, MemorySpace, TileType
from cubelane.ir.walk import ops_of
from cubelane.passes.tile.placement import Constants, base_name, build, insert, replace
from cubelane.targets import A2A3, TARGETS, Target

LEFT, RIGHT, MAT, VEC = MemorySpace.LEFT, MemorySpace.RIGHT, MemorySpace.MAT, MemorySpace.VEC
STAGES = 2
"""Blocks in flight in the loop over the depth."""

Factor = MatmulOp | MatmulAccOp


def tile_of(value: SSAValue) -> TileType:
    """The tile type of a value."""
    assert isinstance(value.type, TileType)
    return value.type


@dataclass
class Tiling:
    """Cuts the products of one function."""

    function: FuncOp
    target: Target

    def __post_init__(self) -> None:
        self.constants = Constants(self.function.body.block)

    def cut(self, op: Factor) -> None:
        """Cuts one product if it is too large."""
        lhs, rhs = tile_of(op.lhs), tile_of(op.rhs)
        product = Product.of(lhs, rhs)
        if lhs.memory is LEFT or rhs.memory is RIGHT or product.fits(self.target):
            return
        blocks = product.blocks(self.target, split_of(self.function))
        whole = blocks is not None and (blocks.rows, blocks.columns) == (product.rows, product.columns)
        if blocks is None or (is_one(op, MatmulAccOp) and not whole):
            raise self._too_large(op, product)
        if blocks.depth != product.depth and not self._depth_is_valid(lhs, rhs):
            raise self._too_large(op, product)
        left, right = self._in_l1(op, op.lhs), self._in_l1(op, op.rhs)
        if whole:
            acc = op.acc if is_one(op, MatmulAccOp) else None
            replace(op, self._block(op, left, right, 0, 0, blocks, acc))
        else:
            self._join_blocks(op, left, right, product, blocks)

    @staticmethod
    def _depth_is_valid(lhs: TileType, rhs: TileType) -> bool:
        return lhs.valid[1] == lhs.shape[1] and rhs.valid[0] == rhs.shape[0]

    def _too_large(self, op: Operation, product: Product) -> Exception:
        kib = product.rows * product.columns * 4 / 1024
        return refuse(
            op,
            f"the product [{product.rows}, {product.depth}] x [{product.depth}, {product.columns}] does not fit the "
            f"memories of the cube core",
            f"its accumulator alone has {kib:.0f} KiB, Acc has {self.target.capacity[MemorySpace.ACC] // 1024} KiB on "
            f"{self.target.name}",
            instead="multiply blocks in a loop: pl.slice the operands, pl.assemble each block of the result",
            code="product-too-large",
        )

    def _in_l1(self, op: Operation, value: SSAValue) -> SSAValue:
        if tile_of(value).memory is MAT:
            return value
        return build(MoveOp, op, f"{value.name_hint or 't'}_Mat", {"tile": value, "target_memory": MAT})

    def _extract(
        self, op: Operation, source: SSAValue, at: tuple[SSAValue, SSAValue], box: tuple[int, int], space: MemorySpace
    ) -> SSAValue:
        name = f"{base_name(source)}_l0_{'a' if space is LEFT else 'b'}"
        arguments = {"tile": source, "row": at[0], "column": at[1], "shape": box, "target_memory": space}
        return build(ExtractOp, op, name, arguments)

    def _block(
        self,
        op: Factor,
        left: SSAValue,
        right: SSAValue,
        row: int,
        column: int,
        blocks: Blocks,
        acc: SSAValue | None,
    ) -> SSAValue:
        """The accumulator of one block of the result: one product a step of the depth.

        Only the first step may overwrite the accumulator, so it stands before the loop and has the condition for that.
        """
        name, depth = f"{base_name(op.results[0])}__tile", tile_of(left).shape[1]
        first, step = self.constants[row], self.constants[column]

        def factors(anchor: Operation, k: SSAValue) -> dict[str, SSAValue]:
            a = self._extract(anchor, left, (first, k), (blocks.rows, blocks.depth), LEFT)
            b = self._extract(anchor, right, (k, step), (blocks.depth, blocks.columns), RIGHT)
            return {"lhs": a, "rhs": b}

        begin = 0
        if acc is None:
            acc = build(MatmulOp, op, f"{name}_l0_first", factors(op, self.constants[0]))
            begin = blocks.depth
        elif is_one(op, MatmulAccOp) and op.init_cond is not None:
            first_step = {"acc": acc, **factors(op, self.constants[0]), "init_cond": op.init_cond}
            acc = build(MatmulAccOp, op, f"{name}_l0_first", first_step)
            begin = blocks.depth
        if begin >= depth:
            acc.name_hint = name
            return acc
        body = Block(arg_types=[IndexType(), acc.type])
        end = scf.YieldOp()
        body.add_op(end)
        bounds = self.constants.all([begin, depth, blocks.depth])
        loop = scf.ForOp(bounds[0], bounds[1], bounds[2], [acc], Region(body))
        loop.attributes[LOOP] = LoopAttr(LoopFlavour.PIPELINE)
        loop.attributes[STAGE] = IntegerAttr(STAGES, i64)
        insert(loop, op, name)
        end.location = op.location
        body.args[0].name_hint, body.args[1].name_hint = f"{base_name(op.results[0])}_l0_k", f"{name}_l0"
        total = build(MatmulAccOp, end, f"{name}_l0_c", {"acc": body.args[1], **factors(end, body.args[0])})
        last = insert(scf.YieldOp(total), end)
        body.erase_op(end)
        assert last.parent is body
        return loop.results[0]

    def _join_blocks(self, op: Factor, left: SSAValue, right: SSAValue, product: Product, blocks: Blocks) -> None:
        """Blocks of the result are stored one by one, or put together in the vector buffer."""
        use = op.results[0].get_user_of_unique_use()
        store = use if is_one(use, StoreOp) and use.parent is op.parent and not use.shapes else None
        name = f"{base_name(op.results[0])}__tile"
        corners = [
            (r, c) for r in range(0, product.rows, blocks.rows) for c in range(0, product.columns, blocks.columns)
        ]
        if store is not None:
            self._store_blocks(op, left, right, corners, blocks, store)
            return
        tile = tile_of(op.results[0])
        arguments = {"shape": tile.shape, "dtype": tile.dtype, "target_memory": VEC}
        whole = build(CreateOp, op, name, arguments)
        for row, column in corners:
            block = self._block(op, left, right, row, column, blocks, None)
            arguments = {"tile": block, "target_memory": VEC, "blayout": Layout.ROW_MAJOR, "slayout": Layout.NONE_BOX}
            moved = build(MoveOp, op, f"{block.name_hint}_Vec", arguments)
            offsets = self.constants.all([row, column])
            whole = build(AssembleOp, op, name, {"target": whole, "source": moved, "offsets": offsets})
        replace(op, whole)

    def _store_blocks(
        self,
        op: Factor,
        left: SSAValue,
        right: SSAValue,
        corners: list[tuple[int, int]],
        blocks: Blocks,
        store: StoreOp,
    ) -> None:
        """Each block is stored before the next one is started, so one accumulator is enough."""
        op.detach()
        assert store.parent is not None
        store.parent.insert_op_before(op, store)
        target = store.target
        for row, column in corners:
            block = self._block(op, left, right, row, column, blocks, None)
            offsets = [self._plus(op, o, d) for o, d in zip(store.offsets, (row, column), strict=True)]
            arguments = {"tile": block, "offsets": offsets, "target": target, "atomic": store.bound()["atomic"]}
            target = build(StoreOp, op, store.result.name_hint, arguments)
            assert isinstance(target.owner, Operation)
            target.owner.location = store.location
        replace(store, target)
        assert op.parent is not None
        op.parent.erase_op(op)

    def _plus(self, anchor: Operation, offset: SSAValue, distance: int) -> SSAValue:
        if not distance:
            return offset
        return insert(arith.AddiOp(offset, self.constants[distance]), anchor).results[0]


class AutoTileMatmulL0(ModulePass):
    """Products of InCore functions in blocks that fit."""

    name = "auto-tile-matmul-l0"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = TARGETS.get(target_name(op) or "", A2A3)
        for function in functions_of(op):
            if not kind_of(function).in_core:
                continue
            products = ops_of(function, (MatmulOp, MatmulAccOp))
            if products:
                tiling = Tiling(function, target)
                for product in products:
                    tiling.cut(product)
