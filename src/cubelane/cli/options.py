"""Options that several commands share."""

import argparse

from xdsl.dialects.builtin import ModuleOp, StringAttr

from cubelane.ir.kernel import TARGET
from cubelane.ir.modes import with_mode
from cubelane.ir.types import SplitMode
from cubelane.targets import TARGETS

MODES: dict[str, SplitMode] = {mode.name.lower(): mode for mode in SplitMode}
"""Split modes by their name on the command line."""


def add_target(arguments: argparse.ArgumentParser) -> None:
    """`--target`."""
    arguments.add_argument("--target", choices=sorted(TARGETS), default="a2a3", help="the machine to compile for")


def add_mode(arguments: argparse.ArgumentParser) -> None:
    """`--mode`: replaces the author's split mode."""
    arguments.add_argument("--mode", choices=sorted(MODES), default=None, help="use this split mode instead")


def prepared(module: ModuleOp, given: argparse.Namespace) -> ModuleOp:
    """The program with the chosen target and mode written into it."""
    module.attributes[TARGET] = StringAttr(given.target)
    if given.mode is not None:
        with_mode(module, MODES[given.mode])
    return module
