"""Steps that bring every op on tiles into random kernels, in every element type; most come from declarations."""

from cubelane.check.fuzz.calls import ROUNDED, AnyType, Call, Operand, draw, drawable, dtype_of
from cubelane.check.fuzz.tile_writer import Tile, Writer
from cubelane.ir.types import DTYPES, DYNAMIC, MemorySpace, TileType

NARROW = ("FP16", "BF16", "INT32", "INT32", "INT16", "INT8", "UINT8")
"""Element types of the lanes beside FP32."""

ROW_MAJOR = "blayout=pl.TileLayout.row_major, slayout=pl.TileLayout.none_box"


def operand(tile: Tile) -> Operand:
    """A tile as an operand of a drawn call."""
    valid = [v if isinstance(v, int) else DYNAMIC for v in tile.valid]
    return Operand(tile.name, TileType.make((tile.rows, tile.columns), DTYPES["FP32"], MemorySpace.VEC, valid))


def declared(w: Writer, tiles: list[Tile], *, rounded: bool = True) -> Tile | None:
    """A call drawn from what an op declares; without `rounded` none whose last bits are the machine's own business."""
    op = w.choose(drawable("tile"))
    call = draw(w.choose, op, [*map(operand, tiles), *w.others])
    if call is None:  # it takes what nobody has made yet
        w.choose((converted, converted, vector))(w, tiles)
        call = draw(w.choose, op, [*map(operand, tiles), *w.others])
    if call is None or (call.spelling in ROUNDED and not rounded):
        return None
    names = {name: _within(w, call, name, operand) for name, operand in call.operands.items()}
    names |= {name: _scratch(w, room) for name, room in call.scratch.items()}
    made = w.name()
    w.put(f"{made} = {call.text(names)}")
    if call.spelling in ROUNDED:
        return _tile(made, call, tiles)
    if dtype_of(call.result) != "FP32":
        widened(w, tiles, Operand(made, call.result), call)
    elif tile := _tile(made, call, tiles):
        tiles.append(tile)
    return None


def _within(w: Writer, call: Call, name: str, operand: Operand) -> str:
    """The operand, brought into the domain of the op."""
    domain = call.domain(name, operand.type.dtype)
    if domain is None:
        return operand.name
    low, high = domain
    below, within = w.name(), w.name()
    w.put(f"{below} = pl.tile.minimums({operand.name}, {high})")
    w.put(f"{within} = pl.tile.maximums({below}, {low})")
    return within


def _scratch(w: Writer, room: AnyType) -> str:
    name = w.name("s")
    w.put(f"{name} = pl.tile.create({list(room.shape)}, dtype=pl.{dtype_of(room)}, target_memory=pl.Mem.Vec)")
    return name


def _tile(name: str, call: Call, tiles: list[Tile]) -> Tile | None:
    """The result as a tile in scope; None where nobody can say by name how much of it is valid."""
    type_ = call.result
    assert isinstance(type_, TileType)
    rows, columns = type_.shape
    known = {t.name: t for t in tiles}
    operands = [known[o.name] for o in call.operands.values() if o.name in known]
    valid: list[int | str] = []
    for axis, extent in enumerate(type_.valid):
        named = [t.valid[axis] for t in operands if (t.rows, t.columns)[axis] == type_.shape[axis]]
        if extent == DYNAMIC and not named:
            return None
        valid.append(named[0] if extent == DYNAMIC else extent)
    return Tile(name, rows, columns, (valid[0], valid[1]))


def widened(w: Writer, tiles: list[Tile], narrow: Operand, call: Call | None = None) -> None:
    """A value of another type stays in scope; half of the time it comes back as FP32 too, so that it can be stored."""
    type_ = narrow.type
    assert isinstance(type_, TileType)
    w.others.append(narrow)
    if DYNAMIC not in type_.valid and w.choose((True, False)) and (call is None or not call.spelling.startswith("cmp")):
        name, (rows, columns) = w.name(), type_.shape
        w.put(f"{name} = pl.tile.cast({narrow.name}, pl.FP32)")
        tiles.append(Tile(name, rows, columns, (type_.valid[0], type_.valid[1])))


