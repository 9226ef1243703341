"""The names of the language: `from cubelane.ptodsl import pto`. Micro-ops that need no code of their own come from the
op table when they are asked for (spec/pto.md 2)."""

from typing import Any

from cubelane.ir.pto.spaces import Pipe
from cubelane.ptodsl import micro
from cubelane.ptodsl.cube import (
    mad,
    mad_acc,
    mad_bias,
    mte_gm_l1,
    mte_gm_l1_frac,
    mte_gm_ub,
    mte_l0c_gm,
    mte_l0c_l1,
    mte_l0c_ub,
    mte_l1_bt,
    mte_l1_fb,
    mte_l1_l0a,
    mte_l1_l0b,
    mte_l1_ub,
    mte_ub_gm,
    mte_ub_l1,
    mte_ub_ub,
)
from cubelane.ptodsl.errors import WrongAttribute, user_location
from cubelane.ptodsl.flow import For as for_
from cubelane.ptodsl.flow import If as if_
from cubelane.ptodsl.jit import CompiledKernel, Kernel, const_expr, jit, merge_jit_modules
from cubelane.ptodsl.scopes import removed, section, strict_vecscope, tileop, vecscope
from cubelane.ptodsl.spec import KernelModuleSpec, ModuleStyle, aicore_arch_for_kernel_kind
from cubelane.ptodsl.sync import (
    BarrierType,
    get_buf,
    load_scalar,
    mem_bar,
    pipe_barrier,
    rls_buf,
    set_cross_flag,
    set_flag,
    set_intra_flag,
    store_scalar,
    wait_cross_flag,
    wait_flag,
    wait_intra_flag,
)
from cubelane.ptodsl.tiles import (
    TensorView,
    Tile,
    alloc_tile,
    make_tensor_view,
    partition_view,
    tile_buf_addr,
    tile_function,
)
from cubelane.ptodsl.types import SCALARS, MaskPattern, MemorySpace, mask_type, ptr, vreg_type
from cubelane.ptodsl.values import addptr, cast, castptr, ceil_div, const, maximum, minimum, select
from cubelane.ptodsl.vector import (
    PATTERN_MASKS,
    make_mask,
    vbitcast,
    vbr,
    vci,
    vcvt,
    vdup,
    vlds,
    vldsx2,
    vsts,
    vstsx2,
)

globals().update(SCALARS)
globals().update(PATTERN_MASKS)
static_range = range
PartitionTensorView = TensorView
cube, simd = removed("cube"), removed("simd")


def __getattr__(name: str) -> Any:
    """A micro-op or tile op of the table."""
    function = None if name.startswith("_") else micro.micro_function(name) or tile_function(name)
    if function is None:
        raise WrongAttribute(f"the language has no name 'pto.{name}'", user_location(), code="unknown-name")
    globals()[name] = function
    return function


__all__ = [
    "BarrierType", "CompiledKernel", "Kernel", "KernelModuleSpec", "MaskPattern", "MemorySpace", "ModuleStyle",
    "PartitionTensorView", "Pipe", "TensorView", "Tile", "addptr", "aicore_arch_for_kernel_kind", "alloc_tile",
    "cast", "castptr", "ceil_div", "const", "const_expr", "cube", "for_", "get_buf", "if_", "jit", "load_scalar",
    "mad", "mad_acc", "mad_bias", "make_mask", "make_tensor_view", "mask_type", "maximum", "mem_bar",
    "merge_jit_modules", "minimum", "mte_gm_l1", "mte_gm_l1_frac", "mte_gm_ub", "mte_l0c_gm", "mte_l0c_l1",
    "mte_l0c_ub", "mte_l1_bt", "mte_l1_fb", "mte_l1_l0a", "mte_l1_l0b", "mte_l1_ub", "mte_ub_gm", "mte_ub_l1",
    "mte_ub_ub", "partition_view", "pipe_barrier", "ptr", "rls_buf", "section", "select", "set_cross_flag",
    "set_flag", "set_intra_flag", "simd", "static_range", "store_scalar", "strict_vecscope", "tile_buf_addr",
    "tileop", "vbitcast", "vbr", "vci", "vcvt", "vdup", "vecscope", "vlds", "vldsx2", "vreg_type", "vsts", "vstsx2",
    "wait_cross_flag", "wait_flag", "wait_intra_flag",
]  # fmt: skip
