"""Rules of the emission verifier (spec/pto.md 7.2)."""

from collections.abc import Iterator

from xdsl.ir import Operation

from cubelane.ir.pto.decl import Role
from cubelane.ir.pto.regions import role_of


def unexpanded_tile_ops(root: Operation) -> Iterator[Operation]:
    """High-level tile ops, which a later stage expands."""
    return (op for op in root.walk() if role_of(op) is Role.TILE)
