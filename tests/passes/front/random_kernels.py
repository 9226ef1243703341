"""Random kernels at tensor level as DSL text: chains, loops, branches, products, windows, in-place updates.

Every value is one of the shapes below, so nearly every drawn statement fits; operands are kept small so that nothing
overflows.
"""

import random

import numpy as np

ROWS, COLUMNS = 32, 64
WIDE, COLUMN, ROW = (ROWS, COLUMNS), (ROWS, 1), (1, COLUMNS)

HEAD = f"""import cubelane.language as pl

@pl.program
class Random:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        x: pl.Tensor[[{ROWS}, {COLUMNS}], pl.FP32],
        y: pl.Tensor[[{ROWS}, {COLUMNS}], pl.FP32],
        col: pl.Tensor[[{ROWS}, 1], pl.FP32],
        row: pl.Tensor[[1, {COLUMNS}], pl.FP32],
        w: pl.Tensor[[{COLUMNS}, {COLUMNS}], pl.FP16],
        a: pl.Tensor[[{ROWS}, {COLUMNS}], pl.FP16],
        flag: pl.Scalar[pl.INT32],
        state: pl.InOut[pl.Tensor[[{ROWS}, {COLUMNS}], pl.FP32]],
        out: pl.Out[pl.Tensor[[{ROWS}, {COLUMNS}], pl.FP32]],
        top: pl.Out[pl.Tensor[[{ROWS}, 1], pl.FP32]],
    ) -> tuple[
        pl.Tensor[[{ROWS}, {COLUMNS}], pl.FP32],
        pl.Tensor[[{ROWS}, {COLUMNS}], pl.FP32],
        pl.Tensor[[{ROWS}, 1], pl.FP32],
    ]:
        with pl.at(level=pl.Level.CORE_GROUP):
"""

Names = dict[str, tuple[int, int]]


