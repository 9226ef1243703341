"""Address spaces and pipes: the two physical facts from which PTO ops get their core (spec/pto.md 4.1, 4.2, 4.7)."""

from enum import Enum

from cubelane.ir.affinity import Affinity

Cores = frozenset[Affinity]

CUBE_ONLY: Cores = frozenset({Affinity.CUBE})
VECTOR_ONLY: Cores = frozenset({Affinity.VECTOR})
EITHER: Cores = frozenset({Affinity.CUBE, Affinity.VECTOR})


class Space(Enum):
    """A memory of the core group. The value is the canonical spelling, `words` are all that the parser accepts."""

    GM = "gm"
    UB = "ub"
    L1 = "l1"
    L0A = "l0a"
    L0B = "l0b"
    L0C = "l0c"
    BT = "bt"
    FB = "fb"

    @property
    def tile_word(self) -> str:
        """The older spelling, used in tile types and in `#pto.address_space`."""
        return _TILE_WORDS[self]

    @property
    def is_l0(self) -> bool:
        """The operand memories of the matrix unit; only the cube core addresses them."""
        return self in (Space.L0A, Space.L0B, Space.L0C, Space.BT, Space.FB)

    @staticmethod
    def of_word(word: str) -> "Space | None":
        """The space a keyword of either spelling names."""
        return _SPACE_OF_WORD.get(word)


_TILE_WORDS = {
    Space.GM: "gm",
    Space.UB: "vec",
    Space.L1: "mat",
    Space.L0A: "left",
    Space.L0B: "right",
    Space.L0C: "acc",
    Space.BT: "bias",
    Space.FB: "scaling",
}
_SPACE_OF_WORD = {space.value: space for space in Space} | {word: space for space, word in _TILE_WORDS.items()}


class Pipe(Enum):
    """An instruction queue of a core; the value is its number in the binary encoding."""

    S = 0
    V = 1
    M = 2
    MTE1 = 3
    MTE2 = 4
    MTE3 = 5
    ALL = 6
    MTE4 = 7
    MTE5 = 8
    V2 = 9
    FIX = 10

    @property
    def cores(self) -> Cores:
        """The cores that have this queue (spec/pto.md 5.6 rule 3)."""
        return _CORES_OF_PIPE.get(self, EITHER)

    def __str__(self) -> str:
        return f"PIPE_{self.name}"

    @staticmethod
    def of_word(word: str) -> "Pipe | None":
        """The pipe named `PIPE_V` or `V`."""
        return Pipe.__members__.get(word.removeprefix("PIPE_"))


_CORES_OF_PIPE = {
    Pipe.M: CUBE_ONLY,
    Pipe.MTE1: CUBE_ONLY,
    Pipe.FIX: CUBE_ONLY,
    Pipe.V: VECTOR_ONLY,
    Pipe.V2: VECTOR_ONLY,
    Pipe.MTE3: VECTOR_ONLY,
}
