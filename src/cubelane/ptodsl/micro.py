"""Micro-ops as functions: one generic call reads its operands and results from the op table (spec/pto.md 2.7, 4.4).

    pto.vadd(a, b, mask)              operands in the order of the table, also by name
    pto.vcmp(a, b, mask, "lt")        strings of the table follow the operands, or are given by name

Result types follow the operands; where an op changes the type, `to=` names it.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue

from cubelane.ir.pto.decl import OpDecl, Role, Slot
from cubelane.ir.pto.kinds import KINDS
from cubelane.ir.pto.spaces import Pipe
from cubelane.ir.pto.table import op_classes
from cubelane.ptodsl.errors import wrong_type, wrong_value
from cubelane.ptodsl.tracer import Tracer, explicit_only, tracing
from cubelane.ptodsl.types import (
    F32,
    I32,
    I64,
    INDEX,
    AlignType,
    MaskType,
    ScalarType,
    ValueType,
    VectorType,
    full_register,
    mask_type,
)
from cubelane.ptodsl.values import Mask, Pointer, Scalar, Value, Vector, as_scalar, unwrap_results

_INTEGERS = {"index": INDEX, "i64": I64, "i32": I32}
ATTRIBUTES = ("dist", "rnd", "sat", "part", "order", "position")
OPEN_SIGNATURES = {
    "vgather2": "src:ub index:vreg mask:mask -> result:vreg",
    "vgatherb": "src:ub index:vreg mask:mask -> result:vreg",
    "vsldb": "src:ub block_stride:i64 repeat_stride:i64 mask:mask -> result:vreg",
    "vsstb": "value:vreg dst:ub block_stride:i64 repeat_stride:i64 mask:mask",
    "vscatter": "value:vreg dst:ub index:vreg mask:mask",
    "vldas": "src:ub -> state:align",
    "vldus": "src:ub state:align step:i32 -> result:vreg state:align next:ub",
    "vstus": "state:align count:i32 value:vreg dst:ub -> state:align next:ub",
    "vstas": "state:align dst:ub",
    "vstur": "state:align value:vreg dst:ub -> state:align",
    "vstar": "state:align dst:ub",
    "sprclr": "",
}
"""Operands and results of ops whose signature the table leaves open."""


def declaration(name: str) -> OpDecl | None:
    """The table entry of a micro-op, None for names that are no op."""
    found = op_classes().get(f"pto.{name}")
    return None if found is None else found.decl


def operand_slots(decl: OpDecl) -> tuple[Slot, ...]:
    """The operands a call takes."""
    text = OPEN_SIGNATURES.get(decl.name)
    return decl.operands if text is None else _slots(text.partition("->")[0])


def _slots(text: str) -> tuple[Slot, ...]:
    pairs = (word.split(":") for word in text.split())
    return tuple(Slot(name, kind) for name, kind in pairs)


def micro_function(name: str) -> Callable[..., Any] | None:
    """The function of a micro-op, None for names that are no op a kernel may call."""
    decl = declaration(name)
    if decl is None or decl.role is Role.TILE:
        return None
    explicit = decl.name.startswith(("set_atomic", "set_mov", "set_pad")) or "mte" in decl.tags

    def call(*arguments: Any, **named: Any) -> Any:
        tracer = explicit_only(f"pto.{name}") if explicit else tracing(f"pto.{name}")
        return emit_call(tracer, decl, arguments, named)

    call.__name__ = name
    call.__doc__ = f"`pto.{name}`: operands {', '.join(s.name for s in operand_slots(decl)) or 'none'}."
    return call


def emit_call(tracer: Tracer, decl: OpDecl, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Emits one op of the table from the arguments of a call."""
    target = named.pop("to", None)
    attributes = _attributes(named)
    slots = operand_slots(decl)
    taken, strings = _assign(decl, slots, list(arguments), named)
    element = next((v.type.element for v in taken.values() if isinstance(v, Vector)), None)
    operands = [_operand(decl, slot, taken[slot.name], element) for slot in slots if slot.name in taken]
    results = [_result(decl, slot, taken, target) for slot in _results(decl)]
    properties: dict[str, Attribute] = {key: StringAttr(word) for key, word in strings.items()}
    values = tracer.emit(
        decl.name, operands, [kind.attribute for kind in results], properties=properties, attributes=attributes
    )
    return unwrap_results(values)


def _results(decl: OpDecl) -> tuple[Slot, ...]:
    if decl.name in OPEN_SIGNATURES:
        return _slots(OPEN_SIGNATURES[decl.name].partition("->")[2])
    return tuple(slot for slot in decl.results if not slot.optional)


def _attributes(named: dict[str, Any]) -> dict[str, Attribute]:
    return {key: StringAttr(word_of(named.pop(key))) for key in ATTRIBUTES if named.get(key) is not None}


def word_of(value: object) -> str:
    """The word of an enum member or a string."""
    word = value.value if isinstance(value, Enum) else value
    if not isinstance(word, str):
        raise wrong_type(f"expected a word, got {value!r}")
    return word


