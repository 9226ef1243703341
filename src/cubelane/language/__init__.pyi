"""The `pl` language, for type checkers and editors. Written by `python -m cubelane.language.stub`."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from cubelane.language.decorators import function as function
from cubelane.language.decorators import inline as inline
from cubelane.language.decorators import jit as jit
from cubelane.language.decorators import program as program
from cubelane.language.errors import InvalidOperationError as InvalidOperationError
from cubelane.language.errors import NeedsArguments as NeedsArguments
from cubelane.language.errors import ParserError as ParserError
from cubelane.language.errors import ParserSyntaxError as ParserSyntaxError
from cubelane.language.errors import ParserTypeError as ParserTypeError
from cubelane.language.errors import SSAViolationError as SSAViolationError
from cubelane.language.errors import UndefinedVariableError as UndefinedVariableError
from cubelane.language.errors import UnsupportedFeatureError as UnsupportedFeatureError
from cubelane.language.parser import loads as loads
from cubelane.language.parser import parse as parse
from cubelane.language.printing.programs import print_function as print_function
from cubelane.language.printing.programs import print_program as print_program
from cubelane.language.vocabulary import Array as Array
from cubelane.language.vocabulary import AtomicType as AtomicType
from cubelane.language.vocabulary import BF16 as BF16
from cubelane.language.vocabulary import BOOL as BOOL
from cubelane.language.vocabulary import CompactMode as CompactMode
from cubelane.language.vocabulary import DataType as DataType
from cubelane.language.vocabulary import DistributedTensor as DistributedTensor
from cubelane.language.vocabulary import FP16 as FP16
from cubelane.language.vocabulary import FP32 as FP32
from cubelane.language.vocabulary import FP4 as FP4
from cubelane.language.vocabulary import FP8E4M3FN as FP8E4M3FN
from cubelane.language.vocabulary import FP8E5M2 as FP8E5M2
from cubelane.language.vocabulary import FP8E8M0 as FP8E8M0
from cubelane.language.vocabulary import FunctionType as FunctionType
from cubelane.language.vocabulary import HF4 as HF4
from cubelane.language.vocabulary import HF8 as HF8
from cubelane.language.vocabulary import INDEX as INDEX
from cubelane.language.vocabulary import INT16 as INT16
from cubelane.language.vocabulary import INT32 as INT32
from cubelane.language.vocabulary import INT4 as INT4
from cubelane.language.vocabulary import INT64 as INT64
from cubelane.language.vocabulary import INT8 as INT8
from cubelane.language.vocabulary import InOut as InOut
from cubelane.language.vocabulary import Level as Level
from cubelane.language.vocabulary import Mem as Mem
from cubelane.language.vocabulary import MemRef as MemRef
from cubelane.language.vocabulary import MemRefType as MemRefType
from cubelane.language.vocabulary import MemorySpace as MemorySpace
from cubelane.language.vocabulary import NotifyOp as NotifyOp
from cubelane.language.vocabulary import Out as Out
from cubelane.language.vocabulary import PadValue as PadValue
from cubelane.language.vocabulary import PipeType as PipeType
from cubelane.language.vocabulary import Ptr as Ptr
from cubelane.language.vocabulary import Role as Role
from cubelane.language.vocabulary import Scalar as Scalar
from cubelane.language.vocabulary import SplitMode as SplitMode
from cubelane.language.vocabulary import TASK_ID as TASK_ID
from cubelane.language.vocabulary import Tensor as Tensor
from cubelane.language.vocabulary import TensorLayout as TensorLayout
from cubelane.language.vocabulary import TensorView as TensorView
from cubelane.language.vocabulary import Tile as Tile
from cubelane.language.vocabulary import TileLayout as TileLayout
from cubelane.language.vocabulary import TileView as TileView
from cubelane.language.vocabulary import Tuple as Tuple
from cubelane.language.vocabulary import UINT16 as UINT16
from cubelane.language.vocabulary import UINT32 as UINT32
from cubelane.language.vocabulary import UINT4 as UINT4
from cubelane.language.vocabulary import UINT64 as UINT64
from cubelane.language.vocabulary import UINT8 as UINT8
from cubelane.language.vocabulary import UnknownType as UnknownType
from cubelane.language.vocabulary import at as at
from cubelane.language.vocabulary import cond as cond
from cubelane.language.vocabulary import const as const
from cubelane.language.vocabulary import cross_core_slot as cross_core_slot
from cubelane.language.vocabulary import dynamic as dynamic
from cubelane.language.vocabulary import func_attr as func_attr
from cubelane.language.vocabulary import parallel as parallel
from cubelane.language.vocabulary import pipeline as pipeline
from cubelane.language.vocabulary import range_ as range_
from cubelane.language.vocabulary import split as split
from cubelane.language.vocabulary import split_aiv as split_aiv
from cubelane.language.vocabulary import spmd as spmd
from cubelane.language.vocabulary import static_assert as static_assert
from cubelane.language.vocabulary import static_print as static_print
from cubelane.language.vocabulary import unroll as unroll
from cubelane.language.vocabulary import while_ as while_
from cubelane.language.vocabulary import yield_ as yield_

loads_program = loads
parse_program = parse
range = range_

Value: TypeAlias = Any
"""A tile, a tensor or a scalar: what a kernel computes with."""

def abs(tile: Value) -> Value:
    """A function of every cell; shape, element type, valid extent and layout are those of the operand.

    A function of every element.
    """

def add(lhs: Value, rhs: Value) -> Value:
    """A function of two cells; extent-1 axes broadcast, layout and valid extent follow the first operand.

    A function of two elements, with NumPy broadcasting.
    """

def addc(lhs: Value, rhs: Value, addend: Value) -> Value:
    """A function of three cells."""

def adds(tile: Value, scalar: Value | float) -> Value:
    """A function of every cell and one scalar; the element type stays that of the tile.

    A function of every element and one scalar.
    """

def addsc(lhs: Value, scalar: Value | float, addend: Value) -> Value:
    """A function of two cells and a scalar."""

def aic_gather(tile: Value, split: int | AtomicType | NotifyOp) -> Value:
    """Joins the parts of the two lanes to the tile the cube expects: `split` 1 rows, 2 columns, 0 the whole tile.

    A crossing written at tensor level, inside a `pl.split_aiv` region only.
    """

def aic_initialize_pipe(c2v_buffer: Value | float, v2c_buffer: Value | float, dir_mask: int | AtomicType | NotifyOp, slot_size: int | AtomicType | NotifyOp, slot_num: int | AtomicType | NotifyOp | None = None, local_slot_num: int | AtomicType | NotifyOp | None = None, id: int | AtomicType | NotifyOp | None = None) -> None:
    """The cube's side of the rings."""

def aiv_initialize_pipe(c2v_buffer: Value | float, v2c_buffer: Value | float, dir_mask: int | AtomicType | NotifyOp, slot_size: int | AtomicType | NotifyOp, slot_num: int | AtomicType | NotifyOp | None = None, local_slot_num: int | AtomicType | NotifyOp | None = None, id: int | AtomicType | NotifyOp | None = None) -> None:
    """A lane's side of the rings."""

def aiv_shard(tile: Value, split: int | AtomicType | NotifyOp, lane_stride: int | AtomicType | NotifyOp | None = None) -> Value:
    """Hands each lane its part of a cube tile: `split` 1 rows, 2 columns, 0 the whole tile.

    Both lanes get the box of the larger half. Lane i starts at cell `i * lane_stride` of the split axis
    (default: the box) and its valid extent there is `min(max(V, i*S) - i*S, S)` of the operand's extent V.

    A crossing written at tensor level, inside a `pl.split_aiv` region only.
    """

def and_(lhs: Value, rhs: Value) -> Value:
    """A function of two cells; extent-1 axes broadcast, layout and valid extent follow the first operand.

    A function of two elements, with NumPy broadcasting.
    """

def ands(tile: Value, scalar: Value | float) -> Value:
    """A function of every cell and one scalar; the element type stays that of the tile.

    A function of every element and one scalar.
    """

def arange(start: Value | float, shape: Sequence[int], dtype: DataType, descending: bool = False) -> Value:
    """Counts from `start` along the last axis."""

def assemble(target: Value, source: Value, offsets: Sequence[Value | int], atomic: int | AtomicType | NotifyOp | None = None) -> Value:
    """The target tile with the source written into the window at `offsets`.

    The target with the source written to the window at `offsets`; on an Out parameter this is the write.
    """

def bar_all() -> None:
    """Waits for all pipes of the core."""

def bar_m() -> None:
    """Waits for the matrix pipe of the cube."""

def bar_v() -> None:
    """Waits for the vector pipe of a lane."""

def batch_matmul(lhs: Value, rhs: Value, out_dtype: DataType | None = None, a_trans: bool | None = None, b_trans: bool | None = None, c_matrix_nz: bool | None = None) -> Value:
    """The products of two batches of matrices; the leading axes broadcast. One product each, written out.

    The product of [M, K] and [K, N], or of their transposes; accumulates in FP32 (INT32 for integers).
    """

