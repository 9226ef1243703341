"""Rewrites the Python of a kernel so that `if`, `while` and `for ... in range(...)` may depend on traced values.

A statement becomes local functions for its parts and one call of `flow`; Python still decides what it can. Names keep
their lines. The body of a `with pto.section(...)` gets its names back as they were (spec/pto.md 2.6.2, 2.6.4).
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable
from types import CellType, CodeType, FunctionType
from typing import Any

from cubelane.ptodsl import flow

RUNTIME = "__pto_flow__"
_LEAVES = (ast.Return, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Await)
_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp,
          ast.GeneratorExp)  # fmt: skip


def rewritten(function: Callable[..., Any], control_flow: bool = True) -> Callable[..., Any]:
    """The function with its control flow rewritten; unchanged when its source cannot be read."""
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        return function
    source = textwrap.dedent("".join(lines))
    indent = len(lines[0]) - len(lines[0].lstrip())
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return function
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef):
        return function
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.stmt | ast.arg | ast.keyword):
            node.lineno += first - 1
            node.end_lineno = None if node.end_lineno is None else node.end_lineno + first - 1
            node.col_offset += indent
            node.end_col_offset = None if node.end_col_offset is None else node.end_col_offset + indent
    definition.decorator_list, definition.returns = [], None
    _Rewriter(definition, control_flow).apply()
    return _compiled(function, tree, definition.name)


def _compiled(function: Callable[..., Any], tree: ast.Module, name: str) -> Callable[..., Any]:
    """Compiles in the globals of the original, sharing the variables it closes over."""
    original = inspect.unwrap(function)
    assert isinstance(original, FunctionType)
    names = original.__code__.co_freevars
    outer = ast.parse(f"def __outer__({', '.join([RUNTIME, *names])}):\n    return {name}")
    shell = outer.body[0]
    assert isinstance(shell, ast.FunctionDef)
    shell.body.insert(0, tree.body[0])
    ast.fix_missing_locations(outer)
    code = compile(outer, original.__code__.co_filename, "exec")
    for wanted in ("__outer__", name):
        code = next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == wanted)
    cells = dict(zip(names, original.__closure__ or (), strict=True)) | {RUNTIME: CellType(flow)}
    closure = tuple(cells[free] for free in code.co_freevars)
    made = FunctionType(code, original.__globals__, name, original.__defaults__, closure)
    made.__kwdefaults__ = original.__kwdefaults__ or {}
    made.__module__, made.__qualname__ = original.__module__, original.__qualname__
    return made


def _walk(nodes: Iterable[ast.AST]) -> Iterable[ast.AST]:
    """All nodes of this function's own scope, in order."""
    for node in nodes:
        yield node
        if not isinstance(node, _INNER):
            yield from _walk(ast.iter_child_nodes(node))


def _stored(nodes: Iterable[ast.AST]) -> list[str]:
    """The names that statements bind, in order."""
    names: dict[str, None] = {}
    for node in _walk(nodes):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            names[node.id] = None
    return [name for name in names if not name.startswith("__pto")]


def _leaves(nodes: Iterable[ast.AST]) -> bool:
    """Whether the statements may leave by return, break or continue."""
    return any(isinstance(node, _LEAVES) for node in _walk(nodes))


def _loads(node: ast.AST) -> Iterable[str]:
    return (n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))


class _Exposed:
    """The names that statements may read before they bind them (an over-approximation by order of the text)."""

    def __init__(self, statements: Iterable[ast.stmt]):
        self.bound: set[str] = set()
        self.names: set[str] = set()
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.If | ast.While | ast.For):
            test = node.iter if isinstance(node, ast.For) else node.test
            self._read(test)
            before = set(self.bound)
            if isinstance(node, ast.For):
                self.bound |= set(_stored([node.target]))
            for part in (node.body, node.orelse):
                inner = _Exposed(part)
                self.names |= inner.names - self.bound
            self.bound = before
            return
        if isinstance(node, ast.With):
            for item in node.items:
                self._read(item.context_expr)
                if item.optional_vars is not None:
                    self.bound |= set(_stored([item.optional_vars]))
            for statement in node.body:
                self._statement(statement)
            return
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self.names |= {node.target.id} - self.bound
        self._read(node)
        self.bound |= set(_stored([node]))

    def _read(self, node: ast.AST) -> None:
        self.names |= set(_loads(node)) - self.bound


