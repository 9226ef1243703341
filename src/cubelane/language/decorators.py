"""`@pl.program`, `@pl.function`, `@pl.inline`: kernels taken from the source of a Python file (spec/front.md 1.1).

The decorated body is read, never executed. Names that the kernel does not bind are looked up where it is defined.
"""

import ast
import inspect
import math
import textwrap
from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from types import FrameType, FunctionType, ModuleType
from typing import Any

from cubelane.ir.diagnostic import Location
from cubelane.ir.narrowing import is_list, is_tuple
from cubelane.language import vocabulary
from cubelane.language.body import Definition
from cubelane.language.errors import ParserSyntaxError
from cubelane.language.evaluate import Module, Runtime, number
from cubelane.language.kernel_module import Program, Shown
from cubelane.language.parser import Written, build, decorated, program_of
from cubelane.language.source import Source, read
from cubelane.language.specialize import JitFunction
from cubelane.language.templates import Template, template_of
from cubelane.language.vocabulary import DataType, Form, Symbol

LANGUAGE = "cubelane.language"


class Kernel(Shown):
    """A function decorated with `@pl.function` or `@pl.inline`, to be called by other kernels."""

    def __init__(self, definition: Definition, python: Callable[..., Any]):
        self.definition = definition
        self.__name__ = definition.name
        self.__doc__ = python.__doc__
        self._program: Program | None = None

    @property
    def program(self) -> Program:
        """The program that consists of this function and of what it calls."""
        if self._program is None:
            written = Written(self.definition.name, self.definition.node, {self.definition.name: self.definition})
            self._program = build(written, self.definition.source.filename)
        return self._program

    def as_python(self, prefix: str = "pl", concise: bool = False) -> str:
        """The text of the function in the language."""
        return self.program.as_python(prefix, concise)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        raise TypeError(f"{self.__name__} is a kernel; compile it, or call it from another kernel")


class Environment(Mapping[str, Any]):
    """The Python names around a kernel, as far as they are constants, types or other kernels."""

    def __init__(self, frame: FrameType | None, python: object):
        self._scopes: list[Mapping[str, Any]] = []
        if isinstance(python, FunctionType):
            closure = inspect.getclosurevars(python)
            self._scopes.append(closure.nonlocals)
        if frame is not None:
            self._scopes += [frame.f_locals, frame.f_globals]

    def __getitem__(self, key: str) -> Any:
        for scope in self._scopes:
            if key in scope:
                return meaning(scope[key])
        if key == "pl":
            return Module(())
        raise KeyError(key)

    def __iter__(self) -> Any:
        return iter({name for scope in self._scopes for name in scope})

    def __len__(self) -> int:
        return sum(1 for _ in self)


def meaning(value: Any) -> Any:
    """What a Python object means in a kernel."""
    if isinstance(value, Kernel):
        return value.definition
    if isinstance(value, JitFunction):
        return value.template
    if isinstance(value, ModuleType):
        if value.__name__ == LANGUAGE:
            return Module(())
        return math if value is math else Runtime(ast.Name(value.__name__))
    if number(value) or isinstance(value, str | DataType | Symbol | Form | Enum):
        return value
    if _is_enum(value) or value is DataType:
        return value
    if is_tuple(value) or is_list(value):
        return tuple(meaning(item) for item in value)
    return _zero_dimensional(value)


def _is_enum(value: object) -> bool:
    """Whether something is an enum of the language."""
    return isinstance(value, type) and issubclass(value, Enum) and value.__module__ == vocabulary.__name__


def _zero_dimensional(value: object) -> Any:
    """The number in an array without axes; anything else is not known while a kernel is read."""
    item: object = getattr(value, "item", None)
    if callable(item) and getattr(value, "shape", None) == ():
        return item()
    return Runtime(ast.Name("value"))


def source_of(python: Any) -> tuple[Source, ast.AST]:
    """The tree of a class or function, with places in its file."""
    try:
        lines, first = inspect.getsourcelines(python)
        filename = inspect.getsourcefile(python) or "<unknown>"
    except (OSError, TypeError):
        raise ParserSyntaxError(
            f"the source of `{getattr(python, '__name__', python)}` is not available",
            Location(),
            instead="put the kernel into a file, or give its text to pl.parse",
        ) from None
    text = "".join(lines)
    indented = text[:1].isspace()
    source = read(f"if True:\n{text}" if indented else textwrap.dedent(text), filename, first - (2 if indented else 1))
    node: Any = source.tree.body[0]
    return source, node.body[0] if indented else node


def caller() -> FrameType | None:
    """The frame that called the function this is called from."""
    here = inspect.currentframe()
    inner = here.f_back if here is not None else None
    return inner.f_back if inner is not None else None


def program(cls: Any = None, *, strict_ssa: bool = False) -> Any:
    """Reads the functions of a class: `@pl.program class P: ...` gives the program."""
    frame = caller()
    if cls is None:
        return partial(_program, frame=frame)
    return _program(cls, frame)


def _program(cls: Any, frame: FrameType | None) -> Program:
    source, node = source_of(cls)
    assert isinstance(node, ast.ClassDef)
    environment = Environment(frame, cls)
    found = decorated(node, environment)
    decorator = found[1] if found is not None else ast.Name("program")
    return build(program_of(node, decorator, source, environment), source.filename)


def function(python: Any = None, **keywords: Any) -> Any:
    """Marks a function of a program, or makes a kernel function of its own."""
    frame = caller()
    if python is None:
        return partial(_function, frame=frame, inline_=False)
    return _function(python, frame, inline_=False)


def inline(python: Any) -> Any:
    """Makes a function whose statements are put in place of every call."""
    return _function(python, caller(), inline_=True)


def _function(python: Any, frame: FrameType | None, inline_: bool) -> Any:
    if "." in python.__qualname__.rpartition("<locals>.")[2]:
        return python  # a method: its program reads it
    source, node = source_of(python)
    assert isinstance(node, ast.FunctionDef)
    kernel = Kernel(Definition(node, source, Environment(frame, python), inline=inline_), python)
    if not inline_:
        kernel.program  # noqa: B018 - reading it now reports mistakes where the kernel is defined
    return kernel


class Jit:
    """`@pl.jit` and its variants: the types of the parameters come from the arguments of the call."""

    def __init__(self, variant: str = ""):
        self._variant = variant

    def __call__(self, python: Any = None, **keywords: Any) -> Any:
        frame = caller()
        return partial(_jit, frame=frame) if python is None else _jit(python, frame)

    @property
    def incore(self) -> "Jit":
        """A function that runs on the core group and is called by other kernels."""
        return Jit("incore")

    @property
    def opaque(self) -> "Jit":
        """A function that holds scopes of its own and is called by other kernels."""
        return Jit("opaque")

    @property
    def inline(self) -> "Jit":
        """A function whose statements are put in place of every call."""
        return Jit("inline")

    @property
    def host(self) -> "Jit":
        """A function of the host; refused where it is used."""
        return Jit("host")


def _jit(python: Any, frame: FrameType | None) -> Any:
    source, node = source_of(python)
    assert isinstance(node, ast.FunctionDef)
    environment = Environment(frame, python)
    found = decorated(node, environment)
    if found is None:
        raise ParserSyntaxError(f"`{node.name}` is not decorated with @pl.jit", source.place(node), instead="@pl.jit")
    definition = template_of(node, found[1], Definition(node, source, environment))
    return JitFunction(definition) if isinstance(definition, Template) else Kernel(definition, python)


jit = Jit()

__all__ = ["Jit", "Kernel", "function", "inline", "jit", "program"]
