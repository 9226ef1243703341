"""A function of PTO IR as Python over the memories of a core: the way back from the text to something that runs.

Nothing is taken from the tile-level program but the order in which its caller passes arguments. What an op computes is
the `Meaning` of the tile op of the same spelling, over the cells that its handles name (`sim/tile_memory.py`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from cubelane.emit.numpy_program import EmittedFunction, Line
from cubelane.emit.numpy_scalar import scalar_text
from cubelane.emit.numpy_text import Names, dtype_text, tuple_text
from cubelane.emit.numpy_tile import TileText
from cubelane.emit.pto_inverse import as_tile_op, element_of, layout_fields, stands_in, tile_type
from cubelane.ir.affinity import Affinity
from cubelane.ir.diagnostic import Location, refuse
from cubelane.ir.kernel import FunctionKind
from cubelane.ir.pto.assembly import INS, KEYS
from cubelane.ir.pto.attrs import AddressSpaceAttr, LayoutAttr, kind_of
from cubelane.ir.pto.clauses import clause_entries
from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.types import TileFields, View
from cubelane.ir.surface import constant_of, python_value
from cubelane.ir.types import TileType
from cubelane.targets import Target

CODE = "pto-reading"
MACHINE = ("TileMemory", "TileSpec", "Window", "place", "view")
"""What an emitted program asks for besides the words of its core: names of `sim/tile_memory.py`."""
WORDS = {
    "__pypto_spmd_subblock_idx": "lane()",
    "__pypto_spmd_block_idx": "block()",
    "__pypto_spmd_block_num": "blocks()",
}
"""Hidden arguments, and what the machine passes for them."""


@dataclass(frozen=True)
class Signature:
    """How a caller passes arguments: their names, and for every argument of the PTO function where it comes from.

    A source is the position of an argument, or the position and the axis of a tensor whose extent it is. `returns`
    are the positions of the arguments that the function hands back.
    """

    names: tuple[str, ...]
    sources: tuple[int | tuple[int, int], ...]
    returns: tuple[int, ...]


class Reader:
    """Writes the Python of one function."""

    def __init__(self, function: FuncOp, target: Target, signature: Signature):
        self.function, self.target, self.signature = function, target, signature
        self.names = Names()
        self.names.taken |= {"m", *MACHINE}
        self.text: dict[SSAValue, str] = {}
        self.specs: dict[str, str] = {}
        self.out: list[str] = []
        self.lines: list[Line] = []
        self.depth = 0
        self.blocks = False
        self.host: list[str] = []
        self.rules: dict[str, Callable[[Any], None]] = {
            "scf.for": self._for,
            "scf.if": self._if,
            "scf.while": self._while,
            "scf.yield": self._nothing,
            "scf.condition": self._nothing,
            "func.return": self._return,
            "arith.index_cast": self._same,
            "builtin.unrealized_conversion_cast": self._same,
            "pto.alloc_tile": self._alloc,
            "pto.make_tensor_view": self._view,
            "pto.partition_view": self._partition,
            "pto.tload": self._load,
            "pto.tstore": self._store,
            "pto.tmov": self._move,
            "pto.textract": self._extract,
            "pto.subview": self._subview,
            "pto.treshape": self._reshape,
            "pto.set_validshape": self._set_valid,
            "pto.texpands": self._expand,
            "pto.ttrans": self._transpose,
            "pto.tgetval": self._get,
            "pto.tsetval": self._set,
            "pto.load_scalar": self._load_scalar,
            "pto.store_scalar": self._store_scalar,
            "pto.addptr": self._same,
            "pto.reserve_buffer": self._reserve,
            "pto.import_reserved_buffer": self._import,
            "pto.barrier": self._nothing,
            "pto.fence.barrier_all": self._nothing,
        }

    def read(self) -> EmittedFunction:
        """The function as Python."""
        name = self.function.sym_name.data
        self.host = [self.names.fresh(n) for n in self.signature.names]
        self._line(f"def {name}({', '.join(self.host)}):", self.function)
        self._arguments()
        sizes = ", ".join(f"{space.value!r}: {size}" for space, size in self.target.capacity.items())
        self.depth = 1
        self._line(f"m = TileMemory(poison, {{{sizes}}})", self.function)
        self._statements(self.function.body.block)
        self._specs()
        core = kind_of(self.function.attributes)
        kind = FunctionKind.AIC if core is Affinity.CUBE else FunctionKind.AIV
        text = "\n".join(self.out) + "\n"
        return EmittedFunction(name, kind, text, self.lines, self.signature.names, self.blocks)

    def _arguments(self) -> None:
        visible = self.function.body.block.args
        for argument, source in zip(visible, self.signature.sources, strict=False):
            if isinstance(source, tuple):
                self.text[argument] = f"{self.host[source[0]]}.shape[{source[1]}]"
            else:
                self.text[argument] = self.host[source]
        for argument in visible[len(self.signature.sources) :]:
            word = WORDS.get(argument.name_hint or "")
            if word is None:
                raise refuse(self.function, f"nobody passes the argument {argument.name_hint}", code=CODE)
            self.text[argument] = word

    def _specs(self) -> None:
        """The layouts of tiles, once each, at the top of the function."""
        lines = [f"    {name} = {text}" for text, name in self.specs.items()]
        self.out[1:1] = lines
        self.lines[1:1] = [Line() for _ in lines]

    # --- lines -----------------------------------------------------------------------------------------------

    def _line(self, text: str, op: Operation, variable: str | None = None) -> None:
        self.out.append("    " * self.depth + text)
        self.lines.append(Line(Location.of(op), op.name, variable, op))

    def _define(self, value: SSAValue, expression: str, op: Operation) -> str:
        self.text[value] = name = self.names.of(value)
        self._line(f"{name} = {expression}", op, value.name_hint)
        return name

    def _values(self, values: Sequence[SSAValue]) -> str:
        return tuple_text([self.text[v] for v in values])

    def _statements(self, block: Block) -> None:
        before = len(self.out)
        for op in block.ops:
            self._statement(op)
        if len(self.out) == before:
            self._line("pass", self.function)

    def _statement(self, op: Operation) -> None:
        rule = self.rules.get(op.name)
        if rule is not None:
            rule(op)
        elif isinstance(op, PtoOp):
            channel = next((r for word, r in self._channel_rules() if op.name.startswith(word)), None)
            (channel or self._compute)(op)
        else:
            expression = scalar_text(op, [self.text[o] for o in op.operands])
            if expression is None:
                raise refuse(op, f"{op.name} is not read", code=CODE)
            if op.name == "arith.constant":
                self.text[op.results[0]] = expression
            else:
                self._define(op.results[0], expression, op)

    def _channel_rules(self) -> tuple[tuple[str, Callable[[Any], None]], ...]:
        return (
            ("pto.tpush_to", self._push),
            ("pto.tpop_from", self._pop),
            ("pto.tfree_from", self._free),
            ("pto.aic_initialize_pipe", self._open),
            ("pto.aiv_initialize_pipe", self._open),
        )

    def _nothing(self, op: Operation) -> None:
        """Says nothing when it runs."""

    def _same(self, op: Operation) -> None:
        self.text[op.results[0]] = self.text[op.operands[0]]

    def _return(self, op: Operation) -> None:
        self._line(f"return {', '.join(self.host[i] for i in self.signature.returns)}".rstrip(), op)

    # --- control flow ----------------------------------------------------------------------------------------

    def _assign(self, targets: Sequence[SSAValue], sources: Sequence[SSAValue], op: Operation) -> None:
        if targets:
            left, right = (", ".join(self.text[v] for v in side) for side in (targets, sources))
            self._line(f"{left} = {right}", op)

    def _name(self, values: Sequence[SSAValue]) -> None:
        for value in values:
            self.text[value] = self.names.of(value)

    def _for(self, op: scf.ForOp) -> None:
        index, *carried = op.body.block.args
        self._name([index, *carried])
        self._assign(carried, op.iter_args, op)
        lower, upper, step = (self.text[v] for v in (op.lb, op.ub, op.step))
        step = step if (constant_of(op.step) or 0) > 0 else f"rising({step})"
        self._line(f"for {self.text[index]} in range({lower}, {upper}, {step}):", op)
        self.depth += 1
        self._statements(op.body.block)
        self._assign(carried, _passed(op.body.block), op)
        self.depth -= 1
        for result, value in zip(op.results, carried, strict=True):
            self.text[result] = self.text[value]

    def _if(self, op: scf.IfOp) -> None:
        self._name(op.results)
        for word, region in ((f"if {self.text[op.cond]}:", op.true_region), ("else:", op.false_region)):
            if region.blocks:
                self._line(word, op)
                self.depth += 1
                self._statements(region.block)
                self._assign(op.results, _passed(region.block), op)
                self.depth -= 1

    def _while(self, op: scf.WhileOp) -> None:
        before, after = op.before_region.block, op.after_region.block
        condition = before.last_op
        assert isinstance(condition, scf.ConditionOp)
        self._name(before.args)
        self._assign(before.args, op.arguments, op)
        self._name(after.args)
        self._line("while True:", op)
        self.depth += 1
        self._statements(before)
        self._assign(after.args, condition.args, condition)
        self._line(f"if not {self.text[condition.condition]}: break", op)
        self._statements(after)
        self._assign(before.args, _passed(after), op)
        self.depth -= 1
        for result, value in zip(op.results, after.args, strict=True):
            self.text[result] = self.text[value]

    # --- handles and views -----------------------------------------------------------------------------------

    def _spec(self, kind: Attribute) -> str:
        """The name of a layout."""
        assert isinstance(kind, TileFields)
        fields = layout_fields(kind)
        rows, columns = (extent.data for extent in kind.dims)
        words = (
            f"{dtype_text(element_of(kind.element))}, {fields['blayout']!r}, {fields['slayout']!r}, {fields['fractal']}"
        )
        text = f"TileSpec({rows}, {columns}, {words})"
        if text not in self.specs:
            self.specs[text] = self.names.fresh("spec")
        return self.specs[text]

    def _alloc(self, op: PtoOp) -> None:
        kind = op.results[0].type
        assert isinstance(kind, TileFields)
        clauses = {entry[0]: op.clause_operands(entry[0])[0][0] for entry in clause_entries(op)}
        address = self.text[clauses["addr"]]
        valid = tuple_text([self.text[clauses[name]] for name in ("valid_row", "valid_col")])
        space = _space(kind)
        self._define(op.results[0], f"m.tile({space!r}, {address}, {self._spec(kind)}, {valid})", op)

    def _view(self, op: PtoOp) -> None:
        layout = op.attributes["layout"]
        assert isinstance(layout, LayoutAttr)
        shape, strides = (self._values(op.clause_operands(name)[0]) for name in ("shape", "strides"))
        tensor = self.text[op.operands[0]]
        self._define(op.results[0], f"view({tensor}, {shape}, {strides}, {layout.word.data!r})", op)

    def _partition(self, op: PtoOp) -> None:
        offsets, sizes = (op.clause_operands(name)[0] for name in ("offsets", "sizes"))
        kind = op.results[0].type
        assert isinstance(kind, View)
        shown = [
            self.text[s] if e.data == DYNAMIC_INDEX else str(e.data) for s, e in zip(sizes, kind.dims, strict=True)
        ]
        if shown != [self.text[s] for s in sizes]:
            raise refuse(op, "the sizes of a window are not those of its type", code=CODE)
        self._define(
            op.results[0], f"Window({self.text[op.operands[0]]}, {self._values(offsets)}, {tuple_text(shown)})", op
        )

    def _subview(self, op: PtoOp) -> None:
        kind = op.results[0].type
        assert isinstance(kind, TileFields)
        sizes = tuple_text(op.clause_args("sizes")[0])
        stated = op.clause_operands("valid")
        valid = self._values(stated[0]) if stated else "None"
        at = self._values(op.operands[1:3])
        self._define(op.results[0], f"{self.text[op.operands[0]]}.window({at}, {sizes}, {valid})", op)

    def _reshape(self, op: PtoOp) -> None:
        kind = op.results[0].type
        assert isinstance(kind, TileFields)
        known = [e.data for e in kind.valid]
        valid = "None" if DYNAMIC_INDEX in known else tuple_text(known)
        self._define(op.results[0], f"{self.text[op.operands[0]]}.seen_as({self._spec(kind)}, {valid})", op)

    def _set_valid(self, op: PtoOp) -> None:
        self._line(f"{self.text[op.operands[0]]}.valid = {self._values(op.operands[1:3])}", op)

    # --- work ------------------------------------------------------------------------------------------------

    def _inputs(self, op: PtoOp) -> tuple[list[SSAValue], list[SSAValue]]:
        stored = op.properties[INS]
        assert isinstance(stored, StringAttr)
        return list(op.operands[: int(stored.data)]), list(op.operands[int(stored.data) :])

    def _load(self, op: PtoOp) -> None:
        (source,), (target,) = self._inputs(op)
        w, t = self.text[source], self.text[target]
        self._line(f"if 0 not in {w}.sizes: {t}.fill(window({w}.tensor, {w}.offsets, {w}.sizes, None), {w}.sizes)", op)

    def _store(self, op: PtoOp) -> None:
        (source,), (target,) = self._inputs(op)
        w, t = self.text[target], self.text[source]
        atomic = 1 if "atomicType" in op.attributes else None
        self._line(f"put({w}.tensor, {w}.offsets, {t}.part({w}.sizes), (), {atomic})", op)

    def _move(self, op: PtoOp) -> None:
        (source,), (target,) = self._inputs(op)
        self._line(f"{self.text[target]}.put({self.text[source]}.get())", op)

    def _extract(self, op: PtoOp) -> None:
        (source, row, column), (target,) = self._inputs(op)
        kind = target.type
        assert isinstance(kind, TileFields)
        sizes = tuple_text([extent.data for extent in kind.dims])
        part = f"{self.text[source]}.window({self._values([row, column])}, {sizes}, None)"
        self._line(f"{self.text[target]}.put({part}.get())", op)

    def _expand(self, op: PtoOp) -> None:
        (scalar,), (target,) = self._inputs(op)
        kind = target.type
        assert isinstance(kind, TileFields)
        number = f"np.asarray({self.text[scalar]}).astype({dtype_text(element_of(kind.element))})"
        self._line(f"{self.text[target]}.put({number})", op)

    def _transpose(self, op: PtoOp) -> None:
        (source, *_), (target,) = self._inputs(op)
        self._line(f"{self.text[target]}.put({self.text[source]}.get().T)", op)

    def _get(self, op: PtoOp) -> None:
        tile, at = op.operands
        self._define(op.results[0], f"{self.text[tile]}.flat({self.text[at]})", op)

    def _set(self, op: PtoOp) -> None:
        at, value, tile = op.operands
        self._line(f"{self.text[tile]}.set_flat({self.text[at]}, {self.text[value]})", op)

    def _load_scalar(self, op: PtoOp) -> None:
        tensor, at = (self.text[v] for v in op.operands)
        self._define(op.results[0], f"read({tensor}, place({tensor}, {at}))", op)

    def _store_scalar(self, op: PtoOp) -> None:
        value, tensor, at = (self.text[v] for v in op.operands)
        self._line(f"write({tensor}, place({tensor}, {at}), {value})", op)

    def _compute(self, op: PtoOp) -> None:
        """An op whose meaning is that of a tile op."""
        inputs, outputs = self._inputs(op)
        if len(outputs) != 1:
            raise refuse(op, f"{op.name} is not read", code=CODE)
        types = [tile_type(v.type) if isinstance(v.type, TileFields) else element_of(v.type) for v in inputs]
        kind = outputs[0].type
        assert isinstance(kind, TileFields)
        made = as_tile_op(op, types, tile_type(kind))
        texts: dict[SSAValue, str] = {}
        extents: dict[SSAValue, str] = {}
        for stand_in, value in zip(stands_in(made), [*inputs, outputs[0]], strict=True):
            handle = self.text[value]
            texts[stand_in] = f"{handle}.get()" if isinstance(stand_in.type, TileType) else handle
            extents[stand_in] = f"{handle}.extents"
        expression = TileText(texts, extents).of(made).value
        target = self.text[outputs[0]]
        self._line(f"if 0 not in {target}.extents: {target}.put({expression})", op)

    # --- rings -----------------------------------------------------------------------------------------------

    def _reserve(self, op: PtoOp) -> None:
        where = op.attributes["location"]
        assert isinstance(where, AddressSpaceAttr)
        base, size = (python_value(op.attributes.get(name)) for name in ("base", "size"))
        self._define(op.results[0], f"m.reserve({where.word.data!r}, {base}, {size})", op)

    def _import(self, op: PtoOp) -> None:
        self.text[op.results[0]] = "0"

    def _open(self, op: PtoOp) -> None:
        facts = [python_value(op.attributes.get(n)) for n in ("dir_mask", "slot_size", "slot_num", "id")]
        keys = op.properties.get(KEYS)
        names = keys.data.split() if isinstance(keys, StringAttr) else []
        if names[-2:] != ["c2v_consumer_buf", "v2c_consumer_buf"]:
            raise refuse(op, "a pipe names the buffers of both directions", code=CODE)
        self._line(f"open_pipe({', '.join(str(fact) for fact in facts)})", op)

    def _code(self, op: PtoOp) -> tuple[Any, Any]:
        return python_value(op.attributes.get("split")), python_value(op.attributes.get("id"))

    def _push(self, op: PtoOp) -> None:
        self.blocks = True
        tile = self.text[op.operands[0]]
        sent = self.names.fresh("sent")
        code, pipe = self._code(op)
        self._line(f"{sent} = m.sent({tile})", op)
        self._line(f"while not push({sent}, {code}, None, {pipe}, {tile}.extents): yield", op)

    def _pop(self, op: PtoOp) -> None:
        self.blocks = True
        kind = op.results[0].type
        assert isinstance(kind, TileFields)
        code, pipe = self._code(op)
        shape = tuple_text([extent.data for extent in kind.dims])
        valid = self._values(op.operands) if op.operands else shape
        taken = self.names.fresh("taken")
        facts = f"{code}, None, {pipe}, {shape}, {dtype_text(element_of(kind.element))}, {valid}"
        self._line(f"while ({taken} := pop({facts})) is None: yield", op)
        self._define(op.results[0], f"m.received({taken}, {self._spec(kind)}, {valid}, {pipe or 0})", op)

    def _free(self, op: PtoOp) -> None:
        code, pipe = self._code(op)
        self._line(f"free(m.oldest({pipe or 0}), {code}, {pipe})", op)


def _passed(block: Block) -> Sequence[SSAValue]:
    """What a block hands to its end."""
    last = block.last_op
    return last.operands if isinstance(last, scf.YieldOp) else ()


def _space(kind: TileFields) -> str:
    memory = tile_type(kind).memory
    assert memory is not None
    return memory.value


def read_function(function: FuncOp, target: Target, signature: Signature) -> EmittedFunction:
    """A function of PTO IR as Python. A Diagnostic for an op that nobody declared a meaning for."""
    return Reader(function, target, signature).read()


__all__ = ["Reader", "Signature", "func", "read_function"]
