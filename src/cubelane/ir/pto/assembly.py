"""The text of ops, read from their declarations (spec/pto.md 4.9). One reader and one writer per form."""

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IntegerType, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer

from cubelane.ir.pto.clauses import clause_entries, clause_operand_count, clause_property, operands_in
from cubelane.ir.pto.decl import Clause, ClauseStyle, ClauseTypes, Form, OpDecl, Typed
from cubelane.ir.pto.pipe_text import (
    read_buffer,
    read_flag,
    read_pipe,
    read_signal,
    write_buffer,
    write_flag,
    write_pipe,
    write_signal,
)
from cubelane.ir.pto.slots import fill
from cubelane.ir.pto.tokens import (
    Parts,
    next_word,
    optional_value,
    read_attributes,
    read_type,
    read_types,
    read_value,
    starts_line,
    write_attributes,
    write_types,
    write_values,
)

INS = "ins"
KEYS = "keys"
DEFAULT_RESULT = {"i64": IntegerType(64), "i32": IntegerType(32)}


@dataclass
class _Plain:
    """What the plain form gathers before it knows the types."""

    operands: list[SSAValue] = field(default_factory=list[SSAValue])
    brackets: list[bool] = field(default_factory=list[bool])
    strings: list[str] = field(default_factory=list[str])
    entries: list[list[str]] = field(default_factory=list[list[str]])


def read_plain(parser: Parser, decl: OpDecl) -> Parts:
    """Operands, then clauses, attributes, types."""
    found = _Plain()
    if (decl.operands or decl.strings) and not starts_line(parser):
        _read_positional(parser, found)
    if len(found.strings) > len(decl.strings):
        parser.raise_error(f"pto.{decl.name} takes {len(decl.strings)} string(s), got {len(found.strings)}")
    positional = len(found.operands)
    _check_brackets(parser, decl, found)
    _read_clauses(parser, decl, found)
    attributes = read_attributes(parser)
    properties: dict[str, Attribute] = {
        name: StringAttr(text) for name, text in zip(decl.strings, found.strings, strict=False)
    }
    properties |= clause_property(found.entries)
    results = _read_plain_types(parser, decl, found, positional)
    return Parts(found.operands, results, properties, attributes)


def _read_positional(parser: Parser, found: _Plain) -> None:
    while True:
        value = optional_value(parser)
        if value is not None:
            found.operands.append(value)
            found.brackets.append(False)
            if parser.parse_optional_punctuation("["):
                inner = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: read_value(parser))
                parser.parse_punctuation("]")
                found.operands += inner
                found.brackets += [True] * len(inner)
        else:
            text = parser.parse_optional_str_literal()
            if text is None:
                return
            found.strings.append(text)
        if not parser.parse_optional_punctuation(","):
            return


def _check_brackets(parser: Parser, decl: OpDecl, found: _Plain) -> None:
    slots = fill(decl.operands, len(found.operands))
    if len(slots) != len(found.operands):
        return
    for slot, bracket in zip(slots, found.brackets, strict=True):
        if slot.bracket != bracket:
            where = "in brackets: [%" + slot.name + "]" if slot.bracket else "without brackets"
            parser.raise_error(f"pto.{decl.name}: operand '{slot.name}' is written {where}")


def _read_clauses(parser: Parser, decl: OpDecl, found: _Plain) -> None:
    names = {clause.name: clause for clause in decl.clauses}
    while names:
        parser.parse_optional_punctuation(",")
        word = parser.parse_optional_keyword_in(names)
        if word is None:
            break
        entry = [word]
        _read_clause(parser, names[word], entry, found.operands)
        found.entries.append(entry)
    unknown = next_word(parser)
    if unknown not in (None, "loc"):
        known = f"its clauses are {', '.join(names)}" if names else "it has none"
        parser.raise_error(f"pto.{decl.name} has no clause '{unknown}'; {known}")


def _read_clause(parser: Parser, clause: Clause, entry: list[str], operands: list[SSAValue]) -> None:
    if clause.style is ClauseStyle.CALL:
        if parser.parse_optional_punctuation("("):
            parser.parse_comma_separated_list(
                parser.Delimiter.NONE, lambda: entry.append(_read_argument(parser, operands))
            )
            parser.parse_punctuation(")")
        return
    if clause.style is not ClauseStyle.SIZES:
        parser.parse_punctuation("=")
    if clause.style is ClauseStyle.VALUE:
        entry.append(_read_argument(parser, operands))
    else:
        parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: entry.append(_read_argument(parser, operands))
        )


