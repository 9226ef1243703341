"""Misuse of the tracing language: diagnostics at the user's line that are also the Python errors a script expects.

A script written for the language catches TypeError, ValueError or RuntimeError; each class here is one of them.
"""

import contextlib
import sys
from pathlib import Path
from types import CodeType, FrameType

from cubelane.ir.diagnostic import Diagnostic, Location

_SKIPPED = (str(Path(__file__).parent), contextlib.__file__)
_POSITIONS: dict[CodeType, list[tuple[int | None, int | None, int | None, int | None]]] = {}


class WrongType(Diagnostic, TypeError):
    """A value of the wrong type."""


class WrongValue(Diagnostic, ValueError):
    """A value out of range."""


class WrongPlace(Diagnostic, RuntimeError):
    """A call where it is not allowed."""


class WrongAttribute(Diagnostic, AttributeError):
    """A name the language does not have."""


def user_frame() -> FrameType | None:
    """The innermost frame of the user: outside this package and the context managers it makes."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_code.co_filename.startswith(_SKIPPED):
        frame = frame.f_back
    return frame


def user_location() -> Location:
    """The expression of the user's file that is being evaluated."""
    frame = user_frame()
    if frame is None:
        return Location()
    code = frame.f_code
    positions = _POSITIONS.get(code)
    if positions is None:
        positions = _POSITIONS[code] = list(code.co_positions())
    line, _, column, _ = positions[frame.f_lasti // 2]
    return Location(code.co_filename, line or frame.f_lineno, (column or 0) + 1)


def wrong_type(message: str, *notes: str, instead: str | None = None, code: str = "wrong-type") -> WrongType:
    """A refusal of a value's type, at the user's line."""
    return WrongType(message, user_location(), notes, instead, code)


def wrong_value(message: str, *notes: str, instead: str | None = None, code: str = "wrong-value") -> WrongValue:
    """A refusal of a value, at the user's line."""
    return WrongValue(message, user_location(), notes, instead, code)


def wrong_place(message: str, *notes: str, instead: str | None = None, code: str = "wrong-place") -> WrongPlace:
    """A refusal of a call at this place, at the user's line."""
    return WrongPlace(message, user_location(), notes, instead, code)
