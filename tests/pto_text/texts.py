"""Kernels as PTO text, as `cubelane ptoas --emit-pto-ir` leaves it, and run again."""

from typing import Any

from cubelane.check.compiled import CompiledKernel
from cubelane.check.execute import run_group
from cubelane.check.pto_text import PtoExecutable
from cubelane.emit.pto_program import pto_modules
from cubelane.emit.vpto import Job
from cubelane.ir.pto.text import print_pto, read_pto, verify_pto


def normalized(compiled: CompiledKernel) -> dict[str, str]:
    """The text of every module after the assembler's normalization; on the way both texts must read back as printed."""
    texts: dict[str, str] = {}
    for name, module in pto_modules(compiled.module).items():
        verify_pto(module)
        full = print_pto(module, full=True)
        for text, spelled in ((full, True), (print_pto(module), False)):
            again = read_pto(text)
            assert again.is_structurally_equivalent(module)
            assert print_pto(again, full=spelled) == text
        texts[name] = print_pto(Job(full).normalized())
        assert texts[name] == print_pto(module), "normalization has nothing to do for functions of a stated kind"
    return texts


def run_text(compiled: CompiledKernel, inputs: Any, texts: dict[str, str] | None = None) -> Any:
    """What running the text gives; what goes wrong is in the findings."""
    return run_group(PtoExecutable(compiled.module, texts or normalized(compiled)), inputs)
