"""Which values name the memory of a parameter, and how a function uses its parameters (spec/front.md 3.4).

A tensor is a handle: what `assemble`, `store` and `write` give back names the same memory after the write. A loop
carry or an if-result is a handle when every value that arrives there names the same parameter.
"""

from collections.abc import ItemsView, Mapping, Sequence
from functools import cache

from xdsl.dialects import scf
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue, Use
from xdsl.traits import MemoryWriteEffect

from cubelane.analysis.value_flow import Join, arrives_at, joins_of
from cubelane.ir import gm
from cubelane.ir.kernel import Direction, direction_of
from cubelane.ir.narrowing import is_one
from cubelane.ir.tile.movement import StoreOp
from cubelane.ir.traits import has_trait
from cubelane.ir.types import TensorType
from cubelane.ir.walk import ops_in

Functions = Mapping[str, FuncOp]
"""The functions of the program by name."""


def written_slot(op: Operation) -> int | None:
    """The position of the operand that the op writes and hands back, None for an op that writes none."""
    if not _writes_and_returns(op.__class__):
        return None
    return len(op.operands) - 1 - len(op.shapes) if is_one(op, StoreOp) else 0


@cache
def _writes_and_returns(kind: type[Operation]) -> bool:
    """Whether ops of a class hand back the tensor that they write; most do not, and every one is asked."""
    return issubclass(kind, (gm.AssembleOp, gm.WriteOp, StoreOp))


class TensorHandles:
    """The parameter each tensor value of a function names, if it names one."""

    def __init__(self, body: Block, functions: Functions | None = None, made: Sequence[SSAValue] = ()):
        """`made` are tensors of the function itself that count as memory, too."""
        memories = [*(a for a in body.args if isinstance(a.type, TensorType)), *made]
        self._roots: dict[SSAValue, SSAValue] = {memory: memory for memory in memories}
        self._functions = functions or {}
        self._returned: dict[str, list[int | None]] = {}
        self._visit(body)

    def __getitem__(self, value: SSAValue) -> SSAValue | None:
        """The parameter whose memory the value names; None for a computed value."""
        return self._roots.get(value)

    def items(self) -> ItemsView[SSAValue, SSAValue]:
        """All values that name a parameter, with the parameter."""
        return self._roots.items()

    def _visit(self, block: Block) -> None:
        for op in block.ops:
            if op.regions:
                self._compound(op)
            elif (slot := written_slot(op)) is not None:
                self._name(op.results[0], self._roots.get(op.operands[slot]))
            elif is_one(op, CallOp):
                self._call(op)

    def _name(self, value: SSAValue, root: SSAValue | None) -> bool:
        """Records what a value names; whether that is news."""
        if self._roots.get(value) is root:
            return False
        if root is None:
            del self._roots[value]
        else:
            self._roots[value] = root
        return True

    def _compound(self, op: Operation) -> None:
        joins = [j for j in joins_of(op) if isinstance(j.targets[0].type, TensorType)]
        entering = is_one(op, (scf.ForOp, scf.WhileOp))
        for join in joins if entering else ():
            first = self._roots.get(join.sources[0].value)
            for target in join.targets:
                self._name(target, first)
        while True:
            for region in op.regions:
                for block in region.blocks:
                    self._visit(block)
            changed = [self._meet(join) for join in joins]
            if not (entering and any(changed)):
                return

    def _meet(self, join: Join) -> bool:
        roots = [self._roots.get(source.value) for source in join.sources]
        common = roots[0] if all(root is roots[0] for root in roots) else None
        return any([self._name(target, common) for target in join.targets])

    def _call(self, op: CallOp) -> None:
        name = op.callee.string_value()
        callee = self._functions.get(name)
        if callee is None:
            return
        if name not in self._returned:
            others = {key: function for key, function in self._functions.items() if function is not callee}
            self._returned[name] = returned_parameters(callee, others)
        for result, index in zip(op.results, self._returned[name], strict=True):
            if index is not None:
                self._name(result, self._roots.get(op.operands[index]))


def return_of(function: FuncOp) -> ReturnOp:
    """The return of a function."""
    last = function.body.block.last_op
    assert isinstance(last, ReturnOp)
    return last


def returned_parameters(function: FuncOp, functions: Functions | None = None) -> list[int | None]:
    """For each returned value the parameter whose memory it names, None for one that names none."""
    handles = TensorHandles(function.body.block, functions)
    roots = [handles[value] for value in return_of(function).arguments]
    return [root.index if is_one(root, BlockArgument) else None for root in roots]


def directions(function: FuncOp, functions: Functions | None = None) -> list[Direction]:
    """The direction of each parameter by use: written is Out, written and read InOut, else In."""
    block = function.body.block
    handles = TensorHandles(block, functions)
    read, written = set[SSAValue](), set[SSAValue]()
    for value, root in handles.items():
        for use in value.uses:
            reads, writes = _access(use, functions or {})
            if reads:
                read.add(root)
            if writes:
                written.add(root)
    kinds = {(True, True): Direction.INOUT, (False, True): Direction.OUT}
    return [kinds.get((a in read, a in written), Direction.IN) for a in block.args]


def _access(use: Use, functions: Functions) -> tuple[bool, bool]:
    """Whether a use reads, and whether it writes."""
    op = use.operation
    if written_slot(op) == use.index:
        return False, True
    if is_one(op, (gm.DimOp, ReturnOp)) or arrives_at(use):
        return False, False
    if is_one(op, CallOp) and (callee := functions.get(op.callee.string_value())) is not None:
        direction = direction_of(callee, use.index)
        return direction is not Direction.OUT, direction is not Direction.IN
    return True, False


Writes = dict[str, frozenset[int]]
"""For each function the positions of the parameters whose memory it may write."""


def writes_of(functions: Functions) -> Writes:
    """What each function may write, itself or through what it calls.

    A write to a tensor that cannot be traced to one parameter counts as a write to all of them, and so does a call of
    a function without a body.
    """
    known: Writes = {}
    for function in functions.values():
        _writes(function, functions, known)
    return known


def _writes(function: FuncOp, functions: Functions, known: Writes) -> frozenset[int]:
    name = function.sym_name.data
    if name not in known:
        known[name] = frozenset(range(len(function.function_type.inputs)))
        if not function.is_declaration:
            known[name] = _find_writes(function, functions, known)
    return known[name]


def _find_writes(function: FuncOp, functions: Functions, known: Writes) -> frozenset[int]:
    block = function.body.block
    made = [r for op in ops_in(function) if not (op.operands or op.regions) for r in op.results]
    handles = TensorHandles(block, functions, [r for r in made if isinstance(r.type, TensorType)])
    written = set[SSAValue]()
    for op in ops_in(function):
        if is_one(op, CallOp):
            callee = functions.get(op.callee.string_value())
            positions = range(len(op.operands)) if callee is None else _writes(callee, functions, known)
            targets = [op.operands[i] for i in positions]
        else:
            targets = op.operands if has_trait(op, MemoryWriteEffect) else ()
        for target in targets:
            if isinstance(target.type, TensorType):
                root = handles[target]
                written |= set(block.args) if root is None else {root}
    return frozenset(a.index for a in block.args if a in written)
