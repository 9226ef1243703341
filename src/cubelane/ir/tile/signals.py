"""Signals between devices: a kernel tells a peer that its data is there, or waits for one (spec/passes.md 2.2, 5.15).

A signal is an element of an integer tensor of which every device has a copy. One device is simulated: a notification
is an event of the protocol log, and a wait asks what is in the copy of this device.
"""

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, traits_def, var_operand_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, OpTrait

from cubelane.ir.surface import Bound, Kind, Parameter, SurfaceOp, a_scalar, a_value, indices, keyword
from cubelane.ir.tile.base import wrong
from cubelane.ir.traits import Cost, CostClass, Meaning, OnBoth, PtoSpelling, RunsOnce, Spaces, Split, Splits
from cubelane.ir.types import TensorType, is_float

COMPARISONS = ("eq", "ne", "gt", "ge", "lt", "le")


def _traits(meaning: str, pto: str, *more: OpTrait) -> list[OpTrait]:
    return [
        *more,
        MemoryReadEffect(),
        MemoryWriteEffect(),
        OnBoth,
        Splits(Split.NONE),
        Meaning(meaning),
        PtoSpelling(pto),
        Cost(CostClass.SCALAR),
        Spaces(),
    ]


class SignalOp(SurfaceOp):
    """An op on one element of a signal tensor."""

    NAMESPACE: ClassVar[str] = "system"
    signal = operand_def(TensorType)
    offsets = var_operand_def()
    scalar = operand_def()

    @classmethod
    def result_type(cls, call: Bound) -> None:
        signal = call.type("signal")
        if not isinstance(signal, TensorType) or is_float(signal.dtype):
            raise wrong("a signal is an element of an integer tensor", instead="pl.InOut[pl.Tensor[[1, 1], pl.INT32]]")
        if len(call["offsets"]) != len(signal.shape):
            raise wrong(f"{len(call['offsets'])} offsets for a tensor of {len(signal.shape)} axes", code="wrong-shape")


@irdl_op_definition
class NotifyOp(SignalOp):
    """Sets the peer's copy of a signal to `value` (`op` 1), or adds `value` to it (`op` 0)."""

    name = "system.notify"
    SPELLING: ClassVar[str] = "notify"
    signal = operand_def(TensorType)
    peer = operand_def()
    offsets = var_operand_def()
    scalar = operand_def()
    op = prop_def()
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        Parameter("signal", Kind.VALUE, spelled="target"),
        a_scalar("peer"),
        indices("offsets"),
        Parameter("scalar", Kind.SCALAR, spelled="value"),
        keyword("op", Kind.INT, 1),
    )
    traits = traits_def(*_traits("notify({signal}, {peer}, {offsets}, {scalar}, {op})", "pto.comm.tnotify", RunsOnce()))


_WAIT_PARAMETERS = (
    a_value("signal"),
    indices("offsets"),
    Parameter("scalar", Kind.SCALAR, spelled="value"),
    keyword("cmp", Kind.TEXT, "eq"),
)


class WaitingOp(SignalOp):
    """An op that names a condition on a signal: its element compares by `cmp` to `value`."""

    PARAMETERS: ClassVar[tuple[Parameter, ...]] = _WAIT_PARAMETERS

    @classmethod
    def result_type(cls, call: Bound) -> None:
        super().result_type(call)
        if call.get("cmp", "eq") not in COMPARISONS:
            raise wrong(f"`cmp` is one of {', '.join(COMPARISONS)}, not {call['cmp']}")


@irdl_op_definition
class WaitOp(WaitingOp):
    """Waits until a signal of this device fulfils a condition. Every core that needs what follows waits."""

    name = "system.wait"
    SPELLING: ClassVar[str] = "wait"
    signal = operand_def(TensorType)
    offsets = var_operand_def()
    scalar = operand_def()
    cmp = prop_def()
    traits = traits_def(*_traits("wait_for({signal}, {offsets}, {scalar}, {cmp})", "pto.comm.twait"))


@irdl_op_definition
class DeferWaitOp(WaitingOp):
    """Registers a condition that the next kernel waits for; stands in functions that do nothing else."""

    name = "system.defer_wait"
    SPELLING: ClassVar[str] = "defer_wait"
    signal = operand_def(TensorType)
    offsets = var_operand_def()
    scalar = operand_def()
    cmp = prop_def()
    traits = traits_def(
        *_traits("defer_wait({signal}, {offsets}, {scalar}, {cmp})", "pto.comm.tdefer_wait", RunsOnce())
    )


SIGNAL_OPS: tuple[type[SurfaceOp], ...] = (NotifyOp, WaitOp, DeferWaitOp)