def _assign(
    decl: OpDecl, slots: tuple[Slot, ...], given: list[Any], named: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Which argument goes to which operand and which string."""
    taken: dict[str, Any] = {}
    strings: dict[str, str] = {}
    for slot in slots:
        if slot.name in named:
            taken[slot.name] = named.pop(slot.name)
        elif given and not (isinstance(given[0], str | Enum) and not isinstance(given[0], Pipe)):
            taken[slot.name] = given.pop(0)
        elif not slot.optional and not slot.variadic:
            raise wrong_type(f"pto.{decl.name} needs its operand '{slot.name}'", instead=_usage(decl, slots))
    for name in decl.strings:
        word = named.pop(name) if name in named else given.pop(0) if given else None
        if word is not None:
            strings[name] = word_of(word)
    if given or named:
        extra = ", ".join([repr(g) for g in given] + list(named))
        raise wrong_type(f"pto.{decl.name} does not take {extra}", instead=_usage(decl, slots))
    return taken, strings


def _usage(decl: OpDecl, slots: tuple[Slot, ...]) -> str:
    words = [slot.name + ("=None" if slot.optional else "") for slot in slots] + [f'{s}="..."' for s in decl.strings]
    return f"pto.{decl.name}({', '.join(words)})"


def _operand(decl: OpDecl, slot: Slot, value: Any, element: ScalarType | None) -> SSAValue:
    what = f"operand '{slot.name}' of pto.{decl.name}"
    if slot.kind in _INTEGERS:
        return as_scalar(value, _INTEGERS[slot.kind], what)
    if slot.kind == "int" and not isinstance(value, Value):
        return as_scalar(value, I32 if decl.name.startswith("plt") else INDEX, what)
    if slot.kind in ("scalar", "any") and not isinstance(value, Value):
        if element is None:
            raise wrong_type(f"{what} needs a typed scalar", instead=f"pto.const({value!r}, dtype=pto.f32)")
        return as_scalar(value, element, what)
    text, test = KINDS[slot.kind]
    if not isinstance(value, Value) or not test(value.ssa.type):
        raise wrong_type(f"{what} must be {text}, got {value!r}")
    if slot.kind == "scalar" and element is not None and isinstance(value, Scalar) and value.type != element:
        return as_scalar(value, element, what)
    return value.ssa


WIDER = {"i8": "i16", "i16": "i32", "si8": "si16", "si16": "si32", "ui8": "ui16", "ui16": "ui32"}


def _result(decl: OpDecl, slot: Slot, taken: dict[str, Any], target: object) -> ValueType:
    if slot.kind == "vreg":
        return _register(decl, taken, target)
    if slot.kind == "align":
        return AlignType()
    if slot.kind == "ub":
        return next(v.type for v in taken.values() if isinstance(v, Pointer))
    if slot.kind == "mask":
        suffix = decl.name.rpartition("_")[2]
        if suffix in ("b8", "b16", "b32"):
            return mask_type(suffix)
        if isinstance(target, MaskType):
            return target
        first = next((v for v in taken.values() if isinstance(v, Mask)), None)
        compared = next((v for v in taken.values() if isinstance(v, Vector)), None)
        if compared is not None:
            return mask_type(f"b{compared.type.element.bits}")
        if first is not None:
            return first.type
        raise wrong_type(f"pto.{decl.name} needs the type of its predicate", instead='to=pto.mask_type("b32")')
    if slot.kind == "i64":
        return I64
    first_scalar = next((v for v in taken.values() if isinstance(v, Scalar)), None)
    if first_scalar is not None:
        return first_scalar.type
    return I32 if decl.name.startswith("plt") else INDEX


def _register(decl: OpDecl, taken: dict[str, Any], target: object) -> VectorType:
    if isinstance(target, VectorType):
        return target
    if isinstance(target, ScalarType):
        return full_register(target)
    if target is not None:
        raise wrong_type(f"to= must be a register type or an element type, got {target!r}")
    first = next((v for v in taken.values() if isinstance(v, Vector)), None)
    if decl.name in OPEN_SIGNATURES:
        return full_register(taken["src"].type.element)
    if first is not None:
        wider = WIDER.get(str(first.type.element)) if decl.name == "vcadd" else None
        if wider is not None:
            raise wrong_type(
                f"pto.vcadd of {first.type.element} gives a wider element", instead=f"pto.vcadd(..., to=pto.{wider})"
            )
        return first.type
    scalar = next((v for v in taken.values() if isinstance(v, Scalar)), None)
    if scalar is not None:
        return full_register(scalar.type)
    raise wrong_type(f"pto.{decl.name} needs the type of its result", instead="to=pto.f32")


def scalar_of(value: object, dtype: ScalarType | None) -> Scalar:
    """A scalar argument that decides the element type of the result."""
    if isinstance(value, Scalar):
        return value
    if not isinstance(value, bool | int | float):
        raise wrong_type(f"expected a number or a scalar, got {value!r}")
    kind = dtype or (F32 if isinstance(value, float) else I32)
    return Scalar(tracing("a constant").constant(value, kind), kind)


def check_bits(value: int, low: int, high: int, what: str) -> int:
    """A static number in a range."""
    if not low <= value <= high:
        raise wrong_value(f"{what} must be {low} to {high}, got {value}")
    return value
