"""Structure of a program: function kinds, parameter directions, scopes, split regions (spec/front.md 1.3, 1.6).

A program is a `builtin.module` of `func.func`s. Facts of a function are its attributes `kernel.kind`,
`kernel.split`, `kernel.split_aiv`, ...; facts of a parameter (`kernel.direction`) its argument attributes. Loops are
`scf.for` / `scf.while` / `scf.if` with results; a loop's flavour is its attribute `kernel.loop` (and `kernel.stage`).
"""

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import Attribute, Dialect, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    lazy_traits_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, RecursiveMemoryEffect, SingleBlockImplicitTerminator
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from cubelane.ir.types import SplitMode

COMMENTS = "comments"
"""The attribute of an op that holds the user's comments before its statement; no comparison looks at it."""


def comments_of(op: Operation) -> list[str]:
    """The user's comments before the statement of an op."""
    value = op.attributes.get(COMMENTS)
    items = cast("ArrayAttr[Attribute]", value).data if isinstance(value, ArrayAttr) else ()
    return [item.data for item in items if isinstance(item, StringAttr)]


def add_comments(op: Operation, comments: Sequence[str]) -> None:
    """Puts comments before those an op has."""
    if comments:
        op.attributes[COMMENTS] = ArrayAttr([StringAttr(text) for text in (*comments, *comments_of(op))])


class FunctionKind(StrEnum):
    """What a function is and where it runs."""

    OPAQUE = "opaque"
    ORCHESTRATION = "orchestration"
    INCORE = "incore"
    AIC = "aic"
    AIV = "aiv"
    GROUP = "group"
    SPMD = "spmd"
    INLINE = "inline"

    @property
    def dsl(self) -> str:
        """The member name under `pl.FunctionType`."""
        special = {"incore": "InCore", "aic": "AIC", "aiv": "AIV"}
        return special.get(self.value, self.value.title())

    @property
    def in_core(self) -> bool:
        """Whether the body runs on a core (not on the host side of the chip)."""
        return self in (FunctionKind.INCORE, FunctionKind.AIC, FunctionKind.AIV)


class Direction(StrEnum):
    """How a function uses a parameter."""

    IN = "in"
    OUT = "out"
    INOUT = "inout"


class SplitWord(StrEnum):
    """Spelling of a split mode in MLIR."""

    NONE = "none"
    UP_DOWN = "up_down"
    LEFT_RIGHT = "left_right"


class LoopFlavour(StrEnum):
    """Which `pl` iterator a loop was written with."""

    RANGE = "range"
    PARALLEL = "parallel"
    UNROLL = "unroll"
    PIPELINE = "pipeline"


class Bracketed:
    """Makes an enum attribute print as `#dialect.name<word>`; mixed in before `EnumAttribute`."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Any:
        with parser.in_angle_brackets():
            return cast(Any, super()).parse_parameter(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            cast(Any, super()).print_parameter(printer)


@irdl_attr_definition
class KindAttr(Bracketed, EnumAttribute[FunctionKind]):
    """`#kernel.kind<incore>`."""

    name = "kernel.kind"


@irdl_attr_definition
class DirectionAttr(Bracketed, EnumAttribute[Direction]):
    """`#kernel.direction<out>`."""

    name = "kernel.direction"


@irdl_attr_definition
class SplitAttr(Bracketed, EnumAttribute[SplitWord]):
    """`#kernel.split<up_down>`."""

    name = "kernel.split"

    @staticmethod
    def of(mode: SplitMode) -> "SplitAttr":
        """The attribute of a mode."""
        return SplitAttr(SplitWord(mode.name.lower()))

    @property
    def mode(self) -> SplitMode:
        """The mode this attribute names."""
        return SplitMode[self.data.name]


@irdl_attr_definition
class LoopAttr(Bracketed, EnumAttribute[LoopFlavour]):
    """`#kernel.loop<pipeline>`."""

    name = "kernel.loop"


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends a scope or a region and hands out the values that stay visible after it."""

    name = "kernel.yield"
    arguments = var_operand_def()
    traits = traits_def(IsTerminator())
    assembly_format = "attr-dict ($arguments^ `:` type($arguments))?"

    def __init__(self, *arguments: SSAValue):
        super().__init__(operands=[arguments])


class BodyOp(IRDLOperation):
    """An op with one body whose yielded values are its results."""

    body = region_def("single_block")
    outputs = var_result_def()

    traits = lazy_traits_def(lambda: (SingleBlockImplicitTerminator(YieldOp), RecursiveMemoryEffect()))

    @property
    def yielded(self) -> YieldOp:
        """The terminator of the body."""
        last = self.body.block.last_op
        assert isinstance(last, YieldOp)
        return last

    def verify_(self) -> None:
        """Yielded values and results must have the same types."""
        if [o.type for o in self.yielded.arguments] != [r.type for r in self.results]:
            raise VerifyException(f"{self.name}: the yielded values do not match the results")


