"""From text to IR: `parse(text)` and `loads(path)` (spec/front.md 1.1). Nothing of the text is executed."""

import ast
import math
from collections import ChainMap
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp

from cubelane.ir import kernel
from cubelane.ir.collector import paused
from cubelane.ir.diagnostic import Diagnostic, Location
from cubelane.ir.narrowing import is_tuple
from cubelane.ir.text_file import read_text
from cubelane.language.arguments import Arguments
from cubelane.language.body import Definition, Signature
from cubelane.language.errors import (
    KernelCountError,
    NeedsArguments,
    ParserSyntaxError,
    UndefinedVariableError,
    UnsupportedFeatureError,
)
from cubelane.language.evaluate import Evaluator, Module, Runtime
from cubelane.language.flow import target_names
from cubelane.language.functions import Header, HeaderReader, read_function
from cubelane.language.kernel_module import Program
from cubelane.language.source import Source, read
from cubelane.language.templates import Specializer, Template, template_of
from cubelane.language.vocabulary import DataType


@dataclass
class Written:
    """A program as written: its functions, in order."""

    name: str
    node: ast.AST
    definitions: dict[str, Definition]
    strict_ssa: bool = False


@dataclass
class File:
    """The programs and the free functions of a text, and what its names stand for."""

    source: Source
    environment: dict[str, Any] = field(default_factory=dict[str, Any])
    programs: list[Written] = field(default_factory=list[Written])
    functions: list[Definition] = field(default_factory=list[Definition])
    templates: list[Template] = field(default_factory=list[Template])


class ProgramReader:
    """Makes the module of one program."""

    def __init__(self, program: Written):
        self.program = program
        self.headers: dict[str, Header] = {}
        self.done: dict[str, FuncOp] = {}
        self.open: list[str] = []
        self.templates: dict[tuple[int, Hashable], Definition] = {}

    def module(self) -> Program:
        """The module, functions in the order of the text, those from outside first."""
        for name, definition in self.program.definitions.items():
            self.headers[name] = HeaderReader(definition, self.program.strict_ssa).header()
        for name in list(self.headers):
            self._read(name)
        inside = [self.done[name] for name in self.program.definitions]
        outside = [op for name, op in self.done.items() if name not in self.program.definitions]
        module = Program([*outside, *inside])
        module.attributes[kernel.PROGRAM] = StringAttr(self.program.name)
        return module

    def _read(self, name: str) -> None:
        if name in self.done:
            return
        header = self.headers[name]
        self.open.append(name)
        try:
            op = read_function(header, self)
        finally:
            self.open.pop()
        header.outputs = tuple(op.function_type.outputs)
        self.done[name] = op

    def method(self, name: str) -> Signature | None:
        """The signature of a function of the program, which may have to be read for it."""
        header = self.headers.get(name)
        if header is None:
            return None
        if header.outputs is None:
            if name in self.open:
                place = header.definition.source.place(header.definition.node)
                raise ParserSyntaxError(
                    f"`{name}` calls itself, so its results must be annotated", place, instead=f"def {name}(...) -> ..."
                )
            self._read(name)
        return header.signature

    def outside(self, definition: Definition, at: ast.AST) -> Signature:
        """Takes a function from outside into the program, once."""
        known = self.headers.get(definition.name)
        if known is not None and known.definition.node is not definition.node:
            place = definition.source.place(definition.node)
            raise ParserSyntaxError(f"the program has another function `{definition.name}` already", place)
        if known is None:
            self.headers[definition.name] = HeaderReader(definition, self.program.strict_ssa).header()
            self._read(definition.name)
        signature = self.method(definition.name)
        assert signature is not None
        return signature

    def template(self, template: Template, given: Arguments, at: Location) -> tuple[Signature, list[Any]]:
        """Takes the typed function that the arguments make of a template into the program; what it is called with."""
        made = Specializer(template).specialized(tuple(given.positional), given.keywords, at)
        key = (id(template.node), made.key)
        if key not in self.templates:
            name, count = template.name, 0
            while name in self.headers:
                count += 1
                name = f"{template.name}_{count}"
            self.templates[key] = made.definition.renamed(name)
        return self.outside(self.templates[key], given.call), list(made.arguments.values())


