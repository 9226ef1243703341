"""Options that several commands share."""

import argparse
from importlib import import_module

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr

from cubelane.ir.kernel import TARGET, SplitWord
from cubelane.targets import TARGETS


def add_target(arguments: argparse.ArgumentParser) -> None:
    """`--target`."""
    arguments.add_argument("--target", choices=sorted(TARGETS), default="a2a3", help="the machine to compile for")


def add_mode(arguments: argparse.ArgumentParser) -> None:
    """`--mode`: replaces the author's split mode."""
    arguments.add_argument(
        "--mode", choices=sorted(word.value for word in SplitWord), default=None, help="use this split mode instead"
    )


def prepared(module: ModuleOp, given: argparse.Namespace) -> ModuleOp:
    """The program with the chosen target and mode written into it."""
    module.attributes[TARGET] = StringAttr(given.target)
    if given.mode is not None:
        passes = import_module("cubelane.passes.tile.choose_split_mode")  # not needed by most runs
        passes.ChooseSplitMode(given.mode).apply(Context(), module)
    return module


def show_text(text: str, given: argparse.Namespace, **facts: str | None) -> None:
    """Prints a program: its text, or a JSON object with its text and what else is known of it."""
    if given.format == "json":
        json = import_module("json")
        print(json.dumps({"file": given.file, "form": given.form, **facts, "text": text}, indent=1))
    else:
        print(text)
