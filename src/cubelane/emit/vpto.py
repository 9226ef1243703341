"""From PTO text to normalized PTO IR and to VPTO IR (spec/pto.md 8). Raises `Diagnostic` for every refusal."""

from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp, StringAttr

from cubelane.analysis.pto_emission import unexpanded_tile_ops, unsupported_distributions
from cubelane.analysis.pto_purity import runs_twice
from cubelane.ir.collector import paused
from cubelane.ir.diagnostic import Diagnostic, Location, refuse
from cubelane.ir.pto.attrs import BACKEND, TARGET_ARCH
from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.text import print_pto, read_pto, verify_pto
from cubelane.passes.pto.pipeline import NORMALIZATION, VPTO, Watch, run

ARCHITECTURES = ("a2", "a3", "a5", "a2a3")
BACKENDS = ("emitc", "vpto")
LEVELS = ("level1", "level2", "level3")
NORMALIZATION_FAILED = "failed to normalize uncovered PTO tile sections."
EMISSION_FAILED = "VPTO emission pipeline failed."


@dataclass
class StageFailure(Exception):
    """A diagnostic together with the driver's own last line."""

    diagnostic: Diagnostic
    summary: str | None = None


@dataclass
class Job:
    """One assembly: the text, what the command line says about it, and who watches the passes.

    A caller that has the module at hand gives it: its ops know their places in the file of their author. It changes.
    """

    text: str
    file: str = "<input>"
    arch: str | None = None
    backend: str | None = None
    level: str | None = None
    before: Watch | None = None
    after: Watch | None = None
    module: ModuleOp | None = None
    warnings: list[str] = field(default_factory=list[str])
    """What the output leaves undone or may do otherwise than meant; filled by `vpto`."""

    def normalized(self) -> ModuleOp:
        """The verified program after the normalization group."""
        with paused():
            return self._normalized()

    def _normalized(self) -> ModuleOp:
        try:
            program = self.module
            if program is None:
                program = read_pto(self.text, self.file)
            else:
                verify_pto(program)
            set_arch(program, self.arch)
            check_level(program, self.level)
        except Diagnostic as problem:
            raise StageFailure(problem) from None
        try:
            run(NORMALIZATION, program, self.before, self.after)
        except Diagnostic as problem:
            raise StageFailure(problem, NORMALIZATION_FAILED) from None
        return program

    def vpto(self) -> ModuleOp:
        """The program as one child module per kind of core."""
        with paused():
            return self._vpto()

    def _vpto(self) -> ModuleOp:
        program = self._normalized()
        self.warnings += [
            f"{Location.of(op)}: '{op.name}' lies outside the sections, so both cores run it"
            for op in runs_twice(program)
        ]
        try:
            run(VPTO, program, self.before, self.after)
            verify_pto(program)
        except Diagnostic as problem:
            raise StageFailure(problem, EMISSION_FAILED) from None
        self._warn(program)
        return program

    def _warn(self, program: ModuleOp) -> None:
        self.warnings += [
            f"{Location.of(op)}: the distribution of '{op.name}' is not supported on current hardware"
            for op in unsupported_distributions(program)
        ]
        names = sorted({op.name for op in unexpanded_tile_ops(program)})
        if names:
            text = f"tile ops are printed as they are, not expanded into micro-ops: {', '.join(names)}"
            self.warnings.append(f"{self.file}: {text}")


def emit_vpto(text: str, file: str = "<input>", arch: str | None = "a5") -> str:
    """VPTO text of a PTO text."""
    return print_pto(Job(text, file, arch).vpto())


def backend_of(program: ModuleOp, stated: str | None) -> str | None:
    """The backend of a job: the command line, the module, what all children say (spec/pto.md 8.1)."""
    if stated is not None:
        return stated
    own = program.attributes.get(BACKEND)
    if isinstance(own, StringAttr):
        return own.data
    children = [op for op in program.body.block.ops if isinstance(op, ModuleOp)]
    found = {a.data for child in children if isinstance(a := child.attributes.get(BACKEND), StringAttr)}
    if len(found) > 1:
        raise refuse(
            program,
            f"children with different backends in one module: {', '.join(sorted(found))}",
            "this assembler writes one output for one backend",
            instead="put each child into a file of its own, or choose with --pto-backend",
            code="mixed-backend",
        )
    return next(iter(found), None)


def set_arch(program: ModuleOp, arch: str | None) -> None:
    """Puts the architecture on the program: stated on the command line, else in the module, else a3."""
    own = program.attributes.get(TARGET_ARCH)
    if isinstance(own, StringAttr) and own.data not in ARCHITECTURES:
        raise refuse(program, f"unknown pto.target_arch '{own.data}'; expected one of {', '.join(ARCHITECTURES)}")
    for module in program.walk():
        if isinstance(module, ModuleOp) and (module is program or TARGET_ARCH in module.attributes):
            current = module.attributes.get(TARGET_ARCH, StringAttr("a3"))
            module.attributes[TARGET_ARCH] = current if arch is None else StringAttr(arch)


def check_level(program: ModuleOp, level: str | None) -> None:
    """At level3 every tile has an address, below none has; without a level the program shows which it is."""
    allocations = [op for op in program.walk() if isinstance(op, PtoOp) and "allocation" in op.decl.tags]
    addressed = [bool(op.clause_args("addr")) for op in allocations]
    if level is None:
        level = "level3" if any(addressed) else "level2"
    for op, has_address in zip(allocations, addressed, strict=True):
        if has_address != (level == "level3"):
            text = "needs 'addr =' at level3" if level == "level3" else f"must not have 'addr =' at {level}"
            raise refuse(op, f"'{op.name}' {text}", instead="see --pto-level", code="tile-address")