class _Rewriter:
    """Rewrites one function definition in place."""

    def __init__(self, definition: ast.FunctionDef, control_flow: bool):
        self.definition, self.control_flow = definition, control_flow
        self.count = 0
        self.foreign = {
            n for node in _walk(definition.body) if isinstance(node, ast.Global | ast.Nonlocal) for n in node.names
        }

    def apply(self) -> None:
        """Rewrites the body; names that only moved statements bind stay names of this function."""
        names = [n for n in _stored(self.definition.body) if n not in self.foreign]
        self.definition.body = self._block(self.definition.body, set())
        if names and self.count:
            targets = " = ".join(names)
            self.definition.body[:0] = ast.parse(f"if False:\n    {targets} = None").body

    def _block(self, statements: list[ast.stmt], later: set[str]) -> list[ast.stmt]:
        """Rewrites statements; `later` are the names that may be read after them."""
        result: list[ast.stmt] = []
        reads = later
        for statement in reversed(statements):
            after = reads
            reads = (
                set(_loads(statement))
                | {
                    n.target.id
                    for n in ast.walk(statement)
                    if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)
                }
                | reads
            )
            result[:0] = self._statement(statement, after)
        return result

    def _statement(self, node: ast.stmt, later: set[str]) -> list[ast.stmt]:
        if isinstance(node, ast.FunctionDef):
            inner = _Rewriter(node, self.control_flow)
            inner.count = 0
            inner.apply()
            return [node]
        if isinstance(node, ast.With):
            return self._with(node, later)
        if isinstance(node, ast.Try):
            node.body = self._block(node.body, later)
            return [node]
        if not self.control_flow:
            for part in ("body", "orelse"):
                if isinstance(node, ast.If | ast.For | ast.While):
                    setattr(node, part, self._block(getattr(node, part), later))
            return [node]
        if isinstance(node, ast.If):
            return self._if(node, later)
        if isinstance(node, ast.While):
            return self._while(node, later)
        if isinstance(node, ast.For):
            return self._for(node, later)
        return [_Conditions().visit(node)]

    def _with(self, node: ast.With, later: set[str]) -> list[ast.stmt]:
        names = [n for n in _stored(node.body) if n not in self.foreign]
        node.body = self._block(node.body, later)
        sections = any(isinstance(i.context_expr, ast.Call) and isinstance(i.context_expr.func, ast.Attribute)
                       and i.context_expr.func.attr == "section" for i in node.items)  # fmt: skip
        if not sections or not names:
            return [node]
        number = self._number()
        helpers = self._accessors(number, names, node)
        kept = f"{RUNTIME}.kept({tuple(names)!r}, __pto_get_{number}())"
        keep = self._parse(f"__pto_kept_{number} = {kept}", node)
        back = self._parse(f"__pto_put_{number}(__pto_kept_{number})", node)
        return [*helpers, *keep, node, *back]

    def _number(self) -> int:
        self.count += 1
        return self.count

    def _parse(self, text: str, place: ast.AST) -> list[ast.stmt]:
        made = ast.parse(text).body
        for statement in made:
            for node in ast.walk(statement):
                ast.copy_location(node, place)
        return made

    def _accessors(self, number: int, names: list[str], place: ast.AST) -> list[ast.stmt]:
        reads = "".join(f"{RUNTIME}.read(lambda: {name}), " for name in names)
        text = f"def __pto_get_{number}():\n    return ({reads})\n"
        text += f"def __pto_put_{number}(__pto_values):\n"
        text += (
            f"    nonlocal {', '.join(names)}\n    ({', '.join(names)},) = __pto_values\n" if names else "    pass\n"
        )
        return self._parse(text, place)

    def _part(self, name: str, argument: str, names: list[str], body: list[ast.stmt], place: ast.AST) -> ast.stmt:
        made = self._parse(f"def {name}({argument}):\n    pass", place)[0]
        assert isinstance(made, ast.FunctionDef)
        declared: list[ast.stmt] = self._parse(f"nonlocal {', '.join(names)}", place) if names else []
        made.body = [*declared, *(body or self._parse("pass", place))]
        return made

    def _call(self, function: str, heads: list[ast.expr], number: int, names: list[str], live: Iterable[str],
              parts: list[str], place: ast.AST) -> ast.stmt:  # fmt: skip
        quoted = f"{tuple(names)!r}, {tuple(n for n in names if n in set(live))!r}"
        text = f"{RUNTIME}.{function}({', '.join([*parts, quoted, f'__pto_get_{number}', f'__pto_put_{number}'])})"
        statement = self._parse(text, place)[0]
        assert isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
        statement.value.args[:0] = heads
        return statement

    def _own(self, nodes: Iterable[ast.AST]) -> list[str]:
        return [name for name in _stored(nodes) if name not in self.foreign]

    def _if(self, node: ast.If, later: set[str]) -> list[ast.stmt]:
        if _leaves([*node.body, *node.orelse]):
            node.body, node.orelse = self._block(node.body, later), self._block(node.orelse, later)
            return [node]
        names, number = self._own([*node.body, *node.orelse]), self._number()
        then = self._part(f"__pto_then_{number}", "", names, self._block(node.body, later), node)
        other = self._part(f"__pto_else_{number}", "", names, self._block(node.orelse, later), node)
        test = _Conditions().visit(node.test)
        call = self._call(
            "run_if", [test], number, names, later, [f"__pto_then_{number}", f"__pto_else_{number}"], node
        )
        return [*self._accessors(number, names, node), then, other, call]

    def _while(self, node: ast.While, later: set[str]) -> list[ast.stmt]:
        exposed = _Exposed([node]).names
        if _leaves(node.body) or node.orelse:
            node.body = self._block(node.body, later | exposed)
            return [node]
        names, number = self._own(node.body), self._number()
        test = _Conditions().visit(node.test)
        tested = self._part(f"__pto_test_{number}", "", [], [ast.copy_location(ast.Return(test), node)], node)
        body = self._part(f"__pto_body_{number}", "", names, self._block(node.body, later | exposed), node)
        parts = [f"__pto_test_{number}", f"__pto_body_{number}"]
        call = self._call("run_while", [], number, names, later | exposed, parts, node)
        return [*self._accessors(number, names, node), tested, body, call]

    def _for(self, node: ast.For, later: set[str]) -> list[ast.stmt]:
        exposed = _Exposed(node.body).names
        is_range = (
            isinstance(node.iter, ast.Call) and isinstance(node.iter.func, ast.Name) and node.iter.func.id == "range"
        )
        if not is_range or _leaves(node.body) or node.orelse or not isinstance(node.target, ast.Name):
            node.body = self._block(node.body, later | exposed)
            return [node]
        assert isinstance(node.iter, ast.Call)
        names, number = self._own([node.target, *node.body]), self._number()
        body = self._block(node.body, later | exposed)
        body[:0] = self._parse(f"{node.target.id} = __pto_item", node)
        bounds = ast.copy_location(ast.Tuple(node.iter.args, ast.Load()), node.iter)
        part = self._part(f"__pto_body_{number}", "__pto_item", names, body, node)
        live = later | (exposed - {node.target.id})
        call = self._call("run_for", [bounds], number, names, live, [f"__pto_body_{number}"], node)
        return [*self._accessors(number, names, node), part, call]