def batch_matmul_acc(acc: Value, lhs: Value, rhs: Value, init_cond: Value | float | None = None, a_trans: bool | None = None, b_trans: bool | None = None) -> Value:
    """Adds the products of two batches to a batch of accumulators, in place; `init_cond` true overwrites instead.

    Adds a product to an accumulator of FP32 (floats) or INT32 (integers).
    """

def cast(tile: Value, target_type: DataType, mode: str = 'round') -> Value:
    """Converts every cell to another element type; `mode` says how it rounds (spec/front.md 2.3).

    Converts every element to another type; `mode` says how it rounds.
    """

def ci(start: Value | float, shape: Sequence[int], dtype: DataType, descending: bool = False) -> Value:
    """Counts from `start` along the row-major cells of the tile (upwards, or downwards with `descending`).

    Counts from `start` along the last axis.
    """

def cmp(lhs: Value, rhs: Value, cmp_type: int | AtomicType | NotifyOp = 0) -> Value:
    """Compares two tiles cell by cell into a bit mask of UINT8, eight columns a byte (spec/front.md 2.3)."""

def cmps(tile: Value, scalar: Value | float, cmp_type: int | AtomicType | NotifyOp = 0) -> Value:
    """Compares every cell with a scalar into a bit mask."""

def col_argmax(tile: Value, tmp: Value | None = None) -> Value:
    """Where the largest or smallest cell of every column is, as INT32 [1, N]; `tmp` is scratch, at least as large."""

def col_argmin(tile: Value, tmp: Value | None = None) -> Value:
    """Where the largest or smallest cell of every column is, as INT32 [1, N]; `tmp` is scratch, at least as large."""

def col_expand(tile: Value, col_vector: Value) -> Value:
    """A function of every cell and of the cell of its column in a row vector [1, N].

    A function of every element and of the element of its column in a tensor [1, N].
    """

def col_expand_add(tile: Value, col_vector: Value) -> Value:
    """A function of every cell and of the cell of its column in a row vector [1, N].

    A function of every element and of the element of its column in a tensor [1, N].
    """

def col_expand_div(tile: Value, col_vector: Value) -> Value:
    """A function of every cell and of the cell of its column in a row vector [1, N].

    A function of every element and of the element of its column in a tensor [1, N].
    """

def col_expand_expdif(tile: Value, col_vector: Value) -> Value:
    """A function of every cell and of the cell of its column in a row vector [1, N].

    A function of every element and of the element of its column in a tensor [1, N].
    """

def col_expand_max(tile: Value, col_vector: Value) -> Value:
    """A function of every cell and of the cell of its column in a row vector [1, N].

    A function of every element and of the element of its column in a tensor [1, N].
    """

def col_expand_min(tile: Value, col_vector: Value) -> Value:
    """A function of every cell and of the cell of its column in a row vector [1, N].

    A function of every element and of the element of its column in a tensor [1, N].
    """

def col_expand_mul(tile: Value, col_vector: Value) -> Value:
    """A function of every cell and of the cell of its column in a row vector [1, N].

    A function of every element and of the element of its column in a tensor [1, N].
    """

def col_expand_sub(tile: Value, col_vector: Value) -> Value:
    """A function of every cell and of the cell of its column in a row vector [1, N].

    A function of every element and of the element of its column in a tensor [1, N].
    """

def col_max(tile: Value) -> Value:
    """Folds axis 0; the result is one row.

    Folds one axis to extent 1.
    """

def col_min(tile: Value) -> Value:
    """Folds axis 0; the result is one row.

    Folds one axis to extent 1.
    """

def col_prod(tile: Value) -> Value:
    """Folds axis 0; the result is one row.

    Folds one axis to extent 1.
    """

def col_sum(tile: Value, tmp: Value | None = None) -> Value:
    """Folds axis 0; the result is one row.

    Folds one axis to extent 1.
    """

def concat(lhs: Value, rhs: Value) -> Value:
    """Two tiles of the same rows side by side.

    Two tensors of the same rows side by side.
    """

def cos(tile: Value) -> Value:
    """A function of an angle in radians; FP32 only. Made of simpler ops by LowerCompositeOps."""

def create(shape: Sequence[int], dtype: DataType, target_memory: MemorySpace | None = None, layout: TensorLayout | None = None, manual_dep: bool | None = None) -> Value:
    """A tile whose cells are undefined until something writes them.

    A tensor whose elements are undefined until something writes them.
    """

def create_tensor(shape: Sequence[int], dtype: DataType, layout: TensorLayout = ..., manual_dep: bool | None = None) -> Value:
    """A tensor whose elements are undefined until something writes them."""

def create_tile(shape: Sequence[int], dtype: DataType, target_memory: MemorySpace = ...) -> Value:
    """A tile whose cells are undefined until something writes them."""

def defer_wait(signal: Value, offsets: Sequence[Value | int], value: Value | float, cmp: str = 'eq') -> None:
    """Registers a condition that the next kernel waits for; stands in functions that do nothing else."""

def dim(source: Value, axis: int | AtomicType | NotifyOp) -> Value:
    """The extent of one axis of a tensor, in elements."""

def div(lhs: Value, rhs: Value, high_precision: bool | None = None) -> Value:
    """Divides two tiles of the same shape, valid extent and element type (I16, I32, FP16 or FP32).

    A function of two elements, with NumPy broadcasting.
    """

def divs(tile: Value, scalar: Value | float) -> Value:
    """A function of every cell and one scalar; the element type stays that of the tile.

    A function of every element and one scalar.
    """

def exp(tile: Value) -> Value:
    """A function of every cell; shape, element type, valid extent and layout are those of the operand.

    A function of every element.
    """

def expands(tile: Value, scalar: Value | float) -> Value:
    """A function of every cell and one scalar; the element type stays that of the tile.

    A function of every element and one scalar.
    """

def extract(tile: Value, row: Value | int, column: Value | int, shape: Sequence[int], target_memory: MemorySpace) -> Value:
    """Copies a window of a tile into another memory space."""

def fence() -> None:
    """Orders what the core does with global memory."""

def fillpad(tile: Value, pad_value: PadValue | float = ...) -> Value:
    """Fills the cells outside the valid extent with zero, or the largest or smallest value.

    Fills the elements outside the valid extent.
    """

def fillpad_expand(tile: Value, shape: Sequence[int], pad_value: PadValue | float = ...) -> Value:
    """A larger tile: the valid cells of the operand, the others filled."""

def fillpad_inplace(tile: Value, pad_value: PadValue | float = ...) -> Value:
    """Fills the cells outside the valid extent of a tile in its own buffer."""

def fmod(lhs: Value, rhs: Value) -> Value:
    """A function of two cells; extent-1 axes broadcast, layout and valid extent follow the first operand.

    A function of two elements, with NumPy broadcasting.
    """

def fmods(tile: Value, scalar: Value | float) -> Value:
    """A function of every cell and one scalar; the element type stays that of the tile.

    A function of every element and one scalar.
    """

def full(shape: Sequence[int], dtype: DataType, value: float) -> Value:
    """A tile in the vector buffer with the same value in every cell.

    A tensor with the same value everywhere.
    """

def gather(src: Value, indices: Value, tmp: Value | None = None) -> Value:
    """The cells of `src` at `indices`, which count its cells row by row; `tmp` is scratch."""

def gather_mask(src: Value, mask_pattern: int | AtomicType | NotifyOp, output_dtype: DataType | None = None) -> Value:
    """Every second or fourth column, from the first or a later one; `output_dtype` reads their bits anew.

    `mask_pattern`: 1 P0101 (columns 0, 2, ..), 2 P1010, 3 P0001, 4 P0010, 5 P0100, 6 P1000, 7 P1111.
    """

def gather_row(target: Value, source: Value, offsets: Sequence[Value | int], source_offsets: Sequence[Value | int], sizes: Sequence[Value | int]) -> Value:
    """The target tile with a window of a tensor, at `source_offsets`, copied to its cells at `offsets`."""

def gemv(lhs: Value, rhs: Value) -> Value:
    """The product of a row [1, K] and a tile [K, N]; the accumulator has 16 rows, one of them valid."""

def gemv_acc(acc: Value, lhs: Value, rhs: Value) -> Value:
    """Adds the product of a row to an accumulator with one valid row, in place."""

def gemv_bias(lhs: Value, rhs: Value, bias: Value) -> Value:
    """The product of a row plus a bias row [1, N] of the accumulator's element type."""

def get_block_idx() -> Value:
    """The number of this core group."""

def get_block_num() -> Value:
    """How many core groups run the kernel."""

def get_subblock_idx() -> Value:
    """The lane this program runs on: 0 or 1."""

def import_peer_buffer(name: str, peer_func: str) -> Value:
    """The address of a ring that the peer function reserved."""

def load(source: Value, offsets: Sequence[Value | int], shapes: Sequence[int], valid: Sequence[Value | int | None] | None = None, target_memory: MemorySpace = ..., clamp: bool | None = None) -> Value:
    """Copies a window of a tensor in global memory to a tile in the vector buffer or in L1.

    `offsets` and the window are in elements; cells of the window outside `valid` are undefined.
    """

def log(tile: Value, high_precision: bool | None = None) -> Value:
    """A function of every cell; shape, element type, valid extent and layout are those of the operand.

    A function of every element.
    """

def lrelu(tile: Value, scalar: Value | float) -> Value:
    """A cell that is positive as it is, any other one times the scalar."""

