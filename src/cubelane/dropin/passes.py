"""`pypto.passes`: the passes by name, on the machine that `pypto.backend` chose."""

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from cubelane import passes
from cubelane.dropin.backend import stamped


class BackendPass:
    """A pass that knows the chosen machine; everything else is that of the pass."""

    def __init__(self, inner: passes.Pass):
        self._inner = inner

    def __call__(self, program: ModuleOp) -> ModuleOp:
        """Runs the pass in place."""
        return self._inner(stamped(program))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def __getattr__(name: str) -> Callable[[], BackendPass]:
    """`passes.NAME()` of every pass of ours."""
    if name.startswith("_") or name not in passes.__all__ or name in ("Pass", "pass_named", "run"):
        raise AttributeError(f"cubelane does not provide pypto.passes.{name}")
    make: Callable[[], passes.Pass] = getattr(passes, name)
    return lambda: BackendPass(make())


def __dir__() -> list[str]:
    return [name for name in passes.__all__ if name not in ("Pass", "pass_named", "run")]
