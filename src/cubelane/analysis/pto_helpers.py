"""What a `pto.tileop.helper` may hold, its kind, and what it does to its arguments (spec/pto.md 5.2)."""

from xdsl.dialects import func
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator

from cubelane.analysis.pto_evidence import effect_of, proof_of
from cubelane.ir.affinity import Affinity
from cubelane.ir.diagnostic import Diagnostic, Location, refuse
from cubelane.ir.pto.decl import Effect
from cubelane.ir.pto.evidence import tile_pipe
from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.regions import SectionOp, SimtSectionOp
from cubelane.ir.pto.types import PtrType, TileFields
from cubelane.ir.traits import has_trait

FORBIDDEN: tuple[tuple[str, str, str], ...] = (
    (
        "mte",
        "tileop helpers must not contain MTE data movement",
        "move the data in the caller, before and after the call",
    ),
    (
        "pipe_sync",
        "tileop helpers must not contain pipe synchronization",
        "synchronize in the caller, before and after the call",
    ),
    (
        "simt_in_helper",
        "tileop helpers must launch a @pto.simt helper instead of containing SIMT operations directly",
        "move the op into a SIMT function and launch it with pto.simt_launch",
    ),
    (
        "tile_level",
        "tileop helpers must not contain Tile allocation or high-level TileOps",
        "pass the tile as an argument, or use the tile op in the caller",
    ),
)
"""Tag of the table, what is told, what to do instead."""


def helper_kind(helper: func.FuncOp) -> Affinity:
    """The one core of a helper. Raises a `Diagnostic` when the helper breaks a rule or has no single core."""
    _check_signature(helper)
    if len(helper.body.blocks) != 1:
        raise refuse(helper, "tileop helpers must have a single block", code="helper-blocks")
    first: dict[Affinity, Operation] = {}
    for op in helper.body.walk():
        _check_op(op)
        kind = proof_of(op)
        if kind is not None:
            first.setdefault(kind, op)
        elif isinstance(op, PtoOp) and op.decl.pipe is not None and tile_pipe(op.decl.pipe, op) is not None:
            _check_compute(op)
    return _single(helper, first)


def _check_compute(op: PtoOp) -> None:
    if effect_of(op) is Effect.WRITE and "vector_state" not in op.decl.tags:
        raise refuse(
            op,
            "tileop helpers may only contain Vector or Cube compute operations",
            f"'{op.name}' runs on a pipe that belongs to neither",
            code="helper-compute",
        )


def _check_signature(helper: func.FuncOp) -> None:
    if helper.function_type.outputs.data:
        raise refuse(
            helper,
            "tileop helpers must not return values; write results into a tile argument",
            code="helper-returns",
        )
    for index, kind in enumerate(helper.function_type.inputs.data):
        if not isinstance(kind, TileFields | PtrType | IntegerType | IndexType | AnyFloat):
            raise refuse(
                helper,
                f"tileop argument #{index} must be !pto.tile_buf or a PTO scalar, got {kind}",
                code="helper-argument",
            )


def _check_op(op: Operation) -> None:
    if isinstance(op, SectionOp):
        raise refuse(op, "tileop helpers must not already contain a section", code="helper-section")
    if isinstance(op, func.CallOp):
        raise refuse(
            op,
            "tileop helpers must not call another helper",
            instead="inline the callee by hand, or call it from the kernel",
            code="helper-call",
        )
    if isinstance(op, SimtSectionOp):
        raise _forbidden(op, *FORBIDDEN[2][1:])
    if isinstance(op, PtoOp):
        for tag, message, instead in FORBIDDEN:
            if tag in op.decl.tags:
                raise _forbidden(op, message, instead)


def _forbidden(op: Operation, message: str, instead: str) -> Diagnostic:
    return refuse(op, message, f"found '{op.name}'", instead=instead, code="helper-op")


def _single(helper: func.FuncOp, first: dict[Affinity, Operation]) -> Affinity:
    if len(first) == 2:
        second = list(first.values())[1]
        raise refuse(
            second,
            "mixes Vector and Cube compute operations in one tileop helper",
            *(f"first {kind.value} op: '{op.name}' at {Location.of(op)}" for kind, op in first.items()),
            instead="make one helper for the vector work and one for the cube work",
            code="helper-mixed",
        )
    if not first:
        raise refuse(
            helper,
            "contains no Vector or Cube compute operation from which to infer tileop kind",
            code="helper-empty",
        )
    return next(iter(first))


def argument_effects(helper: func.FuncOp) -> list[str]:
    """For every argument: none, read, write or readwrite, following pointers through address arithmetic."""
    reads = [False] * len(helper.args)
    writes = [False] * len(helper.args)
    for op in helper.body.walk():
        effect = effect_of(op) if not op.regions and not has_trait(op, IsTerminator) else Effect.NONE
        if effect is Effect.NONE:
            continue
        for position, operand in enumerate(op.operands):
            argument = _root(operand)
            if argument is None or argument.block is not helper.body.block:
                continue
            is_target = effect is Effect.WRITE and _is_target(op, position)
            writes[argument.index] |= is_target
            reads[argument.index] |= not is_target
    words = {(False, False): "none", (True, False): "read", (False, True): "write", (True, True): "readwrite"}
    return [words[pair] for pair in zip(reads, writes, strict=True)]


def _is_target(op: Operation, position: int) -> bool:
    if not isinstance(op, PtoOp):
        return True
    slots = op.placed_operands()
    return position < len(slots) and slots[position][0].name in ("dst", "args", "ptr")


def _root(value: SSAValue) -> BlockArgument | None:
    """The helper argument that an address comes from."""
    while isinstance(value, OpResult):
        op = value.op
        if effect_of(op) is not Effect.NONE or not op.operands or not isinstance(value.type, PtrType | TileFields):
            return None
        value = op.operands[0]
    return value if isinstance(value, BlockArgument) else None
