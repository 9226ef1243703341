"""Memory transfers: semantic `mte_*` ops and their raw `copy_*` / `load_*` forms (spec/pto.md 4.4, 4.6, 4.9)."""

from cubelane.ir.pto.decl import Clause, ClauseTypes, Effect, OpDecl, Role, Rule, declare
from cubelane.ir.pto.evidence import ByMove
from cubelane.ir.pto.rules import fixpipe_clauses, not_negative
from cubelane.ir.pto.spaces import Pipe
from cubelane.ir.traits import CoreAffinity, OnCube

NBURST = Clause("nburst", 3, 3, required=True)
LOOP = Clause("loop", 3, 3, types=ClauseTypes.NAMED, repeats=True)
PAD = Clause("pad", 1, 3, types=ClauseTypes.NAMED)
CACHE = Clause("l2_cache_ctl", 1, 1)

FIXPIPE_ORDER = (
    "dst_mode",
    "unit_flag",
    "pre_quant",
    "pre_relu",
    "nz2nd",
    "nz2dn",
    "nz2nz",
    "loop3",
    "sat",
    "nosat",
    "atomic",
)
FIXPIPE = (
    Clause("dst_mode", 1, 1, words=("split_m", "split_n")),
    Clause("unit_flag", words=("check_only", "check_and_set")),
    Clause("pre_quant", 0, 1),
    Clause("pre_relu", 0, 2),
    Clause("nz2nd"),
    Clause("nz2dn", 1, 1),
    Clause("nz2nz", 1, 1),
    Clause("loop3", 3, 3),
    Clause("sat", words=("preserve_nan",)),
    Clause("nosat"),
)
ATOMIC = Clause("atomic")


def _move(
    name: str,
    signature: str,
    pipe: Pipe,
    *rules: Rule,
    affinity: CoreAffinity | None = None,
    clauses: tuple[Clause, ...] = (),
    separator: str = " ",
    raw: str | None = None,
    tags: str = "",
) -> OpDecl:
    return declare(
        name,
        signature,
        affinity=affinity or ByMove(),
        role=Role.CARRIER,
        effect=Effect.WRITE,
        pipe=pipe,
        clauses=clauses,
        clause_separator=separator,
        rules=rules,
        tags=f"mte {tags}",
        raw=raw,
    )


def _raw(name: str, operands: str, pipe: Pipe, affinity: CoreAffinity | None = None) -> OpDecl:
    numbers = " ".join(f"{operand}:int" for operand in operands.split())
    return _move(name, f"src:ptr dst:ptr {numbers}", pipe, affinity=affinity)


SIZES = "start_row:i64 start_col:i64"

