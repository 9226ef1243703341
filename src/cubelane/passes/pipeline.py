"""The order of all passes, as data (spec/front.md 3.1, passes.md 1.1 and 1.2).

A stage names its pass, the module it lives in and the properties it requires, produces and invalidates. Modules are
imported when a stage runs, so a program that stops early never loads the rest.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from cubelane.analysis.kept import keeping
from cubelane.ir.collector import paused
from cubelane.ir.context import shared_context
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import target_name

After = Callable[["Pass", ModuleOp], None]
"""Called with each pass that ran and the program it left."""

SSA, OUTLINED, TILES, FLAT, SPACES = "SSAForm", "SplitIncoreOrch", "IncoreTileOps", "TileOps2D", "TileMemoryInferred"
REGIONS, EXPANDED, VECTOR_SPLIT = "AivSplitValid", "MixedKernelExpanded", "VectorKernelSplit"
CASTS, LAYOUTS, ACC_STORES = "CastsLegal", "BackendLayoutsResolved", "AccToGmStoreValid"
ALIASES, ADDRESSES = "SemanticAliasesMaterialized", "AllocatedMemoryAddr"
"""Properties of a program that passes require and produce."""


class Pass(NamedTuple):
    """One stage: callable on a program, which it changes in place and gives back."""

    name: str
    module: str
    required: frozenset[str] = frozenset()
    produced: frozenset[str] = frozenset()
    invalidated: frozenset[str] = frozenset()
    targets: frozenset[str] | None = None
    """Machines the stage is for; None means all."""
    follows: bool = False
    """Whether what the pass before it kept of its analyses (`analysis/kept.py`) is still true, and of use here."""

    def get_name(self) -> str:
        """The name of the pass."""
        return self.name

    @property
    def title(self) -> str:
        """The name in the words of the passes chapter: `outline-incore-scopes` is OutlineIncoreScopes."""
        words = (word[:1].upper() + word[1:] for word in self.name.split("-"))
        return _TITLES.get(self.name) or "".join(words)

    @property
    def rewrite(self) -> ModulePass:
        """The xDSL pass, imported on first use."""
        return _loaded(self.module, self.name)

    def applies_to(self, program: ModuleOp) -> bool:
        """Whether the stage has work on the program's machine."""
        return self.targets is None or target_name(program) in self.targets

    def __call__(self, program: ModuleOp) -> ModuleOp:
        """Runs the pass in place."""
        if self.applies_to(program):
            self.rewrite.apply(shared_context(), program)
        return program


@cache
def _loaded(module: str, name: str) -> ModulePass:
    """The pass of a name that a module holds."""
    for candidate in vars(import_module(module)).values():
        if isinstance(candidate, type) and issubclass(candidate, ModulePass) and candidate is not ModulePass:
            if candidate.name == name:
                return candidate()
    raise ImportError(f"{module} has no pass named {name}")


def _pass(
    name: str,
    module: str | None = None,
    *,
    requires: tuple[str, ...] = (),
    produces: tuple[str, ...] = (),
    invalidates: tuple[str, ...] = (),
    targets: tuple[str, ...] | None = None,
    follows: bool = False,
) -> Pass:
    return Pass(
        name,
        f"cubelane.passes.tile.{module or name.replace('-', '_')}",
        frozenset(requires),
        frozenset(produces),
        frozenset(invalidates),
        None if targets is None else frozenset(targets),
        follows,
    )


_TILE = (SSA, OUTLINED, TILES)
_READY = (*_TILE, FLAT, SPACES)

