"""Control flow and scopes: SSA by construction (spec/front.md 1.5, 1.6, 3.2).

A name bound before a loop and assigned inside becomes a carry if somebody reads it later; a name assigned in the
arms of an if becomes a result; what a scope or a region defines and somebody reads later is yielded from it.
"""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from xdsl.dialects import scf
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from cubelane.ir.kernel import add_comments
from cubelane.ir.names import value_name
from cubelane.ir.narrowing import is_value
from cubelane.ir.surface import unplaced
from cubelane.language.body import Body, written_through
from cubelane.language.errors import (
    ParserError,
    ParserSyntaxError,
    ParserTypeError,
    UndefinedVariableError,
    UnsupportedFeatureError,
)
from cubelane.language.expressions import Expressions
from cubelane.language.flow import called_word, target_names
from cubelane.language.headers import Counted, Headers
from cubelane.language.operators import BINARY
from cubelane.language.printing.types import type_text
from cubelane.language.scopes import Scopes
from cubelane.language.values import Literal, Missing, described, named

IN_ARM = "is bound in one arm of an if only"
IN_LOOP = "is bound inside a loop only"


class Yielded(NamedTuple):
    """The `pl.yield_` at the end of a block."""

    targets: tuple[str, ...]
    values: tuple[SSAValue, ...]
    node: ast.stmt
    comments: tuple[str, ...] = ()


Read = Callable[[Sequence[ast.stmt]], Yielded | None]


@dataclass
class Arm:
    """One block that has been read: what it binds and yields."""

    block: Block
    changed: dict[str, Any]
    yielded: Yielded | None


