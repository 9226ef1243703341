"""Which names a piece of a kernel reads, binds and leaves alive: liveness over the Python tree.

The parser builds SSA while it reads. At a loop, an if or a scope it asks here which names are bound inside and
read later; only those become carries and results.
"""

import ast
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cubelane.language.source import children

Names = frozenset[str]
NONE: Names = frozenset()
COMPOUND = (ast.If, ast.For, ast.While, ast.With)
"""Statements that hold statements."""


class Effect(NamedTuple):
    """What a statement does to names: `reads` before binding them, `binds` always, `may_bind` perhaps."""

    reads: Names = NONE
    binds: Names = NONE
    may_bind: Names = NONE

    def then(self, following: "Effect") -> "Effect":
        """The effect of this and then of another statement."""
        return Effect(
            self.reads | (following.reads - self.binds),
            self.binds | following.binds,
            self.may_bind | following.may_bind,
        )


def names_read(nodes: Iterable[ast.AST | None]) -> Names:
    """The names that expressions mention."""
    found: set[str] = set()
    stack = [node for node in nodes if node is not None]
    while stack:
        node = stack.pop()
        if type(node) is ast.Name:
            found.add(node.id)
        else:
            stack += children(node)
    return frozenset(found)


def target_names(target: ast.AST | None) -> list[str]:
    """The names of an assignment target, in order, nested tuples flattened."""
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, ast.Tuple | ast.List):
        return [name for item in target.elts for name in target_names(item)]
    return []


def called_word(node: ast.AST | None) -> str | None:
    """The last part of the name that is called: `range` for `pl.range(...)`."""
    if isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Attribute):
            return function.attr
        if isinstance(function, ast.Name):
            return function.id
    return None


class Liveness:
    """The live names after every compound statement of one function body."""

    def __init__(self, body: Sequence[ast.stmt]):
        self._effects: dict[int, Effect] = {}
        self.after: dict[int, Names] = {}
        self._mark(body, NONE)

    def effect(self, body: Sequence[ast.stmt]) -> Effect:
        """The effect of a list of statements."""
        reads: set[str] = set()
        binds: set[str] = set()
        may_bind: set[str] = set()
        for statement in body:
            one = self._of(statement)
            reads |= one.reads - binds
            binds |= one.binds
            may_bind |= one.may_bind
        return Effect(frozenset(reads), frozenset(binds), frozenset(may_bind))

    def _of(self, statement: ast.stmt) -> Effect:
        key = id(statement)
        if key not in self._effects:
            self._effects[key] = self._compute(statement)
        return self._effects[key]

    def _compute(self, node: ast.stmt) -> Effect:
        match node:
            case ast.If():
                then, other = self.effect(node.body), self.effect(node.orelse)
                arms = Effect(then.reads | other.reads, then.binds & other.binds, then.may_bind | other.may_bind)
                return Effect(names_read([node.test])).then(arms)
            case ast.For():
                header = names_read([node.iter])
                body = self.effect(node.body)
                inner = frozenset(target_names(node.target))
                if called_word(node.iter) == "split_aiv":
                    return Effect(header | (body.reads - inner), body.binds, body.may_bind)
                return Effect(header | (body.reads - inner), self._yielded(node.body), body.may_bind - inner)
            case ast.While():
                body = self.effect(node.body)
                return Effect(names_read([node.test]) | body.reads, NONE, body.may_bind)
            case ast.With():
                return Effect(names_read(item.context_expr for item in node.items)).then(self.effect(node.body))
            case ast.Assign():
                return self._assignment(node.targets, [node.value])
            case ast.AnnAssign():
                return self._assignment([node.target], [node.value, node.annotation])
            case _:
                return Effect(names_read([node]))

    @staticmethod
    def _assignment(targets: Sequence[ast.expr], values: Sequence[ast.expr | None]) -> Effect:
        reads, bound = names_read(values), frozenset(name for t in targets for name in target_names(t))
        for target in targets:
            if isinstance(target, ast.Subscript):
                reads |= names_read([target])
                bound |= names_read([target.value])
        return Effect(reads, bound, bound)

    @staticmethod
    def _yielded(body: Sequence[ast.stmt]) -> Names:
        last = body[-1] if body else None
        if isinstance(last, ast.Assign) and called_word(last.value) == "yield_":
            return frozenset(target_names(last.targets[0]))
        if isinstance(last, ast.AnnAssign) and called_word(last.value) == "yield_":
            return frozenset(target_names(last.target))
        return NONE

    def _mark(self, body: Sequence[ast.stmt], live_out: Iterable[str]) -> None:
        live = set(live_out)
        first = next((i for i, node in enumerate(body) if isinstance(node, COMPOUND)), len(body))
        for node in reversed(body[first:]):
            effect = self._of(node)
            if isinstance(node, COMPOUND):
                self.after[id(node)] = frozenset(live)
                self._mark_inside(node, live)
            live -= effect.binds
            live |= effect.reads

    def _mark_inside(self, node: ast.If | ast.For | ast.While | ast.With, live: set[str]) -> None:
        match node:
            case ast.If():
                self._mark(node.body, live)
                self._mark(node.orelse, live)
            case ast.With():
                self._mark(node.body, live)
            case ast.For() if called_word(node.iter) == "split_aiv":
                self._mark(node.body, live)
            case ast.For():
                self._mark(node.body, live | self.effect(node.body).reads)
            case ast.While():
                self._mark(node.body, live | self.effect(node.body).reads | names_read([node.test]))