def matmul(lhs: Value, rhs: Value, out_dtype: DataType | None = None, a_trans: bool | None = None, b_trans: bool | None = None, c_matrix_nz: bool | None = None) -> Value:
    """The product of a left tile [M, K] and a right tile [K, N].

    The product of [M, K] and [K, N], or of their transposes; accumulates in FP32 (INT32 for integers).
    """

def matmul_acc(acc: Value, lhs: Value, rhs: Value, init_cond: Value | float | None = None, a_trans: bool | None = None, b_trans: bool | None = None) -> Value:
    """Adds a product to an accumulator tile, in place; `init_cond` true overwrites instead.

    Adds a product to an accumulator of FP32 (floats) or INT32 (integers).
    """

def matmul_bias(lhs: Value, rhs: Value, bias: Value) -> Value:
    """A product plus a bias row [1, N] of the accumulator's element type."""

def maximum(lhs: Value, rhs: Value) -> Value:
    """A function of two cells; extent-1 axes broadcast, layout and valid extent follow the first operand.

    A function of two elements, with NumPy broadcasting.
    """

def maximums(tile: Value, scalar: Value | float) -> Value:
    """A function of every cell and one scalar; the element type stays that of the tile.

    A function of every element and one scalar.
    """

def minimum(lhs: Value, rhs: Value) -> Value:
    """A function of two cells; extent-1 axes broadcast, layout and valid extent follow the first operand.

    A function of two elements, with NumPy broadcasting.
    """

def minimums(tile: Value, scalar: Value | float) -> Value:
    """A function of every cell and one scalar; the element type stays that of the tile.

    A function of every element and one scalar.
    """

def move(tile: Value, target_memory: MemorySpace, blayout: TileLayout | None = None, slayout: TileLayout | None = None) -> Value:
    """Copies a tile to another memory space or layout; between the cores it is a boundary."""

def mrgsort_format1(src: Value, block_len: int | AtomicType | NotifyOp) -> Value:
    """Merges every four sorted runs of `block_len` cells (two a record) of a row into one run."""

def mrgsort_format2(src0: Value, src1: Value, src2: Value | None = None, src3: Value | None = None) -> Value:
    """Merges two to four sorted tiles, row by row, into one."""

def mul(lhs: Value, rhs: Value) -> Value:
    """A function of two cells; extent-1 axes broadcast, layout and valid extent follow the first operand.

    A function of two elements, with NumPy broadcasting.
    """

def muls(tile: Value, scalar: Value | float) -> Value:
    """A function of every cell and one scalar; the element type stays that of the tile.

    A function of every element and one scalar.
    """

def neg(tile: Value) -> Value:
    """A function of every cell; shape, element type, valid extent and layout are those of the operand.

    A function of every element.
    """

def not_(tile: Value) -> Value:
    """A function of every cell; shape, element type, valid extent and layout are those of the operand.

    A function of every element.
    """

def notify(target: Value, peer: Value | float, offsets: Sequence[Value | int], value: Value | float, op: int | AtomicType | NotifyOp = 1) -> None:
    """Sets the peer's copy of a signal to `value` (`op` 1), or adds `value` to it (`op` 0)."""

def or_(lhs: Value, rhs: Value) -> Value:
    """A function of two cells; extent-1 axes broadcast, layout and valid extent follow the first operand.

    A function of two elements, with NumPy broadcasting.
    """

def ors(tile: Value, scalar: Value | float) -> Value:
    """A function of every cell and one scalar; the element type stays that of the tile.

    A function of every element and one scalar.
    """

def part_add(lhs: Value, rhs: Value) -> Value:
    """A function of two cells where both are valid; where only that of `lhs` is, that one."""

def part_max(lhs: Value, rhs: Value) -> Value:
    """A function of two cells where both are valid; where only that of `lhs` is, that one."""

def part_min(lhs: Value, rhs: Value) -> Value:
    """A function of two cells where both are valid; where only that of `lhs` is, that one."""

def part_mul(lhs: Value, rhs: Value) -> Value:
    """A function of two cells where both are valid; where only that of `lhs` is, that one."""

def prelu(tile: Value, slope: Value, tmp: Value | None = None) -> Value:
    """A cell that is positive as it is, any other one times the cell of `slope`; `tmp` is scratch."""

def random(key0: Value | float, key1: Value | float, counter0: Value | float, counter1: Value | float, counter2: Value | float, counter3: Value | float, shape: Sequence[int], dtype: DataType, rounds: int | AtomicType | NotifyOp | None = None) -> Value:
    """Pseudo-random words from a two-word key and a four-word counter; every cell has its own."""

def read(tile: Value, position: Sequence[Value | int]) -> Value:
    """One cell of a tile as a scalar.

    One element of a tensor as a scalar.
    """

def recip(tile: Value, high_precision: bool | None = None) -> Value:
    """A function of every cell; shape, element type, valid extent and layout are those of the operand.

    A function of every element.
    """

def reinterpret_view(tile: Value, dtype: DataType | None = None, shape: Sequence[int] | None = None) -> Value:
    """The same bytes under another element type; without `shape` the contiguous axis scales.

    The same bytes under another element type; without `shape` the last axis scales.
    """

def relu(tile: Value) -> Value:
    """A function of every cell; shape, element type, valid extent and layout are those of the operand.

    A function of every element.
    """

def rem(lhs: Value, rhs: Value, tmp: Value | None = None) -> Value:
    """A function of two cells that needs a scratch tile `tmp` of the element type of `lhs`."""

def rems(tile: Value, scalar: Value | float) -> Value:
    """The remainder of every cell by a scalar, with the sign of the scalar."""

def reserve_buffer(name: str, size: int | AtomicType | NotifyOp, base: int | AtomicType | NotifyOp = -1) -> Value:
    """Bytes for a ring in the consumer's memory; `base` -1 lets the allocator choose the address."""

def reshape(tile: Value, shape: Sequence[int]) -> Value:
    """The same elements in row-major order under another shape."""

def row_argmax(tile: Value, tmp: Value | None = None) -> Value:
    """Folds the last axis; `tmp` is scratch memory of the same element type, at least as large.

    Folds one axis to extent 1.
    """

def row_argmin(tile: Value, tmp: Value | None = None) -> Value:
    """Folds the last axis; `tmp` is scratch memory of the same element type, at least as large.

    Folds one axis to extent 1.
    """

def row_expand(tile: Value, row_vector: Value) -> Value:
    """A function of every cell and of the cell of its row in a column vector [M, 1].

    A function of every element and of the element of its row in a tensor [M, 1].
    """

def row_expand_add(tile: Value, row_vector: Value, tmp: Value | None = None) -> Value:
    """A function of every cell and of the cell of its row in a column vector [M, 1].

    A function of every element and of the element of its row in a tensor [M, 1].
    """

def row_expand_div(tile: Value, row_vector: Value) -> Value:
    """A function of every cell and of the cell of its row in a column vector [M, 1].

    A function of every element and of the element of its row in a tensor [M, 1].
    """

def row_expand_expdif(tile: Value, row_vector: Value) -> Value:
    """A function of every cell and of the cell of its row in a column vector [M, 1].

    A function of every element and of the element of its row in a tensor [M, 1].
    """

def row_expand_max(tile: Value, row_vector: Value) -> Value:
    """A function of every cell and of the cell of its row in a column vector [M, 1].

    A function of every element and of the element of its row in a tensor [M, 1].
    """

def row_expand_min(tile: Value, row_vector: Value) -> Value:
    """A function of every cell and of the cell of its row in a column vector [M, 1].

    A function of every element and of the element of its row in a tensor [M, 1].
    """

def row_expand_mul(tile: Value, row_vector: Value) -> Value:
    """A function of every cell and of the cell of its row in a column vector [M, 1].

    A function of every element and of the element of its row in a tensor [M, 1].
    """

def row_expand_sub(tile: Value, row_vector: Value) -> Value:
    """A function of every cell and of the cell of its row in a column vector [M, 1].

    A function of every element and of the element of its row in a tensor [M, 1].
    """

def row_max(tile: Value, tmp: Value | None = None) -> Value:
    """Folds the last axis; `tmp` is scratch memory of the same element type, at least as large.

    Folds one axis to extent 1.
    """

def row_min(tile: Value, tmp: Value | None = None) -> Value:
    """Folds the last axis; `tmp` is scratch memory of the same element type, at least as large.

    Folds one axis to extent 1.
    """

def row_prod(tile: Value, tmp: Value | None = None) -> Value:
    """Folds the last axis; `tmp` is scratch memory of the same element type, at least as large.

    Folds one axis to extent 1.
    """

def row_sum(tile: Value, tmp: Value | None = None) -> Value:
    """Folds the last axis; `tmp` is scratch memory of the same element type, at least as large.

    Folds one axis to extent 1.
    """

def rsqrt(tile: Value, tmp: Value | None = None, high_precision: bool | None = None) -> Value:
    """A function of every cell; shape, element type, valid extent and layout are those of the operand.

    A function of every element.
    """

def sel(mask: Value, lhs: Value, rhs: Value, tmp: Value) -> Value:
    """Takes the cell of `lhs` where the mask bit is set, else that of `rhs`; `tmp` is scratch."""

