"""The tensor level: operations on tensors in global memory, as users write them inside `pl.at` (spec/front.md 2).

Elementwise ops come from the tables of the tile level, so a formula is written once. What an op becomes on chip is
its `TileForm`, or a pattern of the pass that lowers tensors to tiles where more than a rename is needed.
"""

from xdsl.ir import Dialect

from cubelane.ir.gm.base import TensorOp as TensorOp
from cubelane.ir.gm.base import tensor as tensor
from cubelane.ir.gm.elementwise import TABLE_OPS as TABLE_OPS
from cubelane.ir.gm.elementwise import BinaryTensorOp as BinaryTensorOp
from cubelane.ir.gm.elementwise import CastOp as CastOp
from cubelane.ir.gm.elementwise import ColExpandTensorOp as ColExpandTensorOp
from cubelane.ir.gm.elementwise import ExpandTensorOp as ExpandTensorOp
from cubelane.ir.gm.elementwise import ReduceTensorOp as ReduceTensorOp
from cubelane.ir.gm.elementwise import RowExpandTensorOp as RowExpandTensorOp
from cubelane.ir.gm.elementwise import ScalarTensorOp as ScalarTensorOp
from cubelane.ir.gm.elementwise import UnaryTensorOp as UnaryTensorOp
from cubelane.ir.gm.extended import EXTENDED_OPS as EXTENDED_OPS
from cubelane.ir.gm.matrix import MatmulAccOp as MatmulAccOp
from cubelane.ir.gm.matrix import MatmulOp as MatmulOp
from cubelane.ir.gm.memory import AssembleOp as AssembleOp
from cubelane.ir.gm.memory import BoundaryTensorOp as BoundaryTensorOp
from cubelane.ir.gm.memory import ConcatOp as ConcatOp
from cubelane.ir.gm.memory import CreateOp as CreateOp
from cubelane.ir.gm.memory import DimOp as DimOp
from cubelane.ir.gm.memory import FillPadOp as FillPadOp
from cubelane.ir.gm.memory import FullOp as FullOp
from cubelane.ir.gm.memory import GatherOp as GatherOp
from cubelane.ir.gm.memory import ReadOp as ReadOp
from cubelane.ir.gm.memory import ReshapeOp as ReshapeOp
from cubelane.ir.gm.memory import SequenceOp as SequenceOp
from cubelane.ir.gm.memory import SetValidShapeOp as SetValidShapeOp
from cubelane.ir.gm.memory import ShardOp as ShardOp
from cubelane.ir.gm.memory import SliceOp as SliceOp
from cubelane.ir.gm.memory import TransposeOp as TransposeOp
from cubelane.ir.gm.memory import WriteOp as WriteOp
from cubelane.ir.types import TensorType

GM_OPS: tuple[type[TensorOp], ...] = (
    *TABLE_OPS.values(),
    *EXTENDED_OPS,
    CastOp,
    MatmulOp,
    MatmulAccOp,
    CreateOp,
    FullOp,
    SequenceOp,
    SliceOp,
    AssembleOp,
    ReadOp,
    WriteOp,
    DimOp,
    ReshapeOp,
    TransposeOp,
    ConcatOp,
    FillPadOp,
    SetValidShapeOp,
    ShardOp,
    GatherOp,
)


Gm = Dialect("gm", list(GM_OPS), [TensorType])
