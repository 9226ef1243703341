"""Vector micro-ops whose call differs from their table entry: loads, stores, predicates, conversions.

Spec/pto.md 2.7.
"""

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute

from cubelane.ptodsl.errors import wrong_type, wrong_value
from cubelane.ptodsl.micro import declaration, emit_call, scalar_of, word_of
from cubelane.ptodsl.tiles import Place, Tile
from cubelane.ptodsl.tracer import tracing
from cubelane.ptodsl.types import INDEX, MaskPattern, ScalarType, VectorType, full_register, mask_type
from cubelane.ptodsl.values import Mask, Pointer, Scalar, Vector, as_scalar, unwrap_results

PATTERNS = {pattern.value for pattern in MaskPattern}


def _ub(pointer: object, what: str) -> Pointer:
    if isinstance(pointer, Tile):
        pointer = pointer[0, 0]
    if isinstance(pointer, Place):
        pointer = pointer.pointer()
    if not isinstance(pointer, Pointer):
        raise wrong_type(f"{what} needs a pointer into UB, got {pointer!r}")
    if pointer.type.space.value != "ub":
        raise wrong_type(
            f"{what} reads and writes UB only, got a pointer into {pointer.type.space.value}",
            instead="move the data to UB first: pto.mte_gm_ub(...)",
        )
    return pointer


def _post(pointer: Pointer, mode: object) -> list[Attribute]:
    word = word_of(mode)
    if word not in ("ON", "OFF", "POST_UPDATE", "NO_POST_UPDATE"):
        raise wrong_value(f"post_update must be 'ON' or 'OFF', got {word!r}")
    return [pointer.ssa.type] if word in ("ON", "POST_UPDATE") else []


def _dist(dist: object) -> dict[str, Attribute]:
    return {} if dist is None else {"dist": StringAttr(word_of(dist))}


def vlds(
    ptr: object, offset: object = 0, vreg_type: object = None, *, dist: object = None, post_update: object = "OFF"
) -> Any:
    """`pto.vlds`: a register from UB; the type defaults to a full register of the pointer's element."""
    pointer = _ub(ptr, "pto.vlds")
    kind = full_register(pointer.type.element) if vreg_type is None else vreg_type
    if not isinstance(kind, VectorType):
        raise wrong_type(f"the type of pto.vlds must be a register type, got {vreg_type!r}")
    operands = [pointer.ssa, as_scalar(offset, INDEX, "the offset of pto.vlds")]
    results = [kind.attribute, *_post(pointer, post_update)]
    return unwrap_results(tracing("pto.vlds").emit("vlds", operands, results, attributes=_dist(dist)))


def vsts(
    value: object, ptr: object, offset: object, mask: object, *, dist: object = None, post_update: object = "OFF"
) -> Any:
    """`pto.vsts`: a register to UB where the predicate holds."""
    pointer = _ub(ptr, "pto.vsts")
    if not isinstance(value, Vector):
        raise wrong_type(f"pto.vsts stores a vector register, got {value!r}")
    if not isinstance(mask, Mask):
        raise wrong_type(f"pto.vsts needs a predicate, got {mask!r}", instead="pto.pset_b32(pto.MaskPattern.ALL)")
    operands = [value.ssa, pointer.ssa, as_scalar(offset, INDEX, "the offset of pto.vsts"), mask.ssa]
    results = _post(pointer, post_update)
    return unwrap_results(tracing("pto.vsts").emit("vsts", operands, results, attributes=_dist(dist)))


def vldsx2(ptr: object, offset: object = 0, *, dist: object = "DINTLV_B32", post_update: object = "OFF") -> Any:
    """`pto.vldsx2`: two registers, de-interleaved."""
    pointer = _ub(ptr, "pto.vldsx2")
    kind = full_register(pointer.type.element).attribute
    operands = [pointer.ssa, as_scalar(offset, INDEX, "the offset of pto.vldsx2")]
    results = [kind, kind, *_post(pointer, post_update)]
    return unwrap_results(tracing("pto.vldsx2").emit("vldsx2", operands, results, properties=_dist(dist)))


