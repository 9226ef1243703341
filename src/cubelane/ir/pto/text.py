"""Reading and printing PTO modules: every op keeps its place, every mistake becomes a located diagnostic."""

import re
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from io import StringIO
from itertools import chain
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import IntegerAttr, IntegerType, ModuleOp, i64
from xdsl.ir import Attribute, Dialect, Operation, SSAValue, TypeAttribute
from xdsl.parser import UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.hints import isa

from cubelane.ir.diagnostic import Diagnostic, Location, refuse
from cubelane.ir.placed_parser import PlacedParser
from cubelane.ir.pto.attrs import ALL_ATTRIBUTES, WordAttr
from cubelane.ir.pto.regions import BOUNDARY_ADVICE, REGION_OPS, SectionOp
from cubelane.ir.pto.spaces import Space
from cubelane.ir.pto.table import ENTRY_POINTS, op_classes, virtual_class
from cubelane.ir.pto.tokens import UndefinedValue
from cubelane.ir.pto.types import ALL_TYPES, VIRTUAL, PtrType, TileFields, virtual_type

HOST_DIALECTS = ("builtin", "func", "scf", "arith", "cf", "math", "memref", "vector")
"""Dialects that may appear beside `pto`; each is loaded when a text uses it."""


def pto_dialect() -> Dialect:
    """The `pto` dialect: the op table, the ops with bodies, types and attributes."""
    return Dialect("pto", [*op_classes().values(), *REGION_OPS], [*ALL_TYPES, *ALL_ATTRIBUTES])


class PtoContext(Context):
    """A context that makes the open families of `pto` names, `pto.vmi.*`, when a text uses them."""

    def get_optional_op(self, name: str, *, dialect_stack: Sequence[str] = ()) -> type[Operation] | None:
        return (
            virtual_class(name)
            if name.startswith(VIRTUAL)
            else super().get_optional_op(name, dialect_stack=dialect_stack)
        )

    def get_optional_type(self, name: str) -> type[TypeAttribute] | None:
        known = virtual_type(name) if name.startswith(VIRTUAL) else None
        return known or super().get_optional_type(name)


def pto_context() -> PtoContext:
    """A context with `pto` and the dialects that may appear beside it."""
    context = PtoContext()
    known = get_all_dialects()
    for name in HOST_DIALECTS:
        context.register_dialect(name, known[name])
    context.load_dialect(pto_dialect())
    return context


class ScopedNames(MutableMapping[str, tuple[SSAValue, ...]]):
    """A name table whose `copy` costs nothing: the copy keeps the names so far, this table goes on in a new layer.

    The parser copies its table at every region and puts the copy back at the end; with a plain dict that makes
    reading a module with many regions quadratic.
    """

    def __init__(self, layers: list[dict[str, tuple[SSAValue, ...]]] | None = None) -> None:
        self.layers: list[dict[str, tuple[SSAValue, ...]]] = [{}] if layers is None else layers
        self.ever: dict[str, SSAValue] = {}

    def copy(self) -> "ScopedNames":
        """The table as it is now."""
        frozen = ScopedNames(self.layers)
        frozen.ever = self.ever
        self.layers = [*self.layers, {}]
        return frozen

    def __getitem__(self, name: str) -> tuple[SSAValue, ...]:
        for layer in reversed(self.layers):
            if name in layer:
                return layer[name]
        raise KeyError(name)

    def __setitem__(self, name: str, values: tuple[SSAValue, ...]) -> None:
        self.layers[-1][name] = values
        self.ever[name] = values[0]

    def __delitem__(self, name: str) -> None:
        del self.layers[-1][name]

    def __iter__(self) -> Iterator[str]:
        return iter({name for layer in self.layers for name in layer})

    def __len__(self) -> int:
        return sum(map(len, self.layers))


_COMMON_TYPE = re.compile(r"(?:!pto\.\w+<[^<>]*>|[su]?i\d+|index|f\d+|bf16)(?![\w.$<])")


