"""The operations of the language as attributes of `pl`, `pl.tile`, `pl.tensor`, `pl.system`, with real signatures.

They are made from the op classes, so that completion and `help(pl.tile.load)` say what the compiler knows. Calling
one outside a kernel is refused: kernels are read, not executed.
"""

from collections.abc import Callable
from functools import cache
from inspect import Parameter as PythonParameter
from inspect import Signature
from typing import Any, NoReturn

from cubelane.ir.surface import REQUIRED
from cubelane.language.registry import ALIASES, NAMESPACES, OPERATIONS, OpClass, find, refusal, similar, spaces_of

SCALAR_FUNCTIONS = {
    "min": "The smaller of two scalars.",
    "max": "The larger of two scalars.",
}


class Namespace:
    """`pl.tile`, `pl.tensor` or `pl.system`."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> Callable[..., Any]:
        op = None if name.startswith("__") else find(self._name, name)
        if op is None:
            near = similar(name, (self._name,))
            hint = f"; did you mean {near}?" if near else ""
            raise AttributeError(f"pl.{self._name} has no operation {name!r}{hint}")
        return _function(op, f"{self._name}.{op.SPELLING}")

    def __dir__(self) -> list[str]:
        return sorted(op.SPELLING for (space, _), op in OPERATIONS.items() if space == self._name)

    def __repr__(self) -> str:
        return f"<namespace pl.{self._name}>"


def signature(op: OpClass) -> Signature:
    """The signature of a call, from what the op class declares."""
    parameters: list[PythonParameter] = []
    for parameter in op.PARAMETERS:
        keyword = parameter.keyword or any(p.kind is PythonParameter.KEYWORD_ONLY for p in parameters)
        default = PythonParameter.empty if parameter.default is REQUIRED else parameter.default
        if not keyword and default is PythonParameter.empty:
            keyword = any(p.default is not PythonParameter.empty for p in parameters)
        kind = PythonParameter.KEYWORD_ONLY if keyword else PythonParameter.POSITIONAL_OR_KEYWORD
        parameters.append(PythonParameter(parameter.label, kind, default=default))
    return Signature(parameters)


def documentation(op: OpClass) -> str:
    """What an op does and what its arguments are."""
    lines = [(op.__doc__ or "").strip()]
    if op.PARAMETERS:
        lines += ["", *(f"    {p.label}: {p.kind.value}" for p in op.PARAMETERS)]
    return "\n".join(lines)


@cache
def _function(op: OpClass, name: str) -> Callable[..., Any]:
    def operation(*arguments: Any, **keywords: Any) -> NoReturn:
        raise TypeError(f"pl.{name} means something inside a kernel only; kernels are read, not executed")

    operation.__name__ = name.rpartition(".")[2]
    operation.__qualname__ = f"pl.{name}"
    operation.__doc__ = documentation(op)
    operation.__signature__ = signature(op)  # pyright: ignore[reportFunctionMemberAccess]
    return operation


@cache
def lookup(name: str) -> Any:
    """What `pl.<name>` is; AttributeError if nothing."""
    if name in NAMESPACES:
        return Namespace(name)
    space = ALIASES.get(name)
    spaces = spaces_of(name)
    if space is None and spaces:
        space = ("tile" if "tile" in spaces else spaces[0], name)
    op = find(*space) if space else None
    if op is not None:
        return _function(op, name)
    if name in SCALAR_FUNCTIONS:
        return _scalar(name)
    refused = refusal((name,))
    if refused is not None:
        raise AttributeError(f"{refused[0]}; instead: {refused[1]}")
    near = similar(name)
    hint = f"; did you mean {near}?" if near else ""
    raise AttributeError(f"module 'cubelane.language' has no attribute {name!r}{hint}")


def _scalar(name: str) -> Callable[[Any, Any], Any]:
    def function(lhs: Any, rhs: Any) -> NoReturn:
        raise TypeError(f"pl.{name} means something inside a kernel only; kernels are read, not executed")

    function.__name__ = name
    function.__doc__ = SCALAR_FUNCTIONS[name]
    return function


def names() -> list[str]:
    """Every operation that `pl` knows."""
    return sorted({op.SPELLING for op in OPERATIONS.values()} | {*ALIASES, *NAMESPACES, *SCALAR_FUNCTIONS})
