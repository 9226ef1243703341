"""From a PTO module to a run: sections, split, one program for each kind of core, one launch (spec/pto.md 8.2, 11)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from cubelane.ir.affinity import Affinity
from cubelane.ir.diagnostic import Diagnostic, Location, refuse
from cubelane.ir.pto.attrs import ENTRY_MARKERS, TARGET_ARCH, kind_of
from cubelane.ir.pto.table import op_classes
from cubelane.ir.pto.text import verify_pto
from cubelane.ir.pto.types import PtrType
from cubelane.passes.pto.expand_wrapper_ops import VPTOExpandWrapperOps
from cubelane.passes.pto.pipeline import NORMALIZATION, VPTO, run
from cubelane.sim.micro import control, fixpipe, matrix, reductions, registers, streams, tiles, transfers, vector_memory
from cubelane.sim.micro import raw as raw_instructions
from cubelane.sim.micro.board import Board, Places
from cubelane.sim.micro.cluster import MACHINES, Group
from cubelane.sim.micro.elements import dtype_of
from cubelane.sim.micro.memory import GlobalMemory
from cubelane.sim.micro.program import Program, Units, rates_of
from cubelane.sim.micro.timing import Stopwatch
from cubelane.sim.timeline import Timeline

KINDS = (Affinity.VECTOR, Affinity.CUBE)
SEMANTIC = tuple(step for step in VPTO if not isinstance(step, VPTOExpandWrapperOps))
"""The passes of the back end without the expansion into raw instructions: a report then names what the author wrote."""


@dataclass
class MicroResult:
    """What a run tells: findings, how many ops each queue ran, and when each ran in the timing model."""

    findings: list[Diagnostic] = field(default_factory=list[Diagnostic])
    ran: dict[str, int] = field(default_factory=dict[str, int])
    timeline: Timeline | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing was found wrong."""
        return not self.findings

    def kinds(self) -> list[str]:
        """The codes of the findings, in order."""
        return [finding.code for finding in self.findings]


def units() -> Units:
    """All meanings the machine has."""
    made = Units()
    lanewise = [cls.decl.name for cls in op_classes().values() if cls.decl.lanes is not None]
    registers.register(made, lanewise)
    reductions.register(made)
    vector_memory.register(made)
    streams.register(made)
    tiles.register(made)
    transfers.register(made)
    matrix.register(made)
    fixpipe.register(made)
    raw_instructions.register(made)
    control.register(made)
    return made


def split(module: ModuleOp, raw: bool = False) -> ModuleOp:
    """The module with one child for each kind of core; `raw` expands semantic ops into raw instructions.

    A refusal is a Diagnostic.
    """
    verify_pto(module)
    run(NORMALIZATION, module)
    run(VPTO if raw else SEMANTIC, module)
    verify_pto(module)
    return module


@dataclass
class Loaded:
    """The entry and the functions of each kind of core."""

    name: str
    entries: dict[Affinity, FuncOp]
    functions: dict[Affinity, Mapping[str, FuncOp]]
    arch: str


def load(module: ModuleOp, name: str | None = None) -> Loaded:
    """Finds the entry in a split module."""
    children = [op for op in module.body.block.ops if isinstance(op, ModuleOp)]
    functions: dict[Affinity, dict[str, FuncOp]] = {}
    entries: dict[Affinity, FuncOp] = {}
    for child in children:
        kind = kind_of(child.attributes)
        if kind is None:
            continue
        known = functions.setdefault(kind, {})
        for op in child.body.block.ops:
            if not isinstance(op, FuncOp) or op.is_declaration:
                continue
            known[op.sym_name.data] = op
            if any(marker in op.attributes for marker in ENTRY_MARKERS) and name in (None, op.sym_name.data):
                entries.setdefault(kind, op)
    names = {op.sym_name.data for op in entries.values()}
    if len(names) != 1:
        found = ", ".join(sorted(names)) or "none"
        raise refuse(module, f"the machine needs one entry; the module has {found}", code="which-kernel")
    arch = module.attributes.get(TARGET_ARCH)
    return Loaded(names.pop(), entries, dict(functions), arch.data if isinstance(arch, StringAttr) else "a5")


