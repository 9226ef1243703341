"""The operations of the language as attributes of `pl`, `pl.tile`, `pl.tensor`, `pl.system`, with real signatures.

They are made from the op classes, so that completion and `help(pl.tile.load)` say what the compiler knows. Calling
one outside a kernel is refused: kernels are read, not executed. `language.stub` writes the same for type checkers.
"""

from collections.abc import Callable, Sequence
from functools import cache
from inspect import Parameter as PythonParameter
from inspect import Signature, cleandoc
from typing import Any, NoReturn

from cubelane.ir.surface import REQUIRED, Kind, Parameter
from cubelane.language.registry import ALIASES, NAMESPACES, OPERATIONS, OpClass, find, refusal, similar, spaces_of

SCALAR_FUNCTIONS = {
    "min": "The smaller of two scalars.",
    "max": "The larger of two scalars.",
}

ANNOTATIONS: dict[Kind, str] = {
    Kind.VALUE: "Value",
    Kind.SCALAR: "Value | float",
    Kind.INDEX: "Value | int",
    Kind.INDICES: "Sequence[Value | int]",
    Kind.EXTENTS: "Sequence[Value | int | None]",
    Kind.SHAPE: "Sequence[int]",
    Kind.DTYPE: "DataType",
    Kind.SPACE: "MemorySpace",
    Kind.BLAYOUT: "TileLayout",
    Kind.SLAYOUT: "TileLayout",
    Kind.PAD: "PadValue | float",
    Kind.INT: "int | AtomicType | NotifyOp",
    Kind.INTS: "Sequence[int]",
    Kind.PAD_TEXT: "PadValue | float",
    Kind.BOOL: "bool",
    Kind.NUMBER: "float",
    Kind.TEXT: "str",
    Kind.ROUND: "str",
    Kind.LAYOUT: "TensorLayout",
}
"""What a parameter takes, as a type checker reads it; `Value` is whatever a kernel computes with."""


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
        return _function((op,), f"{self._name}.{op.SPELLING}")

    def __dir__(self) -> list[str]:
        return sorted(op.SPELLING for (space, _), op in OPERATIONS.items() if space == self._name)

    def __repr__(self) -> str:
        return f"<namespace pl.{self._name}>"


def signature(op: OpClass) -> Signature:
    """The signature of a call, from what the op class declares."""
    return signature_of((op,))


def signature_of(ops: Sequence[OpClass]) -> Signature:
    """The signature of a call that means the first op of a tile and the second of a tensor, or the one there is.

    What only one of them takes may be left out.
    """
    first, *others = ops
    parameters = [(p, _is_shared(p, at, others)) for at, p in enumerate(first.PARAMETERS)]
    known = {p.label for p in first.PARAMETERS}
    for other in others:
        extra = [p for at, p in enumerate(other.PARAMETERS) if p.label not in known and not _is_shared(p, at, [first])]
        parameters += [(p, False) for p in extra]
    return Signature(_python_parameters(parameters))


def _is_shared(parameter: Parameter, position: int, others: Sequence[OpClass]) -> bool:
    """Whether the other forms take a parameter too: at its place, or by its name."""

    def has(op: OpClass) -> bool:
        if any(p.label == parameter.label for p in op.PARAMETERS):
            return True
        same = op.PARAMETERS[position : position + 1]
        return bool(same) and not parameter.keyword and not same[0].keyword and same[0].kind is parameter.kind

    return all(map(has, others))


def _python_parameters(parameters: Sequence[tuple[Parameter, bool]]) -> list[PythonParameter]:
    made: list[PythonParameter] = []
    for parameter, shared in parameters:
        default = parameter.default if shared else None
        missing = default is REQUIRED
        keyword = any(p.kind is PythonParameter.KEYWORD_ONLY for p in made)
        keyword = keyword or (missing and any(p.default is not PythonParameter.empty for p in made))
        annotation = ANNOTATIONS[parameter.kind] + (" | None" if default is None else "")
        made.append(
            PythonParameter(
                parameter.label,
                PythonParameter.KEYWORD_ONLY if keyword else PythonParameter.POSITIONAL_OR_KEYWORD,
                default=PythonParameter.empty if missing else default,
                annotation=annotation,
            )
        )
    return made


def summary(ops: Sequence[OpClass]) -> str:
    """What the ops do."""
    return "\n\n".join(dict.fromkeys(cleandoc(op.__doc__ or "") for op in ops))


def documentation(ops: Sequence[OpClass]) -> str:
    """What the ops do and what their arguments are."""
    lines = [summary(ops)]
    parameters = {p.label: p for op in ops for p in op.PARAMETERS}
    if parameters:
        lines += ["", *(f"    {label}: {p.kind.value}" for label, p in parameters.items())]
    return "\n".join(lines)


@cache
def _function(ops: tuple[OpClass, ...], name: str) -> Callable[..., Any]:
    def operation(*arguments: Any, **keywords: Any) -> NoReturn:
        raise TypeError(f"pl.{name} means something inside a kernel only; kernels are read, not executed")

    operation.__name__ = name.rpartition(".")[2]
    operation.__qualname__ = f"pl.{name}"
    operation.__doc__ = documentation(ops)
    setattr(operation, "__signature__", signature_of(ops))  # noqa: B010 - a function declares no such attribute
    return operation


def forms(name: str) -> tuple[OpClass, ...]:
    """The ops that `pl.<name>` may mean: the tile form first."""
    if name in ALIASES:
        spaces = [ALIASES[name]]
    else:
        order = ("tile", "tensor", "system")
        spaces = [(space, name) for space in sorted(spaces_of(name), key=order.index)]
    return tuple(op for op in (find(*space) for space in spaces) if op is not None)


@cache
def lookup(name: str) -> Any:
    """What `pl.<name>` is; AttributeError if nothing."""
    if name in NAMESPACES:
        return Namespace(name)
    ops = forms(name)
    if ops:
        return _function(ops, name)
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