PASSES: tuple[Pass, ...] = (
    _pass("unroll-loops", requires=(SSA,), produces=(SSA,)),
    _pass("simplify", requires=(SSA,), produces=(SSA,)),
    _pass("outline-incore-scopes", requires=(SSA,), produces=(SSA, OUTLINED, REGIONS)),
    _pass("convert-tensor-to-tile", requires=(SSA, OUTLINED), produces=(*_TILE, REGIONS)),
    _pass("lower-composite-ops", requires=_TILE, produces=_TILE),
    _pass("flatten-tile-nd-to-2d", requires=_TILE, produces=(*_TILE, FLAT)),
    _pass("spread-broadcasts", requires=(*_TILE, FLAT), produces=(*_TILE, FLAT)),
    _pass("legalize-tile-cast", requires=(*_TILE, FLAT), produces=(CASTS,)),
    _pass("auto-tile-matmul-l0", requires=(*_TILE, FLAT), produces=(*_TILE, FLAT)),
    _pass("infer-tile-memory-space", requires=(*_TILE, FLAT), produces=(SPACES, ACC_STORES, REGIONS)),
    _pass("resolve-backend-op-layouts", requires=_READY, produces=(LAYOUTS,)),
    _pass("lower-auto-vector-split", requires=(*_READY, REGIONS), produces=_READY, invalidates=(REGIONS,)),
    _pass("expand-mixed-kernel", requires=_READY, produces=(SSA, EXPANDED), invalidates=(LAYOUTS,)),
    _pass("inject-gm-pipe-buffer", requires=(SSA, EXPANDED), produces=(SSA, EXPANDED), targets=("a2a3",)),
    _pass("split-vector-kernel", requires=(SSA, EXPANDED), produces=(SSA, VECTOR_SPLIT)),
    _pass("stamp-tfree-split", requires=(OUTLINED,)),
    _pass("skew-cross-core-pipeline", requires=(SSA, EXPANDED), produces=(SSA, EXPANDED)),
    _pass("materialize-semantic-aliases", requires=(SSA, EXPANDED), produces=(SSA, ALIASES)),
    _pass("allocate-memory-addr", requires=(SSA, ALIASES), produces=(ADDRESSES,), follows=True),
)
"""All passes in the order they run."""

_TITLES = {
    "convert-tensor-to-tile": "ConvertTensorToTileOps",
    "flatten-tile-nd-to-2d": "FlattenTileNdTo2D",
    "inject-gm-pipe-buffer": "InjectGMPipeBuffer",
}
"""Titles that the name does not spell."""

BY_NAME: dict[str, Pass] = {stage.name: stage for stage in PASSES}
"""The passes by name."""

VERIFIERS: dict[str, tuple[str, str]] = {
    REGIONS: ("cubelane.passes.tile.verify_aiv_split", "verify-aiv-split"),
    EXPANDED: ("cubelane.passes.tile.verify_mixed_kernel_expanded", "verify-mixed-kernel-expanded"),
    ADDRESSES: ("cubelane.passes.tile.verify_memory_addr", "verify-memory-addr"),
}
"""Properties that are verified behind every pass that produces them: where the verifier lives, and its name."""

TILE_STAGE = "resolve-backend-op-layouts"
"""The last pass before the two lanes are told apart."""


def pass_named(name: str) -> Pass:
    """The pass of a name, also when written with underscores; KeyError with the known names otherwise."""
    stage = BY_NAME.get(name.replace("_", "-"))
    if stage is None:
        raise KeyError(f"no pass is named {name}; there are {', '.join(BY_NAME)}")
    return stage


def run(
    program: ModuleOp, until: str | None = None, after: After | None = None, before: After | None = None
) -> ModuleOp:
    """Runs the passes in order, up to and including `until`; `before` and `after` are called around each that runs."""
    last = None if until is None else pass_named(until)
    have = {SSA}
    with paused(), keeping() as answers:
        for stage in PASSES:
            if stage.applies_to(program):
                if before is not None:
                    before(stage, program)
                if (
                    not stage.follows or (before or after) is not None
                ):  # who is called in between may change the program
                    answers.clear()
                _run_stage(stage, program, have, after)
            if stage is last:
                break
    return program


def _run_stage(stage: Pass, program: ModuleOp, have: set[str], after: After | None) -> None:
    """Runs one pass and the verifiers behind it; `have` are the properties of the program before and after."""
    if missing := stage.required - have:
        raise Diagnostic(f"{stage.name} needs a program with {', '.join(sorted(missing))}", code="pass-order")
    stage(program)
    have -= stage.invalidated
    have |= stage.produced
    for prop in sorted(stage.produced & VERIFIERS.keys()):
        Pass(VERIFIERS[prop][1], VERIFIERS[prop][0])(program)
    if after is not None:
        after(stage, program)
