"""Verifier rules of single op families (spec/pto.md 4.10). Each answers what is wrong, or None."""

import re
from collections.abc import Iterable
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float32Type,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue

from cubelane.ir.pto.clauses import clause_entries
from cubelane.ir.pto.decl import Rule
from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.pipe_text import EVENT, MODE, pipe_property
from cubelane.ir.pto.spaces import Pipe, Space
from cubelane.ir.pto.types import (
    F4E1M2x2Type,
    F4E2M1x2Type,
    Hif8Type,
    MaskType,
    PtrType,
    VregType,
    element_bits,
    space_of,
)

SCALED_ELEMENTS = (Float8E4M3FNType, Float8E5M2Type, F4E1M2x2Type, F4E2M1x2Type)
SIGNAL_PIPES = (Pipe.FIX, Pipe.MTE1, Pipe.MTE2, Pipe.MTE3, Pipe.V)


def _named(op: Operation, *names: str) -> list[SSAValue]:
    assert isinstance(op, PtoOp)
    found = [op.operand(name) for name in names]
    return [value for value in found if value is not None]


def _element(value: SSAValue) -> Attribute | None:
    kind = value.type
    if isinstance(kind, PtrType):
        return kind.element
    if isinstance(kind, VregType):
        return kind.element
    return cast("MemRefType[Attribute]", kind).element_type if isinstance(kind, MemRefType) else None