def sels(mask: Value, tile: Value, tmp: Value, scalar: Value | float) -> Value:
    """Takes the cell of `tile` where the mask bit is set, else the scalar; `tmp` is scratch."""

def set_validshape(tile: Value, rows: Value | int, columns: Value | int) -> Value:
    """States how many rows and columns of a tile are valid.

    States how many rows and columns of a tensor are valid.
    """

def shl(lhs: Value, rhs: Value) -> Value:
    """A function of two cells; extent-1 axes broadcast, layout and valid extent follow the first operand.

    A function of two elements, with NumPy broadcasting.
    """

def shls(tile: Value, scalar: Value | float) -> Value:
    """A function of every cell and one scalar; the element type stays that of the tile.

    A function of every element and one scalar.
    """

def shr(lhs: Value, rhs: Value) -> Value:
    """A function of two cells; extent-1 axes broadcast, layout and valid extent follow the first operand.

    A function of two elements, with NumPy broadcasting.
    """

def shrs(tile: Value, scalar: Value | float) -> Value:
    """A function of every cell and one scalar; the element type stays that of the tile.

    A function of every element and one scalar.
    """

def sin(tile: Value) -> Value:
    """A function of an angle in radians; FP32 only. Made of simpler ops by LowerCompositeOps."""

def slice(tile: Value, shape: Sequence[int] | None = None, *, offsets: Sequence[Value | int], valid: Sequence[Value | int | None] | None = None, window: Sequence[int] | None = None, drop_dims: Sequence[int] | None = None) -> Value:
    """The window of a tile at `offsets` (elements of the source).

    The window of a tensor at `offsets`; `drop_dims` lists unit axes that disappear.
    """

def sort32(src: Value, idx: Value) -> Value:
    """Sorts every 32 cells of a row, with the indices that `idx` gives them, into records (descending, stable)."""

def sqrt(tile: Value) -> Value:
    """A function of every cell; shape, element type, valid extent and layout are those of the operand.

    A function of every element.
    """

def store(tile: Value, offsets: Sequence[Value | int], target: Value, shapes: Sequence[Value | int | None] | None = None, atomic: int | AtomicType | NotifyOp | None = None) -> Value:
    """Writes the valid part of a tile to a window of a tensor; the result names the same tensor afterwards.

    `atomic` 1 adds to what is there. `shapes` (optional) is the window of a tensor of higher rank.
    """

def sub(lhs: Value, rhs: Value) -> Value:
    """A function of two cells; extent-1 axes broadcast, layout and valid extent follow the first operand.

    A function of two elements, with NumPy broadcasting.
    """

def subc(lhs: Value, rhs: Value, addend: Value) -> Value:
    """A function of three cells."""

def subs(tile: Value, scalar: Value | float) -> Value:
    """A function of every cell and one scalar; the element type stays that of the tile.

    A function of every element and one scalar.
    """

def subsc(lhs: Value, scalar: Value | float, addend: Value) -> Value:
    """A function of two cells and a scalar."""

def tfree_to_aic(tile: Value, split: int | AtomicType | NotifyOp | None = None, id: int | AtomicType | NotifyOp | None = None) -> None:
    """A lane frees a slot of the ring from the cube."""

def tfree_to_aiv(tile: Value, split: int | AtomicType | NotifyOp | None = None, id: int | AtomicType | NotifyOp | None = None) -> None:
    """The cube frees a slot of the ring from the lanes."""

def tpop_from_aic(split: int | AtomicType | NotifyOp, lane_stride: int | AtomicType | NotifyOp | None = None, id: int | AtomicType | NotifyOp | None = None, valid: Sequence[Value | int | None] | None = None) -> Value:
    """On a lane: see `PopOp`."""

def tpop_from_aiv(split: int | AtomicType | NotifyOp, lane_stride: int | AtomicType | NotifyOp | None = None, id: int | AtomicType | NotifyOp | None = None, valid: Sequence[Value | int | None] | None = None) -> Value:
    """On the cube: see `PopOp`."""

def tpush_to_aic(tile: Value, split: int | AtomicType | NotifyOp, lane_stride: int | AtomicType | NotifyOp | None = None, id: int | AtomicType | NotifyOp | None = None) -> None:
    """AIV to AIC: see `PushOp`."""

def tpush_to_aiv(tile: Value, split: int | AtomicType | NotifyOp, lane_stride: int | AtomicType | NotifyOp | None = None, id: int | AtomicType | NotifyOp | None = None) -> None:
    """AIC to AIV: see `PushOp`."""

def transpose(tile: Value, axis0: int | AtomicType | NotifyOp, axis1: int | AtomicType | NotifyOp, tmp: Value | None = None) -> Value:
    """Copies a tile with two axes swapped; `tmp` is scratch.

    A tensor with two axes swapped.
    """

def transpose_view(tile: Value) -> Value:
    """A tile seen with its last two axes swapped, without a copy."""

def tri(diagonal: Value | float, shape: Sequence[int], dtype: DataType, upper_or_lower: int | AtomicType | NotifyOp = 0) -> Value:
    """Ones on one side of the diagonal `col - row == diagonal`, zeros on the other."""

def wait(signal: Value, offsets: Sequence[Value | int], value: Value | float, cmp: str = 'eq') -> None:
    """Waits until a signal of this device fulfils a condition. Every core that needs what follows waits."""

def write(tile: Value, position: Sequence[Value | int], scalar: Value | float) -> Value:
    """The tile with one cell replaced by a scalar.

    Writes a scalar to one element of a tensor; the result names the same tensor afterwards.
    """

def xor(lhs: Value, rhs: Value, tmp: Value | None = None) -> Value:
    """A function of two cells that needs a scratch tile `tmp` of the element type of `lhs`."""

def xors(tile: Value, scalar: Value | float, tmp: Value | None = None) -> Value:
    """A function of every cell and a scalar that needs a scratch tile `tmp`."""

def min(lhs: Value | float, rhs: Value | float) -> Value:
    """The smaller of two scalars."""

def max(lhs: Value | float, rhs: Value | float) -> Value:
    """The larger of two scalars."""