def _read_argument(parser: Parser, operands: list[SSAValue]) -> str:
    value = optional_value(parser)
    if value is not None:
        operands.append(value)
        return "%"
    number = parser.parse_optional_integer(allow_boolean=False)
    if number is not None:
        return str(number)
    word = parser.parse_identifier()
    return f"{word}={_read_argument(parser, operands)}" if parser.parse_optional_punctuation("=") else word


def _read_plain_types(parser: Parser, decl: OpDecl, found: _Plain, positional: int) -> list[Attribute]:
    listed: list[Attribute] = []
    results: list[Attribute] | None = None
    if parser.parse_optional_punctuation(":"):
        listed = _read_listed(parser, decl)
    if parser.parse_optional_punctuation("->"):
        results = read_types(parser)
    typed = _typed_operands(decl, found.operands, positional)
    if results is None and not typed:
        return listed or _default_results(decl)
    if listed or typed:
        actual = [value.type for value in typed]
        if listed != actual:
            parser.raise_error(
                f"pto.{decl.name}: operand types ({', '.join(map(str, listed))}) "
                f"differ from those of the values ({', '.join(map(str, actual))})"
            )
    return results or []


def _default_results(decl: OpDecl) -> list[Attribute]:
    return [DEFAULT_RESULT[slot.kind] for slot in decl.results if slot.kind in DEFAULT_RESULT]


def _read_listed(parser: Parser, decl: OpDecl) -> list[Attribute]:
    names = [clause.name for clause in decl.clauses]
    types: list[Attribute] = []
    while True:
        word = parser.parse_optional_keyword_in(names) if names else None
        if word is None:
            types.append(read_type(parser))
        elif parser.parse_optional_punctuation("("):
            types += parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: read_type(parser))
            parser.parse_punctuation(")")
        else:
            clause = decl.clause(word)
            if clause is not None and clause.most:
                types.append(read_type(parser))
        if not parser.parse_optional_punctuation(","):
            return types


def _typed_operands(decl: OpDecl, operands: list[SSAValue], positional: int) -> list[SSAValue]:
    """The operands whose types the text lists, in the order of the text."""
    if decl.typed is Typed.NOTHING:
        return []
    slots = fill(decl.operands, positional)
    if len(slots) != positional:
        return operands
    pairs = [(s, v) for s, v in zip(slots, operands, strict=False) if not s.bracket]
    if decl.typed is Typed.FIRST:
        return [v for _, v in pairs[:1]]
    if decl.type_order:
        pairs.sort(key=lambda pair: decl.type_order.index(pair[0].name))
    return [v for _, v in pairs] + operands[positional:]


def write_plain(op: Operation, printer: Printer, decl: OpDecl) -> None:
    """The plain form, canonically."""
    entries = clause_entries(op)
    positional = len(op.operands) - clause_operand_count(op)
    values = list(op.operands)
    needs_comma = _write_positional(op, printer, decl, values[:positional])
    rest = values[positional:]
    for index, entry in enumerate(entries):
        if needs_comma and decl.clause_separator == ", ":
            printer.print_string(", ")
        elif index or needs_comma or not positional:
            printer.print_string(" ")
        needs_comma = True
        count = operands_in(entry)
        _write_clause(printer, decl, entry, rest[:count])
        rest = rest[count:]
    write_attributes(op, printer)
    _write_plain_types(op, printer, decl, values, positional)


def _write_positional(op: Operation, printer: Printer, decl: OpDecl, values: list[SSAValue]) -> bool:
    slots = fill(decl.operands, len(values))
    in_bracket, written = False, False
    for slot, value in zip(slots, values, strict=False):
        if slot.bracket and not in_bracket:
            printer.print_string("[")
        elif in_bracket and not slot.bracket:
            printer.print_string("], ")
        else:
            printer.print_string(", " if written else " ")
        in_bracket = slot.bracket
        printer.print_ssa_value(value)
        written = True
    if in_bracket:
        printer.print_string("]")
    for name in decl.strings:
        text = op.properties.get(name)
        if isinstance(text, StringAttr):
            printer.print_string(", " if written else " ")
            printer.print_string_literal(text.data)
            written = True
    return written


