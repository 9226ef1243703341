# ruff: noqa: E501  (PTO text has long lines)
"""Random PTO kernels: cube, vector, neutral and sync ops in random nests, every op with its own `id`."""

from dataclasses import dataclass, field

from hypothesis import strategies as st

from .snippets import function, module

PIPES = ("S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX")
STATEMENTS = (
    "mad", "to_l1", "to_l0", "to_ub", "to_gm", "vector", "load_v", "use_v", "set", "wait", "signal", "barrier",
    "store", "read", "pure", "pure", "loop", "if", "fix", "query",
)  # fmt: skip


@dataclass
class Writer:
    """Writes one kernel; `draw` makes the choices."""

    draw: st.DrawFn
    bias: str
    lines: list[str] = field(default_factory=list[str])
    numbers: list[str] = field(default_factory=lambda: ["%n", "%len", "%zero"])
    registers: list[str] = field(default_factory=list[str])
    count: int = 0

    def fresh(self) -> int:
        self.count += 1
        return self.count

    def number(self) -> str:
        return self.draw(st.sampled_from(self.numbers[-6:]))

    def add(self, line: str, depth: int) -> None:
        self.lines.append("  " * depth + "    " + line)

    def block(self, size: int, depth: int) -> None:
        numbers, registers = list(self.numbers), list(self.registers)
        for _ in range(self.draw(st.integers(1, size))):
            pool = STATEMENTS if self.bias == "any" else [s for s in STATEMENTS if s not in OTHER[self.bias]]
            kind = self.draw(st.sampled_from(pool))
            if kind in ("loop", "if"):
                if depth < 3:
                    self.nest(kind, depth)
            else:
                self.op(kind, depth)
        self.numbers, self.registers = numbers, registers

    def nest(self, kind: str, depth: int) -> None:
        tag = self.fresh()
        if kind == "loop":
            self.add(f"scf.for %j{tag} = %i0 to %i9 step %i1 {{", depth)
        else:
            self.add("scf.if %no {", depth)
        self.block(3, depth + 1)
        if kind == "if" and self.draw(st.booleans()):
            self.add("} else {", depth)
            self.block(2, depth + 1)
        self.add("}", depth)

    def op(self, kind: str, depth: int) -> None:
        tag = self.fresh()
        ident = f"{{id = {tag} : i64}}"
        x, y = self.number(), self.number()
        flag = f"[<PIPE_{self.draw(st.sampled_from(PIPES))}>, <PIPE_{self.draw(st.sampled_from(PIPES))}>, <EVENT_ID{self.draw(st.integers(0, 1))}>]"
        gm, ub, l1 = "!pto.ptr<f32, gm>", "!pto.ptr<f32, ub>", "!pto.ptr<f16, l1>"
        lines = {
            "mad": f"pto.mad %a, %b, %c, %n, {x}, {y} {ident} : !pto.ptr<f16, l0a>, !pto.ptr<f16, l0b>, !pto.ptr<f32, l0c>, i64, i64, i64",
            "to_l1": f"pto.mte_gm_l1 %x, %l1, {x} nburst(%n, {y}, %n) {ident} : !pto.ptr<f16, gm>, {l1}, i64, i64, i64, i64",
            "to_l0": f"pto.mte_l1_l0a %l1, %a, {x}, {y}, %zero, %zero {ident} : {l1}, !pto.ptr<f16, l0a>, i64, i64, i64, i64",
            "fix": f"pto.mte_l0c_ub %c, %u, %n, %n, {x}, {y}, nz2nd {ident} : !pto.ptr<f32, l0c>, {ub}, i64, i64, i64, i64",
            "to_ub": f"pto.mte_gm_ub %g, %u, %zero, {x} nburst(%n, {y}, %n) {ident} : {gm}, {ub}, i64, i64, i64, i64, i64",
            "to_gm": f"pto.mte_ub_gm %u, %g, {x} nburst(%n, {y}, %n) {ident} : {ub}, {gm}, i64, i64, i64, i64",
            "load_v": f"%v{tag} = pto.vlds %u[%i0] {ident} : {ub} -> !pto.vreg<64xf32>",
            "set": f"pto.set_flag{flag} {ident}",
            "wait": f"pto.wait_flag{flag} {ident}",
            "signal": f"pto.sync.set <PIPE_{self.draw(st.sampled_from(('FIX', 'MTE1', 'MTE2', 'MTE3', 'V')))}>, 3 {ident}",
            "barrier": f"pto.barrier #pto.pipe<PIPE_ALL> {ident}",
            "store": f"pto.store_scalar {x}, %p[%i0] {ident} : !pto.ptr<i64, gm>, i64",
            "read": f"%s{tag} = pto.load_scalar %p[%i0] {ident} : !pto.ptr<i64, gm> -> i64",
            "pure": f"%s{tag} = arith.addi {x}, {y} : i64",
            "query": f"%s{tag} = pto.get_block_idx : i64",
        }
        if kind == "vector":
            self.add(f'%m{tag} = pto.pset_b32 "PAT_ALL" {{id = {self.fresh()} : i64}} : !pto.mask<b32>', depth)
            self.add(f"%v{tag} = pto.vlds %u[%i0] {{id = {self.fresh()} : i64}} : {ub} -> !pto.vreg<64xf32>", depth)
            self.add(
                f"pto.vsts %v{tag}, %u[%i0], %m{tag} {{id = {self.fresh()} : i64}} : !pto.vreg<64xf32>, {ub}, !pto.mask<b32>",
                depth,
            )
        elif kind == "use_v":
            if self.registers:
                source = self.registers[-1]
                self.add(f'%m{tag} = pto.pset_b32 "PAT_ALL" {{id = {self.fresh()} : i64}} : !pto.mask<b32>', depth)
                self.add(
                    f"pto.vsts {source}, %u[%i0], %m{tag} {ident} : !pto.vreg<64xf32>, {ub}, !pto.mask<b32>", depth
                )
        else:
            self.add(lines[kind], depth)
        if kind in ("read", "pure", "query"):
            self.numbers.append(f"%s{tag}")
        if kind in ("vector", "load_v"):
            self.registers.append(f"%v{tag}")


CUBE_ONLY = ("mad", "to_l1", "to_l0", "fix")
VECTOR_ONLY = ("to_ub", "to_gm", "vector", "load_v", "use_v")
OTHER = {"cube": VECTOR_ONLY, "vector": CUBE_ONLY}


@st.composite
def kernels(draw: st.DrawFn) -> str:
    """A module with one entry; its stretches lean to one core, so that many are accepted."""
    writer = Writer(draw, "any")
    writer.add("%i9 = arith.constant 4 : index", 0)
    writer.add("%i1 = arith.constant 1 : index", 0)
    for _ in range(draw(st.integers(1, 4))):
        writer.bias = draw(st.sampled_from(("cube", "vector", "cube", "vector", "any")))
        numbers = list(writer.numbers)
        writer.block(5, 0)
        writer.numbers = numbers
    return module(function("\n".join(writer.lines) + "\n"))
