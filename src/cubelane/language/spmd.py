"""`for i in pl.spmd(n): ...` as the parallel loop it is on one core group (spec/front.md 1.6).

A scope of `n` blocks is a `pl.parallel` loop over the blocks around a `pl.at` scope: `i` is the number of the block.
The form that only dispatches a kernel, which then asks for its block, is refused.
"""

import ast
from collections.abc import Sequence

from cubelane.language.body import Definition
from cubelane.language.errors import ParserError, ParserSyntaxError, UnsupportedFeatureError
from cubelane.language.flow import COMPOUND, called_word

SCOPE_KEYWORDS = ("name_hint", "optimizations", "windowize")
BLOCK_WORDS = ("get_block_idx", "get_block_num")


def without_spmd(definition: Definition, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements with every loop over blocks written out."""
    if not any("spmd" in line for line in definition.source.lines):
        return list(statements)
    return [_statement(definition, node) for node in statements]


def _statement(definition: Definition, node: ast.stmt) -> ast.stmt:
    if not isinstance(node, COMPOUND):
        return node
    match node:
        case ast.For() if called_word(node.iter) == "spmd":
            return _loop(definition, node)
        case ast.For():
            made: ast.stmt = ast.For(node.target, node.iter, _all(definition, node.body), node.orelse, None)
        case ast.While():
            made = ast.While(node.test, _all(definition, node.body), node.orelse)
        case ast.With():
            made = ast.With(node.items, _all(definition, node.body))
        case ast.If():
            made = ast.If(node.test, _all(definition, node.body), _all(definition, node.orelse))
    return ast.copy_location(made, node)


def _all(definition: Definition, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    return [_statement(definition, node) for node in statements]


def _loop(definition: Definition, node: ast.For) -> ast.stmt:
    call = node.iter
    assert isinstance(call, ast.Call)

    def refused(at: ast.AST, message: str, instead: str | None = None) -> ParserError:
        return ParserSyntaxError(message, definition.source.place(at), instead=instead)

    if len(call.args) != 1 or not isinstance(node.target, ast.Name) or not isinstance(call.func, ast.Attribute):
        raise refused(call, "pl.spmd takes the number of blocks, and its loop one name", "for i in pl.spmd(n):")
    for keyword in call.keywords:
        if keyword.arg not in SCOPE_KEYWORDS:
            raise refused(call, f"pl.spmd has no keyword `{keyword.arg}`; it knows {', '.join(SCOPE_KEYWORDS)}")
    for inner in (inner for part in node.body for inner in ast.walk(part)):
        if called_word(inner) in BLOCK_WORDS:
            raise UnsupportedFeatureError(
                "the number of the block is the variable of the pl.spmd loop",
                definition.source.place(inner),
                instead=f"{node.target.id}",
            )
    language = call.func.value
    level = _attribute(_attribute(language, "Level", call), "CORE_GROUP", call)
    keywords = [ast.keyword("level", level), *call.keywords]
    scope = ast.copy_location(ast.Call(_attribute(language, "at", call), [], keywords), call)
    inside = ast.copy_location(ast.With([ast.withitem(scope, None)], node.body), node)
    blocks = ast.copy_location(ast.Call(_attribute(language, "parallel", call), call.args, []), call)
    return ast.copy_location(ast.For(node.target, blocks, [inside], [], None), node)


def _attribute(base: ast.expr, name: str, near: ast.AST) -> ast.expr:
    return ast.copy_location(ast.Attribute(base, name, ast.Load()), near)