SEMANTIC = (
    _move(
        "mte_gm_ub",
        "src:gm dst:ub l2:i64 len:i64",
        Pipe.MTE2,
        clauses=(NBURST, LOOP, PAD),
        raw="copy_gm_to_ubuf",
        tags="to_ub",
    ),
    _move(
        "mte_ub_gm",
        "src:ub dst:gm len:i64",
        Pipe.MTE3,
        clauses=(NBURST, CACHE, LOOP),
        raw="copy_ubuf_to_gm",
        tags="to_gm",
    ),
    _move("mte_ub_ub", "src:ub dst:ub len:i64", Pipe.V, clauses=(NBURST,), raw="copy_ubuf_to_ubuf", tags="burst sid"),
    _move(
        "mte_ub_l1",
        "src:ub dst:l1 len:i64",
        Pipe.MTE3,
        affinity=OnCube,
        clauses=(NBURST,),
        raw="copy_ubuf_to_cbuf",
        tags="burst sid",
    ),
    _move(
        "mte_l1_ub",
        "src:l1 dst:ub len:i64",
        Pipe.MTE1,
        affinity=OnCube,
        clauses=(NBURST, LOOP),
        raw="copy_cbuf_to_ubuf",
        tags="burst sid",
    ),
    _move("mte_gm_l1", "src:gm dst:l1 len:i64", Pipe.MTE2, clauses=(NBURST, LOOP), raw="copy_gm_to_cbuf", tags="burst"),
    _move("mte_l1_bt", "src:l1 dst:bt len:i64", Pipe.MTE1, clauses=(NBURST,), raw="copy_cbuf_to_bt", tags="burst conv"),
    _move("mte_l1_fb", "src:l1 dst:fb len:i64", Pipe.MTE1, clauses=(NBURST,), raw="copy_cbuf_to_fbuf", tags="burst"),
    _move(
        "mte_gm_l1_frac",
        "src:gm dst:l1",
        Pipe.MTE2,
        clauses=(
            Clause("nd2nz", types=ClauseTypes.NAMED),
            Clause("dn2nz", types=ClauseTypes.NAMED),
            Clause("shape", 2, 2, types=ClauseTypes.NAMED, required=True),
            Clause("src_layout", 1, 2, types=ClauseTypes.PAREN, required=True),
            Clause("dst_group", 4, 4, types=ClauseTypes.NAMED, required=True),
            Clause("ctrl", 2, 2, types=ClauseTypes.NAMED, required=True),
        ),
        separator=", ",
        tags="frac",
    ),
    _move(
        "mte_l1_l0a",
        f"src:l1 dst:l0a m:i64 k:i64 {SIZES}",
        Pipe.MTE1,
        not_negative("start_row", "start_col"),
        raw="load_cbuf_to_ca",
        tags="fractal",
    ),
    _move(
        "mte_l1_l0b",
        f"src:l1 dst:l0b k:i64 n:i64 {SIZES}",
        Pipe.MTE1,
        not_negative("start_row", "start_col"),
        raw="load_cbuf_to_cb",
        tags="fractal",
    ),
    _move("mte_l1_l0a_mx", f"src:l1 dst:any m:i64 k:i64 {SIZES}", Pipe.MTE1),
    _move("mte_l1_l0b_mx", f"src:l1 dst:any k:i64 n:i64 {SIZES}", Pipe.MTE1),
    _move(
        "mte_l0c_ub",
        "src:l0c dst:ub m:i64 n:i64 src_stride:i64 dst_stride:i64",
        Pipe.FIX,
        fixpipe_clauses(FIXPIPE_ORDER),
        clauses=FIXPIPE,
        separator=", ",
        raw="copy_matrix_cc_to_ub",
        tags="fixpipe",
    ),
    _move(
        "mte_l0c_l1",
        "src:l0c dst:l1 m:i64 n:i64 src_stride:i64 dst_stride:i64",
        Pipe.FIX,
        fixpipe_clauses(FIXPIPE_ORDER),
        clauses=FIXPIPE[1:],
        separator=", ",
        raw="copy_matrix_cc_to_cbuf",
        tags="fixpipe",
    ),
    _move(
        "mte_l0c_gm",
        "src:l0c dst:gm m:i64 n:i64 src_stride:i64 dst_stride:i64 sid:i64 l2:i64",
        Pipe.FIX,
        fixpipe_clauses(FIXPIPE_ORDER),
        clauses=(*FIXPIPE[1:], ATOMIC),
        separator=", ",
        raw="copy_matrix_cc_to_gm",
        tags="fixpipe",
    ),
)

RAW = (
    _raw("copy_gm_to_ubuf", "sid n_burst len lpad rpad sel l2 gm_stride ub_stride", Pipe.MTE2),
    _raw("copy_ubuf_to_gm", "sid n_burst len l2 dst_stride src_stride", Pipe.MTE3),
    _raw("copy_ubuf_to_ubuf", "sid n_burst len src_stride dst_stride", Pipe.V),
    _raw("copy_ubuf_to_cbuf", "sid n_burst len src_stride dst_stride", Pipe.MTE3, OnCube),
    _raw("copy_cbuf_to_ubuf", "sid n_burst len src_stride dst_stride", Pipe.MTE1, OnCube),
    _raw("copy_gm_to_cbuf", "n_burst len src_stride dst_stride", Pipe.MTE2),
    _raw("copy_gm_to_cbuf_multi_nd2nz", "sid inner l2 n d outer smallc0", Pipe.MTE2),
    _raw("copy_gm_to_cbuf_multi_dn2nz", "sid inner l2 n d outer smallc0", Pipe.MTE2),
    _raw("copy_cbuf_to_bt", "conv n_burst len src_stride dst_stride", Pipe.MTE1),
    _raw("copy_cbuf_to_fbuf", "n_burst len src_stride dst_stride", Pipe.MTE1),
    *(
        _raw(f"load_cbuf_to_{matrix}{form}", "m_start k_start m_step k_step src_stride dst_stride", Pipe.MTE1)
        for matrix in ("ca", "cb")
        for form in ("", "_s4", "_mx")
    ),
    _raw("copy_matrix_cc_to_gm", "xm xt", Pipe.FIX),
    _raw("copy_matrix_cc_to_cbuf", "config0 config1", Pipe.FIX),
    _raw("copy_matrix_cc_to_ub", "config0 config1", Pipe.FIX),
)

OPS: tuple[OpDecl, ...] = (*SEMANTIC, *RAW)
