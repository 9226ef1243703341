"""The `cubelane` command: one thin file per subcommand, one error boundary for all of them.

Exit codes: 0 good, 1 the kernel is wrong or refused, 2 the command line is wrong, 3 our bug (design chapter 6).
"""

import gc
import importlib
import sys

from cubelane.cli.boundary import guarded, wants_json

COMMANDS = {
    "compile": "Lower, check, simulate against the reference meaning, write artifacts. The main job.",
    "lower": "Print the program after a pass.",
    "emit": "Print the programs of the cores.",
    "check": "Run every checker; exit 1 on a finding.",
    "report": "Write the explorer: one HTML page with source, IR, lanes, timeline, memory and verdicts.",
    "tune": "Try all split modes and ring depths; rank them by the timing model.",
    "fuzz": "Judge random kernels after every pass; make failing ones small.",
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


def main(argv: list[str] | None = None) -> None:
    """Runs one command and exits with its code."""
    # A compile makes many small objects and drops them at exit: collecting garbage only costs time here.
    gc.disable()
    arguments = sys.argv[1:] if argv is None else argv
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        raise SystemExit(0 if arguments else 2)
    if arguments[0] == "--version":
        from importlib.metadata import version

        print(f"cubelane {version('cubelane')}")
        raise SystemExit(0)
    name, rest = arguments[0], arguments[1:]
    if name not in COMMANDS:
        print(f"cubelane: unknown command {name!r}\n\n{usage()}", file=sys.stderr)
        raise SystemExit(2)
    raise SystemExit(run_command(name, rest))


def run_command(name: str, arguments: list[str]) -> int:
    """Runs one command inside the error boundary; gives its exit code."""
    module = f"cubelane.cli.{name}"
    return guarded(lambda: importlib.import_module(module).main(arguments), as_json=wants_json(name, arguments))


if __name__ == "__main__":
    main()
