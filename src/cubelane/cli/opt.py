"""`cubelane opt`: an xdsl-opt with our dialects and passes."""

from collections.abc import Callable

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.xdsl_opt_main import xDSLOptMain

from cubelane.cli.boundary import without_output_options
from cubelane.ir.context import DIALECTS
from cubelane.ir.pto.text import PtoContext, pto_dialect
from cubelane.passes import pipeline
from cubelane.passes.pto.pipeline import ALL_PASSES
from cubelane.passes.tile.choose_split_mode import ChooseSplitMode


class CubelaneOptMain(xDSLOptMain):
    """The driver of xDSL; dialects of ours come first, its own stay available."""

    def register_all_dialects(self) -> None:
        self.ctx = PtoContext()
        super().register_all_dialects()
        for dialect in DIALECTS:
            if dialect.name not in self.ctx.registered_dialect_names:
                self.ctx.register_dialect(dialect.name, _constant(dialect))
        self.ctx.register_dialect("pto", pto_dialect)

    def register_all_passes(self) -> None:
        super().register_all_passes()
        self.register_pass(ChooseSplitMode.name, lambda: ChooseSplitMode)
        for step in pipeline.PASSES:
            self.register_pass(step.name, _pass_of(step))
        for name, rewrite in ALL_PASSES.items():
            self.register_pass(name, _constant_pass(rewrite))


def _constant(dialect: Dialect) -> Callable[[], Dialect]:
    return lambda: dialect


def _constant_pass(rewrite: type[ModulePass]) -> Callable[[], type[ModulePass]]:
    return lambda: rewrite


def _pass_of(step: pipeline.Pass) -> Callable[[], type[ModulePass]]:
    return lambda: type(step.rewrite)


def main(argv: list[str]) -> int:
    """Runs the command with xdsl-opt's own flags; `--format` and `--no-color` are those of all commands."""
    CubelaneOptMain(args=without_output_options(argv)).run()
    return 0
