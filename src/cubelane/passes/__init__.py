"""The passes by function: `passes.outline_incore_scopes()(program)`. Each is imported when it first runs."""

from cubelane.passes.pipeline import Pass, pass_named, run

__all__ = [
    "Pass",
    "allocate_memory_addr",
    "auto_tile_matmul_l0",
    "convert_tensor_to_tile",
    "expand_mixed_kernel",
    "flatten_tile_nd_to_2d",
    "infer_tile_memory_space",
    "inject_gm_pipe_buffer",
    "legalize_tile_cast",
    "lower_auto_vector_split",
    "lower_composite_ops",
    "materialize_semantic_aliases",
    "outline_incore_scopes",
    "pass_named",
    "resolve_backend_op_layouts",
    "run",
    "simplify",
    "skew_cross_core_pipeline",
    "split_vector_kernel",
    "spread_broadcasts",
    "stamp_tfree_split",
    "unroll_loops",
]


def unroll_loops() -> Pass:
    """The trips of `pl.unroll` are written one after the other."""
    return pass_named("unroll-loops")


def simplify() -> Pass:
    """Scalars are computed as far as they are known; the branches and loops that they decide go."""
    return pass_named("simplify")


def outline_incore_scopes() -> Pass:
    """Scopes become InCore functions and calls of them."""
    return pass_named("outline-incore-scopes")


def convert_tensor_to_tile() -> Pass:
    """Tensor operations in InCore functions become tile operations."""
    return pass_named("convert-tensor-to-tile")


def lower_composite_ops() -> Pass:
    """Ops that the machine does not have become the ops they are made of."""
    return pass_named("lower-composite-ops")


def flatten_tile_nd_to_2d() -> Pass:
    """Tiles of more than two axes become two-dimensional."""
    return pass_named("flatten-tile-nd-to-2d")


def spread_broadcasts() -> Pass:
    """Rows and columns beside a tile are spread by the ops that the machine has for it."""
    return pass_named("spread-broadcasts")


def legalize_tile_cast() -> Pass:
    """Casts that the machine does not have become chains of casts that it has."""
    return pass_named("legalize-tile-cast")


def auto_tile_matmul_l0() -> Pass:
    """Matmuls whose operands exceed L0A or L0B become loops over blocks that fit."""
    return pass_named("auto-tile-matmul-l0")


def infer_tile_memory_space() -> Pass:
    """Every tile gets a memory space, and moves bring operands where their op needs them."""
    return pass_named("infer-tile-memory-space")


def resolve_backend_op_layouts() -> Pass:
    """Operands of ops that need row-major tiles are brought into row-major form."""
    return pass_named("resolve-backend-op-layouts")


def lower_auto_vector_split() -> Pass:
    """The two lanes are told apart: tiles are halved, addresses moved."""
    return pass_named("lower-auto-vector-split")


def expand_mixed_kernel() -> Pass:
    """A mixed function becomes a program for the cube core and one for the lanes."""
    return pass_named("expand-mixed-kernel")


def inject_gm_pipe_buffer() -> Pass:
    """Rings that live in global memory get their workspace."""
    return pass_named("inject-gm-pipe-buffer")


def split_vector_kernel() -> Pass:
    """Lane programs get their dispatch attributes; lane 1 of an unsplit kernel only takes part in handshakes."""
    return pass_named("split-vector-kernel")


def stamp_tfree_split() -> Pass:
    """A free carries the transport code of its pop."""
    return pass_named("stamp-tfree-split")


def skew_cross_core_pipeline() -> Pass:
    """The trips of pipelined loops overlap across the cores (passes.tile.skew_cross_core_pipeline)."""
    return pass_named("skew-cross-core-pipeline")


def materialize_semantic_aliases() -> Pass:
    """Tiles that must end in one buffer but are needed at once get a copy."""
    return pass_named("materialize-semantic-aliases")


def allocate_memory_addr() -> Pass:
    """Every tile and every ring of a core gets its address."""
    return pass_named("allocate-memory-addr")
