"""Which element types a machine converts in one instruction, and chains of such conversions (spec/front.md 4.5)."""

from functools import cache
from typing import NamedTuple

_A2A3 = {
    "FP32": "FP16 BF16 INT16 INT32 INT64",
    "FP16": "FP32 INT32 INT16 INT8 UINT8 INT4",
    "BF16": "FP32 INT32",
    "INT16": "FP16 FP32",
    "INT32": "FP32 INT16 INT64 FP16",
    "INT64": "FP32 INT32",
    "UINT8": "FP16",
    "INT8": "FP16",
    "INT4": "FP16",
}

_A5 = {
    "FP32": "FP16 BF16 INT16 INT32 INT64 FP8E4M3FN FP8E5M2",
    "FP16": "FP32 INT32 INT16 INT8 UINT8",
    "BF16": "FP32 INT32 FP16 FP4",
    "INT16": "FP16 FP32 UINT8 UINT32 INT32",
    "INT32": "FP32 INT16 INT64 UINT16 UINT8",
    "INT64": "FP32 INT32",
    "UINT8": "FP16 UINT16",
    "INT8": "FP16 INT16 INT32",
    "UINT32": "UINT8 UINT16 INT16",
    "FP8E4M3FN": "FP32",
    "FP8E5M2": "FP32",
    "FP4": "BF16",
}

NATIVE: dict[str, dict[str, tuple[str, ...]]] = {
    target: {source: tuple(row.split()) for source, row in table.items()}
    for target, table in (("a2a3", _A2A3), ("a5", _A5))
}
"""By target and source the element types that one instruction converts to."""


class Precision(NamedTuple):
    """What an element type can hold: value bits of an integer, or significand and exponent bits of a float."""

    bits: int
    exponent: int = 0
    signed: bool = True

    def holds(self, other: "Precision") -> bool:
        """Whether every value of the other type has an exact value here."""
        if self.exponent:
            if other.exponent:
                return self.bits >= other.bits and self.exponent >= other.exponent
            return self.bits >= other.bits and 2 ** (self.exponent - 1) > other.bits
        return not other.exponent and self.bits >= other.bits and (self.signed or not other.signed)


_FLOATS = {
    "FP32": Precision(24, 8),
    "FP16": Precision(11, 5),
    "BF16": Precision(8, 8),
    "FP8E4M3FN": Precision(4, 4),
    "FP8E5M2": Precision(3, 5),
    "FP4": Precision(2, 2),
}


def precision(name: str) -> Precision:
    """What the element type of a DSL name can hold."""
    if name in _FLOATS:
        return _FLOATS[name]
    if name.startswith("UINT"):
        return Precision(int(name[4:]), signed=False)
    return Precision(int(name[3:]) - 1 if name.startswith("INT") else 1)


@cache
def cast_chain(target: str, source: str, wanted: str) -> tuple[str, ...] | None:
    """The element types on the shortest way from `source` to `wanted`, without `source`; None if there is no way.

    A type on the way holds all values of the source, or is at least as fine as the wanted type; so `INT8` reaches
    `FP32` by way of `FP16`, which the reference refuses.
    """
    table = NATIVE[target]
    start, goal = precision(source), precision(wanted)
    ways: list[tuple[str, ...]] = [(source,)]
    seen = {source}
    while ways:
        longer: list[tuple[str, ...]] = []
        for way in ways:
            for following in table.get(way[-1], ()):
                if following == wanted:
                    return (*way[1:], wanted)
                step = precision(following)
                if following not in seen and (step.holds(start) or step.holds(goal)):
                    seen.add(following)
                    longer.append((*way, following))
        ways = longer
    return None