def constant_of(value: SSAValue) -> int | None:
    """The integer a value is known to be, when a constant defines it."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def matrix_spaces(op: Operation) -> str | None:
    """The operands of a mad lie in l0a, l0b and l0c; a bias in bt with the element type of the result."""
    spaces = [space_of(value) for value in _named(op, "lhs", "rhs", "dst")]
    if spaces != [Space.L0A, Space.L0B, Space.L0C]:
        return "requires l0a/l0b/l0c-typed lhs/rhs/dst pointers"
    bias = _named(op, "bias")
    if bias and (space_of(bias[0]) is not Space.BT or _element(bias[0]) != _element(_named(op, "dst")[0])):
        return "requires a bias in bt with the element type of dst"
    return None


def matrix_elements(op: Operation) -> str | None:
    """hif8 goes with hif8 only; tf32 is a mode of f32; saturation is a mode of floats."""
    assert isinstance(op, PtoOp)
    lhs, rhs, dst = (_element(value) for value in _named(op, "lhs", "rhs", "dst"))
    if isinstance(lhs, Hif8Type) != isinstance(rhs, Hif8Type):
        return "requires lhs/rhs to both use hif8 or both use non-hif8 element types"
    floats = isinstance(dst, AnyFloat)
    if op.clause_args("tf32_mode") and not all(isinstance(e, Float32Type) for e in (lhs, rhs, dst)):
        return "tf32_mode is for f32 x f32 -> f32 only"
    if (op.clause_args("sat") or op.clause_args("nosat")) and not floats:
        return "sat/nosat is for floating point results only"
    if op.clause_args("sat") and op.clause_args("nosat"):
        return "sat and nosat exclude each other"
    return None


def scaled_elements(op: Operation) -> str | None:
    """A product with scales multiplies 8-bit or packed 4-bit floats."""
    elements = [_element(value) for value in _named(op, "lhs", "rhs")]
    if all(isinstance(element, SCALED_ELEMENTS) for element in elements):
        return None
    return f"requires MX element types (f8E4M3FN, f8E5M2, f4E1M2x2, f4E2M1x2), got {elements[0]} and {elements[1]}"


def casts_pointer(op: Operation) -> str | None:
    """A cast keeps the space of a pointer; it makes no integer out of an integer or a memref."""
    source, result = op.operands[0].type, op.results[0].type
    if isinstance(source, PtrType) and isinstance(result, PtrType) and source.space is not result.space:
        return f"a pointer cast must keep the space: {source.space.value} became {result.space.value}"
    if not isinstance(source, PtrType) and not isinstance(result, PtrType):
        return "one side of a castptr must be a pointer"
    return None


def same_type(op: Operation) -> str | None:
    """The result has exactly the type of the first operand."""
    if op.results[0].type != op.operands[0].type:
        return f"the result type must be that of the pointer, {op.operands[0].type}"
    return None


def moves_element(pointer: str, value: str | None) -> Rule:
    """The value read or written has the element type of the pointer. `value` None is the first result."""

    def check(op: Operation) -> str | None:
        element = _element(_named(op, pointer)[0])
        moved = op.results[0] if value is None else _named(op, value)[0]
        kind = moved.type.element if isinstance(moved.type, VregType) else moved.type
        if element is not None and kind != element and element_bits(kind) != element_bits(element):
            return f"moves {kind} through a pointer to {element}"
        return None

    return check


def exact_element(pointer: str, value: str | None) -> Rule:
    """As `moves_element`, but the types must be equal."""

    def check(op: Operation) -> str | None:
        element = _element(_named(op, pointer)[0])
        moved = op.results[0] if value is None else _named(op, value)[0]
        return None if element in (None, moved.type) else f"value type {moved.type} must be the element type {element}"

    return check


def one_of(name: str, words: Iterable[str]) -> Rule:
    """The string `name` is one of `words`."""
    legal = tuple(words)

    def check(op: Operation) -> str | None:
        text = op.properties.get(name)
        if isinstance(text, StringAttr) and text.data not in legal:
            return f"{name} '{text.data}' is not one of {', '.join(legal)}"
        return None

    return check


def has_string(name: str) -> Rule:
    """The string `name` is given."""
    return lambda op: None if name in op.properties else f"needs its {name} as a string"


def result_granularity(bits: int) -> Rule:
    """The suffix of the op says the granularity of the mask it gives."""

    def check(op: Operation) -> str | None:
        kind = op.results[0].type
        if isinstance(kind, MaskType) and kind.bits != bits:
            return f"gives a !pto.mask<b{bits}>, not {kind}"
        return None

    return check


def compares_in_width(op: Operation) -> str | None:
    """A comparison gives a mask at the width of what it compares."""
    element, kind = _element(op.operands[0]), op.results[0].type
    if element is None or not isinstance(kind, MaskType):
        return None
    bits = element_bits(element)
    return None if bits == kind.bits else f"compares {bits}-bit elements but gives {kind}"


def attribute_one_of(name: str, words: Iterable[str]) -> Rule:
    """The string attribute `name`, where it is given, is one of `words` in any case."""
    legal = tuple(words)

    def check(op: Operation) -> str | None:
        text = op.attributes.get(name, op.properties.get(name))
        if text is None or (isinstance(text, StringAttr) and text.data.upper() in legal):
            return None
        return f"{name} {text} is not one of {', '.join(legal)}"

    return check


def _with_widths(*families: str) -> tuple[str, ...]:
    return tuple(f"{family}_B{bits}" for family in families for bits in (8, 16, 32))


LOAD_DISTRIBUTIONS = ("NORM", "BRC_BLK", *_with_widths("BRC", "US", "DS", "UNPK", "E2B"), "UNPK4", "UNPK4_B8")
STORE_DISTRIBUTIONS = ("NORM", *_with_widths("NORM", "1PT", "PK"), "PK_B64", "PK4", "PK4_B32",
                       *_with_widths("MRG2CHN", "MRG4CHN"))  # fmt: skip
PAIR_LOAD_DISTRIBUTIONS = ("BDINTLV", *_with_widths("DINTLV"))
PAIR_STORE_DISTRIBUTIONS = _with_widths("INTLV")
ROUNDINGS = ("R", "A", "F", "C", "Z", "O")
PARTS = tuple(prefix + part for prefix in ("", "PART_") for part in ("EVEN", "ODD", "P0", "P1", "P2", "P3"))


_WIDTH_SUFFIX = re.compile(r"(?P<family>\w+?)_B(?P<bits>8|16|32)")
_OTHER_WIDTH = ("UNPK", "UNPK4", "PK", "PK4")


def distribution_width(value: str | None) -> Rule:
    """A distribution with a width suffix moves elements of that width; (un)packing ones name the other width."""

    def check(op: Operation) -> str | None:
        text = op.attributes.get("dist", op.properties.get("dist"))
        found = _WIDTH_SUFFIX.fullmatch(text.data) if isinstance(text, StringAttr) else None
        if found is None or found["family"] in _OTHER_WIDTH:
            return None
        element = _element(op.results[0] if value is None else _named(op, value)[0])
        bits = None if element is None else element_bits(element)
        if bits is None or bits == int(found["bits"]):
            return None
        return f"distribution {found[0]} moves {found['bits']}-bit elements, the register has {bits}-bit ones"

    return check


def legal_signal(op: Operation) -> str | None:
    """Cross-core signals: pipe, id 0..31 and ffts mode 0..2 (spec/pto.md 4.10)."""
    pipe = pipe_property(op, "pipe")
    if pipe is not None and pipe not in SIGNAL_PIPES:
        return f"{pipe} cannot signal another core; legal pipes are {', '.join(map(str, SIGNAL_PIPES))}"
    event = op.properties.get(EVENT)
    if isinstance(event, IntegerAttr) and not 0 <= event.value.data <= 31:
        return f"signal id {event.value.data} is out of range; legal ids are 0 to 31"
    mode = op.attributes.get("ffts_mode")
    if isinstance(mode, IntegerAttr) and not 0 <= mode.value.data <= 2:
        return f"ffts_mode {mode.value.data} is out of range; legal modes are 0 to 2"
    return None


def legal_buffer(op: Operation) -> str | None:
    """Buffer tokens: id 0..31, mode 0 or 1 (spec/pto.md 11.3)."""
    number, mode = op.properties.get(EVENT), op.properties.get(MODE)
    if isinstance(number, IntegerAttr) and not 0 <= number.value.data <= 31:
        return f"buffer id {number.value.data} is out of range; legal ids are 0 to 31"
    if isinstance(mode, IntegerAttr) and mode.value.data not in (0, 1):
        return f"mode {mode.value.data} is out of range; legal modes are 0 and 1"
    return None


def not_negative(*names: str) -> Rule:
    """Constant start positions are not negative."""

    def check(op: Operation) -> str | None:
        for name, value in zip(names, _named(op, *names), strict=False):
            number = constant_of(value)
            if number is not None and number < 0:
                return f"{name} must not be negative, got {number}"
        return None

    return check


_CONVERSION_BITS = {
    (16, 32), (32, 16), (8, 16), (16, 8), (8, 32), (32, 8), (32, 32), (16, 16), (32, 64), (64, 32), (4, 16), (16, 4),
}  # fmt: skip


def converts(op: Operation) -> str | None:
    """Only conversions between different types whose widths have a conversion instruction."""
    source, result = _element(op.operands[0]), _element(op.results[0])
    if source is None or result is None:
        return None
    widths = (element_bits(source), element_bits(result))
    integers = isinstance(source, IntegerType) and isinstance(result, IntegerType)
    if widths not in _CONVERSION_BITS or source == result or (integers and widths[0] == widths[1]):
        return f"unsupported vcvt source/result element type pair: {source} to {result}"
    return None


def fixpipe_clauses(order: tuple[str, ...]) -> Rule:
    """Clauses of an L0C move come in a fixed order; a split mode excludes transforms (spec/pto.md 4.10)."""

    def check(op: Operation) -> str | None:
        assert isinstance(op, PtoOp)
        present = [name for name in order if op.clause_args(name)]
        from_text = [entry for entry in _clause_names(op) if entry in order]
        if sorted(from_text, key=order.index) != from_text:
            return f"clauses must come in the order {', '.join(order)}"
        layouts = [name for name in ("nz2nd", "nz2dn", "nz2nz") if name in from_text]
        if len(layouts) > 1:
            return f"{' and '.join(layouts)} exclude each other"
        problem = _layout_problem(op, from_text)
        if problem is not None:
            return problem
        split = any(word.startswith("split") for args in op.clause_args("dst_mode") for word in args)
        transforms = [name for name in ("pre_quant", "pre_relu", "loop3") if name in present]
        if split and transforms:
            return f"a split destination allows no {transforms[0]}"
        return _split_extents(op) if split else None

    return check


def _layout_problem(op: PtoOp, clauses: list[str]) -> str | None:
    """nz2nz is for f32 and has no loop3; a unit flag goes with nz2dn only when its operand is 1."""
    if "nz2nz" in clauses:
        target = op.operand("dst")
        if target is not None and not isinstance(_element(target), Float32Type):
            return f"nz2nz needs an f32 destination, got {_element(target)}"
        if "loop3" in clauses:
            return "nz2nz allows no loop3"
    channels = op.clause_operands("nz2dn")
    if channels and "unit_flag" in clauses and constant_of(channels[0][0]) not in (None, 1):
        return "unit_flag needs the operand of nz2dn to be 1"
    return None


def _clause_names(op: PtoOp) -> list[str]:
    return [entry[0] for entry in clause_entries(op)]


def _split_extents(op: PtoOp) -> str | None:
    by_rows = any("split_m" in args for args in op.clause_args("dst_mode"))
    name, unit = ("m", 2) if by_rows else ("n", 32)
    value = op.operand(name)
    number = None if value is None else constant_of(value)
    if number is not None and number % unit:
        return f"a destination split over {name} needs {name} to be a multiple of {unit}, got {number}"
    return None