class tensor:
    """The operations of `pl.tensor`."""

    @staticmethod
    def abs(tile: Value) -> Value:
        """A function of every element."""

    @staticmethod
    def add(lhs: Value, rhs: Value) -> Value:
        """A function of two elements, with NumPy broadcasting."""

    @staticmethod
    def addc(lhs: Value, rhs: Value, addend: Value) -> Value:
        """A function of three cells."""

    @staticmethod
    def adds(tile: Value, scalar: Value | float) -> Value:
        """A function of every element and one scalar."""

    @staticmethod
    def addsc(lhs: Value, scalar: Value | float, addend: Value) -> Value:
        """A function of two cells and a scalar."""

    @staticmethod
    def aic_gather(tile: Value, split: int | AtomicType | NotifyOp) -> Value:
        """A crossing written at tensor level, inside a `pl.split_aiv` region only."""

    @staticmethod
    def aiv_shard(tile: Value, split: int | AtomicType | NotifyOp) -> Value:
        """A crossing written at tensor level, inside a `pl.split_aiv` region only."""

    @staticmethod
    def and_(lhs: Value, rhs: Value) -> Value:
        """A function of two elements, with NumPy broadcasting."""

    @staticmethod
    def ands(tile: Value, scalar: Value | float) -> Value:
        """A function of every element and one scalar."""

    @staticmethod
    def assemble(target: Value, source: Value, offsets: Sequence[Value | int], atomic: int | AtomicType | NotifyOp | None = None) -> Value:
        """The target with the source written to the window at `offsets`; on an Out parameter this is the write."""

    @staticmethod
    def cast(tile: Value, target_type: DataType, mode: str = 'round') -> Value:
        """Converts every element to another type; `mode` says how it rounds."""

    @staticmethod
    def ci(start: Value | float, shape: Sequence[int], dtype: DataType, descending: bool = False) -> Value:
        """Counts from `start` along the last axis."""

    @staticmethod
    def col_argmax(tile: Value) -> Value:
        """Where the largest or smallest cell of every column is, as INT32 [1, N]; `tmp` is scratch, at least as large."""

    @staticmethod
    def col_argmin(tile: Value) -> Value:
        """Where the largest or smallest cell of every column is, as INT32 [1, N]; `tmp` is scratch, at least as large."""

    @staticmethod
    def col_expand(tile: Value, col_vector: Value) -> Value:
        """A function of every element and of the element of its column in a tensor [1, N]."""

    @staticmethod
    def col_expand_add(tile: Value, col_vector: Value) -> Value:
        """A function of every element and of the element of its column in a tensor [1, N]."""

    @staticmethod
    def col_expand_div(tile: Value, col_vector: Value) -> Value:
        """A function of every element and of the element of its column in a tensor [1, N]."""

    @staticmethod
    def col_expand_expdif(tile: Value, col_vector: Value) -> Value:
        """A function of every element and of the element of its column in a tensor [1, N]."""

    @staticmethod
    def col_expand_max(tile: Value, col_vector: Value) -> Value:
        """A function of every element and of the element of its column in a tensor [1, N]."""

    @staticmethod
    def col_expand_min(tile: Value, col_vector: Value) -> Value:
        """A function of every element and of the element of its column in a tensor [1, N]."""

    @staticmethod
    def col_expand_mul(tile: Value, col_vector: Value) -> Value:
        """A function of every element and of the element of its column in a tensor [1, N]."""

    @staticmethod
    def col_expand_sub(tile: Value, col_vector: Value) -> Value:
        """A function of every element and of the element of its column in a tensor [1, N]."""

    @staticmethod
    def col_max(tile: Value) -> Value:
        """Folds one axis to extent 1."""

    @staticmethod
    def col_min(tile: Value) -> Value:
        """Folds one axis to extent 1."""

    @staticmethod
    def col_prod(tile: Value) -> Value:
        """Folds one axis to extent 1."""

    @staticmethod
    def col_sum(tile: Value) -> Value:
        """Folds one axis to extent 1."""

    @staticmethod
    def concat(lhs: Value, rhs: Value) -> Value:
        """Two tensors of the same rows side by side."""

    @staticmethod
    def cos(tile: Value) -> Value:
        """A function of an angle in radians; FP32 only. Made of simpler ops by LowerCompositeOps."""

    @staticmethod
    def create(shape: Sequence[int], dtype: DataType, layout: TensorLayout = ..., manual_dep: bool | None = None) -> Value:
        """A tensor whose elements are undefined until something writes them."""

    @staticmethod
    def dim(source: Value, axis: int | AtomicType | NotifyOp) -> Value:
        """The extent of one axis of a tensor, in elements."""

    @staticmethod
    def div(lhs: Value, rhs: Value) -> Value:
        """A function of two elements, with NumPy broadcasting."""

    @staticmethod
    def divs(tile: Value, scalar: Value | float) -> Value:
        """A function of every element and one scalar."""

    @staticmethod
    def exp(tile: Value) -> Value:
        """A function of every element."""

    @staticmethod
    def expands(tile: Value, scalar: Value | float) -> Value:
        """A function of every element and one scalar."""

    @staticmethod
    def fillpad(tile: Value, pad_value: PadValue | float = ...) -> Value:
        """Fills the elements outside the valid extent."""

    @staticmethod
    def fmod(lhs: Value, rhs: Value) -> Value:
        """A function of two elements, with NumPy broadcasting."""

    @staticmethod
    def fmods(tile: Value, scalar: Value | float) -> Value:
        """A function of every element and one scalar."""

    @staticmethod
    def full(shape: Sequence[int], dtype: DataType, value: float) -> Value:
        """A tensor with the same value everywhere."""

    @staticmethod
    def log(tile: Value) -> Value:
        """A function of every element."""

    @staticmethod
    def lrelu(tile: Value, scalar: Value | float) -> Value:
        """A cell that is positive as it is, any other one times the scalar."""

    @staticmethod
    def matmul(lhs: Value, rhs: Value, out_dtype: DataType | None = None, a_trans: bool = False, b_trans: bool = False, c_matrix_nz: bool = False) -> Value:
        """The product of [M, K] and [K, N], or of their transposes; accumulates in FP32 (INT32 for integers)."""

    @staticmethod
    def matmul_acc(acc: Value, lhs: Value, rhs: Value, a_trans: bool = False, b_trans: bool = False) -> Value:
        """Adds a product to an accumulator of FP32 (floats) or INT32 (integers)."""

    @staticmethod
    def maximum(lhs: Value, rhs: Value) -> Value:
        """A function of two elements, with NumPy broadcasting."""

    @staticmethod
    def maximums(tile: Value, scalar: Value | float) -> Value:
        """A function of every element and one scalar."""

    @staticmethod
    def minimum(lhs: Value, rhs: Value) -> Value:
        """A function of two elements, with NumPy broadcasting."""

    @staticmethod
    def minimums(tile: Value, scalar: Value | float) -> Value:
        """A function of every element and one scalar."""

    @staticmethod
    def mul(lhs: Value, rhs: Value) -> Value:
        """A function of two elements, with NumPy broadcasting."""

    @staticmethod
    def muls(tile: Value, scalar: Value | float) -> Value:
        """A function of every element and one scalar."""

    @staticmethod
    def neg(tile: Value) -> Value:
        """A function of every element."""

    @staticmethod
    def not_(tile: Value) -> Value:
        """A function of every element."""

    @staticmethod
    def or_(lhs: Value, rhs: Value) -> Value:
        """A function of two elements, with NumPy broadcasting."""

    @staticmethod
    def ors(tile: Value, scalar: Value | float) -> Value:
        """A function of every element and one scalar."""

    @staticmethod
    def part_add(lhs: Value, rhs: Value) -> Value:
        """A function of two cells where both are valid; where only that of `lhs` is, that one."""

    @staticmethod
    def part_max(lhs: Value, rhs: Value) -> Value:
        """A function of two cells where both are valid; where only that of `lhs` is, that one."""

    @staticmethod
    def part_min(lhs: Value, rhs: Value) -> Value:
        """A function of two cells where both are valid; where only that of `lhs` is, that one."""

    @staticmethod
    def part_mul(lhs: Value, rhs: Value) -> Value:
        """A function of two cells where both are valid; where only that of `lhs` is, that one."""

    @staticmethod
    def prelu(tile: Value, slope: Value) -> Value:
        """A cell that is positive as it is, any other one times the cell of `slope`; `tmp` is scratch."""

    @staticmethod
    def read(source: Value, position: Sequence[Value | int]) -> Value:
        """One element of a tensor as a scalar."""

    @staticmethod
    def recip(tile: Value) -> Value:
        """A function of every element."""

    @staticmethod
    def reinterpret_view(tile: Value, dtype: DataType | None = None, shape: Sequence[int] | None = None) -> Value:
        """The same bytes under another element type; without `shape` the last axis scales."""

    @staticmethod
    def relu(tile: Value) -> Value:
        """A function of every element."""

    @staticmethod
    def rem(lhs: Value, rhs: Value) -> Value:
        """A function of two cells that needs a scratch tile `tmp` of the element type of `lhs`."""

    @staticmethod
    def rems(tile: Value, scalar: Value | float) -> Value:
        """The remainder of every cell by a scalar, with the sign of the scalar."""

    @staticmethod
    def reshape(tile: Value, shape: Sequence[int]) -> Value:
        """The same elements in row-major order under another shape."""

    @staticmethod
    def row_argmax(tile: Value) -> Value:
        """Folds one axis to extent 1."""

    @staticmethod
    def row_argmin(tile: Value) -> Value:
        """Folds one axis to extent 1."""

    @staticmethod
    def row_expand(tile: Value, row_vector: Value) -> Value:
        """A function of every element and of the element of its row in a tensor [M, 1]."""

    @staticmethod
    def row_expand_add(tile: Value, row_vector: Value) -> Value:
        """A function of every element and of the element of its row in a tensor [M, 1]."""

    @staticmethod
    def row_expand_div(tile: Value, row_vector: Value) -> Value:
        """A function of every element and of the element of its row in a tensor [M, 1]."""

    @staticmethod
    def row_expand_expdif(tile: Value, row_vector: Value) -> Value:
        """A function of every element and of the element of its row in a tensor [M, 1]."""

    @staticmethod
    def row_expand_max(tile: Value, row_vector: Value) -> Value:
        """A function of every element and of the element of its row in a tensor [M, 1]."""

    @staticmethod
    def row_expand_min(tile: Value, row_vector: Value) -> Value:
        """A function of every element and of the element of its row in a tensor [M, 1]."""

    @staticmethod
    def row_expand_mul(tile: Value, row_vector: Value) -> Value:
        """A function of every element and of the element of its row in a tensor [M, 1]."""

    @staticmethod
    def row_expand_sub(tile: Value, row_vector: Value) -> Value:
        """A function of every element and of the element of its row in a tensor [M, 1]."""

    @staticmethod
    def row_max(tile: Value) -> Value:
        """Folds one axis to extent 1."""

    @staticmethod
    def row_min(tile: Value) -> Value:
        """Folds one axis to extent 1."""

    @staticmethod
    def row_prod(tile: Value) -> Value:
        """Folds one axis to extent 1."""

    @staticmethod
    def row_sum(tile: Value) -> Value:
        """Folds one axis to extent 1."""

    @staticmethod
    def rsqrt(tile: Value) -> Value:
        """A function of every element."""

    @staticmethod
    def set_validshape(tile: Value, rows: Value | int, columns: Value | int) -> Value:
        """States how many rows and columns of a tensor are valid."""

    @staticmethod
    def shl(lhs: Value, rhs: Value) -> Value:
        """A function of two elements, with NumPy broadcasting."""

    @staticmethod
    def shls(tile: Value, scalar: Value | float) -> Value:
        """A function of every element and one scalar."""

    @staticmethod
    def shr(lhs: Value, rhs: Value) -> Value:
        """A function of two elements, with NumPy broadcasting."""

    @staticmethod
    def shrs(tile: Value, scalar: Value | float) -> Value:
        """A function of every element and one scalar."""

    @staticmethod
    def sin(tile: Value) -> Value:
        """A function of an angle in radians; FP32 only. Made of simpler ops by LowerCompositeOps."""

    @staticmethod
    def slice(source: Value, window: Sequence[int], offsets: Sequence[Value | int], valid: Sequence[Value | int | None] | None = None, drop_dims: Sequence[int] | None = None) -> Value:
        """The window of a tensor at `offsets`; `drop_dims` lists unit axes that disappear."""

    @staticmethod
    def sqrt(tile: Value) -> Value:
        """A function of every element."""

    @staticmethod
    def sub(lhs: Value, rhs: Value) -> Value:
        """A function of two elements, with NumPy broadcasting."""

    @staticmethod
    def subc(lhs: Value, rhs: Value, addend: Value) -> Value:
        """A function of three cells."""

    @staticmethod
    def subs(tile: Value, scalar: Value | float) -> Value:
        """A function of every element and one scalar."""

    @staticmethod
    def subsc(lhs: Value, scalar: Value | float, addend: Value) -> Value:
        """A function of two cells and a scalar."""

    @staticmethod
    def transpose(tile: Value, axis0: int | AtomicType | NotifyOp, axis1: int | AtomicType | NotifyOp) -> Value:
        """A tensor with two axes swapped."""

    @staticmethod
    def write(target: Value, position: Sequence[Value | int], scalar: Value | float) -> Value:
        """Writes a scalar to one element of a tensor; the result names the same tensor afterwards."""

    @staticmethod
    def xor(lhs: Value, rhs: Value) -> Value:
        """A function of two cells that needs a scratch tile `tmp` of the element type of `lhs`."""

    @staticmethod
    def xors(tile: Value, scalar: Value | float) -> Value:
        """A function of every cell and a scalar that needs a scratch tile `tmp`."""

