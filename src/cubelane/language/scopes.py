"""Scopes: `with pl.at(...)` and `for lane in pl.split_aiv(...)` (spec/front.md 1.6)."""

import ast
import keyword
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from cubelane.ir.kernel import ScopeOp, SplitRegionOp, YieldOp
from cubelane.ir.narrowing import is_value
from cubelane.ir.tile.channel import SubblockIdxOp
from cubelane.ir.types import SplitMode
from cubelane.language import vocabulary
from cubelane.language.body import Body
from cubelane.language.errors import ParserError, ParserSyntaxError, UnsupportedFeatureError
from cubelane.language.evaluate import NotConstant
from cubelane.language.expressions import Expressions
from cubelane.language.flow import called_word
from cubelane.language.source import nested_statements
from cubelane.language.values import Several, named

REFUSED_SCOPES = {
    "cluster": (
        "makes a group of functions, and one core group is compiled here",
        "with pl.at(level=pl.Level.CORE_GROUP):",
    ),
    "spmd": ("in this form leaves the blocks to the kernel it calls", "for i in pl.spmd(n):"),
    "scope": ("is for orchestration, which is not compiled here", "leave it out"),
    "manual_scope": ("is for orchestration, which is not compiled here", "leave it out"),
}
"""Scopes that are refused: why, and what to write instead."""
NOT_SUPPORTED = ("deps", "dumps", "no_dep_args", "allow_early_resolve")


@dataclass
class Options:
    """What `optimizations=[...]` says."""

    split: SplitMode | None = None
    slot_num: int | None = None


