"""`cubelane lower --diff`: what each pass changed. A file of its own, so that `lower` without it starts quickly."""

import argparse
import json
from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp

from cubelane.ir.diagnostic import Diagnostic
from cubelane.passes import pipeline
from cubelane.report.console import show_lines
from cubelane.report.diff import Difference, difference, lines_of

TextOf = Callable[[ModuleOp, argparse.Namespace], str]
"""The program in the form that was asked for."""


def show_differences(module: ModuleOp, given: argparse.Namespace, text_of: TextOf) -> None:
    """Prints what each pass changed, also where a later pass refuses the program."""
    found: list[Difference] = []
    try:
        run_passes(module, given, text_of, found)
    except Diagnostic:
        if given.format == "text":
            show_lines(lines_of(found))
        raise
    if given.format == "json":
        print(json.dumps([d.as_json() for d in found], indent=1))
    else:
        show_lines(lines_of(found))


def run_passes(module: ModuleOp, given: argparse.Namespace, text_of: TextOf, found: list[Difference]) -> None:
    """Runs the passes; adds what each one changed."""
    state = ["as written", text_of(module, given)]

    def after(step: pipeline.Pass, now: ModuleOp) -> None:
        text = text_of(now, given)
        found.append(difference(state[0], step.name, state[1], text))
        state[:] = [step.name, text]

    if given.to != "none":
        pipeline.run(module, until=given.to, after=after)
