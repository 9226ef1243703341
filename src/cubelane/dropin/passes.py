"""`pypto.passes`: the passes by name, on the machine that `pypto.backend` chose, and what watches them."""

from collections.abc import Callable
from typing import Any, NamedTuple

from xdsl.dialects.builtin import ModuleOp

from cubelane import passes
from cubelane.dropin.backend import stamped
from cubelane.dropin.instruments import (
    CallbackInstrument,
    PassContext,
    VerificationInstrument,
    VerificationLevel,
    VerificationMode,
    make_roundtrip_instrument,
    observed,
)

HOLDS: dict[str, str] = {
    "inline_functions": "the parser puts the statements of `@pl.inline` in place",
    "ctrl_flow_transform": "the parser makes break, continue and early return structured",
    "convert_to_ssa": "the parser builds SSA",
    "normalize_stmt_structure": "a region of the IR is a flat list of operations",
    "flatten_call_expr": "an operation takes values, never calls",
    "canonicalize_tile_slice": "infer_tile_memory_space moves a window where its consumer needs it",
    "normalize_return_order": "outlining and conversion hand parameters back in their order",
    "lower_pipeline_to_slots": "a ring has its slots in the IR",
    "lower_pipeline_loops": "skew_cross_core_pipeline overlaps the trips, which stay a loop",
    "canonicalize_io_order": "within a core the order of the text holds",
    "materialize_tensor_strides": "strides follow from shape and layout where the text of a kernel is made",
    "init_mem_ref": "allocate_memory_addr finds the buffers",
    "memory_reuse": "allocate_memory_addr lets tiles share addresses by their lifetimes",
    "fold_no_op_reshape": "a reshape that moves no cell is a second name of its buffer",
    "fuse_create_assemble_to_slice": "a paste into a tile that nobody needs any more is done in place",
}
"""Passes that change nothing here, and what does their work; docs/deviations.md has the same list."""

_TITLES = {"convert_to_ssa": "ConvertToSSA", "canonicalize_io_order": "CanonicalizeIOOrder"}
"""Titles that the name does not spell."""

OTHER_NAMES = {"convert_tensor_to_tile_ops": "convert_tensor_to_tile"}
"""Names in the other package to ours, where they differ."""


class BackendPass:
    """A pass that knows the chosen machine; everything else is that of the pass."""

    def __init__(self, inner: passes.Pass):
        self._inner = inner

    def get_name(self) -> str:
        """The name of the pass, as it stands in the names of dumps."""
        return self._inner.title

    def __call__(self, program: ModuleOp) -> ModuleOp:
        """Runs the pass in place."""
        return observed(self, program, lambda: self._inner(stamped(program)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class HeldPass(NamedTuple):
    """A pass whose work is done elsewhere: the program holds what it produces."""

    name: str
    by: str

    def get_name(self) -> str:
        """The name of the pass, as it stands in the names of dumps."""
        return _TITLES.get(self.name) or "".join(word.title() for word in self.name.split("_"))

    def __call__(self, program: ModuleOp) -> ModuleOp:
        """The program as it is."""
        return observed(self, program, lambda: stamped(program))


class PassPipeline:
    """Passes in the order in which they were added."""

    def __init__(self) -> None:
        self._passes: list[BackendPass | HeldPass] = []

    def add_pass(self, step: BackendPass | HeldPass) -> None:
        """Adds a pass at the end."""
        self._passes.append(step)

    def get_pass_names(self) -> list[str]:
        """The names of the passes, in order."""
        return [step.get_name() for step in self._passes]

    def run(self, program: ModuleOp) -> ModuleOp:
        """Runs all passes, in place."""
        for step in self._passes:
            program = step(program)
        return program


def __getattr__(name: str) -> Callable[[], BackendPass | HeldPass]:
    """`passes.NAME()` of every pass of ours, and of those whose work is done elsewhere."""
    if name in HOLDS:
        return lambda: HeldPass(name, HOLDS[name])
    name = OTHER_NAMES.get(name, name)
    if name.startswith("_") or name not in passes.__all__ or name in ("Pass", "pass_named", "run"):
        raise AttributeError(f"cubelane does not provide pypto.passes.{name}")
    make: Callable[[], passes.Pass] = getattr(passes, name)
    return lambda: BackendPass(make())


def __dir__() -> list[str]:
    ours = [name for name in passes.__all__ if name not in ("Pass", "pass_named", "run")]
    return sorted([*ours, *HOLDS, *OTHER_NAMES, *__all__])


__all__ = [
    "CallbackInstrument",
    "PassContext",
    "PassPipeline",
    "VerificationInstrument",
    "VerificationLevel",
    "VerificationMode",
    "make_roundtrip_instrument",
]
