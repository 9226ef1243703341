"""The state of one function body while it is read: bound names, the block being filled, what surrounds it."""

import ast
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, NamedTuple, Protocol

from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import MemoryWriteEffect

from cubelane.ir.diagnostic import Location
from cubelane.ir.extents import extent_tree
from cubelane.ir.gm import DimOp
from cubelane.ir.narrowing import is_one, is_value
from cubelane.ir.surface import Bound
from cubelane.ir.types import SplitMode, TensorType
from cubelane.language.arguments import Arguments
from cubelane.language.comments import Comments
from cubelane.language.errors import UndefinedVariableError
from cubelane.language.evaluate import Evaluator
from cubelane.language.flow import Liveness
from cubelane.language.operators import BINARY
from cubelane.language.scalars import Arithmetic
from cubelane.language.source import Source
from cubelane.language.values import Emitter, Literal
from cubelane.language.vocabulary import DataType, Symbol


class Signature(NamedTuple):
    """What a call of a function needs to know."""

    name: str
    parameters: tuple[str, ...]
    inputs: tuple[Attribute, ...]
    outputs: tuple[Attribute, ...]


@dataclass(frozen=True)
class Definition:
    """A kernel function as written, not read yet; `environment` is what its free names mean."""

    node: ast.FunctionDef
    source: Source
    environment: Mapping[str, Any] = field(repr=False)
    inline: bool = False

    @property
    def name(self) -> str:
        """Its name."""
        return self.node.name

    def renamed(self, name: str) -> "Definition":
        """The same function under another name."""
        if name == self.name:
            return self
        n = self.node
        made = ast.FunctionDef(name, n.args, n.body, n.decorator_list, n.returns, None)
        return replace(self, node=ast.copy_location(made, n))


class Functions(Protocol):
    """The functions of the program that is being read."""

    def method(self, name: str) -> Signature | None:
        """The signature of `self.name`."""
        ...

    def outside(self, definition: Definition, at: ast.AST) -> Signature:
        """The signature of a function from outside the program, which becomes a part of it."""
        ...

    def template(self, template: Any, given: Arguments, at: Location) -> tuple[Signature, list[Any]]:
        """The signature of what the arguments make of a `@pl.jit` function, and the arguments it takes at run time."""
        ...


class Names:
    """Bound names, with the changes of every open branch so that they can be undone."""

    def __init__(self) -> None:
        self.bound: dict[str, Any] = {}
        self.places: dict[str, Location] = {}
        self._branches: list[dict[str, Any]] = []

    def bind(self, name: str, value: Any) -> None:
        """Binds a name from here on."""
        if self._branches:
            self._branches[-1].setdefault(name, self.bound.get(name, self))
        self.bound[name] = value

    def __contains__(self, name: str) -> bool:
        return name in self.bound

    def get(self, name: str) -> Any:
        """What a name is bound to, None if to nothing."""
        return self.bound.get(name)

    @contextmanager
    def branch(self) -> Generator[dict[str, Any]]:
        """Undoes all changes at the end; the dictionary then holds the new bindings, in order."""
        changed: dict[str, Any] = {}
        self._branches.append({})
        try:
            yield changed
        finally:
            for name, old in self._branches.pop().items():
                changed[name] = self.bound[name]
                if old is self:
                    del self.bound[name]
                else:
                    self.bound[name] = old


class Body:
    """One function body being read."""

    def __init__(
        self,
        definition: Definition,
        block: Block,
        functions: Functions,
        strict_ssa: bool = False,
        in_core: bool = False,
    ):
        self.emitter = Emitter(definition.source, block)
        self.arithmetic = Arithmetic(self.emitter)
        self.names = Names()
        self.environment: Mapping[str, Any] = definition.environment
        self.functions = functions
        self.strict_ssa = strict_ssa
        self.entry = block
        self.liveness = Liveness(definition.node.body)
        self.comments: Comments | None = None
        self.outputs: frozenset[str] = frozenset()
        """Names of the parameters that the function writes."""
        self.region: SplitMode | None = None
        self.in_core = in_core
        self.inlined = 0

    @property
    def evaluator(self) -> Evaluator:
        """Evaluates constants; a name of the body hides one from outside."""
        return Evaluator(_Visible(self.names, self.environment))

    def symbol(self, symbol: Symbol, node: ast.AST) -> SSAValue:
        """A run-time extent as a number: the extent of the parameter axis that carries it, or what it is made of."""
        known = self._extent(symbol.name, node)
        if known is not None:
            return known
        tree = extent_tree(symbol.name)
        if is_one(tree, ast.BinOp):
            operands = [self._part(part, node) for part in (tree.left, tree.right)]
            return self.arithmetic.binary(BINARY[type(tree.op)], operands[0], operands[1], node)
        raise UndefinedVariableError(f"no parameter has the extent `{symbol.name}`", self.emitter.place(node))

    def _part(self, tree: ast.expr, node: ast.AST) -> SSAValue | Literal:
        return (
            Literal(tree.value)
            if isinstance(tree, ast.Constant) and isinstance(tree.value, int)
            else self.symbol(Symbol(ast.unparse(tree)), node)
        )

    def _extent(self, extent: str, node: ast.AST) -> SSAValue | None:
        """The extent of the parameter axis that carries this text; None if there is none."""
        for argument in self.entry.args:
            if isinstance(argument.type, TensorType) and extent in argument.type.shape:
                axis = argument.type.shape.index(extent)
                made = DimOp.from_call(Bound({"source": argument, "axis": axis}))
                return self.emitter.emit(made, node).results[0]
        return None


class _Visible(Mapping[str, Any]):
    """Names that constants may use: those from outside, except where the body binds them to something else."""

    def __init__(self, names: Names, environment: Mapping[str, Any]):
        self._names, self._environment = names, environment

    def __getitem__(self, key: str) -> Any:
        if isinstance(self._environment.get(key), Symbol):
            return self._environment[key]
        if key in self._names:
            value = self._names.get(key)
            if isinstance(value, Literal):
                return value.value
            if isinstance(value, Enum | DataType):
                return value
            raise KeyError(key)
        return self._environment[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._environment)

    def __len__(self) -> int:
        return len(self._environment)


def written_through(value: object) -> SSAValue | None:
    """The tensor that a chain of writes started from: the value that names the same memory before them."""
    origin = value
    while is_value(origin) and isinstance(origin.owner, Operation):
        op = origin.owner
        target: object = getattr(op, "target", None)
        if not op.has_trait(MemoryWriteEffect) or not is_value(target):
            break
        origin = target
    return origin if is_value(origin) and origin is not value else None


__all__ = ["Body", "Definition", "Functions", "Names", "Signature", "written_through"]
