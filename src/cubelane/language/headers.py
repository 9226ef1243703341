"""The headers of loops: `pl.range(...)`, `pl.pipeline(...)`, `pl.while_(...)` (spec/front.md 1.5)."""

import ast
from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute, SSAValue

from cubelane.ir import kernel
from cubelane.ir.kernel import LoopAttr, LoopFlavour
from cubelane.ir.surface import constant_of
from cubelane.language.attributes import call_attributes
from cubelane.language.body import Body
from cubelane.language.errors import ParserError, ParserSyntaxError
from cubelane.language.evaluate import NotConstant
from cubelane.language.expressions import Expressions
from cubelane.language.operators import BINARY
from cubelane.language.values import Literal, Several

LEGAL = {
    "range": ("init_values", "attrs"),
    "parallel": ("init_values", "attrs"),
    "pipeline": ("init_values", "attrs", "stage"),
    "unroll": ("init_values", "attrs"),
}


class Counted(NamedTuple):
    """A counted loop: its variable, its bounds (start, stop, step), its explicit carries, its attributes.

    A loop that counts down has `downwards`: where it starts and by how much it goes down. Its bounds count the trips.
    """

    variable: str
    bounds: tuple[SSAValue, SSAValue, SSAValue]
    names: tuple[str, ...]
    inits: tuple[SSAValue, ...]
    attributes: dict[str, Attribute]
    downwards: tuple[SSAValue, int] | None = None