def scan(source: Source) -> File:
    """What a text defines at its top level."""
    file = File(source)
    file.environment["pl"] = file.environment["pld"] = Module(())
    for node in source.tree.body:
        match node:
            case ast.Import() | ast.ImportFrom():
                file.environment.update(imported(node))
            case ast.Assign():
                for target in node.targets:
                    _assign(file.environment, target, node.value)
            case ast.AnnAssign(value=ast.expr() as value):
                _assign(file.environment, node.target, value)
            case ast.FunctionDef():
                _function(file, node)
            case ast.ClassDef():
                _class(file, node)
            case _:
                _unread(file, node)
    return file


def _unread(file: File, node: ast.stmt) -> None:
    """A statement that is not understood: what it may bind is no longer known, unless it imports the language."""
    for inner in ast.walk(node):
        match inner:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                file.environment[name] = Runtime(node)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                file.environment[name] = Runtime(node)
            case ast.Import() | ast.ImportFrom():
                for name, value in imported(inner).items():
                    if not isinstance(file.environment.get(name), Module):
                        file.environment[name] = value
            case _:
                pass


def imported(node: ast.Import | ast.ImportFrom) -> dict[str, Any]:
    """What the names of an import stand for."""
    names: dict[str, Any] = {}
    for alias in node.names:
        bound = alias.asname or alias.name.split(".")[0]
        full = f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
        if full.endswith((".language", ".language.distributed")) and (alias.asname or isinstance(node, ast.ImportFrom)):
            names[bound] = Module(())
        elif full == "math":
            names[bound] = math
        elif isinstance(node, ast.ImportFrom) and alias.name == "DataType":
            names[bound] = DataType
        else:
            names[bound] = Runtime(node)
    return names


def _assign(environment: dict[str, Any], target: ast.expr, value: ast.expr) -> None:
    known = Evaluator(environment).or_runtime(value)
    if isinstance(target, ast.Name):
        environment[target.id] = known
        return
    names = target_names(target)
    items: Sequence[Any] = known if is_tuple(known) and len(known) == len(names) else [Runtime(value)] * len(names)
    environment.update(zip(names, items, strict=True))


def decorated(node: ast.FunctionDef | ast.ClassDef, environment: Mapping[str, Any]) -> tuple[str, ast.expr] | None:
    """The decorator of the language on a definition: its word and its tree."""
    evaluator = Evaluator(environment)
    for decorator in node.decorator_list:
        function = decorator.func if isinstance(decorator, ast.Call) else decorator
        word = evaluator.language_word(function)
        if word in ("program", "function", "inline", "jit"):
            return word, decorator
        if isinstance(function, ast.Attribute) and evaluator.language_word(function.value) == "jit":
            return "jit", decorator
    return None


def _function(file: File, node: ast.FunctionDef) -> None:
    found = decorated(node, file.environment)
    if found is None or found[0] == "program":
        file.environment[node.name] = Runtime(node)
        return
    # constants as they are here; functions may call ones that follow
    seen = ChainMap(dict(file.environment), file.environment)
    seen.pop(node.name, None)
    definition = Definition(node, file.source, seen, inline=found[0] == "inline")
    if found[0] == "jit":
        definition = template_of(node, found[1], definition)
    file.environment[node.name] = definition
    if isinstance(definition, Template):
        file.templates.append(definition)
    elif not definition.inline:
        file.functions.append(definition)


def _class(file: File, node: ast.ClassDef) -> None:
    found = decorated(node, file.environment)
    if found is None or found[0] != "program":
        file.environment[node.name] = Runtime(node)
        return
    file.programs.append(program_of(node, found[1], file.source, file.environment))
    file.environment[node.name] = Runtime(node)


