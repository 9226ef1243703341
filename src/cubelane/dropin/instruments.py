"""`pypto.passes`: contexts and instruments, which watch every pass that a script runs (spec/front.md 8.1)."""

import threading
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Protocol

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from cubelane import language
from cubelane.analysis.equality import structurally_equal
from cubelane.ir.diagnostic import Diagnostic


class VerificationLevel(Enum):
    """What is verified behind each pass of a context."""

    NONE = 0
    BASIC = 1
    ROUNDTRIP = 2


class VerificationMode(Enum):
    """When an instrument verifies."""

    BEFORE = 1
    AFTER = 2
    BEFORE_AND_AFTER = 3


class Named(Protocol):
    """A pass, as instruments see it."""

    def get_name(self) -> str:
        """The name of the pass."""
        ...


Callback = Callable[[Any, ModuleOp], None]


class CallbackInstrument:
    """Calls functions with the pass and the program, before and behind every pass."""

    def __init__(
        self,
        before_pass: Callback | None = None,
        after_pass: Callback | None = None,
        name: str = "CallbackInstrument",
    ):
        self.before_pass, self.after_pass, self.name = before_pass, after_pass, name

    def get_name(self) -> str:
        """The name of the instrument."""
        return self.name

    def before(self, step: Named, program: ModuleOp) -> None:
        """Called before a pass."""
        if self.before_pass is not None:
            self.before_pass(step, program)

    def after(self, step: Named, program: ModuleOp) -> None:
        """Called behind a pass."""
        if self.after_pass is not None:
            self.after_pass(step, program)


class VerificationInstrument(CallbackInstrument):
    """Verifies the program around every pass; a Diagnostic names the pass."""

    def __init__(self, mode: VerificationMode = VerificationMode.AFTER):
        before = None if mode is VerificationMode.AFTER else self._verify
        after = None if mode is VerificationMode.BEFORE else self._verify
        super().__init__(before, after, "VerificationInstrument")

    @staticmethod
    def _verify(step: Named, program: ModuleOp) -> None:
        try:
            program.verify()
        except VerifyException as problem:
            raise Diagnostic(f"verification failed at {step.get_name()}: {problem}", code="verification") from problem


def _round_trip(step: Named, program: ModuleOp) -> None:
    text = language.print_program(program)
    difference = structurally_equal(program, language.parse(text))
    if difference is not None:
        raise RuntimeError(
            f"the program behind {step.get_name()} does not come back from its text: {difference}\n{text}"
        )


def make_roundtrip_instrument() -> CallbackInstrument:
    """Prints, parses and compares behind every pass; RuntimeError with the text where a program does not come back."""
    return CallbackInstrument(after_pass=_round_trip, name="RoundtripInstrument")


_STACK = threading.local()


class PassContext:
    """The instruments of the passes that run inside `with`; an inner context replaces the outer one."""

    def __init__(
        self,
        instruments: Sequence[CallbackInstrument] = (),
        verification_level: VerificationLevel = VerificationLevel.BASIC,
    ):
        self.instruments = list(instruments)
        self.verification_level = verification_level
        if verification_level is not VerificationLevel.NONE:
            self.instruments.append(VerificationInstrument())
        if verification_level is VerificationLevel.ROUNDTRIP:
            self.instruments.append(make_roundtrip_instrument())

    def __enter__(self) -> "PassContext":
        _contexts().append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _contexts().remove(self)

    @staticmethod
    def current() -> "PassContext | None":
        """The innermost context of this thread."""
        return _contexts()[-1] if _contexts() else None


def _contexts() -> list[PassContext]:
    if not hasattr(_STACK, "contexts"):
        _STACK.contexts = list[PassContext]()
    return _STACK.contexts


def observed(step: Named, program: ModuleOp, run: Callable[[], ModuleOp]) -> ModuleOp:
    """Runs a pass between the instruments of the context."""
    context = PassContext.current()
    instruments = context.instruments if context is not None else ()
    for instrument in instruments:
        instrument.before(step, program)
    result = run()
    for instrument in instruments:
        instrument.after(step, result)
    return result
