"""Deferred waiters: functions that only register what the next kernel waits for (spec/passes.md 5.15).

A function with `pl.system.defer_wait` is marked `deferred_waiter`, does nothing but register, and is started by an
orchestration function like any other task, without a launch shape of its own.
"""

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.dialects.scf import ForOp, IfOp, YieldOp
from xdsl.ir import Operation

from cubelane.ir.diagnostic import Diagnostic, refuse
from cubelane.ir.kernel import FunctionKind, functions_of, kind_of
from cubelane.ir.narrowing import is_one
from cubelane.ir.surface import python_value
from cubelane.ir.tile.signals import DeferWaitOp
from cubelane.ir.traits import Split, Splits, trait_of
from cubelane.ir.walk import ops_in, ops_of

WAITER = "kernel.deferred_waiter"
LAUNCH_SHAPE = ("core_num", "sync_start")
LAUNCH = ("allow_early_resolve", "predicate", *LAUNCH_SHAPE)
"""Facts of a function, and of a call, that a deferred waiter cannot have."""


def refuse_wrong_waiters(module: ModuleOp) -> None:
    """Raises the first violation."""
    for function in functions_of(module):
        for first in ops_of(function, DeferWaitOp)[:1]:
            for problem in (*_of_function(function, first), *_of_callers(module, function)):
                raise problem


def _wrong(op: Operation, message: str, instead: str) -> Diagnostic:
    note = "a deferred waiter only registers conditions; the runtime waits for them before the next kernel"
    return refuse(op, message, note, instead=instead, code="deferred-waiter")


def _of_function(function: FuncOp, first: DeferWaitOp) -> Iterator[Diagnostic]:
    name, kind = function.sym_name.data, kind_of(function)
    if not python_value(function.attributes.get(WAITER)):
        yield _wrong(
            first,
            f"`{name}` registers a wait but is not marked as a deferred waiter",
            'attrs={"deferred_waiter": True}',
        )
    if kind not in (FunctionKind.INCORE, FunctionKind.AIV):
        yield _wrong(
            function,
            f"the deferred waiter `{name}` is {kind.dsl}; it must be InCore or AIV",
            "type=pl.FunctionType.InCore",
        )
    for fact in LAUNCH_SHAPE:
        if f"kernel.{fact}" in function.attributes:
            yield _wrong(function, f"the deferred waiter `{name}` states {fact}", f"leave {fact} out")
    for op in ops_in(function.body):
        if not _only_registers(op):
            yield _wrong(
                op,
                f"{op.name} stands in the deferred waiter `{name}`, which may only compute scalars and register",
                "move it to a function of its own",
            )


def _only_registers(op: Operation) -> bool:
    if is_one(op, (DeferWaitOp, ForOp, IfOp, YieldOp)) or op.name.startswith(("arith.", "builtin.")):
        return True
    if is_one(op, ReturnOp):
        return not op.operands
    splits = trait_of(op, Splits)
    return splits is not None and splits.behaviour is Split.NONE and not op.regions and _reads_only(op)


def _reads_only(op: Operation) -> bool:
    """Whether an op without tiles gives a scalar: a cell of a tensor, an extent, the number of the core group."""
    return len(op.results) == 1 and not hasattr(op, "target")


def _of_callers(module: ModuleOp, function: FuncOp) -> Iterator[Diagnostic]:
    name = function.sym_name.data
    for caller in functions_of(module):
        for call in ops_in(caller):
            if not is_one(call, CallOp) or call.callee.string_value() != name:
                continue
            if kind_of(caller) is not FunctionKind.ORCHESTRATION:
                yield _wrong(
                    call,
                    f"`{caller.sym_name.data}` ({kind_of(caller).dsl}) starts the deferred waiter `{name}`; only an "
                    "orchestration function can",
                    f"call `{name}` from a function of type Orchestration",
                )
            for fact in LAUNCH:
                if f"kernel.{fact}" in call.attributes:
                    yield _wrong(call, f"the start of the deferred waiter `{name}` states {fact}", f"leave {fact} out")
