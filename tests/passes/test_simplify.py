"""Simplify keeps the value of every scalar expression, and decides what can be decided (spec/front.md 3.3)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from cubelane.analysis.equality import structurally_equal
from cubelane.check.reference_scalars import is_scalar_op, scalar
from cubelane.ir.context import shared_context
from cubelane.ir.kernel import functions_of
from cubelane.language import parse, print_program
from cubelane.passes.tile.simplify import Simplify
from cubelane.passes.tile.unroll_loops import UnrollLoops

HEAD = """
import cubelane.language as pl

N = pl.dynamic("N")

@pl.program
class P:
    @pl.function
    def main(self, p: pl.Scalar[pl.INDEX], q: pl.Scalar[pl.INT32], r: pl.Scalar[pl.INT8], u: pl.Scalar[pl.UINT16],
             f: pl.Scalar[pl.FP32], t: pl.InOut[pl.Tensor[[N, 64], pl.FP32]]) -> pl.Tensor[[N, 64], pl.FP32]:
"""


def kernel(body: str) -> str:
    """A kernel over scalars of several types and one tensor."""
    lines = [f"        {line}" for line in body.strip("\n").split("\n")]
    return HEAD + "\n".join([*lines, "        return t"]) + "\n"


def simplified(body: str) -> ModuleOp:
    """The kernel behind the pass, verified, and printed and read again without a difference."""
    module = parse(kernel(body))
    UnrollLoops().apply(shared_context(), module)
    Simplify().apply(shared_context(), module)
    module.verify()
    assert structurally_equal(module, parse(print_program(module))) is None
    return module


def written(module: ModuleOp) -> list[SSAValue]:
    """The values that the kernel writes into its tensor."""
    return [op.operands[-1] for op in module.walk() if op.name == "gm.write"]


def ops(module: ModuleOp, name: str) -> list[Operation]:
    return [op for op in module.walk() if op.name == name]


class Machine:
    """Runs the control flow and the scalars of a kernel with the scalar words of the oracle; logs what it writes."""

    def __init__(self, module: ModuleOp, arguments: dict[str, float]):
        body = functions_of(module)[0].body.block
        self.values: dict[SSAValue, object] = {a: arguments.get(str(a.name_hint), 0) for a in body.args}
        self.log: list[object] = []
        self.run(body)

    def run(self, block: Block) -> list[object]:
        for op in block.ops:
            self.step(op)
        end = block.last_op
        return [] if end is None else [self.values.get(v) for v in end.operands]

    def step(self, op: Operation) -> None:
        operands = [self.values.get(v) for v in op.operands]
        if is_scalar_op(op):
            self.values[op.results[0]] = scalar(op, operands)
        elif op.name == "builtin.unrealized_conversion_cast":
            self.values[op.results[0]] = self.seen_as(operands[0], op.results[0])
        elif op.name == "gm.write":
            self.log.append(operands[-1])
        elif isinstance(op, scf.IfOp):
            region = op.true_region if operands[0] else op.false_region
            self.bind(op.results, self.run(region.block) if region.blocks else [])
        elif isinstance(op, scf.ForOp):
            self.loop(op, operands)

    def loop(self, op: scf.ForOp, operands: list[object]) -> None:
        start, stop, step = operands[:3]
        carried = operands[3:]
        for i in range(start, stop, step):  # type: ignore[arg-type]
            self.bind(op.body.block.args, [i, *carried])
            carried = self.run(op.body.block)
        self.bind(op.results, carried)

    def bind(self, targets, values) -> None:
        self.values.update(zip(targets, values, strict=True))

    @staticmethod
    def seen_as(value, result: SSAValue):
        type_ = result.type
        assert isinstance(type_, IntegerType)
        bits = value & ((1 << type_.width.data) - 1)
        unsigned = type_.signedness.name == "UNSIGNED"
        return bits if unsigned or bits < 1 << (type_.width.data - 1) else bits - (1 << type_.width.data)


NUMBERS = st.sampled_from([-9, -8, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 8, 12, 16, 127])


def expressions(name: str, dtype: str, unsigned: bool = False) -> st.SearchStrategy[str]:
    """Expressions over one parameter and typed constants; divisors are constants or may be zero at run time."""
    numbers = NUMBERS.map(abs) if unsigned else NUMBERS
    constants = numbers.map(lambda n: f"pl.const({n}, pl.{dtype})")
    divisors = numbers.filter(bool).map(lambda n: f"pl.const({n}, pl.{dtype})")
    leaves = st.one_of(st.just(name), constants)

    def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        plain = st.tuples(inner, st.sampled_from(["+", "-", "*", "&", "|", "^"]), inner)
        divided = st.tuples(inner, st.sampled_from(["//", "%"]), divisors)
        chosen = st.tuples(inner, inner, inner, st.sampled_from(["<", "<=", "==", "!=", ">", ">="]))
        return st.one_of(
            plain.map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
            divided.map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
            st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda p: f"pl.{p[0]}({p[1]}, {p[2]})"),
            chosen.map(lambda p: f"({p[0]} if {p[1]} {p[3]} {p[2]} else {p[0]} + 1)"),
        )

    return st.recursive(leaves, grown, max_leaves=8)


KINDS = {"p": ("INDEX", False), "q": ("INT32", False), "r": ("INT8", False), "u": ("UINT16", True)}
BOUNDS = {"p": 10**6, "q": 2**31 - 1, "r": 127, "u": 2**16 - 1}
CASES = st.sampled_from(sorted(KINDS)).flatmap(
    lambda name: st.tuples(
        st.just(name),
        st.lists(expressions(name, *KINDS[name]), min_size=1, max_size=3),
        st.integers(0 if KINDS[name][1] else -BOUNDS[name], BOUNDS[name]),
    )
)


def same_log(body: str, arguments: dict[str, float]) -> None:
    """The claim: what is written before and after the pass is the same."""
    before = Machine(parse(kernel(body)), arguments).log
    assert Machine(simplified(body), arguments).log == before


@settings(max_examples=250, deadline=None)
@given(CASES)
def test_every_scalar_expression_keeps_its_value(case):
    name, texts, number = case
    body = "\n".join(f"t = pl.tensor.write(t, [{i}, 0], pl.cast({e}, pl.FP32))" for i, e in enumerate(texts))
    same_log(body, {name: number})


@pytest.mark.parametrize("a", [-4, -3, -1, 1, 2, 4])
def test_quotients_by_every_small_number_keep_their_value(a: int) -> None:
    forms = (
        "p * {a} // {b}",
        "(p * {a} + p) // {b}",
        "p // {a} // {b}",
        "p * {a} % {b}",
        "p % {a} % {b}",
        "p // {a} * {b}",
    )
    typed = [f.replace("{a}", f"pl.const({a}, pl.INDEX)") for f in forms]
    texts = [f.replace("{b}", f"pl.const({b}, pl.INDEX)") for f in typed for b in (-6, -4, -2, -1, 1, 2, 3, 4, 8)]
    body = "\n".join(f"t = pl.tensor.write(t, [{i}, 0], pl.cast({e}, pl.FP32))" for i, e in enumerate(texts))
    before, after = parse(kernel(body)), simplified(body)
    for p in range(-9, 10):
        assert Machine(after, {"p": p}).log == Machine(before, {"p": p}).log


BLOCK = st.deferred(lambda: st.lists(STATEMENT, min_size=1, max_size=3).map("\n".join))
ATOMS = st.sampled_from(["p", "i", "i * 2", "i % 2", "i // 3", "3 - i", "i + p - i", "pl.min(i, 5)", "2", "0", "-1"])
CONDITIONS = st.tuples(ATOMS, st.sampled_from(["<", "<=", "==", "!=", ">", ">="]), ATOMS).map(" ".join)
WRITE = ATOMS.map(lambda e: f"s = s + ({e})\nt = pl.tensor.write(t, [0, 0], pl.cast(s, pl.FP32))")


def indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))


IF = st.tuples(CONDITIONS, BLOCK, BLOCK).map(lambda p: f"if {p[0]}:\n{indented(p[1])}\nelse:\n{indented(p[2])}")
LOOP = st.tuples(
    st.sampled_from(["0", "1", "2", "0, 3, 5", "i, i + 1", "i, i + 4, 3", "2, 1", "p, p + 1", "p, p", "4, 0, -3"]),
    st.sampled_from(["range", "range", "parallel"]),
    BLOCK,
).map(lambda p: f"for i in pl.{p[1]}({p[0]}):\n{indented(p[2])}")
UNROLL = st.tuples(st.sampled_from(["0", "3", "1, 6, 2", "3, 0, -1"]), BLOCK).map(
    lambda p: f"for i in pl.unroll({p[0]}):\n{indented(p[1])}"
)
STATEMENT = st.one_of(WRITE, WRITE, IF, LOOP, UNROLL)


@settings(max_examples=150, deadline=None)
@given(BLOCK, st.integers(-6, 6))
def test_decided_branches_and_loops_write_what_they_wrote(body, p):
    same_log(f"i = p * 0 + 1\ns = p * 2\n{body}", {"p": p})


@pytest.mark.parametrize(
    ("expression", "form"),
    [
        ("(p + 3) - p", "3"),
        ("p * 8 // 4", "p * 2"),
        ("p * 8 % 4", "0"),
        ("(p * 8 + q_) // 4", "p * 2 + q_ // 4"),
        ("p // 4 // 2", "p // 8"),
        ("(p // 4 * 4) % 4", "0"),
        ("p % 8 // 8", "0"),
        ("pl.min(p % 8, 7)", "p % 8"),
        ("p - 4 + 4", "p"),
        ("3 + p + 4", "p + 7"),
        ("p - p", "0"),
        ("pl.max(p, p)", "p"),
        ("-7 // pl.const(2, pl.INDEX)", "-4"),
        ("-7 % pl.const(2, pl.INDEX)", "1"),
        ("p if p < p + 1 else 0", "p"),
        ("p // (p - p + 1)", "p"),
    ],
)
def test_expression_comes_to(expression: str, form: str) -> None:
    body = "q_ = pl.cast(q, pl.INDEX)\nt = pl.tensor.write(t, [0, 0], pl.cast(({}) + q_, pl.FP32))"
    left, right = simplified(body.format(expression)), simplified(body.format(form))
    assert structurally_equal(left, right) is None


def test_division_by_zero_stays_where_it_stands():
    module = simplified("t = pl.tensor.write(t, [0, 0], pl.cast(4 // (p - p), pl.FP32))")
    assert len(ops(module, "arith.floordivsi")) == 1


def test_wrapping_number_is_folded_as_its_type_holds_it():
    n = "(r - r) + pl.const(100, pl.INT8) + pl.const(100, pl.INT8)"
    body = f"n = {n}\nt = pl.tensor.write(t, [0, 0], pl.cast(n, pl.FP32))"
    (value,) = written(simplified(body))
    (cast,) = [op for op in value.owner.parent.walk() if isinstance(op, arith.SIToFPOp)]
    assert cast.input.owner.value.value.data == -56


def test_a_product_that_may_wrap_keeps_its_quotient():
    module = simplified(
        "t = pl.tensor.write(t, [0, 0], pl.cast(q * pl.const(8, pl.INT32) // pl.const(4, pl.INT32), pl.FP32))"
    )
    assert len(ops(module, "arith.floordivsi")) == 1


def test_only_a_plain_loop_is_collapsed():
    body = "for i in pl.{}(1{}):\n    t = pl.tensor.write(t, [i, 0], f)"
    assert ops(simplified(body.format("range", "")), "scf.for") == []
    assert len(ops(simplified(body.format("parallel", "")), "scf.for")) == 1
    assert len(ops(simplified(body.format("pipeline", ", stage=2")), "scf.for")) == 1


def test_while_that_never_runs_goes():
    module = simplified("n = p\nwhile n < n:\n    n = n + 1\nt = pl.tensor.write(t, [n, 0], f)")
    assert ops(module, "scf.while") == []


def test_constant_extent_becomes_part_of_the_type():
    body = "n = p - p + 16\nv = pl.slice(t, [32, 64], [0, 0], [n, 64])\nt = pl.assemble(t, pl.exp(v), [0, 0])"
    module = simplified(body)
    assert [op.results[0].type.data.valid for op in module.walk() if op.name in ("gm.slice", "gm.exp")] == [
        (16, 64)
    ] * 2


def test_extent_of_what_a_loop_carries_stays_an_expression():
    body = (
        "n = p - p + 16\nv = pl.slice(t, [32, 64], [0, 0], [n, 64])\n"
        "for i in pl.range(p):\n    v = pl.exp(v)\nt = pl.assemble(t, v, [0, 0])"
    )
    assert [op.results[0].type.data.valid[0] for op in ops(simplified(body), "gm.slice")] == [-1]


def test_dead_scalars_go_and_a_dead_read_stays():
    module = simplified("n = p * 3 + 4\nm = n // 2\nv = pl.tensor.read(t, [0, 0])")
    assert [op.name for op in module.walk() if op.name.startswith("arith.")] == ["arith.constant"]
    assert len(ops(module, "gm.read")) == 1


def test_a_chain_of_scalars_as_long_as_a_kernel_is_no_problem():
    chain = "\n".join(f"s = s * 3 + {i} - p" for i in range(3000))
    module = simplified(f"s = p\n{chain}\nif s < 4:\n    t = pl.tensor.write(t, [0, 0], f)")
    assert len(ops(module, "scf.if")) == 1
