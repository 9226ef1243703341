"""Compiling what was compiled before: the final program is kept, in this process and in the user's cache folder.

It is found by everything it depends on: the program as it was read (constants, closures and helpers are part of it by
then, places too), the machine, the mode, and the versions of Cubelane with all its files, xDSL and Python.
"""

import contextlib
import hashlib
import sys
from collections import OrderedDict
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from cubelane.check.cache import Cache, folder
from cubelane.check.compiled import CompiledKernel, compile_program, for_machine
from cubelane.check.kernel_file import read_program
from cubelane.ir.stored import NotStored, as_stored, from_stored

Progress = Callable[[str], Any]
"""Told the name of each pass that runs."""

MEMORY = 64
"""Compiled kernels that one process keeps."""


@cache
def versions() -> str:
    """What the result of a compile depends on beside the program: this package to the last file, xDSL, Python."""
    root = Path(__file__).parents[1]
    files = sorted(root.rglob("*.py"))
    facts = [f"{path.relative_to(root)} {(s := path.stat()).st_size} {s.st_mtime_ns}" for path in files]
    ours = hashlib.sha256("\n".join(facts).encode()).hexdigest()
    return f"{ours} xdsl {version('xdsl')} python {sys.version}"


def key_of(program: ModuleOp, target: str, mode: str | None) -> str:
    """The key of a compile. Raises NotStored for a program that has no text."""
    facts = "\n".join((versions(), target, str(mode), as_stored(program)))
    return hashlib.sha256(facts.encode()).hexdigest()


_kept: OrderedDict[str, CompiledKernel] = OrderedDict()
"""The kernels that this process compiled or read last."""


def forget() -> None:
    """Forgets what this process compiled; what lies in the folder stays."""
    _kept.clear()


def cached_compile(
    program: ModuleOp, target: str = "a2a3", mode: str | None = None, *, progress: Progress | None = None
) -> CompiledKernel:
    """`compile_program`, or what it gave before for the same program; callers share the result and do not change it."""
    place = folder()
    if place is None:
        return compile_program(program, target, mode, progress=progress)
    try:
        key = key_of(program, target, mode)
    except (NotStored, OSError):
        return compile_program(program, target, mode, progress=progress)
    compiled = _kept.get(key) or _read(Cache(place), key, program, target, mode)
    if compiled is None:
        compiled = compile_program(program, target, mode, progress=progress)
        with contextlib.suppress(NotStored):
            Cache(place).put(key, as_stored(compiled.module))
    _kept[key] = compiled
    _kept.move_to_end(key)
    while len(_kept) > MEMORY:
        _kept.popitem(last=False)
    return compiled


def _read(kept: Cache, key: str, program: ModuleOp, target: str, mode: str | None) -> CompiledKernel | None:
    """The kernel of an entry; its source is the program itself, for the machine and the mode."""
    text = kept.get(key)
    if text is None:
        return None
    try:
        module = from_stored(text)
    except NotStored:
        return None
    return CompiledKernel(for_machine(program, target, mode), module, target)


def compile_kernel(kernel: Any, target: str = "a2a3", mode: str | None = None, **options: Any) -> CompiledKernel:
    """Compiles what a user has in hand: a `@pl.program`, a `@pl.function`, or the path `FILE[:KERNEL]`.

    `mode` and the options are those of `compile_program`. Without options a kernel that was compiled before comes from
    the cache; all who ask for it share it.
    """
    if isinstance(kernel, str | Path):
        program: Any = read_program(str(kernel))
    else:
        program = kernel if isinstance(kernel, ModuleOp) else getattr(kernel, "program", None)
    if not isinstance(program, ModuleOp):
        raise TypeError(f"{kernel!r} is no kernel: decorate it with @pl.program or @pl.function, or give a path")
    return compile_program(program, target, mode, **options) if options else cached_compile(program, target, mode)
