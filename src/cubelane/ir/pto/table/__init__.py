"""The op table of the `pto` dialect: built-in entries, plus those of installed packages (spec/pto.md 4.4).

A package adds ops through the entry point group `cubelane.pto_ops`; each entry point names a sequence of `OpDecl`.
"""

from collections.abc import Iterable
from functools import cache
from importlib.metadata import entry_points
from typing import cast

from cubelane.ir.diagnostic import Diagnostic
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


def extensions() -> list[tuple[str, OpDecl]]:
    """The entries of installed packages, each with the entry point that names it."""
    found: list[tuple[str, OpDecl]] = []
    for point in entry_points(group=ENTRY_POINTS):
        where = f"{point.name} = {point.value}"
        try:
            entries = list(cast("Iterable[object]", point.load()))
        except Exception as error:
            raise _extension_problem(where, f"cannot be loaded: {type(error).__name__}: {error}") from error
        for entry in entries:
            if not isinstance(entry, OpDecl):
                raise _extension_problem(where, f"names {entry!r}, which is no op declaration")
            found.append((where, entry))
    return found


def _extension_problem(where: str, what: str) -> Diagnostic:
    return Diagnostic(
        f"the extension '{where}' of {ENTRY_POINTS} {what}",
        notes=["an installed package declares ops of its own through this entry point"],
        instead="mend or uninstall the package; its entry point must name a sequence of declare(...) entries",
        code="op-extension",
    )


@cache
def op_classes() -> dict[str, type[PtoOp]]:
    """Every op class of the table by full name; an extension may not redeclare an op."""
    classes = {entry.full_name: op_class(entry) for entry in BUILT_IN}
    for where, entry in extensions():
        if entry.full_name in classes:
            raise _extension_problem(where, f"declares {entry.full_name} a second time")
        classes[entry.full_name] = op_class(entry)
    return classes


@cache
def virtual_class(name: str) -> type[PtoOp]:
    """The class of an op of the virtual instruction layer by its full name."""
    return op_class(vector.virtual(name.removeprefix("pto.")))


def pto_class(name: str) -> type[PtoOp]:
    """The class of an op by its name without dialect."""
    return op_classes()[f"pto.{name}"]
