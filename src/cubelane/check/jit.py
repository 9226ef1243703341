"""What running a `@pl.jit` kernel means: compile for the types of the arguments, run on the simulated core group.

Installed as the runner of the language when the package is imported. A compiled specialization is kept on the kernel,
and in the cache.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from typing_extensions import TypeIs

from cubelane.check.compile_once import cached_compile
from cubelane.check.compiled import CompiledKernel
from cubelane.check.execute import run_group
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.narrowing import is_list, is_tuple
from cubelane.language.kernel_module import Program
from cubelane.language.specialize import JitFunction, Specialized, program_of
from cubelane.sim.machine import Executable
from cubelane.sim.result import RunResult
from cubelane.targets import TARGETS


@dataclass
class Ready:
    """A specialization compiled and emitted."""

    compiled: CompiledKernel
    executable: Executable


def run(kernel: JitFunction, action: str, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
    """`lower`, `compile` or `call` of a kernel. Raises a Diagnostic where an argument or the kernel is wrong."""
    given = tuple(_viewed(a, kernel) for a in arguments)
    named = {name: _viewed(a, kernel) for name, a in keywords.items()}
    specialized = kernel.specialized(*given, **named)
    options = kernel.options()
    target = options.get("target", "a2a3")
    if target not in TARGETS:
        raise Diagnostic(
            f"unknown target {target!r}; known: {', '.join(TARGETS)}", kernel.location, code="unknown-target"
        )
    key = (specialized.key, target, options.get("mode"))
    ready: Ready = kernel.once(key, lambda: _ready(specialized, target, options.get("mode")))
    if action == "compile":
        return ready.compiled
    if action == "lower":
        return as_program(ready.compiled)
    originals = _originals(kernel, arguments, keywords)
    return _called(kernel, ready, specialized, originals)


def _ready(specialized: Specialized, target: str, mode: str | None) -> Ready:
    compiled = cached_compile(program_of(specialized), target, mode)
    return Ready(compiled, Executable(compiled.module))


def as_program(compiled: CompiledKernel) -> Program:
    """The final program, as the language shows it."""
    module = compiled.module.clone()
    program = Program([])
    program.attributes.update(module.attributes)
    for op in list(module.ops):
        op.detach()
        program.body.block.add_op(op)
    return program


def _originals(kernel: JitFunction, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> dict[str, Any]:
    """The caller's own objects by parameter name."""
    bound = kernel.specializer.bound(arguments, keywords)
    return {name: value for name, value in bound.items() if _is_array(value)}


def _called(kernel: JitFunction, ready: Ready, specialized: Specialized, originals: Mapping[str, Any]) -> Any:
    result = run_group(ready.executable, specialized.arguments)
    if result.findings:
        first = result.findings[0]
        raise Diagnostic(first.message, first.location, first.notes, first.instead, first.code)
    for name, array in result.outputs.items():
        if name in originals:
            _write(originals[name], array, name, kernel)
    return _returned(result.returned, result, originals)


def _returned(value: Any, result: RunResult, originals: Mapping[str, Any]) -> Any:
    """What the kernel returns: the caller's own array where it is that memory, else a new one of the caller's kind."""
    if is_tuple(value) or is_list(value):
        return tuple(_returned(item, result, originals) for item in value)
    if not is_ndarray(value):
        return value
    for name, array in result.outputs.items():
        if array is value and name in originals:
            return originals[name]
    torch: Any = sys.modules.get("torch")
    if originals and torch is not None and all(isinstance(o, torch.Tensor) for o in originals.values()):
        return _as_torch(torch, value)
    return value


# arrays of other libraries


def is_ndarray(value: object) -> TypeIs[np.ndarray[Any, Any]]:
    """Whether something is an array of NumPy."""
    return isinstance(value, np.ndarray)


def _is_number(value: object) -> "TypeIs[np.generic[Any]]":
    return isinstance(value, np.generic)


def _is_array(value: object) -> bool:
    return any(hasattr(value, name) for name in ("__array__", "__dlpack__")) and not np.isscalar(value)


def _viewed(value: Any, kernel: JitFunction) -> Any:
    """An array of any library as one of NumPy; anything else as it is."""
    if _is_number(value):
        return value.item()
    if not _is_array(value):
        return value
    try:
        array = value if is_ndarray(value) else _as_numpy(value)
        return array if array.ndim else array.item()
    except (TypeError, ValueError, RuntimeError, BufferError) as problem:
        raise Diagnostic(
            f"a {type(value).__name__} that was given to `{kernel.__name__}` cannot be read as an array: {problem}",
            kernel.location,
            code="wrong-argument",
        ) from None


NARROW = {"bfloat16": "int16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8", "float8_e8m0fnu": "uint8"}
"""Element types of torch and ml_dtypes that NumPy does not know, and the integers that hold their bits."""


def _as_numpy(value: Any) -> Any:
    if hasattr(value, "detach"):
        value = value.detach()
    word = str(getattr(value, "dtype", "")).removeprefix("torch.")
    if word in NARROW and "torch" in sys.modules:
        # NumPy has no such type of its own: the same bits under the type of ml_dtypes
        bits = getattr(sys.modules["torch"], NARROW[word])
        return np.asarray(value.view(bits)).view(getattr(ml_dtypes, word))
    return np.asarray(value) if hasattr(value, "__array__") else np.from_dlpack(value)


def _as_torch(torch: Any, array: Any) -> Any:
    array, word = np.ascontiguousarray(array), array.dtype.name
    if word in NARROW:
        return torch.from_numpy(array.view(NARROW[word])).view(getattr(torch, word))
    return torch.from_numpy(array)


def _write(original: Any, array: Any, name: str, kernel: JitFunction) -> None:
    """Writes a result into the caller's array; refused where nothing arrives there."""
    try:
        view = original if is_ndarray(original) else _as_numpy(original)
        np.copyto(view, array)
        if view is original or _same(_as_numpy(original), array):
            return
        original[...] = array
        if _same(_as_numpy(original), array):
            return
    except (TypeError, ValueError, RuntimeError, BufferError):
        pass
    raise Diagnostic(
        f"the argument `{name}` of `{kernel.__name__}` cannot be written to",
        kernel.location,
        instead="pass a NumPy array or a torch tensor of the host that owns its memory",
        code="wrong-argument",
    )


def _same(a: Any, b: Any) -> bool:
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
