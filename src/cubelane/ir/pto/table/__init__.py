"""The op table of the `pto` dialect: built-in entries, plus those of installed packages (spec/pto.md 4.4).

A package adds ops through the entry point group `cubelane.pto_ops`; each entry point names a sequence of `OpDecl`.
"""

from collections.abc import Iterable
from functools import cache
from importlib.metadata import entry_points
from typing import cast

from cubelane.ir.pto.decl import OpDecl
from cubelane.ir.pto.op import PtoOp, op_class
from cubelane.ir.pto.table import config, cube, move, scalar, simt, sync, tile, vector

ENTRY_POINTS = "cubelane.pto_ops"
BUILT_IN: tuple[OpDecl, ...] = (
    *vector.OPS,
    *cube.OPS,
    *move.OPS,
    *sync.OPS,
    *scalar.OPS,
    *config.OPS,
    *simt.OPS,
    *tile.OPS,
)


def extensions() -> list[OpDecl]:
    """The entries of installed packages."""
    found: list[OpDecl] = []
    for point in entry_points(group=ENTRY_POINTS):
        found += cast("Iterable[OpDecl]", point.load())
    return found


@cache
def op_classes() -> dict[str, type[PtoOp]]:
    """Every op class of the table by full name; an extension may not redeclare a built-in op."""
    classes: dict[str, type[PtoOp]] = {}
    for entry in (*BUILT_IN, *extensions()):
        if entry.full_name in classes:
            raise ValueError(f"{entry.full_name} is declared twice")
        classes[entry.full_name] = op_class(entry)
    return classes


def pto_class(name: str) -> type[PtoOp]:
    """The class of an op by its name without dialect."""
    return op_classes()[f"pto.{name}"]
