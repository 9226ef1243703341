"""AutoTileMatmulL0 (placeholder until its slice lands)."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


@dataclass(frozen=True)
class AutoTileMatmulL0(ModulePass):
    """Nothing yet."""

    name = "auto-tile-matmul-l0"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass
