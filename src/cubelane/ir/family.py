"""Op classes made from tables: the declaration of a family is worked out once, not once per member."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar, cast

from xdsl.irdl import IRDLOperation, OpDef, irdl_op_definition
from xdsl.irdl.operations import get_accessors_from_op_def

OpClass = TypeVar("OpClass", bound=IRDLOperation)

_OWN = frozenset({"name", "traits"})
"""What the members of a family do not share."""

_FAMILIES: dict[type[IRDLOperation], OpDef] = {}


def member(base: type[OpClass], word: str, body: Mapping[str, object]) -> type[OpClass]:
    """What `irdl_op_definition` makes of a subclass of `base` with that body: the op class `<Word>Op`.

    Members that add nothing to the operands, results and properties of `base` share its declaration; reading it off the
    class takes xDSL longer than everything else, and the compiler defines all its ops whenever it starts.
    """
    name = "".join(part.title() for part in word.strip("_").split("_")) + "Op"
    made = cast("type[OpClass]", type(name, (base,), dict(body)))
    if not all(key in _OWN or key.startswith("__") for key in body):
        return irdl_op_definition(made)
    family = _FAMILIES.get(base)
    if family is None:
        made = irdl_op_definition(made)
        _FAMILIES[base] = made.get_irdl_definition()
        return made
    declaration = replace(family, name=made.name, traits=made.traits)
    for key, value in get_accessors_from_op_def(declaration, base.verify_).items():
        setattr(made, key, value)
    return made