def vstsx2(low: Vector, high: Vector, ptr: object, offset: object, mask: Mask, *, dist: object = "INTLV_B32") -> None:
    """`pto.vstsx2`: two registers, interleaved."""
    pointer = _ub(ptr, "pto.vstsx2")
    operands = [low.ssa, high.ssa, pointer.ssa, as_scalar(offset, INDEX, "the offset of pto.vstsx2"), mask.ssa]
    tracing("pto.vstsx2").emit("vstsx2", operands, properties=_dist(dist))


def _pattern(value: object) -> str:
    word = word_of(value).upper()
    word = word if word.startswith("PAT_") else f"PAT_{word}"
    if word not in PATTERNS:
        raise wrong_value(f"unknown mask pattern {word}; expected one of {', '.join(sorted(PATTERNS))}")
    return word


def _mask_of_pattern(name: str) -> Callable[[object], Mask]:
    kind = mask_type(name.rpartition("_")[2])

    def make(pattern: object) -> Mask:
        properties: dict[str, Attribute] = {"pattern": StringAttr(_pattern(pattern))}
        return Mask(tracing(f"pto.{name}").emit(name, (), [kind.attribute], properties=properties)[0], kind)

    make.__doc__ = f"`pto.{name}(pattern)`: a predicate."
    return make


PATTERN_MASKS = {f"{verb}_b{w}": _mask_of_pattern(f"{verb}_b{w}") for verb in ("pset", "pge") for w in (8, 16, 32)}


def make_mask(dtype: object, count: object) -> tuple[Mask, Scalar]:
    """`pto.make_mask(T, n)`: the first n lanes, and what is left of n."""
    if not isinstance(dtype, ScalarType) or dtype.bits not in (8, 16, 32):
        raise wrong_type(f"pto.make_mask needs an element type of 8, 16 or 32 bits, got {dtype!r}")
    decl = declaration(f"plt_b{dtype.bits}")
    assert decl is not None
    return emit_call(tracing("pto.make_mask"), decl, (count,), {})


def vcvt(src: object, to: object, mask: object = None, **modes: Any) -> Vector:
    """`pto.vcvt(v, to, mask=None, *, rnd=, sat=, part=)`: converts elements; `to` is a register or element type."""
    given = (src,) if mask is None else (src, mask)
    return _call("vcvt", given, {"to": to, **modes})


def vbitcast(src: object, to: object) -> Vector:
    """`pto.vbitcast(v, to)`: the same bytes as another element type."""
    return _call("vbitcast", (src,), {"to": to})


def vbr(value: object, dtype: ScalarType | None = None) -> Vector:
    """`pto.vbr(scalar)`: the scalar in every lane."""
    return _call("vbr", (scalar_of(value, dtype),), {})


def vdup(value: object, mask: object = None, *, dtype: ScalarType | None = None, position: object = None) -> Vector:
    """`pto.vdup(x, mask)`: a scalar, or the lowest or highest lane of a register, in every active lane."""
    source = value if isinstance(value, Vector) else scalar_of(value, dtype)
    named = {} if position is None else {"position": position}
    return _positioned("vdup", source, mask, named)


def _positioned(name: str, source: Vector | Scalar, mask: object, strings: dict[str, object]) -> Vector:
    operands = [source.ssa] + ([mask.ssa] if isinstance(mask, Mask) else [])
    kind = source.type if isinstance(source, Vector) else full_register(source.type)
    properties: dict[str, Attribute] = {key: StringAttr(word_of(word)) for key, word in strings.items()}
    return Vector(tracing(f"pto.{name}").emit(name, operands, [kind.attribute], properties=properties)[0], kind)


def vci(base: object, order: object = "ASC", dtype: ScalarType | None = None) -> Vector:
    """`pto.vci(base, order)`: base + lane number, or minus for DESC."""
    return _positioned("vci", scalar_of(base, dtype), None, {"order": order})


def _call(name: str, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    decl = declaration(name)
    assert decl is not None
    return emit_call(tracing(f"pto.{name}"), decl, given, named)
