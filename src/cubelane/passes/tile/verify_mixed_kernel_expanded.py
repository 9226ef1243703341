"""The property MixedKernelExpanded: each program fits its core, its rings are open and its slots come back (9.2)."""

from collections.abc import Iterator, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from cubelane.analysis.affinity import roll_up
from cubelane.ir.affinity import Affinity
from cubelane.ir.diagnostic import Diagnostic, refuse
from cubelane.ir.kernel import FunctionKind, functions_of, kind_of
from cubelane.ir.narrowing import is_one, only
from cubelane.ir.surface import constant_of, python_value
from cubelane.ir.tile.channel import (
    FreeOp,
    ImportPeerBufferOp,
    InitializeCubePipeOp,
    InitializeLanePipeOp,
    InitializePipeOp,
    PopOp,
    PushOp,
    ReserveBufferOp,
)
from cubelane.ir.types import MemorySpace, TileType
from cubelane.ir.walk import ops_in

C2V, V2C = 1, 2
IMPLICIT_SLOTS = {C2V: 8, V2C: 8, C2V | V2C: 4}
CHANNEL = (PopOp, PushOp, FreeOp, InitializePipeOp, ReserveBufferOp, ImportPeerBufferOp)
CODE = "mixed-kernel-expanded"


class VerifyMixedKernelExpanded(ModulePass):
    """Raises the first finding; `findings` gives them all."""

    name = "verify-mixed-kernel-expanded"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for finding in findings(op):
            raise finding


def findings(module: ModuleOp) -> list[Diagnostic]:
    """All violations of a program, in program order."""
    found: list[Diagnostic] = []
    for function in functions_of(module):
        kind = kind_of(function)
        if kind is FunctionKind.INCORE:
            found += _unexpanded(function)
        elif kind in (FunctionKind.AIC, FunctionKind.AIV):
            found += _Program(function, kind is FunctionKind.AIC).findings()
    return found


def _wrong(op: Operation, message: str, *notes: str, instead: str | None = None) -> Diagnostic:
    return refuse(op, message, *notes, instead=instead, code=CODE)


def _unexpanded(function: FuncOp) -> Iterator[Diagnostic]:
    if roll_up(function.body) is Affinity.MIXED:
        yield _wrong(function, f"`{function.sym_name.data}` still mixes cube and vector work in one program")


