"""Type tests that a type checker follows.

Under `isinstance` alone the generic classes of xDSL lose their parameters, so that everything read from them is unknown
to a strict checker. These functions are `isinstance`, with the parameters kept.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, TypeVar

from typing_extensions import TypeIs
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import OpResult, SSAValue

T = TypeVar("T")
_IS_ONE: defaultdict[object, dict[type, bool]] = defaultdict(dict)
"""Per wanted class or classes, whether the class of something is one of them."""


def is_one(thing: object, kinds: type[T] | tuple[type[T], ...]) -> TypeIs[T]:
    """`isinstance`, decided once per class.

    For the abstract classes of xDSL (ops, values, attributes) `isinstance` calls Python code whenever the answer is no.
    """
    known = _IS_ONE[kinds]
    answer = known.get(thing.__class__)
    if answer is None:
        answer = known[thing.__class__] = issubclass(thing.__class__, kinds)
    return answer


def only(things: Iterable[object], kinds: type[T] | tuple[type[T], ...]) -> list[T]:
    """Those of the given classes, in their order; a walk over a body asks this of every op, so without a call each."""
    known = _IS_ONE[kinds]
    found: list[Any] = []
    for thing in things:
        answer = known.get(thing.__class__)
        if answer is None:
            answer = known[thing.__class__] = issubclass(thing.__class__, kinds)
        if answer:
            found.append(thing)
    return found


def is_value(value: object) -> TypeIs[SSAValue]:
    """Whether something is an SSA value."""
    return is_one(value, SSAValue)


def is_result(value: object) -> TypeIs[OpResult]:
    """Whether something is the result of an op."""
    return is_one(value, OpResult)


def is_integer(type_: object) -> TypeIs[IntegerType]:
    """Whether a type is an integer of some width; an index is none."""
    return is_one(type_, IntegerType)


def is_integer_attribute(attribute: object) -> TypeIs[IntegerAttr[IndexType | IntegerType]]:
    """Whether an attribute is an integer constant."""
    return is_one(attribute, IntegerAttr)


def is_tuple(value: object) -> TypeIs[tuple[Any, ...]]:
    """Whether something is a tuple of whatever."""
    return isinstance(value, tuple)


def is_list(value: object) -> TypeIs[list[Any]]:
    """Whether something is a list of whatever."""
    return isinstance(value, list)
