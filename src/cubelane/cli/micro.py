"""Which files the commands judge on the micro-op machine. What does it is loaded only for those files."""

import argparse
import importlib
import re

from cubelane.check.kernel_file import split_name
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.text_file import read_text

_IMPORTS = re.compile(r"^\s*from\s+(cubelane\.)?ptodsl\s+import|^\s*import\s+(cubelane\.)?ptodsl", re.MULTILINE)


def handles(file: str) -> bool:
    """Whether a file is PTO text, or Python that imports the tracing language."""
    path = split_name(file)[0]
    if path.suffix == ".pto":
        return True
    try:
        return path.suffix == ".py" and _IMPORTS.search(read_text(path)) is not None
    except (OSError, Diagnostic):
        return False


def run(command: str, given: argparse.Namespace) -> int:
    """Runs `compile`, `check` or `emit` on such a file."""
    return getattr(importlib.import_module("cubelane.cli.micro_commands"), f"{command}_file")(given)