class Headers:
    """Reads loop headers."""

    def __init__(self, body: Body, expressions: Expressions):
        self.body = body
        self.expressions = expressions

    def _syntax(self, node: ast.AST, message: str, instead: str | None = None) -> ParserError:
        return ParserSyntaxError(message, self.body.emitter.place(node), instead=instead)

    def counted(self, node: ast.For, word: str) -> Counted:
        """The header of a counted loop."""
        call = node.iter
        assert isinstance(call, ast.Call)
        keywords = {str(k.arg): k.value for k in call.keywords}
        for name in keywords:
            if name not in LEGAL[word]:
                raise self._syntax(call, f"pl.{word} has no keyword `{name}`; it knows {', '.join(LEGAL[word])}")
        variable, names = self._target(node, "init_values" in keywords)
        inits = self.inits(keywords["init_values"]) if "init_values" in keywords else ()
        if len(inits) != len(names):
            raise self._syntax(node.target, f"{len(inits)} initial values for {len(names)} names")
        self._distinct([variable, *names], node.target)
        bounds = self._bounds(call, word)
        down = -(constant_of(bounds[2]) or 0)
        start = bounds[0]
        if down > 0:
            bounds = self._trips(bounds, down, call)
        attributes: dict[str, Attribute] = {}
        if word != "range":
            attributes[kernel.LOOP] = LoopAttr(LoopFlavour(word))
        if word == "pipeline":
            attributes[kernel.STAGE] = IntegerAttr(self._stage(call, keywords), i64)
        if "attrs" in keywords:
            place = self.body.emitter.place(keywords["attrs"])
            attributes.update(call_attributes(self.body.evaluator, keywords["attrs"], place))
        return Counted(variable, bounds, names, inits, attributes, (start, down) if down > 0 else None)

    def _target(self, node: ast.For, carries: bool) -> tuple[str, tuple[str, ...]]:
        match node.target:
            case ast.Name(id=name):
                if carries:
                    raise self._syntax(node.target, "a loop with init_values names them", instead="for i, (x,) in ...")
                return name, ()
            case ast.Tuple(elts=[ast.Name(id=name), ast.Tuple(elts=items)]) if all(
                isinstance(i, ast.Name) for i in items
            ):
                if not carries:
                    raise self._syntax(node.target, "a loop that carries values needs init_values=")
                return name, tuple(item.id for item in items if isinstance(item, ast.Name))
            case _:
                raise self._syntax(node.target, "a loop has the target `i` or `i, (a, b)`")

    def _bounds(self, call: ast.Call, word: str) -> tuple[SSAValue, SSAValue, SSAValue]:
        if not 1 <= len(call.args) <= 3:
            raise self._syntax(call, f"pl.{word} takes 1 to 3 bounds, {len(call.args)} are given")
        given = [self.expressions.index(a) for a in call.args]
        emitter, index = self.body.emitter, given[0].type
        start = given[0] if len(given) > 1 else emitter.constant(0, index, call)
        step = given[2] if len(given) > 2 else emitter.constant(1, index, call)
        stop = given[1] if len(given) > 1 else given[0]
        if constant_of(step) == 0:
            raise self._syntax(call.args[2], "the step of a loop is not zero")
        if word == "unroll" and None in [constant_of(b) for b in (start, stop, step)]:
            raise self._syntax(call, "pl.unroll needs constant bounds", instead="pl.range(...)")
        return start, stop, step

    def _trips(
        self, bounds: tuple[SSAValue, SSAValue, SSAValue], down: int, call: ast.Call
    ) -> tuple[SSAValue, SSAValue, SSAValue]:
        """The bounds of a loop that counts the trips of one that goes down."""
        emitter, arithmetic, index = self.body.emitter, self.body.arithmetic, bounds[0].type
        start, stop = constant_of(bounds[0]), constant_of(bounds[1])
        zero, one = emitter.constant(0, index, call), emitter.constant(1, index, call)
        if start is not None and stop is not None:
            return zero, emitter.constant(max(0, -((stop - start) // down)), index, call), one
        way: SSAValue = arithmetic.binary(BINARY[ast.Sub], bounds[0], bounds[1], call)
        if down > 1:
            way = arithmetic.binary(BINARY[ast.Add], way, Literal(down - 1), call)
            way = arithmetic.binary(BINARY[ast.FloorDiv], way, Literal(down), call)
        return zero, way, one

    def _stage(self, call: ast.Call, keywords: dict[str, ast.expr]) -> int:
        if "stage" not in keywords:
            raise self._syntax(call, "pl.pipeline needs stage=", instead="pl.pipeline(n, stage=2)")
        try:
            stage = self.body.evaluator.value(keywords["stage"])
        except NotConstant:
            stage = None
        if not isinstance(stage, int) or isinstance(stage, bool) or stage < 1:
            raise self._syntax(keywords["stage"], "stage is a constant of at least 1")
        return stage

    def inits(self, node: ast.expr) -> tuple[SSAValue, ...]:
        """The initial values of carries."""
        value = self.expressions.value(node)
        if not isinstance(value, Several):
            raise self._syntax(node, "init_values is a tuple or a list")
        nodes: Sequence[ast.AST] = node.elts if isinstance(node, ast.Tuple | ast.List) else [node] * len(value.items)
        return tuple(self.body.emitter.value(v, n) for v, n in zip(value.items, nodes, strict=True))

    def while_(self, node: ast.For) -> tuple[list[str], list[SSAValue]]:
        """The header of a `pl.while_` loop: names and initial values."""
        call = node.iter
        assert isinstance(call, ast.Call)
        keywords = {str(k.arg): k.value for k in call.keywords}
        if call.args or set(keywords) != {"init_values"}:
            raise self._syntax(call, "pl.while_ takes init_values= only", instead="pl.while_(init_values=(0, x))")
        items = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        names = [item.id for item in items if isinstance(item, ast.Name)]
        inits = self.inits(keywords["init_values"])
        if not inits or len(names) != len(items) or len(names) != len(inits):
            raise self._syntax(node.target, f"{len(inits)} initial values for {len(items)} names")
        self._distinct(names, node.target)
        return names, list(inits)

    def _distinct(self, names: Sequence[str], node: ast.AST) -> None:
        twice = [name for position, name in enumerate(names) if name in names[:position]]
        if twice:
            raise self._syntax(node, f"the header of this loop names `{twice[0]}` twice")
