"""`pypto.backend`: the machine that a script compiles for, chosen once a process (spec/front.md 4.6)."""

from enum import Enum

from xdsl.dialects.builtin import ModuleOp, StringAttr

from cubelane.ir.kernel import TARGET


class BackendType(Enum):
    """A machine, by its name in the other package; the value is the name of the target."""

    Ascend910B = "a2a3"
    Ascend950 = "a5"


_CHOSEN: list[BackendType] = []


def set_backend_type(backend: BackendType) -> None:
    """Chooses the machine. ValueError when another one was chosen before."""
    if _CHOSEN and _CHOSEN[0] is not backend:
        raise ValueError(f"the backend is already set to {_CHOSEN[0].name}; reset_for_testing() takes it back")
    _CHOSEN[:] = [backend]


def get_backend_type() -> BackendType | None:
    """The chosen machine, None while there is none."""
    return _CHOSEN[0] if _CHOSEN else None


def reset_for_testing() -> None:
    """Takes the choice back."""
    _CHOSEN.clear()


def stamped(program: ModuleOp, default: BackendType | None = None) -> ModuleOp:
    """The program, to be compiled for the chosen machine (or `default`) unless it says otherwise itself."""
    backend = get_backend_type() or default
    if backend is not None and TARGET not in program.attributes:
        program.attributes[TARGET] = StringAttr(backend.value)
    return program


__all__ = ["BackendType", "get_backend_type", "reset_for_testing", "set_backend_type"]
