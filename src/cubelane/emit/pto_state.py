"""What is known while a function of one core becomes PTO IR: handles of tiles, views of tensors, scalars, extents."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import FloatAttr, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from cubelane.analysis.tensor_handles import TensorHandles
from cubelane.emit.pto_builder import INDEX, Builder, Index
from cubelane.emit.pto_extents import ExtentRules
from cubelane.emit.pto_types import element, tensor_view, tile_buf
from cubelane.ir.diagnostic import Diagnostic, refuse
from cubelane.ir.gm.memory import ReshapeOp
from cubelane.ir.pto.attrs import LayoutAttr
from cubelane.ir.surface import SurfaceOp, constant_of
from cubelane.ir.types import DYNAMIC, TensorLayout, TensorType, TileType

CODE = "no-pto"


def no_form(op: Operation, what: str, *notes: str, instead: str | None = None) -> Diagnostic:
    """A refusal: the op cannot be written in PTO IR."""
    return refuse(op, f"{what} has no form in PTO IR", *notes, instead=instead, code=CODE)


@dataclass
class Tensor:
    """A tensor in global memory: where it begins, its extents, and its view once somebody needs it."""

    pointer: SSAValue
    kind: TensorType
    dims: tuple[Index, ...]
    name: str
    view: SSAValue | None = None

    @property
    def by_columns(self) -> bool:
        """Whether the last axis but one is the contiguous one."""
        return self.kind.data.layout is TensorLayout.DN or (len(self.dims) > 1 and self.dims[-1] == 1)


@dataclass
class State:
    """One function on its way."""

    function: FuncOp
    builder: Builder
    symbols: dict[str, SSAValue]
    hidden: dict[str, SSAValue] = field(default_factory=dict[str, SSAValue])
    scalars: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    handles: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    tensors: dict[SSAValue, Tensor] = field(default_factory=dict[SSAValue, Tensor])
    shared: set[SSAValue] = field(default_factory=set[SSAValue])
    """Handles that stand for several tiles: their extents may not change."""
    workspace: SSAValue | None = None
    """The pointer to the rings in global memory."""

    def __post_init__(self) -> None:
        self.extents = ExtentRules(self.builder, self.index)
        self.names = TensorHandles(self.function.body.block)

    # --- scalars ---------------------------------------------------------------------------------------------

    def index(self, value: SSAValue) -> Index:
        """An index as a number, where it is one."""
        number = constant_of(value)
        return self.scalars[value] if number is None else number

    def scalar(self, value: SSAValue) -> SSAValue:
        """A scalar operand."""
        owner = value.owner
        if isinstance(owner, ConstantOp):
            literal = owner.value
            number = literal.value.data if isinstance(literal, FloatAttr) else constant_of(value)
            if number is not None:
                return self.builder.constant(number, value.type)
        return self.scalars[value]

    def offset(self, value: SSAValue) -> Index:
        """A place in global memory; one that only the run knows is kept from going below zero."""
        at = self.index(value)
        return at if isinstance(at, int) else self.builder.most(at, 0)

    def values(self, indices: Sequence[Index]) -> list[SSAValue]:
        """Indices as operands."""
        return [self.builder.value(i) for i in indices]

    # --- tiles -----------------------------------------------------------------------------------------------

    def define(self, op: SurfaceOp) -> SSAValue:
        """A new handle for the result of an op."""
        self.extents.define(op)
        return self.allocate(op.results[0], op)

    def allocate(self, value: SSAValue, op: Operation) -> SSAValue:
        """A handle for a tile at its address."""
        kind = value.type
        assert isinstance(kind, TileType)
        if kind.address is None:
            raise no_form(op, f"`{value.name_hint or 'a tile'}` without an address", "run allocate-memory-addr first")
        rows, columns = self.values(self.extents.rows_and_columns(value))
        clauses = [
            ("addr", [self.builder.constant(kind.address, i64)]),
            ("valid_row", [rows]),
            ("valid_col", [columns]),
        ]
        (handle,) = self.builder.emit(
            "alloc_tile", results=[tile_buf(kind)], clauses=clauses, hint=value.name_hint or "t"
        )
        self.handles[value] = handle
        return handle

    def show(self, value: SSAValue, source: SSAValue, op: Operation) -> SSAValue:
        """A handle for a view of a tile: one more at the address, or the handle of the tile with another type."""
        kind = value.type
        assert isinstance(kind, TileType)
        if kind.address is not None:
            return self.allocate(value, op)
        extents = self.extents.rows_and_columns(value)
        known = [e for e in extents if isinstance(e, int)]
        handle = self.reshaped(self.handles[source], kind, known if len(known) == 2 else None, value.name_hint)
        if len(known) < 2:
            self.set_extents(handle, extents)
        self.handles[value] = handle
        return handle

    def reshaped(self, handle: SSAValue, kind: TileType, valid: Sequence[int] | None, name: str | None) -> SSAValue:
        """The tile of a handle under another type."""
        return self.builder.emit("treshape", [handle], [tile_buf(kind, valid)], hint=name)[0]

    def set_extents(self, handle: SSAValue, extents: Sequence[Index]) -> None:
        """Changes the valid extents that a handle states."""
        self.builder.emit("set_validshape", [handle, *self.values(extents)])

    def bind(self, value: SSAValue, source: SSAValue, op: Operation) -> None:
        """A tile that arrives in a carry or comes out of a branch, in the buffer of `source`."""
        if value.type == source.type and self.extents.known.get(value) == self.extents.known.get(source):
            self.handles[value] = handle = self.handles[source]
            self.shared.add(handle)
        else:
            self.allocate(value, op)

    # --- tensors ---------------------------------------------------------------------------------------------

    def tensor(self, value: SSAValue, op: Operation) -> Tensor:
        """The tensor that a value names."""
        known = self.tensors.get(value)
        if known is not None:
            return known
        root = self.names[value]
        if root is not None and root is not value:
            return self.tensor(root, op)
        owner = value.owner
        if isinstance(owner, ReshapeOp) and isinstance(value.type, TensorType):
            base = self.tensor(owner.tile, op)
            made = Tensor(base.pointer, value.type, self.dims(value.type, op), value.name_hint or base.name)
            self.tensors[value] = made
            return made
        raise no_form(
            op,
            f"`{value.name_hint or 'a tensor'}`, a tensor that is no parameter,",
            instead="pass the tensor as a parameter of the kernel",
        )

    def dims(self, kind: TensorType, op: Operation) -> tuple[Index, ...]:
        """The extents of a tensor; a symbol is an argument of the function."""
        missing = [d for d in kind.shape if isinstance(d, str) and d not in self.symbols]
        if missing:
            raise no_form(op, f"the run-time extent {missing[0]}, which no parameter has,")
        return tuple(self.symbols[d] if isinstance(d, str) else d for d in kind.shape)

    def strides(self, tensor: Tensor) -> tuple[Index, ...]:
        """Elements from one index to the next, per axis."""
        dims, order = tensor.dims, list(range(len(tensor.dims)))
        if tensor.by_columns and len(dims) > 1:
            order[-2:] = [order[-1], order[-2]]
        strides = list[Index]([1] * len(dims))
        step: Index = 1
        for axis in reversed(order):
            strides[axis] = step
            step = self.builder.times(step, dims[axis])
        return tuple(strides)

    def view(self, tensor: Tensor) -> SSAValue:
        """The view of a tensor, made once at the top of the function."""
        if tensor.view is None:
            self.builder.at_top(True)
            shape, strides = self.values(tensor.dims), self.values(self.strides(tensor))
            (tensor.view,) = self.builder.emit(
                "make_tensor_view",
                [tensor.pointer],
                [tensor_view(len(tensor.dims), tensor.kind.dtype)],
                clauses=[("shape", shape), ("strides", strides)],
                attributes={"layout": LayoutAttr.new((StringAttr("dn" if tensor.by_columns else "nd"),))},
                hint=f"{tensor.name}_view",
            )
            self.builder.at_top(False)
        return tensor.view

    def place(self, tensor: Tensor, position: Sequence[SSAValue]) -> SSAValue:
        """The distance of an element from the start of its tensor, in elements."""
        at: Index = 0
        for index, stride in zip(position, self.strides(tensor), strict=True):
            at = self.builder.plus(at, self.builder.times(self.index(index), stride))
        return self.builder.value(at)


def scalar_type(type_: Attribute) -> Attribute:
    """The type of a scalar in PTO IR."""
    return type_ if type_ == INDEX else element(type_)


def extents_known(sizes: Sequence[Index]) -> list[int]:
    """Sizes as a type holds them."""
    return [size if isinstance(size, int) else DYNAMIC for size in sizes]