class tile:
    """The operations of `pl.tile`."""

    @staticmethod
    def abs(tile: Value) -> Value:
        """A function of every cell; shape, element type, valid extent and layout are those of the operand."""

    @staticmethod
    def add(lhs: Value, rhs: Value) -> Value:
        """A function of two cells; extent-1 axes broadcast, layout and valid extent follow the first operand."""

    @staticmethod
    def addc(lhs: Value, rhs: Value, addend: Value) -> Value:
        """A function of three cells."""

    @staticmethod
    def adds(tile: Value, scalar: Value | float) -> Value:
        """A function of every cell and one scalar; the element type stays that of the tile."""

    @staticmethod
    def addsc(lhs: Value, scalar: Value | float, addend: Value) -> Value:
        """A function of two cells and a scalar."""

    @staticmethod
    def aic_gather(tile: Value, split: int | AtomicType | NotifyOp) -> Value:
        """Joins the parts of the two lanes to the tile the cube expects: `split` 1 rows, 2 columns, 0 the whole tile."""

    @staticmethod
    def aiv_shard(tile: Value, split: int | AtomicType | NotifyOp, lane_stride: int | AtomicType | NotifyOp | None = None) -> Value:
        """Hands each lane its part of a cube tile: `split` 1 rows, 2 columns, 0 the whole tile.

        Both lanes get the box of the larger half. Lane i starts at cell `i * lane_stride` of the split axis
        (default: the box) and its valid extent there is `min(max(V, i*S) - i*S, S)` of the operand's extent V.
        """

    @staticmethod
    def and_(lhs: Value, rhs: Value) -> Value:
        """A function of two cells; extent-1 axes broadcast, layout and valid extent follow the first operand."""

    @staticmethod
    def ands(tile: Value, scalar: Value | float) -> Value:
        """A function of every cell and one scalar; the element type stays that of the tile."""

    @staticmethod
    def assemble(target: Value, source: Value, offsets: Sequence[Value | int]) -> Value:
        """The target tile with the source written into the window at `offsets`."""

    @staticmethod
    def batch_matmul(lhs: Value, rhs: Value) -> Value:
        """The products of two batches of matrices; the leading axes broadcast. One product each, written out."""

    @staticmethod
    def batch_matmul_acc(acc: Value, lhs: Value, rhs: Value, init_cond: Value | float | None = None) -> Value:
        """Adds the products of two batches to a batch of accumulators, in place; `init_cond` true overwrites instead."""

    @staticmethod
    def cast(tile: Value, target_type: DataType, mode: str = 'round') -> Value:
        """Converts every cell to another element type; `mode` says how it rounds (spec/front.md 2.3)."""

    @staticmethod
    def ci(start: Value | float, shape: Sequence[int], dtype: DataType, descending: bool = False) -> Value:
        """Counts from `start` along the row-major cells of the tile (upwards, or downwards with `descending`)."""

    @staticmethod
    def cmp(lhs: Value, rhs: Value, cmp_type: int | AtomicType | NotifyOp = 0) -> Value:
        """Compares two tiles cell by cell into a bit mask of UINT8, eight columns a byte (spec/front.md 2.3)."""

    @staticmethod
    def cmps(tile: Value, scalar: Value | float, cmp_type: int | AtomicType | NotifyOp = 0) -> Value:
        """Compares every cell with a scalar into a bit mask."""

    @staticmethod
    def col_argmax(tile: Value, tmp: Value) -> Value:
        """Where the largest or smallest cell of every column is, as INT32 [1, N]; `tmp` is scratch, at least as large."""

    @staticmethod
    def col_argmin(tile: Value, tmp: Value) -> Value:
        """Where the largest or smallest cell of every column is, as INT32 [1, N]; `tmp` is scratch, at least as large."""

    @staticmethod
    def col_expand(tile: Value, col_vector: Value) -> Value:
        """A function of every cell and of the cell of its column in a row vector [1, N]."""

    @staticmethod
    def col_expand_add(tile: Value, col_vector: Value) -> Value:
        """A function of every cell and of the cell of its column in a row vector [1, N]."""

    @staticmethod
    def col_expand_div(tile: Value, col_vector: Value) -> Value:
        """A function of every cell and of the cell of its column in a row vector [1, N]."""

    @staticmethod
    def col_expand_expdif(tile: Value, col_vector: Value) -> Value:
        """A function of every cell and of the cell of its column in a row vector [1, N]."""

    @staticmethod
    def col_expand_max(tile: Value, col_vector: Value) -> Value:
        """A function of every cell and of the cell of its column in a row vector [1, N]."""

    @staticmethod
    def col_expand_min(tile: Value, col_vector: Value) -> Value:
        """A function of every cell and of the cell of its column in a row vector [1, N]."""

    @staticmethod
    def col_expand_mul(tile: Value, col_vector: Value) -> Value:
        """A function of every cell and of the cell of its column in a row vector [1, N]."""

    @staticmethod
    def col_expand_sub(tile: Value, col_vector: Value) -> Value:
        """A function of every cell and of the cell of its column in a row vector [1, N]."""

    @staticmethod
    def col_max(tile: Value) -> Value:
        """Folds axis 0; the result is one row."""

    @staticmethod
    def col_min(tile: Value) -> Value:
        """Folds axis 0; the result is one row."""

    @staticmethod
    def col_prod(tile: Value) -> Value:
        """Folds axis 0; the result is one row."""

    @staticmethod
    def col_sum(tile: Value, tmp: Value | None = None) -> Value:
        """Folds axis 0; the result is one row."""

    @staticmethod
    def concat(lhs: Value, rhs: Value) -> Value:
        """Two tiles of the same rows side by side."""

    @staticmethod
    def cos(tile: Value) -> Value:
        """A function of an angle in radians; FP32 only. Made of simpler ops by LowerCompositeOps."""

    @staticmethod
    def create(shape: Sequence[int], dtype: DataType, target_memory: MemorySpace = ...) -> Value:
        """A tile whose cells are undefined until something writes them."""

    @staticmethod
    def div(lhs: Value, rhs: Value, high_precision: bool | None = None) -> Value:
        """Divides two tiles of the same shape, valid extent and element type (I16, I32, FP16 or FP32)."""

    @staticmethod
    def divs(tile: Value, scalar: Value | float) -> Value:
        """A function of every cell and one scalar; the element type stays that of the tile."""

    @staticmethod
    def exp(tile: Value) -> Value:
        """A function of every cell; shape, element type, valid extent and layout are those of the operand."""

    @staticmethod
    def expands(tile: Value, scalar: Value | float) -> Value:
        """A function of every cell and one scalar; the element type stays that of the tile."""

    @staticmethod
    def extract(tile: Value, row: Value | int, column: Value | int, shape: Sequence[int], target_memory: MemorySpace) -> Value:
        """Copies a window of a tile into another memory space."""

    @staticmethod
    def fillpad(tile: Value, pad_value: PadValue | float = ...) -> Value:
        """Fills the cells outside the valid extent with zero, or the largest or smallest value."""

    @staticmethod
    def fillpad_expand(tile: Value, shape: Sequence[int], pad_value: PadValue | float = ...) -> Value:
        """A larger tile: the valid cells of the operand, the others filled."""

    @staticmethod
    def fillpad_inplace(tile: Value, pad_value: PadValue | float = ...) -> Value:
        """Fills the cells outside the valid extent of a tile in its own buffer."""

    @staticmethod
    def fmod(lhs: Value, rhs: Value) -> Value:
        """A function of two cells; extent-1 axes broadcast, layout and valid extent follow the first operand."""

    @staticmethod
    def fmods(tile: Value, scalar: Value | float) -> Value:
        """A function of every cell and one scalar; the element type stays that of the tile."""

    @staticmethod
    def full(shape: Sequence[int], dtype: DataType, value: float) -> Value:
        """A tile in the vector buffer with the same value in every cell."""

    @staticmethod
    def gather(src: Value, indices: Value, tmp: Value | None = None) -> Value:
        """The cells of `src` at `indices`, which count its cells row by row; `tmp` is scratch."""

    @staticmethod
    def gather_mask(src: Value, mask_pattern: int | AtomicType | NotifyOp, output_dtype: DataType | None = None) -> Value:
        """Every second or fourth column, from the first or a later one; `output_dtype` reads their bits anew.

        `mask_pattern`: 1 P0101 (columns 0, 2, ..), 2 P1010, 3 P0001, 4 P0010, 5 P0100, 6 P1000, 7 P1111.
        """

    @staticmethod
    def gather_row(target: Value, source: Value, offsets: Sequence[Value | int], source_offsets: Sequence[Value | int], sizes: Sequence[Value | int]) -> Value:
        """The target tile with a window of a tensor, at `source_offsets`, copied to its cells at `offsets`."""

    @staticmethod
    def gemv(lhs: Value, rhs: Value) -> Value:
        """The product of a row [1, K] and a tile [K, N]; the accumulator has 16 rows, one of them valid."""

    @staticmethod
    def gemv_acc(acc: Value, lhs: Value, rhs: Value) -> Value:
        """Adds the product of a row to an accumulator with one valid row, in place."""

    @staticmethod
    def gemv_bias(lhs: Value, rhs: Value, bias: Value) -> Value:
        """The product of a row plus a bias row [1, N] of the accumulator's element type."""

    @staticmethod
    def get_block_idx() -> Value:
        """The number of this core group."""

    @staticmethod
    def get_block_num() -> Value:
        """How many core groups run the kernel."""

    @staticmethod
    def get_subblock_idx() -> Value:
        """The lane this program runs on: 0 or 1."""

    @staticmethod
    def load(source: Value, offsets: Sequence[Value | int], shapes: Sequence[int], valid: Sequence[Value | int | None] | None = None, target_memory: MemorySpace = ..., clamp: bool | None = None) -> Value:
        """Copies a window of a tensor in global memory to a tile in the vector buffer or in L1.

        `offsets` and the window are in elements; cells of the window outside `valid` are undefined.
        """

    @staticmethod
    def log(tile: Value, high_precision: bool | None = None) -> Value:
        """A function of every cell; shape, element type, valid extent and layout are those of the operand."""

    @staticmethod
    def lrelu(tile: Value, scalar: Value | float) -> Value:
        """A cell that is positive as it is, any other one times the scalar."""

    @staticmethod
    def matmul(lhs: Value, rhs: Value) -> Value:
        """The product of a left tile [M, K] and a right tile [K, N]."""

    @staticmethod
    def matmul_acc(acc: Value, lhs: Value, rhs: Value, init_cond: Value | float | None = None) -> Value:
        """Adds a product to an accumulator tile, in place; `init_cond` true overwrites instead."""

    @staticmethod
    def matmul_bias(lhs: Value, rhs: Value, bias: Value) -> Value:
        """A product plus a bias row [1, N] of the accumulator's element type."""

    @staticmethod
    def maximum(lhs: Value, rhs: Value) -> Value:
        """A function of two cells; extent-1 axes broadcast, layout and valid extent follow the first operand."""

    @staticmethod
    def maximums(tile: Value, scalar: Value | float) -> Value:
        """A function of every cell and one scalar; the element type stays that of the tile."""

    @staticmethod
    def minimum(lhs: Value, rhs: Value) -> Value:
        """A function of two cells; extent-1 axes broadcast, layout and valid extent follow the first operand."""

    @staticmethod
    def minimums(tile: Value, scalar: Value | float) -> Value:
        """A function of every cell and one scalar; the element type stays that of the tile."""

    @staticmethod
    def move(tile: Value, target_memory: MemorySpace, blayout: TileLayout | None = None, slayout: TileLayout | None = None) -> Value:
        """Copies a tile to another memory space or layout; between the cores it is a boundary."""

    @staticmethod
    def mrgsort_format1(src: Value, block_len: int | AtomicType | NotifyOp) -> Value:
        """Merges every four sorted runs of `block_len` cells (two a record) of a row into one run."""

    @staticmethod
    def mrgsort_format2(src0: Value, src1: Value, src2: Value | None = None, src3: Value | None = None) -> Value:
        """Merges two to four sorted tiles, row by row, into one."""

    @staticmethod
    def mul(lhs: Value, rhs: Value) -> Value:
        """A function of two cells; extent-1 axes broadcast, layout and valid extent follow the first operand."""

    @staticmethod
    def muls(tile: Value, scalar: Value | float) -> Value:
        """A function of every cell and one scalar; the element type stays that of the tile."""

    @staticmethod
    def neg(tile: Value) -> Value:
        """A function of every cell; shape, element type, valid extent and layout are those of the operand."""

    @staticmethod
    def not_(tile: Value) -> Value:
        """A function of every cell; shape, element type, valid extent and layout are those of the operand."""

    @staticmethod
    def or_(lhs: Value, rhs: Value) -> Value:
        """A function of two cells; extent-1 axes broadcast, layout and valid extent follow the first operand."""

    @staticmethod
    def ors(tile: Value, scalar: Value | float) -> Value:
        """A function of every cell and one scalar; the element type stays that of the tile."""

    @staticmethod
    def part_add(lhs: Value, rhs: Value) -> Value:
        """A function of two cells where both are valid; where only that of `lhs` is, that one."""

    @staticmethod
    def part_max(lhs: Value, rhs: Value) -> Value:
        """A function of two cells where both are valid; where only that of `lhs` is, that one."""

    @staticmethod
    def part_min(lhs: Value, rhs: Value) -> Value:
        """A function of two cells where both are valid; where only that of `lhs` is, that one."""

    @staticmethod
    def part_mul(lhs: Value, rhs: Value) -> Value:
        """A function of two cells where both are valid; where only that of `lhs` is, that one."""

    @staticmethod
    def prelu(tile: Value, slope: Value, tmp: Value) -> Value:
        """A cell that is positive as it is, any other one times the cell of `slope`; `tmp` is scratch."""

    @staticmethod
    def random(key0: Value | float, key1: Value | float, counter0: Value | float, counter1: Value | float, counter2: Value | float, counter3: Value | float, shape: Sequence[int], dtype: DataType, rounds: int | AtomicType | NotifyOp | None = None) -> Value:
        """Pseudo-random words from a two-word key and a four-word counter; every cell has its own."""

    @staticmethod
    def read(tile: Value, position: Sequence[Value | int]) -> Value:
        """One cell of a tile as a scalar."""

    @staticmethod
    def recip(tile: Value, high_precision: bool | None = None) -> Value:
        """A function of every cell; shape, element type, valid extent and layout are those of the operand."""

    @staticmethod
    def reinterpret_view(tile: Value, dtype: DataType | None = None, shape: Sequence[int] | None = None) -> Value:
        """The same bytes under another element type; without `shape` the contiguous axis scales."""

    @staticmethod
    def relu(tile: Value) -> Value:
        """A function of every cell; shape, element type, valid extent and layout are those of the operand."""

    @staticmethod
    def rem(lhs: Value, rhs: Value, tmp: Value) -> Value:
        """A function of two cells that needs a scratch tile `tmp` of the element type of `lhs`."""

    @staticmethod
    def rems(tile: Value, scalar: Value | float) -> Value:
        """The remainder of every cell by a scalar, with the sign of the scalar."""

    @staticmethod
    def reshape(tile: Value, shape: Sequence[int]) -> Value:
        """The same elements in row-major order under another shape."""

    @staticmethod
    def row_argmax(tile: Value, tmp: Value) -> Value:
        """Folds the last axis; `tmp` is scratch memory of the same element type, at least as large."""

    @staticmethod
    def row_argmin(tile: Value, tmp: Value) -> Value:
        """Folds the last axis; `tmp` is scratch memory of the same element type, at least as large."""

    @staticmethod
    def row_expand(tile: Value, row_vector: Value) -> Value:
        """A function of every cell and of the cell of its row in a column vector [M, 1]."""

    @staticmethod
    def row_expand_add(tile: Value, row_vector: Value, tmp: Value | None = None) -> Value:
        """A function of every cell and of the cell of its row in a column vector [M, 1]."""

    @staticmethod
    def row_expand_div(tile: Value, row_vector: Value) -> Value:
        """A function of every cell and of the cell of its row in a column vector [M, 1]."""

    @staticmethod
    def row_expand_expdif(tile: Value, row_vector: Value) -> Value:
        """A function of every cell and of the cell of its row in a column vector [M, 1]."""

    @staticmethod
    def row_expand_max(tile: Value, row_vector: Value) -> Value:
        """A function of every cell and of the cell of its row in a column vector [M, 1]."""

    @staticmethod
    def row_expand_min(tile: Value, row_vector: Value) -> Value:
        """A function of every cell and of the cell of its row in a column vector [M, 1]."""

    @staticmethod
    def row_expand_mul(tile: Value, row_vector: Value) -> Value:
        """A function of every cell and of the cell of its row in a column vector [M, 1]."""

    @staticmethod
    def row_expand_sub(tile: Value, row_vector: Value) -> Value:
        """A function of every cell and of the cell of its row in a column vector [M, 1]."""

    @staticmethod
    def row_max(tile: Value, tmp: Value) -> Value:
        """Folds the last axis; `tmp` is scratch memory of the same element type, at least as large."""

    @staticmethod
    def row_min(tile: Value, tmp: Value) -> Value:
        """Folds the last axis; `tmp` is scratch memory of the same element type, at least as large."""

    @staticmethod
    def row_prod(tile: Value, tmp: Value) -> Value:
        """Folds the last axis; `tmp` is scratch memory of the same element type, at least as large."""

    @staticmethod
    def row_sum(tile: Value, tmp: Value) -> Value:
        """Folds the last axis; `tmp` is scratch memory of the same element type, at least as large."""

    @staticmethod
    def rsqrt(tile: Value, tmp: Value | None = None, high_precision: bool | None = None) -> Value:
        """A function of every cell; shape, element type, valid extent and layout are those of the operand."""

    @staticmethod
    def sel(mask: Value, lhs: Value, rhs: Value, tmp: Value) -> Value:
        """Takes the cell of `lhs` where the mask bit is set, else that of `rhs`; `tmp` is scratch."""

    @staticmethod
    def sels(mask: Value, tile: Value, tmp: Value, scalar: Value | float) -> Value:
        """Takes the cell of `tile` where the mask bit is set, else the scalar; `tmp` is scratch."""

    @staticmethod
    def set_validshape(tile: Value, rows: Value | int, columns: Value | int) -> Value:
        """States how many rows and columns of a tile are valid."""

    @staticmethod
    def shl(lhs: Value, rhs: Value) -> Value:
        """A function of two cells; extent-1 axes broadcast, layout and valid extent follow the first operand."""

    @staticmethod
    def shls(tile: Value, scalar: Value | float) -> Value:
        """A function of every cell and one scalar; the element type stays that of the tile."""

    @staticmethod
    def shr(lhs: Value, rhs: Value) -> Value:
        """A function of two cells; extent-1 axes broadcast, layout and valid extent follow the first operand."""

    @staticmethod
    def shrs(tile: Value, scalar: Value | float) -> Value:
        """A function of every cell and one scalar; the element type stays that of the tile."""

    @staticmethod
    def sin(tile: Value) -> Value:
        """A function of an angle in radians; FP32 only. Made of simpler ops by LowerCompositeOps."""

    @staticmethod
    def slice(tile: Value, shape: Sequence[int], offsets: Sequence[Value | int], valid: Sequence[Value | int | None] | None = None) -> Value:
        """The window of a tile at `offsets` (elements of the source)."""

    @staticmethod
    def sort32(src: Value, idx: Value) -> Value:
        """Sorts every 32 cells of a row, with the indices that `idx` gives them, into records (descending, stable)."""

    @staticmethod
    def sqrt(tile: Value) -> Value:
        """A function of every cell; shape, element type, valid extent and layout are those of the operand."""

    @staticmethod
    def store(tile: Value, offsets: Sequence[Value | int], target: Value, shapes: Sequence[Value | int | None] | None = None, atomic: int | AtomicType | NotifyOp | None = None) -> Value:
        """Writes the valid part of a tile to a window of a tensor; the result names the same tensor afterwards.

        `atomic` 1 adds to what is there. `shapes` (optional) is the window of a tensor of higher rank.
        """

    @staticmethod
    def sub(lhs: Value, rhs: Value) -> Value:
        """A function of two cells; extent-1 axes broadcast, layout and valid extent follow the first operand."""

    @staticmethod
    def subc(lhs: Value, rhs: Value, addend: Value) -> Value:
        """A function of three cells."""

    @staticmethod
    def subs(tile: Value, scalar: Value | float) -> Value:
        """A function of every cell and one scalar; the element type stays that of the tile."""

    @staticmethod
    def subsc(lhs: Value, scalar: Value | float, addend: Value) -> Value:
        """A function of two cells and a scalar."""

    @staticmethod
    def tpop_from_aic(split: int | AtomicType | NotifyOp, lane_stride: int | AtomicType | NotifyOp | None = None, id: int | AtomicType | NotifyOp | None = None, valid: Sequence[Value | int | None] | None = None) -> Value:
        """On a lane: see `PopOp`."""

    @staticmethod
    def tpop_from_aiv(split: int | AtomicType | NotifyOp, lane_stride: int | AtomicType | NotifyOp | None = None, id: int | AtomicType | NotifyOp | None = None, valid: Sequence[Value | int | None] | None = None) -> Value:
        """On the cube: see `PopOp`."""

    @staticmethod
    def tpush_to_aic(tile: Value, split: int | AtomicType | NotifyOp, lane_stride: int | AtomicType | NotifyOp | None = None, id: int | AtomicType | NotifyOp | None = None) -> None:
        """AIV to AIC: see `PushOp`."""

    @staticmethod
    def tpush_to_aiv(tile: Value, split: int | AtomicType | NotifyOp, lane_stride: int | AtomicType | NotifyOp | None = None, id: int | AtomicType | NotifyOp | None = None) -> None:
        """AIC to AIV: see `PushOp`."""

    @staticmethod
    def transpose(tile: Value, axis0: int | AtomicType | NotifyOp, axis1: int | AtomicType | NotifyOp, tmp: Value | None = None) -> Value:
        """Copies a tile with two axes swapped; `tmp` is scratch."""

    @staticmethod
    def transpose_view(tile: Value) -> Value:
        """A tile seen with its last two axes swapped, without a copy."""

    @staticmethod
    def tri(diagonal: Value | float, shape: Sequence[int], dtype: DataType, upper_or_lower: int | AtomicType | NotifyOp = 0) -> Value:
        """Ones on one side of the diagonal `col - row == diagonal`, zeros on the other."""

    @staticmethod
    def write(tile: Value, position: Sequence[Value | int], scalar: Value | float) -> Value:
        """The tile with one cell replaced by a scalar."""

    @staticmethod
    def xor(lhs: Value, rhs: Value, tmp: Value) -> Value:
        """A function of two cells that needs a scratch tile `tmp` of the element type of `lhs`."""

    @staticmethod
    def xors(tile: Value, scalar: Value | float, tmp: Value) -> Value:
        """A function of every cell and a scalar that needs a scratch tile `tmp`."""

