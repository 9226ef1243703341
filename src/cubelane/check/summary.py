"""What a compile says in one row: cores, crossings, ring bytes, error, verdict."""

from dataclasses import asdict, dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from cubelane.check.compiled import CompiledKernel, Verdict
from cubelane.ir.diagnostic import Location
from cubelane.ir.kernel import FunctionKind, ScopeOp, SplitRegionOp, functions_of, kind_of, split_of
from cubelane.ir.surface import python_value
from cubelane.ir.tile.channel import InitializePipeOp, PushOp
from cubelane.ir.types import SplitMode

HEADER = ("kernel", "target", "mode", "cores", "crossings", "ring bytes", "max error", "verdict")


@dataclass(frozen=True)
class Summary:
    """One row of the table. `ring_bytes` counts both directions, slots included."""

    kernel: str
    target: str
    mode: str
    cores: str
    crossings: int
    ring_bytes: int
    max_error: float
    verdict: str

    def row(self) -> tuple[str, ...]:
        """The cells under `HEADER`."""
        return (
            self.kernel,
            self.target,
            self.mode,
            self.cores,
            str(self.crossings),
            str(self.ring_bytes),
            f"{self.max_error:.2e}",
            self.verdict,
        )

    def as_json(self) -> dict[str, Any]:
        """The same facts for tools."""
        return asdict(self)


def mode_of(source: ModuleOp) -> str:
    """The split mode as written: one word, or `regions` where regions of a body state their own."""
    modes = {op.split.mode for op in source.walk() if isinstance(op, ScopeOp) and op.split is not None}
    modes |= {split_of(f) for f in functions_of(source)} - {SplitMode.NONE}
    if any(isinstance(op, SplitRegionOp) for op in source.walk()):
        return "regions"
    return "+".join(sorted(mode.name.lower() for mode in modes)) or "none"


def cores_of(module: ModuleOp) -> str:
    """Which cores run: `AIC+AIV`, or one of them."""
    kinds = {kind_of(function) for function in functions_of(module)}
    present = [kind for kind in (FunctionKind.AIC, FunctionKind.AIV) if kind in kinds]
    return "+".join(kind.dsl for kind in present) or "-"


def crossings_of(module: ModuleOp) -> int:
    """How many tiles of the source cross; the copies that passes made of one crossing count once."""
    pushes = (op for op in module.walk() if isinstance(op, PushOp))
    return len({(Location.of(op), op.name, op.tile.name_hint) for op in pushes})


def ring_bytes_of(module: ModuleOp) -> int:
    """Bytes of all rings: slots times slot size, for each direction; counted once, on the cube's side."""
    total = 0
    for function in functions_of(module):
        if kind_of(function) is not FunctionKind.AIC:
            continue
        for op in function.walk():
            if isinstance(op, InitializePipeOp):
                facts = {name: python_value(op.properties.get(name)) for name in ("dir_mask", "slot_size", "slot_num")}
                total += facts["dir_mask"].bit_count() * facts["slot_size"] * (facts["slot_num"] or 1)
    return total


def summarize(compiled: CompiledKernel, verdict: Verdict) -> Summary:
    """The row of a compiled and judged kernel."""
    return Summary(
        compiled.name,
        compiled.target,
        mode_of(compiled.source),
        cores_of(compiled.module),
        crossings_of(compiled.module),
        ring_bytes_of(compiled.module),
        verdict.max_error,
        verdict.word,
    )
