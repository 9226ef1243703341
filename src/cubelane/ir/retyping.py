"""A value gets another type."""

from xdsl.ir import Attribute, SSAValue


def retyped(value: SSAValue, type_: Attribute) -> SSAValue:
    """The same value with another type; what uses it goes on using it.

    xDSL's own way makes a new value and moves every use over to it, a tenth of the work of a pass that types all
    values anew. The type of a value is no part of its identity, so nothing that holds the value has to know.
    """
    value._type = type_  # pyright: ignore[reportPrivateUsage]
    return value
