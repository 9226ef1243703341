"""`pypto.ir`: programs as objects, their text, their comparison, and `ir.compile` (spec/front.md 5.7, 8.2)."""

import json
import os
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from cubelane.analysis.equality import structurally_equal
from cubelane.check.compiled import CompiledKernel, compile_program
from cubelane.dropin.backend import BackendType, get_backend_type
from cubelane.dropin.pass_manager import OptimizationStrategy, PassDumpLevel, PassManager, write_dump
from cubelane.emit.pto_program import pto_texts
from cubelane.ir.kernel import target_name
from cubelane.language.kernel_module import Program
from cubelane.language.nodes import python_print
from cubelane.passes import pipeline

__path__: list[str] = []
"""Lets `import pypto.ir.pass_manager` find its parent."""

Function = FuncOp


def structural_equal(left: Operation, right: Operation, enable_auto_mapping: bool = False) -> bool:
    """Whether two programs or functions are the same up to names."""
    return structurally_equal(left, right) is None


def assert_structural_equal(left: Operation, right: Operation, enable_auto_mapping: bool = False) -> None:
    """ValueError with the first difference of two programs or functions."""
    difference = structurally_equal(left, right)
    if difference is not None:
        raise ValueError(str(difference))


def compile(
    program: ModuleOp | Any,
    output_dir: str | Path | None = None,
    backend_type: BackendType | None = None,
    strategy: OptimizationStrategy = OptimizationStrategy.Default,
    *,
    dump_passes: bool | PassDumpLevel = True,
    skip_ptoas: bool = True,
) -> CompiledKernel:
    """Compiles a program and writes `kernels/*.pto`, `passes_dump/` and `compiled_meta.json` into `output_dir`.

    The folder is `PYPTO_PROG_BUILD_DIR` or `build_output` where none is given. There is no assembler here, so
    `skip_ptoas=False` is refused.
    """
    if not skip_ptoas:
        raise ValueError("cubelane has no device assembler: skip_ptoas=True")
    module = program if isinstance(program, ModuleOp) else getattr(program, "program", None)
    if not isinstance(module, ModuleOp):
        raise TypeError(f"{program!r} is no program")
    backend = backend_type or get_backend_type() or BackendType.Ascend910B
    dumps = dump_passes not in (False, PassDumpLevel.NONE)
    compiled = compile_program(module, target_name(module) or backend.value, keep_stages=dumps)
    folder = Path(output_dir or os.environ.get("PYPTO_PROG_BUILD_DIR") or "build_output")
    texts = pto_texts(compiled.module)
    (folder / "kernels").mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / "kernels" / f"{name}.pto").write_text(text, encoding="utf-8")
    if dumps:
        write_dump(folder / "passes_dump", 0, "frontend", compiled.source)
        for number, stage in enumerate(compiled.stages, start=1):
            write_dump(folder / "passes_dump", number, f"after_{pipeline.BY_NAME[stage.name].title}", stage.module)
    facts = {"name": compiled.name, "target": compiled.target, "kernels": sorted(texts)}
    (folder / "compiled_meta.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return compiled


__all__ = [
    "Function",
    "OptimizationStrategy",
    "PassDumpLevel",
    "PassManager",
    "Program",
    "assert_structural_equal",
    "compile",
    "python_print",
    "structural_equal",
]
