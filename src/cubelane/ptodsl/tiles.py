"""Tiles and views of global memory: allocation, addresses, high-level tile ops (spec/pto.md 2.4, 2.7, 4.5)."""

from collections.abc import Callable, Sequence
from typing import NoReturn, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, StringAttr
from xdsl.ir import Attribute, SSAValue

from cubelane.ir.pto.assembly import INS
from cubelane.ir.pto.decl import Form, OpDecl, Role
from cubelane.ir.pto.spaces import Space
from cubelane.ptodsl.errors import wrong_place, wrong_type, wrong_value
from cubelane.ptodsl.micro import declaration
from cubelane.ptodsl.tracer import tracing
from cubelane.ptodsl.types import I64, INDEX, PointerType, ScalarType, TileType, ViewType, scalar_type, space_of
from cubelane.ptodsl.values import CLASSES, Pointer, Scalar, Value, addptr, as_scalar, wrap

Extents = Sequence[object]


class Place:
    """An element of a tile with what follows it in its row: `tile[r, c:]`. Loads and stores take it as a pointer."""

    def __init__(self, tile: "Tile", row: int | Scalar, column: int | Scalar):
        self.tile, self.row, self.column = tile, row, column

    def pointer(self) -> Pointer:
        """The pointer to the element."""
        start = tile_buf_addr(self.tile)
        offset = self.row * self.tile.shape[1] + self.column
        return start if isinstance(offset, int) and offset == 0 else addptr(start, offset)


