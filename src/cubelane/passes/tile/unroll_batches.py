"""Products of batches written out: one matrix each, and so is everything that works beside them (spec/front.md 3.6).

What a batched product reads and what is computed from it, matrix by matrix, through loops and branches, becomes one
tile per matrix. So each matrix crosses between the cores for itself and can be shared out by rows or by columns. Only
what works on several matrices at once gets them put together again, as the rows of one tile in the vector buffer.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import IsTerminator

from cubelane.analysis.batches import Batches, is_per_matrix
from cubelane.analysis.value_flow import joins_of
from cubelane.ir.diagnostic import refuse
from cubelane.ir.narrowing import is_one
from cubelane.ir.surface import Kind, SurfaceOp, constant_of
from cubelane.ir.tile import Tile
from cubelane.ir.tile.making import CreateOp
from cubelane.ir.tile.matrix import matrix_of
from cubelane.ir.tile.movement import LoadOp, MoveOp, StoreOp
from cubelane.ir.tile.shaping import AssembleOp, ReshapeOp, SliceOp, TransposeOp
from cubelane.ir.traits import PerMatrix, Split, Splits, has_trait, trait_of
from cubelane.ir.types import Layout, MemorySpace, TensorType, TileType
from cubelane.passes.tile.placement import Constants, base_name, build, insert

VEC, MAT = MemorySpace.VEC, MemorySpace.MAT
Pieces = tuple[SSAValue, ...]

ONE_MATRIX: dict[str, type[SurfaceOp]] = {op.name: op for op in Tile.operations if issubclass(op, SurfaceOp)}
"""The ops of the tile level by IR name."""


def place(index: Sequence[int], leading: Sequence[int]) -> int:
    """The number of a matrix in a batch; an axis of extent 1 serves every index."""
    number = 0
    for i, extent in zip(index[len(index) - len(leading) :], leading, strict=True):
        number = number * extent + (0 if extent == 1 else i)
    return number


def indices_of(tile: TileType) -> Iterator[tuple[int, ...]]:
    """The indices of the matrices of a batch, in row-major order."""
    return product(*(range(extent) for extent in tile.shape[:-2]))


def tile_of(value: SSAValue) -> TileType:
    """The tile type of a value."""
    assert isinstance(value.type, TileType)
    return value.type


class Unrolling:
    """Writes out the batches of one function."""

    def __init__(self, function: FuncOp, batches: Batches):
        self.constants = Constants(function.body.block)
        self._batches = batches
        self._pieces: dict[SSAValue, Pieces] = {}
        self._done: list[Operation] = []
        self._arguments: list[BlockArgument] = []

    def clean(self) -> None:
        """Removes what was written out: nothing uses it any more, save a tile that something needs whole."""
        for op in reversed(self._done):
            if all(result.first_use is None for result in op.results):
                assert op.parent is not None
                op.parent.erase_op(op)
        for argument in reversed(self._arguments):
            argument.block.erase_arg(argument)

    def run(self, block: Block) -> None:
        """Visits all ops of a block in order."""
        op = block.first_op
        while op is not None:
            following = op.next_op
            if op.regions:
                self._compound(op)
            else:
                self._visit(op)
            op = following

    def _visit(self, op: Operation) -> None:
        results = [result for result in op.results if result in self._batches]
        if not (results or has_trait(op, PerMatrix) or any(operand in self._batches for operand in op.operands)):
            return
        if op.has_trait(IsTerminator):
            op.operands = self._expanded(op.operands)
        elif is_one(op, SurfaceOp) and is_per_matrix(op):
            self._per_matrix(op)
        else:
            for index, operand in enumerate(op.operands):
                if operand in self._batches:
                    op.operands[index] = self._joined(operand, op)
            for result in results:
                self._pieces[result] = self._cut(result)

    def _expanded(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """Values with the matrices in place of a batch."""
        return [piece for value in values for piece in self._pieces.get(value, (value,))]

    # -- one op

    def _per_matrix(self, op: SurfaceOp) -> None:
        self._done.append(op)
        if is_one(op, LoadOp):
            self._pieces[op.result] = tuple(self._load(op, index) for index in indices_of(tile_of(op.result)))
        elif is_one(op, StoreOp):
            self._store(op)
        elif is_one(op, SliceOp):
            self._pick(op)
        elif is_one(op, ReshapeOp):
            self._regroup(op)
        else:
            result = op.results[0]
            pieces = [self._one(op, index, number) for number, index in enumerate(indices_of(tile_of(result)))]
            if result in self._batches:
                self._pieces[result] = tuple(pieces)
            else:
                result.replace_all_uses_with(pieces[0])  # a batch of one, without leading axes

    def _one(self, op: SurfaceOp, index: Sequence[int], number: int) -> SSAValue:
        """What an op does to the matrices of one index."""
        result, arguments = op.results[0], op.bound().values
        stated: TileType | None = None
        for parameter in op.PARAMETERS:
            value = arguments[parameter.name]
            if parameter.kind is Kind.VALUE and value is not None:
                arguments[parameter.name] = self._piece(value, index)
            elif parameter.kind is Kind.SHAPE:
                one = matrix_of(tile_of(result))
                stated = TileType.make(one.shape, one.dtype, one.memory, one.valid, pad=one.data.pad)
                arguments[parameter.name] = one.shape
        if is_one(op, TransposeOp):
            arguments |= {"axis0": 0, "axis1": 1}
        trait = trait_of(op, PerMatrix)
        kind = type(op) if trait is None else ONE_MATRIX[trait.name]
        return build(kind, op, self._name(result, number), arguments, stated)

    def _piece(self, value: SSAValue, index: Sequence[int]) -> SSAValue:
        pieces = self._pieces.get(value)
        return value if pieces is None else pieces[place(index, tile_of(value).shape[:-2])]

    def _name(self, value: SSAValue, number: int) -> str:
        name = value.name_hint or "t"
        return f"{name}_{number}" if number else name

    def _load(self, op: LoadOp, index: tuple[int, ...]) -> SSAValue:
        tile = tile_of(op.result)
        one = matrix_of(tile)
        valid: list[SSAValue] = list(op.valid)[-2:]
        if not valid and not one.fully_valid:
            valid = self.constants.all(list(one.valid))
        arguments = {
            **op.bound().values,
            "offsets": self._offsets(op, list(op.offsets), index),
            "shapes": one.shape,
            "valid": valid,
        }
        return build(LoadOp, op, self._name(op.result, place(index, tile.shape[:-2])), arguments)

    def _offsets(self, op: Operation, offsets: list[SSAValue], index: tuple[int, ...]) -> list[SSAValue]:
        """Offsets in a tensor, of the matrix at an index of a batch whose offsets are given."""
        first = len(offsets) - 2 - len(index)
        for axis, i in enumerate(index, first):
            known = constant_of(offsets[axis])
            if known is not None:
                offsets[axis] = self.constants[known + i]
            elif i:
                offsets[axis] = insert(arith.AddiOp(offsets[axis], self.constants[i]), op).results[0]
        return offsets

    def _store(self, op: StoreOp) -> None:
        target: SSAValue = op.target
        assert isinstance(target.type, TensorType)
        tile = tile_of(op.tile)
        window = (1,) * (len(target.type.shape) - 2) + tile.shape[-2:]
        for index in indices_of(tile):
            arguments = {
                **op.bound().values,
                "tile": self._piece(op.tile, index),
                "offsets": self._offsets(op, list(op.offsets), index),
                "target": target,
                "shapes": self.constants.all(list(window)),
            }
            target = build(StoreOp, op, op.result.name_hint, arguments)
        op.result.replace_all_uses_with(target)

    def _pick(self, op: SliceOp) -> None:
        """Some of the matrices, at constant places."""
        source, first = tile_of(op.tile), [constant_of(offset) or 0 for offset in op.offsets]
        self._pieces[op.result] = tuple(
            self._pieces[op.tile][place([a + b for a, b in zip(first, index, strict=False)], source.shape[:-2])]
            for index in indices_of(tile_of(op.result))
        )

    def _regroup(self, op: ReshapeOp) -> None:
        """The same matrices under other leading axes; one alone may have none."""
        pieces = self._pieces.get(op.tile, (op.tile,))
        if op.result in self._batches:
            self._pieces[op.result] = pieces
        else:
            op.result.replace_all_uses_with(pieces[0])

    # -- where a batch meets what works on several matrices

    def _joined(self, value: SSAValue, op: Operation) -> SSAValue:
        """The matrices as the rows of one tile, for an op that works on several of them."""
        splits = trait_of(value.owner, Splits) if isinstance(value.owner, Operation) else None
        if splits is not None and splits.behaviour in (Split.LOADS, Split.GENERATES):
            return value
        pieces, tile, name = self._pieces[value], tile_of(value), base_name(value)
        if any(tile_of(piece).memory not in (VEC, MemorySpace.ACC, None) for piece in pieces):
            raise refuse(
                op,
                f"{op.name} works on several matrices of `{name}` {list(tile.shape)} in L1",
                "a batch is kept as one tile per matrix beside a product",
                instead="take one matrix at a time, in a loop over the leading axes",
                code="batched-matmul",
            )
        arguments = {"shape": tile.shape, "dtype": tile.dtype, "target_memory": VEC}
        whole = build(CreateOp, op, value.name_hint, arguments)
        box = (1,) * (len(tile.shape) - 2) + tile.shape[-2:]
        for piece, index in zip(pieces, indices_of(tile), strict=True):
            if tile_of(piece).memory is MemorySpace.ACC:
                layout = {"blayout": Layout.ROW_MAJOR, "slayout": Layout.NONE_BOX}
                piece = build(MoveOp, op, f"{name}_Vec", {"tile": piece, "target_memory": VEC, **layout})
            source = build(ReshapeOp, op, piece.name_hint, {"tile": piece, "shape": box})
            arguments = {"target": whole, "source": source, "offsets": self.constants.all([*index, 0, 0])}
            whole = build(AssembleOp, op, value.name_hint, arguments)
        return whole

    def _cut(self, value: SSAValue) -> Pieces:
        """The matrices of a tile that is made as a whole."""
        assert isinstance(value.owner, Operation) and value.owner.next_op is not None
        tile, anchor = tile_of(value), value.owner.next_op
        rows, columns = tile.shape[-2:]
        height = prod(tile.shape[:-2]) * rows
        flat = build(ReshapeOp, anchor, value.name_hint, {"tile": value, "shape": (height, columns)})
        arguments = {"tile": flat, "shape": (rows, columns)}
        return tuple(
            build(SliceOp, anchor, self._name(value, i), {**arguments, "offsets": self.constants.all([i * rows, 0])})
            for i in range(height // rows)
        )

    # -- control flow

    def _compound(self, op: Operation) -> None:
        if not any(target in self._batches for join in joins_of(op) for target in join.targets):
            for region in op.regions:
                for block in region.blocks:
                    self.run(block)
            return
        arrives = {target: join.sources[0].value for join in joins_of(op) for target in join.targets}
        operands = self._expanded(op.operands)
        for region in op.regions:
            for block in region.blocks:
                self._expand_arguments(block, arrives)
                self.run(block)
        self._rebuild(op, operands, arrives)

    def _expand_arguments(self, block: Block, arrives: dict[SSAValue, SSAValue]) -> None:
        """Gives a block arguments for the matrices of its batches."""
        for argument in [argument for argument in block.args if argument in self._batches]:
            made: list[SSAValue] = []
            for number, piece in enumerate(self._pieces[arrives[argument]]):
                new = block.insert_arg(piece.type, argument.index)
                new.name_hint = self._name(argument, number)
                made.append(new)
            self._pieces[argument] = tuple(made)
            self._arguments.append(argument)

    def _rebuild(self, op: Operation, operands: list[SSAValue], arrives: dict[SSAValue, SSAValue]) -> None:
        """The op with a result for every matrix of a batch."""
        counts = [len(self._pieces[arrives[r]]) if r in self._batches else 1 for r in op.results]
        types = [
            value.type
            for result in op.results
            for value in (self._pieces[arrives[result]] if result in self._batches else (result,))
        ]
        new = type(op).create(
            operands=operands,
            result_types=types,
            properties=dict(op.properties),
            attributes=dict(op.attributes),
            regions=[op.detach_region(region) for region in list(op.regions)],
        )
        insert(new, op)
        made = iter(new.results)
        for result, count in zip(op.results, counts, strict=True):
            values = tuple(next(made) for _ in range(count))
            for number, value in enumerate(values):
                value.name_hint = self._name(result, number) if result in self._batches else result.name_hint
            if result in self._batches:
                self._pieces[result] = values
            else:
                result.replace_all_uses_with(values[0])
        self._done.append(op)


def unroll_batches(function: FuncOp) -> None:
    """Writes out the batched products of a function and what is beside them."""
    batches = Batches.of(function)
    if batches is None:
        return
    unrolling = Unrolling(function, batches)
    unrolling.run(function.body.block)
    unrolling.clean()