def _write_clause(printer: Printer, decl: OpDecl, entry: list[str], values: list[SSAValue]) -> None:
    clause = decl.clause(entry[0])
    style = ClauseStyle.CALL if clause is None else clause.style
    opening, closing = {
        ClauseStyle.CALL: ("(", ")"),
        ClauseStyle.VALUE: (" = ", ""),
        ClauseStyle.LIST: (" = [", "]"),
        ClauseStyle.SIZES: (" [", "]"),
    }[style]
    printer.print_string(entry[0])
    if len(entry) == 1 and style is ClauseStyle.CALL:
        return
    printer.print_string(opening)
    pending = iter(values)
    for index, word in enumerate(entry[1:]):
        if index:
            printer.print_string(", ")
        key, equals, value = word.rpartition("=")
        printer.print_string(f"{key} = " if equals else "")
        if value == "%":
            printer.print_ssa_value(next(pending))
        else:
            printer.print_string(value)
    printer.print_string(closing)


def _write_plain_types(op: Operation, printer: Printer, decl: OpDecl, values: list[SSAValue], positional: int) -> None:
    typed = _typed_operands(decl, values, positional)
    clauses_typed = decl.typed is Typed.ALL and any(clause.types is not ClauseTypes.PLAIN for clause in decl.clauses)
    if typed:
        printer.print_string(" : ")
        head = typed[: len(typed) - clause_operand_count(op)] if clauses_typed else typed
        write_types(printer, [value.type for value in head])
        if clauses_typed:
            _write_clause_types(op, printer, decl, values[positional:])
    if op.results:
        printer.print_string(" -> " if typed else " : ")
        write_types(printer, op.result_types)


def _write_clause_types(op: Operation, printer: Printer, decl: OpDecl, rest: list[SSAValue]) -> None:
    for entry in clause_entries(op):
        count = operands_in(entry)
        types, rest = [value.type for value in rest[:count]], rest[count:]
        clause = decl.clause(entry[0])
        style = ClauseTypes.PLAIN if clause is None else clause.types
        if not types and style is ClauseTypes.PLAIN:
            continue
        printer.print_string(", ")
        if style is not ClauseTypes.PLAIN:
            printer.print_string(entry[0])
            printer.print_string("(" if style is ClauseTypes.PAREN else " " if types else "")
        write_types(printer, types)
        if style is ClauseTypes.PAREN:
            printer.print_string(")")


def read_ins_outs(parser: Parser, decl: OpDecl) -> Parts:
    """`ins(%a : T) outs(%b : T)`; an op without `ins` is read in the plain form."""
    if parser.parse_optional_keyword("ins") is None:
        return read_plain(parser, decl)
    attributes: dict[str, Attribute] = {}
    inputs = _read_group(parser, decl, attributes)
    outputs: list[SSAValue] = []
    results: list[Attribute] = []
    if parser.parse_optional_keyword("outs"):
        if parser.parse_optional_punctuation(":"):
            results = read_types(parser)
        else:
            outputs = _read_group(parser, decl, attributes)
    attributes |= read_attributes(parser)
    if parser.parse_optional_punctuation("->"):
        results = read_types(parser)
    properties: dict[str, Attribute] = {INS: StringAttr(str(len(inputs)))}
    return Parts(inputs + outputs, results, properties, attributes)


def _read_group(parser: Parser, decl: OpDecl, attributes: dict[str, Attribute]) -> list[SSAValue]:
    parser.parse_punctuation("(")
    values: list[SSAValue] = []
    while (value := optional_value(parser)) is not None:
        values.append(value)
        if not parser.parse_optional_punctuation(","):
            break
    attributes |= read_attributes(parser)
    if values:
        parser.parse_punctuation(":")
        listed = read_types(parser)
        if listed != [value.type for value in values]:
            parser.raise_error(f"pto.{decl.name}: the types listed differ from those of the operands")
    parser.parse_punctuation(")")
    return values


