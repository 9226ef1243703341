"""The `cubelane` command: one thin file per subcommand, one error boundary for all of them.

Exit codes: 0 good, 1 the kernel is wrong or refused, 2 the command line is wrong, 3 our bug (design chapter 6).
"""

import gc
import os
import sys
from importlib import import_module
from typing import NoReturn

COMMANDS = {
    "compile": "Lower, check, simulate against the reference meaning, write artifacts. The main job.",
    "lower": "Print the program after a pass.",
    "emit": "Print the programs of the cores.",
    "check": "Run every checker; exit 1 on a finding.",
    "report": "Write the explorer: one HTML page with source, IR, lanes, timeline, memory and verdicts.",
    "tune": "Try all split modes and ring depths; rank them by the timing model.",
    "fuzz": "Judge random kernels after every pass; make failing ones small.",
    "cache": "Show what the compile cache holds, or empty it.",
    "demo": "Compile all examples on both targets in every legal mode.",
    "run": "Run a script that imports pypto, unmodified, on cubelane.",
    "opt": "An xdsl-opt with our dialects and passes.",
    "ptoas": "Assemble PTO IR: infer sections, split into cube and vector modules.",
}


def usage() -> str:
    """The help text of the bare command."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name.ljust(width)}  {about}" for name, about in COMMANDS.items()]
    return "\n".join(
        ["usage: cubelane COMMAND [ARGUMENTS]", "", "commands:", *lines, "", "cubelane COMMAND --help says more."]
    )


QUICK = frozenset({"lower", "emit", "opt", "ptoas"})
"""Commands that run no code of the user and start no process, so nobody waits to be told that Python ends."""

LONG = frozenset({"tune", "fuzz", "demo", "run"})
"""Commands that work on many kernels, or on a script of the user: what they drop must not pile up."""

PRODUCT_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Variables that NumPy's matrix libraries read when they are loaded."""


def main(argv: list[str] | None = None) -> None:
    """Runs one command and exits with its code; without `argv` that of the process, which then ends."""
    # A short command makes many small objects and drops them at exit: collecting garbage only costs time here.
    gc.disable()
    arguments = sys.argv[1:] if argv is None else argv
    code = answer(arguments)
    if argv is None and arguments and arguments[0] in QUICK:
        leave(code)
    raise SystemExit(code)


def answer(arguments: list[str]) -> int:
    """What a command line asks for; the exit code."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0 if arguments else 2
    if arguments[0] == "--version":
        print(f"cubelane {import_module('importlib.metadata').version('cubelane')}")
        return 0
    name, rest = arguments[0], arguments[1:]
    if name not in COMMANDS:
        print(f"cubelane: unknown command {name!r}\n\n{usage()}", file=sys.stderr)
        return 2
    return run_command(name, rest)


def run_command(name: str, arguments: list[str]) -> int:
    """Runs one command inside the error boundary; gives its exit code."""
    # loaded here, with the collector off: it brings xDSL, whose hundred thousand objects would be searched for garbage
    boundary = import_module("cubelane.cli.boundary")

    if name != "run":
        # tiles are so small that the threads of a product only wait for each other
        for variable in PRODUCT_THREADS:
            os.environ.setdefault(variable, "1")

    def command() -> int:
        main = import_module(f"cubelane.cli.{name}").main
        if name in LONG:
            gc.freeze()
            gc.enable()
        return main(arguments)

    return boundary.guarded(command, as_json=boundary.wants_json(name, arguments))


def leave(code: int) -> NoReturn:
    """Ends the process without taking its objects apart one by one, a twentieth of the time of a short command."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        pass  # the reader went away; what was left to print has nobody to read it
    except OSError as problem:
        print(f"cubelane: {problem}", file=sys.stderr, flush=True)
        code = code or 2
    os._exit(code)


if __name__ == "__main__":
    main()
