"""Makes a failing kernel small: statements go, control flow is unwrapped, names are put for calls, numbers shrink.

The text is reduced, not the choices that made it, so any kernel file can be shrunk. Every step is a candidate text;
it is kept when the same finding is still there (`interesting`). Candidates that are no program any more are simply not
interesting.
"""

import ast
import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from cubelane.check.fuzz.program import Program

Interesting = Callable[[Program], bool]


def shrink(program: Program, interesting: Interesting, seconds: float = 120.0) -> Program:
    """The smallest program found in `seconds` for which `interesting` still holds; it holds for `program`."""
    return _Shrinker(program, interesting, time.monotonic() + seconds).run()


@dataclass
class _Shrinker:
    best: Program
    interesting: Interesting
    deadline: float

    def run(self) -> Program:
        tried: set[str] = {self.best.text}
        size = -1
        while size != len(self.best.text) and time.monotonic() < self.deadline:
            size = len(self.best.text)
            for step in (_without_statements, _unwrapped, _bypassed, _without_parameters, _smaller_numbers):
                self._exhaust(step, tried)
            self._scalars()
        return self.best

    def _exhaust(self, step: "Step", tried: set[str]) -> None:
        """Applies one kind of step wherever it helps; after a success it goes on at the same position."""
        position = 0
        while time.monotonic() < self.deadline:
            candidates = list(step(ast.parse(self.best.text)))
            hit = next((i for i in range(position, len(candidates)) if self._try(candidates[i], tried)), None)
            if hit is None:
                return
            position = hit

    def _try(self, tree: ast.Module, tried: set[str]) -> bool:
        text = written(tree)
        if text in tried or time.monotonic() >= self.deadline:
            return False
        tried.add(text)
        return self._keep(replace(self.best, text=text))

    def _keep(self, candidate: Program) -> bool:
        if not self.interesting(candidate):
            return False
        self.best = candidate
        return True

    def _scalars(self) -> None:
        for name, value in self.best.scalars.items():
            for smaller in (0, 1, 2, value // 2, value - 1):
                if 0 <= smaller < value and time.monotonic() < self.deadline:
                    if self._keep(replace(self.best, scalars={**self.best.scalars, name: smaller})):
                        break


Step = Callable[[ast.Module], Iterator[ast.Module]]


def written(tree: ast.Module) -> str:
    """The text of a tree."""
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


# --- steps: each gives changed copies of the tree, larger changes first ---------------------------------------------


def _bodies(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """All statement lists of the kernels, outer ones first."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef):
            continue
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                yield body  # type: ignore[misc]


def _changed(tree: ast.Module, number: int, change: Callable[[list[ast.stmt]], None]) -> ast.Module:
    """A copy of the tree with one statement list changed."""
    result = copy.deepcopy(tree)
    change(list(_bodies(result))[number])
    return result


def _without_statements(tree: ast.Module) -> Iterator[ast.Module]:
    """Runs of statements taken out: halves, quarters, ... single ones; later ones first."""
    for number, body in enumerate(_bodies(tree)):
        size = len(body)
        while size:
            for start in range(len(body) - size, -1, -size):
                if size == len(body) and size > 1:
                    continue

                def cut(statements: list[ast.stmt], start: int = start, size: int = size) -> None:
                    del statements[start : start + size]
                    if not statements:
                        statements.append(ast.Pass())

                if not all(isinstance(s, ast.Pass) for s in body[start : start + size]):
                    yield _changed(tree, number, cut)
            size //= 2


def _unwrapped(tree: ast.Module) -> Iterator[ast.Module]:
    """A loop, branch, region or scope replaced by its body; carries become assignments."""
    for number, body in enumerate(_bodies(tree)):
        for position, statement in enumerate(body):
            for part in ("body", "orelse"):
                if not isinstance(statement, ast.For | ast.If | ast.While | ast.With) or not getattr(
                    statement, part, None
                ):
                    continue

                def unwrap(statements: list[ast.stmt], position: int = position, part: str = part) -> None:
                    inner = statements[position]
                    statements[position : position + 1] = [*_entering(inner), *_inner(getattr(inner, part))]

                yield _changed(tree, number, unwrap)


def _entering(statement: ast.stmt) -> list[ast.stmt]:
    """What the head of a loop binds, as assignments: the index 0, carries their seeds."""
    if not isinstance(statement, ast.For):
        return []
    names = statement.target.elts if isinstance(statement.target, ast.Tuple) else [statement.target]
    carried = names if _called(statement.iter) == "while_" else names[1:]
    result: list[ast.stmt] = []
    if carried is not names and isinstance(names[0], ast.Name):
        result.append(ast.Assign([names[0]], ast.Constant(0)))
    seeds = next((k.value for k in getattr(statement.iter, "keywords", ()) if k.arg == "init_values"), None)
    flat = [e for n in carried for e in (n.elts if isinstance(n, ast.Tuple) else [n])]
    if isinstance(seeds, ast.Tuple):
        result += [ast.Assign([n], s) for n, s in zip(flat, seeds.elts, strict=False)]
    return result


def _inner(statements: list[ast.stmt]) -> list[ast.stmt]:
    """A body on its own: what it yields is assigned, conditions and jumps go."""
    result: list[ast.stmt] = []
    for statement in statements:
        call = statement.value if isinstance(statement, ast.Assign | ast.Expr) else None
        if isinstance(statement, ast.Assign) and call is not None and _called(call) == "yield_":
            assert isinstance(call, ast.Call)
            target = statement.targets[0]
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            result += [ast.Assign([n], a) for n, a in zip(names, call.args, strict=False)]
        elif not (call is not None and _called(call) == "cond") and not isinstance(
            statement, ast.Break | ast.Continue | ast.Pass
        ):
            result.append(statement)
    return result or [ast.Pass()]


def _called(node: ast.expr) -> str:
    """The last word of what a call calls."""
    if isinstance(node, ast.Call):
        return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return ""


def _bypassed(tree: ast.Module) -> Iterator[ast.Module]:
    """`v = f(a, b)` taken out, and `a` (or `b`) put wherever `v` was read."""
    for number, body in enumerate(_bodies(tree)):
        for position in range(len(body) - 1, -1, -1):
            statement = body[position]
            if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
                continue
            name = statement.targets[0].id
            inputs = {n.id for n in ast.walk(statement.value) if isinstance(n, ast.Name)} - {"pl", name}
            for other in sorted(inputs):
                result = _changed(tree, number, lambda statements, p=position: _cut(statements, p))
                yield _Renamed(name, other).visit(result)


def _cut(statements: list[ast.stmt], position: int) -> None:
    del statements[position]
    if not statements:
        statements.append(ast.Pass())


class _Renamed(ast.NodeTransformer):
    """Reads of one name become reads of another."""

    def __init__(self, name: str, other: str):
        self.name, self.other = name, other

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """One use of a name."""
        if node.id == self.name and isinstance(node.ctx, ast.Load):
            return ast.copy_location(ast.Name(self.other, node.ctx), node)
        return node


def _without_parameters(tree: ast.Module) -> Iterator[ast.Module]:
    """Parameters that nobody reads go; a return value goes, with its type."""
    for index, function in enumerate(_functions(tree)):
        read = {n.id for s in function.body for n in ast.walk(s) if isinstance(n, ast.Name)}
        for position, argument in enumerate(function.args.args):
            if argument.arg not in read and argument.arg != "self":
                result = copy.deepcopy(tree)
                del _functions(result)[index].args.args[position]
                yield result
        last = function.body[-1]
        if isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple) and len(last.value.elts) > 1:
            for position in range(len(last.value.elts)):
                result = copy.deepcopy(tree)
                _drop_result(_functions(result)[index], position)
                yield result


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]


def _drop_result(function: ast.FunctionDef, position: int) -> None:
    last, kinds = function.body[-1], function.returns
    assert isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple)
    del last.value.elts[position]
    if len(last.value.elts) == 1:
        last.value = last.value.elts[0]
    if isinstance(kinds, ast.Subscript) and isinstance(kinds.slice, ast.Tuple):
        del kinds.slice.elts[position]
        if len(kinds.slice.elts) == 1:
            function.returns = kinds.slice.elts[0]


def _smaller_numbers(tree: ast.Module) -> Iterator[ast.Module]:
    """A whole number replaced by a smaller one, everywhere at once or in one place."""
    places = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and type(n.value) is int and n.value > 1]
    for value in sorted({n.value for n in places if isinstance(n.value, int)}, reverse=True):
        for smaller in dict.fromkeys((1, 2, 4, 8, 16, value // 2, value - 1)):
            if smaller < value:
                yield _with_number(tree, value, smaller, None)
    for number, place in enumerate(places):
        assert isinstance(place.value, int)
        for smaller in dict.fromkeys((0, 1, place.value // 2)):
            if smaller < place.value:
                yield _with_number(tree, place.value, smaller, number)


def _with_number(tree: ast.Module, value: int, smaller: int, only: int | None) -> ast.Module:
    result = copy.deepcopy(tree)
    places = [n for n in ast.walk(result) if isinstance(n, ast.Constant) and type(n.value) is int and n.value > 1]
    for number, place in enumerate(places):
        if place.value == value and only in (None, number):
            place.value = smaller
    return result
