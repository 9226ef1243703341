"""Rules for programs of PTO ops: synchronisation lost, doubled or misplaced, transfers and addresses that are off."""

from collections.abc import Iterator, Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, ModuleOp
from xdsl.ir import Operation
from xdsl.traits import IsTerminator

from cubelane.check.faults.engine import Edit, Rule, once
from cubelane.ir.pto.op import PtoOp

SYNC = ("set_flag", "wait_flag", "set_flag_dyn", "wait_flag_dyn", "sync.set", "sync.wait", "barrier", "mem_bar",
        "get_buf", "rls_buf", "get_buf_dyn", "rls_buf_dyn")  # fmt: skip
"""Ops that order others and do nothing else."""


def is_sync(op: Operation) -> bool:
    """Whether an op only orders others."""
    return isinstance(op, PtoOp) and op.decl.name in SYNC


def channel(op: Operation) -> tuple[str, ...]:
    """What a set and its wait have in common, in the text of the op: core, kind, queues."""
    module = next(p for p in _parents(op) if isinstance(p, ModuleOp))
    assert isinstance(op, PtoOp)
    if op.decl.name.startswith("sync"):
        return ("signal",)
    pipes = [str(op.properties[key]) for key in ("src_pipe", "dst_pipe", "pipe", "event_id") if key in op.properties]
    return (str(module.attributes["pto.kernel_kind"]), op.decl.name.partition("_")[2], *pipes)


def _parents(op: Operation) -> Iterator[Operation]:
    parent = op.parent_op()
    while parent is not None:
        yield parent
        parent = parent.parent_op()


def _root(op: Operation) -> Operation:
    return list(_parents(op))[-1]


def _alike(op: Operation) -> list[Operation]:
    """The sync ops of an op's channel, in program order."""
    return [o for o in _root(op).walk() if is_sync(o) and channel(o) == channel(op)]


def _drop_flag(op: Operation) -> None:
    for doomed in _alike(op):
        doomed.detach()


def _double(op: Operation) -> None:
    assert op.parent is not None
    copy = op.clone()
    copy.location = op.location
    op.parent.insert_op_after(copy, op)


def _other_event(op: Operation) -> None:
    text = str(op.properties["event_id"])
    kinds = type(op.properties["event_id"])
    for other in _root(op).walk():
        event = other.properties.get("event_id")
        if isinstance(event, kinds) and str(event) != text:
            op.properties["event_id"] = event
            return


def _has_other_event(op: Operation) -> bool:
    if not is_sync(op) or "event_id" not in op.properties:
        return False
    events = {str(o.properties["event_id"]) for o in _root(op).walk() if "event_id" in o.properties}
    return len(events) > 1


def _work(op: Operation | None) -> bool:
    """A transfer, a store, a product into its accumulator: what queues do, not the arithmetic of addresses."""
    return isinstance(op, PtoOp) and not is_sync(op) and not op.regions and not op.results


def _set_early(op: Operation) -> Sequence[Edit]:
    """A set before the work it announces."""
    if not (is_sync(op) and isinstance(op, PtoOp) and "set" in op.decl.name and _work(op.prev_op)):
        return ()
    return (_before_previous,)


def _before_previous(op: Operation) -> None:
    block, previous = op.parent, op.prev_op
    assert block is not None and previous is not None
    op.detach()
    block.insert_op_before(op, previous)


def _wait_late(op: Operation) -> Sequence[Edit]:
    """A wait behind the work that needs it."""
    if not (is_sync(op) and isinstance(op, PtoOp) and "wait" in op.decl.name and _work(op.next_op)):
        return ()
    return () if op.next_op is None or op.next_op.has_trait(IsTerminator) else (_behind_next,)


def _behind_next(op: Operation) -> None:
    block, following = op.parent, op.next_op
    assert block is not None and following is not None
    op.detach()
    block.insert_op_after(op, following)


def _whole_numbers(op: Operation) -> list[int]:
    """Positions of constant operands of a PTO op."""
    if not isinstance(op, PtoOp) or is_sync(op):
        return []
    return [n for n, o in enumerate(op.operands) if isinstance(o.owner, arith.ConstantOp) and _whole(o.owner)]


def _whole(op: arith.ConstantOp) -> bool:
    return isinstance(op.value, IntegerAttr) and isinstance(op.result.type, IndexType | IntegerType)


def _more(op: Operation, position: int) -> None:
    old = op.operands[position].owner
    assert isinstance(old, arith.ConstantOp) and isinstance(old.value, IntegerAttr) and op.parent is not None
    made = arith.ConstantOp(IntegerAttr(old.value.value.data + 1, old.value.type))
    made.location = op.location
    op.parent.insert_op_before(made, op)
    op.operands[position] = made.result


def _numbers(op: Operation) -> list[Edit]:
    return [lambda victim, n=n: _more(victim, n) for n in _whole_numbers(op)]


def _is_effect(op: Operation) -> bool:
    return _work(op) and not op.has_trait(IsTerminator)


def _stale(op: Operation) -> list[Edit]:
    loop = op.parent_op()
    if not isinstance(op, scf.YieldOp) or not isinstance(loop, scf.ForOp):
        return []
    carried = loop.body.block.args[1:]
    return [
        lambda victim, n=n: _hand_back(victim, n)
        for n, value in enumerate(op.operands)
        if value is not carried[n] and loop.results[n].first_use is not None
    ]


def _hand_back(op: Operation, n: int) -> None:
    loop = op.parent_op()
    assert isinstance(loop, scf.ForOp)
    op.operands[n] = loop.body.block.args[1 + n]


PTO_RULES = (
    Rule("sync", "sync op missing", once(is_sync, Operation.detach)),
    Rule("sync", "whole flag missing", once(lambda op: is_sync(op) and _alike(op)[0] is op, _drop_flag)),
    Rule("sync", "sync op doubled", once(is_sync, _double)),
    Rule("sync", "another event", once(_has_other_event, _other_event)),
    Rule("order", "set before its work", _set_early),
    Rule("order", "wait behind its work", _wait_late),
    Rule("offset", "number one more", _numbers),
    Rule("core", "work on no core", once(_is_effect, Operation.detach)),
    Rule("carry", "carry not handed on", _stale),
)
"""What can go wrong in a program of PTO ops."""
