"""The error boundary of all commands: what a user did wrong is a diagnostic, what we did wrong asks for a report."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from cubelane.ir.diagnostic import Diagnostic


class CommandLineError(Exception):
    """A wrong command line, found after parsing it."""


def guarded(action: Callable[[], int], *, as_json: bool = False) -> int:
    """Runs a command; turns its exceptions into messages and an exit code."""
    try:
        return action()
    except Diagnostic as problem:
        report(problem, as_json=as_json)
        return 1
    except CommandLineError as problem:
        print(f"cubelane: {problem}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader went away (`| head`); there is nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("\ncubelane: interrupted", file=sys.stderr)
        return 130
    except OSError as problem:
        print(f"cubelane: {problem}", file=sys.stderr)
        return 2
    except Exception as problem:
        traceback = import_module("traceback")
        print(
            f"cubelane: internal error: {type(problem).__name__}: {problem}\n"
            "This is a bug of cubelane, not of your kernel. Please report it with the kernel file, the command line"
            " and the following text.\n" + traceback.format_exc(),
            file=sys.stderr,
        )
        return 3


def report(problem: Diagnostic, *, as_json: bool = False) -> None:
    """Prints a diagnostic: text on standard error, or JSON on standard output."""
    # what renders problems is loaded when there is one: commands must start quickly
    if as_json:
        print(import_module("cubelane.report.terminal").render_json([problem]))
    else:
        import_module("cubelane.report.console").show_diagnostic(problem)


class NoColor(argparse.Action):
    """`--no-color`: the same as NO_COLOR in the environment, for this process and its workers."""

    def __call__(self, *_: object, **__: object) -> None:
        os.environ["NO_COLOR"] = "1"


def parser(command: str, about: str) -> argparse.ArgumentParser:
    """An argument parser in the house style; argparse exits with 2 on a wrong command line."""
    result = argparse.ArgumentParser(
        prog=f"cubelane {command}", description=about, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    add_no_color(result)
    return result


def add_no_color(arguments: argparse.ArgumentParser) -> None:
    """`--no-color`."""
    arguments.add_argument(
        "--no-color", action=NoColor, nargs=0, default=argparse.SUPPRESS, help="no colours on a terminal"
    )


def add_format(arguments: argparse.ArgumentParser) -> None:
    """`--format`: results and diagnostics as text or as JSON on standard output."""
    arguments.add_argument("--format", choices=("text", "json"), default="text", help="how to print the result")


def without_output_options(argv: list[str]) -> list[str]:
    """A command line for a foreign parser: `--format` and `--no-color` are taken out and heeded."""
    ours = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    add_format(ours)
    add_no_color(ours)
    return ours.parse_known_args(argv)[1]


def wants_json(command: str, arguments: Sequence[str]) -> bool:
    """Whether a command line asks for JSON; what follows the script of `run` belongs to the script."""
    words = iter(arguments)
    for word in words:
        if word == "--format":
            return next(words, "") == "json"
        if word.startswith("--format="):
            return word == "--format=json"
        if command == "run" and not word.startswith("-"):
            return False
    return False
