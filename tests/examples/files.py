"""The kernel files of examples/, and which of them may be split by columns."""

from pathlib import Path

FOLDER = Path(__file__).parents[2] / "examples"
FILES = sorted(FOLDER.glob("*.py"))

BY_COLUMNS = {
    "conv_im2col",
    "epilogue_switch",
    "gated_mlp",
    "geglu",
    "gemm_alpha_beta",
    "group_scaled_matmul",
    "gru_cell",
    "int8_matmul",
    "k_loop_accumulate",
    "lora",
    "matmul_bias_gelu",
    "pipelined_linear",
    "prologue_epilogue",
    "rope_scores",
    "swiglu_mlp",
    "weight_only_int8",
}
"""No row of these is folded, so LEFT_RIGHT is legal; everywhere else it must be refused."""

TOO_LARGE = {("pipelined_flash_attention", "a2a3", "none")}
"""Without a split a lane of this machine cannot hold the whole tiles: the memory budget refuses."""
