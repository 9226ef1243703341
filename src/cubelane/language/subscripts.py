"""Indexing: `t[i, j]`, `t[a:b, c]` and `t[a:b, :] = value` (spec/front.md 1.5, 1.7)."""

import ast
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from xdsl.ir import SSAValue

from cubelane.ir.narrowing import is_one
from cubelane.ir.types import DYNAMIC, TensorType, TileType
from cubelane.language.body import Body
from cubelane.language.calls import Calls, is_number, is_shaped
from cubelane.language.errors import ParserError, ParserSyntaxError, ParserTypeError, UnsupportedFeatureError
from cubelane.language.evaluate import NotConstant
from cubelane.language.values import Literal, Several, described

Linear = dict[str, int]
"""A sum of products of a number and a term; the key "" is the constant."""


class Window(NamedTuple):
    """One axis of a subscript: where it starts, how many elements it takes, whether the axis disappears."""

    start: Any
    start_node: ast.AST
    extent: int
    dropped: bool


class Subscripts:
    """Reads subscripts of tiles and tensors."""

    def __init__(self, body: Body, calls: Calls, evaluate: Callable[[ast.AST], Any]):
        self.body = body
        self.calls = calls
        self.evaluate = evaluate

    def read(self, base: SSAValue, node: ast.Subscript) -> Any:
        """`t[...]` as a value: an element, or a window."""
        windows = self._windows(base, node)
        starts = Several(tuple(w.start for w in windows))
        if all(w.dropped for w in windows):
            return self.calls.named("read", [base, starts], node)
        shape = Several(tuple(Literal(w.extent) for w in windows))
        dropped = [axis for axis, w in enumerate(windows) if w.dropped]
        if isinstance(base.type, TileType):
            return self.calls.named("slice", [base, shape, starts], node)
        keywords = {"drop_dims": Several(tuple(Literal(a) for a in dropped))} if dropped else {}
        return self.calls.named("slice", [base, shape, starts], node, **keywords)

    def write(self, base: SSAValue, value: Any, node: ast.Subscript) -> Any:
        """`t[...] = value`: the target after the write."""
        windows = self._windows(base, node)
        starts = Several(tuple(w.start for w in windows))
        if is_number(value) and all(w.dropped for w in windows):
            return self.calls.named("write", [base, starts, value], node)
        if not is_shaped(value) or type(value.type) is not type(base.type):
            raise self._wrong(node, f"{described(base)} cannot take {described(value)}")
        box = tuple(w.extent for w in windows)
        source = self._lifted(value, windows, box, node)
        return self.calls.named("assemble", [base, source, starts], node)

    def _lifted(self, value: SSAValue, windows: Sequence[Window], box: tuple[int, ...], node: ast.Subscript) -> Any:
        """The source with the rank of the target; its extents must be those of the window."""
        kept = tuple(w.extent for w in windows if not w.dropped)
        shape, valid = extents_of(value.type)
        if isinstance(value.type, TileType) and len(shape) == len(box) and shape != kept:
            kept = box
        if len(shape) != len(kept):
            raise self._wrong(node, f"the window has {len(kept)} axes, the value {len(shape)}")
        for axis, extent in enumerate(kept):
            if DYNAMIC not in (shape[axis], valid[axis]) and extent not in (shape[axis], valid[axis]):
                raise self._wrong(node, f"the window {list(kept)} takes a value of that shape, not {list(shape)}")
        if len(shape) == len(box):
            return value
        lifted = iter(shape)
        wanted = Several(tuple(Literal(1 if w.dropped else next(lifted)) for w in windows))
        return self.calls.named("reshape", [value, wanted], node)

    def _wrong(self, node: ast.AST, message: str, instead: str | None = None) -> ParserError:
        return ParserTypeError(message, self.body.emitter.place(node), instead=instead)

    def _windows(self, base: SSAValue, node: ast.Subscript) -> list[Window]:
        shape, _ = extents_of(base.type)
        items = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(items) > len(shape):
            raise self._wrong(node, f"{len(items)} indices for {described(base)}")
        windows = [self._window(item, extent) for item, extent in zip(items, shape, strict=False)]
        return windows + [self._whole(node, extent) for extent in shape[len(items) :]]

    def _whole(self, node: ast.AST, extent: int) -> Window:
        if extent == DYNAMIC:
            raise self._wrong(
                node,
                "a window of a run-time extent has no constant shape",
                instead="a window of constant size: t[i : i + 64, :]",
            )
        return Window(Literal(0), node, extent, False)

    def _window(self, node: ast.AST, limit: int) -> Window:
        if isinstance(node, ast.Constant) and node.value is Ellipsis:
            raise self._wrong(node, "`...` is not supported in a subscript")
        if not isinstance(node, ast.Slice):
            value = self.evaluate(node)
            self._refuse_negative(value, node, limit)
            return Window(value, node, 1, True)
        if node.step is not None:
            raise UnsupportedFeatureError("a step in a subscript is not supported", self.body.emitter.place(node.step))
        start = Literal(0) if node.lower is None else self.evaluate(node.lower)
        self._refuse_negative(start, node, limit)
        if node.upper is None:
            if not isinstance(start, Literal) or limit == DYNAMIC:
                return self._whole(node, DYNAMIC)
            return Window(start, node, limit - int(start.value), False)
        extent = self._difference(node.upper, node.lower)
        if extent is None:
            raise self._wrong(
                node, "the size of this window is not known while the kernel is read", instead="t[i : i + 64]"
            )
        if extent <= 0:
            raise self._wrong(node, f"this window takes {extent} elements")
        if isinstance(start, Literal) and limit != DYNAMIC and int(start.value) + extent > limit:
            first = max(0, limit - extent)
            raise self._wrong(
                node,
                f"this window ends at {int(start.value) + extent}, the axis has {limit} elements",
                instead=f"{first}:{min(limit, first + extent)}",
            )
        return Window(start, node.lower or node, extent, False)

    def _refuse_negative(self, value: Any, node: ast.AST, limit: int) -> None:
        if isinstance(value, Literal) and value.value < 0:
            counted = limit + int(value.value)
            raise ParserSyntaxError(
                "this index is provably negative",
                self.body.emitter.place(node),
                instead=str(counted) if limit != DYNAMIC and counted >= 0 else None,
            )

    def _difference(self, upper: ast.AST, lower: ast.AST | None) -> int | None:
        """`upper - lower` if it is constant."""
        difference = dict(self._linear(upper))
        for term, factor in (self._linear(lower) if lower is not None else {}).items():
            difference[term] = difference.get(term, 0) - factor
        return None if any(f for t, f in difference.items() if t) else difference.get("", 0)

    def _linear(self, node: ast.AST) -> Linear:
        try:
            known = self.body.evaluator.value(node)
            if isinstance(known, int):
                return {"": int(known)}
        except NotConstant:
            pass
        if is_one(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            sign = 1 if isinstance(node.op, ast.Add) else -1
            total = dict(self._linear(node.left))
            for term, factor in self._linear(node.right).items():
                total[term] = total.get(term, 0) + sign * factor
            return total
        if is_one(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            left, right = self._linear(node.left), self._linear(node.right)
            for constant, other in ((left, right), (right, left)):
                if set(constant) <= {""}:
                    return {term: factor * constant.get("", 0) for term, factor in other.items()}
        return {ast.dump(node): 1}


def extents_of(type_: object) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and valid extents of a tile or tensor type, DYNAMIC where known at run time only."""
    if isinstance(type_, TileType):
        return type_.shape, type_.valid
    assert isinstance(type_, TensorType)
    return type_.static_shape, type_.data.valid or type_.static_shape
