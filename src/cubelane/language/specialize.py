"""`@pl.jit`: a kernel whose parameter types come from the arguments it is called with (spec/front.md 1.1)."""

import ast
import inspect
from collections.abc import Callable
from typing import Any

from cubelane.ir.diagnostic import Location
from cubelane.language.body import Definition
from cubelane.language.errors import ParserTypeError, UnsupportedFeatureError
from cubelane.language.evaluate import Evaluator, NotConstant
from cubelane.language.kernel_module import Program
from cubelane.language.parser import Written, build
from cubelane.language.vocabulary import DATA_TYPES, DataType, Form

KINDS = {None: "Opaque", "incore": "InCore", "opaque": "Opaque", "host": "Orchestration"}
NAMES = {
    "float32": "FP32",
    "float16": "FP16",
    "bfloat16": "BF16",
    "bool": "BOOL",
    **{f"int{n}": f"INT{n}" for n in (4, 8, 16, 32, 64)},
    **{f"uint{n}": f"UINT{n}" for n in (4, 8, 16, 32, 64)},
    "float8_e4m3fn": "FP8E4M3FN",
    "float8_e5m2": "FP8E5M2",
    "float8_e8m0fnu": "FP8E8M0",
}
"""Element type of an array to that of the language."""

Runner = Callable[["JitFunction", str, tuple[Any, ...], dict[str, Any]], Any]


class _Hook:
    """What runs a jit kernel. The compiler installs it; the language knows nothing below the IR."""

    runner: Runner | None = None


def install_runner(runner: Runner) -> None:
    """Says how `lower`, `compile` and calls of jit kernels are done; the action is the second argument."""
    _Hook.runner = runner


class JitFunction:
    """A kernel without types; calling it makes a program for the types of the arguments."""

    def __init__(self, definition: Definition, kind: str | None = None):
        self.definition = definition
        self.kind = kind
        self.__name__ = definition.name
        self.__doc__ = ast.get_docstring(definition.node)

    def specialize(self, *arguments: Any, **keywords: Any) -> Program:
        """The program for arguments of these types; it is not lowered."""
        node = self.definition.node
        given = self._bound(arguments, keywords)
        parameters = [self._parameter(a, given) for a in node.args.args if a.arg != "self"]
        constants = {n: v for n, v in given.items() if isinstance(v, int | float | bool) and not self._annotated(n)}
        typed = ast.copy_location(
            ast.FunctionDef(
                node.name,
                ast.arguments([], [p for p in parameters if p.arg not in constants], None, [], [], None, []),
                node.body,
                [self._decorator()],
                node.returns,
                None,
            ),
            node,
        )
        environment = {**self.definition.environment, **constants, **self._symbols}
        definition = Definition(typed, self.definition.source, environment)
        return build(Written(node.name, typed, {node.name: definition}), self.definition.source.filename)

    _symbols: dict[str, Any] = {}

    def _bound(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
        names = [a.arg for a in self.definition.node.args.args if a.arg != "self"]
        signature = inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names])
        try:
            return dict(signature.bind(*arguments, **keywords).arguments)
        except TypeError as problem:
            raise ParserTypeError(f"`{self.__name__}`: {problem}", self._place) from None

    @property
    def _place(self) -> Location:
        return self.definition.source.place(self.definition.node)

    def _annotated(self, name: str) -> bool:
        return any(a.arg == name and a.annotation is not None for a in self.definition.node.args.args)

    def _parameter(self, argument: ast.arg, given: dict[str, Any]) -> ast.arg:
        """The parameter with the type of its argument; what it is annotated with already stays."""
        direction = None
        if argument.annotation is not None:
            try:
                form = Evaluator(self.definition.environment).value(argument.annotation)
            except NotConstant:
                form = None
            word = form.kind if isinstance(form, Form) else ast.unparse(argument.annotation).rpartition(".")[2]
            bare = not isinstance(form, Form) or form.items in ((), None)
            if not bare and word not in ("Out", "InOut"):
                return argument
            direction = word if word in ("Out", "InOut") else None
            if direction and isinstance(form, Form) and isinstance(form.items[0], Form):
                return argument
        value = given[argument.arg]
        if isinstance(value, bool | int | float) and argument.annotation is None:
            return argument
        text = f"pl.Tensor[[{', '.join(str(d) for d in shape_of(value))}], pl.{dtype_of(value, self._place).name}]"
        if isinstance(value, bool | int | float):
            text = f"pl.Scalar[pl.{dtype_of(value, self._place).name}]"
        tree = ast.parse(f"pl.{direction}[{text}]" if direction else text, mode="eval").body
        for inner in ast.walk(tree):
            if isinstance(inner, ast.expr):
                ast.copy_location(inner, argument)
        return ast.copy_location(ast.arg(argument.arg, tree), argument)

    def _decorator(self) -> ast.expr:
        text = f"pl.function(type=pl.FunctionType.{KINDS[self.kind]})"
        return ast.parse(text, mode="eval").body

    def _run(self, action: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if _Hook.runner is None:
            raise UnsupportedFeatureError(
                f"`{self.__name__}` cannot be run: the compiler is not loaded", self._place, instead="import cubelane"
            )
        return _Hook.runner(self, action, arguments, keywords)

    def lower(self, *arguments: Any, **keywords: Any) -> Any:
        """The program after all passes, for arguments of these types."""
        return self._run("lower", arguments, keywords)

    def compile(self, *arguments: Any, **keywords: Any) -> Any:
        """The compiled kernel, for arguments of these types."""
        return self._run("compile", arguments, keywords)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self._run("call", arguments, keywords)


def shape_of(value: Any) -> tuple[int, ...]:
    """The extents of an array."""
    return tuple(int(d) for d in getattr(value, "shape", ()))


def dtype_of(value: Any, place: Location) -> DataType:
    """The element type of an array or number."""
    if isinstance(value, bool):
        return DATA_TYPES["BOOL"]
    if isinstance(value, int | float):
        return DATA_TYPES["INDEX" if isinstance(value, int) else "FP32"]
    name = str(getattr(value, "dtype", type(value).__name__)).rpartition(".")[2]
    if name not in NAMES:
        raise ParserTypeError(f"an array of {name} cannot be an argument of a kernel", place)
    return DATA_TYPES[NAMES[name]]
