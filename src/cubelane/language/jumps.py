"""`break`, `continue` and early `return`: made structured control flow before a body is read (spec/front.md 1.5).

`continue` and a `return` in an `if` put what follows them into the other arm. A loop with a `break` becomes a `while`
with a flag; what follows the `break` is guarded by it.
"""

import ast
from collections.abc import Iterator, Sequence

from cubelane.language.body import Definition
from cubelane.language.errors import InvalidOperationError, ParserError, ParserSyntaxError, UnsupportedFeatureError
from cubelane.language.evaluate import Evaluator, number
from cubelane.language.flow import COMPOUND, called_word
from cubelane.language.spmd import without_spmd

Jump = (ast.Break, ast.Continue)
MAX_STATEMENTS = 2000
"""How many statements the jumps of a function may make: what follows a jump is read once for every way to it."""


def without_jumps(definition: Definition, statements: Sequence[ast.stmt]) -> ast.FunctionDef:
    """The function with these statements, free of `break`, `continue`, early returns and loops over blocks."""
    body = without_spmd(definition, statements)
    if _has_jump(body):
        body = Rewriter(definition).block(body, None)
    node = definition.node
    if any(isinstance(s, ast.If) and _returns([s]) for s in body):
        body = _with_one_return(definition, body)
    return ast.copy_location(
        ast.FunctionDef(
            name=node.name, args=node.args, body=body, decorator_list=[], returns=node.returns, type_comment=None
        ),
        node,
    )


def names_of(function: ast.FunctionDef) -> set[str]:
    """Every name in a function."""
    inner = list(ast.walk(function))
    return {n.id for n in inner if isinstance(n, ast.Name)} | {a.arg for a in inner if isinstance(a, ast.arg)}


def fresh_name(name: str, taken: set[str]) -> str:
    """A name that nobody uses; it is taken from here on."""
    count = 1
    while f"{name}_{count}" in taken:
        count += 1
    taken.add(f"{name}_{count}")
    return f"{name}_{count}"


class _Budget:
    """Counts the statements that are made, so that a short text cannot become an endless one."""

    def __init__(self, definition: Definition):
        self.source = definition.source
        self.left = MAX_STATEMENTS

    def spend(self, node: ast.AST) -> None:
        """One statement more."""
        self.left -= 1
        if self.left < 0:
            raise UnsupportedFeatureError(
                "too many ways lead through the `continue`, `break` and `return` of this function",
                self.source.place(node),
                instead="one condition in front of what follows",
            )


def _has_jump(statements: Sequence[ast.stmt]) -> bool:
    """Whether a jump stands anywhere in statements."""
    for node in statements:
        if isinstance(node, Jump):
            return True
        if isinstance(node, COMPOUND):
            if _has_jump(node.body) or _has_jump(getattr(node, "orelse", ())):
                return True
    return False


def _returns(statements: Sequence[ast.stmt]) -> list[ast.Return]:
    """The returns in statements and in the arms of their ifs."""
    found: list[ast.Return] = []
    for node in statements:
        if isinstance(node, ast.Return):
            found.append(node)
        elif isinstance(node, ast.If):
            found += _returns(node.body) + _returns(node.orelse)
    return found


def _with_one_return(definition: Definition, statements: list[ast.stmt]) -> list[ast.stmt]:
    """The statements with a single return at the end; every way must return the same number of values."""
    found = _returns(statements)
    counts = {_count(node) for node in found}
    place = definition.source.place(found[0])
    if len(counts) != 1:
        raise UnsupportedFeatureError("the returns of this function give different numbers of values", place)
    taken = names_of(definition.node)
    names = [fresh_name("returned", taken) for _ in range(counts.pop())]
    body, returned = _tail(_Budget(definition), statements, names)
    if not names:
        return body
    if not returned:
        raise UnsupportedFeatureError("this function returns a value on some ways only", place)
    near = found[-1]
    loads: list[ast.expr] = [ast.copy_location(ast.Name(name, ast.Load()), near) for name in names]
    value = loads[0] if len(loads) == 1 else ast.copy_location(ast.Tuple(loads, ast.Load()), near)
    return [*body, ast.copy_location(ast.Return(value), near)]


def _count(node: ast.Return) -> int:
    if node.value is None:
        return 0
    return len(node.value.elts) if isinstance(node.value, ast.Tuple) else 1


