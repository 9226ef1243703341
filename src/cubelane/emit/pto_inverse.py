"""From PTO IR back to tile ops: which op a spelling stands for, and what its operands and facts were.

The same declaration is read the other way round: `PtoSpelling` says which operands stand in `ins` and which properties
became attributes.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    Float4E2M1FNType,
    Float8E8M0FNUType,
)
from xdsl.ir import Attribute, Block, Operation

from cubelane.emit.pto_tiles import COMPARISON_WORDS
from cubelane.emit.pto_types import PADS, SPACES
from cubelane.ir.diagnostic import refuse
from cubelane.ir.pto.attrs import CmpAttr, RoundModeAttr
from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.types import LAYOUT_DEFAULTS, F4E2M1x2Type, F8E8M0Type, TileFields
from cubelane.ir.surface import OPERAND_KINDS, REQUIRED, Bound, Kind, SurfaceOp, python_value
from cubelane.ir.tile import Tile
from cubelane.ir.tile.masks import COMPARISONS
from cubelane.ir.traits import Meaning, PtoSpelling
from cubelane.ir.types import DYNAMIC, Layout, TileType

_SPACES = {space: memory for memory, space in reversed(SPACES.items())}
_ELEMENTS: dict[Attribute, Attribute] = {F8E8M0Type(): Float8E8M0FNUType(), F4E2M1x2Type(): Float4E2M1FNType()}


def element_of(type_: Attribute) -> Attribute:
    """The element type at tile level."""
    return _ELEMENTS.get(type_, type_)


def layout_fields(kind: TileFields) -> dict[str, str]:
    """Layout, fractal and pad of a tile type, defaults filled in."""
    return {**LAYOUT_DEFAULTS, **dict(text.data.split("=", 1) for text in kind.layout)}


def tile_type(kind: TileFields, extents_known: bool = False) -> TileType:
    """The tile type of a handle's type. Unless `extents_known`, how much is valid shows only when the program runs."""
    fields = layout_fields(kind)
    shape = [extent.data for extent in kind.dims]
    valid = [DYNAMIC if extent.data == DYNAMIC_INDEX or not extents_known else extent.data for extent in kind.valid]
    return TileType.make(
        shape,
        element_of(kind.element),
        _SPACES[kind.space],
        valid,
        blayout=Layout(fields["blayout"]),
        slayout=Layout(fields["slayout"]),
        fractal=int(fields["fractal"]),
        pad=PADS[int(fields["pad"])],
    )


@cache
def _spelled() -> dict[str, list[type[SurfaceOp]]]:
    """The tile ops by the name they have in PTO IR."""
    found: dict[str, list[type[SurfaceOp]]] = {}
    for kind in Tile.operations:
        trait = kind.get_trait(PtoSpelling)
        if trait is not None and trait.name is not None and issubclass(kind, SurfaceOp):
            found.setdefault(trait.name, []).append(kind)
    return found


def _spelling(kind: type[SurfaceOp]) -> PtoSpelling:
    trait = kind.get_trait(PtoSpelling)
    assert trait is not None
    return trait


def _meaning(kind: type[SurfaceOp]) -> str:
    trait = kind.get_trait(Meaning)
    return "" if trait is None else trait.value


def _names(kind: type[SurfaceOp]) -> tuple[str, ...]:
    """The operands in the `ins` clause, those that may be left out included."""
    names = _spelling(kind).ins
    return tuple(p.name for p in kind.PARAMETERS if p.kind in OPERAND_KINDS) if names is None else names


def _fits(kind: type[SurfaceOp], count: int) -> bool:
    optional = {p.name for p in kind.PARAMETERS if p.default is not REQUIRED}
    names = _names(kind)
    return sum(name not in optional for name in names) <= count <= len(names)


def op_spelled(op: PtoOp, count: int) -> type[SurfaceOp]:
    """The tile op that an op of PTO IR with so many inputs stands for; of several of one meaning, any."""
    by_meaning = {_meaning(k): k for k in reversed(_spelled().get(op.name, [])) if _fits(k, count)}
    fitting = list(by_meaning.values())
    if len(fitting) != 1:
        which = ", ".join(k.name for k in fitting) or "no tile op"
        raise refuse(op, f"{op.name} with {count} inputs stands for {which}", code="pto-reading")
    return fitting[0]


def _value(attribute: Attribute) -> Any:
    """An attribute as the property it was made from."""
    if isinstance(attribute, RoundModeAttr):
        return attribute.word.data.lower()
    if isinstance(attribute, CmpAttr):
        words = {word: text for text, word in COMPARISON_WORDS.items()}
        return COMPARISONS.index(words[attribute.word.data])
    return python_value(attribute)


def as_tile_op(op: PtoOp, types: Sequence[Attribute], result: TileType) -> SurfaceOp:
    """The tile op on operands of these types, which are the arguments of a block of their own.

    A tile that the text does not name (it lends only its shape) is one more argument, of the type of the result.
    """
    kind = op_spelled(op, len(types))
    block = Block(arg_types=[*types, result])
    given = dict(zip(_names(kind), block.args[: len(types)], strict=False))
    arguments: dict[str, Any] = {}
    for parameter in kind.PARAMETERS:
        if parameter.name in given:
            arguments[parameter.name] = given[parameter.name]
        elif parameter.kind is Kind.VALUE and parameter.default is REQUIRED:
            arguments[parameter.name] = block.args[-1]
    facts = {attribute: name for name, attribute in _spelling(kind).facts}
    for attribute, value in op.attributes.items():
        if attribute in facts:
            arguments[facts[attribute]] = _value(value)
    made = kind.from_call(Bound(arguments), result)
    block.add_op(made)
    return made


def stands_in(op: SurfaceOp) -> Sequence[Any]:
    """The arguments of the block that `as_tile_op` made around an op: the inputs, then the output."""
    block = op.parent
    assert isinstance(block, Block) and isinstance(op, Operation)
    return block.args
