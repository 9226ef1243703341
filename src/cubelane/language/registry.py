"""Which op class a call means: the names of the language, made from the op classes themselves (spec/front.md 2.1)."""

from collections.abc import Iterator, Sequence

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
}
"""Other names of some ops in a namespace."""


def find(namespace: str, name: str) -> OpClass | None:
    """The op of a namespace."""
    key = (namespace, name.rstrip("_"))
    return OPERATIONS.get(SYNONYMS.get(key, key))


def spaces_of(name: str) -> list[str]:
    """The namespaces that know a name."""
    return [space for space in NAMESPACES if find(space, name) is not None]


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
    pairs_a = [a[i : i + 2] for i in range(len(a) - 1)] or [a]
    pairs_b = [b[i : i + 2] for i in range(len(b) - 1)] or [b]
    common = sum(1 for pair in pairs_a if pair in pairs_b)
    return 2 * common / (len(pairs_a) + len(pairs_b))
