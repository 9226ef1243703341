"""A program as compact text and back, several times as fast as MLIR text, places and names of values included.

The text is JSON: a table of attributes and types (each in MLIR syntax, once), a table of places, and the ops as lists
that count values in the order in which they come to be. It holds everything that a pass can read of a program, so two
programs of one text are lowered alike, and reading it executes nothing.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import (
    FileLineColLoc,
    IntAttr,
    IntegerAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, TypeAttribute
from xdsl.parser import Parser

from cubelane.ir.context import shared_context
from cubelane.ir.narrowing import is_list

JsonList = list[Any]


def forget() -> None:
    """Forgets the attributes that were read, as in a process that has read none."""
    _attribute.cache_clear()


class NotStored(ValueError):
    """A text that is no stored program."""


def as_stored(module: ModuleOp) -> str:
    """The program as text."""
    return _Writer().text(module)


def from_stored(text: str) -> ModuleOp:
    """The program of a text. Raises NotStored for a text that `as_stored` did not make."""
    try:
        return _Reader(json.loads(text)).module()
    except NotStored:
        raise
    except Exception as problem:
        raise NotStored(f"{type(problem).__name__}: {problem}") from problem


class _Writer:
    """Fills the tables while it walks over the program."""

    def __init__(self) -> None:
        self.attributes: dict[str, int] = {}
        self.places: dict[Attribute | None, int] = {}
        self.values: dict[SSAValue, int] = {}

    def text(self, module: ModuleOp) -> str:
        root = self.op(module)
        places = [_place_facts(place) for place in self.places]
        tables = {"attributes": list(self.attributes), "places": places, "program": root}
        return json.dumps(tables, separators=(",", ":"), ensure_ascii=True)

    def attribute(self, attribute: Attribute) -> int:
        # told apart by their text: 0.0 and -0.0 are equal
        text = _text(attribute) if _is_exact(attribute) else str(attribute)
        return self.attributes.setdefault(text, len(self.attributes))

    def op(self, op: Operation) -> JsonList:
        """Name, operands, result types and names, properties, attributes, place, regions."""
        if op.successors:
            raise NotStored(f"{op.name} jumps to a block")
        operands = [self.values[operand] for operand in op.operands]
        regions = [[self.block(block) for block in region.blocks] for region in op.regions]
        results = [self.define(result) for result in op.results]
        place = self.places.setdefault(op.location, len(self.places))
        facts = [self.named(op.properties), self.named(op.attributes)]
        return [op.name, operands, results, *facts, place, regions]

    def named(self, attributes: dict[str, Attribute]) -> dict[str, int]:
        return {name: self.attribute(attribute) for name, attribute in attributes.items()}

    def define(self, value: SSAValue) -> JsonList:
        self.values[value] = len(self.values)
        return [self.attribute(value.type), value.name_hint]

    def block(self, block: Block) -> JsonList:
        arguments = [self.define(argument) for argument in block.args]
        return [arguments, [self.op(op) for op in block.ops]]


def _is_exact(attribute: Attribute) -> bool:
    """Whether attributes of this class are equal only where their texts are."""
    return isinstance(attribute, TypeAttribute | IntegerAttr | StringAttr | UnitAttr)


def _place_facts(place: Attribute | None) -> JsonList | None:
    if isinstance(place, FileLineColLoc):
        return [place.filename.data, place.line.data, place.column.data]
    if place is None or isinstance(place, UnknownLoc):
        return None
    raise NotStored(f"no text for the place {place}")


class _Reader:
    """Makes the ops from the tables."""

    def __init__(self, tables: dict[str, Any]):
        self.attributes: list[Attribute] = [_attribute(text) for text in tables["attributes"]]
        self.places: list[LocationAttr] = [_place(facts) for facts in tables["places"]]
        self.program: JsonList = tables["program"]
        self.values: list[SSAValue] = []

    def module(self) -> ModuleOp:
        made = self.op(self.program)
        if not isinstance(made, ModuleOp):
            raise NotStored("no module")
        return made

    def op(self, facts: JsonList) -> Operation:
        name: str
        operands: list[int]
        results: list[tuple[int, str | None]]
        properties: dict[str, int]
        attributes: dict[str, int]
        place: int
        name, operands, results, properties, attributes, place, blocks = facts
        taken = [self.value(number) for number in operands]
        regions = [Region([self.block(*block) for block in region]) for region in blocks]
        kind = shared_context().get_op(name)
        made = kind.create(
            operands=taken,
            result_types=[self.attributes[number] for number, _ in results],
            properties={key: self.attributes[number] for key, number in properties.items()},
            attributes={key: self.attributes[number] for key, number in attributes.items()},
            location=self.places[place],
            regions=regions,
        )
        for result, (_, hint) in zip(made.results, results, strict=True):
            self.define(result, hint)
        return made

    def value(self, number: int) -> SSAValue:
        if number < 0:
            raise NotStored("no such value")
        return self.values[number]

    def define(self, value: SSAValue, hint: str | None) -> None:
        value.name_hint = hint
        self.values.append(value)

    def block(self, arguments: Sequence[tuple[int, str | None]], ops: Sequence[JsonList]) -> Block:
        block = Block(arg_types=[self.attributes[kind] for kind, _ in arguments])
        for argument, (_, hint) in zip(block.args, arguments, strict=True):
            self.define(argument, hint)
        block.add_ops([self.op(facts) for facts in ops])
        return block


@lru_cache(maxsize=1 << 12)
def _text(attribute: Attribute) -> str:
    """The text of an attribute or a type; those of the last programs are kept."""
    return str(attribute)


@lru_cache(maxsize=1 << 12)
def _attribute(text: str) -> Attribute:
    """An attribute or a type of its text; those of the last programs are kept."""
    parser = Parser(shared_context(), text)
    return parser.parse_attribute()


def _place(facts: JsonList | None) -> LocationAttr:
    if not is_list(facts):
        return UnknownLoc()
    file, line, column = facts
    return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))
