"""`cubelane opt`: an xdsl-opt with our dialects and passes, and with the errors and exit codes of all our commands."""

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.frontend.mlir import MLIRFrontend
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ParseError
from xdsl.utils.frontend import Frontend
from xdsl.xdsl_opt_main import xDSLOptMain

from cubelane.cli.artifacts import write_text
from cubelane.cli.boundary import CommandLineError, without_output_options
from cubelane.ir.context import DIALECTS
from cubelane.ir.diagnostic import Diagnostic, Location
from cubelane.ir.placed_parser import PlacedParser
from cubelane.ir.pto.text import PtoContext, parse_pto, pto_dialect, verify_pto
from cubelane.passes import pipeline
from cubelane.passes.pto.pipeline import ALL_PASSES
from cubelane.passes.tile.choose_split_mode import ChooseSplitMode


@dataclass(frozen=True)
class PlacedFrontend(MLIRFrontend):
    """MLIR whose ops know their place."""

    name = "mlir"

    def parse(self, ctx: Context, input: IO[bytes], input_name: str = "input") -> ModuleOp:
        try:
            parser = PlacedParser(ctx, _decoded(input, input_name), input_name)
            return parser.parse_module(not self.no_implicit_module)
        except RecursionError:
            raise Diagnostic("the module is nested too deeply", Location(input_name), code="parse-error") from None


@dataclass(frozen=True)
class PtoFrontend(Frontend):
    """PTO text."""

    name = "pto"

    def parse(self, ctx: Context, input: IO[bytes], input_name: str = "input") -> ModuleOp:
        return parse_pto(_decoded(input, input_name), input_name)


def _decoded(stream: IO[bytes], name: str) -> str:
    try:
        return stream.read().decode()
    except UnicodeDecodeError:
        raise CommandLineError(f"cannot read {name}: it is not UTF-8 text") from None


class KeptText(StringIO):
    """Output that stays readable after the driver has closed it, and is written only if all went well."""

    def close(self) -> None:
        """Nothing."""


class CubelaneOptMain(xDSLOptMain):
    """The driver of xDSL; dialects of ours come first, its own stay available."""

    output: KeptText | None = None

    def register_all_dialects(self) -> None:
        self.ctx = PtoContext()
        for dialect in DIALECTS:
            self.ctx.register_dialect(dialect.name, _constant(dialect))
        self.ctx.register_dialect("pto", pto_dialect)
        for name, factory in Universe.get_multiverse().all_dialects.items():
            if name not in self.ctx.registered_dialect_names:
                self.ctx.register_dialect(name, factory)

    def register_all_frontends(self) -> None:
        self.available_frontends |= {"mlir": lambda: PlacedFrontend, "pto": lambda: PtoFrontend}
        super().register_all_frontends()

    def register_all_passes(self) -> None:
        super().register_all_passes()
        self.register_pass(ChooseSplitMode.name, lambda: ChooseSplitMode)
        for step in pipeline.PASSES:
            self.register_pass(step.name, _pass_of(step))
        for name, rewrite in ALL_PASSES.items():
            self.register_pass(name, _constant_pass(rewrite))

    def setup_pipeline(self) -> None:
        try:
            super().setup_pipeline()
        except (ValueError, ParseError, ArgSpecParseError) as problem:
            raise CommandLineError(f"-p {self.args.passes}: {_one_line(problem)}") from None

    def prepare_input(self) -> tuple[list[tuple[IO[bytes], int]], str]:
        try:
            return super().prepare_input()
        except ValueError as problem:
            known = ", ".join(f".{name}" for name in self.available_frontends)
            raise CommandLineError(f"{_one_line(problem)}; known are {known}") from None

    def prepare_output(self) -> IO[str]:
        if self.args.output_file is None:
            return super().prepare_output()
        self.output = KeptText()
        return self.output

    def parse_chunk(self, chunk: IO[bytes], file_extension: str, start_offset: int = 0) -> ModuleOp | None:
        if self.args.parsing_diagnostics:
            return super().parse_chunk(chunk, file_extension, start_offset)
        try:
            # a chunk of a file keeps its lines: places then are those of the file
            return super().parse_chunk(BytesIO(b"\n" * start_offset + chunk.read()), file_extension)
        except ParseError as problem:
            place = problem.span.get_location()
            where = Location(self.get_input_name(), place.line, place.col)
            raise Diagnostic(problem.msg.strip(), where, code="parse-error") from None

    def apply_passes(self, prog: ModuleOp) -> None:
        try:
            super().apply_passes(prog)
        except DiagnosticException as problem:
            if self.args.verify_diagnostics:
                raise
            verify_pto(prog)  # names the op that is wrong
            raise Diagnostic(_one_line(problem), code="invalid-op") from None


def _one_line(problem: BaseException) -> str:
    return next((line.strip() for line in reversed(str(problem).splitlines()) if line.strip()), type(problem).__name__)


def _constant(dialect: Dialect) -> Callable[[], Dialect]:
    return lambda: dialect


def _constant_pass(rewrite: type[ModulePass]) -> Callable[[], type[ModulePass]]:
    return lambda: rewrite


def _pass_of(step: pipeline.Pass) -> Callable[[], type[ModulePass]]:
    return lambda: type(step.rewrite)


def main(argv: list[str]) -> int:
    """Runs the command with xdsl-opt's own flags; `--format` and `--no-color` are those of all commands."""
    driver = CubelaneOptMain(args=without_output_options(argv))
    driver.run()
    if driver.output is not None:
        write_text(Path(driver.args.output_file), driver.output.getvalue())
    return 0
