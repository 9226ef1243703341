"""Types as text (spec/front.md 1.4, 1.9)."""

from collections.abc import Collection, Sequence
from functools import lru_cache

from xdsl.dialects.builtin import AnyFloat, IndexType
from xdsl.ir import Attribute

from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.narrowing import is_integer
from cubelane.ir.types import DYNAMIC, Pad, TensorLayout, TensorType, TileType, dtype_name, implicit_layout


def extents(values: Sequence[int | str], runtime: Sequence[str] | None = None) -> str:
    """`[16, None]`; with `runtime` the run-time extents are written out."""
    texts = iter(runtime or ())
    return "[" + ", ".join(next(texts, "None") if v == DYNAMIC else str(v) for v in values) + "]"


def type_text(type_: Attribute, forced: Collection[str] = (), runtime: Sequence[str] | None = None) -> str:
    """A type. `forced` names facts that must be written although they are the implicit ones."""
    if isinstance(type_, TileType):
        return _common_tile(type_, frozenset(forced)) if runtime is None else _tile(type_, forced, runtime)
    if isinstance(type_, TensorType):
        return _tensor(type_, forced, runtime)
    if isinstance(type_, IndexType | AnyFloat) or is_integer(type_):
        return f"pl.Scalar[pl.{dtype_name(type_)}]"
    raise Diagnostic(f"the type {type_} cannot be written in the language", code="cannot-print")


@lru_cache(maxsize=1 << 12)
def _common_tile(type_: TileType, forced: frozenset[str]) -> str:
    """Most tiles of a program have one of a few types."""
    return _tile(type_, forced, None)


def _tile(type_: TileType, forced: Collection[str], runtime: Sequence[str] | None) -> str:
    parts = [extents(type_.shape), f"pl.{dtype_name(type_.dtype)}"]
    if type_.memory is not None:
        if type_.address is not None:
            base = f"mem_{type_.memory.value}"
            parts.append(f'pl.MemRef("{base}", pl.const({type_.address}, pl.INT64), {type_.size_in_bytes})')
        parts.append(f"pl.Mem.{type_.memory.dsl}")
    d = type_.data
    view: list[str] = []
    if not type_.fully_valid or "valid" in forced:
        view.append(f"valid_shape={extents(type_.valid, runtime)}")
    implicit = implicit_layout(type_.shape, type_.memory)
    for name, actual, expected in zip(
        ("blayout", "slayout", "fractal"), (d.blayout, d.slayout, d.fractal), implicit, strict=True
    ):
        if actual != expected or name in forced:
            view.append(f"{name}={actual if isinstance(actual, int) else f'pl.TileLayout.{actual.value}'}")
    if d.pad is not Pad.NULL or "pad" in forced:
        view.append(f"pad=pl.PadValue.{d.pad.value}")
    if view:
        parts.append(f"pl.TileView({', '.join(view)})")
    return f"pl.Tile[{', '.join(parts)}]"


def _tensor(type_: TensorType, forced: Collection[str], runtime: Sequence[str] | None) -> str:
    parts = [extents(type_.shape), f"pl.{dtype_name(type_.dtype)}"]
    d = type_.data
    view: list[str] = []
    if d.valid or "valid" in forced:
        view.append(f"valid_shape={extents(d.valid or type_.static_shape, runtime)}")
    if view or d.layout is not TensorLayout.ND or "layout" in forced:
        view += ["stride=[]", f"layout=pl.TensorLayout.{d.layout.value}"]
        parts.append(f"pl.TensorView({', '.join(view)})")
    return f"pl.Tensor[{', '.join(parts)}]"


def differing(actual: Attribute, inferred: Attribute | None) -> frozenset[str]:
    """The facts of a type that inference gets wrong, so that they must be written."""
    if isinstance(actual, TileType):
        names = ("valid", "blayout", "slayout", "fractal", "pad")
        if not isinstance(inferred, TileType) or inferred.memory is not actual.memory:
            return frozenset(names)
        return frozenset(n for n in names if getattr(actual.data, n) != getattr(inferred.data, n))
    if isinstance(actual, TensorType):
        if not isinstance(inferred, TensorType):
            return frozenset(("layout",))
        return frozenset(n for n in ("valid", "layout") if getattr(actual.data, n) != getattr(inferred.data, n))
    return frozenset()
