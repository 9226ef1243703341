"""Random kernels at the tensor level, as a user writes them: scopes with a split mode, loops that reassign, branches.

Names are reassigned, so the language has to find the carries: accumulators, values that swap or move on by one, tensors
that are stored into. Several products cross in both directions, in FP16, BF16 and INT8.
"""

from collections.abc import Callable
from itertools import pairwise

from cubelane.check.fuzz import rare_tensors
from cubelane.check.fuzz.program import Choose, Program
from cubelane.check.fuzz.tensor_body import BOTH, INPUT, OUTPUT, Body, Value

UNARY = ("neg", "abs", "relu")
SCALAR = ("add", "mul", "maximum", "minimum", "sub")
BINARY = ("add", "sub", "mul", "maximum", "minimum")
EXPANDS = ("mul", "sub", "add", "max", "min")
NUMBERS = (0.5, 1.0, 2.0, -1.0, 0.25)


class TensorGenerator:
    """Makes one kernel whose scopes are split by a mode."""

    FAMILY = "tensor"

    def __init__(self, choose: Choose):
        self.choose = choose
        self.mode = choose(("UP_DOWN", "UP_DOWN", "LEFT_RIGHT", None))
        self.depth = choose((None, None, 1, 2, 3))
        self.m = choose((32, 16, 64, 8, 17, 31, 6))
        self.k = choose((16, 32))
        self.n = choose((32, 16, 64, 24, 21))
        self.scalar = choose((0, 1, 2, 3, 5, self.m // 2, self.m))
        self.b = Body(choose)
        self.rounded = True

    # --- the frame -----------------------------------------------------------------------------------------------

    def program(self) -> Program:
        """The whole text."""
        self.function()
        outputs = [p for p in self.b.parameters if p.direction != INPUT]
        self.b.put(f"return {', '.join(p.name for p in outputs)}")
        kinds = ", ".join(p.type for p in outputs)
        result = f"tuple[{kinds}]" if len(outputs) > 1 else kinds
        arguments = ["self", *(f"{p.name}: {p.annotation}" for p in self.b.parameters), "n: pl.Scalar[pl.INDEX]"]
        head = [
            "import pypto.language as pl",
            "",
            "WIDE = 1",
            "",
            "@pl.program",
            "class Prog:",
            "    @pl.function(type=pl.FunctionType.Opaque)",
            "    def main(",
            *(f"        {a}," for a in arguments),
            f"    ) -> {result}:",
        ]
        return Program("\n".join([*head, *self.b.lines]) + "\n", {"n": self.scalar}, self.FAMILY)

    def function(self) -> None:
        """One scope or two, in a loop of the host now and then."""
        for _ in range(self.choose((1, 1, 1, 2))):
            if looped := self.choose((False, False, False, True)):
                index = self.b.fresh("t")
                self.b.put(f"for {index} in pl.range({self.choose((2, 1))}):")
                self.b.indent += 1
                self.b.indices.append(index)
            self.scope()
            if looped:
                self.b.indent -= 1
                self.b.indices.pop()

    def scope(self) -> None:
        """A scope: products, vector work, stores."""
        self.b.put(f"with pl.at(level=pl.Level.CORE_GROUP{self.optimizations()}):")
        self.b.indent += 1
        self.b.values = []
        self.first_product()
        for _ in range(self.choose((3, 2, 1, 4, 6, 8))):
            self.step(0)
        for _ in range(self.choose((1, 1, 2))):
            self.store(self.choose(self.b.floats()))
        self.b.indent -= 1

    def optimizations(self) -> str:
        """What the scope says about split and ring."""
        words = [f"pl.split(pl.SplitMode.{self.mode})"] if self.mode else []
        words += [f"pl.cross_core_slot(slot_num={self.depth})"] if self.depth else []
        return f", optimizations=[{', '.join(words)}]" if words else ""

    # --- products ------------------------------------------------------------------------------------------------

    def first_product(self) -> Value:
        """A product of two parameters: plain, ragged, of whole numbers, or summed over blocks of k."""
        makers = (self.plain, self.plain, self.plain, self.ragged, self.whole_numbers, self.blocks, self.inner_loop)
        return self.choose(makers)()

    def plain(self) -> Value:
        dtype = self.choose(("FP16", "BF16"))
        a, b = self.b.tensor((self.m, self.k), dtype), self.b.tensor((self.k, self.n), dtype)
        return self.b.let(self.m, self.n, f"pl.mul(pl.matmul({a.name}, {b.name}, out_dtype=pl.FP32), 0.125)")

    def ragged(self) -> Value:
        """The left operand has fewer valid rows than its box, by a number or at run time."""
        rows = self.choose(("n", self.m - 1, max(1, self.m // 2), 1))
        a, b = self.b.tensor((self.m, self.k), "FP16"), self.b.tensor((self.k, self.n), "FP16")
        part = self.b.fresh("x")
        self.b.put(f"{part} = pl.slice({a.name}, [{self.m}, {self.k}], [0, 0], valid_shape=[{rows}, {self.k}])")
        text = f"pl.matmul({part}, {b.name}, out_dtype=pl.FP32)"
        return self.b.let(self.m, self.n, text, whole=rows == self.m)

    def whole_numbers(self) -> Value:
        a, b = self.b.tensor((self.m, self.k), "INT8"), self.b.tensor((self.k, self.n), "INT8")
        text = f"pl.cast(pl.matmul({a.name}, {b.name}, out_dtype=pl.INT32), target_type=pl.FP32)"
        return self.b.let(self.m, self.n, text)

    def blocks(self) -> Value:
        """A block of rows picked by the index of the loop around, or the first."""
        a = self.b.tensor((2 * self.m, self.k), "BF16")
        b = self.b.tensor((self.n, self.k), "BF16")
        at = f"{self.choose(self.b.indices)} * {self.m}" if self.b.indices else "0"
        part = self.b.fresh("x")
        self.b.put(f"{part} = pl.slice({a.name}, [{self.m}, {self.k}], [{at}, 0])")
        return self.b.let(self.m, self.n, f"pl.matmul({part}, {b.name}, b_trans=True, out_dtype=pl.FP32)")

    def inner_loop(self) -> Value:
        """A sum over blocks of k, kept on the cube core or on the lanes."""
        a, b = self.b.tensor((self.m, 2 * self.k), "FP16"), self.b.tensor((2 * self.k, self.n), "FP16")
        acc, index = self.b.fresh("c"), self.b.fresh("i")
        on_cube = self.choose((True, False))
        blocks = (f"{a.name}[:, {{0}} : {{0}} + {self.k}]", f"{b.name}[{{0}} : {{0}} + {self.k}, :]")
        first = f"pl.matmul({blocks[0].format('0')}, {blocks[1].format('0')}, out_dtype=pl.FP32)"
        self.b.put(
            f"{acc} = {first}" if on_cube else f"{acc} = pl.full([{self.m}, {self.n}], dtype=pl.FP32, value=0.0)"
        )
        self.b.put(f"for {index} in pl.range({'1, 2' if on_cube else '2'}):")
        left, right = (text.format(f"{index} * {self.k}") for text in blocks)
        more = f"pl.matmul_acc({acc}, {left}, {right})"
        self.b.put(
            f"    {acc} = {more if on_cube else f'pl.add({acc}, pl.matmul({left}, {right}, out_dtype=pl.FP32))'}"
        )
        value = Value(acc, self.m, self.n)
        self.b.values.append(value)
        return value

    def product(self) -> None:
        """A product with a value of the lanes on one side."""
        value = self.choose([v for v in self.b.floats() if v.rows > 1] or self.b.floats())
        dtype = self.choose(("FP16", "BF16"))
        cast = f"pl.cast({value.name}, target_type=pl.{dtype})"
        side = self.choose(("left", "left", "right", "transposed"))
        if side == "left":
            other = self.b.tensor((value.columns, 16), dtype)
            self.b.let(value.rows, 16, f"pl.matmul({cast}, {other.name}, out_dtype=pl.FP32)", whole=value.whole)
        elif side == "right":
            other = self.b.tensor((16, value.rows), dtype)
            self.b.let(16, value.columns, f"pl.matmul({other.name}, {cast}, out_dtype=pl.FP32)")
        else:
            other = self.b.tensor((32, value.columns), dtype)
            text = f"pl.matmul({cast}, {other.name}, b_trans=True, out_dtype=pl.FP32)"
            self.b.let(value.rows, 32, text, whole=value.whole)

    # --- vector work ---------------------------------------------------------------------------------------------

    def step(self, depth: int) -> None:
        """One statement, or one loop or branch with a few inside."""
        self.choose(self.simple() + (self.nests() if depth < 2 else []))()

    def simple(self) -> list[Callable[[], None]]:
        """Makers of single statements, often-met ones twice."""
        return [
            *(self.unary, self.scaled, self.binary, self.binary, self.load, self.reduce, self.reduce, self.expand),
            *(self.expand, self.normalize, self.reshape, self.full, self.convert, self.cut, self.fill, self.joined),
            *(self.valid_rows, self.turn, self.slow, self.row, self.reload, self.cell),
            *(self.declared,) * 8,
            *(self.rare,) * 3,
        ]

    def nests(self) -> list[Callable[[], None]]:
        """Makers of compound statements, and what is too large to be frequent."""
        return [self.loop, self.loop, self.branch, self.turns, self.rotation, self.store_loop, self.product]

    def pick(self) -> Value:
        """Any FP32 variable."""
        return self.choose(self.b.floats())

    def same(self, value: Value, text: str) -> None:
        self.b.let(*value.shape, text, value.dtype, value.whole)

    def declared(self) -> None:
        """A call of any elementwise or reducing op; what is right to a few bits only goes straight to an output."""
        value = rare_tensors.declared(self.b, rounded=self.rounded)
        if value is not None:
            self.store(value)

    def rare(self) -> None:
        """An op of another kind that kernels seldom have."""
        self.choose(rare_tensors.STEPS)(self.b)

    def unary(self) -> None:
        value = self.pick()
        self.same(value, f"pl.{self.choose(UNARY)}({value.name})")

    def slow(self) -> None:
        """Functions that need their argument in bounds."""
        value = self.pick()
        low = f"pl.minimum({value.name}, 2.0)"
        positive = f"pl.add(pl.abs({value.name}), 1.0)"
        texts = (f"pl.exp({low})", f"pl.sqrt({positive})", f"pl.recip({positive})", f"pl.rsqrt({positive})")
        self.same(value, self.choose((*texts, f"pl.log({positive})", f"pl.div({value.name}, {positive})")))

    def scaled(self) -> None:
        value = self.pick()
        self.same(value, f"pl.{self.choose(SCALAR)}({value.name}, {self.choose(NUMBERS)})")

    def binary(self) -> None:
        value = self.pick()
        self.same(value, f"pl.{self.choose(BINARY)}({value.name}, {self.choose(self.b.like(value)).name})")

    def load(self) -> None:
        """A window of a parameter, at a place that a loop index may choose."""
        value = self.pick()
        place = self.choose(("0", str(value.rows), *(f"{i} * {value.rows}" for i in self.b.indices)))
        source = self.b.tensor((3 * value.rows, value.columns))
        self.b.let(*value.shape, f"pl.slice({source.name}, [{value.rows}, {value.columns}], [{place}, 0])")

    def row(self) -> None:
        """A row or a column of a parameter."""
        value = self.pick()
        rows, columns = self.choose(((1, value.columns), (value.rows, 1)))
        source = self.b.tensor((rows, columns))
        self.b.let(rows, columns, f"pl.slice({source.name}, [{rows}, {columns}], [0, 0])")

    def full(self) -> None:
        value = self.pick()
        rows, columns = self.choose((value.shape, (value.rows, 1), (1, value.columns)))
        self.b.let(rows, columns, f"pl.full([{rows}, {columns}], dtype=pl.FP32, value={self.choose(NUMBERS)})")

    def reduce(self) -> None:
        value = self.pick()
        word = self.choose(("max", "min", "sum"))
        if self.choose((True, True, False)):
            self.b.let(value.rows, 1, f"pl.row_{word}({value.name})", whole=value.whole)
        else:
            self.b.let(1, value.columns, f"pl.col_{word}({value.name})")

    def expand(self) -> None:
        value = self.pick()
        columns = [v for v in self.b.floats() if v.shape == (value.rows, 1) and v.whole == value.whole]
        rows = [v for v in self.b.floats() if v.shape == (1, value.columns) and v.whole]
        op = self.choose(EXPANDS)
        if columns and (not rows or self.choose((True, False))):
            self.same(value, f"pl.row_expand_{op}({value.name}, {self.choose(columns).name})")
        elif rows:
            self.same(value, f"pl.col_expand_{op}({value.name}, {self.choose(rows).name})")

    def normalize(self) -> None:
        """Rows brought to their largest value, as every attention does."""
        value = self.pick()
        shifted = f"pl.exp(pl.row_expand_sub({value.name}, pl.row_max({value.name})))"
        weights = self.b.fresh("e")
        self.b.put(f"{weights} = {shifted}")
        self.same(value, f"pl.row_expand_div({weights}, pl.row_sum({weights}))")

    def reshape(self) -> None:
        """The same elements in another shape: a vector turned, everything flat, rows in pairs."""
        value = self.pick()
        r, c = value.shape
        shapes = [(c, r)] if 1 in value.shape else [(1, r * c), (r * c, 1), (r // 2, 2 * c) if r % 2 == 0 else (r, c)]
        rows, columns = self.choose(shapes)
        if value.whole or 1 in value.shape:
            self.b.let(rows, columns, f"pl.reshape({value.name}, [{rows}, {columns}])", whole=value.whole)

    def turn(self) -> None:
        value = self.pick()
        if value.whole:
            self.b.let(value.columns, value.rows, f"pl.transpose({value.name}, 0, 1)")

    def convert(self) -> None:
        """Through another element type and back."""
        value = self.pick()
        dtype = self.choose(("BF16", "FP16", "INT32"))
        mode = ', mode="rint"' if dtype == "INT32" else ""
        narrow = self.b.let(*value.shape, f"pl.cast({value.name}, target_type=pl.{dtype}{mode})", dtype, value.whole)
        if dtype == "FP16" and self.choose((True, False)):
            self.same(narrow, f"pl.add({narrow.name}, {narrow.name})")
        self.b.let(*value.shape, f"pl.cast({self.b.values[-1].name}, target_type=pl.FP32)", whole=value.whole)

    def cut(self) -> None:
        value = self.pick()
        if value.whole:
            r, c = self.choose(((max(1, value.rows // 2), value.columns), (value.rows, max(1, value.columns // 2))))
            at = (self.choose((0, value.rows - r)), self.choose((0, value.columns - c)))
            self.b.let(r, c, f"pl.slice({value.name}, [{r}, {c}], [{at[0]}, {at[1]}])")

    def fill(self) -> None:
        value = self.pick()
        self.b.let(*value.shape, f"pl.fillpad({value.name})")

    def joined(self) -> None:
        value = self.pick()
        fits = [v for v in self.b.floats() if v.rows == value.rows and v.whole and value.whole]
        if fits:
            other = self.choose(fits)
            self.b.let(value.rows, value.columns + other.columns, f"pl.concat({value.name}, {other.name})")

    def valid_rows(self) -> None:
        """Fewer valid rows; the rest is filled again."""
        value = self.pick()
        if value.whole and value.rows > 1:
            rows = self.choose((value.rows // 2, value.rows - 1, f"pl.min(n, {value.rows})"))
            cut = f"pl.set_validshape({value.name}, {rows}, {value.columns})"
            filled = self.choose((True, False))
            self.b.let(*value.shape, f"pl.fillpad({cut})" if filled else cut, whole=filled)

    def reload(self) -> None:
        """Stored to global memory and read again, the same rows or others."""
        value = self.pick()
        shape = (value.rows + 2, value.columns)
        scratch = self.b.tensor(shape, "FP32", BOTH)
        self.b.put(f"{scratch.name} = pl.assemble({scratch.name}, {value.name}, [0, 0])")
        at = self.choose((0, 0, 0, 2))
        self.b.let(*value.shape, f"pl.slice({scratch.name}, [{value.rows}, {value.columns}], [{at}, 0])")

    def cell(self) -> None:
        """A place that is read from a table."""
        value = self.pick()
        table = self.b.tensor((16,), "INT32")
        index = self.b.fresh("q")
        self.b.put(f"{index} = pl.max(pl.cast(pl.read({table.name}, [{self.choose((0, 3, 5))}]), pl.INDEX), 0)")
        source = self.b.tensor((value.rows + 6, value.columns))
        self.b.let(*value.shape, f"pl.slice({source.name}, [{value.rows}, {value.columns}], [{index}, 0])")

    def store(self, value: Value) -> None:
        """A value written to an output."""
        at = self.choose(((0, 0), (0, 0), (3, 2)))
        dtype = self.choose(("FP32", "FP32", "FP32", "BF16"))
        output = self.b.tensor((value.rows + at[0], value.columns + at[1]), dtype, OUTPUT)
        text = value.name if dtype == "FP32" else f"pl.cast({value.name}, target_type=pl.{dtype})"
        self.b.put(f"{output.name} = pl.assemble({output.name}, {text}, [{at[0]}, {at[1]}])")

    # --- control flow --------------------------------------------------------------------------------------------

    def inside(self, carried: list[Value], depth: int = 1) -> None:
        """A few statements that end by giving new values to `carried`; what else they bind stays inside."""
        before = list(self.b.values)
        self.b.indent += 1
        for _ in range(self.choose((1, 2, 0))):
            self.step(depth + 1) if self.choose((True, True, True, False)) else self.choose((self.product, self.loop))()
        for value in carried:
            other = self.choose(self.b.like(value))
            op = self.choose(BINARY)
            text = self.choose((f"pl.{op}({value.name}, {other.name})", f"pl.mul({other.name}, 0.5)", other.name))
            self.b.put(f"{value.name} = {text}")
        self.b.indent -= 1
        self.b.values = before

    def carries(self) -> list[Value]:
        return (
            [self.pick()]
            if self.choose((True, True, False))
            else list({v.name: v for v in (self.pick(), self.pick())}.values())
        )

    def loop(self) -> None:
        index = self.b.fresh("i")
        form = self.choose(("range({})", "range({})", "pipeline({}, stage=2)"))
        trips = self.choose(("2", "3", "1", "0", "pl.min(n, 3)", "1, 4, 2"))
        self.b.put(f"for {index} in pl.{form.format(trips)}:")
        self.b.indices.append(index)
        self.inside(self.carries())
        self.b.indices.pop()

    def turns(self) -> None:
        index = self.b.fresh("w")
        self.b.put(f"{index} = 0")
        self.b.put(f"while {index} < {self.choose(('2', '1', 'pl.min(n, 2)'))}:")
        self.inside(self.carries())
        self.b.put(f"    {index} = {index} + 1")

    def branch(self) -> None:
        """A branch at run time, on a loop index, or one that the compiler decides."""
        carried = self.carries()
        self.b.put(f"if {self.choose(('n > 2', 'n > 2', 'WIDE == 1', *(f'{i} == 0' for i in self.b.indices)))}:")
        self.inside(carried)
        if self.choose((True, False)):
            self.b.put("else:")
            self.inside(carried)

    def rotation(self) -> None:
        """Two or three values that move on by one in every turn."""
        first = self.pick()
        names = [self.b.fresh("r") for _ in range(self.choose((2, 3)))]
        for name in names:
            self.b.put(f"{name} = {self.choose(self.b.like(first)).name}")
        index, kept = self.b.fresh("i"), self.b.fresh("h")
        self.b.put(f"for {index} in pl.range({self.choose((2, 3, 1))}):")
        self.b.put(f"    {kept} = {names[0]}")
        for name, following in pairwise(names):
            self.b.put(f"    {name} = {following}")
        self.b.put(f"    {names[-1]} = {self.choose((kept, f'pl.add({kept}, {names[0]})'))}")
        self.b.values += [Value(name, *first.shape, first.dtype, first.whole) for name in names]

    def store_loop(self) -> None:
        """A store in a loop, at a place that moves on."""
        value = self.pick()
        step = self.choose((value.rows, value.rows + 1))
        output, index = self.b.tensor((3 * step, value.columns), "FP32", OUTPUT), self.b.fresh("i")
        self.b.put(f"for {index} in pl.range(3):")
        self.b.put(f"    {output.name} = pl.assemble({output.name}, {value.name}, [{index} * {step}, 0])")


def generate(choose: Choose) -> Program:
    """One random kernel whose scopes are split by a mode."""
    return TensorGenerator(choose).program()
