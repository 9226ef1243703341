"""Does the PTO text still mean the kernel: it is printed, read back, and run on the memories of the core group.

The host's part comes from the tile-level program, what runs on the cores from the text alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp

from cubelane.analysis.tensor_handles import TensorHandles
from cubelane.check.compiled import CompiledKernel, Verdict
from cubelane.check.kernel_file import Judge
from cubelane.emit.numpy_program import EmittedFunction
from cubelane.emit.pto_numpy import MACHINE, Signature, read_function
from cubelane.emit.pto_program import pto_texts
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import functions_of, target_name
from cubelane.ir.pto.text import read_pto
from cubelane.ir.types import TensorType
from cubelane.sim import tile_memory
from cubelane.sim.machine import Executable
from cubelane.sim.program import Runnable
from cubelane.targets import TARGETS


def signature_of(function: FuncOp) -> Signature:
    """How the tile-level program passes arguments to a function, in the order of its PTO form (front.md 5.2)."""
    block = function.body.block
    tensors = [a for a in block.args if isinstance(a.type, TensorType)]
    scalars = [a for a in block.args if not isinstance(a.type, TensorType)]
    extents: dict[str, tuple[int, int]] = {}
    for tensor in tensors:
        assert isinstance(tensor.type, TensorType)
        for axis, extent in enumerate(tensor.type.shape):
            if isinstance(extent, str):
                extents.setdefault(extent, (tensor.index, axis))
    handles = TensorHandles(block)
    end = block.last_op
    assert isinstance(end, ReturnOp)
    roots = [handles[value] for value in end.operands]
    returns = [block.args.index(root) for root in roots if root is not None]
    if len(returns) != len(roots):
        raise Diagnostic(f"{function.sym_name.data} returns what is no parameter", code="pto-reading")
    names = tuple(a.name_hint or f"arg{a.index}" for a in block.args)
    sources = [*(a.index for a in (*tensors, *scalars)), *extents.values()]
    return Signature(names, tuple(sources), tuple(returns))


def read_texts(module: ModuleOp, texts: Mapping[str, str]) -> dict[str, EmittedFunction]:
    """The functions of PTO texts as Python, by name; `module` is the tile-level program that calls them."""
    target = TARGETS[target_name(module) or ""]
    hosts = {f.sym_name.data: f for f in functions_of(module)}
    found: dict[str, EmittedFunction] = {}
    for name, text in texts.items():
        for function in read_pto(text, f"{name}.pto").body.block.ops:
            if isinstance(function, FuncOp):
                symbol = function.sym_name.data
                found[symbol] = read_function(function, target, signature_of(hosts[symbol]))
    return found


@dataclass
class TextVerdict:
    """What came of reading the text back: the run of what it says, or why the kernel has no text."""

    verdict: Verdict | None = None
    refusal: Diagnostic | None = None
    modules: int = 0

    @property
    def findings(self) -> Sequence[Diagnostic]:
        """What went wrong when the text ran."""
        return () if self.verdict is None else self.verdict.findings

    @property
    def good(self) -> bool:
        """Whether the text means the kernel, if there is one."""
        return self.verdict is None or self.verdict.equal

    def __str__(self) -> str:
        if self.refusal is not None:
            return f"none: {self.refusal.message}"
        assert self.verdict is not None
        wrong = [f"differs from the {name}: {c}" for name, c in self.verdict.comparisons.items() if not c.equal]
        return self.findings[0].message if self.findings else "; ".join(wrong) or "ok"


def judge_text(compiled: CompiledKernel, judge: Judge | None = None, *, seed: int = 0) -> TextVerdict:
    """Prints a compiled kernel as PTO text, reads the text back, runs it and compares like `CompiledKernel.judge`."""
    try:
        texts = pto_texts(compiled.module)
    except Diagnostic as refusal:
        return TextVerdict(refusal=refusal)
    program = PtoExecutable(compiled.module, texts)
    return TextVerdict(compiled.judge(judge, seed=seed, program=program), modules=len(texts))


class _OnMemories(Runnable):
    """A function that works on the memories of its core."""

    def bind(self, words: Mapping[str, Any]) -> FunctionType:
        return super().bind({**words, **{name: getattr(tile_memory, name) for name in MACHINE}})


class PtoExecutable(Executable):
    """The final program with the cores' part read from PTO text."""

    def __init__(self, module: ModuleOp, texts: Mapping[str, str] | None = None):
        self._read = read_texts(module, pto_texts(module) if texts is None else texts)
        super().__init__(module)
        self.pairs = set[str]()

    def runnable(self, name: str, paired: bool = False) -> Runnable:
        """A function of a core as the text has it; one of the host as the program has it."""
        if name not in self._read:
            return super().runnable(name, paired)
        key = name, False
        if key not in self._runnables:
            self._runnables[key] = _OnMemories(self._read[name])
        return self._runnables[key]