@irdl_op_definition
class ScopeOp(BodyOp):
    """`with pl.at(level=...)`: a part of the body that becomes a function of its own on one core group.

    `split` is the author's split mode, `slot_num` the number of slots of every ring, `name_hint` the name of
    the function to be made.
    """

    name = "kernel.scope"
    level = prop_def(StringAttr)
    split = opt_prop_def(SplitAttr)
    slot_num = opt_prop_def(IntegerAttr)
    name_hint = opt_prop_def(StringAttr)

    def __init__(
        self,
        body: Region,
        result_types: Sequence[Attribute] = (),
        *,
        level: str = "CORE_GROUP",
        split: SplitMode | None = None,
        slot_num: int | None = None,
        name_hint: str | None = None,
    ):
        super().__init__(
            regions=[body],
            result_types=[result_types],
            properties={
                "level": StringAttr(level),
                "split": None if split is None else SplitAttr.of(split),
                "slot_num": None if slot_num is None else IntegerAttr(slot_num, i64),
                "name_hint": None if name_hint is None else StringAttr(name_hint),
            },
        )


@irdl_op_definition
class SplitRegionOp(BodyOp):
    """`for lane in pl.split_aiv(2, mode=...)`: both lanes run the body; it starts with the lane index."""

    name = "kernel.split_aiv"
    mode = prop_def(SplitAttr)

    def __init__(self, body: Region, mode: SplitMode, result_types: Sequence[Attribute] = ()):
        super().__init__(regions=[body], result_types=[result_types], properties={"mode": SplitAttr.of(mode)})


KIND, SPLIT, SPLIT_AIV = "kernel.kind", "kernel.split", "kernel.split_aiv"
REGION_VALIDATED = "kernel.split_aiv_region_validated"
DUAL_DISPATCH = "kernel.dual_aiv_dispatch"
EXTERNAL = "kernel.external_source"
SLOT_NUM = "kernel.slot_num"
DIRECTION = "kernel.direction"
LOOP, STAGE = "kernel.loop", "kernel.stage"
SKEWED = "kernel.skewed"
"""On a loop whose trips overlap across the cores: how many trips its last stage is behind."""
PROGRAM, TARGET = "kernel.program", "kernel.target"
PLACEMENT = "kernel.placement"
"""Attribute names on functions, arguments, loops, modules and calls."""


def kind_of(function: FuncOp) -> FunctionKind:
    """The kind of a function; opaque where nobody stated one."""
    kind = function.attributes.get(KIND)
    return kind.data if isinstance(kind, KindAttr) else FunctionKind.OPAQUE


def split_of(function: FuncOp) -> SplitMode:
    """The split mode of a function; NONE where it has none."""
    split = function.attributes.get(SPLIT)
    return split.mode if isinstance(split, SplitAttr) else SplitMode.NONE


def flag(op: Operation, name: str) -> bool:
    """Whether a unit attribute is set."""
    return name in op.attributes


def set_flag(op: Operation, name: str, on: bool = True) -> None:
    """Sets or removes a unit attribute."""
    if on:
        op.attributes[name] = UnitAttr()
    else:
        op.attributes.pop(name, None)


def int_attribute(op: Operation, name: str) -> int | None:
    """An integer attribute, None where it is absent."""
    value = op.attributes.get(name)
    return value.value.data if isinstance(value, IntegerAttr) else None


def direction_of(function: FuncOp, index: int) -> Direction:
    """The direction of a parameter; In where nobody stated one."""
    attributes = function.arg_attrs
    if attributes is None:
        return Direction.IN
    value = attributes.data[index].data.get(DIRECTION)
    return value.data if isinstance(value, DirectionAttr) else Direction.IN


def argument_attributes(directions: Sequence[Direction]) -> ArrayAttr[DictionaryAttr]:
    """`arg_attrs` of a function from the directions of its parameters."""
    return ArrayAttr([DictionaryAttr({} if d is Direction.IN else {DIRECTION: DirectionAttr(d)}) for d in directions])


def functions_of(module: ModuleOp) -> list[FuncOp]:
    """The functions of a program, in order."""
    return [op for op in module.body.block.ops if isinstance(op, FuncOp)]


def program_name(module: ModuleOp) -> str:
    """The class name of the program."""
    name = module.attributes.get(PROGRAM)
    return name.data if isinstance(name, StringAttr) else "Program"


def target_name(module: ModuleOp) -> str | None:
    """The target the program is compiled for, None while nobody chose one."""
    name = module.attributes.get(TARGET)
    return name.data if isinstance(name, StringAttr) else None


Kernel = Dialect("kernel", [YieldOp, ScopeOp, SplitRegionOp], [KindAttr, DirectionAttr, SplitAttr, LoopAttr])