class _Conditions(ast.NodeTransformer):
    """`and`, `or`, `not`, chained comparisons and conditional expressions on traced values."""

    def _helper(self, name: str, arguments: list[ast.expr], place: ast.AST) -> ast.expr:
        function = ast.Attribute(ast.Name(RUNTIME, ast.Load()), name, ast.Load())
        made = ast.Call(function, arguments, [])
        return ast.fix_missing_locations(ast.copy_location(made, place))

    def _later(self, value: ast.expr) -> ast.expr:
        empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        return ast.fix_missing_locations(ast.copy_location(ast.Lambda(empty, value), value))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        name = "both" if isinstance(node.op, ast.And) else "either"
        result = node.values[-1]
        for value in reversed(node.values[:-1]):
            result = self._helper(name, [value, self._later(result)], node)
        return result

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return self._helper("negated", [node.operand], node) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        sides = [node.left, *node.comparators]
        pairs = [
            ast.copy_location(ast.Compare(a, [op], [b]), node)
            for a, op, b in zip(sides, node.ops, sides[1:], strict=False)
        ]
        result: ast.expr = pairs[-1]
        for pair in reversed(pairs[:-1]):
            result = self._helper("both", [pair, self._later(result)], node)
        return result

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        return self._helper("chosen", [node.test, self._later(node.body), self._later(node.orelse)], node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node
