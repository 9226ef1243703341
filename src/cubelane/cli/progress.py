"""What is being done, on a terminal only: one line that is rewritten, or a bar where the number of steps is known."""

import sys
from types import TracebackType
from typing import Any

from cubelane.report.console import drawing, is_terminal


class Progress:
    """Call it with the name of the step that begins; it rewrites one line and clears it at the end."""

    def __init__(self, enabled: bool = True):
        self.enabled = enabled and is_terminal(sys.stderr)

    def __call__(self, step: str) -> None:
        """Shows a step."""
        if self.enabled:
            sys.stderr.write(f"\r\x1b[2K{step} ...")
            sys.stderr.flush()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.enabled:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()


class Bar:
    """A progress bar of `total` steps. Call it with how many are done and what ended last."""

    def __init__(self, total: int, enabled: bool = True):
        self._bar: Any = None
        if enabled and total and is_terminal(sys.stderr):
            self._bar = drawing().Bar(sys.stderr, total)

    def __call__(self, done: int, step: str = "") -> None:
        """Moves the bar."""
        if self._bar is not None:
            self._bar.at(done, step)

    def __enter__(self) -> "Bar":
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
