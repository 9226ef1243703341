"""The order of the PTO passes (spec/pto.md 5.1, 8.2)."""

from collections.abc import Callable, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from cubelane.passes.pto.drop_dead_ops import PTODropDeadOps
from cubelane.passes.pto.expand_wrapper_ops import VPTOExpandWrapperOps
from cubelane.passes.pto.infer_vecscope import PTOInferVPTOVecScope
from cubelane.passes.pto.inline_backend_helpers import PTOInlineBackendHelpers
from cubelane.passes.pto.materialize_tileop_sections import PTOMaterializeTileOpSections
from cubelane.passes.pto.normalize_container import VPTONormalizeContainer
from cubelane.passes.pto.normalize_uncovered_tile_sections import PTONormalizeUncoveredTileSections
from cubelane.passes.pto.split_cv_module import VPTOSplitCVModule
from cubelane.passes.pto.validate_emission import PTOValidateVPTOEmissionIR
from cubelane.passes.pto.validate_physical_section_boundaries import PTOValidatePhysicalSectionBoundaries

Watch = Callable[[str, ModuleOp], None]

NORMALIZATION: tuple[ModulePass, ...] = (
    PTOMaterializeTileOpSections(),
    PTONormalizeUncoveredTileSections(),
    PTOValidatePhysicalSectionBoundaries(),
)
VPTO: tuple[ModulePass, ...] = (
    PTOInlineBackendHelpers(),
    VPTOSplitCVModule(),
    VPTONormalizeContainer(),
    PTODropDeadOps(),
    VPTOExpandWrapperOps(),
    PTOInferVPTOVecScope(),
    PTOValidateVPTOEmissionIR(),
)
ALL_PASSES: dict[str, type[ModulePass]] = {p.name: type(p) for p in (*NORMALIZATION, *VPTO)}


def run(
    passes: Sequence[ModulePass], program: ModuleOp, before: Watch | None = None, after: Watch | None = None
) -> None:
    """Runs passes in order; `before` and `after` see the program around each. A refusal is a `Diagnostic`."""
    context = Context()
    for step in passes:
        if before is not None:
            before(step.name, program)
        step.apply(context, program)
        if after is not None:
            after(step.name, program)
