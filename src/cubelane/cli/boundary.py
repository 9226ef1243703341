"""The error boundary of all commands: what a user did wrong is a diagnostic, what we did wrong asks for a report."""

import argparse
import os
import sys
import traceback
from collections.abc import Callable

from cubelane.ir.diagnostic import Diagnostic
from cubelane.report.terminal import render, render_json


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
        print(
            f"cubelane: internal error: {type(problem).__name__}: {problem}\n"
            "This is a bug of cubelane, not of your kernel. Please report it with the kernel file, the command line"
            " and the following text.\n" + traceback.format_exc(),
            file=sys.stderr,
        )
        return 3


def report(problem: Diagnostic, *, as_json: bool = False) -> None:
    """Prints a diagnostic: text on standard error, or JSON on standard output."""
    if as_json:
        print(render_json([problem]))
    else:
        print(render(problem), file=sys.stderr)


def parser(command: str, about: str) -> argparse.ArgumentParser:
    """An argument parser in the house style; argparse exits with 2 on a wrong command line."""
    return argparse.ArgumentParser(
        prog=f"cubelane {command}", description=about, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
