"""One function of a core as PTO IR: its arguments, its statements, its control flow (spec/front.md 5.3, 5.4).

Only scalars go through loops and branches, and with a tile its run-time extents; tiles and tensors stay where they are.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from xdsl.dialects import func, scf
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import FunctionType, UnrealizedConversionCastOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from cubelane.analysis.equality import is_scalar_op
from cubelane.analysis.tile_lifetimes import is_view
from cubelane.emit import pto_channel, pto_memory, pto_tiles
from cubelane.emit.pto_builder import INDEX, Builder, Index
from cubelane.emit.pto_extents import dynamic_axes
from cubelane.emit.pto_state import State, Tensor, no_form, scalar_type
from cubelane.emit.pto_types import pointer
from cubelane.ir import gm
from cubelane.ir.affinity import Affinity
from cubelane.ir.kernel import FunctionKind, kind_of
from cubelane.ir.pto.attrs import KERNEL_KIND, KernelKindAttr
from cubelane.ir.surface import SurfaceOp
from cubelane.ir.tile.barriers import BarrierOp
from cubelane.ir.tile.channel import (
    FreeOp,
    ImportPeerBufferOp,
    IndexOp,
    InitializePipeOp,
    PopOp,
    PushOp,
    ReserveBufferOp,
)
from cubelane.ir.tile.making import CreateOp, FullOp
from cubelane.ir.tile.matrix import MatmulAccOp
from cubelane.ir.tile.movement import GatherRowOp, LoadOp, ReadOp, StoreOp, WriteOp
from cubelane.ir.tile.shaping import AssembleOp, ExtractOp, SetValidShapeOp, SliceOp
from cubelane.ir.types import TensorType, TileType

WORKSPACE = "__gm_pipe_buffer"
"""The parameter that holds rings in global memory; it stays a pointer."""

Rule = Callable[[State, Any], None]

RULES: tuple[tuple[type[SurfaceOp], Rule], ...] = (
    (LoadOp, pto_memory.load),
    (StoreOp, pto_memory.store),
    (GatherRowOp, pto_memory.gather_row),
    (gm.ReadOp, pto_memory.read_element),
    (gm.WriteOp, pto_memory.write_element),
    (gm.DimOp, pto_memory.extent_of_axis),
    (gm.ReshapeOp, pto_memory.nothing),
    (CreateOp, pto_tiles.only_allocates),
    (FullOp, pto_tiles.full),
    (MatmulAccOp, pto_tiles.accumulates),
    (SliceOp, pto_tiles.window),
    (ExtractOp, pto_tiles.extract),
    (AssembleOp, pto_tiles.assemble),
    (SetValidShapeOp, pto_tiles.sets_extents),
    (ReadOp, pto_tiles.reads_cell),
    (WriteOp, pto_tiles.writes_cell),
    (PushOp, pto_channel.push),
    (PopOp, pto_channel.pop),
    (FreeOp, pto_channel.free),
    (ReserveBufferOp, pto_channel.reserve),
    (ImportPeerBufferOp, pto_channel.imports),
    (InitializePipeOp, pto_channel.initialize),
    (IndexOp, pto_channel.where),
    (BarrierOp, pto_channel.barrier),
)
"""The ops with a form of their own; the first class that fits counts."""


def rule_of(op: SurfaceOp) -> Rule:
    """How an op is written."""
    for kind, rule in RULES:
        if isinstance(op, kind):
            return rule
    return pto_tiles.shows if is_view(op) else pto_tiles.computes


class FunctionConversion:
    """One function on its way."""

    def __init__(self, function: FuncOp):
        self.function = function
        self.body = Block()
        self.builder = Builder(self.body)
        arguments = function.body.block.args
        self.tensors = [a for a in arguments if isinstance(a.type, TensorType)]
        self.plain = [a for a in arguments if not isinstance(a.type, TensorType)]
        names = (d for t in self.tensors if isinstance(t.type, TensorType) for d in t.type.shape if isinstance(d, str))
        self.symbols = list(dict.fromkeys(names))
        self.state = State(function, self.builder, {})
        self.statements: dict[type[Operation], Callable[[Any], None]] = {
            scf.ForOp: self._for,
            scf.IfOp: self._if,
            scf.WhileOp: self._while,
            func.ReturnOp: self._return,
        }

    def convert(self) -> FuncOp:
        """The function in PTO IR."""
        self._arguments()
        self._reserve_constants()
        self._block(self.function.body.block)
        self.builder.finish(self.body)
        kinds = {FunctionKind.AIC: Affinity.CUBE, FunctionKind.AIV: Affinity.VECTOR}
        core = kinds.get(kind_of(self.function))
        types = FunctionType.from_lists([a.type for a in self.body.args], [])
        made = FuncOp(self.function.sym_name.data, types, Region(self.body))
        if core is not None:
            made.attributes[KERNEL_KIND] = KernelKindAttr.of(core)
        made.location = self.function.location
        return made

    def _arguments(self) -> None:
        """Tensors first, then scalars, then run-time extents, then what only the machine passes."""
        state = self.state
        for tensor in self.tensors:
            assert isinstance(tensor.type, TensorType)
            self._argument(pointer(tensor.type.dtype))
        for scalar in self.plain:
            if isinstance(scalar.type, TileType):
                raise no_form(self.function, f"the parameter `{scalar.name_hint}`, a tile,")
            state.scalars[scalar] = self._argument(scalar_type(scalar.type))
        for symbol in self.symbols:
            state.symbols[symbol] = self._argument(INDEX)
        spellings = {op.SPELLING for op in self.function.walk() if isinstance(op, IndexOp)}
        hidden = {name: None for word, names in pto_channel.HIDDEN.items() if word in spellings for name in names}
        made = {name: self._argument(pto_channel.HIDDEN_TYPE, name) for name in hidden}
        state.hidden = {w: made[n] for w, n in pto_channel.HIDDEN_OF.items() if n in made}
        for tensor, argument in zip(self.tensors, self.body.args, strict=False):
            assert isinstance(tensor.type, TensorType)
            if tensor.name_hint == WORKSPACE:
                state.workspace = argument
            dims = state.dims(tensor.type, self.function)
            state.tensors[tensor] = Tensor(argument, tensor.type, dims, tensor.name_hint or "t")

    def _argument(self, type_: Attribute, name: str | None = None) -> SSAValue:
        index = len(self.body.args)
        argument = self.body.insert_arg(type_, index)
        argument.name_hint = name or f"arg{index}"
        return argument

    def _reserve_constants(self) -> None:
        """Addresses of tiles come first among the constants, then shapes and strides of the tensors."""
        from_types = [r.type for op in self.function.walk() for r in op.results if isinstance(r.type, TileType)]
        for kind in from_types:
            if kind.address is not None:
                self.builder.constant(kind.address, i64)
        for tensor in self.state.tensors.values():
            if tensor.pointer is not self.state.workspace:
                for extent in (*tensor.dims, *self._known_strides(tensor)):
                    if isinstance(extent, int):
                        self.builder.constant(extent)

    def _known_strides(self, tensor: Tensor) -> Sequence[int | SSAValue]:
        known = all(isinstance(d, int) for d in tensor.dims)
        return self.state.strides(tensor) if known else (1,)

    # --- statements ------------------------------------------------------------------------------------------

    def _block(self, block: Block) -> None:
        for op in block.ops:
            self.builder.location = op.location
            if (write := self.statements.get(type(op))) is not None:
                write(op)
            elif isinstance(op, SurfaceOp):
                rule_of(op)(self.state, op)
            elif not isinstance(op, scf.YieldOp | scf.ConditionOp | ConstantOp):
                self._scalar(op)

    def _scalar(self, op: Operation) -> None:
        """Scalar arithmetic is the same in both; only its operands have new names."""
        if not is_scalar_op(op) and not isinstance(op, UnrealizedConversionCastOp):
            raise no_form(op, f"`{op.name}`")
        copy = op.clone({operand: self.state.scalar(operand) for operand in op.operands})
        self.builder.add(copy)
        for old, new in zip(op.results, copy.results, strict=True):
            new.name_hint = old.name_hint
            self.state.scalars[old] = new

    def _return(self, op: func.ReturnOp) -> None:
        self.builder.add(func.ReturnOp())

    # --- control flow ----------------------------------------------------------------------------------------

    def _carried(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """What goes over an edge for `values`."""
        out: list[SSAValue] = []
        for value in values:
            if isinstance(value.type, TileType):
                extents = self.state.extents[value]
                out += [self.builder.value(extents[axis]) for axis in dynamic_axes(value.type)]
            elif not isinstance(value.type, TensorType):
                out.append(self.state.scalar(value))
        return out

    def _arrive(self, values: Sequence[SSAValue], new: Sequence[SSAValue], sources: Sequence[SSAValue] | None) -> None:
        """Gives `values` what arrived for them in `new`, in the order of `_carried`.

        `sources` are tiles in the same buffers whose handles are visible here; without them each tile gets its own.
        """
        arrived = iter(new)
        for place, value in enumerate(values):
            if isinstance(value.type, TileType):
                extents = list[Index](value.type.valid)
                for axis in dynamic_axes(value.type):
                    extents[axis] = next(arrived)
                self.state.extents.state(value, extents)
                if sources is None:
                    self.state.allocate(value, self.function)
                else:
                    self.state.bind(value, sources[place], self.function)
            elif not isinstance(value.type, TensorType):
                self.state.scalars[value] = scalar = next(arrived)
                scalar.name_hint = value.name_hint

    def _for(self, op: scf.ForOp) -> None:
        lower, upper, step = (self.state.scalar(v) for v in (op.lb, op.ub, op.step))
        inits = self._carried(op.iter_args)
        block = Block(arg_types=[lower.type, *(v.type for v in inits)])
        index, *carried = op.body.block.args
        block.args[0].name_hint = index.name_hint
        self.state.scalars[index] = block.args[0]
        with self._into(block):
            self._arrive(carried, block.args[1:], op.iter_args)
            self._converted(op.body.block)
        loop = scf.ForOp(lower, upper, step, inits, Region(block))
        self.builder.add(loop)
        self._arrive(op.results, loop.results, op.iter_args)

    def _if(self, op: scf.IfOp) -> None:
        condition = self.state.scalar(op.cond)
        arms: list[Block] = []
        for region in op.regions:
            arm = Block()
            arms.append(arm)
            with self._into(arm):
                if region.blocks:
                    self._converted(region.block)
                else:
                    self.builder.add(scf.YieldOp())
        end = arms[0].last_op
        types = [] if end is None else [v.type for v in end.operands]
        made = scf.IfOp(condition, types, Region(arms[0]), Region(arms[1]))
        self.builder.add(made)
        self._arrive(op.results, made.results, None)

    def _while(self, op: scf.WhileOp) -> None:
        before, after = op.before_region.block, op.after_region.block
        condition = before.last_op
        assert isinstance(condition, scf.ConditionOp)
        inits = self._carried(op.arguments)
        first = Block(arg_types=[v.type for v in inits])
        with self._into(first):
            self._arrive(before.args, first.args, op.arguments)
            self._block(before)
            forwarded = self._carried(condition.args)
            self.builder.add(scf.ConditionOp(self.state.scalar(condition.condition), *forwarded))
        types = [v.type for v in forwarded]
        second = Block(arg_types=types)
        with self._into(second):
            self._arrive(after.args, second.args, None)
            self._converted(after)
        loop = scf.WhileOp(inits, types, Region(first), Region(second))
        self.builder.add(loop)
        self._arrive(op.results, loop.results, None)

    def _converted(self, block: Block) -> None:
        """The statements of a block that ends in a yield, and the yield."""
        self._block(block)
        end = block.last_op
        values = end.operands if isinstance(end, scf.YieldOp) else ()
        self.builder.add(scf.YieldOp(*self._carried(values)))

    @contextmanager
    def _into(self, block: Block) -> Generator[None]:
        """Puts what is added meanwhile into another block."""
        around, location = self.builder.block, self.builder.location
        self.builder.block = block
        yield
        self.builder.block, self.builder.location = around, location