class Structure:
    """Reads compound statements; `read` reads a nested list of statements."""

    def __init__(self, body: Body, expressions: Expressions, read: Read):
        self.body = body
        self.expressions = expressions
        self.read = read
        self.headers = Headers(body, expressions)
        self.scopes = Scopes(body, expressions, self._read_plain)

    def _syntax(self, node: ast.AST, message: str, instead: str | None = None) -> ParserError:
        return ParserSyntaxError(message, self.body.emitter.place(node), instead=instead)

    def _read_plain(self, statements: Sequence[ast.stmt]) -> None:
        yielded = self.read(statements)
        if yielded is not None:
            raise self._syntax(yielded.node, "pl.yield_ belongs into a loop or an if, not into a scope")

    def _arm(self, statements: Sequence[ast.stmt], block: Block) -> Arm:
        with self.body.names.branch() as changed, self.body.emitter.into(block):
            yielded = self.read(statements)
        return Arm(block, changed, yielded)

    # if

    def branch(self, node: ast.If) -> None:
        """`if c: ... else: ...`."""
        condition = self.expressions.truth(node.test)
        arms = [self._arm(node.body, Block()), self._arm(node.orelse, Block())]
        targets, values = self._explicit(arms, node)
        live = self.body.liveness.after.get(id(node), frozenset())
        merged = sorted((set(arms[0].changed) | set(arms[1].changed)) & live - set(targets))
        for name in merged:
            self._merge(name, arms, targets, values, node)
        self._finish_branch(node, condition, arms, targets, values)

    def _explicit(self, arms: list[Arm], node: ast.If) -> tuple[list[str], list[list[SSAValue]]]:
        """Names and values that the arms yield with `pl.yield_`."""
        yields = [arm.yielded for arm in arms]
        then, other = yields
        if then is None and other is None:
            return [], [[], []]
        if then is None or other is None:
            present = then or other
            assert present is not None
            raise self._syntax(present.node, "one arm of this if yields values, the other one does not")
        if not then.targets or not other.targets:
            raise self._syntax(then.node, "a yield of an if is assigned to a name", instead="x = pl.yield_(value)")
        if set(then.targets) != set(other.targets):
            raise self._syntax(other.node, f"the arms yield {', '.join(then.targets)} and {', '.join(other.targets)}")
        by_name = dict(zip(other.targets, other.values, strict=True))
        values = [list(then.values), [by_name[name] for name in then.targets]]
        for name, a, b in zip(then.targets, *values, strict=True):
            self._same_type(name, a.type, b, other.node)
        return list(then.targets), values

    def _merge(
        self, name: str, arms: list[Arm], targets: list[str], values: list[list[SSAValue]], node: ast.If
    ) -> None:
        """One name assigned in an arm and read later."""
        names = self.body.names
        outside = names.get(name) if name in names else None
        found = [arm.changed.get(name, outside) for arm in arms]
        missing = next((f for f in found if isinstance(f, Missing)), None)
        if missing is not None:
            names.bind(name, missing)
        elif found[0] is found[1] or (isinstance(found[0], Literal) and found[0] == found[1]):
            names.bind(name, found[0])
        elif not all(isinstance(f, SSAValue | Literal) for f in found):
            known = next(f for f in found if f is not None)
            names.bind(name, self._after(name, known, node, IN_ARM, "bind it before the if, or in both arms"))
        else:
            self._add_result(name, found, arms, targets, values, node)

    def _add_result(
        self,
        name: str,
        found: list[Any],
        arms: list[Arm],
        targets: list[str],
        values: list[list[SSAValue]],
        node: ast.If,
    ) -> None:
        typed = next((f.type for f in found if is_value(f)), None)
        for arm, value, column in zip(arms, found, values, strict=True):
            with self.body.emitter.into(arm.block):
                column.append(self.body.emitter.value(value, node, typed))
        self._same_type(name, values[0][-1].type, values[1][-1], node)
        targets.append(name)

    def _finish_branch(
        self,
        node: ast.If,
        condition: SSAValue,
        arms: list[Arm],
        targets: list[str],
        values: list[list[SSAValue]],
    ) -> None:
        emitter = self.body.emitter
        for arm, column in zip(arms, values, strict=True):
            with emitter.into(arm.block):
                end = emitter.emit(scf.YieldOp(*column), node)
                add_comments(end, arm.yielded.comments if arm.yielded is not None else ())
        empty = not targets and arms[1].block.first_op is arms[1].block.last_op
        other = None if empty else Region(arms[1].block)
        types = [value.type for value in values[0]]
        op = emitter.emit(scf.IfOp(condition, types, Region(arms[0].block), other), node)
        self._bind_results(targets, op)

    def _bind_results(self, targets: Sequence[str], op: Operation, skip: int = 0) -> None:
        for name, result in zip(targets, op.results[skip:], strict=False):
            named(result, name)
            self.body.names.bind(name, result)

    def _after(self, name: str, value: Any, node: ast.AST, reason: str, instead: str) -> Any:
        """What a name means after a block that may not have run: the memory it writes, or nothing."""
        origin = written_through(value)
        if origin is not None and (isinstance(origin.owner, Block) and origin.owner is self.body.entry):
            return origin
        if origin is not None and any(origin is known for known in self.body.names.bound.values()):
            return origin
        place = self.body.emitter.place(node)
        return Missing(reason, place, instead)

    def _same_type(self, name: str, wanted: Attribute, value: SSAValue, node: ast.AST) -> None:
        if unplaced(value.type) != unplaced(wanted):
            raise ParserTypeError(
                f"`{name}` is {type_text(wanted)} on one way and {type_text(value.type)} on the other",
                self.body.emitter.place(node),
                instead="give both the same shape, element type, valid extent and layout",
            )

    # loops

    def loop(self, node: ast.For) -> None:
        """`for ... in pl.<iterator>(...)`."""
        if node.orelse:
            raise UnsupportedFeatureError("`else` of a loop is not supported", self.body.emitter.place(node.orelse[0]))
        path = self.expressions.language_path(node.iter.func) if isinstance(node.iter, ast.Call) else ()
        word = path[-1] if len(path) == 1 else None
        if word == "split_aiv":
            self.scopes.region(node)
        elif word == "while_":
            self._explicit_while(node)
        elif word in ("range", "parallel", "unroll", "pipeline"):
            self._counted(node, self.headers.counted(node, word))
        else:
            raise UnsupportedFeatureError(
                "a for loop needs an iterator of the language",
                self.body.emitter.place(node.iter),
                instead="for i in pl.range(n):",
            )

    def _carried(self, node: ast.For | ast.While, hidden: Sequence[str]) -> list[str]:
        """Names bound before the loop, assigned in it, and read later or in the next iteration."""
        effect = self.body.liveness.effect(node.body)
        reads = effect.reads
        if isinstance(node, ast.While):
            reads |= frozenset(n.id for n in ast.walk(node.test) if isinstance(n, ast.Name))
        live = self.body.liveness.after.get(id(node), frozenset()) | reads
        names = self.body.names
        candidates = sorted((effect.may_bind & live) - set(hidden))
        for name in candidates:
            self._check_carry(name, name in reads, node)
        return [name for name in candidates if isinstance(names.get(name), SSAValue | Literal)]

    def _check_carry(self, name: str, read: bool, node: ast.For | ast.While) -> None:
        """A name that an iteration reads and a later statement of the body rebinds must be one value."""
        names, place = self.body.names, self.body.emitter.place(node)
        if not read or isinstance(names.get(name), SSAValue | Literal | Missing):
            return
        if name in names:
            raise UnsupportedFeatureError(
                f"`{name}` changes in this loop, and is {described(names.get(name))}: only a tile, a tensor or a "
                "scalar can be carried from one iteration to the next",
                place,
                instead="a name of its own for every item",
            )
        if name in self.body.environment:
            raise UndefinedVariableError(
                f"`{name}` is read in this loop before the loop binds it",
                place,
                instead=f"bind `{name}` before the loop",
            )

    def _counted(self, node: ast.For, header: Counted) -> None:
        emitter, names = self.body.emitter, self.body.names
        implicit = self._carried(node, [header.variable, *header.names, *self._results(node)])
        inits = [*header.inits, *(emitter.value(names.get(name), node) for name in implicit)]
        block = Block(arg_types=[header.bounds[0].type, *(v.type for v in inits)])
        carried = [*header.names, *implicit]
        for name, argument in zip([header.variable, *carried], block.args, strict=True):
            argument.name_hint = value_name(name)
        with names.branch() as changed:
            for name, argument in zip([header.variable, *carried], block.args, strict=True):
                names.bind(name, argument)
            with emitter.into(block):
                if header.downwards is not None:
                    self._count_down(node, header, block.args[0])
                yielded = self.read(node.body)
                targets = self._loop_yield(node, yielded, header.names, implicit, [v.type for v in inits])
        op = scf.ForOp(*header.bounds, inits, Region(block))
        op.attributes.update(header.attributes)
        emitter.emit(op, node)
        self._after_loop(node, changed, {header.variable, *carried}, op, targets, implicit)

    def _count_down(self, node: ast.For, header: Counted, trip: SSAValue) -> None:
        """Binds the variable of a loop that counts down: where it starts, less what the trips before went down."""
        assert header.downwards is not None
        start, down = header.downwards
        arithmetic = self.body.arithmetic
        way: SSAValue = trip
        if down > 1:
            way = arithmetic.binary(BINARY[ast.Mult], trip, Literal(down), node)
        value = arithmetic.binary(BINARY[ast.Sub], start, way, node)
        name = value_name(header.variable)
        trip.name_hint, value.name_hint = f"{name}_trip", name
        self.body.names.bind(header.variable, value)

    def _loop_yield(
        self,
        node: ast.For | ast.While,
        yielded: Yielded | None,
        explicit: Sequence[str],
        implicit: Sequence[str],
        types: Sequence[Attribute],
    ) -> list[str]:
        """Ends a loop body; the names that explicit results get after the loop."""
        emitter, names = self.body.emitter, self.body.names
        if yielded is not None and not explicit:
            raise self._syntax(
                yielded.node, "a loop that yields needs init_values=", instead="pl.range(n, init_values=(x,))"
            )
        values: list[SSAValue] = []
        if yielded is None:
            values += [emitter.value(names.get(name), node, t) for name, t in zip(explicit, types, strict=False)]
        else:
            if not yielded.targets:
                raise self._syntax(
                    yielded.node, "a yield of a loop is assigned to a name", instead="x = pl.yield_(value)"
                )
            if len(yielded.values) != len(explicit):
                raise self._syntax(
                    yielded.node, f"the loop carries {len(explicit)} values, {len(yielded.values)} are yielded"
                )
            values += yielded.values
        count = len(explicit)
        values += [emitter.value(names.get(n), node, t) for n, t in zip(implicit, types[count:], strict=True)]
        at = yielded.node if yielded is not None else node
        for name, type_, value in zip([*explicit, *implicit], types, values, strict=True):
            self._same_type(name, type_, value, at)
        end = emitter.emit(scf.YieldOp(*values), at)
        add_comments(end, yielded.comments if yielded is not None else ())
        return list(yielded.targets) if yielded is not None else []

    def _after_loop(
        self,
        node: ast.For | ast.While,
        changed: dict[str, Any],
        inner: set[str],
        op: Operation,
        targets: Sequence[str],
        implicit: Sequence[str],
    ) -> None:
        """Binds the results; a name that only the body bound means the memory it writes, or nothing."""
        live = self.body.liveness.after.get(id(node), frozenset())
        self._bind_results(targets, op)
        self._bind_results(implicit, op, len(op.results) - len(implicit))
        for name in sorted((set(changed) - inner - set(targets)) & live):
            if name not in self.body.names or not isinstance(self.body.names.get(name), SSAValue | Literal):
                instead = f"bind `{name}` before the loop"
                self.body.names.bind(name, self._after(name, changed[name], node, IN_LOOP, instead))

    # while

    def while_loop(self, node: ast.While) -> None:
        """`while c:`, carries found by themselves."""
        if node.orelse:
            raise UnsupportedFeatureError("`else` of a loop is not supported", self.body.emitter.place(node.orelse[0]))
        self._while(node, node.test, node.body, [], [])

    def _explicit_while(self, node: ast.For) -> None:
        """`for (a, b) in pl.while_(init_values=(...)): pl.cond(c)`."""
        names, inits = self.headers.while_(node)
        first = node.body[0]
        call = first.value if isinstance(first, ast.Expr) else None
        path = self.expressions.language_path(call.func) if isinstance(call, ast.Call) else ()
        if not isinstance(call, ast.Call) or path != ("cond",) or len(call.args) != 1 or call.keywords:
            raise self._syntax(first, "a pl.while_ loop begins with its condition", instead="pl.cond(i < n)")
        self._while(node, call.args[0], node.body[1:], names, inits)

    def _while(
        self,
        node: ast.For | ast.While,
        test: ast.expr,
        statements: Sequence[ast.stmt],
        explicit: Sequence[str],
        inits: Sequence[SSAValue],
    ) -> None:
        emitter, names = self.body.emitter, self.body.names
        implicit = self._carried(node, [*explicit, *self._results(node)])
        inits = [*inits, *(emitter.value(names.get(name), node) for name in implicit)]
        carried, types = [*explicit, *implicit], [v.type for v in inits]
        before, after = Block(arg_types=types), Block(arg_types=types)
        with names.branch():
            self._bind_arguments(carried, before)
            with emitter.into(before):
                emitter.emit(scf.ConditionOp(self.expressions.truth(test), *before.args), test)
        with names.branch() as changed:
            self._bind_arguments(carried, after)
            with emitter.into(after):
                yielded = self.read(statements)
                targets = self._loop_yield(node, yielded, explicit, implicit, types)
        op = emitter.emit(scf.WhileOp(inits, types, Region(before), Region(after)), node)
        self._after_loop(node, changed, set(carried), op, targets, implicit)

    @staticmethod
    def _results(node: ast.For | ast.While) -> list[str]:
        last = node.body[-1]
        if called_word(getattr(last, "value", None)) != "yield_":
            return []
        return target_names(getattr(last, "targets", [getattr(last, "target", None)])[0])

    def _bind_arguments(self, carried: Sequence[str], block: Block) -> None:
        for name, argument in zip(carried, block.args, strict=True):
            argument.name_hint = value_name(name)
            self.body.names.bind(name, argument)

    def scope(self, node: ast.With) -> None:
        """`with pl.at(...):`."""
        self.scopes.scope(node)


__all__ = ["Structure", "Yielded"]
