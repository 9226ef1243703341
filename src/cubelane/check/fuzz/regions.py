"""Random kernels with `pl.split_aiv` regions: full-width bodies, bodies written for a lane, and task-parallel ones."""

from cubelane.check.fuzz.program import Choose, Program
from cubelane.check.fuzz.tensor_body import BOTH, OUTPUT, Value
from cubelane.check.fuzz.tensors import TensorGenerator

FULL, LANE, WHOLE = "full width", "a lane's part", "no split"


class RegionGenerator(TensorGenerator):
    """Makes one kernel whose scopes hold regions, each with a mode and a body shape of its own."""

    FAMILY = "tensor region"

    def __init__(self, choose: Choose):
        super().__init__(choose)
        self.mode = None
        self.axis = 0
        self.lane = ""

    def scope(self) -> None:
        """Products, and regions that work on them; what a region gathers feeds the next product."""
        b = self.b
        b.put(f"with pl.at(level=pl.Level.CORE_GROUP{self.optimizations()}):")
        b.indent += 1
        b.values = []
        crossing = self.first_product_on_cube()
        looped = self.choose((False, False, True))
        if looped:
            index = b.fresh("i")
            b.put(f"for {index} in pl.range({self.choose(('2', '1', 'pl.min(n, 2)'))}):")
            b.indent += 1
            b.indices.append(index)
            crossing = self.choose((crossing, self.first_product_on_cube()))
        for _ in range(self.choose((1, 1, 2, 3))):
            crossing = self.region(crossing)
        if looped:
            b.indent -= 1
            b.indices.pop()
        b.indent -= 1

    def first_product_on_cube(self) -> Value:
        """A product that no vector work follows outside of the regions."""
        dtype = self.choose(("FP16", "BF16"))
        a, w = self.b.tensor((self.m, self.k), dtype), self.b.tensor((self.k, self.n), dtype)
        text = f"pl.matmul({a.name}, {w.name}, out_dtype=pl.FP32)"
        rows = self.choose((self.m, self.m, self.m, self.m - 1, max(1, self.m // 2), "n"))
        if rows == self.m:
            return self.b.let(self.m, self.n, text)
        part = self.b.fresh("x")
        self.b.put(f"{part} = pl.slice({a.name}, [{self.m}, {self.k}], [0, 0], valid_shape=[{rows}, {self.k}])")
        return self.b.let(self.m, self.n, text.replace(a.name, part, 1), whole=False)

    def region(self, crossing: Value) -> Value:
        """One region; gives the value that crosses into the next one."""
        shape = self.choose((FULL, LANE, LANE, WHOLE))
        mode = "NONE" if shape is WHOLE else self.choose(("UP_DOWN", "UP_DOWN", "LEFT_RIGHT"))
        self.axis, self.lane = (1 if mode == "LEFT_RIGHT" else 0), self.b.fresh("lane")
        self.b.put(f"for {self.lane} in pl.split_aiv(2, mode=pl.SplitMode.{mode}):")
        self.b.indent += 1
        outer, self.b.values, self.rounded = self.b.values, [], shape is FULL
        body = {FULL: self.full_width, LANE: self.lane_part, WHOLE: self.task}[shape]
        gathered = body(crossing)
        self.b.indent -= 1
        self.b.values = outer
        if gathered is None:
            return crossing
        other = self.b.tensor((gathered.columns, 16), "BF16")
        text = f"pl.matmul({gathered.name}, {other.name}, out_dtype=pl.FP32)"
        return self.b.let(gathered.rows, 16, text, whole=gathered.whole)

    def seldom(self) -> bool:
        """For what a refusal is expected of."""
        return self.choose((False,) * 15 + (True,))

    def product(self) -> None:
        """Cube work has no place in a region; vector work stands for it nearly always."""
        super().product() if self.seldom() else self.binary()

    def full_width(self, crossing: Value) -> Value | None:
        """The body as if there were one lane; the pass shares it out."""
        if self.seldom():
            self.same(crossing, f"pl.mul({crossing.name}, 0.125)")
        else:
            source = self.b.tensor(crossing.shape)
            self.b.let(*crossing.shape, f"pl.slice({source.name}, {list(crossing.shape)}, [0, 0])")
        for _ in range(self.choose((2, 1, 3, 5))):
            self.step(0)
        for _ in range(self.choose((1, 1, 2))):
            self.store(self.choose(self.b.floats()))
        return None

    def lane_part(self, crossing: Value) -> Value | None:
        """The body for one lane: its half of what crosses, its rows of parameters and outputs."""
        box = [*crossing.shape]
        even = box[self.axis] % 2 == 0
        box[self.axis] = (box[self.axis] + 1) // 2
        part = self.b.let(box[0], box[1], f"pl.aiv_shard({crossing.name})", whole=crossing.whole and even)
        self.same(part, f"pl.mul({part.name}, 0.125)")
        for _ in range(self.choose((1, 2, 3, 0))):
            self.lane_step(part)
        stored = self.choose([v for v in self.b.floats() if v.shape == part.shape])
        self.lane_store(stored)
        if self.choose((True, False)) and part.whole:
            whole = [v for v in self.b.floats() if v.shape == part.shape and v.whole]
            rows, columns = crossing.shape
            text = f"pl.aic_gather(pl.cast({self.choose(whole).name}, target_type=pl.BF16))"
            return self.b.let(rows, columns, text, "BF16")
        return None

    def task(self, crossing: Value) -> Value | None:
        """A body without split: each lane works on whole tiles of its own."""
        rows, columns = crossing.shape
        if self.seldom():
            self.b.let(rows, columns, f"pl.aiv_shard({crossing.name})", whole=crossing.whole)
        else:
            source = self.b.tensor((2 * rows, columns))
            self.b.let(rows, columns, f"pl.slice({source.name}, [{rows}, {columns}], [{self.lane} * {rows}, 0])")
        for _ in range(self.choose((1, 2, 3))):
            self.step(0)
        value = self.choose(self.b.floats())
        output = self.b.tensor((2 * value.rows, value.columns), "FP32", OUTPUT).name
        self.b.put(f"{output} = pl.assemble({output}, {value.name}, [{self.lane} * {value.rows}, 0])")
        return None

    # --- one lane's part -----------------------------------------------------------------------------------------

    def lane_step(self, part: Value) -> None:
        """A statement that keeps to the lane's part."""
        makers = [self.unary, self.scaled, self.binary, self.slow, self.expand, self.convert, *(self.declared,) * 3]
        makers += [lambda: self.lane_load(part), lambda: self.lane_reduce(part), lambda: self.lane_reload(part)]
        self.choose([*makers, lambda: self.lane_loop(part), lambda: self.lane_branch(part)])()

    def at(self, part: Value, offset: int = 0) -> str:
        """The lane's place in a tensor of both halves."""
        mine = f"{self.lane} * {part.shape[self.axis]}" + (f" + {offset}" if offset else "")
        return f"[{mine}, 0]" if self.axis == 0 else f"[0, {mine}]"

    def both(self, part: Value, more: int = 0) -> tuple[int, int]:
        """The box of both halves."""
        box = [*part.shape]
        box[self.axis] = 2 * box[self.axis] + more
        return box[0], box[1]

    def lane_load(self, part: Value) -> None:
        more = self.choose((0, 2))
        source = self.b.tensor(self.both(part, more))
        self.b.let(*part.shape, f"pl.slice({source.name}, {list(part.shape)}, {self.at(part, more)})")

    def lane_reduce(self, part: Value) -> None:
        value = self.choose([v for v in self.b.floats() if v.shape == part.shape])
        word = self.choose(("max", "sum", "min"))
        if self.axis == 0:
            self.b.let(value.rows, 1, f"pl.row_{word}({value.name})", whole=value.whole)
        elif value.whole:
            self.b.let(1, value.columns, f"pl.col_{word}({value.name})")

    def lane_reload(self, part: Value) -> None:
        """Stored and read again: the lane's own rows, or (now and then) those of the other lane."""
        value = self.choose([v for v in self.b.floats() if v.shape == part.shape])
        if value.whole:
            s = self.b.tensor(self.both(part), "FP32", BOTH).name
            place = self.at(part)
            self.b.put(f"{s} = pl.assemble({s}, {value.name}, {place})")
            self.b.let(
                *part.shape, f"pl.slice({s}, {list(part.shape)}, {self.choose((place, place, place, '[0, 0]'))})"
            )

    def lane_store(self, value: Value) -> None:
        output = self.b.tensor(self.both(value), "FP32", OUTPUT).name
        self.b.put(f"{output} = pl.assemble({output}, {value.name}, {self.at(value)})")

    def lane_loop(self, part: Value) -> None:
        carried = self.choose([v for v in self.b.floats() if v.shape == part.shape])
        self.b.put(f"for {self.b.fresh('i')} in pl.range({self.choose(('2', '1', '0', 'pl.min(n, 3)'))}):")
        self.lane_body(part, carried)

    def lane_branch(self, part: Value) -> None:
        carried = self.choose([v for v in self.b.floats() if v.shape == part.shape])
        self.b.put(f"if {self.choose(('n > 2', 'WIDE == 1', f'{self.lane} == 0'))}:")
        self.lane_body(part, carried)

    def lane_body(self, part: Value, carried: Value) -> None:
        before = list(self.b.values)
        self.b.indent += 1
        self.choose((self.unary, self.scaled, lambda: self.lane_load(part)))()
        other = self.choose(self.b.like(carried))
        self.b.put(f"{carried.name} = pl.add({carried.name}, {other.name})")
        self.b.indent -= 1
        self.b.values = before


def generate(choose: Choose) -> Program:
    """One random kernel with regions."""
    return RegionGenerator(choose).program()