class Scopes:
    """Reads scopes and split regions; `read` reads their statements."""

    def __init__(self, body: Body, expressions: Expressions, read: Callable[[Sequence[ast.stmt]], None]):
        self.body = body
        self.expressions = expressions
        self.read = read

    def _syntax(self, node: ast.AST, message: str, instead: str | None = None) -> ParserError:
        return ParserSyntaxError(message, self.body.emitter.place(node), instead=instead)

    def _constant(self, node: ast.AST) -> Any:
        try:
            return self.body.evaluator.value(node)
        except NotConstant:
            return None

    def scope(self, node: ast.With) -> None:
        """`with pl.at(level=pl.Level.CORE_GROUP, ...):`."""
        if len(node.items) != 1:
            raise self._syntax(node, "one scope per `with`", instead="nest the `with` statements")
        call = node.items[0].context_expr
        path = self.expressions.language_path(call.func) if isinstance(call, ast.Call) else ()
        place = self.body.emitter.place(call)
        if len(path) == 1 and path[0] in REFUSED_SCOPES:
            why, way = REFUSED_SCOPES[path[0]]
            raise UnsupportedFeatureError(f"pl.{path[0]} {why}", place, instead=way)
        if path != ("at",) or not isinstance(call, ast.Call):
            raise UnsupportedFeatureError(
                "this context manager is not supported", place, instead="with pl.at(level=...):"
            )
        if node.items[0].optional_vars is not None:
            raise UnsupportedFeatureError("`as` on a scope is not supported", place)
        keywords = {str(k.arg): k.value for k in call.keywords}
        self._check_at(call, keywords, place)
        options = self._options(keywords.get("optimizations"))
        if options.split is not None and _holds_region(node.body):
            raise self._syntax(
                call, "a scope with pl.split holds a pl.split_aiv region", instead="leave out pl.split, or the region"
            )
        name = self._name_hint(keywords.get("name_hint"))
        attributes: dict[str, Attribute] = {}
        if "windowize" in keywords and self._constant(keywords["windowize"]) is True:
            attributes["kernel.windowize"] = BoolAttr.from_bool(True)

        def make(region: Region, types: Sequence[Attribute]) -> Operation:
            op = ScopeOp(region, types, split=options.split, slot_num=options.slot_num, name_hint=name)
            op.attributes.update(attributes)
            return op

        outer, self.body.in_core = self.body.in_core, True
        try:
            self._enclose(node, make, lambda: self.read(node.body))
        finally:
            self.body.in_core = outer

    def _check_at(self, call: ast.Call, keywords: dict[str, ast.expr], place: Any) -> None:
        level = self._constant(call.args[0] if call.args else keywords.get("level", call))
        if len(call.args) > 2 or not isinstance(level, vocabulary.Level):
            raise self._syntax(call, "pl.at needs a level", instead="pl.at(level=pl.Level.CORE_GROUP)")
        if level is not vocabulary.Level.CORE_GROUP:
            raise UnsupportedFeatureError(
                f"a scope at level {level.name} is not supported", place, instead="level=pl.Level.CORE_GROUP"
            )
        if "role" in keywords:
            raise self._syntax(call, "pl.at at CORE_GROUP takes no role")
        for name in keywords:
            if name in NOT_SUPPORTED:
                raise UnsupportedFeatureError(f"`{name}=` of pl.at is not supported", place)
            if name not in ("level", "optimizations", "name_hint", "windowize"):
                raise self._syntax(call, f"pl.at has no keyword `{name}`")

    def _name_hint(self, node: ast.expr | None) -> str | None:
        if node is None:
            return None
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            raise self._syntax(node, "name_hint is a string literal")
        if not node.value.isidentifier() or keyword.iskeyword(node.value):
            raise self._syntax(node, f"name_hint is an identifier, not {node.value!r}")
        return node.value

    def _options(self, node: ast.expr | None) -> Options:
        options = Options()
        if node is None:
            return options
        if not isinstance(node, ast.List):
            raise self._syntax(node, "optimizations is a list literal", instead="optimizations=[pl.split(...)]")
        for item in node.elts:
            path = self.expressions.language_path(item.func) if isinstance(item, ast.Call) else ()
            if path[:1] == ("optimizations",):
                path = path[1:]
            if not isinstance(item, ast.Call) or path not in (("split",), ("cross_core_slot",)):
                raise self._syntax(item, "an optimization is pl.split(...) or pl.cross_core_slot(...)")
            if path == ("split",):
                self._split(item, options)
            else:
                self._slots(item, {str(k.arg): k.value for k in item.keywords}.get("slot_num"), options)
        return options

    def _split(self, item: ast.Call, options: Options) -> None:
        keywords = {str(k.arg): k.value for k in item.keywords}
        mode = self._constant(item.args[0] if item.args else keywords.get("mode", item))
        if options.split is not None or not isinstance(mode, vocabulary.SplitMode):
            raise self._syntax(item, "pl.split takes one mode, once", instead="pl.split(pl.SplitMode.UP_DOWN)")
        options.split = SplitMode[mode.name]
        if "slot_num" in keywords:
            self._slots(item, keywords["slot_num"], options)

    def _slots(self, item: ast.Call, node: ast.expr | None, options: Options) -> None:
        number = self._constant(node) if isinstance(node, ast.Constant) else None
        if options.slot_num is not None or not isinstance(number, int) or isinstance(number, bool) or number <= 0:
            raise self._syntax(item, "slot_num is a positive integer literal, given once")
        options.slot_num = number

    def region(self, node: ast.For) -> None:
        """`for lane in pl.split_aiv(2, mode=...):`."""
        call = node.iter
        assert isinstance(call, ast.Call)
        mode = self._region_mode(node, call)

        def make(region: Region, types: Sequence[Attribute]) -> Operation:
            return SplitRegionOp(region, mode, types)

        def body() -> None:
            lane = self.body.emitter.emit(SubblockIdxOp(result_types=[SubblockIdxOp.result_type(_NO_CALL)]), call)
            assert isinstance(node.target, ast.Name)
            named(lane.results[0], node.target.id)
            self.body.names.bind(node.target.id, lane.results[0])
            self.body.region = mode
            try:
                self.read(node.body)
            finally:
                self.body.region = None

        if self.body.in_core:
            self._enclose(node, make, body)
        else:
            self._enclose(node, lambda region, types: ScopeOp(region, types), lambda: self._enclose(node, make, body))

    def _region_mode(self, node: ast.For, call: ast.Call) -> SplitMode:
        keywords = {str(k.arg): k.value for k in call.keywords}
        if len(call.args) != 1 or self._constant(call.args[0]) != 2:
            raise self._syntax(
                call, "pl.split_aiv takes the number of lanes, which is 2", instead="pl.split_aiv(2, mode=...)"
            )
        mode = self._constant(keywords["mode"]) if "mode" in keywords else None
        if set(keywords) != {"mode"} or not isinstance(mode, vocabulary.SplitMode):
            raise self._syntax(
                call, "pl.split_aiv takes mode= and nothing else", instead="pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN)"
            )
        if not isinstance(node.target, ast.Name):
            raise self._syntax(node.target, "a split region has one name, the lane index")
        if self.body.region is not None:
            raise self._syntax(node, "a split region inside another one", instead="one region after the other")
        return SplitMode[mode.name]

    def _enclose(
        self,
        node: ast.For | ast.With,
        make: Callable[[Region, Sequence[Attribute]], Operation],
        read: Callable[[], None],
    ) -> None:
        """Reads a body into an op of its own and hands out what is read later."""
        emitter, names = self.body.emitter, self.body.names
        block = Block()
        with names.branch() as changed, emitter.into(block):
            read()
        live = self.body.liveness.after.get(id(node), frozenset())
        exported: dict[SSAValue, None] = {}
        kept = {name: value for name, value in changed.items() if name in live}
        for value in kept.values():
            for item in _values(value):
                if _is_inside(item, block):
                    exported.setdefault(item)
        with emitter.into(block):
            emitter.emit(YieldOp(*exported), node)
        op = emitter.emit(make(Region(block), [v.type for v in exported]), node)
        outside: dict[SSAValue, SSAValue] = {}
        for inner, result in zip(exported, op.results, strict=True):
            result.name_hint = inner.name_hint
            outside[inner] = result
        for name, value in kept.items():
            names.bind(name, _replaced(value, outside))


def _values(value: Any) -> list[SSAValue]:
    if is_value(value):
        return [value]
    return [v for item in value.items for v in _values(item)] if isinstance(value, Several) else []


def _replaced(value: Any, outside: dict[SSAValue, SSAValue]) -> Any:
    if is_value(value):
        return outside.get(value, value)
    return Several(tuple(_replaced(item, outside) for item in value.items)) if isinstance(value, Several) else value


def _is_inside(value: SSAValue, block: Block) -> bool:
    owner = value.owner
    current = owner if isinstance(owner, Block) else owner.parent_block()
    while current is not None:
        if current is block:
            return True
        parent = current.parent_op()
        current = None if parent is None else parent.parent_block()
    return False


def _holds_region(statements: Sequence[ast.stmt]) -> bool:
    return any(isinstance(s, ast.For) and called_word(s.iter) == "split_aiv" for s in nested_statements(statements))


_NO_CALL: Any = None

__all__ = ["Scopes"]
