"""High-level tile ops, written with `ins(...) outs(...)` (spec/pto.md 4.5, 4.8)."""

from cubelane.ir.pto.decl import Effect, Form, OpDecl, Role, Typed, declare
from cubelane.ir.pto.evidence import ByTiles
from cubelane.ir.pto.spaces import Pipe
from cubelane.ir.traits import CoreAffinity, OnCube, OnVector

ELEMENTWISE = """
    tabs tadd tadds taddc taddsc taddrelu tsub tsubs tsubc tsubsc tsubrelu tmul tmuls tmulc tdiv tdivs tmax tmaxs
    tmin tmins tand tands tor tors txor txors tshl tshls tshr tshrs tnot tneg texp tlog tsqrt trsqrt trecip trelu
    tlrelu tprelu tcvt tcmp tcmps tsel tsels trem trems tfmod tfmods taxpy texpands
"""
REDUCTIONS = """
    trowsum trowmax trowmin trowprod trowargmax trowargmin tcolsum tcolmax tcolmin tcolprod tcolargmax tcolargmin
    trowexpand trowexpandadd trowexpandsub trowexpandmul trowexpanddiv trowexpandmax trowexpandmin trowexpandexpdif
    tcolexpand tcolexpandadd tcolexpandsub tcolexpandmul tcolexpanddiv tcolexpandmax tcolexpandmin tcolexpandexpdif
"""
OTHERS = """
    thistogram ttrans tpartadd tpartmul tpartmax tpartmin tgather tgatherb tscatter tconcat ttri tsort32 tmrgsort
    tquant tquant.mx tdequant tprint
"""
MATRIX = """
    tmatmul tmatmul.acc tmatmul.bias tmatmul.mx tmatmul.mx.acc tmatmul.mx.bias
    tgemv tgemv.acc tgemv.bias tgemv.mx tgemv.mx.acc tgemv.mx.bias
"""
MOVES = "tmov textract tinsert tfillpad tfillpad_expand tfillpad_inplace"


def _tile(name: str, affinity: CoreAffinity, pipe: Pipe | None, form: Form = Form.INS_OUTS, tags: str = "") -> OpDecl:
    return declare(
        name,
        "args:any* -> outs:any*",
        affinity=affinity,
        role=Role.TILE,
        effect=Effect.WRITE,
        pipe=pipe,
        form=form,
        typed=Typed.NOTHING if "untyped" in tags.split() else Typed.ALL,
        inside=("rmode", "cmpMode", "isBinary"),
        tags=f"tile_level {tags}",
    )


def _channel(name: str, on: CoreAffinity) -> OpDecl:
    return _tile(name, on, None, Form.CALL, "channel untyped" if name.startswith("tpop") else "channel")


OPS: tuple[OpDecl, ...] = (
    *(_tile(name, ByTiles(Pipe.V), Pipe.V) for name in (ELEMENTWISE + REDUCTIONS + OTHERS).split()),
    *(_tile(name, OnCube, Pipe.M) for name in MATRIX.split()),
    *(_tile(name, ByTiles(None), None) for name in MOVES.split()),
    _tile("tmov.fp", ByTiles(Pipe.MTE1), Pipe.MTE1),
    *(_tile(name, ByTiles(Pipe.FIX), Pipe.FIX) for name in ("textract_fp", "tinsert_fp", "tstore_fp")),
    _tile("tload", ByTiles(Pipe.MTE2, deciding=-1), Pipe.MTE2),
    _tile("tprefetch", ByTiles(Pipe.MTE2, deciding=-1), Pipe.MTE2),
    _tile("tprefetch_async", ByTiles(Pipe.MTE2, deciding=-1), Pipe.MTE2),
    _tile("tstore", ByTiles(Pipe.MTE3, deciding=0), None),
    _tile("mgather", ByTiles(Pipe.MTE2), Pipe.MTE2),
    _tile("mscatter", ByTiles(Pipe.MTE3), Pipe.MTE3),
    *(_tile(name, ByTiles(Pipe.S), Pipe.S) for name in ("tsetval", "tgetval", "tci")),
    declare(
        "treshape",
        "src:any -> result:any",
        affinity=ByTiles(Pipe.S),
        role=Role.TILE,
        pipe=Pipe.S,
        tags="tile_level view",
    ),
    *(_channel(name, OnVector) for name in ("talloc_to_aiv", "tpush_to_aic", "tpop_from_aic", "tfree_from_aic")),
    *(_channel(name, OnCube) for name in ("talloc_to_aic", "tpush_to_aiv", "tpop_from_aiv", "tfree_from_aiv")),
    *(_channel(name, ByTiles(None)) for name in ("tpush", "talloc", "tpop", "tfree")),
)