class system:
    """The operations of `pl.system`."""

    @staticmethod
    def aic_initialize_pipe(c2v_buffer: Value | float, v2c_buffer: Value | float, dir_mask: int | AtomicType | NotifyOp, slot_size: int | AtomicType | NotifyOp, slot_num: int | AtomicType | NotifyOp | None = None, local_slot_num: int | AtomicType | NotifyOp | None = None, id: int | AtomicType | NotifyOp | None = None) -> None:
        """The cube's side of the rings."""

    @staticmethod
    def aiv_initialize_pipe(c2v_buffer: Value | float, v2c_buffer: Value | float, dir_mask: int | AtomicType | NotifyOp, slot_size: int | AtomicType | NotifyOp, slot_num: int | AtomicType | NotifyOp | None = None, local_slot_num: int | AtomicType | NotifyOp | None = None, id: int | AtomicType | NotifyOp | None = None) -> None:
        """A lane's side of the rings."""

    @staticmethod
    def bar_all() -> None:
        """Waits for all pipes of the core."""

    @staticmethod
    def bar_m() -> None:
        """Waits for the matrix pipe of the cube."""

    @staticmethod
    def bar_v() -> None:
        """Waits for the vector pipe of a lane."""

    @staticmethod
    def defer_wait(signal: Value, offsets: Sequence[Value | int], value: Value | float, cmp: str = 'eq') -> None:
        """Registers a condition that the next kernel waits for; stands in functions that do nothing else."""

    @staticmethod
    def fence() -> None:
        """Orders what the core does with global memory."""

    @staticmethod
    def import_peer_buffer(name: str, peer_func: str) -> Value:
        """The address of a ring that the peer function reserved."""

    @staticmethod
    def notify(target: Value, peer: Value | float, offsets: Sequence[Value | int], value: Value | float, op: int | AtomicType | NotifyOp = 1) -> None:
        """Sets the peer's copy of a signal to `value` (`op` 1), or adds `value` to it (`op` 0)."""

    @staticmethod
    def reserve_buffer(name: str, size: int | AtomicType | NotifyOp, base: int | AtomicType | NotifyOp = -1) -> Value:
        """Bytes for a ring in the consumer's memory; `base` -1 lets the allocator choose the address."""

    @staticmethod
    def tfree_to_aic(tile: Value, split: int | AtomicType | NotifyOp | None = None, id: int | AtomicType | NotifyOp | None = None) -> None:
        """A lane frees a slot of the ring from the cube."""

    @staticmethod
    def tfree_to_aiv(tile: Value, split: int | AtomicType | NotifyOp | None = None, id: int | AtomicType | NotifyOp | None = None) -> None:
        """The cube frees a slot of the ring from the lanes."""

    @staticmethod
    def wait(signal: Value, offsets: Sequence[Value | int], value: Value | float, cmp: str = 'eq') -> None:
        """Waits until a signal of this device fulfils a condition. Every core that needs what follows waits."""
