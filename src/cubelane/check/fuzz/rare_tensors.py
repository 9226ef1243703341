"""Steps that bring every op on tensors into random kernels, in every element type; most come from declarations."""

from cubelane.check.fuzz.calls import ROUNDED, Call, Operand, draw, drawable, dtype_of
from cubelane.check.fuzz.tensor_body import BOTH, Body, Value
from cubelane.ir.types import DTYPES, TensorType

NARROW = ("FP16", "BF16", "INT32", "INT32", "INT16", "INT8", "UINT8")
"""Element types of the lanes beside FP32."""


def operands(body: Body) -> list[Operand]:
    """What a drawn call may take: all variables whose cells are all valid."""
    return [Operand(v.name, TensorType.make(v.shape, DTYPES[v.dtype])) for v in body.values if v.whole]


def declared(body: Body, *, rounded: bool = True) -> Value | None:
    """A call drawn from what an op declares; without `rounded` none whose last bits are the machine's own business."""
    op = body.choose(drawable("gm"))
    call = draw(body.choose, op, operands(body))
    if call is None:  # it takes what nobody has made yet
        body.choose((narrow_load, narrow_load, vector))(body)
        call = draw(body.choose, op, operands(body))
    if call is None or (call.spelling in ROUNDED and not rounded):
        return None
    names = {name: _within(call, name, operand) for name, operand in call.operands.items()}
    rows, columns = call.result.shape
    assert isinstance(rows, int) and isinstance(columns, int)
    value = body.let(rows, columns, call.text(names), dtype_of(call.result))
    if call.spelling in ROUNDED:
        body.values.remove(value)
        return value
    widened(body, value)
    return None


def _within(call: Call, name: str, operand: Operand) -> str:
    """The operand, brought into the domain of the op."""
    domain = call.domain(name, operand.type.dtype)
    if domain is None:
        return operand.name
    low, high = domain
    return f"pl.maximum(pl.minimum({operand.name}, {high}), {low})"


def widened(body: Body, value: Value) -> None:
    """Half of the values of other types come back as FP32, so that they can be stored."""
    if value.dtype != "FP32" and body.choose((True, False)):
        body.let(*value.shape, f"pl.cast({value.name}, target_type=pl.FP32)")


def narrow_load(body: Body) -> None:
    """A window of a parameter of another element type."""
    like: Value = body.choose(body.floats())
    dtype = body.choose(NARROW)
    source = body.tensor(like.shape, dtype)
    value = body.let(*like.shape, f"pl.slice({source.name}, {list(like.shape)}, [0, 0])", dtype)
    widened(body, value)


def vector(body: Body) -> None:
    """One value for every row, or for every column, of a variable in scope."""
    like: Value = body.choose(body.floats())
    rows, columns = body.choose(((like.rows, 1), (1, like.columns)))
    source = body.tensor((rows, columns))
    body.let(rows, columns, f"pl.slice({source.name}, [{rows}, {columns}], [0, 0])")


def sequence(body: Body) -> None:
    """Numbers that count up or down, in one row."""
    columns = body.choose([v.columns for v in body.values if v.columns > 1] or [8])
    down = body.choose(("", ", descending=True"))
    name = body.choose(("pl.tensor.ci", "pl.arange"))
    widened(body, body.let(1, columns, f"{name}(3, [1, {columns}], dtype=pl.INT32{down})", "INT32"))


def other_bits(body: Body) -> None:
    """The bits of a value under another type, and back."""
    value: Value = body.choose(body.floats())
    if value.whole:
        bits = body.fresh("b")
        body.put(f"{bits} = pl.reinterpret_view({value.name}, dtype=pl.{body.choose(('INT32', 'INT16'))})")
        body.let(*value.shape, f"pl.reinterpret_view({bits}, dtype=pl.FP32)")


def made_tensor(body: Body) -> None:
    """A tensor made on the way, written in one piece or in two."""
    value: Value = body.choose(body.floats())
    if not value.whole:
        return
    rows = value.rows * body.choose((1, 2))
    name = body.fresh("z")
    body.put(f"{name} = pl.create_tensor([{rows}, {value.columns}], dtype=pl.FP32)")
    for at in range(0, rows, value.rows):
        body.put(f"{name} = pl.assemble({name}, {value.name}, [{at}, 0])")
    body.values.append(Value(name, rows, value.columns))


def written_cell(body: Body) -> None:
    """One cell of a tensor, read from a table and written to global memory."""
    value: Value = body.choose(body.floats())
    table, scratch = body.tensor((16, 4)), body.tensor(value.shape, "FP32", BOTH)
    cell = body.fresh("q")
    body.put(f"{cell} = pl.read({table.name}, [{body.choose((0, 7))}, 1])")
    body.put(f"{scratch.name} = pl.write({scratch.name}, [{value.rows - 1}, 0], {cell})")
    if body.choose((True, False)):
        body.let(*value.shape, f"pl.slice({scratch.name}, {list(value.shape)}, [0, 0])")


def last_window(body: Body) -> None:
    """A window at the end of a parameter, found by asking for its extent."""
    value: Value = body.choose(body.floats())
    source, extent = body.tensor((3 * value.rows, value.columns)), body.fresh("d")
    body.put(f"{extent} = pl.tensor.dim({source.name}, 0)")
    body.let(*value.shape, f"pl.slice({source.name}, {list(value.shape)}, [{extent} - {value.rows}, 0])")


def barrier(body: Body) -> None:
    """A barrier or a fence, which changes nothing that a program means."""
    body.put(f"pl.system.{body.choose(('bar_v', 'bar_m', 'bar_all', 'fence'))}()")


def signal(body: Body) -> None:
    """A peer is told, or a signal is waited for that is there already."""
    name = body.tensor((2, 1), "INT32", BOTH).name
    told = f"pl.system.notify(target={name}, peer=0, offsets=[0, 0], value=1)"
    wait = body.choose(("wait", "defer_wait"))
    waited = f'pl.system.{wait}({name}, [1, 0], -100, cmp="ge")'
    body.put(body.choose((told, waited)))


STEPS = (narrow_load, narrow_load, sequence, other_bits, made_tensor, written_cell, last_window, barrier, signal)
"""Steps beside the declared calls."""