_INTEGER_TYPE = re.compile(r"[su]?i(\d+)")


class LocatingParser(PlacedParser):
    """Reads PTO text: types from a table, names that end with their region, a diagnostic for every unknown name."""

    def __init__(self, context: Context, text: str, file: str) -> None:
        super().__init__(context, text, file)
        self.names = ScopedNames()
        self.first_use: dict[str, UndefinedValue] = {}
        self.ssa_values = cast(Any, self.names)
        self._types: dict[str, TypeAttribute] = {}

    def parse_type(self) -> TypeAttribute:
        """A type. Texts repeat a few types very often, so the text of a type is looked up before it is read."""
        start = self.pos
        spelled = _COMMON_TYPE.match(self.text, start)
        if spelled is None:
            return super().parse_type()
        known = self._types.get(spelled.group())
        if known is None:
            known = super().parse_type()
            if self.text[start : self.pos].rstrip() == spelled.group():
                self._types[spelled.group()] = known
            return known
        self._resume_from(spelled.end())
        return known

    def _parse_optional_integer_or_float_type(self) -> TypeAttribute | None:
        """A number type. Ranges of integers are computed from their width, so that has a limit (as in MLIR)."""
        width = _INTEGER_TYPE.fullmatch(self._current_token.text)
        if width is not None and (len(width[1]) > 8 or not 0 < int(width[1]) < 1 << 24):
            self.raise_error("an integer type has 1 to 16777215 bits")
        return super()._parse_optional_integer_or_float_type()

    def resolve_operand(self, operand: UnresolvedOperand, type: Attribute) -> SSAValue:
        """An operand of a host op. A name of a region that ended can never become visible again."""
        name = operand.operand_name
        if name not in self.names.layers[-1] and self.ssa_values.get(name) is None:
            if name in self.names.ever:
                raise UndefinedValue(operand.span, f"value %{name} is not visible")
            self.first_use.setdefault(name, UndefinedValue(operand.span, f"value %{name} is not defined"))
        return super().resolve_operand(operand, type)

    def undefined(self, error: UndefinedValue) -> Diagnostic:
        """The diagnostic for a value that is not visible: defined in a region that ended, or nowhere."""
        name = error.span.text.lstrip("%")
        where = Location(self.file.data, *self.place(error.span.start))
        value = self.names.ever.get(name)
        definition = None if value is None else value.owner
        region = definition.parent_op() if isinstance(definition, Operation) else None
        if isinstance(region, SectionOp):
            return Diagnostic(
                f"value %{name} defined in {region.name} cannot be used outside the defining physical section",
                where,
                ["physical sections have lexical SSA scope"],
                BOUNDARY_ADVICE,
                "value-crosses-section",
            )
        if region is not None:
            message = f"value %{name} is defined inside a '{region.name}' and not visible here"
            return Diagnostic(message, where, code="not-visible")
        return Diagnostic(f"value %{name} is used before it is defined", where, code="undefined-value")

    def _get_op_by_name(self, name: str) -> type[Operation]:
        known = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if known is not None:
            return known
        line, column = self.place(self.text.rfind(name, 0, self.pos))
        raise _unknown_op(name, Location(self.file.data, line, column))


def _unknown_op(name: str, location: Location) -> Diagnostic:
    return Diagnostic(
        f"unknown operation '{name}'",
        location,
        notes=[
            "it is not in the op table of the pto dialect",
            f"an installed package can add ops through the entry point group '{ENTRY_POINTS}'",
        ],
        code="unknown-op",
    )


def parse_pto(text: str, file: str = "<input>") -> ModuleOp:
    """The module a text describes, not yet verified. Raises a located `Diagnostic` on any mistake in the text."""
    try:
        parser = LocatingParser(pto_context(), text, file)
    except ParseError as error:
        place = error.span.get_location()
        raise Diagnostic(error.msg.strip(), Location(file, place.line, place.col), code="parse-error") from None
    return _parse_module(parser, text, file)


