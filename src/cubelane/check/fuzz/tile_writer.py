"""The text of a kernel of tiles under construction, and the tiles in scope."""

from dataclasses import dataclass, field

from cubelane.check.fuzz.calls import Operand
from cubelane.check.fuzz.program import Choose


@dataclass(frozen=True)
class Tile:
    """A vector tile in scope: its name, box and valid extents (numbers, or the name of a scalar)."""

    name: str
    rows: int
    columns: int
    valid: tuple[int | str, int | str]

    @property
    def full(self) -> bool:
        return self.valid == (self.rows, self.columns)


@dataclass
class Writer:
    """The text under construction."""

    choose: Choose
    lines: list[str] = field(default_factory=list[str])
    indent: int = 2
    count: int = 0
    outputs: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])
    others: list[Operand] = field(default_factory=list[Operand])
    """Tiles in scope whose elements are not FP32."""
    rows: int = 0
    columns: int = 0
    """The box that most tiles have."""

    def put(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def name(self, stem: str = "v") -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def let(self, tile: Tile, text: str) -> Tile:
        self.put(f"{tile.name} = {text}")
        return tile
