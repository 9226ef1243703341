"""What an op declares about itself. Passes, analyses, the emitter and the oracle ask these; none lists op names.

A new op is one class with these traits (docs/architecture.md, "how to add an op"); a test walks all op classes
and fails on a missing one.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple, TypeVar

from xdsl.ir import Operation
from xdsl.traits import OpTrait

from cubelane.ir.affinity import Affinity
from cubelane.ir.types import MemorySpace, TileType

Trait = TypeVar("Trait", bound=OpTrait)

_DECLARED: dict[tuple[type[Operation], type[OpTrait]], Any] = {}


def trait_of(op: Operation, kind: type[Trait]) -> Trait | None:
    """The trait of a kind that an op declares, None where it declares none.

    The answer of `op.get_trait(kind)`, found once per op class: xDSL's own search tries every trait every time.
    """
    try:
        return _DECLARED[op.__class__, kind]
    except KeyError:
        return trait_of_class(op.__class__, kind)


def trait_of_class(op: type[Operation], kind: type[Trait]) -> Trait | None:
    """The trait of a kind that a class of ops declares, None where it declares none."""
    if (op, kind) not in _DECLARED:
        _DECLARED[op, kind] = next((trait for trait in op.traits if isinstance(trait, kind)), None)
    return _DECLARED[op, kind]


def has_trait(op: Operation, kind: type[OpTrait]) -> bool:
    """Whether an op declares a trait of the kind."""
    return trait_of(op, kind) is not None


class CoreAffinity(OpTrait):
    """Which core an op belongs to (spec/passes.md 2.1). Subclasses say how it is found."""

    def of(self, op: Operation) -> Affinity:
        """The affinity of this op, looking only at the op itself."""
        raise NotImplementedError


@dataclass(frozen=True)
class Fixed(CoreAffinity):
    """The op belongs to one core whatever its operands are."""

    affinity: Affinity

    def of(self, op: Operation) -> Affinity:
        return self.affinity


OnCube = Fixed(Affinity.CUBE)
OnVector = Fixed(Affinity.VECTOR)
OnBoth = Fixed(Affinity.SHARED)
Crosses = Fixed(Affinity.MIXED)


def affinity_of_memory(memory: MemorySpace | None) -> Affinity:
    """The core that works on a space; an undecided space fixes nothing."""
    if memory is None:
        return Affinity.SHARED
    return Affinity.CUBE if memory.is_cube else Affinity.VECTOR


class ByResultMemory(CoreAffinity):
    """The op belongs to the core that owns the space of its result."""

    def of(self, op: Operation) -> Affinity:
        result = op.results[0].type
        return affinity_of_memory(result.memory if isinstance(result, TileType) else None)


class ByFirstTile(CoreAffinity):
    """The op belongs to the core that owns the space of its first tile operand; no tile operand is SHARED."""

    def of(self, op: Operation) -> Affinity:
        for operand in op.operands:
            if isinstance(operand.type, TileType):
                return affinity_of_memory(operand.type.memory)
        return Affinity.SHARED


class ByMove(CoreAffinity):
    """A move belongs to the side of its source, or is a crossing when source and result lie on two cores."""

    def of(self, op: Operation) -> Affinity:
        source, target = op.operands[0].type, op.results[0].type
        assert isinstance(source, TileType) and isinstance(target, TileType)
        if source.memory is None or target.memory is None:
            return Affinity.VECTOR
        if source.memory.is_cube != target.memory.is_cube:
            return Affinity.MIXED
        return affinity_of_memory(source.memory)


class Split(Enum):
    """What happens to an op when the tile it works on is shared out between the lanes (spec/passes.md 4.4)."""

    ELEMENTWISE = "every cell of the result depends on the same cell of the operands; extent-1 axes broadcast"
    REDUCES = "`axis` is folded; illegal when it is the split axis"
    ALONG_ROWS = "works along the cells of each row; illegal when `axis` is the split axis"
    GATHERS = "takes the cells of `src` at indices: shared out like the indices, each lane needs all of `src`"
    LOADS = "reads a window of global memory at offsets"
    STORES = "writes a window of global memory at offsets"
    SLICES = "reads a window of a tile at offsets"
    PASTES = "writes a tile into a window of another tile at offsets"
    RESHAPES = "the same elements in row-major order under another shape"
    REINTERPRETS = "the same bytes under another element type"
    SETS_VALID = "states the valid extent per axis"
    PADS = "fills the cells outside the valid extent"
    GENERATES = "every cell has the same value"
    POSITIONAL = "the value of a cell depends on where it is; cannot be halved by shape alone"
    TRANSPOSES = "swaps two axes"
    CONCATENATES = "puts tiles side by side along `axis`"
    READS_CELL = "reads one cell of a tile at run-time indices"
    WRITES_CELL = "writes one cell of a tile at run-time indices"
    GATHERS_ROWS = "copies rows of global memory to rows of a tile"
    MOVES = "changes the memory space or the layout, not the values"
    CUBE = "runs on the cube core, full width"
    CHANNEL = "pushes, pops or frees a slot; carries a transport code"
    BOUNDARY = "is itself a crossing between cube and lanes"
    NONE = "touches no tile"

    __hash__ = object.__hash__


@dataclass(frozen=True)
class Splits(OpTrait):
    """How the op behaves when an operand is split. `axis` is the folded or joined axis (negative from the end).

    `scratch` names operands that only lend memory: their values do not matter. `packed` names the operands, and with
    the word `result` the result, that are bit masks: a byte of their last axis stands for eight cells of the others.
    """

    behaviour: Split
    axis: int | None = None
    scratch: tuple[str, ...] = ()
    packed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Meaning(OpTrait):
    """The reference meaning: a NumPy expression over `{operand}` and `{property}` names.

    Both executors read it: the oracle on full-width arrays, the emitter on one lane's arrays. Besides `np` it
    may use the primitives that every executor provides in its own way (docs/architecture.md, "meaning"):
    window, put, cut, paste, cast, matmul, tile_of, fill.
    `{dtype}` and `{shape}` are those of the result. `valid` is the expression of the result's valid extent
    (a tuple) where it is not simply that of the first tile operand; `{x_valid}` names an operand's extent.
    """

    value: str
    valid: str | None = None


@dataclass(frozen=True)
class PtoSpelling(OpTrait):
    """The op of PTO IR this op prints as (spec/front.md 5.4), e.g. `pto.tadd`; None prints nothing.

    `ins` names the operands of its `ins` clause in order, where those are not simply all. `facts` pairs a property
    with the attribute that carries it.
    """

    name: str | None
    ins: tuple[str, ...] | None = None
    facts: tuple[tuple[str, str], ...] = ()


class CostClass(Enum):
    """Which unit does the work and how it scales; the rates are data of the target."""

    SCALAR = "scalar"
    VECTOR = "vector"
    VECTOR_SLOW = "vector_slow"
    REDUCTION = "reduction"
    MATMUL = "matmul"
    TRANSFER = "transfer"
    CHANNEL = "channel"
    FREE = "free"


@dataclass(frozen=True)
class Cost(OpTrait):
    """Cost class of the op for the timing model."""

    cost: CostClass


@dataclass(frozen=True)
class Spaces(OpTrait):
    """Memory spaces an op accepts and gives (spec/front.md 2, 3.8).

    `inputs` maps an operand name to the allowed spaces, the first being the one to move to. `output` is the
    space of the result; None means inherited from the first tile operand unless the op states one.
    """

    output: MemorySpace | None = None
    inputs: dict[str, tuple[MemorySpace, ...]] = field(default_factory=dict[str, tuple[MemorySpace, ...]])

    def __hash__(self) -> int:
        return hash((self.output, tuple(self.inputs.items())))


class NeedsRowMajor(OpTrait):
    """The backends run this op on row-major tiles only (spec/front.md 3.9)."""


class RunsOnce(OpTrait):
    """Running the op twice changes the meaning of the program; it must stay on exactly one core."""


@dataclass(frozen=True)
class InPlace(OpTrait):
    """The result is the buffer of the named operand (accumulation, views)."""

    operand: str


@dataclass(frozen=True)
class Overwrites(OpTrait):
    """The result is the named operand with some cells replaced; it takes over the operand's buffer when it can."""

    operand: str


class Step(NamedTuple):
    """One op of a composite: name of its result, IR name, operands (earlier names, or numbers), facts."""

    name: str
    op: str
    operands: tuple[str | float, ...]
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Composite(OpTrait):
    """The machine has no such op: it is made of these steps, the last of which gives the result (spec/front.md 3.1).

    The operand of the op is `x`.
    """

    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Broadcasts(OpTrait):
    """The op spreads a row or a column among its `operands`, which the machine does not (spec/front.md 2.3).

    `expands` ends the names of the ops that work on a tile and one column or row (`row_expand_add`); None where there
    are none. `commutes` says that the operands may change places.
    """

    operands: tuple[str, str] = ("lhs", "rhs")
    expands: str | None = None
    commutes: bool = False


@dataclass(frozen=True)
class PerMatrix(OpTrait):
    """The machine knows one matrix only: the op (by IR name) that does one matrix of a batch (spec/front.md 3.6)."""

    name: str


@dataclass(frozen=True)
class TileForm(OpTrait):
    """The tile-level op (by IR name) that a tensor-level op becomes when nothing special applies."""

    name: str
