"""Random kernels whose cores meet in global memory: stores and loads of scratch tensors in loops and branches."""

import random
from typing import Any

import numpy as np

from tests.expand.stages import HEAD, TO_VEC

KERNEL = (
    HEAD
    + """    @pl.function(type=pl.FunctionType.InCore{attrs})
    def k(
        self,
        x: pl.Tensor[[64, 16], pl.FP16],
        w: pl.Tensor[[16, 32], pl.FP16],
        u: pl.Tensor[[32, 32], pl.FP16],
        t: pl.Tensor[[64, 32], pl.FP32],
        n: pl.Scalar[pl.INDEX],
        a: pl.InOut[pl.Tensor[[64, 32], pl.FP32]],
        b: pl.InOut[pl.Tensor[[64, 32], pl.FP16]],
        y: pl.Out[pl.Tensor[[640, 32], pl.FP32]],
        z: pl.Out[pl.Tensor[[640, 32], pl.FP32]],
    ) -> pl.Tensor[[640, 32], pl.FP32]:
{body}
"""
)


class Writer:
    """Writes one kernel; every decision is drawn from `choose`."""

    def __init__(self, choose: random.Random, split: bool):
        self.choose, self.split = choose, split
        self.lines: list[str] = []
        self.count = 0
        self.counters: list[str] = []
        self.nest: list[str] = []

    def put(self, text: str) -> None:
        self.lines.append("    " * (2 + len(self.nest)) + text)

    def text(self) -> str:
        """The whole program."""
        for _ in range(self.choose.randint(2, 5)):
            self.step()
        self.product("last")
        self.put(f"final = {TO_VEC.format('last')}")
        self.put("out = pl.tile.store(final, [624, 0], y)")
        self.put("return out")
        attrs = ', attrs={"split": pl.SplitMode.UP_DOWN}' if self.split else ""
        return KERNEL.format(attrs=attrs, body="\n".join(self.lines))

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def step(self) -> None:
        kinds = [self.cube_store, self.lane_load, self.lane_store, self.cube_load]
        if len(self.nest) < 3:
            kinds += [self.loop, self.branch]
        self.choose.choice(kinds)()

    def nested(self) -> None:
        for _ in range(self.choose.randint(1, 3)):
            self.step()

    def loop(self) -> None:
        counter = f"i{self.count}"
        self.count += 1
        self.put(f"for {counter} in pl.range({self.choose.choice((1, 2, 3))}):")
        self.counters.append(counter)
        self.nest.append(counter)
        self.nested()
        self.nest.pop()
        self.counters.pop()

    def branch(self) -> None:
        tests = ["n > 2", "n > 100"] + [f"{c} == 0" for c in self.counters] + [f"{c} % 2 == 1" for c in self.counters]
        self.put(f"if {self.choose.choice(tests)}:")
        self.nest.append("")
        self.nested()
        self.nest.pop()

    def row(self) -> str:
        """The first row of a window of 16 rows in a tensor of 64."""
        if self.counters and self.choose.random() < 0.6:
            return f"{self.choose.choice(self.counters)} * {self.choose.choice((8, 16))}"
        return str(self.choose.choice((0, 8, 16, 32)))

    def place(self) -> str:
        """Rows of a result that nothing else writes, unless the same step is repeated."""
        self.count += 1
        return str(16 * (self.count % 36))

    def product(self, name: str) -> None:
        p = self.choose.choice((0, 16, 32, 48))
        self.put(f"{name}m = pl.tile.load(x, [{p}, 0], [16, 16], target_memory=pl.Mem.Mat)")
        self.put(f"{name}l = pl.tile.move({name}m, target_memory=pl.Mem.Left)")
        self.put(f"{name}w = pl.tile.load(w, [0, 0], [16, 32], target_memory=pl.Mem.Mat)")
        self.put(f"{name}r = pl.tile.move({name}w, target_memory=pl.Mem.Right)")
        self.put(f"{name} = pl.tile.matmul({name}l, {name}r)")

    def cube_store(self) -> None:
        name = self.name()
        self.product(name)
        self.put(f"pl.tile.store({name}, [{self.row()}, 0], a)")

    def lane_load(self) -> None:
        name = self.name()
        self.put(f"{name} = pl.tile.load(a, [{self.row()}, 0], [16, 32], target_memory=pl.Mem.Vec)")
        self.put(f"{name}e = pl.tile.adds({name}, 1.0)")
        self.put(f"pl.tile.store({name}e, [{self.place()}, 0], y)")

    def lane_store(self) -> None:
        name = self.name()
        self.put(f"{name} = pl.tile.load(t, [{self.row()}, 0], [16, 32], target_memory=pl.Mem.Vec)")
        self.put(f"{name}h = pl.tile.cast({name}, pl.FP16)")
        self.put(f"pl.tile.store({name}h, [{self.row()}, 0], b)")

    def cube_load(self) -> None:
        name = self.name()
        self.put(f"{name}m = pl.tile.load(b, [{self.row()}, 0], [16, 32], target_memory=pl.Mem.Mat)")
        self.put(f"{name}l = pl.tile.move({name}m, target_memory=pl.Mem.Left)")
        self.put(f"{name}w = pl.tile.load(u, [0, 0], [32, 32], target_memory=pl.Mem.Mat)")
        self.put(f"{name}r = pl.tile.move({name}w, target_memory=pl.Mem.Right)")
        self.put(f"{name} = pl.tile.matmul({name}l, {name}r)")
        self.put(f"pl.tile.store({name}, [{self.place()}, 0], z)")


def random_kernel(seed: int, split: bool) -> str:
    """One kernel."""
    return Writer(random.Random(seed), split).text()


def random_inputs() -> dict[str, Any]:
    """Index-coded inputs and contents of the scratch tensors."""

    def coded(rows: int, columns: int, dtype: Any) -> Any:
        i = np.indices((rows, columns))
        return ((3 * i[0] + 5 * i[1]) % 7 - 3).astype(dtype)

    return {
        "x": coded(64, 16, np.float16),
        "w": coded(16, 32, np.float16),
        "u": coded(32, 32, np.float16),
        "t": coded(64, 32, np.float32),
        "n": 5,
        "a": np.full((64, 32), 9, np.float32),
        "b": np.full((64, 32), 2, np.float16),
        "y": np.full((640, 32), -777, np.float32),
        "z": np.full((640, 32), -777, np.float32),
    }
