"""Which op class a call means: the names of the language, made from the op classes themselves (spec/front.md 2.1)."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from cubelane.ir.gm import Gm
from cubelane.ir.surface import Kind, SurfaceOp
from cubelane.ir.tile import System, Tile

OpClass = type[SurfaceOp]


def _classes() -> Iterator[OpClass]:
    for dialect in (Tile, System, Gm):
        for op in dialect.operations:
            if issubclass(op, SurfaceOp):
                yield op


OPERATIONS: dict[tuple[str, str], OpClass] = {(op.NAMESPACE, op.SPELLING.rstrip("_")): op for op in _classes()}
"""Op class by namespace and name, without the underscore that dodges a Python keyword."""

NAMESPACES = ("tensor", "tile", "system")

ALIASES: dict[str, tuple[str, str]] = {
    "create_tile": ("tile", "create"),
    "create_tensor": ("tensor", "create"),
    "arange": ("tensor", "ci"),
}
"""Other names of some ops under `pl.`."""

KEYWORDS: dict[str, tuple[str, ...]] = {
    "valid_shape": ("valid",),
    "valid_shapes": ("valid",),
    "shape": ("shapes", "window"),
    "shapes": ("shape", "window"),
    "offset": ("offsets", "position"),
    "indices": ("position",),
    "upper": ("upper_or_lower",),
    "axis1": ("axis0",),
    "axis2": ("axis1",),
    "dtype": ("target_type", "out_dtype"),
    "tmp_tile": ("tmp",),
    "output_tensor": ("target",),
    "tensor": ("source", "tile"),
    "value": ("scalar",),
}
"""Keywords that users write, and the parameters they may mean."""

IGNORED_KEYWORDS = {"transpose": False, "flat_layout": False}
"""Keywords of the reference that change nothing at these values."""

SYNONYMS: dict[tuple[str, str], tuple[str, str]] = {
    ("tensor", "view"): ("tensor", "reshape"),
    ("tensor", "arange"): ("tensor", "ci"),
    ("tile", "mrgsort"): ("tile", "mrgsort_format1"),
    ("tensor", "batch_matmul"): ("tensor", "matmul"),
    ("tensor", "batch_matmul_acc"): ("tensor", "matmul_acc"),
}
"""Other names of some ops in a namespace."""


_ORCHESTRATION = ("is for orchestration, which is not compiled here", "leave it out")
_IN_ORDER = ("has no form in PTO IR: within a core the order of the text holds", "leave it out")
_FLAGS = ("is a flag between the cores, whose order the rings give", "pl.tile.tpush_to_aiv and pl.tile.tpop_from_aic")
_ADDRESSES = (
    "works at offsets that a tile holds, and what they count is not settled",
    "pl.tile.gather of a loaded tile, or pl.tile.gather_row",
)
_ON_TILES = ("works on tiles on chip", "the tile form of a loaded tile")
_SCALED = (
    "multiplies with the scale buffers of the 950, which the model does not have",
    "pl.matmul of dequantized tiles",
)
_CORES = ("waits for other core groups, and one is compiled here", "leave it out")
_CACHE = ("works on the cache, which the model does not have", "leave it out")

REFUSED: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("submit", "spmd_submit", "no_dep", "dump_tag", "wait_task", "task_id"), _ORCHESTRATION),
    **dict.fromkeys(("sync_src", "sync_dst"), _IN_ORDER),
    **dict.fromkeys(("sync_set", "sync_wait", "set_ffts"), _FLAGS),
    **dict.fromkeys(("gatherb", "gather_compare", "paged_gather", "mgather"), _ADDRESSES),
    **dict.fromkeys(("scatter", "scatter_mask", "scatter_update", "mscatter"), _ADDRESSES),
    **dict.fromkeys(
        [f"tensor.{name}" for name in ("gather", "gather_mask", "sort32", "mrgsort_format1", "mrgsort_format2")],
        _ON_TILES,
    ),
    **dict.fromkeys(("matmul_mx", "matmul_mx_acc", "matmul_mx_bias", "tget_scale_addr"), _SCALED),
    "syncall": _CORES,
    "cacheinvalid": _CACHE,
    "create_l1": ("makes a buffer by hand", "pl.create_tile(shape, dtype=..., target_memory=pl.Mem.Mat)"),
    "expand_clone": ("has no form on chip", "pl.row_expand or pl.col_expand"),
    "alloc": ("stands in printed programs only, annotated with pl.Ptr", "pl.create_tile(...)"),
}
"""Operations of the reference that are refused by name: why, and what to write instead (spec/front.md 2.6, 2.7)."""

REFUSED_NAMESPACES: dict[str, tuple[str, str]] = {
    "array": ("integer arrays on the core are not modelled", "pl.Scalar values, or a tensor"),
    "prefetch": ("there is no cache to fetch into", "leave it out"),
}


def refusal(path: Sequence[str]) -> tuple[str, str] | None:
    """Why an operation of the reference is refused, and what to write instead; None for one that nobody knows."""
    if len(path) == 2 and path[0] in REFUSED_NAMESPACES:
        why, way = REFUSED_NAMESPACES[path[0]]
        return f"pl.{'.'.join(path)} is not supported: {why}", way
    reason = REFUSED.get(".".join(path)) or REFUSED.get(path[-1])
    if reason is not None and (len(path) == 1 or path[0] in NAMESPACES):
        why, way = reason
        return f"pl.{'.'.join(path)} is not supported: it {why}", way
    return None


@lru_cache(maxsize=4096)
def find(namespace: str, name: str) -> OpClass | None:
    """The op of a namespace."""
    key = (namespace, name.rstrip("_"))
    return OPERATIONS.get(SYNONYMS.get(key, key))


@lru_cache(maxsize=4096)
def spaces_of(name: str) -> tuple[str, ...]:
    """The namespaces that know a name."""
    return tuple(space for space in NAMESPACES if find(space, name) is not None)


@lru_cache(maxsize=4096)
def scalar_form(op: OpClass) -> OpClass | None:
    """The op that takes a number where `op` takes a second tile: `add` -> `adds`."""
    kinds = [p.kind for p in op.PARAMETERS[:2]]
    return find(op.NAMESPACE, op.SPELLING.rstrip("_") + "s") if kinds == [Kind.VALUE, Kind.VALUE] else None


def similar(name: str, namespaces: Sequence[str] = NAMESPACES) -> str | None:
    """A name of the language that looks like `name`."""
    best, best_size = None, 0.6
    for space, known in OPERATIONS:
        if space in namespaces:
            size = likeness(name, known)
            if size > best_size:
                best, best_size = known, size
    return best


def likeness(a: str, b: str) -> float:
    """How much two names have in common, 0 to 1, by their pairs of letters."""
    if min(len(a), len(b)) < 3:  # too short for pairs: one letter more, or another one
        return 0.7 if a != b and abs(len(a) - len(b)) <= 1 and (a in b or b in a or len(a) == len(b) == 2) else 0.0
    pairs_a = [a[i : i + 2] for i in range(len(a) - 1)] or [a]
    pairs_b = [b[i : i + 2] for i in range(len(b) - 1)] or [b]
    common = sum(1 for pair in pairs_a if pair in pairs_b)
    return 2 * common / (len(pairs_a) + len(pairs_b))
