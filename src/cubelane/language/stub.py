"""The text of `language/__init__.pyi`: what type checkers and editors know of `pl`, made from the catalogue.

`python -m cubelane.language.stub` writes it anew; a test keeps the file equal to what is made here.
"""

import ast
from enum import Enum
from inspect import Parameter, Signature
from pathlib import Path
from textwrap import dedent, indent

from cubelane.language import catalogue
from cubelane.language.registry import NAMESPACES, OPERATIONS, OpClass, find

FOLDER = Path(__file__).parent
STUB = FOLDER / "__init__.pyi"

HEAD = '''"""The `pl` language, for type checkers and editors. Written by `python -m cubelane.language.stub`."""

from collections.abc import Sequence
from typing import Any, TypeAlias

{imports}

Value: TypeAlias = Any
"""A tile, a tensor or a scalar: what a kernel computes with."""
'''


def stub() -> str:
    """The whole text."""
    parts = [HEAD.format(imports="\n".join(_imports()))]
    taken = _exported()
    for name in sorted({*catalogue.names()} - taken - {*NAMESPACES, *catalogue.SCALAR_FUNCTIONS}):
        ops = catalogue.forms(name)
        parts.append(_definition(name, catalogue.signature_of(ops), catalogue.summary(ops), _gives_value(ops)))
    for name, text in catalogue.SCALAR_FUNCTIONS.items():
        parts.append(f'def {name}(lhs: Value | float, rhs: Value | float) -> Value:\n    """{text}"""\n')
    parts += [_namespace(name) for name in NAMESPACES]
    return "\n".join(parts)


def _tree() -> ast.Module:
    return ast.parse((FOLDER / "__init__.py").read_text(encoding="utf-8"))


def _imports() -> list[str]:
    """The names of `__init__.py`, imported so that a checker takes them as exported."""
    lines: list[str] = []
    renamed = ["loads_program = loads", "parse_program = parse"]
    for node in ast.walk(_tree()):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cubelane."):
            lines += [f"from {node.module} import {a.name} as {a.name}" for a in node.names]
            renamed += [f"{a.asname} = {a.name}" for a in node.names if a.asname and a.asname != a.name]
    return [*sorted(lines), "", *sorted(renamed)]


def _exported() -> set[str]:
    return {line.partition(" = ")[0].rpartition(" ")[2] for line in _imports() if line}


def _default(value: object) -> str:
    return "..." if isinstance(value, Enum) else repr(value)


def _parameter(parameter: Parameter) -> str:
    text = f"{parameter.name}: {parameter.annotation}"
    return text if parameter.default is Parameter.empty else f"{text} = {_default(parameter.default)}"


def _definition(name: str, signature: Signature, text: str, gives_value: bool, own: bool = False) -> str:
    """One function, or method without `self`, with its documentation."""
    parts: list[str] = []
    for parameter in signature.parameters.values():
        if parameter.kind is Parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        parts.append(_parameter(parameter))
    arguments = f"({', '.join(parts)})"
    result = "Value" if gives_value else "None"
    text = dedent(text).strip()
    documented = indent(f'"""{text}\n"""' if "\n" in text else f'"""{text}"""', "    ")
    head = "@staticmethod\n" if own else ""
    return f"{head}def {name}{arguments} -> {result}:\n{documented}\n"


def _gives_value(ops: tuple[OpClass, ...]) -> bool:
    return any(op.get_irdl_definition().results for op in ops)


def _namespace(name: str) -> str:
    """A namespace as a class that only holds functions."""
    found = sorted(op.SPELLING for (space, _), op in OPERATIONS.items() if space == name)
    methods: list[str] = []
    for spelling in found:
        op = find(name, spelling)
        assert op is not None
        made = _definition(spelling, catalogue.signature(op), catalogue.summary((op,)), _gives_value((op,)), True)
        methods.append(indent(made, "    "))
    body = "\n".join(methods)
    return f'class {name}:\n    """The operations of `pl.{name}`."""\n\n{body}'


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
