"""`cubelane ptoas`: the flags of the `ptoas` assembler (spec/pto.md 8.1).

Exit codes: 0 good, 1 the program is refused, 2 the command line is wrong or asks for what is not built, 3 our bug.
"""

import argparse
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from cubelane.emit.vpto import ARCHITECTURES, BACKENDS, LEVELS, Job, StageFailure, backend_of
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.pto.text import parse_pto, print_pto
from cubelane.passes.pto.pipeline import ALL_PASSES

NOT_BUILT = {
    "--enable-insert-sync": "automatic synchronization",
    "--enable-bufid_sync": "automatic synchronization",
    "--enable-inject-barrier-all-sync": "automatic synchronization",
    "--enable-graph-sync-solver": "automatic synchronization",
    "--enable-op-fusion": "op fusion",
    "--plan-memory-impl": "memory planning",
}


class CommandLineError(Exception):
    """The command line is wrong; the text says how."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> "None":  # type: ignore[override]
        raise CommandLineError(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="cubelane ptoas", description="Assembles PTO IR: sections, cube/vector split, VPTO IR.")
    parser.add_argument("input", help="PTO file, - for standard input")
    parser.add_argument("-o", dest="output", default="-", help="output file, - for standard output")
    parser.add_argument("--pto-arch", choices=ARCHITECTURES, help="overrides the module attribute; default a3")
    parser.add_argument("--pto-backend", choices=BACKENDS, help="overrides pto.backend")
    parser.add_argument("--emit-pto-ir", action="store_true", help="stop after normalization and print")
    parser.add_argument("--emit-vpto", action="store_true", help="print VPTO IR")
    parser.add_argument("--pto-level", choices=LEVELS, help="level3: tiles have addresses; below: they have none")
    for when in ("before", "after"):
        parser.add_argument(
            f"--mlir-print-ir-{when}", action="append", default=[], metavar="PASS", help=f"print IR {when} a pass"
        )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how refusals are printed")
    parser.add_argument("--enable-tile-op-expand", action="store_true", help="accepted, does nothing")
    for flag in NOT_BUILT:
        parser.add_argument(flag, nargs="?", const=True, default=None, help="not built")
    return parser


def ptoas(argv: list[str]) -> int:
    """Runs the assembler; the exit code."""
    try:
        return _assemble(_parse(argv))
    except CommandLineError as error:
        print(f"cubelane ptoas: error: {error}", file=sys.stderr)
        return 2
    except SystemExit as stop:
        return int(stop.code or 0)
    except BrokenPipeError:
        return 1
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        print(
            f"cubelane ptoas: internal error: {type(error).__name__}: {error}\n"
            f"  at {Path(frame.filename).name}:{frame.lineno}; this is a bug in cubelane, "
            "please report it together with the input",
            file=sys.stderr,
        )
        return 3


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
            for warning in job.warnings(program):
                print(f"{file}: warning: {warning}", file=sys.stderr)
    except StageFailure as failure:
        _report(failure.diagnostic, options.format)
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
        return (sys.stdin.read(), "<stdin>") if name == "-" else (Path(name).read_text(encoding="utf-8"), name)
    except OSError as error:
        raise CommandLineError(f"cannot read {name}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CommandLineError(f"cannot read {name}: it is not UTF-8 text") from None


def _watch(when: str, names: list[str]) -> Callable[[str, ModuleOp], None]:
    def show(name: str, program: ModuleOp) -> None:
        if name in names:
            print(f"// IR dump {when} {name}\n{print_pto(program)}", file=sys.stderr)

    return show


def _report(diagnostic: Diagnostic, form: str) -> None:
    print(json.dumps(diagnostic.as_json()) if form == "json" else str(diagnostic), file=sys.stderr)


def _write(name: str, text: str) -> None:
    """Writes to a temporary name and moves the file into place."""
    if name == "-":
        sys.stdout.write(text)
        return
    target = Path(name)
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).replace(target)
    except OSError as error:
        raise CommandLineError(f"cannot write {name}: {error.strerror}") from None
