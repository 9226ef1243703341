"""Why a seeded fault that nobody catches is none: by level, kernel, rule and op."""

from benchmarks.trust.subjects import FINAL, PTO, SPLIT

_INSIDE = (
    "the product stands in an extent, `max(V, lane * S) - lane * S`: lane 1 begins before the last valid column, so "
    "the maximum is V with any start that is not larger"
)
_REPLAY = "it stands in the branch of lane 1, which only keeps the handshakes: nothing that it computes is stored"
_HINTS = (
    "an L2 hint; a second burst with stride 0, which moves the same bytes again; strides of the only burst: none of "
    "them changes what is moved"
)
_GROUPS = "the strides and the count of the only group: nothing of them changes what is moved"
_NUMBER = "number one more"

REASONS: dict[tuple[str, str, str, str], str] = {
    (SPLIT, "ragged_columns", "lane offset zero", "arith.muli"): _INSIDE,
    (SPLIT, "ragged_columns", "lane stride one less", "arith.muli"): _INSIDE,
    (FINAL, "ragged_columns", "lane offset zero", "arith.muli"): _INSIDE,
    (FINAL, "ragged_columns", "lane stride one less", "arith.muli"): _INSIDE,
    (FINAL, "unsplit_round_trip", "free before the last use", "system.tfree_to_aic"): _REPLAY,
    (FINAL, "unsplit_round_trip", "operands exchanged", "tile.sub"): _REPLAY,
    (FINAL, "unsplit_round_trip", "another number", "arith.constant"): _REPLAY,
    (FINAL, "unsplit_round_trip", "work of one lane on both", "scf.if"): (
        "lane 1 does all that lane 0 does, writes the same bytes to the same places, and the cube takes what lane 0 "
        "pushed: a waste, not an error"
    ),
    (PTO, "cube_gemm", _NUMBER, "pto.mte_gm_l1_frac"): _GROUPS,
    (PTO, "cube_gemm", _NUMBER, "pto.mte_gm_l1"): _HINTS,
    (PTO, "cube_gemm", _NUMBER, "pto.mte_l1_l0a"): (
        "a row, or a column, more than the product reads; both are rounded up to blocks of 16 anyway"
    ),
    (PTO, "cube_gemm", _NUMBER, "pto.mte_l1_bt"): "32 bytes more than the bias has; " + _HINTS,
    (PTO, "cube_gemm", _NUMBER, "pto.mte_l0c_gm"): "strides of the only block",
    (PTO, "gemm_bias", _NUMBER, "pto.mte_gm_ub"): _HINTS,
    (PTO, "gemm_bias", _NUMBER, "pto.mte_gm_l1_frac"): _GROUPS,
    (PTO, "gemm_bias", "carry not handed on", "scf.yield"): (
        "the step counter picks one of two stages; with one stage only, its own flags still order every use: slower, "
        "not wrong"
    ),
    (PTO, "rmsnorm", _NUMBER, "pto.mte_gm_ub"): _HINTS,
    (PTO, "softmax", "sync op doubled", "pto.mem_bar"): "a second barrier behind the first has nothing left to order",
    (PTO, "softmax", _NUMBER, "pto.mte_gm_ub"): _HINTS,
    (PTO, "softmax", _NUMBER, "pto.mte_ub_gm"): _HINTS,
    (PTO, "vector_axpy", _NUMBER, "pto.mte_gm_ub"): _HINTS,
    (PTO, "vector_axpy", _NUMBER, "pto.mte_ub_gm"): _HINTS,
}