def write_ins_outs(op: Operation, printer: Printer, decl: OpDecl) -> None:
    """The canonical text of a tile op."""
    stored = op.properties.get(INS)
    if not isinstance(stored, StringAttr):
        write_plain(op, printer, decl)
        return
    count = int(stored.data)
    inside = {name: value for name, value in op.attributes.items() if name in decl.inside}
    outside = {name: value for name, value in op.attributes.items() if name not in decl.inside}
    for word, values in (("ins", op.operands[:count]), ("outs", op.operands[count:])):
        if word == "ins" or values:
            printer.print_string(f" {word}(")
            write_values(printer, values)
            if word == "ins":
                printer.print_op_attributes(inside)
            if values:
                printer.print_string(" : ")
                write_types(printer, [value.type for value in values])
            printer.print_string(")")
    if op.results and count == len(op.operands):
        printer.print_string(" outs : ")
        write_types(printer, op.result_types)
        printer.print_op_attributes(outside)
        return
    printer.print_op_attributes(outside)
    if op.results:
        printer.print_string(" -> ")
        write_types(printer, op.result_types)


def read_call(parser: Parser, decl: OpDecl) -> Parts:
    """`name(%a : T) {attributes} (key = %b : T) -> results`, every part optional."""
    if parser.parse_optional_keyword("ins") is not None:
        attributes: dict[str, Attribute] = {}
        operands = _read_group(parser, decl, attributes)
        attributes |= read_attributes(parser)
    else:
        operands = _read_call_operands(parser)
        attributes = read_attributes(parser)
    keys: list[str] = []
    if parser.parse_optional_punctuation("("):

        def keyed() -> None:
            keys.append(parser.parse_identifier())
            parser.parse_punctuation("=")
            operands.append(read_value(parser))
            parser.parse_punctuation(":")
            read_type(parser)

        parser.parse_comma_separated_list(parser.Delimiter.NONE, keyed)
        parser.parse_punctuation(")")
    results = read_types(parser) if parser.parse_optional_punctuation("->") else []
    properties: dict[str, Attribute] = {KEYS: StringAttr(" ".join(keys))} if keys else {}
    return Parts(operands, results, properties, attributes)


def _read_call_operands(parser: Parser) -> list[SSAValue]:
    if not parser.parse_optional_punctuation("("):
        return []
    operands: list[SSAValue] = []
    while (value := optional_value(parser)) is not None:
        operands.append(value)
        if not parser.parse_optional_punctuation(","):
            break
    if parser.parse_optional_punctuation(":"):
        read_types(parser)
    parser.parse_punctuation(")")
    return operands


def write_call(op: Operation, printer: Printer, decl: OpDecl) -> None:
    """The canonical text of a call-like op."""
    stored = op.properties.get(KEYS)
    keys = stored.data.split() if isinstance(stored, StringAttr) else []
    plain, keyed = op.operands[: len(op.operands) - len(keys)], op.operands[len(op.operands) - len(keys) :]
    if plain:
        printer.print_string("(")
        write_values(printer, plain)
        if decl.typed is not Typed.NOTHING:
            printer.print_string(" : ")
            write_types(printer, [value.type for value in plain])
        printer.print_string(")")
    write_attributes(op, printer)
    if keys:
        printer.print_string(" (")
        for index, (key, value) in enumerate(zip(keys, keyed, strict=True)):
            printer.print_string(f"{', ' if index else ''}{key} = ")
            printer.print_ssa_value(value)
            printer.print_string(" : ")
            printer.print_attribute(value.type)
        printer.print_string(")")
    if op.results:
        printer.print_string(" -> ")
        write_types(printer, op.result_types)


Reader = Callable[[Parser, OpDecl], Parts]
Writer = Callable[[Operation, Printer, OpDecl], None]

READERS: dict[Form, Reader] = {
    Form.PLAIN: read_plain,
    Form.INS_OUTS: read_ins_outs,
    Form.CALL: read_call,
    Form.FLAG: read_flag,
    Form.SIGNAL: read_signal,
    Form.PIPE: read_pipe,
    Form.BUFFER: read_buffer,
}
WRITERS: dict[Form, Writer] = {
    Form.PLAIN: write_plain,
    Form.INS_OUTS: write_ins_outs,
    Form.CALL: write_call,
    Form.FLAG: write_flag,
    Form.SIGNAL: write_signal,
    Form.PIPE: write_pipe,
    Form.BUFFER: write_buffer,
}
