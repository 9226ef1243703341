"""Synchronization: flags and cross-core signals decide by their queue, the rest follows its neighbours.

Spec/pto.md 4.4, 4.7. The dynamic flag forms are placed exactly like the static ones (spec/pto.md 10.5).
"""

from cubelane.ir.pto.decl import Effect, Form, OpDecl, Role, declare
from cubelane.ir.pto.evidence import ON_PIPE, SETS_FLAG, WAITS_FLAG, Placeable, Sync
from cubelane.ir.pto.rules import legal_buffer, legal_signal, one_of
from cubelane.ir.pto.spaces import Pipe
from cubelane.ir.traits import CoreAffinity

BARRIERS = ("VV_ALL", "VST_VLD", "VLD_VST", "VST_VST", "VS_ALL", "VST_LD", "VLD_ST", "VST_ST", "SV_ALL", "ST_VLD",
            "LD_VST", "ST_VST", "SS_ALL", "ST_LD", "LD_ST", "ST_ST")  # fmt: skip


def _flag(name: str, sync: Sync, operands: str = "") -> OpDecl:
    return declare(name, operands, affinity=sync, role=Role.SYNC, effect=Effect.WRITE, form=Form.FLAG, tags="pipe_sync")


def _neutral(
    name: str, signature: str = "", form: Form = Form.CALL, affinity: CoreAffinity | None = None, tags: str = ""
) -> OpDecl:
    return declare(
        name, signature, affinity=affinity or Placeable(), effect=Effect.WRITE, form=form, tags=f"pipe_sync {tags}"
    )


OPS: tuple[OpDecl, ...] = (
    _flag("set_flag", SETS_FLAG),
    _flag("wait_flag", WAITS_FLAG),
    _flag("set_flag_dyn", SETS_FLAG, "event:int"),
    _flag("wait_flag_dyn", WAITS_FLAG, "event:int"),
    *(
        declare(
            name,
            "event:int?",
            affinity=ON_PIPE,
            role=Role.SYNC,
            effect=Effect.WRITE,
            form=Form.SIGNAL,
            rules=(legal_signal,),
            tags="pipe_sync",
        )
        for name in ("sync.set", "sync.wait")
    ),
    _neutral("barrier", form=Form.PIPE, affinity=ON_PIPE, tags="scope_boundary"),
    _neutral("barrier_sync", "args:any*", tags="scope_boundary"),
    _neutral("fence.barrier_all"),
    _neutral("syncall", "args:any*"),
    _neutral("tsync", "args:any* -> outs:any*"),
    _neutral("record_event", "args:any*"),
    _neutral("wait_event", "args:any*"),
    *(
        declare(
            name,
            "id:int" if name.endswith("dyn") else "",
            affinity=ON_PIPE,
            effect=Effect.WRITE,
            form=Form.BUFFER,
            rules=(legal_buffer,),
            tags="" if name.endswith("dyn") else "pipe_sync",  # a tileop helper may hold the dynamic ones (5.2)
        )
        for name in ("get_buf", "rls_buf", "get_buf_dyn", "rls_buf_dyn")
    ),
    _neutral("dsb", "args:any*", form=Form.PLAIN),
    declare("set_ffts", "args:any*", affinity=Placeable(), effect=Effect.WRITE),
    declare("dcci", "args:any*", affinity=Placeable(), effect=Effect.WRITE, strings=("mode",)),
    declare(
        "mem_bar",
        affinity=Placeable(),
        effect=Effect.WRITE,
        strings=("kind",),
        rules=(one_of("kind", BARRIERS),),
        pipe=Pipe.V,
        tags="vector_state",
    ),
)
