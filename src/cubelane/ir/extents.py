"""Run-time extents: a name (`M`), or whole-number arithmetic over names (`M * 2 + 1`), as text.

The text is that of a Python expression with `+ - * // %`; two extents are the same when their texts are.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from functools import cache

_OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: int.__floordiv__,
    ast.Mod: operator.mod,
}


@cache
def extent_tree(extent: str) -> ast.expr:
    """The expression of an extent; ValueError where the text is none."""
    try:
        return ast.parse(extent, mode="eval").body
    except SyntaxError:
        raise ValueError(f"{extent!r} is no extent") from None


@cache
def extent_symbols(extent: str) -> tuple[str, ...]:
    """The names in an extent, in the order they stand."""
    names = [node.id for node in ast.walk(extent_tree(extent)) if isinstance(node, ast.Name)]
    return tuple(dict.fromkeys(names))


def extent_value(extent: str, values: Mapping[str, int]) -> int | None:
    """The number of elements where the names have these values; None while one of them has none."""
    if extent in values:
        return values[extent]
    if not all(name in values for name in extent_symbols(extent)):
        return None
    return _value(extent_tree(extent), values)


def _value(node: ast.AST, values: Mapping[str, int]) -> int:
    match node:
        case ast.Name(id=name):
            return values[name]
        case ast.Constant(value=int(number)):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner, values)
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATIONS:
            return _OPERATIONS[type(operation)](_value(left, values), _value(right, values))
        case _:
            raise ValueError(f"{ast.unparse(node)!r} is no extent")
