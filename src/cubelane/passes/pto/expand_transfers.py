"""Raw forms of the burst transfers (spec/pto.md 8.3)."""

from xdsl.ir import SSAValue

from cubelane.ir.diagnostic import refuse
from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.types import PtrType, element_bits
from cubelane.passes.pto.raw_builder import RawBuilder, drop, operands_of

HARDWARE_LOOPS = 2


def expand_to_ub(op: PtoOp) -> None:
    """GM to UB: padding value, hardware loops, then the copy."""
    build = RawBuilder(op)
    source, target, cache, length = operands_of(op, "src", "dst", "l2", "len")
    count, source_stride, target_stride = op.clause_operands("nburst")[0]
    pads = op.clause_operands("pad")
    pad = pads[0] if pads else list[SSAValue]()
    if pad:
        build.emit("set_mov_pad_val", pad[0])
    zero = build.constant(0)
    left, right = [*pad[1:], zero, zero][:2]
    looped = _open_loops(build, op, "outtoub")
    build.emit(
        _raw(op),
        source,
        target,
        zero,
        count,
        length,
        left,
        right,
        build.flag(bool(pad)),
        cache,
        source_stride,
        target_stride,
    )
    _close_loops(build, looped, "outtoub")
    drop(op)


def expand_to_gm(op: PtoOp) -> None:
    """UB to GM: hardware loops, then the copy."""
    build = RawBuilder(op)
    source, target, length = operands_of(op, "src", "dst", "len")
    count, source_stride, target_stride = op.clause_operands("nburst")[0]
    zero = build.constant(0)
    cache = next(iter(op.clause_operands("l2_cache_ctl")), [zero])[0]
    looped = _open_loops(build, op, "ubtoout")
    build.emit(_raw(op), source, target, zero, count, length, cache, target_stride, source_stride)
    _close_loops(build, looped, "ubtoout")
    drop(op)


def expand_burst(op: PtoOp) -> None:
    """The transfers that are one copy with a burst description."""
    build = RawBuilder(op)
    source, target, length = operands_of(op, "src", "dst", "len")
    burst = op.clause_operands("nburst")[0]
    if op.clause_operands("loop"):
        raise refuse(op, f"loops of '{op.name}' are not built", instead="write the loop as scf.for around the transfer")
    head: list[SSAValue] = []
    if op.decl.tags & {"sid", "conv"}:
        head.append(build.constant(int("conv" in op.decl.tags and _widens(op))))
    build.emit(_raw(op), source, target, *head, burst[0], length, *burst[1:])
    drop(op)


def _widens(op: PtoOp) -> bool:
    """Whether the elements of a transfer become wider on the way."""
    before, after = (kind.element for kind in op.operand_types[:2] if isinstance(kind, PtrType))
    return (element_bits(before) or 0) < (element_bits(after) or 0)


def _raw(op: PtoOp) -> str:
    assert op.decl.raw is not None
    return op.decl.raw


def _open_loops(build: RawBuilder, op: PtoOp, way: str) -> bool:
    """The first loop given is the outer one: hardware loop 2; the second is hardware loop 1."""
    loops = op.clause_operands("loop")
    if len(loops) > HARDWARE_LOOPS:
        raise refuse(
            op,
            f"'{op.name}' has {len(loops)} loops; the hardware has {HARDWARE_LOOPS}, more are not built",
            instead="write the outermost loops as scf.for around the transfer",
            code="too-many-loops",
        )
    if not loops:
        return False
    sizes = [build.constant(1)] * HARDWARE_LOOPS
    for number, (count, source_stride, target_stride) in zip((2, 1), loops, strict=False):
        build.emit(f"set_loop{number}_stride_{way}", source_stride, target_stride)
        sizes[number - 1] = count
    build.emit(f"set_loop_size_{way}", *sizes)
    return True


def _close_loops(build: RawBuilder, looped: bool, way: str) -> None:
    if looped:
        one = build.constant(1)
        build.emit(f"set_loop_size_{way}", one, one)
