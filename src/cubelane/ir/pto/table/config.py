"""Configuration registers of the transfer and matrix units (spec/pto.md 4.4, 8.3). Neutral: they serve what follows.

A register of a unit that only one core has rules the other core out.
"""

from cubelane.ir.affinity import Affinity
from cubelane.ir.pto.decl import Effect, OpDecl, declare
from cubelane.ir.pto.evidence import Placeable

DIRECTIONS = {"outtoub": Affinity.VECTOR, "ubtoout": Affinity.VECTOR, "outtol1": Affinity.CUBE}


def _set(name: str, on: Affinity = Affinity.SHARED) -> OpDecl:
    return declare(name, "args:any*", affinity=Placeable(on), effect=Effect.WRITE, strings=("mode",))


OPS: tuple[OpDecl, ...] = (
    *(
        _set(f"set_loop{level}_stride_{way}", core)
        for level in (1, 2, 3, 4)
        for way, core in DIRECTIONS.items()
        if level < 3 or way == "outtol1"
    ),
    *(_set(f"set_loop_size_{way}", core) for way, core in DIRECTIONS.items()),
    *(
        _set(name, Affinity.CUBE)
        for name in (
            "set_loop3_para",
            "set_channel_para",
            "set_mte2_nz_para",
            "set_pad_val_outtol1",
            "set_quant_pre",
            "set_relu_alpha",
            "set_fix_clip_relu",
            "set_fpc",
        )
    ),
    _set("set_mov_pad_val", Affinity.VECTOR),
    _set("set_ctrl"),
    declare("get_ctrl", "-> result:i64", affinity=Placeable(), effect=Effect.READ),
    declare("sbitset0", "value:i64 bit:i64 -> result:i64"),
    declare("sbitset1", "value:i64 bit:i64 -> result:i64"),
    *(_set(f"set_atomic_{kind}") for kind in ("f32", "f16", "bf16", "s32", "s16", "s8", "add", "max", "min", "none")),
    _set("set_store_atomic_cfg"),
    declare("get_vms4_sr", "-> result:i64", affinity=Placeable(Affinity.VECTOR), effect=Effect.READ),
)
