"""Who runs a `@pl.jit` kernel: the language knows nothing below the IR, so the package says it here."""

from collections.abc import Callable
from typing import Any

Runner = Callable[[Any, str, tuple[Any, ...], dict[str, Any]], Any]
"""Takes the kernel, what to do (`lower`, `compile` or `call`), and the arguments of the call."""

_INSTALLED: list[Runner] = []


def install_runner(runner: Runner) -> None:
    """Says how `lower`, `compile` and calls of jit kernels are done."""
    _INSTALLED[:] = [runner]


def runner() -> Runner | None:
    """What was installed, None if nothing was."""
    return _INSTALLED[0] if _INSTALLED else None
