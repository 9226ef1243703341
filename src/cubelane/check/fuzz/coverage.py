"""What a campaign has covered: each op, by its behaviour under the split, in each situation it stood in."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from cubelane.ir.gm import Gm
from cubelane.ir.kernel import SplitRegionOp
from cubelane.ir.surface import SurfaceOp
from cubelane.ir.tile import System, Tile
from cubelane.ir.traits import Split, Splits
from cubelane.ir.types import DYNAMIC, TensorType, TileType, dtype_name

SITUATIONS = (
    *("straight", "loop", "while", "branch", "region", "carried", "ragged", "run-time", "odd", "narrow"),
    "program",
)
"""Where an op stood and what it worked on: an op in a loop in a region counts for both; `carried` reads a loop carry,
`ragged` and `run-time` have a tile with a partial or a run-time extent, `odd` one with an odd box, `narrow` one whose
elements are not FP32; `program` is the program of one core behind the last pass, given as a source again."""


def covered(module: ModuleOp) -> Counter[str]:
    """`op|situation` of every op that the language of a program writes, each counted once for a program."""
    found: Counter[str] = Counter()
    for op in module.walk():
        if isinstance(op, SurfaceOp):
            for situation in situations(op):
                found[f"{op.name}|{situation}"] = 1
    return found


def of_programs(modules: Iterable[ModuleOp]) -> Counter[str]:
    """`op|program` of every op in the programs of the cores, each counted once for a kernel."""
    names = {op.name for module in modules for op in module.walk() if isinstance(op, SurfaceOp)}
    return Counter({f"{name}|program": 1 for name in names})


def situations(op: Operation) -> Iterator[str]:
    """All situations an op is in."""
    nests = {_NESTS[type(p)] for p in _parents(op) if type(p) in _NESTS}
    yield from nests or {"straight"}
    values = [*op.operands, *op.results]
    if any(_is_carry(v) for v in op.operands):
        yield "carried"
    types = [v.type for v in values if isinstance(v.type, TileType | TensorType)]
    tiles = [t for t in types if isinstance(t, TileType)]
    if any(t.valid != t.shape for t in tiles):
        yield "ragged"
    if any(DYNAMIC in t.valid for t in tiles) or any(isinstance(d, str) for t in types for d in t.shape):
        yield "run-time"
    if any(isinstance(d, int) and d > 1 and d % 2 for t in types for d in t.shape[-2:]):
        yield "odd"
    if any(dtype_name(t.dtype) != "FP32" for t in types):
        yield "narrow"


_NESTS: Mapping[type[Operation], str] = {
    scf.ForOp: "loop",
    scf.WhileOp: "while",
    scf.IfOp: "branch",
    SplitRegionOp: "region",
}


def _parents(op: Operation) -> Iterator[Operation]:
    parent = op.parent_op()
    while parent is not None:
        yield parent
        parent = parent.parent_op()


def _is_carry(value: SSAValue) -> bool:
    return (
        isinstance(value, BlockArgument)
        and isinstance(value.block.parent_op(), scf.ForOp | scf.WhileOp)
        and isinstance(value.type, TileType | TensorType)
    )


def behaviours() -> dict[str, str]:
    """The behaviour under the split of every op of the language, by op name."""
    result: dict[str, str] = {}
    for op in (*Tile.operations, *System.operations, *Gm.operations):
        trait = next((t for t in op.traits.traits if isinstance(t, Splits)), None)
        result[op.name] = trait.behaviour.name.lower() if trait else Split.NONE.name.lower()
    return result


def rows(coverage: Mapping[str, int]) -> list[tuple[str, ...]]:
    """The table: a row for each behaviour, how many of its ops were met, and in how many programs in each situation."""
    kinds = behaviours()
    result: list[tuple[str, ...]] = []
    for kind in dict.fromkeys(kinds.values()):
        ops = [name for name, k in kinds.items() if k == kind]
        met = [name for name in ops if any(f"{name}|{s}" in coverage for s in SITUATIONS)]
        counts = [sum(coverage.get(f"{name}|{s}", 0) for name in ops) for s in SITUATIONS]
        result.append((kind.replace("_", " "), f"{len(met)}/{len(ops)}", *map(str, counts)))
    return result


HEADER = ("behaviour", "ops", *SITUATIONS)


def never_met(coverage: Iterable[str]) -> list[str]:
    """Ops of the language that no program had."""
    met = {key.partition("|")[0] for key in coverage}
    return sorted(name for name in behaviours() if name not in met)