def program_of(node: ast.ClassDef, decorator: ast.expr, source: Source, environment: Mapping[str, Any]) -> Written:
    """The functions of a `@pl.program` class."""
    strict = isinstance(decorator, ast.Call) and any(
        k.arg == "strict_ssa" and isinstance(k.value, ast.Constant) and k.value.value is True
        for k in decorator.keywords
    )
    visible = dict(environment)
    program = Written(node.name, node, {}, strict)
    for item in node.body:
        if isinstance(item, ast.Pass) or (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)):
            continue
        found = decorated(item, environment) if isinstance(item, ast.FunctionDef) else None
        if isinstance(item, ast.FunctionDef) and found is not None and found[0] in ("function", "inline"):
            definition = Definition(item, source, visible, inline=found[0] == "inline")
            if definition.inline:
                visible[item.name] = definition
            elif item.name in program.definitions:
                raise ParserSyntaxError(f"two functions are called `{item.name}`", source.place(item))
            else:
                program.definitions[item.name] = definition
        elif isinstance(item, ast.Assign):
            for target in item.targets:
                _assign(visible, target, item.value)
        else:
            raise UnsupportedFeatureError(
                "a program holds functions with @pl.function only", source.place(item), instead="@pl.function"
            )
    return program


def _only_program(file: File, name: str | None, arguments: Mapping[str, Any] | None) -> Written:
    """The one program of a text, or that of a name."""
    where = Location(file.source.filename)
    functions = [Written(f.name, f.node, {f.name: f}) for f in (*file.functions, *file.templates)]
    choices = file.programs or _roots(functions)
    if name is not None:
        choices = [p for p in (*file.programs, *functions) if p.name == name]
        if not choices:
            known = ", ".join(p.name for p in (*file.programs, *functions)) or "none"
            raise UndefinedVariableError(f"the text has no kernel `{name}`; it has {known}", where)
    if len(choices) != 1:
        what = (
            "holds no @pl.program or @pl.function"
            if not choices
            else (f"holds {len(choices)} kernels: {', '.join(p.name for p in choices)}")
        )
        raise KernelCountError(f"the text {what}; exactly one is needed", where)
    (definition, *_) = choices[0].definitions.values() or (None,)
    return _typed(definition, arguments) if isinstance(definition, Template) else choices[0]


def _typed(template: Template, arguments: Mapping[str, Any] | None) -> Written:
    """The program of a template, for the arguments that decide its types."""
    specializer = Specializer(template)
    if arguments is None:
        raise NeedsArguments(
            f"the types of `{template.name}` come from the arguments of a call, and there are none",
            specializer.place(),
            instead="define inputs() in the file: a dict of arrays by parameter name",
        )
    wanted = {name: value for name, value in arguments.items() if name in specializer.names}
    definition = specializer.specialized((), wanted).definition
    return Written(definition.name, definition.node, {definition.name: definition})


def _roots(functions: list[Written]) -> list[Written]:
    """The free functions that no other one calls."""
    called = {
        inner.func.id
        for program in functions
        for inner in ast.walk(program.node)
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name)
    }
    return [program for program in functions if program.name not in called]


def build(program: Written, filename: str) -> Program:
    """The module of a program; whatever goes wrong is a Diagnostic."""
    try:
        with paused():
            return ProgramReader(program).module()
    except RecursionError:
        raise ParserSyntaxError("the kernel nests too deeply", Location(filename)) from None


def parse(
    text: str, filename: str = "<string>", name: str | None = None, arguments: Mapping[str, Any] | None = None
) -> Program:
    """The program of a text. `name` chooses one of several; `arguments` give a `@pl.jit` kernel its types."""
    with paused():
        source = read(text, filename)
        try:
            program = _only_program(scan(source), name, arguments)
        except RecursionError:
            raise ParserSyntaxError("the text nests too deeply", Location(filename)) from None
        return build(program, filename)


def loads(path: str | Path, name: str | None = None) -> Program:
    """The program of a file; nothing of the file is executed."""
    file = Path(path)
    try:
        text = read_text(file)
    except OSError as problem:
        raise Diagnostic(f"cannot read {file}: {problem}", code="cannot-read") from None
    return parse(text, str(file), name)