class Writer:
    """Draws statements; `names` are the values in scope with their shapes, those with a digit can be assigned."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.count = 0
        self.depth = 3

    def say(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def any(self, names: Names, *shapes: tuple[int, int]) -> str:
        """A value of the first of the shapes that some value has."""
        for shape in (*shapes, WIDE):
            if found := [name for name, has in names.items() if has == shape]:
                return self.random.choice(found)
        raise AssertionError("x is always there")

    def target(self, names: Names, shape: tuple[int, int], inside: bool) -> str:
        """A name to assign: inside a loop or branch mostly one from outside, which makes a carry or a choice."""
        known = [name for name, has in names.items() if has == shape and name[-1].isdigit()]
        name = self.random.choice(known) if inside and known and self.random.random() < 0.7 else self.fresh()
        names[name] = shape
        return name

    def statement(self, names: Names, level: int) -> None:
        kinds = [self.binary, self.binary, self.scalar, self.unary, self.reduce, self.expand, self.product, self.full]
        kinds += [self.accumulate, self.window, self.update]
        kinds += [self.loop, self.branch] if level < 2 else []
        self.random.choice(kinds)(names, level)

    def assign(self, names: Names, shape: tuple[int, int], level: int, value: str) -> None:
        self.say(f"{self.target(names, shape, level > 0)} = {value}")

    def binary(self, names: Names, level: int) -> None:
        op = self.random.choice(["add", "sub", "mul", "maximum", "minimum"])
        lhs = self.any(names, self.random.choice([WIDE, COLUMN, ROW]))
        rhs = self.any(names, self.random.choice([WIDE, COLUMN, ROW]))
        shape = tuple(max(pair) for pair in zip(names[lhs], names[rhs], strict=True))
        self.assign(names, (shape[0], shape[1]), level, f"pl.mul(pl.{op}({lhs}, {rhs}), 0.5)")

    def scalar(self, names: Names, level: int) -> None:
        value = self.any(names, self.random.choice([WIDE, COLUMN, ROW]))
        op, number = self.random.choice(["mul", "add", "maximum", "minimum"]), self.random.choice(["0.5", "-0.25"])
        self.assign(names, names[value], level, f"pl.{op}({value}, {number})")

    def unary(self, names: Names, level: int) -> None:
        value = self.any(names, self.random.choice([WIDE, COLUMN, ROW]))
        self.assign(names, names[value], level, f"pl.{self.random.choice(['neg', 'abs', 'relu'])}({value})")

    def reduce(self, names: Names, level: int) -> None:
        op, shape = self.random.choice([("row_max", COLUMN), ("row_sum", COLUMN), ("col_min", ROW), ("col_sum", ROW)])
        self.assign(names, shape, level, f"pl.mul(pl.{op}({self.any(names, WIDE)}), 0.03125)")

    def expand(self, names: Names, level: int) -> None:
        op, vector = self.random.choice(
            [("row_expand_sub", "col"), ("row_expand_mul", "col"), ("col_expand_mul", "row")]
        )
        self.assign(names, WIDE, level, f"pl.mul(pl.{op}({self.any(names, WIDE)}, {vector}), 0.5)")

    def product(self, names: Names, level: int) -> None:
        narrow = (
            f"pl.cast(pl.minimum(pl.maximum({self.any(names, WIDE)}, -1.0), 1.0), target_type=pl.FP16, mode='rint')"
        )
        factor = self.random.choice([narrow, "a", "w"]) if level == 0 else narrow
        turned = self.random.choice(["", ", b_trans=True"])
        if factor == "w":
            factor = "pl.slice(w, [32, 64], [32, 0])"
        self.assign(names, WIDE, level, f"pl.mul(pl.matmul({factor}, w{turned}, out_dtype=pl.FP32), 0.0625)")

    def accumulate(self, names: Names, level: int) -> None:
        """A loop over blocks of the depth; the accumulator starts from the first block, or from zeros."""
        acc, step = self.fresh(), self.fresh()
        zeros = self.random.random() < 0.4
        block = "[32, 16], [0, {0}]), pl.slice(w, [16, 64], [{0}, 0])"
        start = f"pl.matmul(pl.slice(a, {block.format(0)}, out_dtype=pl.FP32)"
        self.say(f"{acc} = {'pl.full([32, 64], dtype=pl.FP32, value=0.0)' if zeros else start}")
        self.say(f"for {step} in pl.range({0 if zeros else 1}, 4):")
        self.say(f"    {acc} = pl.matmul_acc({acc}, pl.slice(a, {block.format(step + ' * 16')})")
        self.assign(names, WIDE, level, f"pl.mul({acc}, 0.0625)")

    def full(self, names: Names, level: int) -> None:
        shape, value = self.random.choice([WIDE, COLUMN]), self.random.choice([0.0, 0.5])
        self.assign(names, shape, level, f"pl.full([{shape[0]}, {shape[1]}], dtype=pl.FP32, value={value})")

    def window(self, names: Names, level: int) -> None:
        """Two halves of a value, put together the other way round."""
        value = self.any(names, WIDE)
        halves = [f"pl.slice({value}, [32, 32], [0, {start}])" for start in (32, 0)]
        self.assign(names, WIDE, level, f"pl.concat({halves[0]}, {halves[1]})")

    def update(self, names: Names, level: int) -> None:
        """A tensor in global memory is read, changed and written; later reads see the change."""
        value = self.any(names, WIDE)
        read = self.random.choice(["state", "pl.slice(state, [32, 64], [0, 0])"])
        self.say(f"state = pl.assemble(state, pl.mul(pl.add({read}, {value}), 0.5), [0, 0])")
        self.assign(names, WIDE, level, "pl.mul(state, 1.0)")

    def loop(self, names: Names, level: int) -> None:
        self.say(f"for {self.fresh()} in pl.range({self.random.choice([1, 2, 3])}):")
        self.body(names, level)

    def branch(self, names: Names, level: int) -> None:
        self.say(f"if flag > {self.random.choice([0, 5])}:")
        self.body(names, level)
        if self.random.random() < 0.6:
            self.say("else:")
            self.body(names, level)

    def body(self, names: Names, level: int) -> None:
        self.depth += 1
        inner = dict(names)
        for _ in range(self.random.randint(1, 4)):
            self.statement(inner, level + 1)
        self.depth -= 1


def kernel(seed: int) -> str:
    """The text of a kernel."""
    writer = Writer(seed)
    names: Names = {"x": WIDE, "y": WIDE, "col": COLUMN, "row": ROW, "v0": WIDE}
    writer.say("v0 = pl.mul(x, 0.5)")
    for _ in range(writer.random.randint(3, 12)):
        writer.statement(names, 0)
    made = {name: shape for name, shape in names.items() if name[-1].isdigit()}
    writer.say(f"out = pl.assemble(out, pl.mul({writer.any(made, WIDE)}, 1.0), [0, 0])")
    column = next((name for name, shape in made.items() if shape == COLUMN), "col")
    writer.say(f"top = pl.assemble(top, pl.mul({column}, 1.0), [0, 0])")
    return HEAD + "\n".join(writer.lines) + "\n        return state, out, top\n"


def inputs(seed: int) -> dict[str, object]:
    """Seeded inputs; outputs hold a marker."""
    draw = np.random.default_rng(seed).standard_normal
    wide = {name: draw(WIDE).astype(np.float32) for name in ("x", "y", "state")}
    half = {"w": draw((COLUMNS, COLUMNS)).astype(np.float16), "a": draw(WIDE).astype(np.float16)}
    vectors = {"col": draw(COLUMN).astype(np.float32), "row": draw(ROW).astype(np.float32)}
    outputs = {name: np.full(shape, -77, np.float32) for name, shape in (("out", WIDE), ("top", COLUMN))}
    return {**wide, **half, **vectors, "flag": 3, **outputs}
