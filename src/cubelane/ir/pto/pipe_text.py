"""The texts that name pipes: flags, cross-core signals, barriers, buffer tokens (spec/pto.md 4.9)."""

from xdsl.dialects.builtin import IntegerAttr, IntegerType, StringAttr, i64
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser
from xdsl.printer import Printer

from cubelane.ir.pto.attrs import EventAttr, PipeAttr
from cubelane.ir.pto.decl import OpDecl
from cubelane.ir.pto.spaces import Pipe
from cubelane.ir.pto.tokens import Parts, optional_value, read_attributes, write_attributes

SRC_PIPE, DST_PIPE, PIPE, EVENT, MODE = "src_pipe", "dst_pipe", "pipe", "event_id", "mode"


def _pipe(parser: Parser) -> PipeAttr:
    """`<PIPE_V>`, `"PIPE_V"`, `#pto.pipe<PIPE_V>` or `PIPE_V`."""
    attribute = parser.parse_optional_attribute()
    if isinstance(attribute, PipeAttr):
        return attribute
    if isinstance(attribute, StringAttr):
        word = attribute.data
    else:
        bracket = parser.parse_optional_punctuation("<")
        word = parser.parse_identifier()
        if bracket:
            parser.parse_punctuation(">")
    pipe = Pipe.of_word(word)
    if pipe is None:
        known = ", ".join(str(p) for p in Pipe)
        parser.raise_error(f"unknown pipe '{word}'; expected one of {known}")
    return PipeAttr.of(pipe)


def _event(parser: Parser) -> EventAttr:
    attribute = parser.parse_optional_attribute()
    if isinstance(attribute, EventAttr):
        return attribute
    if isinstance(attribute, StringAttr):
        word = attribute.data
    else:
        bracket = parser.parse_optional_punctuation("<")
        word = parser.parse_identifier()
        if bracket:
            parser.parse_punctuation(">")
    if EventAttr.legal(word) is None:
        parser.raise_error(f"unknown event '{word}'; expected EVENT_ID0 to EVENT_ID7")
    return EventAttr.new((StringAttr(word),))


def _bare(attribute: Attribute | None) -> str:
    return f"<{attribute.word.data}>" if isinstance(attribute, PipeAttr | EventAttr) else "<?>"


def read_flag(parser: Parser, decl: OpDecl) -> Parts:
    """`[<PIPE_A>, <PIPE_B>, <EVENT_ID0>]`; the dynamic forms name a value instead of the event."""
    parser.parse_punctuation("[")
    properties: dict[str, Attribute] = {SRC_PIPE: _pipe(parser)}
    parser.parse_punctuation(",")
    properties[DST_PIPE] = _pipe(parser)
    parser.parse_punctuation(",")
    value = optional_value(parser)
    if value is None:
        properties[EVENT] = _event(parser)
    parser.parse_punctuation("]")
    return Parts([] if value is None else [value], [], properties, read_attributes(parser))


def write_flag(op: Operation, printer: Printer, decl: OpDecl) -> None:
    """The canonical text of a flag."""
    printer.print_string(f"[{_bare(op.properties.get(SRC_PIPE))}, {_bare(op.properties.get(DST_PIPE))}, ")
    if op.operands:
        printer.print_ssa_value(op.operands[0])
    else:
        printer.print_string(_bare(op.properties.get(EVENT)))
    printer.print_string("]")
    write_attributes(op, printer)


def _number(parser: Parser) -> IntegerAttr[IntegerType]:
    return IntegerAttr(parser.parse_integer(allow_boolean=False), i64)


def read_signal(parser: Parser, decl: OpDecl) -> Parts:
    """`<PIPE_FIX>, 5` or `<PIPE_FIX>, %id`, with attributes behind."""
    properties: dict[str, Attribute] = {PIPE: _pipe(parser)}
    parser.parse_punctuation(",")
    value = optional_value(parser)
    if value is None:
        properties[EVENT] = _number(parser)
    return Parts([] if value is None else [value], [], properties, read_attributes(parser))


def write_signal(op: Operation, printer: Printer, decl: OpDecl) -> None:
    """The canonical text of a cross-core signal."""
    printer.print_string(f" {_bare(op.properties.get(PIPE))}, ")
    _write_id(op, printer)
    write_attributes(op, printer)


def _write_id(op: Operation, printer: Printer) -> None:
    number = op.properties.get(EVENT)
    if op.operands:
        printer.print_ssa_value(op.operands[0])
    elif isinstance(number, IntegerAttr):
        printer.print_string(str(number.value.data))


def read_pipe(parser: Parser, decl: OpDecl) -> Parts:
    """A pipe alone."""
    return Parts([], [], {PIPE: _pipe(parser)}, read_attributes(parser))


def write_pipe(op: Operation, printer: Printer, decl: OpDecl) -> None:
    """The canonical text of a barrier."""
    pipe = op.properties.get(PIPE)
    if pipe is not None:
        printer.print_string(" ")
        printer.print_attribute(pipe)
    write_attributes(op, printer)


def read_buffer(parser: Parser, decl: OpDecl) -> Parts:
    """`[<PIPE_V>, 0, 0]`; the dynamic forms name a value instead of the buffer id."""
    parser.parse_punctuation("[")
    properties: dict[str, Attribute] = {PIPE: _pipe(parser)}
    parser.parse_punctuation(",")
    value = optional_value(parser)
    if value is None:
        properties[EVENT] = _number(parser)
    if parser.parse_optional_punctuation(","):
        properties[MODE] = _number(parser)
    parser.parse_punctuation("]")
    return Parts([] if value is None else [value], [], properties, read_attributes(parser))


def write_buffer(op: Operation, printer: Printer, decl: OpDecl) -> None:
    """The canonical text of a buffer token."""
    printer.print_string(f"[{_bare(op.properties.get(PIPE))}, ")
    _write_id(op, printer)
    mode = op.properties.get(MODE)
    if isinstance(mode, IntegerAttr):
        printer.print_string(f", {mode.value.data}")
    printer.print_string("]")
    write_attributes(op, printer)


def pipe_property(op: Operation, name: str) -> Pipe | None:
    """The pipe stored under `name` on an op."""
    attribute = op.properties.get(name)
    return attribute.pipe if isinstance(attribute, PipeAttr) else None
