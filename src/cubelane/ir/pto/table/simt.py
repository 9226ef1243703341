"""Ops of SIMT bodies, which run on the vector core (spec/pto.md 4.4)."""

from cubelane.ir.pto.decl import Effect, OpDecl, Role, declare
from cubelane.ir.traits import OnVector


def _simt(name: str, effect: Effect = Effect.NONE) -> OpDecl:
    return declare(
        name,
        "args:any* -> outs:any*",
        affinity=OnVector,
        role=Role.CARRIER,
        effect=effect,
        strings=("mode",),
        tags="simt simt_in_helper",
    )


AXES = ("x", "y", "z")

OPS: tuple[OpDecl, ...] = (
    *(
        _simt(f"{query}_{axis}")
        for query in ("get_tid", "get_block_dim", "get_grid_dim", "get_block_idx")
        for axis in AXES
    ),
    *(_simt(name) for name in "get_veccoreid get_laneid get_lanemask_eq get_lanemask_lt get_lanemask_le".split()),
    *(_simt(name) for name in "get_lanemask_gt get_lanemask_ge".split()),
    *(_simt(name, Effect.READ) for name in "get_clock32 get_clock64 load ldg".split()),
    *(_simt(name, Effect.WRITE) for name in "store stg keep resume store_vfsimt_info".split()),
    *(_simt(f"atomic_{name}", Effect.WRITE) for name in "add sub exch max min inc dec cas and or xor".split()),
    *(_simt(f"vote_{name}", Effect.WRITE) for name in "all any uni ballot".split()),
    *(_simt(f"shuffle_{name}", Effect.WRITE) for name in "idx up down bfly".split()),
    *(_simt(f"redux_{name}", Effect.WRITE) for name in "add max min".split()),
    *(_simt(name) for name in "prmt mulhi mul_i32toi64 absf sqrt exp log pow ceil floor rint round".split()),
    *(_simt(name) for name in "fmin fmax fma convert".split()),
    *(_simt(name, Effect.WRITE) for name in "syncthreads threadfence threadfence_block".split()),
)
