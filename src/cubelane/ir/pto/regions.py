"""Ops with bodies: physical sections, vector scopes, SIMT regions and launches (spec/pto.md 4.3)."""

from collections.abc import Iterator
from typing import ClassVar, Self

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.core import OpTraits
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryWriteEffect, NoTerminator, OpTrait, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from cubelane.ir.affinity import Affinity
from cubelane.ir.pto.decl import Role
from cubelane.ir.pto.evidence import touches_registers
from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.tokens import read_types, read_value, write_types, write_values
from cubelane.ir.traits import CoreAffinity, OnCube, OnVector

CALLEE = "callee"
BOUNDARY_ADVICE = (
    "Pass shared data through a caller-owned GM/UB buffer with explicit synchronization, "
    "or recompute it in the consumer section"
)


class BodyOp(Operation):
    """An op with one block and no terminator; it captures the values around it."""

    @classmethod
    def around(cls, ops: list[Operation]) -> Self:
        """A new op whose body is `ops`; they must be detached."""
        first = ops[0] if ops else None
        return cls.create(regions=[Region(Block(ops))], location=None if first is None else first.location)

    @property
    def body(self) -> Block:
        """The one block."""
        return self.regions[0].block

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cls.create(regions=[_read_body(parser)], attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_region(self.regions[0], print_entry_block_args=False, print_empty_block=False)
        printer.print_op_attributes(self.attributes)

    def verify_(self) -> None:
        if len(self.regions) != 1 or len(self.regions[0].blocks) != 1:
            raise VerifyException("has exactly one block")
        if self.operands or self.results or self.body.args:
            raise VerifyException("takes no operands, gives no results and has no block arguments")


def _read_body(parser: Parser) -> Region:
    region = parser.parse_region()
    if not region.blocks:
        region.add_block(Block())
    return region


def _body_traits(affinity: CoreAffinity | None) -> OpTraits:
    traits: tuple[OpTrait, ...] = (NoTerminator(), RecursiveMemoryEffect())
    return OpTraits(lambda: traits if affinity is None else (*traits, affinity))


class SectionOp(BodyOp):
    """A physical section: its ops run on one kind of core only."""

    kind: ClassVar[Affinity]


class CubeSectionOp(SectionOp):
    """`pto.section.cube { ... }`."""

    name = "pto.section.cube"
    kind = Affinity.CUBE
    traits = _body_traits(OnCube)


class VectorSectionOp(SectionOp):
    """`pto.section.vector { ... }`."""

    name = "pto.section.vector"
    kind = Affinity.VECTOR
    traits = _body_traits(OnVector)


SECTION_OF: dict[Affinity, type[SectionOp]] = {op.kind: op for op in (VectorSectionOp, CubeSectionOp)}


class ScopeOp(BodyOp):
    """A scope in which vector registers may live."""


class VecScopeOp(ScopeOp):
    """`pto.vecscope { ... }`."""

    name = "pto.vecscope"
    traits = _body_traits(OnVector)


class StrictVecScopeOp(ScopeOp):
    """`pto.strict_vecscope(%a) { ^bb0(%x: T): ... } : (T) -> ()`: only its block arguments may be used inside."""

    name = "pto.strict_vecscope"
    traits = _body_traits(OnVector)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: read_value(parser))
        region = _read_body(parser)
        parser.parse_punctuation(":")
        types = read_types(parser)
        parser.parse_punctuation("->")
        read_types(parser)
        if types != [operand.type for operand in operands]:
            parser.raise_error("pto.strict_vecscope: the types listed differ from those of the operands")
        return cls.create(operands=operands, regions=[region])

    def print(self, printer: Printer) -> None:
        with printer.in_parens():
            write_values(printer, self.operands)
        printer.print_string(" ")
        printer.print_region(self.regions[0], print_empty_block=False)
        printer.print_string(" : (")
        write_types(printer, self.operand_types)
        printer.print_string(") -> ()")

    def verify_(self) -> None:
        if [arg.type for arg in self.body.args] != list(self.operand_types):
            raise VerifyException("block arguments must match the operands")
        inner = {value for op in self.walk() if op is not self for value in op.results}
        inner |= {arg for block in self.walk_blocks() for arg in block.args}
        for op in self.walk():
            if op is not self and any(value not in inner for value in op.operands):
                raise VerifyException(f"{op.name} uses a value from outside; pass it as an argument of the scope")