class Prepared:
    """A split module with its programs, ready to run any number of times."""

    def __init__(self, module: ModuleOp, name: str | None = None):
        """`module` is split already; `name` is the entry, if there are several."""
        self.loaded = loaded = load(module, name)
        if loaded.arch not in MACHINES:
            raise refuse(module, f"the machine knows {', '.join(MACHINES)}, not '{loaded.arch}'", code="not-modelled")
        self.places, meanings = Places(), units()
        self.programs = {
            kind: Program(loaded.functions[kind], meanings, self.places, loaded.arch)
            for kind in KINDS
            if kind in loaded.entries
        }
        for program in self.programs.values():
            program.function(loaded.name)

    def lanes(self, wanted: int | None) -> int:
        """How many vector lanes take part."""
        if wanted is not None:
            return wanted
        return 1 if Affinity.CUBE not in self.programs else 2

    def launch(
        self,
        arguments: Sequence[Any],
        *,
        grid: int = 1,
        lanes: int | None = None,
        seed: int | None = None,
        slow: Mapping[str, float] | None = None,
    ) -> MicroResult:
        """Runs the entry on `grid` core groups; arrays change in place.

        `slow` makes agents of the timing model slower, by the beginning of their name: {"AIV1": 3.0, "AIC M": 2.0}.
        """
        loaded, board = self.loaded, Board(self.places, self.loaded.name)
        watch = Stopwatch(rates_of(loaded.arch), self.places, slow)
        gm = GlobalMemory(board.clash)
        values = _bound(next(iter(loaded.entries.values())), arguments, gm)
        result, count = MicroResult(), self.lanes(lanes)
        with np.errstate(all="ignore"):
            for number in range(grid):
                has_cube = Affinity.CUBE in self.programs
                group = Group(number, grid, count, has_cube, MACHINES[loaded.arch], gm, board, watch)
                try:
                    _run_group(group, self.programs, loaded, values, seed)
                except Diagnostic as problem:
                    board.findings.insert(0, problem)
                    break
                finally:
                    result.ran |= {q.name: q.ran for core in group.cores for q in core.queues.values()}
        gm.write_back()
        result.findings, result.timeline = board.findings, watch.timeline()
        return result


def prepare(module: ModuleOp, name: str | None = None) -> Prepared:
    """Splits a module, which changes in place, and prepares its entry."""
    return Prepared(split(module), name)


def launch_split(
    module: ModuleOp,
    name: str | None,
    arguments: Sequence[Any],
    *,
    grid: int = 1,
    lanes: int | None = None,
    seed: int | None = None,
    slow: Mapping[str, float] | None = None,
) -> MicroResult:
    """Runs the entry of a module that is split already.

    A kernel with cube work runs two vector lanes; one with vector work only runs one (`lanes` says otherwise).
    `seed` lets the queues run in a random order.
    """
    return Prepared(module, name).launch(arguments, grid=grid, lanes=lanes, seed=seed, slow=slow)


def _run_group(
    group: Group, programs: Mapping[Affinity, Program], loaded: Loaded, values: Sequence[Any], seed: int | None
) -> None:
    for core in group.cores:
        kind = Affinity.CUBE if core.lane is None else Affinity.VECTOR
        program = programs.get(kind)
        if program is None:
            core.scalar.ended = True
            continue
        core.scalar.program = program.run(loaded.entries[kind].sym_name.data, core, values)
    group.run(seed)


def _bound(entry: FuncOp, arguments: Sequence[Any], gm: GlobalMemory) -> list[Any]:
    """Arguments as the program sees them: addresses and numbers."""
    parameters = list(entry.body.block.args)
    name, where = entry.sym_name.data, Location.of(entry)
    if len(parameters) != len(arguments):
        raise Diagnostic(f"{name} takes {len(parameters)} arguments, got {len(arguments)}", where, code="arguments")
    values: list[Any] = []
    for number, (parameter, argument) in enumerate(zip(parameters, arguments, strict=True)):
        label = parameter.name_hint or str(number)
        kind = parameter.type
        if isinstance(kind, PtrType):
            expected = dtype_of(kind.element)
            array: Any = argument if isinstance(argument, np.ndarray) else None  # pyright: ignore[reportUnknownVariableType]
            if array is None or array.dtype.itemsize != expected.itemsize:
                got = type(cast(Any, argument)).__name__ if array is None else array.dtype
                message = f"argument '{label}' of {name} must be an array of {expected}, got {got}"
                raise Diagnostic(message, where, code="arguments")
            values.append(gm.place(label, array))
        else:
            scalar = dtype_of(kind)
            values.append(int(argument) if scalar.kind in "iu" else scalar.type(argument))
    return values
