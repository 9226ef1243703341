"""`cubelane run`: a script that imports `pypto` or `ptodsl`, run unmodified on cubelane."""

import runpy
import sys
from pathlib import Path

from cubelane import compat
from cubelane.check.kernel_file import user_error
from cubelane.cli.boundary import add_format, parser
from cubelane.ir.diagnostic import Diagnostic


def main(argv: list[str]) -> int:
    """Runs the command with the script's own arguments."""
    arguments = parser("run", "Run a script; `pypto` resolves to cubelane unless a real one is installed.")
    add_format(arguments)
    arguments.add_argument("--shadow", action="store_true", help="also where a real pypto is installed")
    arguments.add_argument("script", help="the script")
    arguments.add_argument("rest", nargs="...", help="arguments of the script")
    given = arguments.parse_args(argv)
    compat.install(shadow=given.shadow)
    path = Path(given.script)
    if not path.is_file():
        raise FileNotFoundError(f"no such file: {path}")
    sys.argv = [given.script, *given.rest]
    sys.path.insert(0, str(path.resolve().parent))
    try:
        runpy.run_path(str(path), run_name="__main__")
    except Diagnostic:
        raise
    except Exception as problem:
        raise user_error(problem, path) from problem
    return 0
