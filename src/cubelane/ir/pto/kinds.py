"""The operand kinds that signatures of the table name, each with what a user is told it is (spec/pto.md 4.1)."""

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType, MemRefType
from xdsl.ir import Attribute

from cubelane.ir.pto.spaces import Space
from cubelane.ir.pto.types import (
    AlignType,
    MaskType,
    PtrType,
    SmallFloat,
    TileFields,
    View,
    VregType,
)

Test = Callable[[Attribute], bool]


def _is(*classes: Any) -> Test:
    return lambda kind: isinstance(kind, classes)


def _pointer_in(*spaces: Space) -> Test:
    return lambda kind: (isinstance(kind, PtrType) and kind.space in spaces) or isinstance(kind, MemRefType)


def _integer(*widths: int) -> Test:
    return lambda kind: isinstance(kind, IntegerType) and kind.bitwidth in widths


KINDS: dict[str, tuple[str, Test]] = {
    "any": ("any value", lambda kind: True),
    "vreg": ("a !pto.vreg", _is(VregType)),
    "mask": ("a !pto.mask", _is(MaskType)),
    "align": ("a !pto.align", _is(AlignType)),
    "ptr": ("a !pto.ptr", _is(PtrType, MemRefType)),
    "address": ("a pointer, tile, memref or integer", lambda kind: not isinstance(kind, VregType | MaskType)),
    "tile": ("a !pto.tile_buf", _is(TileFields, MemRefType)),
    "view": ("a view of global memory", _is(View, MemRefType)),
    "tile_or_scalar": (
        "a tile, a view or a scalar",
        _is(TileFields, View, MemRefType, PtrType, IntegerType, IndexType, AnyFloat, SmallFloat),
    ),
    "int": ("an integer or index", _is(IntegerType, IndexType)),
    "index": ("an index", _is(IndexType, IntegerType)),
    "i1": ("an i1", _integer(1)),
    "i32": ("an i32", _integer(32)),
    "i64": ("an i64", _integer(64)),
    "float": ("a float", _is(AnyFloat, SmallFloat)),
    "scalar": ("a scalar", _is(IntegerType, IndexType, AnyFloat, SmallFloat)),
    **{space.value: (f"a pointer into {space.value}", _pointer_in(space)) for space in Space},
}
