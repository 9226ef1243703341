"""The small pieces every text form is made of: values, types, attribute dictionaries."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError
from xdsl.utils.mlir_lexer import MLIRTokenKind

from cubelane.ir.pto.types import PtrType


@dataclass
class Parts:
    """What a reader found; enough to create the op."""

    operands: Sequence[SSAValue] = ()
    result_types: Sequence[Attribute] = ()
    properties: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    attributes: dict[str, Attribute] = field(default_factory=dict[str, Attribute])


class UndefinedValue(ParseError):
    """A value is named that is not visible at this place."""


def optional_value(parser: Parser) -> SSAValue | None:
    """An operand, if one comes next. PTO text defines values before it uses them, so the type is known."""
    name = parser.parse_optional_unresolved_operand()
    if name is None:
        return None
    values = parser.ssa_values.get(name.operand_name)
    if values is None:
        raise UndefinedValue(name.span, f"value %{name.operand_name} is used before it is defined")
    if name.index >= len(values):
        parser.raise_error(f"value %{name.operand_name} has {len(values)} parts", name.span)
    return values[name.index]


def starts_line(parser: Parser) -> bool:
    """Whether the next token is the first of its line: then it belongs to the next op, not to this one."""
    text, position = parser.lexer.input.content, parser.pos - 1
    while position >= 0 and text[position] in " \t":
        position -= 1
    return position >= 0 and text[position] == "\n"


def next_word(parser: Parser) -> str | None:
    """The bare word that comes next on this line, which stays unread."""
    token = parser._current_token  # pyright: ignore[reportPrivateUsage]
    return token.text if token.kind is MLIRTokenKind.BARE_IDENT and not starts_line(parser) else None


def read_value(parser: Parser) -> SSAValue:
    """An operand."""
    value = optional_value(parser)
    if value is None:
        parser.raise_error("expected an operand")
    return value


def read_type(parser: Parser) -> Attribute:
    """A type; `<f32, ub>` alone is short for a pointer type."""
    pointer = parser.parse_optional_punctuation("<")
    if pointer is None:
        return parser.parse_type()
    element = parser.parse_type()
    word = parser.parse_identifier() if parser.parse_optional_punctuation(",") else "gm"
    parser.parse_punctuation(">")
    return pointer_type(parser, element, word)


def pointer_type(parser: Parser, element: Attribute, word: str) -> PtrType:
    """The pointer type with a space given by its keyword."""
    from_word = PtrType.in_space(element, word)
    if from_word is None:
        parser.raise_error(f"unknown address space '{word}'")
    return from_word


def read_types(parser: Parser) -> list[Attribute]:
    """One or more types separated by commas; `(A, B)` and `()` are accepted after an arrow."""
    if parser.parse_optional_punctuation("("):
        if parser.parse_optional_punctuation(")"):
            return []
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: read_type(parser))
        parser.parse_punctuation(")")
        return types
    return parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: read_type(parser))


def read_attributes(parser: Parser) -> dict[str, Attribute]:
    """An attribute dictionary, if one comes next."""
    return parser.parse_optional_attr_dict()


def write_attributes(op: Operation, printer: Printer) -> None:
    """The attribute dictionary, when there is one."""
    printer.print_op_attributes(op.attributes)


def write_types(printer: Printer, types: Iterable[Attribute]) -> None:
    """Types separated by commas."""
    printer.print_list(types, printer.print_attribute)


def write_values(printer: Printer, values: Iterable[SSAValue]) -> None:
    """Values separated by commas."""
    printer.print_list(values, printer.print_operand)
