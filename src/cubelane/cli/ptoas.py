"""`cubelane ptoas`: the flags of the `ptoas` assembler (spec/pto.md 8.1).

Exit codes: 0 good, 1 the program is refused, 2 the command line is wrong or asks for what is not built, 3 our bug.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from cubelane.cli.artifacts import write_text
from cubelane.cli.boundary import CommandLineError, add_format, guarded, parser, report, wants_json
from cubelane.emit.vpto import ARCHITECTURES, BACKENDS, LEVELS, Job, StageFailure, backend_of
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.pto.text import parse_pto, print_pto
from cubelane.ir.text_file import read_text
from cubelane.passes.pto.pipeline import ALL_PASSES

AUTOMATIC_SYNC = (
    "--enable-insert-sync",
    "--enable-bufid_sync",
    "--enable-inject-barrier-all-sync",
    "--enable-graph-sync-solver",
)
"""Of these at most one may be given."""
NOT_BUILT = {
    **dict.fromkeys(AUTOMATIC_SYNC, "automatic synchronization"),
    "--enable-op-fusion": "op fusion",
    "--plan-memory-impl": "memory planning",
}
WITH_VALUE = ("--plan-memory-impl",)


def ptoas(argv: list[str]) -> int:
    """Runs the assembler inside the error boundary; the exit code."""
    try:
        return guarded(lambda: main(argv), as_json=wants_json("ptoas", argv))
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0


def main(argv: list[str]) -> int:
    """Runs the assembler; raises `CommandLineError` for a wrong command line."""
    return _assemble(_parse(argv))


def _parser() -> argparse.ArgumentParser:
    options = parser("ptoas", "Assembles PTO IR: infers sections, splits into cube and vector modules.")
    options.add_argument("input", help="PTO file, - for standard input")
    options.add_argument("-o", dest="output", default="-", help="output file, - for standard output")
    options.add_argument("--pto-arch", choices=ARCHITECTURES, help="overrides the module attribute; a3 without both")
    options.add_argument("--pto-backend", choices=BACKENDS, help="overrides pto.backend")
    options.add_argument("--emit-pto-ir", action="store_true", help="stop after normalization and print")
    options.add_argument("--emit-vpto", action="store_true", help="print VPTO IR")
    options.add_argument("--pto-level", choices=LEVELS, help="level3: tiles have addresses; below: they have none")
    for when in ("before", "after"):
        options.add_argument(
            f"--mlir-print-ir-{when}", action="append", default=[], metavar="PASS", help=f"print IR {when} a pass"
        )
    add_format(options)
    options.add_argument("--enable-tile-op-expand", action="store_true", help="accepted, does nothing")
    synchronization = options.add_mutually_exclusive_group()
    for flag in NOT_BUILT:
        if flag in WITH_VALUE:
            options.add_argument(flag, default=None, help="not built")
        else:
            group = synchronization if flag in AUTOMATIC_SYNC else options
            group.add_argument(flag, action="store_true", default=None, help="not built")
    return options


def _parse(argv: list[str]) -> argparse.Namespace:
    options = _parser().parse_args(argv)
    for flag, part in NOT_BUILT.items():
        if getattr(options, flag.removeprefix("--").replace("-", "_")) is not None:
            raise CommandLineError(f"{flag} is not available: {part} is not built")
    for name in (*options.mlir_print_ir_before, *options.mlir_print_ir_after):
        if name not in ALL_PASSES:
            raise CommandLineError(f"unknown pass '{name}'; known passes: {', '.join(ALL_PASSES)}")
    if options.emit_vpto and options.pto_backend == "emitc":
        raise CommandLineError("--emit-vpto needs the vpto backend, but --pto-backend=emitc is given")
    if not options.emit_vpto and not options.emit_pto_ir:
        raise CommandLineError("object output is not built; use --emit-vpto or --emit-pto-ir")
    return options


def _assemble(options: argparse.Namespace) -> int:
    text, file = _read(options.input)
    job = Job(
        text,
        file,
        options.pto_arch,
        options.pto_backend,
        options.pto_level,
        _watch("before", options.mlir_print_ir_before),
        _watch("after", options.mlir_print_ir_after),
    )
    try:
        if options.emit_pto_ir:
            program = job.normalized()
        else:
            _check_backend(job)
            program = job.vpto()
            for warning in job.warnings:
                print(f"warning: {warning}", file=sys.stderr)
    except StageFailure as failure:
        report(failure.diagnostic, as_json=options.format == "json")
        if failure.summary is not None:
            print(f"Error: {failure.summary}", file=sys.stderr)
        return 1
    _write(options.output, print_pto(program))
    return 0


def _check_backend(job: Job) -> None:
    try:
        backend = backend_of(parse_pto(job.text, job.file), job.backend)
    except Diagnostic as problem:
        raise StageFailure(problem) from None
    if backend == "emitc":
        raise CommandLineError("the module asks for the emitc backend, which is not built; use --pto-backend=vpto")


def _read(name: str) -> tuple[str, str]:
    try:
        return (sys.stdin.read(), "<stdin>") if name == "-" else (read_text(Path(name)), name)
    except OSError as error:
        raise CommandLineError(f"cannot read {name}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CommandLineError(f"cannot read {name}: it is not UTF-8 text") from None
    except Diagnostic as problem:
        raise CommandLineError(f"cannot read {name}: {problem.message}") from None


def _watch(when: str, names: list[str]) -> Callable[[str, ModuleOp], None]:
    def show(name: str, program: ModuleOp) -> None:
        if name in names:
            print(f"// IR dump {when} {name}\n{print_pto(program)}", file=sys.stderr)

    return show


def _write(name: str, text: str) -> None:
    """Writes to standard output, or a whole file."""
    if name == "-":
        sys.stdout.write(text)
        return
    if not Path(name).parent.is_dir():
        raise CommandLineError(f"cannot write {name}: No such file or directory")
    try:
        write_text(Path(name), text)
    except OSError as error:
        raise CommandLineError(f"cannot write {name}: {error.strerror}") from None