class SimtSectionOp(BodyOp):
    """`pto.section.simt <<<x, y, z>>> { ... }`: a SIMT region on the vector core."""

    name = "pto.section.simt"
    traits = _body_traits(OnVector)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands = _read_dims(parser)
        return cls.create(operands=operands, regions=[_read_body(parser)])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        _write_dims(printer, list(self.operands))
        super().print(printer)

    def verify_(self) -> None:
        if len(self.operands) != 3:
            raise VerifyException("takes three extents")


class SimtLaunchOp(Operation):
    """`pto.simt_launch @f<<<%x, %y, %z>>>(%args) : (T) -> ()`: runs a SIMT function on the vector core."""

    name = "pto.simt_launch"
    traits = OpTraits(lambda: (OnVector, MemoryWriteEffect()))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        callee = SymbolRefAttr(parser.parse_symbol_name())
        operands = _read_dims(parser)
        operands += parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: read_value(parser))
        parser.parse_punctuation(":")
        read_types(parser)
        parser.parse_punctuation("->")
        read_types(parser)
        return cls.create(operands=operands, properties={CALLEE: callee})

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.properties[CALLEE])
        _write_dims(printer, list(self.operands[:3]))
        with printer.in_parens():
            write_values(printer, self.operands[3:])
        printer.print_string(" : (")
        write_types(printer, self.operand_types[3:])
        printer.print_string(") -> ()")

    @property
    def callee(self) -> str:
        """The name of the launched function."""
        symbol = self.properties[CALLEE]
        assert isinstance(symbol, SymbolRefAttr)
        return symbol.string_value()

    def verify_(self) -> None:
        if CALLEE not in self.properties or len(self.operands) < 3:
            raise VerifyException("names a function and three extents")


def _read_dims(parser: Parser) -> list[SSAValue]:
    for _ in range(3):
        parser.parse_punctuation("<")
    dims = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: read_value(parser))
    for _ in range(3):
        parser.parse_punctuation(">")
    return dims


def _write_dims(printer: Printer, dims: list[SSAValue]) -> None:
    printer.print_string("<<<")
    write_values(printer, dims)
    printer.print_string(">>>")


REGION_OPS: tuple[type[Operation], ...] = (
    CubeSectionOp,
    VectorSectionOp,
    VecScopeOp,
    StrictVecScopeOp,
    SimtSectionOp,
    SimtLaunchOp,
)


def role_of(op: Operation) -> Role:
    """What an op of any dialect asks of the section inference."""
    if isinstance(op, PtoOp):
        return op.decl.role
    if isinstance(op, ScopeOp | SimtSectionOp | SimtLaunchOp) or touches_registers(op):
        return Role.CARRIER
    return Role.NEUTRAL


def sections_below(op: Operation) -> Iterator[SectionOp]:
    """The outermost sections inside an op, in order."""
    for region in op.regions:
        for block in region.blocks:
            for nested in block.ops:
                if isinstance(nested, SectionOp):
                    yield nested
                elif nested.regions and not isinstance(nested, ScopeOp):
                    yield from sections_below(nested)


def section_around(op: Operation) -> SectionOp | None:
    """The innermost section that encloses an op (not the op itself)."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, SectionOp):
        parent = parent.parent_op()
    return parent


def scope_around(op: Operation) -> Operation | None:
    """The innermost vector scope that encloses an op: a scope op, or a loop marked as one."""
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, ScopeOp) or "llvm.loop.aivector_scope" in parent.attributes:
            return parent
        parent = parent.parent_op()
    return None
