"""Type tests that a type checker follows.

Under `isinstance` alone the generic classes of xDSL lose their parameters, so that everything read from them is unknown
to a strict checker. These functions are `isinstance`, with the parameters kept.
"""

from typing import Any

from typing_extensions import TypeIs
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import OpResult, SSAValue


def is_value(value: object) -> TypeIs[SSAValue]:
    """Whether something is an SSA value."""
    return isinstance(value, SSAValue)


def is_result(value: object) -> TypeIs[OpResult]:
    """Whether something is the result of an op."""
    return isinstance(value, OpResult)


def is_integer(type_: object) -> TypeIs[IntegerType]:
    """Whether a type is an integer of some width; an index is none."""
    return isinstance(type_, IntegerType)


def is_integer_attribute(attribute: object) -> TypeIs[IntegerAttr[IndexType | IntegerType]]:
    """Whether an attribute is an integer constant."""
    return isinstance(attribute, IntegerAttr)


def is_tuple(value: object) -> TypeIs[tuple[Any, ...]]:
    """Whether something is a tuple of whatever."""
    return isinstance(value, tuple)


def is_list(value: object) -> TypeIs[list[Any]]:
    """Whether something is a list of whatever."""
    return isinstance(value, list)