def converted(w: Writer, tiles: list[Tile]) -> None:
    """A tile in another element type."""
    tile, dtype = w.choose(tiles), w.choose(NARROW)
    name, mode = w.name("h"), w.choose(("rint", "round", "floor"))
    w.put(f'{name} = pl.tile.cast({tile.name}, pl.{dtype}, mode="{mode}")')
    type_ = operand(tile).type
    assert isinstance(type_, TileType)
    widened(w, tiles, Operand(name, TileType.make(type_.shape, DTYPES[dtype], MemorySpace.VEC, type_.valid)))


def vector(w: Writer, tiles: list[Tile]) -> None:
    """One value for every row, or for every column."""
    rows, columns, source = w.choose(((w.rows, 1, "c"), (1, w.columns, "b")))
    text = f"pl.tile.load({source}, [0, 0], [{rows}, {columns}], target_memory=pl.Mem.Vec)"
    tiles.append(w.let(Tile(w.name(), rows, columns, (rows, columns)), text))


def cell(w: Writer, tiles: list[Tile]) -> None:
    """A cell read, or replaced."""
    tile = w.choose([t for t in tiles if t.full] or tiles)
    at = (w.choose((0, tile.rows - 1)), w.choose((0, tile.columns - 1)))
    if not tile.full:
        return
    if w.choose((True, False)):
        read = w.name("q")
        w.put(f"{read} = pl.tile.read({tile.name}, [{at[0]}, {at[1]}])")
        text = f"pl.tile.adds({tile.name}, {read})"
    else:
        text = f"pl.tile.write({tile.name}, [{at[0]}, {at[1]}], 2.5)"
    tiles.append(w.let(Tile(w.name(), tile.rows, tile.columns, tile.valid), text))


def gathered_row(w: Writer, tiles: list[Tile]) -> None:
    """A row of a tensor put into a tile."""
    tile = w.choose([t for t in tiles if t.full] or tiles)
    if tile.full and tile.columns == w.columns:
        row, source = w.choose((0, tile.rows - 1)), w.choose((0, 1))
        text = f"pl.tile.gather_row({tile.name}, t, [{row}, 0], [{source}, 0], [1, {tile.columns}])"
        tiles.append(w.let(Tile(w.name(), tile.rows, tile.columns, tile.valid), text))


def positional(w: Writer, tiles: list[Tile]) -> None:
    """Cells whose value is their place: counted, on one side of a diagonal, random words."""
    tile = w.choose(tiles)
    box = [tile.rows, tile.columns]
    which = w.choose(("ci", "tri", "random"))
    name = w.name("k")
    if which == "tri":
        w.put(f"{name} = pl.tile.tri({w.choose((0, 1, -1))}, {box}, dtype=pl.FP32)")
        tiles.append(Tile(name, box[0], box[1], (box[0], box[1])))
        return
    dtype = "INT32" if which == "ci" else "UINT32"
    box = [1, max(2, tile.columns)] if which == "ci" else box
    text = (
        f"pl.tile.ci(3, {box}, dtype=pl.INT32)"
        if which == "ci"
        else f"pl.tile.random(1, 2, 3, 4, 5, 6, {box}, dtype=pl.UINT32)"
    )
    w.put(f"{name} = {text}")
    w.others.append(Operand(name, TileType.make(box, DTYPES[dtype], MemorySpace.VEC)))