class Tile(Value):
    """A tile. As an annotation it stands for any tile. `tile[r, c:]` is a place that loads and stores take."""

    type: TileType

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the box."""
        return self.type.shape

    @property
    def dtype(self) -> ScalarType:
        """The element type."""
        return self.type.element

    def __getitem__(self, key: object) -> Place:
        parts = cast("tuple[object, ...]", key) if isinstance(key, tuple) else (key, slice(0, None))
        if len(parts) != 2:
            raise wrong_value(f"a tile has two axes, got {len(parts)} indices")
        row, column = parts
        if isinstance(column, slice):
            columns = cast("slice[object, object, object]", column)
            if columns.stop is not None or columns.step is not None:
                raise wrong_value("the columns of a place in a tile have no end: tile[r, c:]")
            column = 0 if columns.start is None else columns.start
        if not isinstance(row, int | Scalar) or not isinstance(column, int | Scalar):
            raise wrong_type(f"a place in a tile is named by numbers or scalars, got {row!r} and {column!r}")
        return Place(self, row, column)

    def __iter__(self) -> NoReturn:
        raise wrong_type("a tile is not iterated over", instead="for r in range(tile.shape[0]): ... tile[r, 0:]")


class TensorView(Value):
    """A view of global memory. As an annotation it stands for any view."""

    type: ViewType


CLASSES[TileType], CLASSES[ViewType] = Tile, TensorView


def alloc_tile(
    shape: Sequence[int], dtype: object, space: object = "vec", *, addr: object = None, valid: Extents | None = None
) -> Tile:
    """`pto.alloc_tile(shape, dtype, space, *, addr=, valid=)`: in explicit mode with an address, otherwise without."""
    tracer = tracing("pto.alloc_tile")
    explicit = tracer.spec.mode == "explicit"
    if explicit != (addr is not None):
        what = "needs an address in explicit mode" if explicit else "takes no address in auto mode"
        raise wrong_place(
            f"pto.alloc_tile {what}",
            "the addresses of all tiles are written by hand, or those of all tiles are planned",
            instead="pto.alloc_tile(..., addr=0)" if explicit else "drop addr=",
            code="tile-address",
        )
    if len(shape) != 2 or min(shape) < 1:
        raise wrong_value(f"a tile has two positive extents that Python knows, got {list(shape)!r}")
    extents = list(shape if valid is None else valid)
    if len(extents) != 2:
        raise wrong_value(f"valid= gives the extents of both axes, got {extents!r}")
    stated = tuple(n if isinstance(n, int) else DYNAMIC_INDEX for n in extents)
    kind = TileType((shape[0], shape[1]), scalar_type(dtype), space_of(space, "a tile"), stated)
    clauses: list[tuple[list[str], Sequence[SSAValue]]] = []
    if addr is not None:
        clauses.append((["addr", "%"], [as_scalar(addr, I64, "the address of a tile")]))
    for name, extent in zip(("valid_row", "valid_col"), extents, strict=True):
        if not isinstance(extent, int):
            clauses.append(([name, "%"], [as_scalar(extent, INDEX, "a valid extent")]))
    return wrap(tracer.emit("alloc_tile", (), [kind.attribute], clauses=clauses)[0])


def tile_buf_addr(tile: object) -> Pointer:
    """`pto.tile_buf_addr(tile)`: a pointer to the first element."""
    if not isinstance(tile, Tile):
        raise wrong_type(f"pto.tile_buf_addr needs a tile, got {tile!r}")
    kind = PointerType(tile.type.element, tile.type.space)
    return wrap(tracing("pto.tile_buf_addr").emit("tile_buf_addr", [tile.ssa], [kind.attribute])[0])


def make_tensor_view(pointer: object, *, shape: Extents, strides: Extents) -> TensorView:
    """`pto.make_tensor_view(p, shape=, strides=)`: a tensor in global memory; strides in elements."""
    if not isinstance(pointer, Pointer) or pointer.type.space is not Space.GM:
        raise wrong_type(f"pto.make_tensor_view needs a pointer into gm, got {pointer!r}")
    if len(shape) != len(strides):
        raise wrong_value(f"a view has one stride for each extent, got {len(shape)} and {len(strides)}")
    kind = ViewType((DYNAMIC_INDEX,) * len(shape), pointer.type.element, window=False)
    clauses = [_list("shape", shape), _list("strides", strides)]
    return wrap(
        tracing("pto.make_tensor_view").emit("make_tensor_view", [pointer.ssa], [kind.attribute], clauses=clauses)[0]
    )


def partition_view(view: object, *, offsets: Extents, sizes: Extents) -> TensorView:
    """`pto.partition_view(view, offsets=, sizes=)`: a window of a tensor."""
    if not isinstance(view, TensorView):
        raise wrong_type(f"pto.partition_view needs a view, got {view!r}")
    axes = len(view.type.dims)
    if len(offsets) != axes or len(sizes) != axes:
        raise wrong_value(f"the view has {axes} axes, got {len(offsets)} offsets and {len(sizes)} sizes")
    dims = tuple(n if isinstance(n, int) else DYNAMIC_INDEX for n in sizes)
    kind = ViewType(dims, view.type.element, window=True)
    clauses = [_list("offsets", offsets), _list("sizes", sizes)]
    return wrap(tracing("pto.partition_view").emit("partition_view", [view.ssa], [kind.attribute], clauses=clauses)[0])


def _list(name: str, values: Extents) -> tuple[list[str], list[SSAValue]]:
    return [name, *(["%"] * len(values))], [as_scalar(v, INDEX, f"an entry of {name}") for v in values]


def tile_function(name: str) -> Callable[..., None] | None:
    """The function of a high-level tile op: the last argument is written, the others are read."""
    decl = declaration(name)
    if decl is None or decl.role is not Role.TILE or decl.form is not Form.INS_OUTS:
        return None

    def call(*arguments: object) -> None:
        _emit(decl, arguments)

    call.__name__ = name
    call.__doc__ = f"`pto.{name}(ins..., out)`: a tile op."
    return call


def _emit(decl: OpDecl, arguments: Sequence[object]) -> None:
    what, tracer = f"pto.{decl.name}", tracing(f"pto.{decl.name}")
    if not arguments:
        raise wrong_type(f"{what} needs operands", instead=f"{what}(source, destination)")
    element = next((a.type.element for a in arguments if isinstance(a, Tile)), None)
    values = [_operand(value, element, what) for value in arguments]
    target = arguments[-1]
    if not isinstance(target, Tile | TensorView):
        raise wrong_type(f"the last argument of {what} is what it writes, a tile or a view; got {target!r}")
    properties: dict[str, Attribute] = {INS: StringAttr(str(len(values) - 1))}
    tracer.emit(decl.name, values, properties=properties)


def _operand(value: object, element: ScalarType | None, what: str) -> SSAValue:
    if isinstance(value, Value):
        return value.ssa
    if element is None or not isinstance(value, bool | int | float):
        raise wrong_type(f"an operand of {what} must be a tile, a view or a scalar, got {value!r}")
    return as_scalar(value, element, f"an operand of {what}")
