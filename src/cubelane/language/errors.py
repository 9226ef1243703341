"""The refusals of the front end, by class (spec/front.md 1.8). All are `Diagnostic`s."""

from cubelane.ir.diagnostic import Diagnostic, Location


class ParserError(Diagnostic):
    """A kernel that cannot be read."""

    CODE = "parser-error"

    def __init__(
        self,
        message: str,
        location: Location | None = None,
        *notes: str,
        instead: str | None = None,
        code: str | None = None,
    ):
        super().__init__(message, location or Location(), notes, instead, code or self.CODE)

    @property
    def hint(self) -> str | None:
        """What to write instead."""
        return self.instead

    @property
    def span(self) -> Location:
        """Where it is."""
        return self.location


class ParserSyntaxError(ParserError):
    """Text that is no kernel, or a form used where it means nothing."""

    CODE = "syntax"


class KernelCountError(ParserSyntaxError, ValueError):
    """A text that holds no kernel, or several where one is asked for."""

    CODE = "kernel-count"


class NeedsArguments(ParserSyntaxError):
    """A kernel whose types come from the arguments of a call, where there are none."""

    CODE = "needs-arguments"


class ParserTypeError(ParserError):
    """A value or an annotation of the wrong type."""

    CODE = "wrong-type"


class UndefinedVariableError(ParserError):
    """A name that nobody bound."""

    CODE = "undefined-name"


class SSAViolationError(ParserError):
    """A second assignment to a name under `strict_ssa`."""

    CODE = "second-assignment"


class UnsupportedFeatureError(ParserError):
    """Python, or a part of the language, that cannot be compiled."""

    CODE = "unsupported"


class InvalidOperationError(ParserError):
    """An operation that does not exist, or arguments that do not fit it."""

    CODE = "invalid-operation"