def padded(w: Writer, tiles: list[Tile]) -> None:
    """Invalid cells filled in place, or a larger box filled around a tile."""
    tile = w.choose(tiles)
    name = w.name()
    if w.choose((True, False)):
        tiles.append(
            w.let(
                Tile(name, tile.rows, tile.columns, (tile.rows, tile.columns)), f"pl.tile.fillpad_inplace({tile.name})"
            )
        )
    else:
        rows, columns = tile.rows + w.choose((0, 8)), tile.columns + w.choose((0, 8))
        tiles.append(
            w.let(
                Tile(name, rows, columns, (rows, columns)), f"pl.tile.fillpad_expand({tile.name}, [{rows}, {columns}])"
            )
        )


def turned(w: Writer, tiles: list[Tile]) -> None:
    """Rows and columns exchanged, by a copy or by the way of looking at it."""
    tile = w.choose([t for t in tiles if t.full] or tiles)
    if not tile.full:
        return
    name, r, c = w.name(), tile.rows, tile.columns
    if w.choose((True, False)):
        tiles.append(w.let(Tile(name, c, r, (c, r)), f"pl.tile.transpose({tile.name}, 0, 1)"))
        return
    view = w.name()
    w.put(f"{view} = pl.tile.transpose_view({tile.name})")
    tiles.append(w.let(Tile(name, c, r, (c, r)), f"pl.tile.move({view}, target_memory=pl.Mem.Vec, {ROW_MAJOR})"))


def extracted(w: Writer, tiles: list[Tile]) -> None:
    """A window of a tile, copied."""
    tile = w.choose([t for t in tiles if t.full] or tiles)
    if tile.full:
        rows, columns = (
            w.choose((tile.rows, max(1, tile.rows // 2))),
            w.choose((tile.columns, max(1, tile.columns // 2))),
        )
        text = f"pl.tile.extract({tile.name}, {tile.rows - rows}, 0, [{rows}, {columns}], target_memory=pl.Mem.Vec)"
        tiles.append(w.let(Tile(w.name(), rows, columns, (rows, columns)), text))


def block_number(w: Writer, tiles: list[Tile]) -> None:
    """Which core group runs this, of how many: here the first of one."""
    place, count = w.name("q"), w.name("q")
    rows, columns = w.rows, w.columns
    w.put(f"{place} = pl.tile.get_block_idx()")
    w.put(f"{count} = pl.tile.get_block_num()")
    text = f"pl.tile.load(t, [{place} * {rows} + {count}, 0], [{rows}, {columns}], target_memory=pl.Mem.Vec)"
    tiles.append(w.let(Tile(w.name(), rows, columns, (rows, columns)), text))


def barrier(w: Writer, tiles: list[Tile]) -> None:
    """A barrier or a fence, which changes nothing that a program means."""
    w.put(f"pl.system.{w.choose(('bar_v', 'bar_m', 'bar_all', 'fence'))}()")


STEPS = (converted, converted, cell, gathered_row, positional, padded, turned, extracted, block_number, barrier)
"""Steps beside the declared calls."""


def product(w: Writer, rows: int, columns: int, *, row_forms: bool = True) -> tuple[str, int]:
    """A product of the tiles `xl` and `wr` in one of its forms: the text behind `acc =`, and the rows of its box."""
    forms = ["matmul", "matmul", "matmul", "matmul_acc", "matmul_bias"]
    form = w.choose([*forms, "gemv", "gemv_acc", "gemv_bias"] if rows == 1 and row_forms else forms)
    box = 16 if form.startswith("gemv") else rows
    if form.endswith("bias"):
        w.put(f"bm = pl.tile.load(b, [0, 0], [1, {columns}], target_memory=pl.Mem.Mat)")
        w.put("bb = pl.tile.move(bm, target_memory=pl.Mem.Bias)")
        return f"pl.tile.{form}(xl, wr, bb)", box
    if form.endswith("acc"):
        w.put(f"first = pl.tile.{form.removesuffix('_acc')}(xl, wr)")
        return f"pl.tile.{form}(first, xl, wr)", box
    return f"pl.tile.{form}(xl, wr)", box