def _parse_module(parser: LocatingParser, text: str, file: str) -> ModuleOp:
    try:
        return parser.parse_module()
    except UndefinedValue as error:
        raise parser.undefined(error) from None
    except ParseError as error:
        if parser.forward_ssa_references:
            lost = next((parser.first_use[n] for n in parser.forward_ssa_references if n in parser.first_use), None)
            if lost is not None and not text[error.span.start :].strip():
                raise parser.undefined(lost) from None
        line, column = parser.place(error.span.start)
        ended = not text[error.span.start :].strip() or not text[parser.pos :].strip()
        message = "unexpected end of the text; a '}' is missing" if ended else error.msg.strip()
        raise Diagnostic(message, Location(file, line, column), code="parse-error") from None
    except (VerifyException, ValueError) as error:
        line, column = parser.place(parser.pos)
        raise Diagnostic(str(error).strip(), Location(file, line, column), code="parse-error") from None
    except RecursionError:
        raise Diagnostic("the module is nested too deeply", Location(file), code="parse-error") from None


def verify_pto(module: ModuleOp) -> None:
    """Verifies a module; raises a `Diagnostic` at the first op that breaks a rule."""
    for op in module.walk():
        try:
            op.verify(verify_nested_ops=False)
            _check_order(op)
        except (VerifyException, ValueError) as error:
            cause = error.__cause__ if isinstance(error.__cause__, VerifyException) else error
            raise refuse(op, f"'{op.name}' {_first_lines(cause)}", code="invalid-op") from None


def _check_order(op: Operation) -> None:
    if op.next_op is not None and op.has_trait(IsTerminator):
        raise VerifyException("must be the last op of its block")


def _first_lines(error: BaseException) -> str:
    return " ".join(line.strip() for line in str(error).strip().splitlines()[:3])


def read_pto(text: str, file: str = "<input>") -> ModuleOp:
    """Parses and verifies."""
    module = parse_pto(text, file)
    verify_pto(module)
    return module


_SHORT_NAMES = {"builtin.module": "module", "func.return": "return"}


class PtoPrinter(Printer):
    """Prints as PTO text is written: `module` and `return` without their dialect, attributes by name."""

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        super().print_string(_SHORT_NAMES.get(text, text), indent=indent)

    def print_attr_dict(self, attr_dict: Mapping[str, Attribute]) -> None:
        super().print_attr_dict(dict(sorted(attr_dict.items())))


class FullPrinter(PtoPrinter):
    """Prints as the tile level writes PTO text: tile types in the long form, i64 attributes without their type."""

    in_dictionary = False

    def print_attribute(self, attribute: Attribute) -> None:
        if isinstance(attribute, TileFields):
            self.print_string(f"!{attribute.name}<")
            attribute.print_long(self)
            self.print_string(">")
        elif isinstance(attribute, PtrType) and attribute.space is Space.GM:
            self.print_string("!pto.ptr<")
            self.print_attribute(attribute.element)
            self.print_string(">")
        elif isinstance(attribute, WordAttr) and attribute.IN_DIALECT_BRACKETS:
            self.print_string(f"#pto<{attribute.name.removeprefix('pto.')} {attribute.word.data}>")
        elif self.in_dictionary and isa(attribute, IntegerAttr[IntegerType]) and attribute.type == i64:
            self.print_string(str(attribute.value.data))
        else:
            super().print_attribute(attribute)

    def print_attr_dict(self, attr_dict: Mapping[str, Attribute]) -> None:
        self.in_dictionary = True
        Printer.print_attr_dict(self, attr_dict)
        self.in_dictionary = False


def print_pto(module: Operation, *, full: bool = False) -> str:
    """The text of a module, ending in a newline: the canonical one, or in `full` as the tile level writes it."""
    stream = StringIO()
    (FullPrinter if full else PtoPrinter)(stream=stream).print_op(module)
    return stream.getvalue() + "\n"


def all_op_names() -> list[str]:
    """Every op name of the dialect."""
    return sorted(chain(op_classes(), (op.name for op in REGION_OPS)))