class _Program:
    """The checks of one core's program."""

    def __init__(self, function: FuncOp, cube: bool):
        self.function, self.cube = function, cube
        self.core = "AIC" if cube else "AIV"
        self.ops = only(ops_in(function), CHANNEL)
        """What has to do with rings, in program order; the checks ask nothing else."""
        self.inits = only(self.ops, InitializePipeOp)

    def findings(self) -> list[Diagnostic]:
        """All of them."""
        return [*self._spaces(), *self._counts(), *self._opened(), *self._init_values(), *self._frees()]

    def _spaces(self) -> Iterator[Diagnostic]:
        wanted = MemorySpace.MAT if self.cube else MemorySpace.VEC
        for op in self.ops:
            if is_one(op, PopOp) and op.TO_LANES is not self.cube:
                kind = op.results[0].type
                assert isinstance(kind, TileType)
                if kind.memory is not wanted:
                    have = kind.memory.dsl if kind.memory is not None else "a space that is not stated"
                    yield _wrong(op, f"{self.core} pops into {wanted.dsl}, not {have}")

    def _counts(self) -> Iterator[Diagnostic]:
        """Every used direction of every pipe has its buffer: reserved by the consumer, imported by the producer."""
        incoming, outgoing = (V2C, C2V) if self.cube else (C2V, V2C)
        for word, kind, bit in (
            ("reserve_buffer", ReserveBufferOp, incoming),
            ("import_peer_buffer", ImportPeerBufferOp, outgoing),
        ):
            have = len(only(self.ops, kind))
            need = sum(bool(python_value(op.dir_mask) & bit) for op in self.inits)
            if have != need:
                amount = "too few" if have < need else "too many"
                yield _wrong(
                    self.function,
                    f"{self.core} function '{self.function.sym_name.data}' has {amount} {word} calls: {have}, its "
                    f"pipes need {need}",
                )

    def _opened(self) -> Iterator[Diagnostic]:
        """A pipe must be open, whatever the program does, before the first statement that holds a push or a pop."""
        seen: set[int] = set()
        for op in self.ops:
            if is_one(op, InitializePipeOp):
                if op.parent_op() is not self.function:
                    continue
                mask = python_value(op.dir_mask)
                seen.update(bit for bit in (C2V, V2C) if mask & bit)
            elif is_one(op, (PushOp, PopOp)):
                bit = C2V if op.TO_LANES else V2C
                if bit not in seen:
                    seen.add(bit)
                    yield _wrong(op, f"`{op.SPELLING}` uses a ring that {self.core} has not opened before")

    def _init_values(self) -> Iterator[Diagnostic]:
        right = InitializeCubePipeOp if self.cube else InitializeLanePipeOp
        for op in self.inits:
            if not isinstance(op, right):
                yield _wrong(op, f"`{op.SPELLING}` stands in the program of the other core")
            mask, slots = python_value(op.dir_mask), python_value(op.properties.get("slot_num"))
            if mask not in IMPLICIT_SLOTS:
                yield _wrong(op, f"dir_mask is 1, 2 or 3, not {mask}")
                continue
            if python_value(op.slot_size) <= 0:
                yield _wrong(op, "a slot has a positive size in bytes")
            if slots is not None and slots <= 0:
                yield _wrong(op, f"a ring has at least one slot, not {slots}")
            local = python_value(op.properties.get("local_slot_num"))
            if local is not None and not 0 < local <= (slots or IMPLICIT_SLOTS[mask]):
                yield _wrong(op, f"local_slot_num is 1 to {slots or IMPLICIT_SLOTS[mask]}, not {local}")
            for bit, buffer, word in ((C2V, op.c2v_buffer, "cube to lanes"), (V2C, op.v2c_buffer, "lanes to cube")):
                address = constant_of(buffer)
                if mask & bit and address is not None:
                    yield _wrong(op, f"the direction {word} is used, but its buffer is the placeholder {address}")
                if not mask & bit and address != 0:
                    yield _wrong(op, f"the direction {word} is not used; its buffer must be the constant 0")

    def _frees(self) -> Iterator[Diagnostic]:
        by_block: dict[Block | None, list[Operation]] = {}
        for op in self.ops:
            by_block.setdefault(op.parent, []).append(op)
        for ops in by_block.values():
            yield from self._block_frees(ops)

    def _block_frees(self, ops: Sequence[Operation]) -> Iterator[Diagnostic]:
        """Each pop is freed once, in its own block, by the free of its direction; `ops` are those of one block."""
        taken: dict[Operation, PopOp] = {}
        for op in ops:
            if is_one(op, PopOp) and op.TO_LANES is not self.cube:
                taken[op] = op
            elif is_one(op, FreeOp):
                pop = op.tile.owner
                if is_one(pop, PopOp) and pop in taken and pop.TO_LANES is op.TO_LANES:
                    del taken[pop]
                elif is_one(pop, PopOp) and pop.TO_LANES is not op.TO_LANES:
                    yield _wrong(op, f"`{op.SPELLING}` frees a tile that came through `{pop.SPELLING}`")
                else:
                    yield _wrong(
                        op, f"`{op.SPELLING}` frees `{op.tile.name_hint or 'a tile'}`, which holds no slot here"
                    )
        right = "tfree_to_aiv" if self.cube else "tfree_to_aic"
        for pop in taken.values():
            yield _wrong(
                pop,
                f"{self.core} function '{self.function.sym_name.data}' pops `{pop.results[0].name_hint or 'a tile'}` "
                "and never gives the slot back",
                instead=f"pl.system.{right}({pop.results[0].name_hint or 'tile'}) after its last use",
            )
