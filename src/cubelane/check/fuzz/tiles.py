"""Random mixed tile programs as DSL text: one matmul or two, vector work of every split behaviour, loops, branches.

`generate(choose)` asks `choose(options)` for every decision, so that hypothesis can shrink and a plain generator can
run fast. Whatever comes out is a well-formed program; whether it can be shared out is the pass's business.
"""

from cubelane.check.fuzz import rare_tiles
from cubelane.check.fuzz.program import Choose, Program
from cubelane.check.fuzz.tile_writer import Tile, Writer

UNARY = ("neg", "abs", "relu")
SCALAR = ("adds", "muls", "maximums", "minimums")
BINARY = ("add", "sub", "maximum", "minimum")


class Generator:
    """Makes one program."""

    FAMILY = "tile"

    def __init__(self, choose: Choose):
        self.choose = choose
        self.mode: str | None = choose(("UP_DOWN", "LEFT_RIGHT", "UP_DOWN"))
        self.rows = choose((16, 32, 8, 17, 6, 2, 1))
        self.columns = choose((16, 8, 32, 21, 24, 1))
        ragged = choose((False, False, True))
        self.valid: int | str = choose((self.rows, "n", *range(1, self.rows + 1))) if ragged else self.rows
        self.n = choose(tuple(range(1, self.rows + 1)))
        self.form = choose(("function", "function", "region", "function"))
        if self.form == "function" and choose((False, False, False, True)):
            self.mode = None
        self.tensors = {"u": (self.columns, 16)} if choose((False, False, True)) else {}
        self.w = Writer(choose, rows=self.rows, columns=self.columns)
        self.tiles: list[Tile] = []
        self.stored: list[str] = []

    def program(self) -> Program:
        """The whole text, and the number of its scalar."""
        body = self.body()
        text = "\n".join([*self.head(), *body]) + "\n"
        return Program(text, {"n": self.n}, self.FAMILY)

    def head(self) -> list[str]:
        marks = "" if self.mode is None else f'"split": pl.SplitMode.{self.mode}'
        if self.form == "region":
            marks += ', "split_aiv": True'
        m, n = self.rows, self.columns
        outs = ", ".join(f"{name}: pl.Out[pl.Tensor[[{r}, {c}], pl.FP32]]" for name, r, c in self.w.outputs)
        kinds = ", ".join(f"pl.Tensor[[{r}, {c}], pl.FP32]" for _, r, c in self.w.outputs)
        result = f"tuple[{kinds}]" if len(self.w.outputs) > 1 else kinds
        return [
            "import pypto.language as pl",
            "",
            "@pl.program",
            "class Prog:",
            f"    @pl.function(type=pl.FunctionType.InCore, attrs={{{marks}}})",
            f"    def kernel(self, x: pl.Tensor[[{m}, 16], pl.FP16], w: pl.Tensor[[16, {n}], pl.FP16],",
            f"               t: pl.Tensor[[{2 * m}, {2 * n}], pl.FP32], c: pl.Tensor[[{m}, 1], pl.FP32],",
            f"               b: pl.Tensor[[1, {n}], pl.FP32], g: pl.Tensor[[{n}], pl.FP32], n: pl.Scalar[pl.INDEX],",
            *(f"               {name}: pl.Tensor[{list(shape)}, pl.FP16]," for name, shape in self.tensors.items()),
            f"               {outs}) -> {result}:",
        ]

    def body(self) -> list[str]:
        w, m, n = self.w, self.rows, self.columns
        valid = "" if self.valid == m else f", [{self.valid}, 16]"
        w.put(f"xm = pl.tile.load(x, [0, 0], [{m}, 16]{valid}, target_memory=pl.Mem.Mat)")
        w.put("xl = pl.tile.move(xm, target_memory=pl.Mem.Left)")
        w.put(f"wm = pl.tile.load(w, [0, 0], [16, {n}], target_memory=pl.Mem.Mat)")
        w.put("wr = pl.tile.move(wm, target_memory=pl.Mem.Right)")
        text, box = rare_tiles.product(w, m, n)
        w.put(f"acc = {text}")
        if self.form == "region":
            w.put(f"for lane in pl.split_aiv(2, mode=pl.SplitMode.{self.mode}):")
            w.indent += 1
        v = Tile("v", box, n, (self.valid, n))
        kwargs = "blayout=pl.TileLayout.row_major, slayout=pl.TileLayout.none_box"
        if self.form == "region" and self.choose((True, False)):
            v = Tile("v", m, n, (m, n))
            self.tiles.append(w.let(v, f"pl.tile.load(t, [0, 0], [{m}, {n}], target_memory=pl.Mem.Vec)"))
        else:
            self.tiles.append(w.let(v, f"pl.tile.move(acc, target_memory=pl.Mem.Vec, {kwargs})"))
        for _ in range(self.choose((3, 1, 2, 4, 6, 8))):
            self.step(depth=0)
        for _ in range(self.choose((1, 2))):
            self.stored.append(self.store(self.choose(self.tiles)))
        if self.form == "region":
            w.indent -= 1
        w.put(f"return {', '.join(self.stored)}")
        return w.lines

    def store(self, tile: Tile) -> str:
        output = f"y{len(self.w.outputs)}"
        at = self.choose(((0, 0), (0, 0), (3, 2)))
        self.w.outputs.append((output, tile.rows + at[0], tile.columns + at[1]))
        name = self.w.name("o")
        self.w.put(f"{name} = pl.tile.store({tile.name}, [{at[0]}, {at[1]}], {output})")
        return name

    def step(self, depth: int) -> None:
        kinds = [self.elementwise, self.binary, self.load, self.full, self.reduce, self.expand, self.valid_shape]
        kinds += [self.reshape, self.slice, self.pad, self.vector, self.join, self.paste, self.select, self.bits]
        kinds += [*(self.declared,) * 8, self.rare, self.rare, self.rare]
        if depth < 2:
            kinds += [self.loop, self.branch, self.while_loop, self.store_loop]
        if self.tensors and self.form == "function":
            kinds += [self.to_cube]
        self.choose(kinds)()

    def declared(self) -> None:
        """A call of any elementwise or reducing op; what is right to a few bits only goes straight to an output."""
        outside = self.w.indent == 2 + (self.form == "region")
        tile = rare_tiles.declared(self.w, self.tiles, rounded=outside and self.FAMILY == "tile")
        if tile is not None:
            self.stored.append(self.store(tile))

    def rare(self) -> None:
        """An op of another kind that kernels seldom have."""
        self.choose(rare_tiles.STEPS)(self.w, self.tiles)

    def add(self, rows: int, columns: int, valid: tuple[int | str, int | str], text: str) -> Tile:
        tile = self.w.let(Tile(self.w.name(), rows, columns, valid), text)
        self.tiles.append(tile)
        return tile

    def same(self, tile: Tile, text: str) -> Tile:
        return self.add(tile.rows, tile.columns, tile.valid, text)

    def elementwise(self) -> None:
        tile = self.choose(self.tiles)
        op = self.choose((*UNARY, *SCALAR))
        self.same(tile, f"pl.tile.{op}({tile.name}{', 0.5' if op in SCALAR else ''})")

    def binary(self) -> None:
        a = self.choose(self.tiles)
        fits = [t for t in self.tiles if (t.rows, t.columns, t.valid) == (a.rows, a.columns, a.valid)]
        self.same(a, f"pl.tile.{self.choose(BINARY)}({a.name}, {self.choose(fits).name})")

    def load(self) -> None:
        m, n = self.rows, self.columns
        at = self.choose(((0, 0), (m, 0), (1, n)))
        valid: tuple[int | str, int | str] = (self.choose((m, self.valid, "n")), n)
        stated = "" if valid == (m, n) else f", [{valid[0]}, {n}]"
        self.add(m, n, valid, f"pl.tile.load(t, [{at[0]}, {at[1]}], [{m}, {n}]{stated}, target_memory=pl.Mem.Vec)")

    def vector(self) -> None:
        m, n = self.rows, self.columns
        which = self.choose(("c", "b", "g"))
        if which == "c":
            self.add(m, 1, (m, 1), f"pl.tile.load(c, [0, 0], [{m}, 1], target_memory=pl.Mem.Vec)")
        elif which == "b":
            self.add(1, n, (1, n), f"pl.tile.load(b, [0, 0], [1, {n}], target_memory=pl.Mem.Vec)")
        else:
            one = self.w.name("g")
            self.w.put(f"{one} = pl.tile.load(g, [0], [{n}], target_memory=pl.Mem.Vec)")
            self.add(1, n, (1, n), f"pl.tile.reshape({one}, [1, {n}])")

    def full(self) -> None:
        m, n = self.choose(((self.rows, self.columns), (self.rows, 1), (1, self.columns)))
        self.add(m, n, (m, n), f"pl.tile.full([{m}, {n}], dtype=pl.FP32, value=1.5)")

    def reduce(self) -> None:
        tile = self.choose(self.tiles)
        if self.choose((True, False)):
            tmp = self.w.name("s")
            self.w.put(
                f"{tmp} = pl.tile.create([{tile.rows}, {tile.columns}], dtype=pl.FP32, target_memory=pl.Mem.Vec)"
            )
            op = self.choose(("row_sum", "row_max", "row_min"))
            self.add(tile.rows, 1, (tile.valid[0], 1), f"pl.tile.{op}({tile.name}, {tmp})")
        else:
            op = self.choose(("col_sum", "col_max", "col_min"))
            self.add(1, tile.columns, (1, tile.valid[1]), f"pl.tile.{op}({tile.name})")

    def expand(self) -> None:
        tile = self.choose(self.tiles)
        columns = [t for t in self.tiles if t.rows == tile.rows and t.columns == 1 and t.valid[0] == tile.valid[0]]
        rows = [t for t in self.tiles if t.rows == 1 and t.columns == tile.columns and t.valid[1] == tile.valid[1]]
        if columns and self.choose((True, False)):
            op = self.choose(("row_expand_mul", "row_expand_sub", "row_expand_add"))
            self.same(tile, f"pl.tile.{op}({tile.name}, {self.choose(columns).name})")
        elif rows:
            op = self.choose(("col_expand_mul", "col_expand_sub", "col_expand_add"))
            self.same(tile, f"pl.tile.{op}({tile.name}, {self.choose(rows).name})")

    def valid_shape(self) -> None:
        whole = [t for t in self.tiles if t.full]
        if not whole:
            return
        tile = self.choose(whole)
        limit = ["n"] if tile.rows == self.rows else []
        rows = self.choose((tile.rows, *limit, max(1, tile.rows // 2), max(1, tile.rows - 1)))
        self.add(
            tile.rows,
            tile.columns,
            (rows, tile.columns),
            f"pl.tile.set_validshape({tile.name}, {rows}, {tile.columns})",
        )

    def reshape(self) -> None:
        tile = self.choose(self.tiles)
        r, c = tile.rows, tile.columns
        if tile.full:
            shapes = [(c, r), (1, r * c), (r * c, 1), (r, c)] + ([(r // 2, c * 2)] if r % 2 == 0 else [])
        elif 1 in (r, c):
            shapes = [(c, r), (r, c)]
        else:
            shapes = [(r, c)]
        rows, columns = self.choose(shapes)
        turned = {r: tile.valid[0], c: tile.valid[1]}
        valid = (rows, columns) if tile.full else (turned.get(rows, rows), turned.get(columns, columns))
        if tile.full or rows == r or 1 in (rows, columns):
            if not tile.full:
                valid = tile.valid if (rows, columns) == (r, c) else (tile.valid[1], tile.valid[0])
            self.add(rows, columns, valid, f"pl.tile.reshape({tile.name}, [{rows}, {columns}])")

    def slice(self) -> None:
        tile = self.choose(self.tiles)
        if not tile.full:
            return
        rows, columns = self.choose(((tile.rows, tile.columns), (max(1, tile.rows // 2), tile.columns), (tile.rows, 1)))
        r0 = self.choose((0, tile.rows - rows))
        c0 = self.choose((0, tile.columns - columns))
        self.add(rows, columns, (rows, columns), f"pl.tile.slice({tile.name}, [{rows}, {columns}], [{r0}, {c0}])")

    def pad(self) -> None:
        tile = self.choose(self.tiles)
        self.add(tile.rows, tile.columns, (tile.rows, tile.columns), f"pl.tile.fillpad({tile.name})")

    def loop(self) -> None:
        seed = self.choose(self.tiles)
        index, carried, result = self.w.name("i"), self.w.name("c"), self.w.name("r")
        self.w.put(f"for {index}, ({carried},) in pl.range(2, init_values=({seed.name},)):")
        inner = Tile(carried, seed.rows, seed.columns, seed.valid)
        handed = self.nested(inner)
        self.w.put(f"    {result} = pl.yield_({handed.name})")
        self.tiles.append(Tile(result, seed.rows, seed.columns, seed.valid))

    def join(self) -> None:
        a = self.choose(self.tiles)
        fits = [t for t in self.tiles if t.rows == a.rows and t.full]
        if a.full and fits:
            b = self.choose(fits)
            columns = a.columns + b.columns
            self.add(a.rows, columns, (a.rows, columns), f"pl.tile.concat({a.name}, {b.name})")

    def paste(self) -> None:
        a = self.choose(self.tiles)
        fits = [t for t in self.tiles if t.rows <= a.rows and t.columns <= a.columns and t.full and a.full]
        if fits:
            b = self.choose(fits)
            at = (self.choose((0, a.rows - b.rows)), self.choose((0, a.columns - b.columns)))
            self.same(a, f"pl.tile.assemble({a.name}, {b.name}, [{at[0]}, {at[1]}])")

    def select(self) -> None:
        a = self.choose(self.tiles)
        fits = [t for t in self.tiles if (t.rows, t.columns, t.valid) == (a.rows, a.columns, a.valid)]
        b, mask, tmp = self.choose(fits), self.w.name("k"), self.w.name("s")
        self.w.put(f"{mask} = pl.tile.cmp({a.name}, {b.name}, cmp_type={self.choose((2, 4))})")
        self.w.put(f"{tmp} = pl.tile.create([{a.rows}, {a.columns}], dtype=pl.FP32, target_memory=pl.Mem.Vec)")
        self.same(a, f"pl.tile.sel({mask}, {a.name}, {b.name}, {tmp})")

    def bits(self) -> None:
        tile = self.choose(self.tiles)
        name = self.w.name("h")
        self.w.put(f"{name} = pl.tile.reinterpret_view({tile.name}, dtype=pl.INT16)")
        self.same(tile, f"pl.tile.reinterpret_view({name}, dtype=pl.FP32)")

    def to_cube(self) -> None:
        fits = [t for t in self.tiles if (t.rows, t.columns) == (self.rows, self.columns)]
        if not fits:
            return
        tile = self.choose(fits)
        half, left, z = self.w.name("h"), self.w.name("l"), self.w.name("z")
        u = self.w.name("u")
        self.w.put(f"{half} = pl.tile.cast({tile.name}, pl.FP16)")
        self.w.put(f"{left} = pl.tile.move({half}, target_memory=pl.Mem.Left)")
        self.w.put(f"{u}m = pl.tile.load(u, [0, 0], [{self.columns}, 16], target_memory=pl.Mem.Mat)")
        self.w.put(f"{u}r = pl.tile.move({u}m, target_memory=pl.Mem.Right)")
        self.w.put(f"{z} = pl.tile.matmul({left}, {u}r)")
        kwargs = "blayout=pl.TileLayout.row_major, slayout=pl.TileLayout.none_box"
        valid = (tile.valid[0], 16)
        self.add(tile.rows, 16, valid, f"pl.tile.move({z}, target_memory=pl.Mem.Vec, {kwargs})")

    def while_loop(self) -> None:
        seed = self.choose(self.tiles)
        index, carried, result = self.w.name("i"), self.w.name("c"), self.w.name("r")
        self.w.put(f"for ({index}, {carried}) in pl.while_(init_values=(0, {seed.name})):")
        self.w.put(f"    pl.cond({index} < {self.choose((2, 0, 1))})")
        handed = self.nested(Tile(carried, seed.rows, seed.columns, seed.valid))
        self.w.put(f"    {index}n = {index} + 1")
        self.w.put(f"    {index}r, {result} = pl.yield_({index}n, {handed.name})")
        self.tiles.append(Tile(result, seed.rows, seed.columns, seed.valid))

    def store_loop(self) -> None:
        tile = self.choose(self.tiles)
        output = f"y{len(self.w.outputs)}"
        step = self.choose((tile.rows, tile.rows, tile.rows + 3, max(1, tile.rows // 2)))
        self.w.outputs.append((output, tile.rows + 2 * step, tile.columns))
        index, carried, handed, result = (self.w.name(s) for s in ("i", "t", "o", "o"))
        self.w.put(f"for {index}, ({carried},) in pl.range(3, init_values=({output},)):")
        self.w.put(f"    {handed} = pl.tile.store({tile.name}, [{index} * {step}, 0], {carried})")
        self.w.put(f"    {result} = pl.yield_({handed})")
        self.stored.append(result)

    def nested(self, extra: Tile | None) -> Tile:
        """A body one level deeper; gives a tile of the type of the first one."""
        before, others = list(self.tiles), list(self.w.others)
        self.w.indent += 1
        if extra is not None:
            self.tiles.append(extra)
        like = extra if extra is not None else self.choose(self.tiles)
        for _ in range(self.choose((1, 2))):
            self.choose((self.elementwise, self.binary, self.load, self.expand, self.declared, self.declared))()
        fits = [t for t in self.tiles if (t.rows, t.columns, t.valid) == (like.rows, like.columns, like.valid)]
        chosen = self.choose(fits)
        op = self.choose(UNARY)
        made = self.w.let(Tile(self.w.name(), like.rows, like.columns, like.valid), f"pl.tile.{op}({chosen.name})")
        self.w.indent -= 1
        self.tiles, self.w.others = before, others
        return made

    def branch(self) -> None:
        like = self.choose(self.tiles)
        result = self.w.name("r")
        self.w.put(f"if n > {self.choose((0, 4, 100))}:")
        first = self.nested(Tile(like.name, like.rows, like.columns, like.valid))
        self.w.put(f"    {result} = pl.yield_({first.name})")
        self.w.put("else:")
        self.w.put(f"    {result} = pl.yield_({like.name})")
        self.tiles.append(Tile(result, like.rows, like.columns, like.valid))


class ExplicitGenerator(Generator):
    """A region that starts from the lane's half, as an author writes it; every load and store names the lane."""

    FAMILY = "tile region"

    def __init__(self, choose: Choose):
        super().__init__(choose)
        self.form, self.tensors, self.mode = "region", {}, self.mode or "UP_DOWN"
        self.axis = 0 if self.mode == "UP_DOWN" else 1
        box = [self.rows, self.columns]
        self.half = (box[self.axis] + 1) // 2
        box[self.axis] = self.half
        self.box = (box[0], box[1])

    def at(self, offset: int = 0) -> str:
        """The lane's place, as a list of offsets."""
        mine = f"{offset} + lane * {self.half}" if offset else f"lane * {self.half}"
        return f"[{mine}, 0]" if self.axis == 0 else f"[0, {mine}]"

    def body(self) -> list[str]:
        w, m, n = self.w, self.rows, self.columns
        valid = "" if self.valid == m else f", [{self.valid}, 16]"
        w.put(f"xm = pl.tile.load(x, [0, 0], [{m}, 16]{valid}, target_memory=pl.Mem.Mat)")
        w.put("xl = pl.tile.move(xm, target_memory=pl.Mem.Left)")
        w.put(f"wm = pl.tile.load(w, [0, 0], [16, {n}], target_memory=pl.Mem.Mat)")
        w.put("wr = pl.tile.move(wm, target_memory=pl.Mem.Right)")
        w.put(f"acc = {rare_tiles.product(w, m, n, row_forms=False)[0]}")
        w.put(f"for lane in pl.split_aiv(2, mode=pl.SplitMode.{self.mode}):")
        w.indent += 1
        ragged = self.valid != m or (m, n)[self.axis] % 2 == 1
        half = Tile("h", *self.box, ("ragged", "ragged") if ragged else self.box)
        self.tiles.append(w.let(half, "pl.aiv_shard(acc)"))
        for _ in range(self.choose((2, 1, 3, 5))):
            self.step(depth=0)
        for _ in range(self.choose((1, 2))):
            self.stored.append(self.store(self.choose([t for t in self.tiles if (t.rows, t.columns) == self.box])))
        w.indent -= 1
        w.put(f"return {', '.join(self.stored)}")
        return w.lines

    def step(self, depth: int) -> None:
        kinds = [self.elementwise, self.binary, self.load, self.full, self.reduce, self.expand, self.pad]
        self.choose([*kinds, self.declared, self.declared, self.loop, self.branch, self.while_loop])()

    def store(self, tile: Tile) -> str:
        output, name = f"y{len(self.w.outputs)}", self.w.name("o")
        extent = [tile.rows, tile.columns]
        extent[self.axis] *= 2
        self.w.outputs.append((output, extent[0], extent[1]))
        self.w.put(f"{name} = pl.tile.store({tile.name}, {self.at()}, {output})")
        return name

    def load(self) -> None:
        m, n = self.box
        self.add(m, n, (m, n), f"pl.tile.load(t, {self.at(self.choose((0, 1)))}, [{m}, {n}], target_memory=pl.Mem.Vec)")

    def full(self) -> None:
        self.add(*self.box, self.box, f"pl.tile.full([{self.box[0]}, {self.box[1]}], dtype=pl.FP32, value=1.5)")

    def reduce(self) -> None:
        tile = self.choose(self.tiles)
        if self.axis == 0:
            tmp = self.w.name("s")
            box = f"[{tile.rows}, {tile.columns}]"
            self.w.put(f"{tmp} = pl.tile.create({box}, dtype=pl.FP32, target_memory=pl.Mem.Vec)")
            self.add(tile.rows, 1, (tile.valid[0], 1), f"pl.tile.row_max({tile.name}, {tmp})")
        else:
            self.add(1, tile.columns, (1, tile.valid[1]), f"pl.tile.col_max({tile.name})")


def generate_explicit(choose: Choose) -> Program:
    """One random program in hand-written region form."""
    return ExplicitGenerator(choose).program()


def generate(choose: Choose) -> Program:
    """One random program, split by its function's mode or as a region with a full-width body."""
    return Generator(choose).program()
