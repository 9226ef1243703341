"""The oracle: a program as it was before any pass, run full width by one agent, straight from the IR.

It reads the `Meaning` of every op with words of its own (`reference_words.py`), computes floats in float64 and rounds
every result to its element type. Where a program states itself what each lane does (a split region with boundary
ops or of mode NONE, or a function that was lowered for two lanes), values may differ between the lanes: such a value
is a pair, and ops on pairs run once for each lane.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import MemoryWriteEffect

from cubelane.check.arrays import arguments_of, parameter_names, written_parameters
from cubelane.check.compare import compare_array
from cubelane.check.reference_ops import Evaluator, Values, behaviour_of
from cubelane.check.reference_scalars import is_scalar_op, scalar
from cubelane.check.reference_values import Cells, Lanes, Memory, Put, Undefined, joined_halves, lane_part, one_for_all
from cubelane.ir.affinity import Affinity
from cubelane.ir.calls import KernelCallOp
from cubelane.ir.diagnostic import Diagnostic, refuse
from cubelane.ir.kernel import SPLIT_AIV, FunctionKind, ScopeOp, SplitRegionOp, flag, functions_of, kind_of
from cubelane.ir.surface import SurfaceOp, python_value
from cubelane.ir.tile.channel import SubblockIdxOp
from cubelane.ir.traits import CoreAffinity, Split
from cubelane.ir.types import SplitMode, TensorType, TileType


def run_reference(module: ModuleOp, inputs: Mapping[str, Any], entry: str | None = None) -> dict[str, Any]:
    """Runs the program as written; every Out and InOut parameter by name. `inputs` are not changed.

    Raises a Diagnostic at the place where the program does something that has no meaning: reads outside a tensor,
    stores undefined cells, uses a value that differs between the lanes where there is one agent.
    """
    first = Reference(module, Undefined())
    outputs = first.run(inputs, entry)
    if first.undefined.used:
        again = Reference(module, Undefined(29.0, 53)).run(inputs, entry)
        for name, array in outputs.items():
            other = again[name]
            changed = (array != other) & ~((array != array) & (other != other))
            if changed.any():
                place = [int(i) for i in np.argwhere(changed)[0]]
                raise Diagnostic(
                    f"the kernel as written stores an undefined cell: {name}{place}",
                    notes=(f"{int(changed.sum())} elements of {name} depend on cells outside a valid extent",),
                    code="poison",
                )
    return outputs


def rounding_noise(module: ModuleOp, inputs: Mapping[str, Any], expected: Mapping[str, Any]) -> dict[str, float]:
    """How far rounding alone moves every output: the program as written in float32 against `expected`, its float64.

    The largest difference of an output, in its own unit; infinite where one of the two is no number.
    """
    narrow = Reference(module, Undefined(), np.float32).run(inputs, None)
    return {name: compare_array(name, narrow[name], want).max_error for name, want in expected.items()}


def reference_entry(module: ModuleOp, entry: str | None = None) -> FuncOp:
    """The function a program starts with: the last one that no other calls, orchestration before kernels."""
    functions = [f for f in functions_of(module) if not f.is_declaration]
    if entry is not None:
        functions = [f for f in functions if f.sym_name.data == entry]
    called = {op.callee.string_value() for op in module.walk() if isinstance(op, func.CallOp)}
    roots = [f for f in functions if f.sym_name.data not in called] or functions
    if not roots:
        raise Diagnostic("the program has no function to start with", code="no-entry")
    host = [f for f in roots if not kind_of(f).in_core]
    return (host or roots)[-1]


@dataclass(frozen=True)
class _Where:
    """What runs at present: the lanes that are active (None: one agent), and whether it is inside a kernel."""

    lanes: tuple[int, ...] | None = None
    in_kernel: bool = False


class Reference:
    """One run of one program."""

    def __init__(self, module: ModuleOp, undefined: Undefined, working: Any = np.float64):
        self.functions = {f.sym_name.data: f for f in functions_of(module)}
        self.module, self.undefined = module, undefined
        self.where = _Where()
        self.evaluator = Evaluator(undefined, working)
        self.structured: dict[type[Operation], Callable[[Any, Values], None]] = {
            scf.ForOp: self._for,
            scf.WhileOp: self._while,
            scf.IfOp: self._if,
            KernelCallOp: self._call,
            ScopeOp: self._scope,
            SplitRegionOp: self._region,
        }

    def run(self, inputs: Mapping[str, Any], entry: str | None) -> dict[str, Any]:
        """Runs the entry; its written parameters."""
        function = reference_entry(self.module, entry)
        arguments = arguments_of(function, dict(inputs))
        values = [Memory(a) if isinstance(a, np.ndarray) else a for a in arguments.values()]
        for i, argument in enumerate(function.body.block.args):
            if isinstance(argument.type, TileType):
                values[i] = Cells(values[i].data, argument.type.shape)
        with np.errstate(all="ignore"):
            self.function(function, values)
        names = dict(zip(parameter_names(function), arguments.values(), strict=True))
        return {name: names[name] for name in written_parameters(function)}

    def function(self, function: FuncOp, arguments: Sequence[Any]) -> list[Any]:
        """Calls a function; what it returns."""
        if function.is_declaration:
            raise refuse(function, f"{function.sym_name.data} has no body to run", code="not-executable")
        outer = self.where
        if kind_of(function).in_core:
            regions = any(isinstance(op, SplitRegionOp) for op in function.walk())
            lanes = (0, 1) if flag(function, SPLIT_AIV) and not regions else None
            self.where = _Where(lanes, True)
        values: Values = dict(zip(function.body.block.args, arguments, strict=True))
        results = self._block(function.body.block, values)
        self.where = outer
        return [one_for_all(r) for r in results]

    # --- control ---------------------------------------------------------------------------------------------

    def _block(self, block: Block, values: Values) -> list[Any]:
        """Runs the ops of a block; the operands of its terminator."""
        for op in block.ops:
            if op is block.last_op and (not op.results and op.name in _TERMINATORS):
                return [self._get(o, values) for o in op.operands]
            self._op(op, values)
        return []

    def _get(self, value: SSAValue, values: Values) -> Any:
        """A value as the active lanes see it."""
        return self._mine(values[value])

    def _mine(self, value: Any) -> Any:
        """The part of a value that belongs to the active lanes."""
        lanes = self.where.lanes
        if isinstance(value, Lanes) and lanes is not None and len(lanes) == 1:
            return value[lanes[0]]
        return value

    def _op(self, op: Operation, values: Values) -> None:
        if (run := self.structured.get(type(op))) is not None:
            run(op, values)
            return
        operands = [self._get(o, values) for o in op.operands]
        if is_scalar_op(op):
            values[op.results[0]] = self._scalar(op, operands)
            return
        if not isinstance(op, SurfaceOp):
            raise refuse(op, f"{op.name} has no reference meaning", code="not-executable")
        try:
            result = self._surface(op, dict(zip(op.operands, operands, strict=True)))
        except Diagnostic:
            raise
        except Exception as problem:
            raise refuse(op, f"{op.name}: {problem}", code="execution") from problem
        if op.results:
            values[op.results[0]] = result

    @staticmethod
    def _scalar(op: Operation, operands: Sequence[Any]) -> Any:
        try:
            return _each(lambda *a: scalar(op, list(a)), operands)
        except ZeroDivisionError:
            raise refuse(op, "the kernel as written divides an integer by zero", code="scalar") from None
        except ValueError as problem:
            raise refuse(op, f"the kernel as written computes no number here: {problem}", code="scalar") from None

    def _lane_by_lane(self, run: Callable[[], list[Any]]) -> list[Any]:
        """Runs something whose course differs between the lanes once for each of them."""
        outer, results = self.where, list[list[Any]]()
        for lane in outer.lanes or (0,):
            self.where = _Where((lane,), outer.in_kernel)
            results.append(run())
        self.where = outer
        pairs = zip(*results, strict=True)
        return [one_for_all(Lanes(*pair)) if len(pair) == 2 else pair[0] for pair in pairs]

    def _diverges(self, steering: Sequence[Any], op: Operation) -> bool:
        if not any(isinstance(s, Lanes) for s in steering):
            return False
        if self.where.lanes is None:
            raise refuse(op, "the lanes disagree on the way to go, but one agent runs here", code="lane-value")
        return True

    def _for(self, op: scf.ForOp, values: Values) -> None:
        bounds = [self._get(v, values) for v in (op.lb, op.ub, op.step)]
        if self._diverges(bounds, op):
            results = self._lane_by_lane(lambda: self._loop(op, values))
        else:
            results = self._loop(op, values)
        values.update(zip(op.results, results, strict=True))

    def _loop(self, op: scf.ForOp, values: Values) -> list[Any]:
        start, stop, step = (self._get(v, values) for v in (op.lb, op.ub, op.step))
        if step <= 0:
            raise refuse(
                op,
                f"the step of this loop is {step}",
                "a step that is known at run time only counts up; one that counts down is a constant",
                code="loop-step",
            )
        index, *carried = op.body.block.args
        current = [self._get(v, values) for v in op.iter_args]
        for i in range(start, stop, step):
            values[index] = i
            values.update(zip(carried, current, strict=True))
            current = self._block(op.body.block, values)
        return current

    def _while(self, op: scf.WhileOp, values: Values) -> None:
        results = self._turns(op, values, [self._get(v, values) for v in op.arguments])
        values.update(zip(op.results, results, strict=True))

    def _turns(self, op: scf.WhileOp, values: Values, current: list[Any]) -> list[Any]:
        """The lanes turn together as long as they agree on going on, from there each by itself."""
        before, after = op.before_region.block, op.after_region.block
        while True:
            values.update(zip(before.args, current, strict=True))
            go, *forwarded = self._block(before, values)
            if self._diverges([go := one_for_all(go)], op):
                return self._each_on(op, values, current)
            if not go:
                return forwarded
            values.update(zip(after.args, forwarded, strict=True))
            current = self._block(after, values)

    def _each_on(self, op: scf.WhileOp, values: Values, current: list[Any]) -> list[Any]:
        """Each lane turns on by itself from the values of a turn."""
        return self._lane_by_lane(lambda: self._turns(op, values, [self._mine(v) for v in current]))

    def _if(self, op: scf.IfOp, values: Values) -> None:
        if self._diverges([self._get(op.cond, values)], op):
            results = self._lane_by_lane(lambda: self._branch(op, values))
        else:
            results = self._branch(op, values)
        values.update(zip(op.results, results, strict=True))

    def _branch(self, op: scf.IfOp, values: Values) -> list[Any]:
        region = op.true_region if self._get(op.cond, values) else op.false_region
        return self._block(region.block, values) if region.blocks else []

    def _call(self, op: func.CallOp, values: Values) -> None:
        function = self.functions[op.callee.string_value()]
        if kind_of(function) in (FunctionKind.AIC, FunctionKind.AIV, FunctionKind.GROUP):
            raise refuse(op, "programs of single cores run on the core group, not here", code="not-executable")
        arguments = [self._get(o, values) for o in op.operands]
        arguments = [
            a.as_memory() if isinstance(a, Cells) and isinstance(o.type, TensorType) else a
            for a, o in zip(arguments, op.operands, strict=True)
        ]
        values.update(zip(op.results, self.function(function, arguments), strict=True))

    def _scope(self, op: ScopeOp, values: Values) -> None:
        outer, self.where = self.where, _Where(self.where.lanes, True)
        results = self._block(op.body.block, values)
        self.where = outer
        values.update(zip(op.results, results, strict=True))

    def _region(self, op: SplitRegionOp, values: Values) -> None:
        outer = self.where
        explicit = op.mode.mode is SplitMode.NONE or any(
            isinstance(o, SurfaceOp) and behaviour_of(o).behaviour is Split.BOUNDARY for o in op.walk()
        )
        self.where = _Where((0, 1) if explicit else None, True)
        results = self._block(op.body.block, values)
        self.where = outer
        values.update(zip(op.results, [one_for_all(r) for r in results], strict=True))

    # --- ops -------------------------------------------------------------------------------------------------

    def _surface(self, op: SurfaceOp, operands: Values) -> Any:
        lanes = self.where.lanes
        behaviour = behaviour_of(op).behaviour
        self.evaluator.in_kernel = self.where.in_kernel
        if isinstance(op, SubblockIdxOp):
            return 0 if lanes is None else (lanes[0] if len(lanes) == 1 else Lanes(0, 1))
        if behaviour is Split.BOUNDARY:
            return self._boundary(op, operands)
        if behaviour is Split.CHANNEL:
            raise refuse(op, "a ring has no meaning full width; give a golden", code="not-executable")
        affinity = op.get_trait(CoreAffinity)
        side = affinity.of(op) if affinity else Affinity.SHARED
        differs = any(isinstance(v, Lanes) for v in operands.values())
        if differs and lanes is None:
            raise refuse(op, f"{op.name} uses a value that differs between the lanes", code="lane-value")
        if differs and side is Affinity.CUBE:
            raise refuse(op, f"{op.name} runs on the cube core but an operand differs by lane", code="lane-value")
        twice = lanes == (0, 1) and side is Affinity.VECTOR and op.has_trait(MemoryWriteEffect)
        if not differs and not twice:
            return self.evaluator.run(op, operands)
        results, puts = zip(*(self._on_lane(op, operands, lane) for lane in lanes or ()), strict=True)
        if len(puts) == 2 and any(a.contradicts(b) for a in puts[0] for b in puts[1]):
            raise refuse(
                op,
                "the two lanes write different values to the same elements",
                "which of them stays is chance: the lanes run at the same time",
                instead="an offset that tells the lanes apart, or the write on one lane only: if lane == 0",
                code="lane-race",
            )
        first = results[0]
        return first if isinstance(first, Memory) else Lanes(*results)

    def _on_lane(self, op: SurfaceOp, operands: Values, lane: int) -> tuple[Any, list[Put]]:
        """An op on one lane: its result, and what it wrote to memory."""
        mine = {k: v[lane] if isinstance(v, Lanes) else v for k, v in operands.items()}
        puts = self.evaluator.puts = []
        result = self.evaluator.run(op, mine)
        self.evaluator.puts = None
        return result, puts

    def _boundary(self, op: SurfaceOp, operands: Values) -> Any:
        split = int(python_value(op.properties["split"]) or 0)
        stride = python_value(op.properties.get("lane_stride"))
        tile = operands[op.operands[0]]
        if "shard" in op.name:
            if isinstance(tile, Lanes):
                raise refuse(op, "shares out a value that differs between the lanes already", code="lane-value")
            parts = [lane_part(tile, split, stride, lane, self.undefined) for lane in (0, 1)]
            active = self.where.lanes or (0, 1)
            return parts[active[0]] if len(active) == 1 else Lanes(*parts)
        both = tile if isinstance(tile, Lanes) else Lanes(tile, tile)
        return joined_halves(both, split)


_TERMINATORS = ("scf.yield", "scf.condition", "kernel.yield", "func.return")


def _each(function: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """A scalar function, once for each lane where an operand differs."""
    if not any(isinstance(o, Lanes) for o in operands):
        return function(*operands)
    parts = [function(*[o[lane] if isinstance(o, Lanes) else o for o in operands]) for lane in (0, 1)]
    return Lanes(*parts)
