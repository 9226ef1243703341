"""A line that says what is being done, on a terminal only."""

import sys
from types import TracebackType


class Progress:
    """Call it with the name of the step that begins; it rewrites one line and clears it at the end."""

    def __init__(self, enabled: bool = True):
        self.enabled = enabled and sys.stderr.isatty()

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