def _tail(budget: _Budget, statements: Sequence[ast.stmt], names: list[str]) -> tuple[list[ast.stmt], bool]:
    """Statements whose returns assign to `names`, and whether every way through them does."""
    result: list[ast.stmt] = []
    for position, node in enumerate(statements):
        budget.spend(node)
        if isinstance(node, ast.Return):
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value] if node.value else []
            return result + [_assign(n, v, node) for n, v in zip(names, values, strict=True)], True
        if isinstance(node, ast.If) and _returns([node]):
            rest = list(statements[position + 1 :])
            arms: list[list[ast.stmt]] = []
            done: list[bool] = []
            for arm in (node.body, node.orelse):
                tail, returned = _tail(budget, [*arm, *rest], names)
                arms.append(tail or [ast.copy_location(ast.Pass(), node)])
                done.append(returned)
            return [*result, ast.copy_location(ast.If(node.test, arms[0], arms[1]), node)], all(done)
        result.append(node)
    return result, False


def _jumps_of(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The jumps that belong to the loop these statements are the body of."""
    for node in statements:
        if isinstance(node, Jump):
            yield node
        elif isinstance(node, ast.If):
            yield from _jumps_of(node.body)
            yield from _jumps_of(node.orelse)
        elif isinstance(node, ast.With) or (isinstance(node, ast.For) and called_word(node.iter) == "split_aiv"):
            yield from _jumps_of(node.body)


class Rewriter:
    """Rewrites the loops of one function."""

    def __init__(self, definition: Definition):
        self.source = definition.source
        self.budget = _Budget(definition)
        self.evaluator = Evaluator(definition.environment)
        self._taken = names_of(definition.node)

    def _fresh(self, name: str) -> str:
        return fresh_name(name, self._taken)

    def _refuse(self, node: ast.AST, message: str, instead: str | None = None) -> ParserError:
        return InvalidOperationError(message, self.source.place(node), instead=instead)

    def block(self, statements: Sequence[ast.stmt], flag: str | None) -> list[ast.stmt]:
        """Statements without jumps of their own; inner loops are rewritten too."""
        result: list[ast.stmt] = []
        for node in statements:
            match node:
                case ast.For() | ast.While():
                    result += self._loop(node)
                case ast.If():
                    node = ast.copy_location(
                        ast.If(node.test, self.block(node.body, flag), self.block(node.orelse, flag)), node
                    )
                    result.append(node)
                case ast.With():
                    result.append(ast.copy_location(ast.With(node.items, self.block(node.body, flag)), node))
                case _:
                    result.append(node)
        return result

    def _loop(self, node: ast.For | ast.While) -> list[ast.stmt]:
        jumps = list(_jumps_of(node.body))
        word = called_word(node.iter) if isinstance(node, ast.For) else "while"
        if not jumps:
            return [self._with_body(node, self.block(node.body, None))]
        if word in ("parallel", "unroll", "split_aiv"):
            way = None if word == "split_aiv" else "pl.range"
            raise self._refuse(jumps[0], f"`{_name(jumps[0])}` is not possible in pl.{word}", instead=way)
        if any(called_word(getattr(s, "value", None)) == "yield_" for s in node.body):
            raise UnsupportedFeatureError(
                f"`{_name(jumps[0])}` in a loop with pl.yield_ is not supported",
                self.source.place(jumps[0]),
                instead="let the loop find its carries by itself: leave out init_values and pl.yield_",
            )
        flag = None
        if any(isinstance(jump, ast.Break) for jump in jumps):
            flag = self._fresh("going")
        body = self._guarded(node.body, flag)
        if flag is None:
            return [self._with_body(node, body)]
        return self._with_flag(node, body, flag)

    @staticmethod
    def _with_body(node: ast.For | ast.While, body: list[ast.stmt]) -> ast.stmt:
        if isinstance(node, ast.For):
            return ast.copy_location(ast.For(node.target, node.iter, body, node.orelse, None), node)
        return ast.copy_location(ast.While(node.test, body, node.orelse), node)

    def _guarded(self, statements: Sequence[ast.stmt], flag: str | None) -> list[ast.stmt]:
        """Statements in which nothing follows a jump."""
        result: list[ast.stmt] = []
        for position, node in enumerate(statements):
            self.budget.spend(node)
            rest = list(statements[position + 1 :])
            if isinstance(node, ast.Continue):
                return result or [ast.copy_location(ast.Pass(), node)]
            if isinstance(node, ast.Break):
                assert flag is not None
                return [*result, _assign(flag, ast.Constant(False), node)]
            if any(True for _ in _jumps_of([node])):
                if not isinstance(node, ast.If):
                    jump = next(iter(_jumps_of([node])))
                    raise self._refuse(jump, f"`{_name(jump)}` cannot leave a scope")
                arms = [self._arm(arm, rest, flag) for arm in (node.body, node.orelse)]
                result.append(ast.copy_location(ast.If(node.test, *arms), node))
                return result
            result += self.block([node], None)
        return result

    def _arm(self, arm: Sequence[ast.stmt], rest: list[ast.stmt], flag: str | None) -> list[ast.stmt]:
        return self._guarded([*arm, *rest], flag)

    def _with_flag(self, node: ast.For | ast.While, body: list[ast.stmt], flag: str) -> list[ast.stmt]:
        start = _assign(flag, ast.Constant(True), node)
        going = ast.copy_location(ast.Name(flag, ast.Load()), node)
        if isinstance(node, ast.While):
            test = ast.copy_location(ast.BoolOp(ast.And(), [going, node.test]), node)
            return [start, ast.copy_location(ast.While(test, body, []), node)]
        call = node.iter
        if not isinstance(call, ast.Call) or not isinstance(node.target, ast.Name) or call.keywords:
            raise UnsupportedFeatureError("`break` needs a plain pl.range loop", self.source.place(node))
        bounds = self._bounds(call)
        low = bounds[0] if len(bounds) > 1 else ast.copy_location(ast.Constant(0), node)
        high = bounds[1] if len(bounds) > 1 else bounds[0]
        step = bounds[2] if len(bounds) > 2 else ast.copy_location(ast.Constant(1), node)
        name = node.target.id
        limit, counter = self._fresh(f"{name}_end"), self._fresh(f"{name}_next")
        known = self.evaluator.or_runtime(step)
        order = ast.Gt() if number(known) and known < 0 else ast.Lt()
        compare = ast.Compare(ast.Name(counter, ast.Load()), [order], [ast.Name(limit, ast.Load())])
        test = ast.copy_location(ast.BoolOp(ast.And(), [going, _placed(compare, node)]), node)
        setup = [start, _assign(counter, low, node), _assign(limit, high, node)]
        if not number(known):
            stride = self._fresh(f"{name}_step")
            setup.append(_assign(stride, step, node))
            step = ast.copy_location(ast.Name(stride, ast.Load()), node)
        advance = ast.BinOp(ast.Name(counter, ast.Load()), ast.Add(), step)
        inner = [_assign(name, ast.Name(counter, ast.Load()), node), _assign(counter, advance, node), *body]
        return [*setup, ast.copy_location(ast.While(test, inner, []), node)]

    def _bounds(self, call: ast.Call) -> list[ast.expr]:
        """The bounds of a `pl.range` with a `break` in its body, checked as those of any loop."""
        if self.evaluator.language_word(call.func) != "range":
            raise UnsupportedFeatureError(
                "a for loop needs an iterator of the language",
                self.source.place(call),
                instead="for i in pl.range(n):",
            )
        if not 1 <= len(call.args) <= 3:
            raise ParserSyntaxError(
                f"pl.range takes 1 to 3 bounds, {len(call.args)} are given", self.source.place(call)
            )
        step = self.evaluator.or_runtime(call.args[2]) if len(call.args) > 2 else 1
        if number(step) and step == 0:
            raise ParserSyntaxError("the step of a loop is not zero", self.source.place(call.args[2]))
        return call.args


def _name(node: ast.stmt) -> str:
    return type(node).__name__.lower()


def _placed(node: ast.AST, near: ast.AST) -> ast.expr:
    for inner in ast.walk(node):
        if isinstance(inner, ast.expr) and not hasattr(inner, "lineno"):
            ast.copy_location(inner, near)
    assert isinstance(node, ast.expr)
    return node


def _assign(name: str, value: ast.expr, near: ast.AST) -> ast.Assign:
    target = ast.copy_location(ast.Name(name, ast.Store()), near)
    made = ast.copy_location(ast.Assign([target], _placed(value, near)), near)
    made.end_lineno = made.lineno  # that of a loop would take in the lines of its body
    return made
